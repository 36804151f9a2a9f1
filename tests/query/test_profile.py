"""PROFILE: rows and own time of every step, of the plan that EXPLAIN shows. The clock is counted,
not real."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.query.core import profile
from doxa.query.engine import QueryEngine
from doxa.query.explain import Described
from doxa.query.session import GraphSession
from doxa.store import Identity, Store

QUERIES = (
    "MATCH (n:N)-[:R]->(m) WITH m, count(*) AS c ORDER BY c OPTIONAL MATCH (m)<-[:R]-(x)"
    " RETURN m.i, c, count(x)",
    "UNWIND range(1, 20) AS i MERGE (k:K {i: i % 5}) SET k.x = i"
    " FOREACH (j IN [1, 2] | CREATE (:J)) RETURN count(*)",
    "MATCH (n:N) CALL (n) { MATCH (n)-[:R]->(m) RETURN m.i AS q } RETURN sum(q)",
    "MATCH (n:N) RETURN n.i ORDER BY n.i LIMIT 3",
    "UNWIND [1, 2] AS x CREATE (n:Q {x: x}) RETURN n UNION MATCH (n:Q) RETURN n",
    "MATCH (n:N)-[:R*1..2]->(m) RETURN count(m)",
    "MATCH p = shortestPath((n:N {i: 1})-[*]->(m:M)) RETURN length(p)",
    "CALL db.labels() YIELD label RETURN label",
    "SHOW INDEXES",
)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made,
    ):
        made.run("UNWIND range(1, 30) AS i CREATE (:N {i: i})-[:R]->(:M {i: i % 7})")
        yield made


def described(session: GraphSession, text: str) -> Described:
    result = session.run(text)
    list(result)
    found = result.description()
    assert found is not None
    return found


def steps(found: Described) -> Iterator[Described]:
    yield found
    for child in found.children:
        yield from steps(child)


def shape(found: Described) -> list[tuple[str, str]]:
    return [(step.name, step.detail) for step in steps(found)]


@pytest.mark.parametrize("text", QUERIES)
def test_profile_measures_the_plan_that_explain_shows(session: GraphSession, text: str) -> None:
    explained, profiled = (described(session, f"{mode} {text}") for mode in ("EXPLAIN", "PROFILE"))
    assert shape(profiled) == shape(explained)
    assert all(step.rows is None for step in steps(explained))
    for step in steps(profiled):
        assert (step.rows is None) == (step.name in ("Query", "Union"))


def test_inner_steps_are_measured_too(session: GraphSession) -> None:
    rows: dict[str, list[int | None]] = {}
    for step in steps(described(session, f"PROFILE {QUERIES[1]}")):
        rows.setdefault(step.name, []).append(step.rows)
    assert rows["Unwind"] == [20]
    assert rows["Merge"] == [20]
    assert rows["PatternScan"] == [15]  # what MERGE found: all but the first five
    assert rows["Create"] == [40]
    assert rows["Foreach"] == [20]


def test_the_time_of_a_step_is_its_own(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a clock that moves by one second at each look, all own times together are what the
    whole took: no time counts twice, and a step that works at its start is not free."""
    for text in QUERIES[:3]:
        looks = itertools.count()
        with monkeypatch.context() as patch:
            patch.setattr(profile.time, "perf_counter", lambda looks=looks: float(next(looks)))
            found = list(steps(described(session, f"PROFILE {text}")))
        total = 1000.0 * next(looks)
        own = [step.milliseconds or 0.0 for step in found if step.rows is not None]
        assert min(own) >= 0 and sum(own) <= total
        assert sum(own) >= total / 3
    by_name = {step.name: step for step in steps(described(session, f"PROFILE {QUERIES[1]}"))}
    assert (by_name["Merge"].milliseconds or 0) > 0
