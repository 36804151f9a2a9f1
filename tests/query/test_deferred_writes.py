"""The first statement of a transaction that waits for the commit: it answers what it will do, holds
nothing meanwhile, and does what it answered or nothing."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from doxa.base.errors import ConstraintError, StoreError
from doxa.cypher.errors import QueryError
from doxa.query.core.deadline import terminated
from doxa.query.core.preview import PreviewGraph
from doxa.query.deferred_writes import DeferrableWrites
from doxa.query.engine import QueryEngine
from doxa.query.expressions.policy_expressions import PolicyExpressions
from doxa.query.session import GraphSession
from doxa.store import Identity, Store, Transaction, check, digest, replayed_digest

SET = "MATCH (p:Person {id: $id}) SET p.seen = $n"
COUNT = "MATCH (p:Person) SET p.n = p.n + 1"
CLIENTS, ROUNDS = 6, 25
WORLDS, STATEMENTS = 12, 40


@pytest.fixture(autouse=True)
def all_are_brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause of the machine does not make a statement long."""
    monkeypatch.setattr("doxa.query.deferred_writes.BRIEF_WRITE_MS", 60_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "graph.db", expressions=PolicyExpressions()) as made:
        yield made


class Clients:
    """Sessions of clients of a server on one store."""

    def __init__(self, store: Store) -> None:
        self.store, self.engine = store, QueryEngine()
        self._made = 0

    def client(self, role: str = "operator") -> GraphSession:
        self._made += 1
        made = GraphSession(self.store, self.engine, Identity("tester", role))  # type: ignore[arg-type]
        made.connection = f"bolt-{self._made}"
        return made

    def know(self, text: str, params: dict[str, Any] | None = None) -> None:
        """Run a statement in the turn, so that the next one may wait."""
        with self.client() as one:
            one.begin()
            one.run(text, params)
            one.commit()


@pytest.fixture
def clients(store: Store) -> Clients:
    made = Clients(store)
    with made.client() as one:
        one.run("CREATE INDEX person FOR (p:Person) ON (p.id)")
        one.run("UNWIND range(1, 3) AS i CREATE (:Person {id: i, n: 0})")
    return made


@contextmanager
def turn_taken(clients: Clients) -> Iterator[Callable[[], None]]:
    """Another client writes, until the block ends or what it gets is called."""
    begun, ended = threading.Event(), threading.Event()

    def write() -> None:
        with clients.client() as other:
            other.begin()
            other.run("CREATE (:Other)")
            begun.set()
            assert ended.wait(30)
            other.commit()

    thread = threading.Thread(target=write)
    thread.start()
    assert begun.wait(30)

    def release() -> None:
        ended.set()
        thread.join(30)

    try:
        yield release
    finally:
        release()


def in_thread(work: Callable[[], Any]) -> Any:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join(30)
    return found[0]


def value(clients: Clients, of: str = "p.seen") -> Any:
    with clients.client() as one:
        return one.run(f"MATCH (p:Person {{id: 1}}) RETURN {of}").single()


def test_a_statement_that_others_make_wait_is_answered_and_runs_at_the_commit(
    clients: Clients,
) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with turn_taken(clients) as release, clients.client() as one:
        one.begin()
        result = one.run(SET, {"id": 1, "n": 5})  # returns, although another one writes
        assert result.counters["properties_set"] == 1
        assert list(result) == []
        assert value(clients) is None
        release()
        one.commit()
        assert one.written > 0
    assert value(clients) == 5


