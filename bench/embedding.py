"""What the local model costs: one question, many texts at once, and taking turns in until meaning
finds them. Next to an embedder without a model, whose time is that of everything around one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import doxa
from bench.corpora import locomo_turns
from bench.report import Report, begin
from bench.texts import questions_of, turns_of
from bench.timing import per_second, seconds_of, spread
from doxa.language.turns import Turn
from doxa.models import Embedder, HashEmbedder
from doxa.models.cache import CachedEmbedder

_WORDS = (15, 60, 180)
_WARM = 5


def run(data: Path | None, embedder: Embedder | None, *, seed: int, quick: bool) -> Report:
    """`data` is LoCoMo's file or folder, whose words the texts are made of; without it they are
    synthetic. Without a model only the baseline runs."""
    model = embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    report = begin("embedding", seed=seed, embedder=model)
    sample = [] if data is None else locomo_turns(data)
    turns = list(turns_of(400 if quick else 2_000, seed=seed, sample=sample))
    rows = []
    for key, name, each in (
        ("model", "the local model", model),
        ("hash", "plain: words hashed to numbers, no model", HashEmbedder()),
    ):
        if each is not None:
            rows.append([name, *_measured(report, key, each, turns=turns, quick=quick)])
    bulk = [f"texts of {words} words a second" for words in _WORDS]
    report.table(
        f"Embedding, and {len(turns):,} {'perturbed LoCoMo' if sample else 'synthetic'} turns"
        " taken in",
        [
            "embedder",
            "a question, p50 / p95 ms",
            *bulk,
            "turns a second until words find them",
            "until meaning finds them",
        ],
        rows,
    )
    return report.end()


def _measured(
    report: Report, key: str, embedder: Embedder, *, turns: Sequence[Turn], quick: bool
) -> list[str]:
    asked = questions_of(turns, (20 if quick else 200) + _WARM, seed=report.seed)
    for question in asked[:_WARM]:
        embedder.embed([question])
    alone = spread(seconds_of(partial(embedder.embed, [question])) for question in asked[_WARM:])
    report.put(f"{key}.question.p50_ms", alone.p50_ms)
    report.put(f"{key}.question.p95_ms", alone.p95_ms)
    told = [f"{alone.p50_ms:.1f} / {alone.p95_ms:.1f}"]
    words, count = " ".join(turn.text for turn in turns).split(), 20 if quick else 200
    for length in _WORDS:
        starts = [number * 31 % (len(words) - length) for number in range(count)]
        texts = [" ".join(words[start : start + length]) for start in starts]
        rate = count * per_second(lambda _, given=texts: embedder.embed(given), 1)  # type: ignore[misc]
        report.put(f"{key}.bulk.{length}_words_per_s", rate)
        told.append(f"{rate:,.0f}")
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "memory.db", embedder=embedder, background=False) as memory,
    ):
        start = time.perf_counter()
        memory.ingest(turns, extract=False)
        by_words = time.perf_counter() - start
        memory.embed()
        by_meaning = time.perf_counter() - start
    for name, seconds in (("words", by_words), ("meaning", by_meaning)):
        report.put(f"{key}.ingest.by_{name}_turns_per_s", len(turns) / seconds)
        told.append(f"{len(turns) / seconds:,.0f}")
    return told
