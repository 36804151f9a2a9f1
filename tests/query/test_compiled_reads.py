"""A compiled read gives what the general way gives: for values of every type, in every state of a
session, next to changes of the catalogue by others, under policies; and it costs one statement."""

from __future__ import annotations

import datetime
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.base.clock import FakeClock
from doxa.base.errors import InputError
from doxa.base.temporal_python import from_python
from doxa.cypher.errors import QueryError
from doxa.query.engine import QueryEngine
from doxa.query.plan.compiled_read import CompilableRead
from doxa.query.session import GraphSession
from doxa.store import Identity, Store
from doxa.store.reader import FEW_BYTES_MAX, FEW_ROWS_MAX
from doxa.store.scope.bound_store import BoundStore
from tests.query.policy_world import EPISODES, START, World

OPERATOR = Identity("t", "operator")
INDEXES = (
    "CREATE INDEX p_id FOR (n:P) ON (n.id)",
    "CREATE INDEX p_both FOR (n:P) ON (n.id, n.kind)",
    "CREATE INDEX p_kind FOR (n:P) ON (n.kind)",
    "CREATE INDEX k_w FOR ()-[r:K]-() ON (r.w)",
)
STATEMENTS = (
    "MATCH (n:P {id: $a}) RETURN n.n AS n",
    "MATCH (n:P {id: $a}) RETURN n.kind, n.n, n.none",
    "MATCH (n:P {id: $a, kind: $b}) RETURN n.n",
    "MATCH (n:P {id: $a}) WHERE n.n > $b RETURN n.n",
    "MATCH (n:P) WHERE n.id = $a AND n.n <= 6 RETURN n.n",
    "MATCH (n:P {id: 1}) WHERE n.kind = $a RETURN n.n",
    "MATCH (n:P {id: $a})-[:K]->(m) RETURN m.id, m.n",
    "MATCH (n:P {id: $a})-[r:K]->(m:P) RETURN r.w, m.id",
    "MATCH (n:P {id: $a})<-[:K]-(m) RETURN count(m) AS n",
    "MATCH (n:P {id: $a})-[:K]->()-[:K]->(m) RETURN count(DISTINCT m) AS n",
    "MATCH (n:P {id: $a})-[:K]-(m) RETURN m.kind AS kind, count(*) AS n, max(m.n) AS most",
    "MATCH (n:P {id: $a})-[:K]->(m) RETURN sum(m.n) AS s, avg(m.n) AS a, min(m.id) AS least",
    "MATCH ()-[r:K {w: $a}]->(m) RETURN m.n",
    "MATCH (n:P {id: $a}) RETURN n.n + 1 AS n",
    "MATCH (n:P {id: $a}) RETURN n",
    "MATCH (n:P {id: $a}) RETURN DISTINCT n.kind",
    "MATCH (n:P {id: $a})-[:K]->()-[:K]->(m) RETURN DISTINCT m.kind, m.id",
    "MATCH (n:P {id: $a}) RETURN n.n ORDER BY n.n LIMIT 2",
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 3),
    st.sampled_from((2**53, 2**53 + 1, -(2**63), 2**63 - 1, 2**63)),
    st.sampled_from((0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"))),
    st.sampled_from(("", "a", "b", "é", "a\x00", "1", "\ud800")),
    st.lists(st.integers(0, 1), max_size=2),
)
STORED = (True, False, 0, 1, -1, 1.0, 2.5, 2**53, 2**53 + 1, "", "a", "b", "é", "1")


def filled(store: Store, seed: int) -> None:
    rng = Random(seed)
    with GraphSession(store, QueryEngine(), OPERATOR) as session:
        for index in INDEXES:
            session.run(index)
        for number in range(24):
            session.run(
                "CREATE (n:P) SET n = $p",
                {"p": {"id": rng.choice(STORED), "kind": rng.choice(STORED), "n": number % 9}},
            )
        session.run(
            "MATCH (a:P), (b:P) WHERE (a.n * 7 + b.n * 5) % 11 < 3"
            " CREATE (a)-[:K {w: a.n - b.n}]->(b)"
        )


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store(tmp_path_factory.mktemp("compiled") / "g.db") as made:
        filled(made, 5)
        yield made


def general() -> QueryEngine:
    """An engine that compiles no read."""
    engine = QueryEngine()
    prepare = engine.prepare

    def prepared(*given: Any) -> Any:
        plan = prepare(*given)
        plan.read = None
        return plan

    engine.prepare = prepared  # type: ignore[method-assign]
    return engine


ENGINE, GENERAL = QueryEngine(), general()


def told(session: GraphSession, text: str, params: dict[str, Any]) -> Any:
    try:
        result = session.run(text, params)
        rows = [repr(row) for row in result]
        return result.columns, sorted(rows), result.counters, [one.code for one in result.notices()]
    except QueryError as error:
        return error.detail, error.message
    except Exception as error:
        return type(error).__name__, str(error)


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    text=st.sampled_from(STATEMENTS),
    values=st.lists(st.tuples(VALUES, VALUES), min_size=2, max_size=6),
    state=st.sampled_from(("alone", "reading", "read", "written", "past")),
    extra=st.booleans(),
)
def test_answers_are_those_of_the_general_way(
    store: Store, text: str, values: list[tuple[Any, Any]], state: str, extra: bool
) -> None:
    used = {name for name in ("a", "b") if f"${name}" in text or extra}
    with (
        GraphSession(store, ENGINE, OPERATOR) as compiled,
        GraphSession(store, GENERAL, OPERATOR) as plain,
    ):
        for a, b in values:
            given_values = {name: value for name, value in (("a", a), ("b", b)) if name in used}
            found = []
            for session in (compiled, plain):
                if state in ("reading", "written"):
                    session.begin(read_only=state == "reading")
                if state == "written":
                    session.run("MATCH (n:P {id: 1}) SET n.n = 100 CREATE (:P {id: 1, n: 50})")
                if state == "read":
                    next(iter(session.run("MATCH (n:P) RETURN n")))  # its snapshot stays open
                if state == "past":
                    session.system_time = 1
                found.append(told(session, text, given_values))
                if session.in_transaction:
                    session.rollback()
            assert found[0] == found[1]


