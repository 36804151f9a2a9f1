"""Sessions: streams, transactions, conflicts between two of them, time travel, cancellation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.base.errors import ReadOnlyError, StoreError
from doxa.cypher.errors import QueryError
from doxa.query.core.valid_time import instant_ns
from doxa.query.engine import QueryEngine
from doxa.query.idle_watch import WATCH, Activity, IdleWatch
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "graph.db") as made:
        yield made


@pytest.fixture
def session(store: Store) -> Iterator[GraphSession]:
    with GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made:
        made.run("UNWIND range(1, 10) AS x CREATE (:A {x: x})")
        yield made


def other_writes(store: Store) -> None:
    def write() -> None:
        GraphSession(store, QueryEngine(), Identity("other", "operator")).run("CREATE (:Other)")

    thread = threading.Thread(target=write)
    thread.start()
    thread.join()


COUNT = "MATCH (a:A) RETURN count(a)"


def only_read(session: GraphSession) -> None:
    """Commit a transaction of this statement alone: from now on others read before their turn."""
    session.begin()
    session.run(COUNT).single()
    session.commit()


def test_a_stream_goes_on_when_the_session_does_something_else(session: GraphSession) -> None:
    rows = session.run("MATCH (a:A) RETURN a.x AS x ORDER BY x")
    assert next(rows) == (1,)
    session.run("MATCH (a:A) SET a.x = 0")
    assert [x for (x,) in rows] == list(range(2, 11))


def test_a_closed_stream_lets_go(session: GraphSession, store: Store) -> None:
    rows = session.run("MATCH (a:A) RETURN a.x AS x")
    next(rows)
    rows.close()
    assert list(rows) == []
    with store.write(Identity("t", "operator"), op="test"):
        pass


def test_a_rollback_leaves_nothing(session: GraphSession) -> None:
    session.begin()
    session.run("MATCH (a:A) DETACH DELETE a")
    assert session.run("MATCH (a:A) RETURN count(a)").single() == 0
    session.rollback()
    assert session.run("MATCH (a:A) RETURN count(a)").single() == 10


def test_a_commit_keeps_all(session: GraphSession) -> None:
    session.begin()
    session.run("CREATE (:B)")
    session.run("MATCH (b:B) SET b.done = true")
    session.commit()
    assert session.run("MATCH (b:B) RETURN b.done").single() is True


def test_a_failure_ends_the_transaction(session: GraphSession) -> None:
    session.begin()
    session.run("CREATE (:B)")
    with pytest.raises(QueryError):
        session.run("RETURN 1 / 0").records()
    assert not session.in_transaction
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 0


def test_one_who_read_before_another_wrote_must_try_again(
    session: GraphSession, store: Store
) -> None:
    only_read(session)
    session.begin()
    assert session.run(COUNT).single() == 10
    other_writes(store)
    with pytest.raises(QueryError) as caught:
        session.run("CREATE (:B)")
    assert (caught.value.kind, caught.value.detail) == ("TransientError", "Outdated")
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 0


def test_run_again_it_takes_the_turn_before_it_reads(session: GraphSession, store: Store) -> None:
    only_read(session)
    for attempt in range(2):
        session.begin()
        session.run(COUNT).single()
        other = threading.Thread(target=other_writes, args=(store,))
        other.start()
        if attempt == 0:
            other.join()
            with pytest.raises(QueryError):
                session.run("CREATE (:B)")
        else:
            session.run("CREATE (:B)")
            session.commit()
            other.join()
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 1
    assert session.run("MATCH (o:Other) RETURN count(o)").single() == 2


def test_what_has_only_read_reads_beside_a_writer(session: GraphSession, store: Store) -> None:
    only_read(session)
    with store.write(Identity("long", "operator"), op="test"):
        found: list[int] = []

        def read() -> None:
            other = GraphSession(store, session.engine, Identity("other", "operator"))
            other.begin()
            found.append(other.run(COUNT).single())
            other.commit()

        thread = threading.Thread(target=read)
        thread.start()
        thread.join(20)
        assert found == [10]


def test_two_sessions_of_a_thread_may_both_read(session: GraphSession, store: Store) -> None:
    with GraphSession(store, QueryEngine(), Identity("other", "operator")) as other:
        session.begin()
        session.run(COUNT).single()
        other.begin()
        assert other.run(COUNT).single() == 10
        other.commit()
        session.run("CREATE (:B)")
        session.commit()


def test_a_transaction_that_reads_takes_no_turn(session: GraphSession, store: Store) -> None:
    session.begin(read_only=True)
    session.run(COUNT).single()
    other_writes(store)
    session.commit()


def grow_impatient(session: GraphSession) -> None:
    """From now on the session's transaction may not be idle at all."""
    session._activity.idle_ms = 1
    WATCH.add(session._activity)


