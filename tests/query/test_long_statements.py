"""Statements of thousands of parts: planning takes little work, and stops when it is told to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.cypher.parser import parse
from doxa.cypher.semantics.check import check
from doxa.query.core.deadline import Deadline
from doxa.query.engine import QueryEngine
from doxa.query.plan.planner import Planner

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