def test_one_that_nobody_makes_wait_takes_the_turn(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        one.begin()
        one.run(SET, {"id": 1, "n": 5})
        assert clients.store.has_writer
        one.commit()
    assert not clients.store.has_writer


def test_it_holds_nothing_until_the_commit(clients: Clients) -> None:
    clients.know(COUNT)
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(COUNT)
        in_thread(lambda: clients.know(COUNT))  # another one writes in between, and is counted
        one.commit()
    assert value(clients, "p.n") == 3


def test_it_fails_as_out_of_date_if_it_would_do_something_else(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": 5})
        in_thread(lambda: clients.know("MATCH (p:Person {id: 1}) DELETE p"))
        with pytest.raises(QueryError) as failed:
            one.commit()
        assert failed.value.fields["kind"] == "TransientError"
        assert not one.in_transaction
        assert not clients.store.has_writer
        with turn_taken(clients) as release:  # the next time it takes its turn
            one.begin()
            threading.Timer(0.05, release).start()
            assert one.run(SET, {"id": 1, "n": 5}).counters["properties_set"] == 0
            one.commit()


def test_a_second_statement_sees_what_the_first_did(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with turn_taken(clients) as release, clients.client() as one:
        one.begin()
        one.run(SET, {"id": 1, "n": 5})
        threading.Timer(0.05, release).start()
        assert one.run("MATCH (p:Person {id: 1}) RETURN p.seen").single() == 5
        one.run(SET, {"id": 1, "n": 6})
        one.commit()
    assert value(clients) == 6


def test_a_second_statement_fails_if_the_first_does_something_else(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": 5})
        in_thread(lambda: clients.know("MATCH (p:Person {id: 1}) DELETE p"))
        with pytest.raises(QueryError, match="Another transaction changed"):
            one.run("CREATE (:Never)")
        assert not one.in_transaction
        assert one.run("MATCH (n:Never) RETURN count(n)").single() == 0


@pytest.mark.parametrize("end", ["rollback", "close"])
def test_one_that_is_undone_has_written_nothing(clients: Clients, end: str) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": 5})
            getattr(one, end)()
        one.begin()  # and the next transaction knows nothing of it
        one.commit()
    assert value(clients) is None


def test_one_that_was_terminated_has_written_nothing(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": 5})
            listed = clients.engine.transactions.seen_by(one.identity)
            (number,) = [shown.number for shown in listed if shown.connection == one.connection]
            clients.engine.transactions.terminate(number, one.identity)
        with pytest.raises(QueryError):
            one.commit()
    assert value(clients) is None


def test_the_wait_at_the_commit_can_be_cancelled(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with turn_taken(clients), clients.client() as one:
        one.begin()
        one.run(SET, {"id": 1, "n": 5})
        threading.Timer(0.05, one.cancel).start()
        with pytest.raises(QueryError, match="cancelled"):
            one.commit()
    assert value(clients) is None
    assert waits(clients, SET)  # that says nothing of the statement


def test_one_that_is_cancelled_while_it_runs_may_wait_again(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": 5})
        with monkeypatch.context() as patched:
            patched.setattr(
                Transaction, "verify_constraints", lambda _: one.cancel() or terminated()
            )
            with pytest.raises(QueryError, match="cancelled"):
                one.commit()
    assert value(clients) is None
    assert waits(clients, SET)


def test_the_time_of_the_statement_bounds_the_wait_at_the_commit(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with turn_taken(clients), clients.client() as one:
        one.begin()
        one.run(SET, {"id": 1, "n": 5}, timeout_ms=300)
        with pytest.raises(QueryError, match="ran longer than 300 ms"):
            one.commit()
        assert not one.in_transaction
    assert waits(clients, SET)


def test_what_is_found_for_the_answer_takes_its_time_at_most(clients: Clients) -> None:
    """A match of millions of rows."""
    with clients.client() as one:
        one.run("UNWIND range(1, 400) AS i CREATE (:Many {i: i})")
    text = "MATCH (a:Many), (b:Many), (c:Many) WHERE a.i < b.i < c.i AND c.i < a.i SET a.x = b.i"
    clients.engine.deferrable_writes.took(hash((text, "operator")), 0.0)
    with turn_taken(clients), clients.client() as one:
        one.begin()
        with pytest.raises(QueryError, match="ran longer than 100 ms"):
            one.run(text, timeout_ms=100)
        assert not one.in_transaction


def test_a_full_disk_at_the_commit_is_an_error_of_the_store(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": "x" * 500_000})
        connection = clients.store.connection()
        connection.pragma("max_page_count", connection.pragma("page_count"))
        with pytest.raises(StoreError, match="full"):
            one.commit()
        assert not one.in_transaction
        assert not clients.store.has_writer
        connection.pragma("max_page_count", 1_000_000)
        assert value(clients) is None


def test_only_a_commit_that_follows_at_once_is_shared(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second statement leaves the client time, and others do not wait for its commit."""
    shared: list[bool] = []
    real = Store.write

    def write(*given: Any, **options: Any) -> Any:
        shared.append(options.get("shares", False))
        return real(*given, **options)

    clients.know(SET, {"id": 2, "n": 1})
    for statements in (1, 2):
        with clients.client() as one:
            with turn_taken(clients):
                one.begin()
                one.run(SET, {"id": 1, "n": statements})
            monkeypatch.setattr(Store, "write", write)
            if statements == 2:
                one.run(SET, {"id": 1, "n": 7})
            one.commit()
            monkeypatch.setattr(Store, "write", real)
    assert shared == [True, False]


def test_a_read_that_follows_is_no_first_statement(clients: Clients) -> None:
    """What transactions do that begin with this read is not learned from one that began with a
    write."""
    clients.know(SET, {"id": 2, "n": 1})
    read = "MATCH (p:Person {id: 1}) RETURN p.seen"
    with clients.client() as one:
        with turn_taken(clients):
            one.begin()
            one.run(SET, {"id": 1, "n": 5})
        assert one.run(read).single() == 5
        one.commit()
    assert clients.engine.first_statements.leads_to_write(read)


def test_a_second_transaction_of_a_thread_is_not_answered_from_the_first(
    clients: Clients,
) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with clients.client() as one, clients.client() as other:
        one.begin()
        one.run("MATCH (p:Person {id: 1}) DELETE p")
        other.begin()
        with pytest.raises((QueryError, StoreError)):
            other.run(SET, {"id": 1, "n": 5}, timeout_ms=100)


def test_servers_that_share_a_log_defer_nothing(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    plan = clients.engine.prepare(SET)
    with turn_taken(clients), clients.client() as one:
        assert one._may_defer(plan)
        monkeypatch.setattr(clients.store, "shared", object())
        assert not one._may_defer(plan)


@pytest.mark.parametrize("about", ["(n:Person)", "()-[n:KNOWS]-()"])
def test_nothing_is_deferred_where_properties_fade(clients: Clients, about: str) -> None:
    """A statement keeps what it does not see."""
    with clients.client() as one:
        one.run(
            "MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:KNOWS {a: 1, b: 2}]->(b)"
        )
        one.run(
            "CREATE DECAY PROFILE p OPTIONS"
            " {halfLifeSeconds: 60, function: 'step', visibilityThreshold: 0.5}"
        )
        one.run(f"CREATE DECAY PROFILE t FOR {about} APPLY {{ NO DECAY n.a DECAY PROFILE 'p' }}")
    text = "MATCH ()-[r:KNOWS]->() SET r.a = 3, r = {b: 1}"
    clients.know(text)
    assert not waits(clients, text)


def test_arrays_of_the_snapshot_are_not_asked(tmp_path: Path) -> None:
    """A pattern that is looked for after a change must be seen to be."""
    with Store(tmp_path / "a.db", image_bytes_max=10_000_000) as store, store.read() as reader:
        assert PreviewGraph(reader).image is None


@pytest.mark.parametrize(
    "text",
    [
        SET,
        "MATCH (:Person)-[r:KNOWS]->(:Person) SET r.v = $n",
        "MATCH (a:Person {id: $id}) CREATE (a)-[:KNOWS {v: $n}]->(a)",
        "CREATE (:Event {v: $n})",
    ],
)
def test_a_value_that_cannot_be_stored_is_refused_at_once(clients: Clients, text: str) -> None:
    with clients.client() as one:
        one.run("MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:KNOWS]->(b)")
    clients.know(text, {"id": 2, "n": 1})
    with turn_taken(clients), clients.client() as one:
        one.begin()
        with pytest.raises(QueryError) as failed:
            one.run(text, {"id": 1, "n": {"a": 1}})
        assert failed.value.fields["detail"] == "InvalidPropertyType"


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Person {id: $id}) SET p.password = '12345678' SET p.x = toInteger(p.password)",
        "CREATE (n:New {password: '12345678'}) SET n.x = toInteger(n.password)",
    ],
)
def test_a_secret_is_read_back_as_it_is_stored(clients: Clients, text: str) -> None:
    clients.know(text, {"id": 2})
    with turn_taken(clients) as release, clients.client() as one:
        one.begin()
        assert one.run(text, {"id": 1}).counters["properties_set"] == 1
        release()
        one.commit()


def test_what_a_constraint_refuses_is_refused_at_the_commit_and_then_at_once(
    clients: Clients,
) -> None:
    with clients.client() as one:
        one.run("CREATE CONSTRAINT c FOR (u:User) REQUIRE u.name IS UNIQUE")
        create = "CREATE (:User {name: $name})"
        clients.know(create, {"name": "a"})
        with turn_taken(clients):
            one.begin()
            one.run(create, {"name": "a"})
        with pytest.raises(ConstraintError):
            one.commit()
        with turn_taken(clients) as release:
            one.begin()
            threading.Timer(0.05, release).start()
            with pytest.raises(ConstraintError):
                one.run(create, {"name": "a"})
        assert one.run("MATCH (u:User) RETURN count(u)").single() == 1


def waits(clients: Clients, text: str, role: str = "operator") -> bool:
    """Whether a statement that others make wait is run at the commit."""
    with turn_taken(clients) as release, clients.client(role) as one:
        one.begin()
        threading.Timer(0.05, release).start()
        one.run(text, {"id": 1, "n": 5, "rows": [1, 2]})
        waited = one._deferred is not None
        release()
        one.commit()
        return waited


@pytest.mark.parametrize(
    "text",
    [
        SET,
        "CREATE (:Event {at: $n})",
        "UNWIND $rows AS r CREATE (:Event {at: r})",
        "MERGE (p:Person {id: $id}) SET p.seen = $n",
        "MERGE (p:Person {id: $n}) ON CREATE SET p.new = true ON MATCH SET p.new = false",
        "MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:KNOWS {since: $n}]->(b)",
        "MATCH (a:Person {id: 1}), (b:Person {id: 2}) MERGE (a)-[:KNOWS]->(b)",
        "MATCH (p:Person {id: $id}) REMOVE p.n SET p:Seen, p += {a: 1}",
    ],
)
def test_which_statements_wait(clients: Clients, text: str) -> None:
    clients.know(text, {"id": 2, "n": 6, "rows": [1]})
    assert waits(clients, text)


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (p:Person {id: $id}) SET p.seen = $n RETURN p.seen",
        "MATCH (p:Person {id: $id}) DETACH DELETE p",
        "UNWIND [1, 2] AS r MERGE (:Other {id: $n + r})",
        "MATCH (p:Person {id: $id}) SET p.n = COUNT { (p)--() }",
        "MATCH (p:Person {id: $id}) SET p.n = rand()",
        "FOREACH (r IN $rows | CREATE (:Event))",
        "MATCH (p:Person) CALL (p) { SET p.seen = 1 }",
        "PROFILE MATCH (p:Person {id: $id}) SET p.seen = $n",
        "MATCH (p:Person) WHERE rand() < 2 SET p.seen = $n",
        "MATCH (p:Person) WITH p, datetime() AS now SET p.seen = now",
        "MATCH (p:Person) WHERE p.n < datetime.realtime('Z').epochMillis SET p.seen = 1",
        "CREATE (:Event) UNION CREATE (:Event)",
    ],
)
def test_which_statements_take_their_turn(clients: Clients, text: str) -> None:
    clients.know(text, {"id": 2, "n": 6, "rows": [1]})
    assert not waits(clients, text)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        (SET, True),
        ("MATCH (p:Person {id: $id})-[:KNOWS]->(q) SET q.seen = $n, p.kind = 'friend'", True),
        ("MATCH (p:Person {id: $id}) SET p.seen = p.n", False),
        ("MATCH (p:Person {id: $id}) SET p += $map", False),
        ("MATCH (p:Person {id: $id})-[r:KNOWS]->() SET r.seen = $n", False),
        ("OPTIONAL MATCH (p:Person {id: $id}) SET p.seen = $n", False),
        ("MATCH (p:Person) SET p.seen = $n", False),
    ],
)
def test_which_statements_are_answered_by_the_number_of_their_rows(
    clients: Clients, text: str, counted: bool
) -> None:
    plan = clients.engine.prepare(text)
    assert plan.deferrable
    assert (clients.engine.counted(plan) is not None) is counted


def test_what_is_found_for_the_answer_is_no_access(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted: list[Any] = []
    monkeypatch.setattr(Store, "note", lambda _, access: noted.append(access))
    with clients.client() as one:
        one.run(
            "CREATE PROMOTION POLICY used FOR (p:Person) APPLY"
            " { ON ACCESS { SET p.reads = p.reads + 1 } }"
        )
        one.run("MATCH (p:Person {id: 1}) RETURN p").buffer()
    assert noted
    del noted[:]
    for text in ("MATCH (p:Person {id: $id}) SET p.seen = p.n", SET):
        if text == SET:  # it is answered by the number of its rows here, too
            monkeypatch.delattr(GraphSession, "_previewed")
        clients.know(text, {"id": 2, "n": 1})
        with turn_taken(clients) as release, clients.client() as one:
            one.begin()
            assert one.run(text, {"id": 1, "n": 5}).counters["properties_set"] == 1
            release()
            one.commit()
    assert not noted


def test_the_first_of_a_text_takes_its_turn(clients: Clients) -> None:
    assert not waits(clients, SET)
    assert waits(clients, SET)


def test_one_of_another_role_takes_its_turn(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    assert not waits(clients, SET, role="agent")


def test_a_long_one_takes_its_turn(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.query.deferred_writes.BRIEF_WRITE_MS", -1)
    clients.know(SET, {"id": 2, "n": 1})
    assert not waits(clients, SET)


def test_a_program_takes_its_turn(clients: Clients) -> None:
    clients.know(SET, {"id": 2, "n": 1})
    with turn_taken(clients) as release, clients.client() as one:
        one.connection = ""
        one.begin()
        threading.Timer(0.05, release).start()
        one.run(SET, {"id": 1, "n": 5})
        assert value(clients, "count{(:Other)}") == 1, "it waited for the other one"
        one.commit()


def test_nothing_is_lost_when_many_count(clients: Clients) -> None:
    """Each adds one to the same nodes in a transaction, with a pause before its commit."""
    clients.know(COUNT)

    def count() -> None:
        with clients.client() as one:
            for _ in range(ROUNDS):
                one.begin()
                assert one.run(COUNT).counters["properties_set"] == 3
                one.commit()

    threads = [threading.Thread(target=count) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert value(clients, "p.n") == CLIENTS * ROUNDS + 1
    assert check(clients.store) == []
    assert digest(clients.store) == replayed_digest(clients.store)


READS = (
    ("", ""),
    ("MATCH (n:A) ", "n"),
    ("MATCH (n:A {k: $k}) ", "n"),
    ("MATCH (n:A) WHERE n.v > 1 ", "n"),
    ("OPTIONAL MATCH (n:A {k: $k}) ", "n"),
    ("UNWIND $list AS x MATCH (n:A {k: x}) ", "n"),
    ("UNWIND $list AS x ", ""),
    ("MATCH (n:A)-[r:R]->(m) ", "nmr"),
    ("MATCH (n:A {k: $k})-[r:R]-(m:A) ", "nmr"),
    ("MATCH (n:A) WITH n ORDER BY n.k LIMIT 2 ", "n"),
    ("MATCH (n:A), (m:A) WHERE n.k < m.k ", "nm"),
)
UPDATES = {
    "": (
        "CREATE (:C {k: $k}) ",
        "CREATE (c:C {k: $k})-[:S {v: 1}]->(d:D $map) ",
        "CREATE (c:C {k: $k}), (e:E {k: $k + 1}) ",
        "CREATE (c:C {k: $k}), (e:E {v: 1}) SET c = e, e = {} ",
        "CREATE (c:C)-[e:S {v: 1}]->(d:D), (c)-[f:S]->(d) SET f = e, e = {}, f.v = null ",
        "MERGE (a:A {k: $k}) ",
        "MERGE (a:A {k: $k}) ON CREATE SET a.v = 1 ON MATCH SET a.v = a.v + 1, a.w = $k ",
        "MERGE (a:A {k: $k}) SET a += $map, a.v = a.w ",
        "MERGE (a:C {k: $k})-[:S]->(b:D {k: $k}) SET b.v = a.k ",
    ),
    "n": (
        "SET n.v = $k ",
        "SET n.v = $k, n.w = 'text', n.v = 2.5 ",
        "SET n.v = $nothing, n.w = 1 ",
        "SET n.v = $nothing, n.v = 1 ",
        "SET n.v = $odd ",
        "SET n.v = n.v + 1, n.w = n.v ",
        "SET n.v = null ",
        "SET n += $map ",
        "SET n = $map ",
        "SET n += $map, n.v = n.w, n.w = null ",
        "SET n:L, n.v = 7 ",
        "REMOVE n.v ",
        "REMOVE n:L, n.w ",
        "CREATE (n)-[:S {v: $k}]->(:D {v: n.v}) ",
        "MERGE (n)-[:S]->(:D {v: 2}) ",
    ),
    "m": (
        "SET m.v = n.v ",
        "SET m.v = $k, n.w = 3 ",
        "CREATE (n)-[:R {v: 3}]->(m) ",
        "MERGE (n)-[e:R]->(m) SET e.v = 4 ",
    ),
    "r": ("SET r.v = r.v + 1, r.w = n.v ", "REMOVE r.v SET r = {} ", "SET r += $map "),
}


def a_statement(rng: random.Random) -> str:
    text, names = rng.choice(READS)
    for _ in range(rng.randrange(1, 4)):
        text += rng.choice(UPDATES[rng.choice(["", *names])])
        if text.count("CREATE (c") > 1 or text.count("(a:") > 1 or text.count("[e:") > 1:
            return a_statement(rng)  # a name for two things
    return text


def test_what_is_answered_is_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, tally: Callable[..., None]
) -> None:
    """Statements at random, each in one store as first of a transaction that may wait and in
    another one at once: if nobody else writes, none is out of date, and all comes to the same."""
    rng = random.Random(seed)
    monkeypatch.setattr(DeferrableWrites, "may_wait", lambda *_: True)
    waited = ran = 0
    for world in range(WORLDS):
        with (
            Store(tmp_path / f"{world}-a.db") as first,
            Store(tmp_path / f"{world}-b.db") as second,
        ):
            stores, sessions = (first, second), []
            for one in stores:
                sessions.append(Clients(one).client())
                sessions[-1].run("CREATE INDEX a FOR (n:A) ON (n.k)")
                sessions[-1].run("UNWIND range(1, 4) AS i CREATE (:A {k: i, v: i, w: 1000 + i})")
                sessions[-1].run("MATCH (n:A), (m:A) WHERE n.k < m.k CREATE (n)-[:R {v: n.k}]->(m)")
            monkeypatch.setattr(Store, "has_writer", property(lambda self, one=first: self is one))
            for _ in range(STATEMENTS):
                text = a_statement(rng)
                params = {
                    "k": rng.randrange(6),
                    "list": [rng.randrange(6) for _ in range(rng.choice([0, 1, 3, 12]))],
                    "nothing": None,
                    "odd": rng.choice([float("nan"), 2**63 - 1, "", [1, 2], {}, True]),
                    "map": {"v": rng.choice([1, 1000, "text"]), "w": rng.randrange(3)},
                }
                outcomes = []
                for session in sessions:
                    session.begin()
                    try:
                        counters = session.run(text, params).counters
                        if session is sessions[0]:
                            waited += session._deferred is not None
                            ran += 1
                        session.commit()
                        outcomes.append((text, counters))
                    except QueryError as error:
                        session.close()
                        outcomes.append((str(error), error.fields))
                assert outcomes[0] == outcomes[1], (text, params)
            graphs = [
                (
                    session.run("MATCH (n) RETURN labels(n), n ORDER BY id(n)").records(),
                    session.run(
                        "MATCH (a)-[r]->(b) RETURN id(a), type(r), r {.*}, id(b) ORDER BY id(r)"
                    ).records(),
                )
                for session in sessions
            ]
            assert str(graphs[0]) == str(graphs[1])
    tally(ran=ran, waited=waited)
    assert waited > ran / 4, "hardly any waited"


def test_what_is_remembered_is_bounded() -> None:
    known = DeferrableWrites(items_max=3)
    for key in range(10):
        known.took(key, 0.0)
    assert [known.may_wait(key) for key in (6, 7, 8, 9)] == [False, True, True, True]


def test_one_that_failed_takes_its_turn_for_a_thousand_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("doxa.query.deferred_writes.BRIEF_WRITE_MS", 20)
    known = DeferrableWrites()
    known.took(1, 0.0)
    known.failed(1)
    known.took(1, 1.0)
    for _ in range(999):
        known.took(1, 0.0)
        assert not known.may_wait(1)
    known.took(1, 1.0)  # long
    assert not known.may_wait(1)
    known.took(1, 0.0)
    assert known.may_wait(1)
    known.took(1, 1.0)
    assert not known.may_wait(1)
