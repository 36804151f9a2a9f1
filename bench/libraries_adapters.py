"""One small class for each system: filled by `ready`, opened again by another process and asked.
Nothing is imported before a worker asks for it.

Each is used as its documentation recommends and with its own defaults: batches as large as it
takes, its own index, a store on disk that outlives the process. A hit is the text with its id, as a
caller wants it; only the id is compared.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from bench.libraries_data import HITS, Floats, Table, Texts, load_texts

_WORD = re.compile(r"\w+")
_RRF_K = 60
_RRF_DEPTH = 100


class System(Protocol):
    about: str

    def __init__(self, folder: Path, store: Path) -> None:
        """`folder` has what is given, `store` is the system's own."""

    def version(self) -> str: ...

    def ready(self) -> Callable[[], None]:
        """Put the turns into the form that suits; the call that is returned makes them searchable,
        and is what the clock measures."""

    def open(self, asked: Texts) -> None:
        """Open what another process filled."""

    def ask(self, scope: str, text: str, vector: Floats) -> list[str]:
        """The ids of the first HITS."""

    def close(self) -> None: ...


class _Given:
    """An embedder of doxa's contract whose answers lie ready."""

    name = "bench-given"
    tokens_max = 256

    def __init__(self, texts: Table | None, asked: Table | None, model: Any = None) -> None:
        self._texts, self._asked, self._model = texts, asked, model
        self.dimensions = (texts or asked or self._none()).dimensions

    @staticmethod
    def _none() -> Table:
        raise AssertionError("one of the two tables is given")

    def embed(self, texts: Sequence[str]) -> Floats:
        """As Embedder.embed. Of a text that is not given, such as those by which doxa measures the
        noise of a model, no vector can be had."""
        from doxa.base.errors import ModelError  # other interpreters have no doxa

        if self._texts is None:
            raise ModelError("No texts are given.", next_step="Give only questions.")
        try:
            return self._texts.of_texts(texts)
        except KeyError as error:
            raise ModelError(
                "This text has no given vector.", next_step="Give only texts of the tables."
            ) from error

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        """The vectors of questions. With a model, its work is done and thrown away, so that the
        time of a question is the real one."""
        assert self._asked is not None
        if self._model is not None:
            self._model.embed(texts)
        return self._asked.of_texts(texts)


class Doxa:
    about = (
        "words, meaning, sentences, speakers, times, links, what still holds; one SQLite file with"
        " history, log and receipts, every batch synced"
    )
    with_model = False

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder, self._path = folder, store / "doxa.db"
        self._doxa = import_module("doxa")
        self._memory: Any = None

    def version(self) -> str:
        return str(self._doxa.__version__)

    def ready(self) -> Callable[[], None]:
        turn = import_module("doxa.language.turns").Turn
        by_scope = {
            name: [turn(**one) for one in turns]
            for name, turns in json.loads((self._folder / "turns.json").read_text()).items()
        }
        given = _Given(Table.load(self._folder / "table.npz"), None)
        self._memory = self._doxa.open(self._path, embedder=given, background=False)

        def load() -> None:
            for scope, turns in by_scope.items():
                self._memory.ingest(turns, project=scope, extract=False)
            self._memory.embed()

        return load

    def open(self, asked: Texts) -> None:
        model = import_module("bench.embedders").local_embedder() if self.with_model else None
        given = _Given(None, Table.load(self._folder / "asked_table.npz"), model)
        self._memory = self._doxa.open(self._path, embedder=given, background=False)

    def ask(self, scope: str, text: str, vector: Floats) -> list[str]:
        return [
            hit.source_id
            for hit in self._memory.recall(
                text, project=scope, kinds=("exchange",), limit=HITS
            ).hits
        ]

    def close(self) -> None:
        self._memory.close()


class DoxaWithModel(Doxa):
    about = "the same file, and each question goes through the embedding model"
    with_model = True