def test_an_idle_writer_is_rolled_back_and_told(store: Store) -> None:
    with GraphSession(store, QueryEngine(), Identity("idle", "operator")) as idle:
        idle.begin()
        idle.run("CREATE (:Lost)")
        rows = idle.run("UNWIND range(1, 3) AS x RETURN x")
        grow_impatient(idle)
        other_writes(store)  # waits until the idle one has lost its turn
        with pytest.raises(QueryError, match="rolled back") as caught:
            next(rows)
        assert caught.value.detail == "TimedOut"
        assert not idle.in_transaction
        assert idle.run("MATCH (n) RETURN labels(n)").records() == [{"labels(n)": ["Other"]}]
    assert check(store) == []
    assert digest(store) == replayed_digest(store)
    verify_log(store)


def test_a_commit_after_the_turn_was_lost_fails(store: Store) -> None:
    with GraphSession(store, QueryEngine(), Identity("idle", "operator")) as idle:
        idle.begin()
        idle.run("CREATE (:Lost)")
        grow_impatient(idle)
        other_writes(store)
        with pytest.raises(QueryError, match="rolled back"):
            idle.commit()
        idle.begin()
        idle.run("CREATE (:Kept)")
        idle.commit()
        assert idle.run("MATCH (n:Lost) RETURN count(n)").single() == 0


def test_reading_and_then_writing_alone_is_fine(session: GraphSession) -> None:
    session.begin()
    session.run("MATCH (a:A) RETURN count(a)").single()
    session.run("CREATE (:B)")
    session.commit()
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 1


def test_a_reading_transaction_does_not_write(session: GraphSession) -> None:
    session.begin(read_only=True)
    with pytest.raises(QueryError) as caught:
        session.run("CREATE (:B)")
    assert caught.value.detail == "AccessMode"


@pytest.mark.parametrize(
    "text",
    [
        "CREATE (:B)",
        "MATCH (a:A) SET a.x = 0",
        "CREATE INDEX some FOR (a:A) ON (a.x)",
        "UNWIND [1, 2] AS x CALL (x) { CREATE (:B {x: x}) } IN TRANSACTIONS",
    ],
)
def test_a_statement_that_only_reads_does_not_write(
    session: GraphSession, store: Store, text: str
) -> None:
    before = digest(store)
    with pytest.raises(QueryError) as caught:
        session.run(text, read_only=True)
    assert caught.value.detail == "AccessMode" and digest(store) == before
    assert session.run(f"EXPLAIN {text}", read_only=True).description() is not None
    assert session.run(COUNT, read_only=True).single() == 10
    session.run(text)  # the next one may
    assert digest(store) != before


def test_a_transaction_is_what_it_began_as(session: GraphSession) -> None:
    session.begin()
    session.run("CREATE (:B)", read_only=True)
    session.commit()
    assert session.run("MATCH (b:B) RETURN count(b)", read_only=True).single() == 1


def test_transactions_do_not_nest_and_must_be_open(session: GraphSession) -> None:
    with pytest.raises(StoreError):
        session.commit()
    session.begin()
    with pytest.raises(StoreError):
        session.begin()


def test_as_of_a_time_in_the_query_and_in_the_session(session: GraphSession, store: Store) -> None:
    with store.read() as snapshot:
        receipt = snapshot.last_receipt()
    assert receipt is not None
    session.run("MATCH (a:A) WHERE a.x > 3 DELETE a")
    assert session.run("MATCH (a:A) RETURN count(a)").single() == 3
    assert (
        session.run(
            "AS OF SYSTEM TIME $t MATCH (a:A) RETURN count(a)", {"t": receipt.time}
        ).single()
        == 10
    )
    assert (
        session.run("AS OF SYSTEM TIME '1999-01-01T00:00Z' MATCH (a) RETURN count(a)").single() == 0
    )
    session.system_time = receipt.time
    assert session.run("MATCH (a:A) RETURN count(a)").single() == 10
    with pytest.raises(QueryError):
        session.run("CREATE (:B)")


