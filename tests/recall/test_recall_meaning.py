"""Meaning joins when vectors are there, never holds anything up, and fails into words with a
warning."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np
import pytest
from numpy.typing import NDArray

from doxa.app import Memory
from doxa.base.errors import CorruptError
from doxa.models import Embedder, FailingEmbedder, HashEmbedder
from doxa.recall.filters import find_scopes
from doxa.recall.lanes.meaning import _compared, read_parts
from doxa.store import FIELDS_FROM, INDEXED_PARTS
from tests.fixtures_shared import opened


class GatedEmbedder(HashEmbedder):
    """Embeds questions at once and waits with everything longer."""

    def __init__(self) -> None:
        super().__init__(dimensions=384)
        self.gate = threading.Event()
        self.reached = threading.Event()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if any("belief" in text for text in texts):
            self.reached.set()
            assert self.gate.wait(20)
        return super().embed(texts)


class TableEmbedder(HashEmbedder):
    """Vectors that the test chose; of another text by its words."""

    def __init__(self, table: dict[str, NDArray[np.float32]]) -> None:
        super().__init__(dimensions=384)
        self.table = table

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack(
            [
                self.table[text]
                if text in self.table
                else super(TableEmbedder, self).embed([text])[0]
                for text in texts
            ]
        )


def test_a_failing_model_leaves_words_and_a_warning(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=FailingEmbedder()) as memory:
        memory.remember("The ferry leaves from Bergen")
        assert memory.embed() == 0
        answer = memory.recall("ferry")
        assert (answer.hits[0].text, answer.mode) == ("The ferry leaves from Bergen", "fulltext")
        assert any("Meaning search failed" in warning for warning in answer.warnings)


def test_without_a_model_the_answer_is_by_words(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", embedder=None) as memory:
        memory.remember("The ferry leaves from Bergen")
        answer = memory.recall("ferry")
        assert (len(answer.hits), answer.mode, answer.pending) == (1, "fulltext", 1)
        assert any("no embedding model" in warning for warning in answer.warnings)
        assert memory.recall("ferry", lanes=("words",)).warnings == ()


def test_vectors_of_another_model_are_not_compared(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db") as memory:
        memory.remember("The ferry leaves from Bergen")
        memory.embed()
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=256)) as memory:
        answer = memory.recall("ferry")
        assert (len(answer.hits), answer.mode) == (1, "fulltext")
        assert any("--anew" in warning for warning in answer.warnings)
        assert memory.embed(anew=True) == 1
        assert memory.recall("ferry").mode == "hybrid"


def test_recall_never_waits_for_vectors(tmp_path: Path) -> None:
    embedder = GatedEmbedder()
    with opened(tmp_path / "m.db", embedder=embedder, background=True) as memory:
        memory.remember("The ferry is a belief")
        assert embedder.reached.wait(10)
        memory.remember("The harbour is another belief")
        answer = memory.recall("ferry")
        assert (answer.hits[0].text, answer.pending, answer.mode) == (
            "The ferry is a belief",
            2,
            "fulltext",
        )
        embedder.gate.set()
        for _ in range(200):
            if memory.pending() == 0:
                break
            threading.Event().wait(0.05)
        answer = memory.recall("ferry")
        assert (answer.pending, answer.mode) == (0, "hybrid")


def test_what_another_handle_or_process_writes_is_recalled_at_once(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with opened(path) as here, opened(path) as there:
        here.remember("The harbour opens at nine")
        assert here.recall("harbour").hits
        there.remember("The ferry leaves from Bergen", name="ferry")
        assert [hit.text for hit in here.recall("ferry").hits] == ["The ferry leaves from Bergen"]
        there.embed()
        assert "meaning" in here.recall("ferry").hits[0].lanes
        there.revise("kref://default/ferry.fact", "The ferry leaves from Oslo")
        assert [hit.text for hit in here.recall("ferry", lanes=("words",)).hits] == [
            "The ferry leaves from Oslo"
        ]
        code = (
            "import sys, doxa; from doxa.models import HashEmbedder\nwith doxa.open(sys.argv[1],"
            " embedder=HashEmbedder(dimensions=384), background=False) as m:\n    m.remember('The"
            " lighthouse is white'); m.embed()"
        )
        subprocess.run(
            [sys.executable, "-W", "error", "-c", code, str(path)], check=True, timeout=60
        )
        hit = here.recall("lighthouse").hits[0]
        assert hit.text == "The lighthouse is white"
        assert "meaning" in hit.lanes
        assert here.check() == []


def test_threads_ask_while_others_write(tmp_path: Path) -> None:
    failed: list[BaseException] = []
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with opened(tmp_path / "m.db") as memory:
            memory.remember("the first ferry")
            done = threading.Event()

            def ask() -> None:
                try:
                    while not done.is_set():
                        memory.recall("ferry cargo")
                        memory.recent()
                except BaseException as error:
                    failed.append(error)

            threads = [threading.Thread(target=ask) for _ in range(3)]
            for thread in threads:
                thread.start()
            for number in range(60):
                memory.ingest(
                    [{"speaker": "Ana", "text": f"ferry number {number}"}],
                    thread=str(number),
                    extract=False,
                )
                if number % 10 == 0:
                    memory.embed()
            done.set()
            for thread in threads:
                thread.join()
            assert memory.recall("ferry", limit=1_000).searched == 61
    finally:
        sys.setswitchinterval(interval)
    assert failed == []


@pytest.mark.parametrize(("exact_max", "least"), [(100_000, 1.0), (1_000, 0.98)])
def test_exact_finds_all_and_codes_nearly_all_of_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact_max: int, least: float
) -> None:
    monkeypatch.setattr("doxa.recall.constants.EXACT_VECTORS_MAX", exact_max)
    monkeypatch.setattr("doxa.recall.constants.SIGN_CANDIDATES_MIN", 400)
    random = np.random.default_rng(7)
    centres = random.normal(size=(40, 384))
    vectors = centres[random.integers(0, 40, 2_000)] + 0.9 * random.normal(size=(2_000, 384))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    table = {f"row {number}": vector for number, vector in enumerate(vectors)}
    asked = random.choice(2_000, 30, replace=False)
    noisy = vectors[asked] + 0.6 / np.sqrt(384) * random.normal(size=(30, 384))
    noisy = (noisy / np.linalg.norm(noisy, axis=1, keepdims=True)).astype(np.float32)
    table |= {f"question {number}": vector for number, vector in enumerate(noisy)}
    with opened(tmp_path / "m.db", embedder=TableEmbedder(table)) as memory:
        turns = [
            {"speaker": "user", "text": f"row {number}", "session": str(number)}
            for number in range(2_000)
        ]
        memory.ingest(turns, extract=False)
        assert memory.embed() == 2_000
        stored = vectors.astype(np.float16).astype(np.float32)
        held = 0
        for number in range(30):
            wanted = {
                f"row {row}" for row in np.argsort(-(stored @ noisy[number]), kind="stable")[:10]
            }
            answer = memory.recall(f"question {number}", lanes=("meaning",), limit=10)
            assert answer.mode == "vector"
            held += len(wanted & {hit.text for hit in answer.hits})
        assert held / 300 >= least


def test_meaning_finds_what_words_do_not(tmp_path: Path, minilm: Embedder) -> None:
    with opened(tmp_path / "m.db", embedder=minilm) as memory:
        memory.remember("Karim must not eat walnuts because of an allergy")
        for text in (
            "The launch is on 10 April",
            "The printer is on the second floor",
            "Our deploy day is Tuesday",
            "The budget is 900 euros",
        ):
            memory.remember(text)
        memory.embed()
        hit = memory.recall("which foods are dangerous to my friend?").hits[0]
        assert hit.text.startswith("Karim")
        assert hit.lanes["words"] == 0
        assert hit.why.startswith("meaning ")


@pytest.mark.parametrize("words", [1_400, 3_000])
def test_the_tail_of_a_long_text_is_found_by_meaning(
    tmp_path: Path, minilm: Embedder, words: int
) -> None:
    filler = (
        "The committee met again and spoke at length about the parking spaces, the roof and the"
        " colour of the fence. "
    )
    fact = "My sister plays the cello in an orchestra in Vienna. "
    length = words // len(filler.split())
    with opened(tmp_path / "m.db", embedder=minilm) as memory:
        for number in range(12):
            memory.remember(
                filler * length + f"Item {number} was postponed to the next meeting.",
                name=f"other{number}",
            )
            if number == 6:  # neither the oldest nor the newest: a tie must not look like a find
                memory.remember(filler * length + fact, name="minutes")
        memory.embed()
        answer = memory.recall("which relative performs classical music?", lanes=("meaning",))
        assert answer.hits[0].kref == "kref://default/minutes.fact?r=1"


@pytest.mark.parametrize("dimensions", [1, 7, 63, 65, 100, 300, 1_000])
def test_a_model_may_have_any_number_of_dimensions(tmp_path: Path, dimensions: int) -> None:
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=dimensions)) as memory:
        for number, text in enumerate(
            ("The ferry leaves from Bergen", "The tea is green", "The library opens at nine")
        ):
            memory.remember(text, name=f"n{number}")
        assert memory.embed() == 3
        answer = memory.recall("The ferry leaves from Bergen", lanes=("meaning",))
        assert answer.mode == "vector"
        assert answer.hits[0].lanes["meaning"] == pytest.approx(1, abs=0.01)
        if dimensions > 50:
            assert answer.hits[0].text == "The ferry leaves from Bergen"


def cloud(count: int, *, great: float = 0.0, seed: int = 3) -> NDArray[np.float32]:
    """Unit vectors in clusters; `great`: what one number of all of them is, before they get length
    one."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(30, 384))
    vectors = centres[random.integers(0, 30, count)] + 0.7 * random.normal(size=(count, 384))
    vectors[:, 7] += great * np.sqrt(384)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("great", [0.0, -1.5])