class Chroma:
    about = (
        "meaning by HNSW, with SQLite next to it; a collection for each conversation, batches of"
        " the largest size that it takes"
    )

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder = folder
        module = import_module("chromadb")
        self._client = module.PersistentClient(
            path=str(store), settings=module.Settings(anonymized_telemetry=False)
        )
        self._collections: dict[str, Any] = {}

    def version(self) -> str:
        return importlib.metadata.version("chromadb")

    def ready(self) -> Callable[[], None]:
        given = load_texts(self._folder)
        batch = self._client.get_max_batch_size()

        def load() -> None:
            for scope, span in given.by_scope():
                collection = self._client.create_collection(scope, embedding_function=None)
                for first in range(span.start, span.stop, batch):
                    part = slice(first, min(first + batch, span.stop))
                    collection.add(
                        ids=given.ids[part],
                        documents=given.texts[part],
                        embeddings=given.vectors[part],
                    )

        return load

    def open(self, asked: Texts) -> None:
        self._collections = {
            scope: self._client.get_collection(scope, embedding_function=None)
            for scope in set(asked.scopes)
        }

    def ask(self, scope: str, text: str, vector: Floats) -> list[str]:
        found = self._collections[scope].query(
            query_embeddings=[vector], n_results=HITS, include=["documents"]
        )
        return list(found["ids"][0])

    def close(self) -> None:
        self._client.close()


class Mem0:
    about = (
        "meaning, every vector compared by Qdrant's local store, its default, and a history in"
        " SQLite; turns added raw (infer=False), which it does one by one; a user for each"
        " conversation; its optional word search downloads a model and is off"
    )

    def __init__(self, folder: Path, store: Path) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "mem0")}
        self._folder = folder
        self._store = store
        self._memory: Any = None

    def version(self) -> str:
        return importlib.metadata.version("mem0ai")

    def ready(self) -> Callable[[], None]:
        given = load_texts(self._folder)
        self._open(given)
        rows = list(zip(given.scopes, given.ids, given.texts, strict=True))

        def load() -> None:
            for scope, source, text in rows:
                self._memory.add(text, user_id=scope, metadata={"source": source}, infer=False)

        return load

    def open(self, asked: Texts) -> None:
        self._open(asked)

    def ask(self, scope: str, text: str, vector: Floats) -> list[str]:
        found = self._memory.search(text, filters={"user_id": scope}, top_k=HITS)
        return [hit["metadata"]["source"] for hit in found["results"]]

    def close(self) -> None:
        self._memory.close()
        self._memory.vector_store.client.close()

    def _open(self, given: Texts) -> None:
        """The embedder is one that has the vectors. There is no language model: were it asked for
        anything, the call would fail."""
        dimensions = given.vectors.shape[1]
        no_key = {"provider": "openai", "config": {"api_key": "none"}}
        self._memory = import_module("mem0").Memory.from_config(
            {
                "llm": no_key,
                "embedder": no_key,
                "history_db_path": str(self._store / "history.db"),
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(self._store / "qdrant"),
                        "collection_name": "turns",
                        "embedding_model_dims": dimensions,
                    },
                },
            }
        )
        vectors = {
            text.strip(): vector.tolist()
            for text, vector in zip(given.texts, given.vectors, strict=True)
        }

        class Ready(import_module("mem0.embeddings.base").EmbeddingBase):  # type: ignore[misc]  # a class of the peer's environment
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:
                return list(vectors[text.strip()])

        self._memory.embedding_model = Ready()
        self._memory.llm = None


class Bm25s:
    about = (
        "words by BM25 with stems and without stop words, in memory and saved as files; nothing can"
        " be added, only the whole index rebuilt"
    )

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder, self._store = folder, store
        self._bm25s = import_module("bm25s")
        self._stemmer = import_module("Stemmer").Stemmer("english")
        self._indexes: dict[str, Any] = {}

    def version(self) -> str:
        return importlib.metadata.version("bm25s")

    def ready(self) -> Callable[[], None]:
        given = load_texts(self._folder)

        def load() -> None:
            for scope, span in given.by_scope():
                index = self._bm25s.BM25()
                index.index(self._tokens(given.texts[span]), show_progress=False)
                corpus = [
                    {"id": source, "text": text}
                    for source, text in zip(given.ids[span], given.texts[span], strict=True)
                ]
                index.save(str(self._store / scope), corpus=corpus, show_progress=False)

        return load

    def open(self, asked: Texts) -> None:
        self._indexes = {
            scope: self._bm25s.BM25.load(str(self._store / scope), load_corpus=True)
            for scope in set(asked.scopes)
        }

    def ask(self, scope: str, text: str, vector: Floats) -> list[str]:
        index = self._indexes[scope]
        count = min(HITS, len(index.corpus))
        found, _ = index.retrieve(self._tokens([text]), k=count, show_progress=False)
        return [hit["id"] for hit in found[0]]

    def close(self) -> None:
        pass

    def _tokens(self, texts: Sequence[str]) -> Any:
        return self._bm25s.tokenize(
            list(texts), stopwords="en", stemmer=self._stemmer, show_progress=False
        )