def statements(store: Store, work: Callable[[], Any]) -> list[str]:
    """Return the statements of SQL that some work runs on this thread."""
    seen: list[str] = []

    def trace(_: Any, sql: str, bindings: Any) -> bool:
        seen.append(sql)
        return True

    connection = store.connection()
    connection.exec_trace = trace
    try:
        work()
    finally:
        connection.exec_trace = None
    return seen


@pytest.mark.parametrize("text", [STATEMENTS[number] for number in (0, 2, 6, 9, -2, -3)])
def test_a_later_run_is_one_statement(store: Store, text: str) -> None:
    used = {name: 1 for name in ("a", "b") if f"${name}" in text}
    with GraphSession(store, QueryEngine(), OPERATOR) as session:
        for _ in range(2):
            session.run(text, used).records()
        assert len(statements(store, lambda: session.run(text, used).records())) == 1
        with Store(store.path) as other, other.write(OPERATOR, op="t") as tx:
            tx.create_node(["Other"], {})
        after = statements(store, lambda: session.run(text, used).records())
        assert after[1:] == ["SELECT value FROM meta WHERE key = 'catalogue'"]  # it is looked at
        assert len(statements(store, lambda: session.run(text, used).records())) == 1


def test_parameters_that_it_does_not_use_change_nothing(store: Store) -> None:
    more = {"a": 1, "vector": [0.5, 1], "map": {"x": None}, "b": "é"}
    with GraphSession(store, QueryEngine(), OPERATOR) as session:
        for _ in range(2):
            wanted = session.run(STATEMENTS[0], {"a": 1}).records()
        assert wanted
        found = statements(store, lambda: session.run(STATEMENTS[0], more).records())
        assert len(found) == 1
        assert session.run(STATEMENTS[0], more).records() == wanted
        for refused in (object(), 2**63, ["\ud800"], {1: 2}):
            with pytest.raises(InputError, match="other"):
                session.run(STATEMENTS[0], {"a": 1, "other": refused})


