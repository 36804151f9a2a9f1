"""Rows of properties that leave a query in lists are the rows that leave it one by one: whole, in
part, with a limit, within a transaction, cancelled; and little is read ahead."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from doxa.base.clock import FakeClock
from doxa.base.temporal import Date
from doxa.cypher.errors import QueryError
from doxa.query.core import memory_budget
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.query.sql.row_batches import ROWS_MAX, growing
from doxa.store import Identity, Store
from doxa.store.visibility.access import decode_access
from tests.query.policy_world import EPISODES, World

OPERATOR = Identity("t", "operator")
COUNT = 300
LOWS = (-1, 0, 20, COUNT, 2.5, "a", [1, 2], float("inf"), None)
VALUES = (
    None,
    True,
    1,
    1.0,
    -0.0,
    0,
    1.5,
    float("inf"),
    float("nan"),
    "a",
    "é",
    [1, 2],
    ["x"],
    b"\x00",
    Date(3),
    "[1]",
    "{}",
)
STATEMENTS = (
    "MATCH (n:P) RETURN n.i, n.v",
    "MATCH (n:P) RETURN n.v",
    "MATCH (n:P) RETURN n.none, n.v, n.i LIMIT $most",
    "MATCH (n:P) WHERE n.i >= $low RETURN n.i LIMIT $most",
    "MATCH (n:P)-[r:K]->(m) RETURN r.w, m.i, m.v",
    "MATCH (n:P)-[r:K]->(m) WHERE n.i < $low RETURN r.w, m.i LIMIT $most",
    "MATCH (n:P)-[:K]->(m) WHERE n.v = $low RETURN m.i, n.v LIMIT $most",
    "MATCH (n:P) RETURN DISTINCT n.v",
    "MATCH (n:P)-[:K]->(m) RETURN DISTINCT n.v, m.none LIMIT $most",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with (
        Store(tmp_path_factory.mktemp("plain") / "g.db") as made,
        GraphSession(made, QueryEngine(), OPERATOR) as session,
    ):
        rows = [{"i": number, "v": VALUES[number % len(VALUES)]} for number in range(COUNT)]
        session.run("UNWIND $rows AS r CREATE (n:P) SET n = r", {"rows": rows})
        session.run("MATCH (a:P), (b:P {i: a.i + 1}) CREATE (a)-[:K {w: a.i * 2}]->(b)")
        yield made


@pytest.fixture
def session(store: Store) -> Iterator[GraphSession]:
    with GraphSession(store, QueryEngine(), OPERATOR) as made:
        yield made


def one_by_one() -> QueryEngine:
    """An engine whose rows leave the query one by one."""
    engine = QueryEngine()
    prepare = engine.prepare

    def prepared(*given: Any) -> Any:
        plan = prepare(*given)
        plan.scan = None
        return plan

    engine.prepare = prepared  # type: ignore[method-assign]
    return engine


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_rows_are_those_of_an_engine_that_has_no_such_plans(
    text: str, store: Store, session: GraphSession
) -> None:
    with GraphSession(store, QueryEngine(optimise=False), OPERATOR) as plain:
        for low in LOWS:
            given = {"low": low, "most": 10 * COUNT}
            rows = [repr(row) for row in session.run(text, given)]
            assert sorted(rows) == sorted(repr(row) for row in plain.run(text, given))


def test_a_past_time_is_read_in_lists_too(tmp_path: Path) -> None:
    clock = FakeClock(10**18)
    with (
        Store(tmp_path / "g.db", clock=clock) as store,
        GraphSession(store, QueryEngine(), OPERATOR) as session,
    ):
        session.run("UNWIND range(1, 100) AS i CREATE (:P {i: i})")
        before = clock.now_ns()
        clock.advance(days=1)
        session.run("MATCH (n:P) WHERE n.i > 50 SET n.i = -n.i")
        session.run("MATCH (n:P {i: 1}) DELETE n")
        clock.advance(days=1)
        text = "AS OF SYSTEM TIME $t MATCH (n:P) RETURN n.i"
        assert session.engine.prepare(text).scan is not None
        assert {row[0] for row in session.run(text, {"t": before})} == set(range(1, 101))
        now = {row[0] for row in session.run(text, {"t": clock.now_ns()})}
        assert now == {*range(2, 51), *range(-100, -50)}


def test_the_rest_of_a_result_can_be_collected(session: GraphSession) -> None:
    every = session.run("MATCH (n:P) RETURN n.i").records()
    for taken in (1, 5, 9, 40):
        result = session.run("MATCH (n:P) RETURN n.i")
        assert [{"n.i": row[0]} for row in islice(result, taken)] == every[:taken]
        assert result.records() == every[taken:]


@pytest.mark.parametrize("text", STATEMENTS)
def test_the_rows_are_those_that_come_one_by_one(
    text: str, store: Store, session: GraphSession
) -> None:
    assert session.engine.prepare(text).scan is not None
    with GraphSession(store, one_by_one(), OPERATOR) as general:
        for low in LOWS:
            for most in (0, 1, 2, 9, 10, 73, 74, 200, COUNT * 2):
                given = {"low": low, "most": most}
                rows = [repr(row) for row in session.run(text, given)]
                assert rows == [repr(row) for row in general.run(text, given)]
            if "LIMIT" not in text and "DISTINCT" not in text:
                assert len(rows) >= COUNT - 1


@pytest.mark.parametrize("most", [-1, 1.5, None])
def test_an_impossible_limit_is_refused(most: object, session: GraphSession) -> None:
    with pytest.raises(QueryError, match="LIMIT"):
        list(session.run("MATCH (n:P) RETURN n.i LIMIT $most", {"most": most}))


def test_what_returns_elements_or_computes_goes_one_by_one(session: GraphSession) -> None:
    for text in (
        "MATCH (n:P) RETURN n",
        "MATCH (n:P) RETURN n, n.i",
        "MATCH (n:P) RETURN n.i + 1",
        "MATCH (n:P) RETURN DISTINCT n",
        "MATCH (n:P) RETURN DISTINCT n.i SKIP 1",
        "MATCH (n:P) RETURN n.i SKIP 2",
        "MATCH (n:P) RETURN n.i UNION ALL MATCH (n:P) RETURN n.i",
    ):
        assert session.engine.prepare(text).scan is None


def test_lists_grow_and_stay_small_where_texts_are_long() -> None:
    rows = [(number, "x") for number in range(200)]
    found = list(growing(iter(rows)))
    assert [row for part in found for row in part] == rows
    assert [len(part) for part in found] == [1, 8, ROWS_MAX, ROWS_MAX, 63]
    long = [(number, "x" * 100_000) for number in range(20)]
    assert [len(part) for part in growing(iter(long))] == [1] * 20
    later = list(growing(iter([*rows[:73], *long, *rows[:100]])))
    assert [row for part in later for row in part] == [*rows[:73], *long, *rows[:100]]
    assert [len(part) for part in later][:7] == [1, 8, ROWS_MAX, 8, 1, 1, 1]
    assert [len(part) for part in growing(iter(rows[:5]), most=1)] == [1] * 5
    texts = [itemgetter(1)]
    assert [len(part) for part in growing(iter(long), texts=texts)] == [1] * 20
    assert list(growing(iter(rows), texts=texts)) == found
    absent = [(number, None) for number in range(200)]
    assert [row for part in growing(iter(absent), texts=texts) for row in part] == absent


def test_a_result_that_is_closed_gives_no_more(session: GraphSession) -> None:
    for taken in (0, 1, 2, 5, 9, 10, 80):
        result = session.run("MATCH (n:P) RETURN n.i")
        rows = iter(result)
        assert len(list(islice(rows, taken))) == taken
        result.close()
        assert list(rows) == [] == list(result)
    assert session.run("MATCH (n:P) RETURN count(n)").single() == COUNT


def test_what_was_not_taken_stays_as_it_was_read(session: GraphSession) -> None:
    for taken in (0, 1, 4, 9, 30):
        session.begin()
        result = session.run("MATCH (n:P) RETURN n.i")
        rows = list(islice(result, taken))
        session.run("MATCH (n:P) SET n.i = n.i + 1000")
        rows += list(result)
        assert sorted(row[0] for row in rows) == list(range(COUNT))
        assert session.run("MATCH (n:P) RETURN min(n.i)").single() == 1000
        session.rollback()


def test_a_cancelled_query_ends_after_what_was_read(session: GraphSession) -> None:
    result = session.run("MATCH (n:P) RETURN n.i")
    assert len(list(islice(result, 10))) == 10
    assert result.run is not None
    result.run.deadline.cancel()
    left = 0
    with pytest.raises(QueryError, match="cancelled"):
        for _ in result:
            left += 1
    assert left < ROWS_MAX
    assert list(result) == []


@pytest.mark.parametrize("short", [0, 9, 80])
def test_long_texts_are_not_held(tmp_path: Path, short: int) -> None:
    with (
        Store(tmp_path / "g.db") as store,
        GraphSession(store, QueryEngine(), OPERATOR) as session,
    ):
        rows = [{"i": number, "text": "x" * 500_000} for number in range(60)]
        rows[:0] = [{"i": number, "text": ""} for number in range(short)]
        session.run("UNWIND $rows AS r CREATE (n:P) SET n = r", {"rows": rows})
        list(session.run("MATCH (n:P) RETURN n.i, n.text LIMIT 2"))
        tracemalloc.start()
        try:
            assert sum(len(row[1]) for row in session.run("MATCH (n:P) RETURN n.i, n.text")) == 3e7
            assert tracemalloc.get_traced_memory()[1] < 1.2e7  # eight, raw and decoded
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize(
    ("what", "taken", "counted"),
    [
        *(("n.i", 0, 0), ("n.i", 1, 1), ("n.i", 5, 9), ("n.i", 9, 9), ("n.i", 200, 200)),
        *(("DISTINCT n.i", 0, 0), ("DISTINCT n.i", 5, 5), ("DISTINCT n.i", 200, 200)),
    ],
)
def test_what_was_read_counts_once(world: World, what: str, taken: int, counted: int) -> None:
    world.run("UNWIND range(1, 200) AS i CREATE (:Episode {i: i})")
    world.run(EPISODES)
    with world.memory.session(role="operator").graph() as graph:
        result = graph.run(f"MATCH (n:Episode) RETURN {what}")
        assert len(list(islice(result, taken))) == taken
        result.close()
    world.memory.flush()
    with world.memory.store.read() as reader:
        held = reader.rows("SELECT json(data) FROM access")
    assert [decode_access(data).count for (data,) in held] == [1] * counted


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (n:Episode)-[:K]->(m) RETURN m LIMIT 2",
        "MATCH (n:Episode)-[:K]->(m) RETURN m, n.i LIMIT 2",
        "MATCH (n:Episode)-[:K]->(m) RETURN n.i LIMIT 2",
        "MATCH (n:Episode)-[:K]->(m) WITH n.i AS i LIMIT 2 RETURN i",
        "MATCH (n:Episode)-[:K]->(m) RETURN DISTINCT n.i LIMIT 2",
    ],
)
def test_what_a_limit_cuts_off_counts_nowhere(world: World, text: str) -> None:
    world.run("UNWIND range(1, 60) AS i CREATE (:Episode {i: i})-[:K]->(:Q {i: i})")
    world.run(EPISODES)
    assert len(world.run(text)) == 2
    world.memory.flush()
    with world.memory.store.read() as reader:
        held = [decode_access(data) for (data,) in reader.rows("SELECT json(data) FROM access")]
    assert [(one.count, one.walks) in ((1, 0), (0, 1)) for one in held] == [True] * 2


def test_a_limit_behind_distinct_is_reached_within_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory_budget, "QUERY_HELD_BYTES_MAX", 100_000)
    with (
        Store(tmp_path / "g.db") as store,
        GraphSession(store, QueryEngine(), OPERATOR) as session,
        GraphSession(store, one_by_one(), OPERATOR) as general,
    ):
        for start in range(0, 1_000, 100):
            session.run("UNWIND range($a, $a + 99) AS i CREATE (:P {t: 't' + i})", {"a": start})
        told = []
        for run in (session, general):
            rows = []
            with pytest.raises(QueryError, match="holds more"):
                for row in run.run("MATCH (n:P) RETURN DISTINCT n.t"):
                    rows.append(row)
            told.append(rows)
        assert told[0] == told[1]
        assert 100 < len(told[0]) < 1_000
        limited = "MATCH (n:P) RETURN DISTINCT n.t LIMIT $most"
        for most in (1, 100, len(told[0])):
            assert list(session.run(limited, {"most": most})) == told[0][:most]
