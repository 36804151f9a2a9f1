"""Through Bolt: the official driver against `doxa serve` in a process of its own. A lookup, and ten
thousand rows end to end."""

from __future__ import annotations

import cProfile
import importlib.util
import pstats
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from bench.peers_adapters import Doxa
from bench.peers_data import LABEL, Data
from bench.peers_rows import TEXTS
from bench.peers_serving import served
from bench.report import Report
from bench.timing import seconds_of, spread

ROWS = 10_000
_MANY = f"MATCH (n:{LABEL}) RETURN n.key AS key, n.name AS name, n.score AS score LIMIT {ROWS}"


def measure_bolt(report: Report, data: Data, *, share: float) -> None:
    if importlib.util.find_spec("neo4j") is None:
        report.tables.append("**Through Bolt**: the official driver is not installed.")
        return
    with tempfile.TemporaryDirectory() as name:
        system = Doxa(Path(name))
        data.save(Path(name))
        system.ready(data)()
        inside = median(
            seconds_of(partial(system.ask, _MANY, {})) for _ in range(max(3, round(15 * share)))
        )
        profile = _profiled(partial(system.ask, _MANY, {}))
        system.close()
        with served(Path(name) / "doxa.db") as uri:
            _through(report, uri, data, share=share, inside=inside, profile=profile)


def _through(
    report: Report, uri: str, data: Data, *, share: float, inside: float, profile: str
) -> None:
    import neo4j

    keys = (
        np.random.default_rng(report.seed)
        .choice(data.key, size=max(20, round(1_000 * share)))
        .tolist()
    )
    with neo4j.GraphDatabase.driver(uri) as driver, driver.session() as session:

        def ask(text: str, **params: Any) -> list[Any]:
            return [record.values() for record in session.run(text, params)]

        ask(TEXTS["lookup"], key=keys[0])
        lookup = spread([seconds_of(partial(ask, TEXTS["lookup"], key=key)) for key in keys])
        found = len(ask(_MANY))
        times = []
        for _ in range(max(3, round(15 * share))):
            start = time.perf_counter()
            ask(_MANY)
            times.append(time.perf_counter() - start)
    rate = found / median(times)
    fast = "with" if importlib.util.find_spec("neo4j._rust") else "without"
    report.put("bolt.lookup.p50_ms", lookup.p50_ms)
    report.put("bolt.lookup.p95_ms", lookup.p95_ms)
    report.put("bolt.rows_per_s", rate)
    report.put("bolt.same_rows_in_process_per_s", found / inside)
    report.table(
        f"Through Bolt, on the loopback: driver {neo4j.__version__} {fast} its Rust extension,"
        " server in another process",
        ["what", "figure", "wanted"],
        [
            ["lookup by indexed property, p50 ms", f"{lookup.p50_ms:.2f}", "≤ 1"],
            ["the same, p95 ms", f"{lookup.p95_ms:.2f}", ""],
            [
                f"{found:,} rows of three scalars, rows a second end to end",
                f"{rate:,.0f}",
                "≥ 60,000",
            ],
            ["the same query in the process, rows a second", f"{found / inside:,.0f}", ""],
            ["where the query's own time goes (cProfile, largest first)", profile, ""],
        ],
    )


def _profiled(call: Any) -> str:
    """The five functions with most time of their own, as shares."""
    profile = cProfile.Profile()
    profile.runcall(call)
    stats: Any = pstats.Stats(profile)
    rows = sorted(
        ((own, name) for (_, _, name), (_, _, own, _, _) in stats.stats.items()), reverse=True
    )[:5]
    return ", ".join(
        f"{name.strip('<>')} {100 * own / stats.total_tt:.0f} %" for own, name in rows
    ).replace("|", "/")
