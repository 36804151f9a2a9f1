"""What asking costs in a store of n exchanges, and what it keeps: recall with and without embedding
the question, how much of the first ten is lost by looking at few candidates, lookup by address,
bytes on disk, memory. Next to a plain FTS5 table and brute force in numpy over the same texts.

`without` a question's embedding is measured by asking it twice: the second time its vector is
known.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

import doxa
from bench.embedders import CloudEmbedder
from bench.metrics import mean, recall_at
from bench.report import Report, percent
from bench.texts import questions_of, turns_of
from bench.timing import Spread, repeated, seconds_of, spread
from doxa.language.turns import Turn
from doxa.models import Embedder
from doxa.recall import constants
from doxa.recall.filters import find_scopes
from doxa.recall.indexes.project_index import IndexCache

_HITS = 10
_LOOKUPS = 1_000
_WARM = 5
_PROBED = 50
_GROWTH_FROM = 10_000
_COMPARED = 50
Floats = NDArray[np.float32]


def measure_recall(
    report: Report, model: Embedder | None, *, size: int, sample: Sequence[Turn], questions: int
) -> None:
    place = f"scale.{size}"
    turns = list(turns_of(size, seed=report.seed, sample=sample))
    asked = questions_of(turns, questions + _WARM, seed=report.seed + 1)
    embedder = CloudEmbedder(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        _fill(report, place, path, turns=turns, embedder=embedder)
        _memory(report, place, path, asked[:_PROBED])
        with doxa.open(path, embedder=embedder, background=False) as memory:
            report.put(
                f"{place}.recall.first_s", seconds_of(lambda: memory.recall(asked[0], limit=_HITS))
            )
            rows = _ask(report, place, memory, embedder=embedder, asked=asked)
            vectors = _vectors(embedder, turns)
            report.put(
                f"{place}.vector.recall_at_10",
                _agreement(memory, embedder, vectors=vectors, asked=asked[_WARM:]),
            )
            same, score = _of_wider(memory, asked[_WARM : _WARM + _COMPARED])
            report.put(f"{place}.recall.recall_at_10", same)
            report.put(f"{place}.recall.score_at_10", score)
            rows += _lookup(report, place, memory)
        rows += _peers(
            report,
            place,
            Path(folder),
            turns=turns,
            vectors=vectors,
            asked=asked,
            embedder=embedder,
        )
    figures = report.figures
    opened_mb, process_mb, resident_mb = (
        figures[f"{place}.{key}"] / 1e6
        for key in ("recall.memory_bytes", "process_bytes", "resident_bytes")
    )
    report.table(
        f"{size:,} {'perturbed LoCoMo' if sample else 'synthetic'} exchanges: latency",
        ["what", "p50 ms", "p95 ms"],
        rows,
    )
    report.table(
        f"{size:,} exchanges: what it takes",
        ["what", "value"],
        [
            ["first recall after opening, s", f"{figures[f'{place}.recall.first_s']:.2f}"],
            [
                "ten nearest vectors of brute force among those that the index names, %",
                percent(figures[f"{place}.vector.recall_at_10"]),
            ],
            [
                "recall, first ten among those of ten times as many candidates, %",
                percent(figures[f"{place}.recall.recall_at_10"]),
            ],
            [
                "the scores of the first ten as a share of those, %",
                percent(figures[f"{place}.recall.score_at_10"]),
            ],
            [
                "bytes on disk per exchange, indexes and vectors included",
                f"{figures[f'{place}.disk.bytes_per_exchange']:,.0f}",
            ],
            ["of that text, bytes", f"{figures[f'{place}.disk.text_bytes_per_exchange']:,.0f}"],
            [
                (
                    f"memory that opening and {_PROBED} questions take, MB (mapped pages of the"
                    " file not counted)"
                ),
                f"{opened_mb:,.0f}",
            ],
            ["memory of the whole process then, MB (without the model)", f"{process_mb:,.0f}"],
            ["the same with all that is mapped and resident, MB", f"{resident_mb:,.0f}"],
            [
                "taken in, turns a second, text only",
                f"{figures[f'{place}.ingest.turns_per_s']:,.0f}",
            ],
        ],
    )


def summarise(report: Report, sizes: Sequence[int]) -> None:
    """All sizes side by side, and how recall grows: the slope of log time over log size, from
    10,000 exchanges (or the least size) to the most."""
    figures = report.figures

    def of(size: int, key: str) -> float:
        return figures[f"scale.{size}.{key}"]

    def spread_of(size: int, key: str) -> str:
        return f"{of(size, key + '.p50_ms'):.1f} / {of(size, key + '.p95_ms'):.1f}"

    report.table(
        "Recall at every size, p50 / p95 in ms; recall@10 and score@10: the first ten and those"
        " of ten times as many candidates",
        [
            "exchanges",
            "with embedding",
            "vector known",
            "words alone",
            "recall@10 %",
            "score@10 %",
            "nearest ten, %",
            "resident MB",
            "bytes each",
        ],
        [
            [
                f"{size:,}",
                *(
                    spread_of(size, f"recall.{key}")
                    for key in ("with_embedding", "without_embedding", "words_only")
                ),
                *(
                    percent(of(size, key))
                    for key in ("recall.recall_at_10", "recall.score_at_10", "vector.recall_at_10")
                ),
                f"{of(size, 'resident_bytes') / 1e6:,.0f}",
                f"{of(size, 'disk.bytes_per_exchange'):,.0f}",
            ]
            for size in sorted(sizes)
        ],
    )
    low, high = min([size for size in sizes if size >= _GROWTH_FROM] or sizes), max(sizes)
    if low < high:
        grown = []
        for part in ("p50", "p95"):
            times = [of(size, f"recall.with_embedding.{part}_ms") for size in (low, high)]
            report.put(f"growth.{part}", math.log(times[1] / times[0]) / math.log(high / low))
            grown.append(f"{figures[f'growth.{part}']:.2f}")
        report.table(
            f"Growth exponent of recall, from {low:,} to {high:,} exchanges",
            ["p50", "p95"],
            [grown],
        )


def _fill(
    report: Report, place: str, path: Path, *, turns: Sequence[Turn], embedder: Embedder
) -> None:
    with doxa.open(path, embedder=embedder, background=False) as memory:
        start = time.perf_counter()
        memory.ingest(turns, extract=False)
        report.put(f"{place}.ingest.turns_per_s", len(turns) / (time.perf_counter() - start))
        memory.embed()
    size = sum(file.stat().st_size for file in path.parent.iterdir())
    report.put(f"{place}.disk.bytes_per_exchange", size / len(turns))
    report.put(
        f"{place}.disk.text_bytes_per_exchange", mean([len(turn.text.encode()) for turn in turns])
    )


def _memory(report: Report, place: str, path: Path, asked: Sequence[str]) -> None:
    """Taken in a process of its own, by the probe."""
    command = [sys.executable, "-m", "bench.probe", str(path), *asked]
    done = subprocess.run(
        command, cwd=Path(__file__).parent.parent, capture_output=True, check=True, text=True
    )
    before, after, resident = map(float, done.stdout.split())
    report.put(f"{place}.process_bytes", after)
    report.put(f"{place}.resident_bytes", resident)
    report.put(f"{place}.recall.memory_bytes", after - before)


def _put(report: Report, key: str, name: str, result: Spread) -> list[str]:
    report.put(f"{key}.p50_ms", result.p50_ms)
    report.put(f"{key}.p95_ms", result.p95_ms)
    return [name, f"{result.p50_ms:.2f}", f"{result.p95_ms:.2f}"]


def _ask(
    report: Report,
    place: str,
    memory: doxa.Memory,
    *,
    embedder: CloudEmbedder,
    asked: Sequence[str],
) -> list[list[str]]:
    for question in asked[:_WARM]:
        memory.recall(question, limit=_HITS)
    embedder.prepare(asked)
    embedder.asking = True
    first, again, words, misspelt = [], [], [], []
    for question in asked[_WARM:]:
        first.append(seconds_of(partial(memory.recall, question, limit=_HITS)))
        again.append(seconds_of(partial(memory.recall, question, limit=_HITS)))
        words.append(seconds_of(partial(memory.recall, question, limit=_HITS, lanes=("words",))))
        wrong = _misspelt(question)
        misspelt.append(seconds_of(partial(memory.recall, wrong, limit=_HITS, lanes=("words",))))
    embedder.asking = False
    return [
        _put(
            report,
            f"{place}.recall.with_embedding",
            "doxa: recall, question embedded",
            spread(first),
        ),
        _put(
            report,
            f"{place}.recall.without_embedding",
            "doxa: recall, question's vector known",
            spread(again),
        ),
        _put(report, f"{place}.recall.words_only", "doxa: recall by words alone", spread(words)),
        _put(
            report,
            f"{place}.recall.misspelt",
            "doxa: recall by words alone, one of them misspelt",
            spread(misspelt),
        ),
    ]


def _misspelt(question: str) -> str:
    """The question with two letters of its longest word changing places."""
    word = max(question.split(), key=len)
    middle = len(word) // 2
    wrong = word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]
    return question.replace(word, wrong, 1)


def _vectors(embedder: Embedder, turns: Sequence[Turn]) -> Floats:
    vectors = np.concatenate(
        [
            embedder.embed([turn.text for turn in turns[i : i + 1_000]])
            for i in range(0, len(turns), 1_000)
        ]
    )
    return vectors.astype(np.float16).astype(np.float32)


def _agreement(
    memory: doxa.Memory, embedder: Embedder, *, vectors: Floats, asked: Sequence[str]
) -> float:
    """How many of the ten nearest by brute force are among the rows that the index names."""
    found = []
    with memory.store.read() as reader:
        project = IndexCache().get(reader, find_scopes(reader, "")[0])
        turn_of = {
            row[0]: int(row[1])
            for row in reader.rows(
                "SELECT d.doc, n.props ->> '$.source_id' FROM doc d JOIN node n ON n.id = d.node"
            )
        }
        depth = constants.CANDIDATES_BY_MEANING
        believed = np.ones(project.count, dtype=bool)
        for question in asked:
            vector = embedder.embed([question])[0]
            rows = project.vector_index.nearest(vector, allowed=believed, depth=depth).rows
            likeness = vectors @ vector
            nearest = np.argpartition(-likeness, _HITS)[:_HITS]
            found.append(
                len({turn_of[row] for row in rows.tolist()} & set(nearest.tolist())) / _HITS
            )
    return mean(found)


def _of_wider(memory: doxa.Memory, asked: Sequence[str]) -> tuple[float, float]:
    """How many of the first ten that are found among ten times as many candidates are found among
    the usual number, and the sum of their scores as a share: of very many texts that are nearly
    alike, other ten may be as good."""
    usual = [memory.recall(question, limit=_HITS).hits for question in asked]
    names = ("CANDIDATES_BY_WORDS", "CANDIDATES_BY_MEANING", "CANDIDATES_BY_TIME")
    held = {name: getattr(constants, name) for name in names}
    try:
        for name, value in held.items():
            setattr(constants, name, 10 * value)
        wider = [memory.recall(question, limit=_HITS).hits for question in asked]
    finally:
        for name, value in held.items():
            setattr(constants, name, value)
    same, scores = [], []
    for found, best in zip(usual, wider, strict=True):
        if best:
            same.append(recall_at([hit.kref for hit in found], {hit.kref for hit in best}, _HITS))
            scores.append(sum(hit.score for hit in found) / sum(hit.score for hit in best))
    return mean(same), mean(scores)


def _lookup(report: Report, place: str, memory: doxa.Memory) -> list[list[str]]:
    with memory.store.read() as snapshot:
        krefs = [
            row[0] for row in snapshot.rows("SELECT kref FROM node WHERE kref LIKE '%.exchange'")
        ]
    rng = np.random.default_rng(report.seed)
    chosen = [krefs[i] for i in rng.integers(len(krefs), size=_LOOKUPS)]
    times = [seconds_of(partial(memory.get, kref)) for kref in chosen]
    return [_put(report, f"{place}.get", "doxa: one exchange by its address", spread(times))]


def _peers(
    report: Report,
    place: str,
    folder: Path,
    *,
    turns: Sequence[Turn],
    vectors: Floats,
    asked: Sequence[str],
    embedder: Embedder,
) -> list[list[str]]:
    db = apsw.Connection(str(folder / "plain.db"))
    db.execute("CREATE VIRTUAL TABLE turn USING fts5(text, tokenize = 'porter unicode61')")
    with db:
        db.executemany("INSERT INTO turn(text) VALUES(?)", ((turn.text,) for turn in turns))
    sql = "SELECT rowid FROM turn WHERE turn MATCH ? ORDER BY rank LIMIT 10"

    def words(question: str) -> None:
        db.execute(
            sql, (" OR ".join('"' + word.replace('"', "") + '"' for word in question.split()),)
        ).fetchall()

    def meaning(vector: Floats) -> None:
        scores = vectors @ vector
        best = np.argpartition(-scores, _HITS)[:_HITS]
        best[np.argsort(-scores[best])]

    for question in asked[:_WARM]:
        words(question)
    times = [seconds_of(partial(words, question)) for question in asked[_WARM:]]
    rows = [_put(report, f"{place}.plain_fts5", "plain: FTS5, any word, first ten", spread(times))]
    asked_vectors = [embedder.embed([question])[0] for question in asked]
    times = [seconds_of(partial(meaning, vector)) for vector in asked_vectors]
    rows.append(
        _put(
            report,
            f"{place}.plain_numpy",
            "plain: numpy brute force over float32, first ten",
            spread(times[_WARM:]),
        )
    )
    if isinstance(embedder, CloudEmbedder) and embedder.has_model:
        rows.append(
            _put(
                report,
                f"{place}.embed_question",
                "the model alone: one question",
                repeated(lambda: embedder.ask_model(asked[0]), 50),
            )
        )
    db.close()
    return rows
