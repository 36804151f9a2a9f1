"""What a query calls its variables changes no answer: no name of a user is one of the planner's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.query.core.names import InternalName, Kind, is_internal
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

# ?a, ?b, ?c are the names that change
QUERIES = (
    "MATCH (?a)-[:T]->() RETURN ?a.x AS x ORDER BY x",
    "MATCH ()-[?a:T]->(?b) RETURN type(?a) AS t, ?b.x AS x ORDER BY x",
    "MATCH (?a:A)-[]->(?b)-[]->(?c) RETURN ?a.x + ?b.x + ?c.x AS x",
    "MATCH (?a)-[?b:T*1..2]->({x: 3}) RETURN ?a.x AS x, size(?b) AS n ORDER BY x",
    "MATCH ?a = (:A)-[:T*]->() RETURN length(?a) AS n ORDER BY n",
    "MATCH (?a:A)-[?b*1..2 {w: 1}]->() RETURN count(*) AS n",
    "WITH 1 AS ?a RETURN *",
    "WITH 1 AS ?a, 2 AS ?b WITH *, 3 AS ?c RETURN *",
    "MATCH (?a:A) WITH * MATCH ()-[?b]->() RETURN count(?b) AS n, ?a.x AS x",
    "UNWIND [1, 2] AS ?a UNWIND [?a, 5] AS ?b RETURN ?a, ?a + count(?b) AS n, sum(?b) + 1 AS s",
    "WITH 5 AS ?a UNWIND [1, 2] AS ?b RETURN ?a, count(?b) + 1 AS n, sum(?b) + 1 AS s",
    "MATCH (?a) RETURN ?a.x AS ?b, count(*) + 1 AS ?c ORDER BY ?b",
    "MATCH (?a) WITH ?a.x AS ?b, 1 AS ?c WHERE ?b > 1 RETURN ?b, ?c ORDER BY ?c, ?b",
    "MATCH (?a:A) WITH ?a, 1 AS ?b CALL (?a) { MATCH (?a)-->(m) RETURN m.x AS ?c } RETURN ?c, ?b",
    "CALL { MATCH (?a:A) RETURN ?a.x AS ?b UNION MATCH (?b:B) RETURN ?b.x AS ?b } RETURN ?b",
    "MATCH (?a:A) RETURN [?b IN [1, 2] | ?b + ?a.x] AS l, [(?a)-->(?c) | ?c.x] AS m",
    "MATCH (?a:A) RETURN reduce(?b = 0, ?c IN [1, 2] | ?b + ?c + ?a.x) AS s",
    "MATCH (?a:A) WHERE EXISTS { (?a)-->(?b) WHERE ?b.x = 2 } RETURN ?a.x AS ?c",
    "MATCH (?a:A), (?b {x: 3}) RETURN length(shortestPath((?a)-[*]->(?b))) AS n",
    "MATCH (?a:A) CREATE (?a)-[?b:U {w: 4}]->(?c:C {x: 9})-[:U]->() RETURN ?b.w AS w, ?c.x AS x",
    "MERGE (?a:A {x: 1})-[?b:T]->(?c:B) RETURN ?a.x AS x, type(?b) AS t, ?c.x AS y",
    "MATCH (?a:A)((?b)-[:T]->(?c)){1,2} RETURN size(?b) AS n, [one IN ?c | one.x] AS l ORDER BY n",
    "CALL db.labels() YIELD label AS ?a RETURN ?a ORDER BY ?a",
)
PLAIN = ("one", "two", "three")
HOSTILE = (
    ("  n0", "  n1", "  e2"),
    ("  e1", "  n0", "  n2"),
    ("  a", "  b", "  c"),
    ("  aggregate 0", "  aggregate 1", "  path"),
    ("  made 1", "  made 2", "  each"),
    ("  pin", "  seen", "  walked"),
    ("  id ", "  passed 0", "  seen one"),
    tuple(str(InternalName(Kind.ELEMENT, number)) for number in range(3)),
    tuple(str(InternalName(Kind.AGGREGATE, number)) for number in range(3)),
    tuple(str(InternalName(kind)) for kind in (Kind.OUTER, Kind.RETURNED, Kind.TRAVERSED)),
)


@pytest.fixture(params=[True, False], ids=["optimised", "plain"])
def session(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[GraphSession]:
    with Store(tmp_path / "graph.db") as store:
        yield GraphSession(store, QueryEngine(optimise=request.param), Identity("test", "operator"))


GRAPH = "CREATE (:A {x: 1})-[:T {w: 1}]->(:B {x: 2})-[:T {w: 1}]->(:B {x: 3})"


def written(text: str, names: tuple[str, ...]) -> str:
    return re.sub(r"\?([abc])", lambda found: f"`{names['abc'.index(found[1])]}`", text)


def values(rows: list[dict[str, object]], names: tuple[str, ...]) -> list[dict[str, object]]:
    """Rows whose columns are called as in the query with the plain names."""
    plain = dict(zip(names, PLAIN, strict=True))
    return [{plain.get(name, name): value for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("text", QUERIES)
def test_names_change_no_answer(session: GraphSession, text: str) -> None:
    session.run(GRAPH)
    found = []
    for names in (PLAIN, *HOSTILE):
        session.begin()
        found.append(values(session.run(written(text, names)).records(), names))
        session.rollback()
    assert found[0]
    assert found[1:] == found[:1] * len(HOSTILE)


@pytest.mark.parametrize("text", QUERIES)
def test_names_change_no_answer_where_accesses_are_recorded(tmp_path: Path, text: str) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        memory.run("CREATE DECAY PROFILE a FOR (n:A) APPLY { NO DECAY }")
        memory.run("CREATE DECAY PROFILE t FOR ()-[r:T]-() APPLY { NO DECAY }")
        memory.run(GRAPH)
        with memory.graph() as session:
            found = []
            for names in (PLAIN, *HOSTILE):
                session.begin()
                found.append(values(session.run(written(text, names)).records(), names))
                session.rollback()
            assert found[1:] == found[:1] * len(HOSTILE)


def test_the_two_named_queries(session: GraphSession) -> None:
    session.run(GRAPH)
    rows = session.run("MATCH (`  n0`)-[:T]->() RETURN `  n0`.x").records()
    assert sorted(row["`  n0`.x"] for row in rows) == [1, 2]
    assert session.run("WITH 1 AS `  a` RETURN *").records() == [{"  a": 1}]


def test_an_internal_name_equals_only_itself() -> None:
    name = InternalName(Kind.PROPERTY, "a", "x")
    same, text = InternalName(Kind.PROPERTY, "a", "x"), str.__str__(name)
    assert name == same
    assert hash(name) == hash(same)
    assert (name != same) is False
    assert name != text
    assert text != name
    assert {name: 1}.get(text) is None
    assert {text: 1}.get(name) is None
    assert name != InternalName(Kind.PROPERTY, "ax", "")
    assert name != InternalName(Kind.SHADOWED, "a", "x")
    assert is_internal(name, Kind.PROPERTY)
    assert not is_internal(name, Kind.ELEMENT)
    assert not is_internal(text)
