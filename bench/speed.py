"""Times and sizes of everything a person or a program waits for, next to the plainest tool
that does the same job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.corpora import locomo_turns
from bench.report import Report, begin
from bench.speed_graph import measure_graph
from bench.speed_image import measure_image
from bench.speed_load import measure_load
from bench.speed_process import measure_processes
from bench.speed_reads import measure_reads
from bench.speed_recall import measure_recall, summarise
from bench.speed_transactions import measure_shared_commits, measure_transactions
from bench.speed_write import measure_writes
from doxa.models import Embedder
from doxa.models.cache import CachedEmbedder


def run(
    data: Path | None, embedder: Embedder | None, *, seed: int, sizes: Sequence[int], quick: bool
) -> Report:
    """`data` is LoCoMo's file or folder, whose turns are taken in and, perturbed, fill the large
    stores; without it they are synthetic."""
    model = (
        embedder.inner if isinstance(embedder, CachedEmbedder) else embedder
    )  # a cache would hide the model's time
    report = begin("speed", seed=seed, embedder=model)
    sample = [] if data is None else locomo_turns(data)
    measure_processes(report, model, repetitions=3 if quick else 9)
    measure_writes(report, sample, rounds=3, times=50 if quick else 200)
    measure_transactions(report, seconds=2.0 if quick else 10.0)
    measure_load(report, edges=50_000 if quick else 300_000)
    measure_shared_commits(report, seconds=2.0 if quick else 10.0)
    for size in sizes:
        measure_recall(report, model, size=size, sample=sample, questions=40 if quick else 200)
    summarise(report, sizes)
    nodes, edges = (20_000, 100_000) if quick else (200_000, 1_000_000)
    measure_graph(report, nodes=nodes, edges=edges, walks=100 if quick else 500)
    people, known = (10_000, 50_000) if quick else (50_000, 500_000)
    measure_image(report, nodes=people, edges=known, times=10 if quick else 40)
    measure_reads(report, nodes=people, edges=known, times=200 if quick else 2_000)
    return report.end()
