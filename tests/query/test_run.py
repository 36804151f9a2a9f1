"""A run as a whole: failures leave nothing, timeouts and cancellation end it, plans are kept,
values come back as they went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doxa.base.spatial import Point
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from doxa.cypher.errors import QueryError
from doxa.query.core.deadline import Deadline
from doxa.query.core.graph import Graph
from doxa.query.core.run import Run
from doxa.query.engine import QueryEngine
from doxa.store import Identity, Store


class Database:
    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self.engine = QueryEngine()

    def run(self, text: str, **params: Any) -> list[dict[str, Any]]:
        plan = self.engine.prepare(text)
        if plan.checked.writes:
            with self.store.write(Identity("tester", "operator"), op="cypher") as tx:
                return self.engine.execute(plan, tx, params).records()
        with self.store.read() as snapshot:
            return self.engine.execute(plan, snapshot, params).records()


@pytest.fixture
def database(tmp_path: Path) -> Any:
    made = Database(tmp_path / "graph.db")
    yield made
    made.store.close()


def test_a_failed_statement_leaves_nothing(database: Database) -> None:
    with pytest.raises(QueryError) as caught:
        database.run("UNWIND [1, 2, 0] AS x CREATE (:A {x: 10 / x})")
    assert caught.value.detail == "DivisionByZero"
    assert database.run("MATCH (a) RETURN count(a) AS c") == [{"c": 0}]
    assert database.store.read_only is False


def test_every_type_of_value_comes_back(database: Database) -> None:
    values = [
        1,
        -(2**63),
        1.5,
        float("inf"),
        "text",
        "",
        True,
        b"\x00\xff",
        Date(-7),
        LocalTime(5),
        Time(5, 3600),
        LocalDateTime(-1, 5),
        DateTime(1_700_000_000, 9, 3600, "Europe/Stockholm"),
        Duration(1, 2, 3, 4),
        Point(4326, 1.0, 2.0),
        Point(9157, 1.0, 2.0, 3.0),
        [1, 2],
        [],
    ]
    for value in values:
        assert database.run("CREATE (a:V {v: $v}) RETURN a.v AS v", v=value) == [{"v": value}]
        assert database.run("MATCH (a:V) WHERE a.v = $v RETURN count(*) > 0 AS found", v=value) == [
            {"found": True}
        ]


def test_text_and_numbers_are_not_mistaken_for_one_another(database: Database) -> None:
    database.run(
        "CREATE (:A {x: 1}), (:A {x: 1.0}), (:A {x: true}), (:A {x: '1'}), (:A {x: [1]}), (:A {x:"
        " date('1970-01-02')}), (:A)"
    )
    assert database.run("MATCH (a:A) WHERE a.x = $x RETURN count(*) AS c", x=1) == [{"c": 2}]
    assert database.run("MATCH (a:A) WHERE a.x = $x RETURN count(*) AS c", x=True) == [{"c": 1}]
    assert database.run("MATCH (a:A) WHERE a.x = $x RETURN count(*) AS c", x="1") == [{"c": 1}]
    assert database.run("MATCH (a:A) WHERE a.x = $x RETURN count(*) AS c", x=[1]) == [{"c": 1}]
    assert database.run("MATCH (a:A) WHERE a.x = $x RETURN count(*) AS c", x='{"$date":1}') == [
        {"c": 0}
    ]
    assert database.run("MATCH (a:A) WHERE a.x < $x RETURN count(*) AS c", x="2") == [{"c": 1}]
    assert database.run("MATCH (a:A) WHERE a.x >= $x RETURN count(*) AS c", x=False) == [{"c": 1}]
    assert database.run("MATCH (a:A) WHERE a.x = $x RETURN count(*) AS c", x=None) == [{"c": 0}]
    assert database.run("MATCH (a:A) WHERE a.x IS NULL RETURN count(*) AS c") == [{"c": 1}]


@pytest.mark.parametrize(
    "name", ["a.b", "a b", "$", "[0]", "ä", 'q"uote', "back\\slash", "'", "tab\t"]
)
def test_odd_property_names(database: Database, name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    database.run(f"CREATE (:A {{{quoted}: 1}})")
    assert database.run(f"MATCH (a:A) WHERE a.{quoted} = $x RETURN a.{quoted} AS x", x=1) == [
        {"x": 1}
    ]
    assert database.run(f"MATCH (a:A) WHERE a.{quoted} IS NOT NULL RETURN count(*) AS c") == [
        {"c": 1}
    ]


def test_a_plan_is_kept(database: Database) -> None:
    assert database.engine.prepare("RETURN 1 AS x") is database.engine.prepare("RETURN 1 AS x")


def test_a_timeout_ends_a_query(database: Database) -> None:
    plan = database.engine.prepare(
        "UNWIND range(1, 100000) AS x UNWIND range(1, 100000) AS y RETURN count(*) AS c"
    )
    with database.store.read() as snapshot:
        run = Run(Graph(snapshot), {}, now_ns=snapshot.now, deadline=Deadline(20))
        assert plan.steps is not None
        with pytest.raises(QueryError) as caught:
            list(plan.steps.rows(run, iter(((),))))
    assert caught.value.detail == "TimedOut"


def test_a_cancelled_query_ends(database: Database) -> None:
    plan = database.engine.prepare("UNWIND range(1, 1000000) AS x RETURN x")
    with database.store.read() as snapshot:
        result = database.engine.execute(plan, snapshot)
        rows = iter(result)
        next(rows)
        result.run.deadline.cancelled = True
        with pytest.raises(QueryError) as caught:
            list(rows)
    assert caught.value.detail == "Terminated"


def test_a_query_sees_its_own_writes(database: Database) -> None:
    assert database.run(
        "CREATE (a:A {x: 1}) SET a.x = 2 WITH a MATCH (b:A) SET b.y = b.x + 1 RETURN a.x AS x, a.y"
        " AS y"
    ) == [{"x": 2, "y": 3}]


def test_as_of_a_system_time(database: Database) -> None:
    database.run("CREATE (:A {x: 1})-[:R]->(:B)")
    with database.store.read() as snapshot:
        receipt = snapshot.last_receipt()
    assert receipt is not None
    database.run("MATCH (a:A) SET a.x = 2, a:C")
    database.run("MATCH (:A)-[r]->(b) DELETE r, b")
    plan = database.engine.prepare(
        "MATCH (a:A)-[r]->(b:B) RETURN a.x AS x, labels(a) AS labels, type(r) AS type"
    )
    with database.store.read() as snapshot:
        assert database.engine.execute(plan, snapshot).records() == []
        before = database.engine.execute(plan, snapshot, as_of=receipt.time).records()
    assert before == [{"x": 1, "labels": ["A"], "type": "R"}]


def test_items_of_set_are_carried_out_in_order(database: Database) -> None:
    """Decided so: Neo4j reads the values of neighbouring items on one variable before it sets any,
    which gives 1; docs/reference/differences-from-neo4j.md says so."""
    for text, expected in (
        ("CREATE (n:Ordered {a: 1}) SET n.a = 5, n.b = n.a", 5),
        ("MATCH (n:Ordered) SET n.a = 7 SET n.b = n.a", 7),
        ("MATCH (n:Ordered) SET n.b = n.a, n.a = 9", 7),
        ("MATCH (n:Ordered) SET n += {a: 11}, n.b = n.a", 11),
    ):
        database.run(text)
        assert database.run("MATCH (n:Ordered) RETURN n.b AS b") == [{"b": expected}]