@pytest.mark.parametrize(
    "text",
    [
        "AS OF SYSTEM TIME 1 CREATE (:A)",
        "AS OF SYSTEM TIME true RETURN 1",
        "AS OF SYSTEM TIME 'soon' RETURN 1",
    ],
)
def test_a_bad_as_of_is_told(session: GraphSession, text: str) -> None:
    with pytest.raises(QueryError):
        session.run(text)


def test_instants() -> None:
    assert instant_ns("1970-01-01T00:00:01Z") == 1_000_000_000
    assert instant_ns("1970-01-01T01:00:00+01:00") == 0
    assert instant_ns(5) == 5


def test_the_context_of_a_session_is_known_to_its_queries(store: Store) -> None:
    with GraphSession(
        store, QueryEngine(), Identity("t", "operator"), context={"session": "s1"}
    ) as session:
        assert session.run("RETURN $_session").single() == "s1"


def test_a_statement_is_cancelled_from_another_thread(session: GraphSession) -> None:
    timer = threading.Timer(0.1, session.cancel)
    timer.start()
    with pytest.raises(QueryError) as caught:
        session.run(
            "UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y RETURN count(*)"
        ).single()
    assert caught.value.detail == "Terminated"


def test_explain_shows_the_plan_and_runs_nothing(session: GraphSession) -> None:
    session.run("CREATE INDEX byx FOR (a:A) ON (a.x)")
    result = session.run(
        "EXPLAIN MATCH (a:A {x: $x})-[:R*1..2]->(b) WHERE b.y > a.x RETURN b.y, count(*)", {"x": 1}
    )
    assert result.records() == []
    found = result.description()
    assert found is not None
    text = "\n".join(found.lines())
    assert "FROM entry x" in text
    assert "VariableLength  (a)-[:R*1..2]->(b)" in text
    assert "Filter  b.y > a.x" in text
    session.run("EXPLAIN CREATE (:A {x: 99})").records()
    session.run("EXPLAIN CREATE INDEX never FOR (a:A) ON (a.y)").records()
    assert [row["name"] for row in session.run("SHOW INDEXES").records()] == ["byx"]
    assert session.run("MATCH (a:A {x: 99}) RETURN count(a)").single() == 0


def test_profile_counts_rows(session: GraphSession) -> None:
    result = session.run("PROFILE MATCH (a:A) WHERE a.x % 2 = 0 RETURN a.x")
    assert len(result.records()) == 5
    found = result.description()
    assert found is not None
    counted = {step.name: step.rows for step in found.children}
    assert counted == {"PatternScan": 10, "Filter": 5, "Project": 5}


SEED_EXAMPLE = (
    """CREATE (k:FactKey {id: "method:lora:quality_ratio"})
    CREATE (v:FactVersion {value: "95% at 0.1%", validFrom: date("2024-01-15"), source: "paper_A"})
    CREATE (k)-[:CURRENT]->(v)""",
    """MATCH (k:FactKey {id: "method:lora:quality_ratio"})-[c:CURRENT]->(old:FactVersion)
    CREATE (new:FactVersion {value: "97% at 0.08%", validFrom: date("2024-07-20"),
        source: "paper_B"})
    SET old.validUntil = date("2024-07-20")
    DELETE c
    CREATE (k)-[:CURRENT]->(new)
    CREATE (new)-[:SUPERSEDES]->(old)""",
)


