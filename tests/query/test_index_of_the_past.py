"""Declared indexes as of a past time: whatever a transaction did, they lead to all that was."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store
from doxa.store.proof.verify import check
from doxa.store.scope.bound_store import BoundStore

ME = Identity("tester", "operator")
VALUES = (1, 2, 3)
# of a node, of an edge: what one statement does to those with a number
CHANGES = (
    "MATCH (n {{id: {id}}}) SET n.x = {x}",
    "MATCH (n {{id: {id}}}) SET n.y = {x}",
    "MATCH (n {{id: {id}}}) SET n:A",
    "MATCH (n {{id: {id}}}) REMOVE n:A",
    "MATCH (n {{id: {id}}}) REMOVE n.x",
    "MATCH (n {{id: {id}}}) DETACH DELETE n",
    "MERGE (n {{id: {id}}}) SET n:A, n.x = {x}",
    "MATCH (a {{id: {id}}}), (b {{id: {x}}}) MERGE (a)-[r:R]->(b) SET r.z = {x}",
    "MATCH ({{id: {id}}})-[r:R]->() SET r.z = {x}",
    "MATCH ({{id: {id}}})-[r:R]->() SET r.w = {x}",
    "MATCH ({{id: {id}}})-[r:R]->() DELETE r",
)
READS = (
    "MATCH (n:A {x: $x}) RETURN n.id AS found ORDER BY found",
    "MATCH (n:A) WHERE n.x > $x RETURN n.id AS found ORDER BY found",
    "MATCH ()-[r:R {z: $x}]->() RETURN id(r) AS found ORDER BY found",
)
STATEMENT = st.builds(
    lambda text, id, x: text.format(id=id, x=x),
    st.sampled_from(CHANGES),
    st.sampled_from(VALUES),
    st.sampled_from(VALUES),
)


def _read(session: GraphSession, moment: int | None) -> list[Any]:
    start = "" if moment is None else f"AS OF SYSTEM TIME {moment} "
    return [
        [row["found"] for row in session.run(start + text, {"x": x}).records()]
        for text in READS
        for x in VALUES
    ]


@given(st.lists(st.lists(STATEMENT, min_size=1, max_size=4), max_size=8))
@settings(max_examples=60, deadline=None)
def test_an_index_finds_of_the_past_what_a_scan_finds(transactions: list[list[str]]) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Store(Path(folder) / "m.db") as store,
        GraphSession(store, QueryEngine(), ME) as session,
    ):
        session.run("CREATE INDEX by_x FOR (n:A) ON (n.x)")
        session.run("CREATE INDEX by_z FOR ()-[r:R]-() ON (r.z)")
        moments: list[int] = []
        for statements in transactions:
            session.begin()
            for text in statements:
                session.run(text)
            session.commit()
            moments.append(time.time_ns())
        found = [_read(session, moment) for moment in (*moments, None)]
        assert check(store) == []
        session.run("DROP INDEX by_x")
        session.run("DROP INDEX by_z")
        assert [_read(session, moment) for moment in (*moments, None)] == found


@pytest.fixture
def session(tmp_path: Path) -> Any:
    with Store(tmp_path / "m.db") as store, GraphSession(store, QueryEngine(), ME) as made:
        made.run("CREATE INDEX FOR (n:A) ON (n.x)")
        made.run("CREATE (:A {id: 1, x: 1, y: 0})")
        yield made


def test_a_project_sees_what_was_of_what_has_left_it(tmp_path: Path) -> None:
    with Store(tmp_path / "m.db") as store, GraphSession(store, QueryEngine(), ME) as whole:
        whole.run("CREATE INDEX FOR (n:A) ON (n.x)")
        whole.run("CREATE INDEX FOR ()-[r:R]-() ON (r.z)")
        with GraphSession(BoundStore(store, ["p"]), QueryEngine(), ME) as bound:
            bound.run("CREATE (:A {x: 1})-[:R {z: 1}]->(:A {x: 2})")
            moment = time.time_ns()
            bound.run("MATCH ()-[r:R]->() SET r.w = 1")  # a past version with the same key
            whole.run("MATCH (n:A {x: 1}) SET n.kref = 'kref://q/a/b'")
            for text in ("MATCH (n:A {x: 1})", "MATCH ()-[n:R {z: 1}]->()"):
                read = f"{text} RETURN count(n)"
                assert bound.run(f"AS OF SYSTEM TIME {moment} {read}").single() == 1
                assert bound.run(read).single() == 0
        assert check(store) == []


def _keys(session: GraphSession) -> int:
    with session.store.read() as snapshot:
        found = snapshot.rows("SELECT count(*) FROM entry_past")
    return int(found[0][0])


def test_a_key_that_stays_is_not_written_again(session: GraphSession) -> None:
    for y in range(1, 4):
        session.run("MATCH (n:A) SET n.y = $y", {"y": y})
    assert _keys(session) == 0
    session.run("MATCH (n:A) SET n.x = 2")
    assert _keys(session) == 1
    assert check(session.store) == []


def test_a_key_that_goes_later_in_the_transaction_leads_to_what_was(session: GraphSession) -> None:
    moment = time.time_ns()
    session.begin()
    session.run("MATCH (n:A) SET n.y = 1")  # what was is a past version now, with the same key
    session.run("MATCH (n:A) SET n.x = 2")  # of which nobody saw the version before
    session.commit()
    text = f"AS OF SYSTEM TIME {moment} MATCH (n:A {{x: 1}}) RETURN n.y AS y"
    assert session.run(text).records() == [{"y": 0}]
    assert check(session.store) == []
