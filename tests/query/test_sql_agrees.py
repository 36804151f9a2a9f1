"""SQL path = Python path: one corpus of reading queries, on graphs with values of every type,
through the optimised and the plain planner."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from doxa.base.spatial import Point
from doxa.base.temporal import Date, DateTime, Duration, LocalTime
from doxa.cypher.errors import QueryError
from doxa.query.core.comparison import group_key
from doxa.query.core.graph import Graph
from doxa.query.core.run import Run
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.query.sql.pattern_sql import prepare_statement
from doxa.query.sql.value_kinds import classify_arguments
from doxa.store import Identity, Store

VALUES: tuple[Any, ...] = (
    0,
    1,
    -1,
    2,
    2**53,
    2**53 + 1,
    2**63 - 1,
    0.0,
    1.0,
    1.5,
    -1.0,
    float("inf"),
    float("-inf"),
    float("nan"),
    "",
    "a",
    "b",
    "A",
    "1",
    "ä",
    "a b",
    "true",
    '{"$date":1}',
    True,
    False,
    [],
    [1],
    [1.0],
    ["a"],
    [1, 2],
    Date(1),
    Date(2),
    DateTime(0, 0, 0, None),
    LocalTime(1),
    Duration(0, 1, 0, 0),
    Point(7203, 1.0, 2.0),
    b"a",
)
PARAMS: tuple[Any, ...] = (
    *VALUES,
    None,
    {"k": 1},
    [None],
    [1, None],
    "n:3",
    "r:3",
    "n:03",
    "n:",
    3,
    3.0,
    1e300,
    [3, 5.0, "n:7", None, 3],
    ["n:3", "r:5", "n:9", "n:3"],
    [1, "a", True, Date(1)],
    [1.0, 1, 2, float("inf")],
    ["a", "b", "a"],
)

QUERIES = (
    "MATCH (n:A) WHERE n.x = $p RETURN n.i",
    "MATCH (n:A {x: $p}) RETURN n.i",
    "MATCH (n:A) WHERE n.x < $p RETURN n.i",
    "MATCH (n:A) WHERE n.x <= $p RETURN n.i",
    "MATCH (n:A) WHERE n.x > $p RETURN n.i",
    "MATCH (n:A) WHERE $p >= n.x RETURN n.i",
    "MATCH (n:A) WHERE $p = n.x AND n.y IS NOT NULL RETURN n.i",
    "MATCH (n) WHERE n.x <> $p RETURN n.i",
    "MATCH (n) WHERE n.x IN [$p, 1, 'a'] RETURN n.i",
    "MATCH (n) WHERE NOT n.x = $p RETURN n.i",
    "MATCH (n) WHERE n.x = $p OR n.y = $p RETURN n.i",
    "MATCH (n) WHERE n.x = n.y RETURN n.i",
    "MATCH (n:A)-[r:R {w: $p}]->(m) RETURN n.i, m.i, r.w",
    "MATCH (n:A)-[r]-(m) WHERE r.w < $p RETURN n.i, m.i, r.w",
    "MATCH (n)-->(m)-->(o) WHERE n.x = $p AND o.y > n.i RETURN n.i, m.i, o.i",
    "MATCH (n)-->(m)<--(o) WHERE n.x = o.x RETURN n.i, m.i, o.i",
    "MATCH (n:A|B) WHERE n.x = $p RETURN n.i",
    "MATCH (n:A&!B) RETURN n.i, n.x",
    "MATCH (n:A&B) RETURN n.i, n.x",
    "MATCH (n:%) RETURN count(n)",
    "MATCH (n) RETURN n.x, count(*)",
    "MATCH (n) RETURN n.x, n.y, count(n.y)",
    "MATCH (n:A) RETURN min(n.x), max(n.x)",
    "MATCH (n:A) RETURN min(n.i), max(n.i), sum(n.i), avg(n.i), count(n.i)",
    "MATCH (n:N) RETURN min(n.x), max(n.x), sum(n.x), avg(n.x)",
    "MATCH (n:T) RETURN min(n.x), max(n.x), count(n.x)",
    "MATCH (n:N) RETURN n.g, sum(n.x), avg(n.x), min(n.x)",
    "MATCH (n:Nothing) RETURN count(*), sum(n.x), min(n.x), avg(n.x)",
    "MATCH (n:Nothing) RETURN n.x, count(*)",
    "MATCH (n)-[r]->(m) RETURN type(r), count(*), count(DISTINCT m)",
    "MATCH (n)-[r]->(m) RETURN n.i, count(m.x)",
    "MATCH (n)-[r]->(m) WITH n, count(*) AS c RETURN n.i, c ORDER BY c DESC, n.i",
    "MATCH (n) RETURN n.i ORDER BY n.i LIMIT 5",
    "MATCH (n) RETURN n.i ORDER BY n.i DESC SKIP 3 LIMIT 5",
    "MATCH (n) RETURN n.x, n.i ORDER BY n.x, n.i LIMIT 7",
    "MATCH (n) RETURN n.x AS x, n.i AS i ORDER BY x DESC, i LIMIT 7",
    "MATCH (n:N) WITH n ORDER BY n.x, n.i LIMIT 4 RETURN n.i",
    "MATCH (n:T) WHERE n.x > $p RETURN n.x, n.i ORDER BY n.x, n.i LIMIT 3",
    "MATCH (n) RETURN DISTINCT n.x",
    "MATCH (n) WITH n.x AS x, n WHERE x = $p RETURN n.i",
    "MATCH (a) OPTIONAL MATCH (a)-[r:R]->(b {x: $p}) RETURN a.i, b.i",
    "MATCH (a:A) WHERE EXISTS { (a)-[:R]->(b) WHERE b.x = $p } RETURN a.i",
    "MATCH (a:A) RETURN a.i, COUNT { (a)--(b) WHERE b.i > a.i } AS c",
    "MATCH (a:A) RETURN a.i, [(a)-[r]->(b) WHERE b.x = $p | b.i] AS l",
    "MATCH (a:A)-[*1..2]->(b) WHERE b.x = $p RETURN a.i, b.i",
    "MATCH (a) WHERE a.x STARTS WITH $p RETURN a.i",
    "MATCH (a:T) WHERE a.x STARTS WITH $p RETURN a.i",
    "MATCH (a:B {x: $p, y: 1}) RETURN a.i",
    "MATCH (a:N) WHERE a.x >= -2 AND a.x < 3 RETURN a.i",
    "MATCH (a:A&B) WHERE a.x > 0 AND a.x <= $p RETURN a.i",
    "MATCH (a)-[r:R {w: $p}]->(b:A) RETURN a.i, b.i",
    "MATCH (a:A {x: $p})-[:R]->(b:A {x: $p}) RETURN a.i, b.i",
    "MATCH (a) WHERE a.x ENDS WITH $p RETURN a.i",
    "MATCH (a) WHERE a.x CONTAINS $p RETURN a.i",
    "MATCH (a) WHERE a.x IN $p RETURN a.i",
    "MATCH (a) WHERE a.x IN [1, 2.0, -1, 2^53] RETURN a.i",
    "MATCH (a) WHERE a.x IN ['a', 'b', null, ''] OR a:B RETURN a.i",
    "MATCH (a) WHERE (a.x = $p AND a:A) OR (a.y IS NULL AND a.x <> $p) OR a.i = 7 RETURN a.i",
    "MATCH (a)-[r]->(b) WHERE a.x = $p OR r.w = $p OR b:C RETURN a.i, b.i, r.w",
    "MATCH (a) WITH collect(a.x) AS l, [x IN collect(a.i) WHERE x > 3 | x] AS m RETURN size(l), m",
    "MATCH (a {i: 1}), (b {i: 2}) RETURN a.x, b.x",
    "MATCH (a:A) UNWIND [1, 2] AS u MATCH (b:B) WHERE b.i = a.i + u RETURN a.i, b.i",
    "MATCH (n) RETURN n.i AS n ORDER BY n LIMIT 3",
    "MATCH (n:A) RETURN [n IN [{x: 5}] | n.x] AS l, n.x AS x",
    "MATCH p = (a:A)-[r:R]->(b) RETURN a.x, r.w, length(p)",
    "MATCH (n:A) WHERE n.x IN $p RETURN n.i",
    "MATCH (n:A) WHERE n.x IN [$p, 1, 'a'] RETURN n.i",
    "MATCH (n:A) WHERE n.x IN [2, 1, 1.0] AND n.x >= $p RETURN n.i",
    "MATCH (n:A) WHERE n.x = 1 OR n.x = $p RETURN n.i",
    "MATCH (n:A) WHERE n.x < 0 OR n.x > $p RETURN n.i",
    "MATCH (n:A) WHERE n.x = 1 OR n.x > $p RETURN n.i",
    "MATCH (n:A) WHERE n.x IN ['a', $p] OR n.x = 1 OR n.x IN $p RETURN n.i",
    "MATCH (n:A) WHERE n.x IS NOT NULL RETURN n.i",
    "MATCH (n:A) WHERE n.x IS NOT NULL AND n.y = $p RETURN n.i",
    "MATCH (n:A) WHERE n.x CONTAINS $p RETURN n.i",
    "MATCH (n:A) WHERE n.x ENDS WITH $p AND n.x STARTS WITH 'a' RETURN n.i",
    "MATCH (n:T) WHERE n.x CONTAINS $p OR n.x = 'B' RETURN n.i",
    "MATCH (n:B) WHERE n.x = $p AND n.y IS NOT NULL RETURN n.i",
    "MATCH (n:B) WHERE n.x = $p AND n.y > 0 RETURN n.i",
    "MATCH (n:B) WHERE n.x > 0 AND n.y <> $p RETURN n.i",
    "MATCH (n:B) WHERE n.x IN [1, 2, 'a', $p] AND n.y <= $p RETURN n.i",
    "MATCH (n:B) WHERE n.x IN [1, 2, 'a'] AND n.y IN $p RETURN n.i",
    "MATCH (n:B) WHERE n.y = $p RETURN n.i",
    "MATCH (n:B) WHERE n.x = 1 AND n.y CONTAINS $p RETURN n.i",
    "MATCH (n) WHERE id(n) = $p RETURN n.i",
    "MATCH (n:A) WHERE id(n) IN $p RETURN n.i",
    "MATCH (n) WHERE elementId(n) = $p RETURN n.i, n.x",
    "MATCH (n) WHERE elementId(n) IN $p RETURN n",
    "MATCH (n) WHERE id(n) = 3 OR elementId(n) = $p OR id(n) IN $p RETURN n.i",
    "MATCH (n) WHERE id(n) = 3 OR n.x = $p RETURN n.i",
    "MATCH (n) WHERE NOT id(n) = $p AND id(n) < 9 RETURN n.i",
    "MATCH (n)-[r]->(m) WHERE id(r) = $p RETURN n.i, m.i",
    "MATCH (n)-[r]-(m) WHERE elementId(r) IN $p RETURN n.i, m.i",
    "MATCH (n)-[r:R]-(m)-->(o) WHERE r.w = $p RETURN n.i, m.i, o.i",
    "MATCH (n)-[r:R]-(n) WHERE r.w IS NOT NULL RETURN n.i, r.w",
    "MATCH (n)--(m) WHERE id(n) = $p AND m.x IS NOT NULL RETURN m.i",
    "MATCH ()-[r:R]-() WHERE r.w IN $p RETURN count(*), count(DISTINCT r)",
    "MATCH (n) WHERE id(n) IN $p RETURN count(*), sum(n.i)",
    "MATCH (n:A) WHERE n.x IN $p RETURN n.y, count(*)",
    "MATCH (n:A) WHERE n.x IN $p RETURN n.i ORDER BY n.i LIMIT 3",
)


INDEXES = (
    "(n:A) ON (n.x)",
    "(n:B) ON (n.x, n.y)",
    "(n:T) ON (n.x)",
    "(n:N) ON (n.x)",
    "()-[r:R]-() ON (r.w)",
)


@pytest.fixture(scope="module", params=["plain", "indexed"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    rng = random.Random(11)
    with Store(tmp_path_factory.mktemp("agree") / "graph.db") as made:
        with made.write(Identity("t", "operator"), op="test") as tx:
            nodes = []
            for i in range(60):
                props: dict[str, Any] = {"i": i}
                for name in ("x", "y"):
                    if rng.random() < 0.85:
                        props[name] = rng.choice(VALUES)
                nodes.append(
                    tx.create_node([label for label in "ABC" if rng.random() < 0.5], props)
                )
            for i in range(20):
                nodes.append(
                    tx.create_node(
                        ["N"],
                        {
                            "i": 60 + i,
                            "x": rng.randrange(-5, 5),
                            "g": rng.choice([1, 1.0, "1", True]),
                        },
                    )
                )
                nodes.append(
                    tx.create_node(["T"], {"i": 80 + i, "x": rng.choice(["a", "b", "B", "", "ä"])})
                )
            for _ in range(150):
                tx.create_edge(
                    rng.choice("RST"),
                    rng.choice(nodes),
                    dst=rng.choice(nodes),
                    props={"w": rng.choice(VALUES)},
                )
        if request.param == "indexed":
            with GraphSession(made, QueryEngine(), Identity("t", "operator")) as session:
                for index in INDEXES:
                    session.run(f"CREATE INDEX FOR {index}")
        yield made


def _rows(store: Store, engine: QueryEngine, text: str, value: Any) -> list[Any]:
    session = GraphSession(store, engine, Identity("t", "operator"))
    try:
        rows = [tuple(_exact(item) for item in row) for row in session.run(text, {"p": value})]
    except QueryError as error:
        return [error.detail]
    return rows if "ORDER BY" in text else sorted(rows, key=repr)


def _exact(value: Any) -> Any:
    """Types count too, except for grouping keys that are equal: which of 1 and 1.0 stands for their
    group is open."""
    return (
        ("list", sorted((_exact(item) for item in value), key=repr))
        if isinstance(value, list)
        else group_key(value)
    )


@pytest.mark.parametrize("text", QUERIES)
def test_both_paths_give_the_same(store: Store, text: str) -> None:
    fast, plain = QueryEngine(), QueryEngine(optimise=False)
    for value in PARAMS if "$p" in text else (None,):
        assert _rows(store, fast, text, value) == _rows(store, plain, text, value), value


MANY = (
    "UNWIND $p AS v MATCH (n:A {x: v}) RETURN n.i, v",
    "UNWIND $p AS v MATCH (n:A) WHERE n.x > v AND n.x <= v RETURN n.i",
    "UNWIND $p AS v MATCH (n:B {x: v, y: 1}) RETURN n.i",
    "UNWIND $p AS v MATCH (n:T) WHERE n.x STARTS WITH v RETURN n.i",
    "UNWIND $p AS v MATCH (n:A) WHERE n.x IN [v, 1] RETURN n.i, v",
    "UNWIND $p AS v MATCH (n:A {x: v}), (m:B {x: v}) WHERE n.i < m.i RETURN n.i, m.i",
    "UNWIND $p AS v MATCH (n)-[r:R {w: v}]->(m) RETURN n.i, m.i",
    "UNWIND $p AS v MATCH (n:A {x: v}) MATCH (n)-[r]-(m) WHERE m.x = v OR m:C RETURN n.i, m.i, r.w",
    (
        "UNWIND $p AS v MATCH (n:A) WHERE n.x = v OR n.y = v WITH n, v MATCH (n)-->(m) WHERE m.x ="
        " n.x RETURN n.i, m.i, v"
    ),
    "UNWIND range(1, 300) AS i MATCH (n {i: i % 90}) RETURN i, n.x ORDER BY i LIMIT 200",
    "UNWIND $p AS v OPTIONAL MATCH (n:A {x: v}) WITH v, n MATCH (n)-->(m) RETURN v, m.i",
    "UNWIND $p AS v MATCH (n:A) WHERE n.x IN [v, 2] OR n.x = 1 RETURN n.i, v",
    "UNWIND $p AS v MATCH (n:B) WHERE n.x IN [v, 2] AND n.y > 0 RETURN n.i, v",
    "UNWIND $p AS v MATCH (n:A) WHERE n.x CONTAINS v RETURN n.i, v",
    "UNWIND $p AS v MATCH (n) WHERE id(n) = v OR elementId(n) = v RETURN n.i, v",
    "UNWIND $p AS v MATCH (n)-[r]-(m) WHERE id(r) IN [v, 3] RETURN n.i, m.i, v",
)


@pytest.mark.parametrize("text", MANY)
def test_many_rows_at_once_find_what_each_alone_finds(store: Store, text: str) -> None:
    fast, plain = QueryEngine(), QueryEngine(optimise=False)
    values = random.Random(5).sample(
        [*PARAMS, *[1, 1.5, 2] * 60, *["a", ""] * 20], k=len(PARAMS) + 220
    )
    for given in (values, sorted(values, key=lambda value: str(type(value)))):
        assert _rows(store, fast, text, given) == _rows(store, plain, text, given)


def test_the_optimised_path_is_really_another(store: Store) -> None:
    """The corpus would prove nothing if both engines planned alike."""
    fast, plain = QueryEngine(), QueryEngine(optimise=False)
    different = [text for text in QUERIES if _shape(fast, text) != _shape(plain, text)]
    assert len(different) > len(QUERIES) * 0.8


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("MATCH (n:A) WHERE n.x = $p RETURN n.i", True),
        ("MATCH (n:A) WHERE n.x > $p RETURN n.i", True),
        ("MATCH (n:T) WHERE n.x STARTS WITH 'a' RETURN n.i", True),
        ("MATCH (n:B {x: $p, y: 1}) RETURN n.i", True),
        ("MATCH (n:B {x: $p}) RETURN n.i", False),
        ("MATCH (n:C {x: $p}) RETURN n.i", False),
        ("MATCH (n)-[r:R {w: $p}]->(m) RETURN n.i", True),
    ],
)
def test_indexes_are_used_where_they_apply(store: Store, text: str, used: bool) -> None:
    with store.read() as snapshot:
        run = Run(Graph(snapshot), {"p": 1}, now_ns=snapshot.now)
        step = QueryEngine().prepare(text).steps.branches[0].steps[0]  # type: ignore[union-attr]
        tests = step.pushed.conditions.tests
        sql = prepare_statement(
            step.pushed, run, classify_arguments(tests, [test.value((), run) for test in tests])[1]
        ).sql
    assert ("FROM entry x" in sql) == (used and bool(run.graph.indexes().rules))


def _shape(engine: QueryEngine, text: str) -> str:
    steps = engine.prepare(text).steps
    assert steps is not None
    return repr(
        [(type(step).__name__, getattr(step, "pushed", None)) for step in steps.branches[0].steps]
    )
