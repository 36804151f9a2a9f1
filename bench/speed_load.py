"""What loading a file of edges costs: `load` next to a bare SQLite edge table with two indexes,
filled from the same rows and without a log."""

from __future__ import annotations

import csv
import random
import tempfile
import time
from pathlib import Path

import apsw

import doxa
from bench.report import Report

_NODES = 20_000


def measure_load(report: Report, *, edges: int) -> None:
    """Put `load.*` into the report."""
    rng = random.Random(report.seed)
    with tempfile.TemporaryDirectory() as folder:
        people, knows = Path(folder) / "people.csv", Path(folder) / "knows.csv"
        people.write_text("id:int,name\n" + "".join(f"{n},person {n}\n" for n in range(_NODES)))
        knows.write_text(
            "src:int,dst:int\n"
            + "".join(f"{rng.randrange(_NODES)},{rng.randrange(_NODES)}\n" for _ in range(edges))
        )
        with doxa.open(Path(folder) / "load.db", embedder=None, background=False) as memory:
            rates = {
                "nodes": _NODES / _timed(lambda: memory.load(people, label="Person", key="id")),
                "edges": edges
                / _timed(
                    lambda: memory.load(
                        knows, edge="KNOWS", start="src:Person.id", end="dst:Person.id"
                    )
                ),
            }
        rates["sqlite_edges"] = edges / _timed(lambda: _plain(Path(folder) / "plain.db", knows))
    for key, rate in rates.items():
        report.put(f"load.{key}_per_s", rate)
    names = {
        "nodes": "doxa: nodes",
        "edges": "doxa: edges, each an entry of the log",
        "sqlite_edges": "plain: rows of a SQLite table with two indexes, no log",
    }
    report.table(
        f"Loading a CSV file, {edges:,} edges",
        ["what", "a second"],
        [[names[key], f"{rate:,.0f}"] for key, rate in rates.items()],
    )


def _timed(work: object) -> float:
    assert callable(work)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _plain(path: Path, file: Path) -> None:
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "WAL")
    db.pragma("synchronous", "FULL")
    db.execute("CREATE TABLE edge(id INTEGER PRIMARY KEY, src INTEGER, dst INTEGER)")
    db.execute("CREATE INDEX edge_out ON edge(src, dst)")
    db.execute("CREATE INDEX edge_in ON edge(dst, src)")
    with file.open(newline="") as lines, db:
        rows = csv.reader(lines)
        next(rows)
        db.executemany(
            "INSERT INTO edge(src, dst) VALUES(?, ?)", ((int(src), int(dst)) for src, dst in rows)
        )
    db.close()