def test_a_transaction_that_reads_runs_one_statement_for_each(store: Store) -> None:
    with GraphSession(store, QueryEngine(), OPERATOR) as session:
        session.begin(read_only=True)
        for value in (1, 2):
            session.run(STATEMENTS[0], {"a": value}).records()
        run = statements(store, lambda: session.run(STATEMENTS[0], {"a": 0}).records())
        assert len(run) == 1
        session.commit()


def test_what_others_declare_and_write_is_seen(tmp_path: Path) -> None:
    rng = Random(3)
    changes = (
        "CREATE INDEX p_id FOR (n:P) ON (n.id)",
        "DROP INDEX p_id",
        "CREATE INDEX p_both FOR (n:P) ON (n.id, n.kind)",
        "DROP INDEX p_both",
        "CREATE (:P {id: 1, kind: 1, n: 7})-[:K]->(:P {id: 2, n: 8})",
        "MATCH (n:P {id: 1}) SET n.n = n.n + 1",
        "MATCH (n:P {id: 2}) WITH n LIMIT 1 DETACH DELETE n",
        "CREATE DECAY PROFILE gone OPTIONS { halfLifeSeconds: 1, function: 'exponential',"
        " visibilityThreshold: 0.9 } CREATE DECAY PROFILE of_p FOR (n:P) APPLY { DECAY PROFILE"
        " 'gone' }",
        "DROP DECAY PROFILE of_p",
        "DROP DECAY PROFILE gone",
    )
    clock = FakeClock(START)
    with (
        Store(tmp_path / "g.db", clock=clock) as mine,
        Store(tmp_path / "g.db", clock=clock) as theirs,
    ):
        filled(mine, 4)
        with (
            GraphSession(mine, ENGINE, OPERATOR) as compiled,
            GraphSession(theirs, GENERAL, OPERATOR) as plain,
        ):
            for _ in range(120):
                change, by = rng.choice(changes), rng.choice((compiled, plain))
                told(by, change, {})
                if rng.random() < 0.2:
                    clock.advance(seconds=0.1)
                for _ in range(2):
                    text, value = rng.choice(STATEMENTS[:2] + STATEMENTS[6:12]), rng.choice((1, 2))
                    assert told(compiled, text, {"a": value}) == told(plain, text, {"a": value})


def test_more_rows_than_it_takes_are_streamed(store: Store, tmp_path: Path) -> None:
    with Store(tmp_path / "wide.db") as wide, GraphSession(wide, ENGINE, OPERATOR) as session:
        session.run(INDEXES[0])
        for count in (FEW_ROWS_MAX, FEW_ROWS_MAX + 1):
            session.run("UNWIND range(1, $c) AS i CREATE (:P {id: $c, n: i})", {"c": count})
            for _ in range(3):
                rows = session.run(STATEMENTS[0], {"a": count}).records()
                assert sorted(row["n"] for row in rows) == list(range(1, count + 1))


