"""Memory is bounded: what waits for a step to end, and how large a value may grow. Sums are exact
without keeping what they add up."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.cypher.errors import QueryError
from doxa.query.core import memory_budget
from doxa.query.core.memory_budget import MemoryBudget, estimated_bytes
from doxa.query.engine import QueryEngine
from doxa.query.exec import sorting
from doxa.query.exec.sorting import _best
from doxa.query.functions import texts
from doxa.query.functions.aggregates import Average, Sum, parts_of
from doxa.query.procedures.builtin import builtin
from doxa.query.procedures.registry import Registry
from doxa.query.session import GraphSession
from doxa.store import Identity, Store


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    store = Store(tmp_path / "graph.db")
    with GraphSession(
        store, QueryEngine(builtin(Registry())), Identity("tester", "operator")
    ) as made:
        yield made
    store.close()


HOLDERS = {
    "top": "UNWIND range(1, 5000) AS x RETURN x ORDER BY x LIMIT 4000",
    "group": "UNWIND range(1, 5000) AS x RETURN x, count(*)",
    "collect": "UNWIND range(1, 5000) AS x RETURN collect(x)",
    "distinct aggregate": "UNWIND range(1, 5000) AS x RETURN count(DISTINCT x)",
    "percentile": "UNWIND range(1, 5000) AS x RETURN percentileCont(x, 0.5)",
    "deviation": "UNWIND range(1, 5000) AS x RETURN stDev(x)",
    "distinct": "UNWIND range(1, 5000) AS x WITH DISTINCT x RETURN count(x)",
    "union": "UNWIND range(1, 5000) AS x RETURN x UNION UNWIND range(1, 5000) AS x RETURN x",
    "before a write": "UNWIND range(1, 5000) AS x CREATE (:A)",
    "rows of a write": "CREATE (a:A) WITH a UNWIND range(1, 5000) AS x RETURN x, a.y",
    "large values": (
        "UNWIND range(1, 50) AS x WITH DISTINCT x, [y IN range(1, 1000) | y] AS l RETURN l"
    ),
}


@pytest.mark.parametrize("name", HOLDERS)
def test_what_holds_rows_refuses_beyond_the_limit_and_leaves_nothing(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    session.run(HOLDERS[name]).records()
    session.run("MATCH (n) DETACH DELETE n").records()
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 100_000)
    with pytest.raises(QueryError, match="holds more than 100,000 bytes") as caught:
        session.run(HOLDERS[name]).records()
    assert caught.value.fields["kind"] == "MemoryLimit"
    assert session.run("MATCH (n) RETURN count(n)").single() == 0


def test_a_single_row_of_a_write_counts_too(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 100_000)
    with pytest.raises(QueryError, match="holds more than 100,000 bytes"):
        session.run("CREATE (:A) RETURN range(1, 20000) AS xs")
    assert session.run("MATCH (n) RETURN count(n)").single() == 0


@pytest.mark.parametrize(
    "query",
    [
        "UNWIND range(1, 20000) AS x RETURN count(x)",
        "UNWIND range(1, 20000) AS x RETURN sum(x), avg(x), min(x), max(x), sum(1.0 / x)",
        "UNWIND range(1, 20000) AS x RETURN x ORDER BY x DESC LIMIT 5",
        "UNWIND range(1, 20000) AS x RETURN x",
        "UNWIND range(1, 20000) AS x WITH x % 7 AS k, x RETURN k, sum(x)",
    ],
)
def test_what_streams_holds_nothing(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 200_000)
    assert session.run(query).records()


def test_an_unfinished_result_is_held_within_the_limit(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 100_000)
    open_result = session.run("UNWIND range(1, 100) AS x RETURN x")
    assert next(open_result) == (1,)
    assert session.run("RETURN 1").single() == 1
    assert len(list(open_result)) == 99
    session.run("UNWIND range(1, 5000) AS x RETURN x")
    with pytest.raises(QueryError, match="unfinished"):
        session.run("RETURN 1")


GROWING = {
    "text": "RETURN reduce(s = 'x', i IN range(1, 60) | s + s)",
    "list": "RETURN reduce(s = [1], i IN range(1, 60) | s + s)",
    "nested": "RETURN reduce(s = [1], i IN range(1, 60) | [s, s])",
    "map": "RETURN reduce(s = {a: 1}, i IN range(1, 60) | {a: s, b: s})",
    "projection": "WITH {a: 1} AS m RETURN reduce(s = m, i IN range(1, 60) | m {.a, b: s, c: s})",
    "comprehension": "RETURN reduce(s = [1], i IN range(1, 60) | [x IN range(1, 10) | s])",
    "collect": "WITH range(1, 50) AS s UNWIND range(1, 50) AS x WITH collect(s) AS s RETURN s",
    "subquery": "WITH range(1, 50) AS s RETURN COLLECT { UNWIND range(1, 50) AS x RETURN s }",
    "replace": (
        "RETURN replace('xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'x',"
        " 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy')"
    ),
    "split": "RETURN split(reduce(s = 'x', i IN range(1, 10) | s + s) + 'x', '')",
    "range": "RETURN range(1, 2000)",
}


@pytest.mark.parametrize("name", GROWING)
def test_a_value_that_multiplies_itself_is_an_error(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for module in (
        memory_budget,
        texts,
        __import__("doxa.query.functions.general", fromlist=["general"]),
    ):
        for limit, value in (("VALUE_ITEMS_MAX", 1_000), ("VALUE_CHARS_MAX", 1_500)):
            if hasattr(module, limit):
                monkeypatch.setattr(module, limit, value)
    with pytest.raises(QueryError, match=r"more than 1,[05]00 (items|characters)"):
        session.run(GROWING[name]).records()


def test_long_lists_hear_a_timeout(session: GraphSession) -> None:
    for query in (
        "RETURN size([x IN range(1, 9000000) WHERE x % 2 = 0 | x])",
        "RETURN any(x IN range(1, 9000000) WHERE x < 0)",
        "RETURN reduce(s = 0, x IN range(1, 9000000) | s + x)",
    ):
        with pytest.raises(QueryError, match="ran longer than 50 ms"):
            session.run(query, timeout_ms=50).records()


def test_what_rows_share_counts_once() -> None:
    shared = list(range(10_000))
    one, many = MemoryBudget("rows"), MemoryBudget("rows")
    one.add_row((shared, 1))
    for number in range(100):
        many.add_row((shared, number))
    assert estimated_bytes(shared) < one.bytes < many.bytes < 1.2 * one.bytes
    many.add_row((list(shared), 1))
    assert many.bytes > 2 * estimated_bytes(shared)


FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(FLOATS, max_size=200))
def test_parts_have_exactly_the_sum(values: list[float]) -> None:
    parts = parts_of(values)
    assert sum(map(Fraction, parts)) == sum(map(Fraction, values))
    assert len(parts) <= 60


@given(
    st.lists(FLOATS | st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=60), st.integers(1, 20)
)
def test_sums_are_the_exact_sum_rounded_once(values: list[Any], batch: int) -> None:
    from doxa.query.functions import aggregates as aggregate

    kept, aggregate._FLOATS = aggregate._FLOATS, batch
    try:
        total, mean = Sum(), Average()
        for value in values:
            assert not total.add(value) and not mean.add(value)
        exact = sum(map(Fraction, values))
        if any(type(value) is float for value in values):
            assert total.result() == float(exact)
        elif -(2**63) <= exact < 2**63:
            assert total.result() == exact
        assert math.isclose(
            mean.result(), float(exact / len(values)), rel_tol=1e-15, abs_tol=5e-324
        )
    finally:
        aggregate._FLOATS = kept


@pytest.mark.parametrize(
    "values, expected",
    [
        ([math.inf, 1.0], math.inf),
        ([math.inf, -math.inf], math.nan),
        ([math.nan, 1.0], math.nan),
        ([1e308, 1e308, -1e308], math.inf),
        ([], 0),
    ],
)
def test_sums_at_the_edge(values: list[float], expected: float) -> None:
    total = Sum()
    for value in values:
        total.add(value)
    found = total.result()
    assert found == expected or (math.isnan(found) and math.isnan(expected))


@given(st.lists(st.tuples(st.integers(0, 20), st.integers()), max_size=300), st.integers(0, 40))
def test_the_best_rows_are_those_of_a_whole_sort(rows: list[tuple[int, int]], most: int) -> None:
    kept, sorting._MORE_ROWS = sorting._MORE_ROWS, 3
    try:
        keyed = (([row[0]], row) for row in rows)
        assert _best(keyed, most) == sorted(rows, key=lambda row: row[0])[:most]
    finally:
        sorting._MORE_ROWS = kept


SORTED = {
    "numbers": "UNWIND range(1, 5000) AS x RETURN x, x % 7 AS k ORDER BY k DESC, x % 3",
    "ties": "UNWIND range(1, 5000) AS x RETURN x ORDER BY x % 2",
    "mixed": "UNWIND [1, 'a', null, true, 2.5, [1], {a: 1}] AS x UNWIND range(1, 500) AS y"
    " RETURN x, y ORDER BY x, -y",
    "nodes": "MATCH (n:S) RETURN n, n.t AS t ORDER BY t, n.i DESC",
    "paths": "MATCH p = (n:S)-[r:R]->(m) RETURN p, r, m ORDER BY m.i % 5, n.i",
    "after a write": "MATCH (n:S) SET n.w = n.i % 3 WITH n ORDER BY n.w, n.i RETURN n.i, n.w, n",
    "in a subquery": "UNWIND [1, 2] AS u CALL (u) { MATCH (n:S) RETURN n ORDER BY n.i % 4, n.i * u"
    " } RETURN u, n",
    "skipped": "MATCH (n:S) RETURN n.i ORDER BY n.t SKIP 2000",
}


@pytest.mark.parametrize("name", SORTED)
def test_a_sort_beyond_memory_goes_through_a_file_and_gives_the_same_rows(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    session.run(
        "UNWIND range(1, 2500) AS i CREATE (:S {i: i, t: date() + duration({days: i % 9}),"
        " l: [i, i]})-[:R {w: point({x: i, y: 1})}]->(:T {i: -i})"
    )
    session.begin()
    expected = [tuple(map(repr, row)) for row in session.run(SORTED[name])]
    session.rollback()
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 3_000_000)
    monkeypatch.setattr(sorting, "QUERY_SORTED_BYTES_MAX", 50_000)
    made: list[int] = []
    add = sorting._Runs.add
    monkeypatch.setattr(sorting._Runs, "add", lambda runs, rows: made.append(1) or add(runs, rows))
    session.begin()
    assert [tuple(map(repr, row)) for row in session.run(SORTED[name])] == expected
    session.rollback()
    assert len(made) > 1, "nothing was spilled"


def test_a_sort_holds_only_what_later_clauses_read(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 1_500_000)
    monkeypatch.setattr(sorting._Runs, "add", lambda *_: pytest.fail("it spills"))
    large = "UNWIND range(1, 1000) AS x WITH x, [y IN range(1, 500) | y + x] AS l "
    assert session.run(large + "RETURN x ORDER BY l[0] DESC").records()[0] == {"x": 1000}
    assert session.run(large + "WITH x, l ORDER BY l[0] DESC RETURN x").records()[0] == {"x": 1000}
    monkeypatch.setattr(sorting, "QUERY_SORTED_BYTES_MAX", 1_000_000)
    with pytest.raises(pytest.fail.Exception, match="it spills"):
        session.run(large + "WITH x, l ORDER BY l[0] DESC RETURN x, l").records()


def test_the_file_of_a_sort_has_a_limit(
    session: GraphSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting, "QUERY_SORTED_BYTES_MAX", 50_000)
    monkeypatch.setattr(sorting, "QUERY_SPILLED_BYTES_MAX", 100_000)
    with pytest.raises(QueryError, match="100,000 bytes of a temporary file"):
        session.run("UNWIND range(1, 50000) AS x RETURN x ORDER BY -x").records()