def test_codes_score_as_the_vectors_do_whatever_else_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, great: float
) -> None:
    vectors = cloud(600, great=great)
    table = {f"row {number}": vector for number, vector in enumerate(vectors)} | {"": vectors[0]}
    table |= {f"question {number}": vectors[number * 29] for number in range(20)}
    told: dict[int, list[list[tuple[str, float]]]] = {}
    for exact_max in (100_000, 0):
        monkeypatch.setattr("doxa.recall.constants.EXACT_VECTORS_MAX", exact_max)
        with opened(tmp_path / f"{exact_max}.db", embedder=TableEmbedder(table)) as memory:
            turns = [
                {"speaker": "user", "text": f"row {number}", "session": str(number // 20)}
                for number in range(600)
            ]
            memory.ingest(turns, extract=False)
            assert memory.embed() == 600
            few = [
                memory.recall(f"question {number}", lanes=("meaning",), limit=5).hits
                for number in range(20)
            ]
            many = [
                memory.recall(f"question {number}", lanes=("meaning",), limit=100).hits
                for number in range(20)
            ]
            for some, more in zip(few, many, strict=True):
                assert [(hit.text, hit.score) for hit in some] == [
                    (hit.text, hit.score) for hit in more[:5]
                ]
            told[exact_max] = [[(hit.text, hit.score) for hit in hits] for hits in few]
    for exactly, coded in zip(told[100_000], told[0], strict=True):
        assert exactly[0][0] == coded[0][0]
        assert [score for _, score in coded] == pytest.approx(
            [score for _, score in exactly], abs=0.05
        )


@pytest.mark.parametrize("exact_max", [100_000, 0])
def test_a_turn_is_found_by_what_the_one_before_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact_max: int
) -> None:
    monkeypatch.setattr("doxa.recall.constants.EXACT_VECTORS_MAX", exact_max)
    random = np.random.default_rng(5)
    asked, *others = np.linalg.qr(random.normal(size=(384, 41)))[0].T.astype(np.float32)
    table = {f"row {number}": vector for number, vector in enumerate(others)} | {
        "what is it": asked,
        "": asked,
    }
    table["row 20"] = asked
    with opened(tmp_path / "m.db", embedder=TableEmbedder(table)) as memory:
        memory.ingest(
            [
                {"speaker": "user", "text": f"row {number}", "session": str(number > 30)}
                for number in range(40)
            ],
            extract=False,
        )
        memory.embed()
        hits = memory.recall("what is it", lanes=("meaning",), limit=3).hits
        assert [hit.text for hit in hits] == [
            "row 20",
            "row 21",
            "row 19",
        ]  # the next one borrows more than the one before
        assert hits[1].score > 3 * abs(
            memory.recall("what is it", lanes=("meaning",), limit=40).hits[-1].score
        )


@pytest.mark.parametrize("exact_max", [100_000, 0])
def test_every_part_of_every_row_is_in_the_index_however_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exact_max: int
) -> None:
    monkeypatch.setattr("doxa.recall.constants.EXACT_VECTORS_MAX", exact_max)
    monkeypatch.setattr("doxa.recall.indexes.project_index._ROWS_AT_ONCE", 7)
    long = "A line of the log.\n" * 120

    def held(memory: Memory) -> tuple[int, int]:
        with memory.store.read() as reader:
            project = memory.recaller._indexes.get(reader, find_scopes(reader, "default")[0])
            parts = reader.rows(f"SELECT count(*) FROM vector WHERE part < {INDEXED_PARTS}")[0][0]
            return project.vector_index.count, int(parts)

    with opened(tmp_path / "m.db") as memory:
        for number in range(23):
            memory.remember(f"Item {number}. {long if number % 3 == 0 else ''}", name=f"n{number}")
            memory.embed()
            memory.recall("item")
        assert held(memory)[0] == held(memory)[1] > 30  # one after the other
    with opened(tmp_path / "m.db") as memory:
        memory.recall("item")
        assert held(memory)[0] == held(memory)[1]  # all at once