@pytest.mark.parametrize("fading", [False, True])
def test_policies_hide_and_count_as_they_do_in_the_general_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fading: bool
) -> None:
    texts = (
        "MATCH (n:Episode {i: $a}) RETURN n.text",
        "MATCH (n:Episode {i: $a})-[:NEXT]->(m) RETURN m.i, m.text",
        "MATCH (n:Episode {i: $a})-[:NEXT]->(m) RETURN count(m) AS n",
    )
    answers = []
    for compiled in (True, False):
        if not compiled:
            monkeypatch.setattr(CompilableRead, "given", lambda self, params: None)
        world = World(tmp_path / f"{compiled}.db")
        world.run(EPISODES)
        if fading:
            world.run(
                "CREATE DECAY PROFILE fading FOR (n:Episode) APPLY { n.text DECAY PROFILE 'week' }"
            )
        world.run(
            "CREATE PROMOTION POLICY used FOR (n:Episode) APPLY { ON ACCESS { SET n.uses ="
            " coalesce(n.uses, 0) + 1 SET n.by = coalesce($who, 'nobody') } }"
        )
        world.run("CREATE INDEX FOR (n:Episode) ON (n.i)")
        for number in range(6):
            world.run("CREATE (:Episode {i: $i, text: 'x'})", {"i": number})
            world.later(days=5)
        world.run(
            "MATCH (a:Episode), (b:Episode) WHERE a.i + 1 = b.i OR a.i = b.i CREATE"
            " (a)-[:NEXT]->(b)"
        )
        told_of = []
        for who in ({}, {"who": "ana", "_session": "s"}, {}, {"who": "bo"}):
            for text in texts:
                told_of += [world.run(text, {"a": number, **who}) for number in range(6)]
            world.later(days=4)
            world.memory.flush()
            by = "MATCH (n:Episode) RETURN n.i AS i, policy(n).by"
            told_of.append(world.run(f"{by} ORDER BY i"))
        told_of.append(
            world.run("MATCH (n:Episode) RETURN n.i AS i, policy(n).accessCount AS c ORDER BY i")
        )
        told_of.append(
            world.run("MATCH (n:Episode) RETURN n.i AS i, policy(n).traversalCount AS c ORDER BY i")
        )
        assert all(f"'policy(n).by': '{name}'" in str(told_of) for name in ("ana", "bo"))
        answers.append(told_of)
        world.memory.close()
    assert answers[0] == answers[1]


@pytest.mark.parametrize("compiled", [True, False])
def test_policies_know_the_parameters_as_values_of_cypher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: bool
) -> None:
    if not compiled:
        monkeypatch.setattr(CompilableRead, "given", lambda self, params: None)
    world = World(tmp_path / "g.db")
    world.run(EPISODES)
    world.run(
        "CREATE PROMOTION POLICY used FOR (n:Episode) APPLY { ON ACCESS { SET n.by = $who"
        " SET n.within = $_session } }"
    )
    world.run("CREATE INDEX FOR (n:Episode) ON (n.i)")
    world.run("CREATE (:Episode {i: 1, text: 'x'})")
    read, noted = "MATCH (n:Episode {i: $a}) RETURN n.text", "MATCH (n:Episode) RETURN policy(n).by"
    changed = ["a"]
    for value, wanted in (
        (datetime.date(2026, 1, 2), from_python(datetime.date(2026, 1, 2))),
        (np.float32(0.5), 0.5),
        (np.array([1, 2]), [1, 2]),
        (changed, ["a"]),
        ("text", "text"),
    ):
        for _ in range(2):
            assert world.run(read, {"a": 1, "who": value, "_session": "not mine"}, session="mine")
        changed.append("b")
        world.memory.flush()
        changed.pop()
        assert world.one(noted) == wanted
        assert world.one("MATCH (n:Episode) RETURN policy(n).within") == "mine"
    world.memory.close()


def test_a_session_notes_what_policies_name_now(tmp_path: Path) -> None:
    world = World(tmp_path / "g.db")
    world.run(EPISODES)
    world.run("CREATE INDEX FOR (n:Episode) ON (n.i)")
    world.run("CREATE (:Episode {i: 1, text: 'x'})")
    read = "MATCH (n:Episode {i: $a}) RETURN n.text"
    session = world.memory.session(role="operator", context={"room": "attic"})
    with session.graph() as graph:
        for _ in range(3):
            graph.run(read, {"a": 1}).records()
        world.run(
            "CREATE PROMOTION POLICY used FOR (n:Episode) APPLY { ON ACCESS { SET n.by = $_room } }"
        )
        for _ in range(3):
            graph.run(read, {"a": 1}).records()
    world.memory.flush()
    assert world.one("MATCH (n:Episode) RETURN policy(n).by") == "attic"
    world.memory.close()


