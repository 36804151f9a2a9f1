"""What walking costs: two hops over typed edges in a graph built through the store's own
transactions. Next to a bare SQLite edge table."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

import doxa
from bench.report import Report
from bench.timing import Spread, seconds_of, spread
from doxa.store import Identity

_BATCH = 50_000
_LABEL, _EDGE = "Thing", "TOUCHES"
_TWO_HOPS = """
SELECT dst FROM edge WHERE src = ?1
UNION SELECT b.dst FROM edge a JOIN edge b ON b.src = a.dst WHERE a.src = ?1
"""
Ends = NDArray[np.int64]


def measure_graph(report: Report, *, nodes: int, edges: int, walks: int) -> None:
    rng = np.random.default_rng(report.seed)
    ends = rng.integers(nodes, size=(edges, 2))
    starts = rng.integers(nodes, size=walks).tolist()
    with tempfile.TemporaryDirectory() as folder:
        rate, own, reached = _doxa(Path(folder), ends, nodes=nodes, starts=starts)
        plain = _plain(Path(folder), ends, starts=starts)
    report.put("graph.nodes", nodes)
    report.put("graph.edges", edges)
    report.put("graph.build_elements_per_s", rate)
    report.put("graph.two_hops.reached_mean", reached)
    for key, result in (("graph.two_hops", own), ("graph.plain_sqlite_two_hops", plain)):
        report.put(f"{key}.p50_ms", result.p50_ms)
        report.put(f"{key}.p95_ms", result.p95_ms)
    report.table(
        f"Two hops in a graph of {nodes:,} nodes and {edges:,} edges ({reached:.0f} elements"
        f" reached; built at {rate:,.0f} elements a second)",
        ["what", "p50 ms", "p95 ms"],
        [
            ["doxa: `traverse(depth=2)`", f"{own.p50_ms:.2f}", f"{own.p95_ms:.2f}"],
            [
                "plain: SQLite edge table, no addresses, no history",
                f"{plain.p50_ms:.2f}",
                f"{plain.p95_ms:.2f}",
            ],
        ],
    )


def _doxa(
    folder: Path, ends: Ends, *, nodes: int, starts: Sequence[int]
) -> tuple[float, Spread, float]:
    identity = Identity("bench", "operator")
    with doxa.open(folder / "graph.db", role="operator", embedder=None, background=False) as memory:
        with memory.store.write(Identity("bench", "system"), op="bench") as tx:
            tx.set_catalogue("guard:address", None)  # addresses are doxa's; here they are measured
        began = time.perf_counter()
        made = []
        for first in range(0, nodes, _BATCH):
            with memory.store.write(identity, op="build") as tx:
                made += [
                    tx.create_node((_LABEL,), {"kref": _kref(number)})
                    for number in range(first, min(nodes, first + _BATCH))
                ]
        for first in range(0, len(ends), _BATCH):
            with memory.store.write(identity, op="build") as tx:
                for src, dst in ends[first : first + _BATCH].tolist():
                    tx.create_edge(_EDGE, made[src], dst=made[dst])
        rate = (nodes + len(ends)) / (time.perf_counter() - began)
        memory.traverse(_kref(0), depth=2)
        times = [seconds_of(partial(memory.traverse, _kref(start), depth=2)) for start in starts]
        return (
            rate,
            spread(times),
            float(np.mean([len(memory.traverse(_kref(start), depth=2).steps) for start in starts])),
        )


def _kref(number: int) -> str:
    return f"kref://graph/n{number}"


def _plain(folder: Path, ends: Ends, *, starts: Sequence[int]) -> Spread:
    db = apsw.Connection(str(folder / "plain.db"))
    db.execute("CREATE TABLE edge(src INTEGER, dst INTEGER)")
    with db:
        db.executemany("INSERT INTO edge VALUES(?, ?)", ends.tolist())
    db.execute("CREATE INDEX edge_src ON edge(src, dst)")

    def walk(start: int) -> None:
        db.execute(_TWO_HOPS, (start,)).fetchall()

    walk(0)
    result = spread([seconds_of(partial(walk, start)) for start in starts])
    db.close()
    return result