def test_a_fact_superseded_by_a_later_one(session: GraphSession) -> None:
    """The worked example of the graph ledger: current state, state as known before, and what was
    valid when."""
    session.run(
        "CREATE CONSTRAINT FOR (v:FactVersion) REQUIRE (v.source, v.validFrom, v.validUntil) IS"
        " TEMPORAL NO OVERLAP"
    )
    session.run(SEED_EXAMPLE[0])
    with session.store.read() as snapshot:
        receipt = snapshot.last_receipt()
    assert receipt is not None
    session.run(SEED_EXAMPLE[1])
    current = "MATCH (:FactKey)-[:CURRENT]->(v) RETURN v.value"
    assert session.run(current).single() == "97% at 0.08%"
    assert session.run(f"AS OF SYSTEM TIME {receipt.time} {current}").single() == "95% at 0.1%"
    valid = "MATCH (v:FactVersion) RETURN v.value"
    assert session.run(f"AS OF VALID TIME date('2024-03-01') {valid}").single() == "95% at 0.1%"
    assert (
        session.run(f"AS OF VALID TIME datetime('2024-07-20T00:00Z') {valid}").single()
        == "97% at 0.08%"
    )
    assert session.run(f"AS OF VALID TIME '2024-07-19T23:59:59Z' {valid}").single() == "95% at 0.1%"
    assert session.run(f"AS OF VALID TIME date('2023-01-01') {valid}").records() == []
    assert (
        session.run(
            f"AS OF SYSTEM TIME {receipt.time} AS OF VALID TIME date('2025-01-01') {valid}"
        ).single()
        == "95% at 0.1%"
    )
    session.valid_time = instant_ns("2024-03-01T00:00Z")
    assert session.run("MATCH (k:FactKey)-[*1..2]->(v) RETURN count(v)").single() == 0
    assert session.run("MATCH (v:FactVersion)--(x) RETURN count(x)").single() == 0
    assert session.run("MATCH (v:FactVersion) RETURN count(v)").single() == 1
    assert session.run("MATCH (k:FactKey) RETURN count(*)").single() == 1


def test_valid_time_on_relationships(session: GraphSession) -> None:
    session.run(
        "CREATE CONSTRAINT FOR ()-[r:WORKS]-() REQUIRE (r.who, r.from, r.to) IS TEMPORAL NO OVERLAP"
    )
    session.run(
        "CREATE (p:P)-[:WORKS {who: 'p', from: date('2020-01-01'), to: date('2021-01-01')}]->(:C"
        " {n: 1}), (p)-[:KNOWS]->(:C {n: 3})"
    )
    session.run("MATCH (p:P) CREATE (p)-[:WORKS {who: 'p', from: date('2021-01-01')}]->(:C {n: 2})")
    for day, found in (("2019-06-01", [3]), ("2020-06-01", [1, 3]), ("2021-01-01", [2, 3])):
        for pattern in ("-->", "-[*1..1]->"):
            rows = session.run(
                f"AS OF VALID TIME date('{day}') MATCH (:P){pattern}(c) RETURN c.n AS n ORDER BY n"
            ).records()
            assert [row["n"] for row in rows] == found


def test_batches_commit_as_they_go(session: GraphSession, store: Store) -> None:
    before = len(store_receipts(store))
    session.run(
        "UNWIND range(1, 25) AS i CALL { WITH i CREATE (:B {i: i}) } IN TRANSACTIONS OF 10 ROWS"
    )
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 25
    assert len(store_receipts(store)) == before + 3


def test_a_failed_batch_is_undone_and_the_others_stay(session: GraphSession) -> None:
    text = (
        "UNWIND range(1, 30) AS i CALL (i) { CREATE (b:B {i: i, x: 1 / (i - 15)}) RETURN b.i AS"
        " made } IN TRANSACTIONS OF 10 ROWS"
    )
    rows = session.run(
        f"{text} ON ERROR CONTINUE REPORT STATUS AS s RETURN i, made, s.committed AS ok"
    ).records()
    assert [row["ok"] for row in rows] == [True] * 10 + [False] * 10 + [True] * 10
    assert [row["made"] for row in rows] == [*range(1, 11), *[None] * 10, *range(21, 31)]
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 20
    rows = session.run(
        f"{text} ON ERROR BREAK REPORT STATUS AS s RETURN s.started AS started, s.committed AS ok"
    ).records()
    assert [row["ok"] for row in rows] == [True] * 10 + [False] * 20
    assert [row["started"] for row in rows] == [True] * 20 + [False] * 10
    with pytest.raises(QueryError):
        session.run(f"{text} RETURN i")
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 40


def test_batches_need_a_statement_of_their_own(session: GraphSession) -> None:
    session.begin()
    with pytest.raises(QueryError) as caught:
        session.run("UNWIND [1] AS i CALL (i) { CREATE (:B) } IN TRANSACTIONS")
    assert caught.value.detail == "Nested"


def store_receipts(store: Store) -> list[object]:
    with store.read() as snapshot:
        return list(snapshot.receipts(limit=1_000))