class SqliteVec:
    about = (
        "words by FTS5 and meaning by sqlite-vec, every vector compared; the first "
        f"{_RRF_DEPTH} of each by reciprocal rank fusion (k = {_RRF_K}), by hand; one SQLite file"
    )
    _WORDS = (
        "SELECT t.id FROM words JOIN turn t ON t.id = words.rowid WHERE words MATCH ? AND t.scope ="
        " ? ORDER BY rank LIMIT ?"
    )
    _MEANING = (
        "SELECT id FROM meaning WHERE vector MATCH ? AND scope = ? AND k = ? ORDER BY distance"
    )

    def __init__(self, folder: Path, store: Path) -> None:
        self._folder = folder
        self._db: Any = import_module("apsw").Connection(str(store / "turns.db"))
        self._db.enable_load_extension(True)
        self._db.load_extension(import_module("sqlite_vec").loadable_path())
        self._db.execute("PRAGMA journal_mode = WAL")

    def version(self) -> str:
        return (
            f"{importlib.metadata.version('sqlite-vec')}, apsw {importlib.metadata.version('apsw')}"
        )

    def ready(self) -> Callable[[], None]:
        given = load_texts(self._folder)
        turns = list(zip(range(len(given.ids)), given.scopes, given.ids, given.texts, strict=True))

        def load() -> None:
            with self._db:
                self._db.execute(
                    "CREATE TABLE turn(id INTEGER PRIMARY KEY, scope TEXT, source TEXT, text TEXT)"
                )
                self._db.execute(
                    "CREATE VIRTUAL TABLE words USING fts5(text, content = 'turn', content_rowid ="
                    " 'id', tokenize = 'porter unicode61')"
                )
                self._db.execute(
                    "CREATE VIRTUAL TABLE meaning USING vec0(id INTEGER PRIMARY KEY, scope TEXT"
                    f" PARTITION KEY, vector FLOAT[{given.vectors.shape[1]}]"
                    " distance_metric=cosine)"
                )
                self._db.executemany("INSERT INTO turn VALUES(?, ?, ?, ?)", turns)
                self._db.executemany(
                    "INSERT INTO words(rowid, text) VALUES(?, ?)",
                    ((turn[0], turn[3]) for turn in turns),
                )
                rows = (
                    (turn[0], turn[1], vector.tobytes())
                    for turn, vector in zip(turns, given.vectors, strict=True)
                )
                self._db.executemany("INSERT INTO meaning(id, scope, vector) VALUES(?, ?, ?)", rows)

        return load

    def open(self, asked: Texts) -> None:
        pass

    def ask(self, scope: str, text: str, vector: Floats) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in _WORD.findall(text))
        lanes = [
            self._db.execute(self._WORDS, (words, scope, _RRF_DEPTH)).fetchall() if words else [],
            self._db.execute(self._MEANING, (vector.tobytes(), scope, _RRF_DEPTH)).fetchall(),
        ]
        scores: dict[int, float] = {}
        for lane in lanes:
            for rank, (row,) in enumerate(lane, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (_RRF_K + rank)
        best = sorted(scores, key=lambda row: -scores[row])[:HITS]
        marks = ", ".join("?" * len(best))
        found = {
            row: source
            for row, source, _ in self._db.execute(
                f"SELECT id, source, text FROM turn WHERE id IN ({marks})", best
            )
        }
        return [found[row] for row in best]

    def close(self) -> None:
        self._db.close()


WITH_MODEL = "doxa_with_model"
OWN = ("doxa", WITH_MODEL)
SYSTEMS: dict[str, type[System]] = {
    "doxa": Doxa,
    WITH_MODEL: DoxaWithModel,
    "chromadb": Chroma,
    "mem0ai": Mem0,
    "bm25s": Bm25s,
    "sqlite-vec": SqliteVec,
}
PACKAGES = {
    "chromadb": "chromadb",
    "mem0ai": "mem0, qdrant_client",
    "bm25s": "bm25s, Stemmer",
    "sqlite-vec": "sqlite_vec, apsw",
}
