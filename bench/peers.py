"""doxa next to embedded graph databases of the package index: the same graphs, the same questions,
each system in its own process.

`scripts/peers.sh` installs the peers; one that is not there is passed over, and the table says so.
Every answer is compared with one that was computed from the arrays of the graph alone, so that a
wrong answer is marked next to its time.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from bench.peers_adapters import SYSTEMS
from bench.peers_bolt import measure_bolt
from bench.peers_data import Data
from bench.peers_graph import random_graph, social_graph
from bench.peers_processes import Told, absent, ask_all
from bench.peers_rows import TITLES, Asked, asked
from bench.peers_time import measure_time
from bench.peers_why import why as why_faster
from bench.report import Report, begin
from bench.timing import spread

PYTHON = Path(__file__).resolve().parent.parent / ".venv" / "peers" / "bin" / "python"
SHAPES: dict[str, Callable[[int, int, int], Data]] = {
    "random": random_graph,
    "social": social_graph,
}


def run(
    python: Path | None = None,
    *,
    seed: int,
    quick: bool,
    nodes: int = 0,
    systems: Sequence[str] = tuple(SYSTEMS),
) -> Report:
    """Both shapes with every system that is there, then what travelling in time costs, then Bolt.
    `nodes` is for trying it out."""
    report = begin("graph", seed=seed, embedder=None)
    nodes = nodes or (20_000 if quick else 200_000)
    share = 0.2 if quick else 1.0
    chosen = str(python or PYTHON)
    missing = {system: absent(system, chosen) for system in systems}
    told: dict[str, dict[str, Told]] = {}
    for shape, make in SHAPES.items():
        size = (nodes, nodes * 5) if shape == "random" else (nodes // 4, nodes * 5 // 2)
        told[shape] = compare(
            report,
            shape,
            make(*size, seed),
            [s for s in systems if not missing[s]],
            python=chosen,
            share=share,
        )
    _about(report, told, missing)
    measure_time(report, random_graph(nodes // 10, nodes // 2, seed), share=share)
    measure_bolt(
        report, random_graph(min(nodes, 20_000), min(nodes, 20_000) * 2, seed), share=share
    )
    return report.end()


def compare(
    report: Report, shape: str, data: Data, systems: Sequence[str], *, python: str, share: float
) -> dict[str, Told]:
    """All rows of one graph, one system after the other."""
    rows = asked(data, report.seed, share=share)
    told = {}
    for system in systems:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            data.save(folder)
            (folder / "plan.json").write_text(json.dumps([row.plan() for row in rows]))
            told[system] = ask_all(system, folder, python, [row.row for row in rows])
    _figures(report, shape, told, rows)
    _tables(report, shape, data, told, rows)
    return told


# Comparing


def right(told: Told, row: Asked) -> bool | None:
    """Whether the answers are the right ones; None if there are none."""
    found = told.answers.get(row.row)
    return None if not found else found == row.expected[: len(found)]


def fastest(told: Mapping[str, Told], row: str, rows: Sequence[Asked]) -> str | None:
    """The durable peer with the lowest median among those that answer rightly."""
    asked_by_name = {one.row: one for one in rows}
    candidates = {}
    for system, found in told.items():
        counts = (
            system != "doxa"
            and found.about.get("durable", "").startswith("yes")
            and row in found.times_ms
        )
        if counts and (row == "load" or right(found, asked_by_name[row])):
            candidates[system] = median(found.times_ms[row])
    return min(candidates, key=lambda system: candidates[system], default=None)


# Telling


def _figures(report: Report, shape: str, told: Mapping[str, Told], rows: Sequence[Asked]) -> None:
    for system, found in told.items():
        for row, times in found.times_ms.items():
            result = spread(time / 1_000 for time in times)
            report.put(f"{shape}.{system}.{row}.p50_ms", result.p50_ms)
            report.put(f"{shape}.{system}.{row}.p95_ms", result.p95_ms)
        for one in rows:
            verdict = right(found, one)
            if verdict is not None:
                report.put(f"{shape}.{system}.{one.row}.right", float(verdict))


def _tables(
    report: Report, shape: str, data: Data, told: Mapping[str, Told], rows: Sequence[Asked]
) -> None:
    names = list(told)
    by_name = {row.row: row for row in rows}
    title = (
        f"{shape.capitalize()} graph, {data.nodes:,} nodes and {data.edges:,} relationships: median"
        " in ms"
    )
    lines = []
    for row, what in TITLES.items():
        cells = [_cell(told[system], row, by_name.get(row), what="p50") for system in names]
        lines.append([what, *cells, _why(told, row, rows)])
    report.table(
        title, ["row", *names, "where doxa is slower than the fastest durable peer, and why"], lines
    )
    tail = [
        [what, *[_cell(told[system], row, by_name.get(row), what="p95") for system in names]]
        for row, what in TITLES.items()
        if row != "load"
    ]
    report.table(f"{shape.capitalize()} graph: 95th percentile in ms", ["row", *names], tail)


def _cell(told: Told, row: str, one: Asked | None, *, what: str) -> str:
    if row in told.failed:
        return told.failed[row]
    if row not in told.times_ms:
        return "–"
    result = spread(time / 1_000 for time in told.times_ms[row])
    if row == "load":
        return shown(result.p50_ms / 1_000)
    wrong = one is not None and right(told, one) is False
    return shown(result.p50_ms if what == "p50" else result.p95_ms) + (
        " **wrong**" if wrong else ""
    )


def shown(value: float) -> str:
    """Three digits that count."""
    return (
        f"{value:,.0f}"
        if value >= 100
        else f"{value:.1f}"
        if value >= 10
        else f"{value:.2f}"
        if value >= 1
        else f"{value:.3f}"
    )


def _why(told: Mapping[str, Told], row: str, rows: Sequence[Asked]) -> str:
    best = fastest(told, row, rows)
    if best is None or "doxa" not in told or row not in told["doxa"].times_ms:
        return ""
    times = median(told["doxa"].times_ms[row]) / median(told[best].times_ms[row])
    return f"{times:.1f} × {best}: {why_faster(row, best)}" if times > 1 else ""


def _about(
    report: Report, told: Mapping[str, Mapping[str, Told]], missing: Mapping[str, str]
) -> None:
    lines = []
    for system, why in missing.items():
        if why:
            lines.append([system, why, "", *["–" for _ in told]])
            continue
        found = [shape[system] for shape in told.values()]
        about = next((one.about for one in found if one.about), {})
        sizes = [f"{_mega(one.memory_bytes)} / {_mega(one.disk_bytes)}" for one in found]
        lines.append(
            [system, about.get("version", "did not start"), about.get("durable", ""), *sizes]
        )
    report.table(
        "The systems, and what they hold after all rows: MB of memory / MB on disk",
        ["system", "version", "durable", *[f"{shape} graph" for shape in told]],
        lines,
    )


def _mega(count: float) -> str:
    return "–" if count != count else f"{count / 1e6:,.0f}"