def test_one_long_sql_statement_is_stopped_too(session: GraphSession) -> None:
    session.run("UNWIND range(1, 3000) AS i CREATE (:Many {i: i})")
    slow = (
        "MATCH (a:Many), (b:Many), (c:Many) WHERE a.i = -1 OR b.i = -1 OR c.i = -1 RETURN count(*)"
    )
    with pytest.raises(QueryError) as caught:
        session.run(slow, timeout_ms=200).records()
    assert caught.value.detail == "TimedOut"
    timer = threading.Timer(0.2, session.cancel)
    timer.start()
    with pytest.raises(QueryError) as caught:
        session.run(slow).records()
    assert caught.value.detail == "Terminated"
    assert session.run("MATCH (a:Many) RETURN count(a)").single() == 3000


def test_deleted_elements_can_leave_a_query(session: GraphSession) -> None:
    assert len(session.run("MATCH (a:A) DELETE a RETURN a").records()) == 10
    session.run("CREATE (:B), (:B)")
    session.run("MATCH (b:B) CALL { WITH b DETACH DELETE b } IN TRANSACTIONS OF 1 ROWS")
    assert session.run("MATCH (b:B) RETURN count(b)").single() == 0


def test_a_value_that_nests_too_deep_is_told(session: GraphSession) -> None:
    with pytest.raises(QueryError) as caught:
        session.run("RETURN reduce(l = [], x IN range(1, 5000) | [l]) AS l").records()
    assert caught.value.detail == "NestingTooDeep"


@pytest.mark.parametrize(
    "text, explicit",
    [
        ("CREATE (:B)", False),
        ("CREATE (:B)", True),
        ("UNWIND [1] AS i CALL (i) { CREATE (:B) } IN TRANSACTIONS", False),
    ],
)
def test_who_waits_for_another_writer_can_be_stopped(
    store: Store, session: GraphSession, text: str, explicit: bool
) -> None:
    other = GraphSession(store, session.engine, session.identity)
    held, done = threading.Event(), threading.Event()

    def write() -> None:
        other.begin()
        other.run("CREATE (:Other)")
        held.set()
        done.wait(30)
        other.rollback()

    writer = threading.Thread(target=write)
    writer.start()
    held.wait(30)

    def start(timeout_ms: int | None) -> None:
        if explicit:
            session.begin()
        session.run(text, timeout_ms=timeout_ms)

    with pytest.raises(QueryError) as caught:
        start(200)
    assert caught.value.detail == "TimedOut"
    timer = threading.Timer(0.2, session.cancel)
    timer.start()
    with pytest.raises(QueryError) as caught:
        start(None)
    assert caught.value.detail == "Terminated"
    done.set()
    writer.join()
    session.run(text)
    assert session.run("MATCH (n:B|Other) RETURN count(n)").single() == 1


@pytest.mark.parametrize("explicit", [False, True])
def test_a_write_to_a_read_only_file_is_an_error_of_ours(tmp_path: Path, explicit: bool) -> None:
    path = tmp_path / "graph.db"
    Store(path).close()
    with Store(path, read_only=True) as store:
        session = GraphSession(store, QueryEngine(), Identity("tester", "operator"))
        if explicit:
            session.begin()
        with pytest.raises(ReadOnlyError):
            session.run("CREATE (:A)")
        session.close()


@pytest.mark.parametrize("first", [None, "MATCH (a:A) RETURN a.x", "CREATE (:B)"])
@pytest.mark.parametrize(
    "command",
    [
        "CREATE INDEX never FOR (a:A) ON (a.y)",
        "CREATE DECAY PROFILE never OPTIONS { halfLifeSeconds: 5 }",
    ],
)
def test_explaining_a_command_in_a_transaction_changes_nothing(
    session: GraphSession, store: Store, first: str | None, command: str
) -> None:
    session.begin()
    if first is not None:
        session.run(first).records()
    explained = session.run(f"EXPLAIN {command}")
    assert explained.records() == []
    assert explained.description() is not None
    session.commit()
    with store.read() as reader:
        assert not [name for name in reader.catalogue_all() if "never" in name]


def test_one_that_cannot_be_undone_leaves_the_others_watched(
    caplog: pytest.LogCaptureFixture,
) -> None:
    undone, watch = threading.Event(), IdleWatch()

    def fails() -> None:
        raise StoreError("no", next_step="none")

    watch.add(Activity(fails, idle_ms=1))
    watch.add(Activity(undone.set, idle_ms=200))
    assert undone.wait(5)
    assert "could not be undone" in caplog.text
