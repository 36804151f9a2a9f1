"""Random reading queries on random graphs: the optimised planner gives what the plain one gives,
with and without indexes."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.cypher.errors import QueryError
from doxa.query.core.comparison import group_key
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store
from tests.properties.random_queries import Dialect, RandomQuery, graph_text, query

INDEXES = ("(n:A) ON (n.a)", "(n:B) ON (n.m)", "(n:C) ON (n.s, n.a)", "()-[r:R]-() ON (r.a)")
QUERIES_PER_GRAPH = 5


@pytest.fixture(scope="module", params=["plain", "indexed"])
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("differential") / "graph.db") as made:
        if request.param == "indexed":
            with opened(made, optimise=True) as session:
                for index in INDEXES:
                    session.run(f"CREATE INDEX FOR {index}")
        yield made


def opened(store: Store, *, optimise: bool) -> GraphSession:
    return GraphSession(store, QueryEngine(optimise=optimise), Identity("t", "operator"))


def answer(session: GraphSession, asked: RandomQuery) -> Any:
    try:
        rows = [
            tuple(plain(value, bag) for value, bag in zip(row, asked.unordered, strict=True))
            for row in session.run(asked.text)
        ]
    except QueryError as error:
        return error.detail
    return rows if asked.ordered else sorted(rows, key=repr)


def plain(value: Any, bag: bool) -> Any:
    return (
        sorted(repr(group_key(item)) for item in value)
        if bag and value is not None
        else group_key(value)
    )


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.randoms(use_true_random=False))
def test_both_planners_give_the_same(store: Store, rng: Random) -> None:
    with opened(store, optimise=True) as fast, opened(store, optimise=False) as slow:
        fast.run("MATCH (n) DETACH DELETE n")
        made = graph_text(rng)
        fast.run(made)
        for _ in range(QUERIES_PER_GRAPH):
            asked = query(rng, Dialect())
            assert answer(fast, asked) == answer(slow, asked), (made, asked.text)