def test_a_bound_session_reads_its_projects_alone(tmp_path: Path) -> None:
    with Store(tmp_path / "g.db") as store:
        filled(store, 6)
        bound = BoundStore(store, ["p"])
        try:
            with (
                GraphSession(store, ENGINE, OPERATOR) as whole,
                GraphSession(bound, ENGINE, OPERATOR) as part,
            ):
                for _ in range(3):
                    assert part.run(STATEMENTS[0], {"a": 1}).records() == []
                    assert whole.run(STATEMENTS[0], {"a": 1}).records() != []
        finally:
            bound.close()


LONG = "MATCH (n:P {id: $a})-[:K]->()-[:K]->()-[:K]->()-[:K]->()-[:K]->(m) RETURN count(m) AS n"


@pytest.fixture
def dense(tmp_path: Path) -> Iterator[Store]:
    """A graph in which a walk of five edges takes minutes."""
    with Store(tmp_path / "dense.db") as made:
        with GraphSession(made, QueryEngine(), OPERATOR) as session:
            session.run(INDEXES[0])
            session.run("UNWIND range(1, 120) AS i CREATE (:P {id: i})")
            session.run("MATCH (a:P), (b:P) CREATE (a)-[:K]->(b)")
            session.run(LONG, {"a": 0}).records()
            session.run(LONG, {"a": 0}).records()
        yield made


@pytest.mark.parametrize("explicit", [False, True])
def test_a_long_one_times_out_is_listed_and_is_cancelled(dense: Store, explicit: bool) -> None:
    engine = QueryEngine()
    with (
        GraphSession(dense, engine, OPERATOR) as session,
        GraphSession(dense, engine, OPERATOR) as operator,
    ):
        for _ in range(2):
            session.run(LONG, {"a": 0}).records()
        if explicit:
            session.begin(read_only=True)
        with pytest.raises(QueryError) as late:
            session.run(LONG, {"a": 1}, timeout_ms=100)
        assert late.value.detail == "TimedOut"
        failed: list[str] = []

        def run() -> None:
            with GraphSession(dense, engine, OPERATOR) as other:
                try:
                    other.run(LONG, {"a": 2})
                except QueryError as error:
                    failed.append(error.detail)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        until = time.monotonic() + 30
        listed: list[dict[str, Any]] = []
        while not listed and time.monotonic() < until:
            listed = [
                row
                for row in operator.run("SHOW TRANSACTIONS").records()
                if row["currentQuery"] == LONG
            ]
        operator.run("TERMINATE TRANSACTION $id", {"id": listed[0]["transactionId"]}).records()
        thread.join(30)
        assert failed == ["Terminated"]


def test_a_session_and_a_result_may_end_on_another_thread(tmp_path: Path) -> None:
    with Store(tmp_path / "g.db") as store:
        filled(store, 5)
        text, engine = STATEMENTS[0], QueryEngine()

        def on_a_thread(work: Callable[[], Any]) -> Any:
            found: list[Any] = []
            thread = threading.Thread(target=lambda: found.append(work()))
            thread.start()
            thread.join()
            return found[0]

        handed = GraphSession(store, engine, OPERATOR)
        mine = GraphSession(store, engine, OPERATOR)

        def read() -> list[Any]:
            return sorted(map(repr, mine.run(text, {"a": 1})))

        before = read()
        assert before

        def begin() -> Iterator[Any]:
            handed.begin(read_only=True)
            handed.run(text, {"a": 1}).records()
            return iter(handed.run("MATCH (n) RETURN n"))

        rows = on_a_thread(begin)
        next(rows)
        other = GraphSession(store, engine, OPERATOR)
        on_a_thread(lambda: [other.run(f"DROP INDEX {name}") for name in ("p_id", "p_both")])
        list(rows)
        handed.commit()
        assert read() == before


