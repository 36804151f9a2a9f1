"""What a short read costs in process, above SQLite itself: the statement that the plan runs, by
hand on the same file, and the same answer from plain tables with the indexes that it needs."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from bench.report import Report
from bench.speed_image import load_people
from bench.timing import Spread, seconds_of, spread
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

_OPERATOR = Identity("bench", "operator")
_LOOKUP = "SELECT name FROM person WHERE id = ?"
ROWS = {
    "lookup": ("MATCH (p:Person {id: $id}) RETURN p.name AS n", _LOOKUP),
    "one hop": (
        "MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN count(q) AS n",
        "SELECT count(dst) FROM knows WHERE src = ?",
    ),
    "rows of one hop": (
        "MATCH (p:Person {id: $id})-[:KNOWS]->(q) RETURN q.id AS id, q.name AS name",
        "SELECT q.id, q.name FROM knows k JOIN person q ON q.id = k.dst WHERE k.src = ?",
    ),
    "two hops, distinct": (
        "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(q) RETURN count(DISTINCT q) AS n",
        "SELECT count(DISTINCT b.dst) FROM knows a JOIN knows b ON b.src = a.dst WHERE a.src = ?"
        " AND a.rowid <> b.rowid",
    ),
}


def measure_reads(report: Report, *, nodes: int, edges: int, times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.db"
        load_people(path, random.Random(report.seed), nodes=nodes, edges=edges)
        with Store(path) as store, GraphSession(store, QueryEngine(), _OPERATOR) as session:
            plain = _plain(Path(folder) / "plain.db", session)
            rng = random.Random(report.seed)
            asked = [rng.randrange(nodes) for _ in range(times)]
            rows = [_row(report, name, store, session, plain, asked) for name in ROWS]
            plain.close()
    report.table(
        f"Short reads in process on {nodes:,} nodes and {edges:,} edges, p50 in microseconds",
        [
            "question",
            "doxa",
            "its statement, by hand",
            "above, µs",
            "ratio",
            "plain tables",
            "ratio to these",
        ],
        rows,
    )


def _row(
    report: Report,
    name: str,
    store: Store,
    session: GraphSession,
    plain: apsw.Connection,
    asked: list[int],
) -> list[str]:
    text, sql = ROWS[name]

    def ask(number: int) -> list[Any]:
        return list(session.run(text, {"id": number}))

    statement, args = _statement(store, lambda number: ask(number), asked)
    raw = apsw.Connection(store.path)
    for pragma in ("mmap_size", "cache_size"):
        raw.pragma(pragma, store.connection().pragma(pragma))

    def by_hand(number: int) -> list[Any]:
        return raw.execute(statement, args[number]).fetchall()

    def from_tables(number: int) -> list[Any]:
        return plain.execute(sql, (number,)).fetchall()

    ways = (ask, by_hand, from_tables)
    right = all(len(ask(n)) == len(by_hand(n)) == len(from_tables(n)) for n in asked[:50])
    right = right and all(
        sorted(map(tuple, ask(n))) == sorted(map(tuple, from_tables(n))) for n in asked[:50]
    )
    own, hand, tables = _in_turns(ways, asked)
    raw.close()
    key = name.replace(",", "").replace(" ", "_")
    report.put(f"reads.{key}.p50_us", own.p50_ms * 1000)
    report.put(f"reads.{key}.above_us", (own.p50_ms - hand.p50_ms) * 1000)
    report.put(f"reads.{key}.ratio_to_statement", own.p50_ms / hand.p50_ms)
    report.put(f"reads.{key}.ratio_to_tables", own.p50_ms / tables.p50_ms)
    report.put(f"reads.{key}.right", float(right))
    return [
        name,
        f"{own.p50_ms * 1000:.1f}" if right else "wrong",
        f"{hand.p50_ms * 1000:.1f}",
        f"{(own.p50_ms - hand.p50_ms) * 1000:.1f}",
        f"{own.p50_ms / hand.p50_ms:.2f}",
        f"{tables.p50_ms * 1000:.1f}",
        f"{own.p50_ms / tables.p50_ms:.2f}",
    ]


def _in_turns(ways: tuple[Callable[[int], Any], ...], asked: list[int]) -> list[Spread]:
    """Each way for each number, one after the other, so that all meet the same machine."""
    times: list[list[float]] = [[] for _ in ways]
    for number in asked:
        for way, found in zip(ways, times, strict=True):
            way(number)
            found.append(seconds_of(partial(way, number)))
    return [spread(found) for found in times]


def _statement(
    store: Store, ask: Callable[[int], Any], asked: list[int]
) -> tuple[str, dict[int, Any]]:
    """Return the statement that a plan runs, and its arguments for each number."""
    seen: list[tuple[str, Any]] = []

    def trace(_: apsw.Cursor, sql: str, bindings: Any) -> bool:
        seen.append((sql, bindings))
        return True

    for number in asked[:2]:
        ask(number)
    args = {}
    store.connection().exec_trace = trace
    try:
        for number in asked:
            seen.clear()
            ask(number)
            ((sql, args[number]),) = seen
    finally:
        store.connection().exec_trace = None
    return sql, args


def _plain(path: Path, session: GraphSession) -> apsw.Connection:
    """The same graph as two tables."""
    db = apsw.Connection(str(path))
    for name, value in (
        ("journal_mode", "WAL"),
        ("mmap_size", 256 << 20),
        ("cache_size", -65_536),
    ):
        db.pragma(name, value)
    db.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT)")
    db.execute("CREATE TABLE knows(src INTEGER, dst INTEGER)")
    with db:
        people = session.run("MATCH (p:Person) RETURN p.id, p.name")
        db.executemany("INSERT INTO person VALUES(?, ?)", [tuple(row) for row in people])
        known = session.run("MATCH (p)-[:KNOWS]->(q) RETURN p.id, q.id")
        db.executemany("INSERT INTO knows VALUES(?, ?)", [tuple(row) for row in known])
    db.execute("CREATE INDEX knows_src ON knows(src, dst)")
    return db
