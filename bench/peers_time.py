"""What travelling in time costs: each query plain, AS OF SYSTEM TIME and AS OF VALID TIME in turn,
over a graph with a past and with windows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers_adapters import Doxa
from bench.peers_data import EDGE, LABEL, Data
from bench.peers_rows import START, TEXTS
from bench.report import Report
from bench.timing import Spread, spread
from doxa.store import Identity

_WANTED = {"system": 1.3, "valid": 1.2}
_BY_ADDRESS = {"lookup": 200, "one_hop": 200, "two_hops": 200, "two_hops_rows": 200, "lengths": 30}
_BY_PROPERTY = {"lookup": 200}
_TITLES = {
    "lookup": "lookup",
    "one_hop": "one hop",
    "two_hops": "two hops, counted",
    "two_hops_rows": "two hops, rows",
    "lengths": "length 1..4, counted",
}
_REASON = (
    "Where a ratio is above what is wanted: as of a system time each table is the union of its"
    " present and its past rows, so that a join of three tables becomes eight joins. As of a valid"
    " time only labels and types with windows are tested: this graph has none. Where a label has"
    " them, each node on the way is read and tested, which cost 1.3 to 2.4 times the plain query on"
    " the same graph when every node was tested."
)
_CHANGED = 10  # one node in so many was changed after the time asked for


def measure_time(report: Report, data: Data, *, share: float) -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        system = Doxa(Path(name))
        data.save(Path(name))
        system.ready(data)()
        with system.memory.store.write(Identity("bench", "system"), op="bench") as tx:
            tx.set_catalogue("guard:address", None)  # addresses are doxa's; here they are measured
        system.ask(f"MATCH (n:{LABEL}) SET n.kref = 'kref://graph/n' + n.key", {})
        time.sleep(0.01)
        moment = time.time_ns()
        time.sleep(0.01)
        changed = data.key[::_CHANGED].tolist()
        system.ask(
            f"UNWIND $keys AS key MATCH (n:{LABEL} {{key: key}}) SET n.score = n.score + 1",
            {"keys": changed},
        )
        rng = np.random.default_rng(report.seed)
        for way, asked in (("address", _BY_ADDRESS), ("property", _BY_PROPERTY)):
            for row, times in asked.items():
                keys = rng.choice(data.key, size=max(5, round(times * share))).tolist()
                text = (
                    TEXTS[row].replace(START, f"MATCH (n:{LABEL} {{kref: $kref}})")
                    if way == "address"
                    else TEXTS[row]
                )
                found = in_turn(system, text, keys, moment)
                rows.append([f"{_TITLES[row]}, by {way}", *_cells(report, f"{way}.{row}", found)])
        system.close()
    wanted = ", ".join(f"{name} ≤ {most}" for name, most in _WANTED.items())
    report.table(
        f"What time travel costs: {data.nodes:,} nodes, {data.edges:,} {EDGE}, each tenth node"
        f" changed since the time; median ms and ratio to plain (wanted: {wanted})",
        ["row", "plain", "AS OF SYSTEM TIME", "ratio", "AS OF VALID TIME", "ratio"],
        rows,
    )
    report.tables.append(_REASON)


def in_turn(system: Any, text: str, keys: Sequence[int], moment: int) -> dict[str, Spread]:
    """Each key asked in the three ways, one after the other, so that whatever else runs on the
    machine meets all three alike."""
    ways = {
        "plain": text,
        "system": f"AS OF SYSTEM TIME $at {text}",
        "valid": f"AS OF VALID TIME $at {text}",
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number, key in enumerate([keys[0], *keys]):
        for way, asked in ways.items():
            start = time.perf_counter()
            system.ask(asked, {"key": key, "kref": f"kref://graph/n{key}", "at": moment})
            if number:
                times[way].append(time.perf_counter() - start)
    return {way: spread(held) for way, held in times.items()}


def _cells(report: Report, row: str, found: dict[str, Spread]) -> list[str]:
    cells = [f"{found['plain'].p50_ms:.3f}"]
    for way in ("system", "valid"):
        ratio = found[way].p50_ms / found["plain"].p50_ms
        report.put(f"time.{way}.{row}.ratio", ratio)
        cells += [f"{found[way].p50_ms:.3f}", f"{ratio:.2f}"]
    return cells
