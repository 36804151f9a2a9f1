"""What loading costs: `load` and statements of many rows, next to bare SQLite tables with the same
indexes, filled from the same rows and without a log."""

from __future__ import annotations

import csv
import random
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import apsw

import doxa
from bench.report import Report

_NODES = 20_000
_BATCH = 10_000
_UNWOUND = {
    "unwind_nodes": "CREATE (:U {id: r.id, name: r.name})",
    "unwind_edges": "MATCH (a:U {id: r.src}), (b:U {id: r.dst}) CREATE (a)-[:A]->(b)",
    "unwind_edges_with_property": (
        "MATCH (a:U {id: r.src}), (b:U {id: r.dst}) CREATE (a)-[:B {w: r.src}]->(b)"
    ),
    "unwind_merge": "MERGE (n:M {id: r.id})",
    "unwind_merge_set": "MERGE (n:N {id: r.id}) SET n.name = r.name",
}


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
        with doxa.open(
            Path(folder) / "load.db", role="operator", embedder=None, background=False
        ) as memory:
            rates = {
                "nodes": _NODES / _timed(lambda: memory.load(people, label="Person", key="id")),
                "edges": edges
                / _timed(
                    lambda: memory.load(
                        knows, edge="KNOWS", start="src:Person.id", end="dst:Person.id"
                    )
                ),
            }
            rates |= _unwound(memory, people, knows)
        rates["sqlite_nodes"] = _NODES / _timed(lambda: _plain_nodes(Path(folder) / "n.db", people))
        rates["sqlite_edges"] = edges / _timed(lambda: _plain(Path(folder) / "plain.db", knows))
    for key, rate in rates.items():
        report.put(f"load.{key}_per_s", rate)
    names = {
        "nodes": "doxa: nodes",
        "edges": "doxa: edges, each an entry of the log",
        "unwind_nodes": "doxa: UNWIND … CREATE of nodes, with an index",
        "unwind_edges": "doxa: UNWIND … MATCH both ends … CREATE",
        "unwind_edges_with_property": "doxa: the same with a property on the edge",
        "unwind_merge": "doxa: UNWIND … MERGE of nodes, with an index",
        "unwind_merge_set": "doxa: UNWIND … MERGE … SET",
        "sqlite_nodes": "plain: rows of a SQLite table with an index, no log",
        "sqlite_edges": "plain: rows of a SQLite table with two indexes, no log",
    }
    report.table(
        f"Loading {_NODES:,} nodes and {edges:,} edges",
        ["what", "a second"],
        [[names[key], f"{rate:,.0f}"] for key, rate in rates.items()],
    )


def _unwound(memory: doxa.Memory, people: Path, knows: Path) -> dict[str, float]:
    """Rows a second of statements that write for many rows, in batches."""
    nodes = [{"id": int(number), "name": name} for number, name in _rows(people)]
    edges = [{"src": int(src), "dst": int(dst)} for src, dst in _rows(knows)]
    for label in "UMN":
        memory.run(f"CREATE INDEX FOR (n:{label}) ON (n.id)")

    def written(text: str, rows: list[dict[str, object]]) -> None:
        for first in range(0, len(rows), _BATCH):
            memory.run(f"UNWIND $rows AS r {text}", {"rows": rows[first : first + _BATCH]})

    rates = {}
    for name, text in _UNWOUND.items():
        rows: list[dict[str, Any]] = edges if "edges" in name else nodes
        rates[name] = len(rows) / _timed(partial(written, text, rows))
    return rates


def _rows(file: Path) -> list[list[str]]:
    with file.open(newline="") as lines:
        return list(csv.reader(lines))[1:]


def _timed(work: object) -> float:
    assert callable(work)
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _opened(path: Path) -> apsw.Connection:
    db = apsw.Connection(str(path))
    db.pragma("journal_mode", "WAL")
    db.pragma("synchronous", "FULL")
    return db


def _plain_nodes(path: Path, file: Path) -> None:
    db = _opened(path)
    db.execute("CREATE TABLE node(id INTEGER PRIMARY KEY, number INTEGER, name TEXT)")
    db.execute("CREATE INDEX node_number ON node(number)")
    with db:
        db.executemany(
            "INSERT INTO node(number, name) VALUES(?, ?)",
            ((int(number), name) for number, name in _rows(file)),
        )
    db.close()


def _plain(path: Path, file: Path) -> None:
    db = _opened(path)
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