def test_rows_that_hold_much_text_are_streamed(tmp_path: Path) -> None:
    with Store(tmp_path / "g.db") as store, GraphSession(store, ENGINE, OPERATOR) as session:
        session.run("CREATE INDEX FOR (n:P) ON (n.k)")
        body = "x" * (FEW_BYTES_MAX // 4)
        for number in range(60):
            session.run("CREATE (:P {k: 1, n: $n, body: $body})", {"n": number, "body": body})
        text = "MATCH (n:P {k: $k}) RETURN n.n, n.body"
        for _ in range(3):
            tracemalloc.start()
            assert sorted(row[0] for row in session.run(text, {"k": 1})) == list(range(60))
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert peak < 40 * FEW_BYTES_MAX / 4  # of 60


def test_after_a_commit_of_another_it_still_runs_once(tmp_path: Path) -> None:
    with Store(tmp_path / "g.db") as store, Store(tmp_path / "g.db") as other:
        filled(store, 5)
        with GraphSession(store, QueryEngine(), OPERATOR) as session:
            for _ in range(2):
                session.run(STATEMENTS[9], {"a": 1}).records()
            for _ in range(3):
                with other.write(OPERATOR, op="t") as tx:
                    tx.create_node(["Other"], {})
                run = statements(store, lambda: session.run(STATEMENTS[9], {"a": 1}).records())
                assert sum("count(DISTINCT" in sql for sql in run) == 1


def test_one_that_found_too_much_goes_the_general_way_for_a_while(store: Store) -> None:
    with Store(store.path) as mine, GraphSession(mine, QueryEngine(), OPERATOR) as session:
        session.run("UNWIND range(1, $c) AS i CREATE (:P {id: 77, n: i})", {"c": FEW_ROWS_MAX + 10})
        try:
            for _ in range(2):
                session.run(STATEMENTS[0], {"a": 77}).records()
            run = statements(mine, lambda: session.run(STATEMENTS[0], {"a": 77}).records())
            assert sum("FROM entry" in sql for sql in run) == 1
        finally:
            session.run("MATCH (n:P {id: 77}) DELETE n")


def test_a_parameter_that_cannot_be_used_leaves_the_transaction_open(store: Store) -> None:
    with GraphSession(store, QueryEngine(), OPERATOR) as session:
        session.begin()
        session.run("CREATE (:Q)")
        for text in ("MATCH (n:P {id: $a}) RETURN n.n", "MATCH (n:P {id: $a}) SET n.n = 1"):
            with pytest.raises(InputError):
                session.run(text, {"a": object()})
        assert session.run("MATCH (n:Q) RETURN count(n)").single() == 1
        session.rollback()


def test_a_closed_result_has_no_rows(store: Store) -> None:
    with GraphSession(store, ENGINE, OPERATOR) as session:
        for _ in range(3):
            with session.run(STATEMENTS[0], {"a": 1}) as result:
                assert next(result)
            assert list(result) == []


def test_a_bound_session_counts_no_node_of_another_project(tmp_path: Path) -> None:
    with Store(tmp_path / "g.db") as store:
        with GraphSession(store, QueryEngine(), OPERATOR) as whole:
            whole.run("CREATE INDEX FOR (n:P) ON (n.id)")
            part = BoundStore(store, ["p"])
            with GraphSession(part, QueryEngine(), OPERATOR) as session:
                session.run("CREATE (:P {id: 1})-[:K]->(:P {id: 2})")
            part.close()
            whole.run("MATCH (n:P {id: 2}) SET n.kref = 'kref://q/facts/x'")
        both = BoundStore(store, ["p", "r"])
        with GraphSession(both, QueryEngine(), OPERATOR) as session:
            for counted in ("m", "*", "DISTINCT m"):
                text = f"MATCH (n:P {{id: $a}})-[:K]->(m) RETURN count({counted})"
                for _ in range(2):
                    assert session.run(text, {"a": 1}).single() == 0
        both.close()


def test_a_type_for_each_of_many_parameters_keeps_few_statements(store: Store) -> None:
    rng = Random(1)
    text = "MATCH (n:P {id: $a}) WHERE " + " AND ".join(f"n.n <> ${x}" for x in "bcdefgh")
    text = text.replace("<>", "<=") + " RETURN n.n"
    engine = QueryEngine()
    with GraphSession(store, engine, OPERATOR) as session:
        for _ in range(300):
            params = {x: rng.choice((1, "a", True)) for x in "abcdefgh"}
            session.run(text, params).records()
    read = engine.prepare(text).read
    assert read is not None and 0 < len(read._made) <= 64
