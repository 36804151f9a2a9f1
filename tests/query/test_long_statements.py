"""Statements of thousands of parts: planning takes little work, and stops when its time is up."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.semantics.check import check
from doxa.query.core.deadline import Deadline
from doxa.query.engine import QueryEngine
from doxa.query.plan.planner import Planner
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

ENGINE = QueryEngine()


def _joined(one: str, by: str = ",") -> Callable[[int], str]:
    return lambda n: by.join(one.replace("#", str(i)) for i in range(n))


SHAPES: dict[str, Callable[[int], str]] = {
    "nodes": lambda n: f"MATCH {_joined('(n#:Z)')(n)} RETURN 1",
    "unnamed nodes": lambda n: f"MATCH {_joined('(:Z)')(n)} RETURN 1",
    "edges": lambda n: f"MATCH {_joined('(a#)-[r#:R]->(b#)')(n)} RETURN 1",
    "a star": lambda n: f"MATCH (a), {_joined('(a)-[:R]->(b#)')(n)} RETURN 1",
    "paths": lambda n: f"MATCH {_joined('p# = (a)-->(b#)')(n)} RETURN 1",
    "lengths": lambda n: f"MATCH (a) {_joined('-[:R*1..2]->(n#)', '')(n)} RETURN 1",
    "conditions": lambda n: f"MATCH (a), (b) WHERE {_joined('a.x# = b.y#', ' AND ')(n)} RETURN a",
    "conditions on a shortest path": lambda n: (
        f"MATCH p = shortestPath((a)-[*]->(b)) WHERE {_joined('length(p) > #', ' AND ')(n)}"
        " RETURN p"
    ),
    "WITH": lambda n: f"{_joined('WITH 1 AS x', ' ')(n)} RETURN x",
    "WITH *": lambda n: f"WITH 1 AS x {_joined('WITH *', ' ')(n)} RETURN x",
    "WITH of another name": lambda n: f"{_joined('MATCH (n#) WITH n#', ' ')(n)} RETURN 1",
    "MATCH": lambda n: f"{_joined('MATCH (n#:Z)', ' ')(n)} RETURN 1",
    "UNION": lambda n: _joined("MATCH (n) RETURN n.x AS x", " UNION ")(n),
    "sorted columns": lambda n: (
        f"MATCH (n) RETURN {_joined('n.p# AS p#')(n)} ORDER BY {_joined('p#')(n)}"
    ),
    "groups": lambda n: f"MATCH (n) RETURN {_joined('n.q#, sum(n.p#) + 1')(n)}",
    "SET": lambda n: f"MATCH (n) SET {_joined('n.p# = #')(n)}",
    "MERGE": lambda n: _joined("MERGE (n#:A {x: #})", " ")(n),
    "CREATE in FOREACH": lambda n: f"FOREACH (x IN [1] | {_joined('CREATE (:A {i: #})', ' ')(n)})",
}


class Ticks:
    """Counts ticks, and gives up after a number of them."""

    def __init__(self, most: int | None = None) -> None:
        self.count, self.most = 0, most

    def __call__(self) -> None:
        self.count += 1
        if self.most is not None and self.count > self.most:
            raise TimeoutError


def _planned(text: str, ticks: Ticks) -> None:
    statement = parse(text)
    check(statement, text, procedure=ENGINE.registry.signature)
    assert isinstance(statement.body, t.Query)
    Planner(statement.body, ENGINE._procedure, tick=ticks).plan(statement.body)


def _calls(run: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, a run calls."""
    count = 0

    def counting(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count


def _checked(text: str) -> None:
    check(parse(text), text, procedure=ENGINE.registry.signature)


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_parts_take_twice_the_work(shape: str) -> None:
    for stage in (_checked, lambda text: _planned(text, Ticks())):
        stage(SHAPES[shape](10))
        less, more, most = [_calls(partial(stage, SHAPES[shape](n))) for n in (50, 100, 200)]
        assert most - more <= 2.2 * (more - less), (less, more, most)


@pytest.mark.parametrize("shape", SHAPES)
def test_planning_ends_when_it_is_told_to(shape: str) -> None:
    for most in (0, 100):
        with pytest.raises(TimeoutError):
            _planned(SHAPES[shape](200), Ticks(most))


def test_a_long_chain_is_planned_in_pieces() -> None:
    """Each piece looks at what is left, so that this is not linear, but far from a cube."""
    text = f"MATCH (){'-->()' * 300} RETURN 1"
    _planned(text, ticks := Ticks())
    assert ticks.count < 20_000


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_statement_that_is_over_ends_before_it_runs(cancelled: bool) -> None:
    deadline = Deadline(600_000 if cancelled else 0)
    if cancelled:
        deadline.cancel()
    with pytest.raises(QueryError) as caught:
        QueryEngine().prepare(SHAPES["nodes"](400), deadline.tick)
    assert caught.value.detail == ("Terminated" if cancelled else "TimedOut")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("t", "operator")) as made,
    ):
        yield made


@pytest.mark.parametrize("mode", ["", "PROFILE "])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{'WITH 1 AS x ' * 1600} RETURN x", [1]),
        (f"UNWIND [3, 1, 2] AS x {'WITH DISTINCT x ' * 700} RETURN x", [3, 1, 2]),
        (f"UNWIND [1, 2] AS x {'WITH x + 1 AS x WHERE x > 2 ' * 700} RETURN x", [702]),
        (f"{_joined('UNWIND [1] AS x#', ' ')(1000)} RETURN x0", [1]),
        (f"UNWIND [1] AS x {_joined('OPTIONAL MATCH (n#:Z)', ' ')(1000)} RETURN x", [1]),
        (f"{_joined('CALL () { RETURN # AS x# }', ' ')(1000)} RETURN x999", [999]),
        (f"CALL () {{ {'WITH 1 AS x ' * 1000} RETURN x }} RETURN x", [1]),
        (f"RETURN EXISTS {{ {'WITH 1 AS x ' * 1000} RETURN x }} AS x", [True]),
        (f"UNWIND [2, 1] AS x {'WITH x ' * 250} RETURN x LIMIT 1", [2]),
        (f"CREATE (n:A) {'WITH n SET n.x = 1 ' * 500} RETURN n.x", [1]),
        (f"{_joined('MERGE (n#:B {x: #})', ' ')(500)} RETURN n499.x", [499]),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_statements_of_many_clauses_run(
    session: GraphSession, mode: str, text: str, expected: list[object]
) -> None:
    assert [row[0] for row in session.run(mode + text)] == expected


def test_an_error_of_an_early_clause_is_told_with_its_place(session: GraphSession) -> None:
    text = f"UNWIND [0] AS x WITH 1 / x AS x {'WITH x ' * 500} RETURN x"
    with pytest.raises(QueryError) as caught:
        list(session.run(text))
    assert caught.value.at == text.index("/")


def test_rows_between_many_clauses_end_with_the_timeout(session: GraphSession) -> None:
    text = f"UNWIND range(1, 10000) AS y UNWIND range(1, 10000) AS x {'WITH x ' * 300} RETURN x"
    with pytest.raises(QueryError) as caught:
        list(session.run(text, timeout_ms=100))
    assert caught.value.detail == "TimedOut"
