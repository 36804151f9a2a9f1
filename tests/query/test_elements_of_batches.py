"""What a query does with elements that an earlier batch of it returned: they are those of the graph
as it is now, as elsewhere in a query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store
from doxa.store.proof.verify import check

ME = Identity("tester", "operator")
BATCHES = """UNWIND range(1, $count) AS i
    CALL (i) { MATCH (n:A {id: 1}) SET n.x = i RETURN n } IN TRANSACTIONS OF 1 ROWS"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with Store(tmp_path / "m.db") as store, GraphSession(store, QueryEngine(), ME) as made:
        made.run("CREATE INDEX FOR (n:A) ON (n.x)")
        made.run("CREATE (:A {id: 1, x: 0})-[:R]->(:A {id: 2, x: 0})")
        yield made
        assert check(store) == []


@pytest.mark.parametrize("count", [4, 300])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("WITH n SET n.y = coalesce(n.y, 0) + 1", {"y": "count"}),
        ("WITH i, n WHERE i = 1 SET n.y = 5", {"y": 5}),
        ("WITH i, n WHERE i = 1 SET n += {y: n.x + 1}", {"y": "count + 1"}),
        ("WITH i, n WHERE i = 1 SET n = properties(n)", {}),
        ("WITH i, n WHERE n.x = $count SET n.y = i", {"y": "count"}),
        ("WITH i, n WHERE i = 1 REMOVE n.none SET n:Z", {}),
        ("WITH i, n WHERE i = 1 FOREACH (_ IN [1] | SET n.y = 7)", {"y": 7}),
        (
            "WITH i, n WHERE i = 1 CALL db.create.setNodeVectorProperty(n, 'y', [1.0])",
            {"y": [1.0]},
        ),
    ],
)
def test_a_change_is_of_what_is_there_now(
    session: GraphSession, count: int, change: str, expected: dict[str, object]
) -> None:
    session.run(f"{BATCHES} {change}", {"count": count})
    numbers = {"count": count, "count + 1": count + 1}
    wanted = {name: numbers.get(str(value), value) for name, value in expected.items()}
    found = session.run("MATCH (n:A {id: 1}) RETURN n").single()
    assert found.properties == {"id": 1, "x": count, **wanted}
    assert session.run(f"MATCH (n:A {{x: {count}}}) RETURN collect(n.id)").single() == [1]


def test_a_label_that_a_later_batch_gave_stays(session: GraphSession) -> None:
    session.run(
        """UNWIND [1, 2] AS i
        CALL (i) {
          MATCH (n:A {id: 1}) FOREACH (_ IN CASE i WHEN 2 THEN [1] ELSE [] END | SET n:Q) RETURN n
        } IN TRANSACTIONS OF 1 ROWS
        WITH i, n WHERE i = 1 SET n:Z, n.y = 6"""
    )
    assert session.run("MATCH (n:A {id: 1}) RETURN labels(n)").single() == ["A", "Q", "Z"]


def test_many_rows_change_what_is_there_now(session: GraphSession) -> None:
    session.run("UNWIND range(1, 300) AS i CREATE (:C {id: i, x: 0})")
    session.run(
        """UNWIND range(0, 599) AS i
        CALL (i) { MATCH (n:C {id: 1 + i % 300}) SET n.x = i RETURN n } IN TRANSACTIONS OF 300 ROWS
        WITH n SET n.y = coalesce(n.y, 0) + 5"""
    )
    found = session.run("MATCH (n:C) RETURN min(n.x) AS x, min(n.y) AS y, max(n.y) AS z").records()
    assert found == [{"x": 300, "y": 10, "z": 10}]


def test_an_edge_is_that_of_now_too(session: GraphSession) -> None:
    session.run(
        """UNWIND [1, 2, 3] AS i
        CALL (i) { MATCH ()-[r:R]->() SET r.z = i RETURN r } IN TRANSACTIONS OF 1 ROWS
        WITH i, r WHERE i = 1 SET r.w = r.z"""
    )
    assert session.run("MATCH ()-[r:R]->() RETURN r").single().properties == {"z": 3, "w": 3}


def test_what_a_later_batch_deleted_cannot_be_changed(session: GraphSession) -> None:
    with pytest.raises(QueryError, match="deleted"):
        session.run(
            """UNWIND [1, 2] AS i
            CALL (i) {
              MATCH (n:A {id: 1})
              FOREACH (_ IN CASE i WHEN 2 THEN [1] ELSE [] END | DETACH DELETE n)
              RETURN n
            } IN TRANSACTIONS OF 1 ROWS
            WITH i, n WHERE i = 1 SET n.y = 6"""
        )
    assert session.run("MATCH (n:A) RETURN count(n)").single() == 1


def test_what_was_returned_is_not_of_the_graph_any_more(session: GraphSession) -> None:
    text = """MATCH (n:A {id: 1}) UNWIND [1, 2] AS i
        CALL (n, i) { SET n.x = i WITH n, i RETURN 1 / (i - 2) AS z } IN TRANSACTIONS OF 1 ROWS
        ON ERROR CONTINUE
        WITH i, n WHERE i = 1 RETURN n"""
    (row,) = session.run(text).records()
    assert row["n"].source is None and row["n"]["x"] == 1
    session.run("MATCH (n:A {id: 1}) SET n.x = 77")
    assert row["n"]["x"] == 1
    session.run("WITH $n AS n SET n.y = 2", {"n": row["n"]})
    assert row["n"].source is None