def test_an_index_that_could_not_be_filled_is_filled_when_the_damage_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.recall.indexes.project_index._ROWS_AT_ONCE", 5)
    with opened(tmp_path / "m.db") as memory:
        memory.ingest(
            [{"speaker": "user", "text": f"ferry {number}"} for number in range(20)], extract=False
        )
        memory.embed()
    raw = apsw.Connection(str(tmp_path / "m.db"))
    (data,) = raw.execute("SELECT data FROM vector WHERE doc = 12").fetchone() or (b"",)
    raw.execute("UPDATE vector SET data = X'00' WHERE doc = 12")
    with opened(tmp_path / "m.db") as memory:
        for _ in range(2):
            with pytest.raises(CorruptError):
                memory.recall("ferry")
        raw.execute("UPDATE vector SET data = ? WHERE doc = 12", (data,))
        raw.close()
        memory.recall("ferry")
        with memory.store.read() as reader:
            assert (
                memory.recaller._indexes.get(
                    reader, find_scopes(reader, "default")[0]
                ).vector_index.count
                == 20
            )


def test_the_parts_of_many_memories_are_read_as_those_of_each(tmp_path: Path) -> None:
    """Wholes, passages, fields and sentences of several memories are put down to their own."""
    towns = ("Bergen", "Oslo", "Bodø", "Tromsø", "Narvik", "Molde")
    with opened(tmp_path / "m.db", embedder=HashEmbedder(dimensions=64)) as memory:
        for number, town in enumerate(towns):
            count = 2 + number if number < 4 else 40  # of which there are passages
            text = " ".join(f"Ferry {town}{n} leaves {town} for {n} days." for n in range(count))
            facts = [(town, "is", f"{name} {number}") for name in ("red", "old")]
            memory.remember(text, facts=facts)
        memory.ingest([{"speaker": "Ana", "text": "A boat. It is blue. It is late."}])
        memory.embed()
        vector = memory.embedder.embed(["the Oslo1 and Bodø2 ferry leaves Tromsø for 1 day"])[0]
        with memory.store.read() as reader:
            project = memory.recaller._indexes.get(reader, find_scopes(reader, "")[0])
            rows = np.arange(project.count, dtype=np.int64)
            read = read_parts(reader, project, rows)
            together = _compared(read, rows, vector=vector, centre=None)
            parts = reader.rows("SELECT part FROM vector")
            for row in rows:
                one = rows[row : row + 1]
                read = read_parts(reader, project, one)
                alone = _compared(read, one, vector=vector, centre=None)
                for held, own in zip(together, alone, strict=True):
                    np.testing.assert_allclose(held[row], own[0], rtol=1e-5)
    kinds = {
        0 if p == 0 else 1 if p < FIELDS_FROM else 2 if p < INDEXED_PARTS else 3 for (p,) in parts
    }
    assert kinds == {0, 1, 2, 3}
    assert len(set(together.sentence.tolist())) > 4 < len(set(together.field.tolist()))
