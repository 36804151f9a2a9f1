"""Remarks on queries that run: names that nothing has, patterns that nothing connects; and none
where all is well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made,
    ):
        made.run("CREATE (:Person {name: 'Ana'})-[:KNOWS]->(:Person {name: 'Kai'})")
        yield made


def said(session: GraphSession, text: str) -> list[tuple[str, int, int]]:
    result = session.run(text)
    result.records()
    return [
        (notice.code.rpartition(".")[2], notice.line, notice.column) for notice in result.notices()
    ]


LABEL, TYPE, PRODUCT = "UnknownLabelWarning", "UnknownRelationshipTypeWarning", "CartesianProduct"


@pytest.mark.parametrize(
    "text, expected",
    [
        ("MATCH (n:Person)-[:KNOWS]->(m) RETURN n", []),
        ("MATCH (n:Persson) RETURN n", [(LABEL, 1, 10)]),
        (
            "MATCH (n:Person)\nMATCH (n)-[:KNOW|KNOWS]->(m:Cat|Person) RETURN n",
            [(TYPE, 2, 13), (LABEL, 2, 29)],
        ),
        ("MATCH (n:!Cat) RETURN n", []),
        ("MATCH (n) WHERE n:Cat RETURN n", []),
        (
            "MATCH (n:Person) RETURN EXISTS { (n)-[:OWNS]->(:Cat) } AS e",
            [(TYPE, 1, 40), (LABEL, 1, 49)],
        ),
        ("MATCH (a:Person), (b:Person) RETURN count(*)", [(PRODUCT, 1, 1)]),
        ("MATCH (a:Person), (b:Person), (a)-->(b) RETURN count(*)", []),
        ("MATCH (a:Person) MATCH (a)-->(b), (a)<--(c) RETURN count(*)", []),
        (
            "MATCH (a:Person) CALL (a) { MATCH (x), (y) RETURN count(*) AS c } RETURN c",
            [(PRODUCT, 1, 29)],
        ),
        ("CREATE (n:New)-[:MADE]->(m:New) WITH n MATCH (n:New)-[:MADE]->(m) RETURN m", []),
        ("MERGE (n:Fresh) SET n:Fresher RETURN n", []),
        ("MATCH (n:Gone) SET n:Cat REMOVE n:Dog", [(LABEL, 1, 10)]),
        ("AS OF SYSTEM TIME 1 MATCH (n:Persson) RETURN n", []),
        ("SHOW INDEXES", []),
        ("CREATE INDEX FOR (n:Cat) ON (n.name)", []),
        ("RETURN 1 AS one UNION MATCH (n:Cat) RETURN 1 AS one", [(LABEL, 1, 32)]),
    ],
)
def test_what_is_odd_is_said(
    session: GraphSession, text: str, expected: list[tuple[str, int, int]]
) -> None:
    assert said(session, text) == expected


def test_a_transaction_knows_what_it_wrote(session: GraphSession) -> None:
    session.begin()
    session.run("CREATE (:Cat)")
    assert said(session, "MATCH (c:Cat) RETURN c") == []
    session.rollback()
    assert said(session, "MATCH (c:Cat) RETURN c") == [(LABEL, 1, 10)]


def test_many_nodes_that_are_undone_leave_no_known_label(session: GraphSession) -> None:
    session.begin()
    session.run("UNWIND range(1, 300) AS i CREATE (:Cat {i: i})")
    assert said(session, "MATCH (c:Cat) RETURN c") == []
    session.rollback()
    assert said(session, "MATCH (c:Cat) RETURN c") == [(LABEL, 1, 10)]


def test_what_another_session_of_the_thread_wrote_may_be_undone(session: GraphSession) -> None:
    with GraphSession(session.store, session.engine, session.identity) as other:
        other.begin()
        other.run("CREATE (:Cow)-[:EATS]->(:Cow)")
        assert said(session, "MATCH (c:Cow)-[:EATS]->() RETURN c") == []
        other.rollback()
    assert len(said(session, "MATCH (c:Cow)-[:EATS]->() RETURN c")) == 2


def test_a_notice_says_what_and_where(session: GraphSession) -> None:
    result = session.run("MATCH (n:Persson) RETURN n")
    (notice,) = result.notices()
    assert notice.severity == "WARNING" and notice.gql == "01N50" and notice.offset == 9
    assert "Persson" in notice.description


def test_what_was_deleted_is_not_misspelt(session: GraphSession) -> None:
    session.run("CREATE (:Dog)-[:BITES]->(:Man)")
    assert said(session, "MATCH (d:Dog)-[r:BITES]->() DETACH DELETE d") == []
    assert said(session, "MATCH (d:Dog)-[:BITES]->() RETURN d") == []
    assert said(session, "MATCH (d:Do) RETURN d") == [(LABEL, 1, 10)]
    assert said(session, "MATCH ()-[:BITE]->() RETURN 1 AS one") == [(TYPE, 1, 12)]
    session.run("CREATE (n:Cat) REMOVE n:Cat")
    assert said(session, "MATCH (c:Cat) RETURN c") == [(LABEL, 1, 10)]  # it was never stored
    session.run("CREATE (n:Cat)")
    session.run("MATCH (n:Cat) REMOVE n:Cat")
    assert said(session, "MATCH (c:Cat) RETURN c") == []
