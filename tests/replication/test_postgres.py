"""What holds of the engine PostgreSQL beyond the contract: walls between tenants, one wire form of
every statement, restarts, and an engine that does not answer."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app.expressions import LazyExpressions
from doxa.base.errors import BusyError, ConflictError, LimitError, StoreError, UnreachableError
from doxa.replication.engines.kept import KEPT_S
from doxa.replication.opening import open_log
from doxa.replication.protocol import FleetLog, Head
from doxa.replication.replica import Replica
from doxa.store import Identity, Store, digest, verify_log
from tests.fixtures_shared import opened
from tests.replication.logs import Chain
from tests.replication.postgres import MISSING, PostgresServer, programs

pytestmark = pytest.mark.skipif(programs() is None, reason=MISSING)
PLENTY = 1 << 20


@pytest.fixture
def url(postgres: PostgresServer, request: pytest.FixtureRequest) -> str:
    return postgres.create(f"own_{abs(hash(request.node.name))}")


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that may be killed."""
    server = PostgresServer()
    yield server
    server.close()


def test_every_statement_names_the_tenant_first() -> None:
    """In its condition or as the first column that it writes; so do the keys of all tables."""
    from doxa.replication.engines import postgres_schema as schema
    from doxa.replication.engines import postgres_statements as statements

    found = {name: text for name, text in vars(statements).items() if name.isupper()}
    assert len(found) >= 18
    for place, text in enumerate(found.pop("DROP")):  # type: ignore[arg-type]
        found[f"DROP{place}"] = text
    for name, text in found.items():
        if name == "BEGIN":
            assert "set_config('doxa.tenant', %(tenant)s, true)" in text
            continue
        if name == "APPEND_BODY":  # of the function: its first argument
            assert "set_config('doxa.tenant', in_tenant, true)" in schema.MIGRATIONS[3][1]
            text = text.replace("in_tenant", "%(tenant)s")
        for part in re.split("; (?=INSERT)", text):
            assert re.search(
                r"WHERE tenant\s*= %\(tenant\)s|(VALUES\(|SELECT |doxa_log.append\()%\(tenant\)s",
                part,
            )
        for columns in re.findall(r"INSERT INTO [\w.]+\((.*?)\)", text):
            assert columns.startswith("tenant, "), name
        assert "doxa_log." in text, name
    tables = "".join(text for _, text in schema.MIGRATIONS)
    keys = re.findall(r"PRIMARY KEY\((.*?)\)", tables) + re.findall(
        r"CREATE INDEX \w+ ON [\w.]+\((.*?)\)", tables
    )
    assert len(keys) >= 4 and all(key.startswith("tenant") for key in keys)
    assert tables.count("ENABLE ROW LEVEL SECURITY") == tables.count("CREATE TABLE")


def test_the_engine_shows_one_tenant_only(url: str) -> None:
    """Under the role of a transaction, statements without a condition see the tenant alone, and
    write no other."""
    import psycopg

    from doxa.replication.engines import postgres_statements as sql

    log = open_log(url)
    for tenant in ("acme", "zoo"):
        with log.hold(tenant, wait_ms=1_000) as hold:
            hold.append([Chain().next(b"of " + tenant.encode())])
    log.close()
    told = {"role": "doxa_log_tenant", "tenant": "acme", "wait": "1000", "idle": "10000"}
    with psycopg.connect(url) as connection:
        connection.execute(sql.BEGIN, told)
        for table in ("tenant", "transaction"):
            rows = connection.execute(f"SELECT tenant FROM doxa_log.{table}").fetchall()
            assert rows == [("acme",)]
        assert connection.execute("UPDATE doxa_log.tenant SET tx = 9").rowcount == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(sql.TAKE_LEASE, {"tenant": "zoo", "name": "x", "until": 1})
        connection.rollback()
        connection.execute(sql.BEGIN, told)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("DELETE FROM doxa_log.transaction")
        connection.rollback()
        connection.execute(sql.BEGIN, told | {"tenant": ""})
        assert connection.execute("SELECT count(*) FROM doxa_log.transaction").fetchone() == (0,)


def test_the_engine_refuses_an_append_after_a_moved_head(url: str) -> None:
    """The compare-and-set of the engine itself, without the check of the client."""
    log, chain = open_log(url), Chain()
    first, second = chain.next(b"one"), chain.next(b"two")
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([first])
    for wrong in (Head(0, bytes(32)), Head(1, bytes(32)), Head(2, first.receipt[11])):
        hold = log.hold("acme", wait_ms=1_000)
        hold.head = wrong
        with pytest.raises(ConflictError), hold:
            hold._append([second])  # type: ignore[attr-defined]
    assert log.head("acme") == first.head
    assert log.read("acme", 0, limit_bytes=PLENTY) == [first]
    log.close()


def test_a_writer_that_writes_often_asks_once(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its next writes are one call each. Another server waits until they pause, and no longer; then
    nothing is kept for a while, and what the first one kept is worth nothing."""
    from doxa.replication.engines.postgres import PostgresLog

    asked: list[str] = []
    ask = PostgresLog._try_hold
    monkeypatch.setattr(
        PostgresLog, "_try_hold", lambda self, *given: asked.append("") or ask(self, *given)
    )
    log, other, chain = open_log(url), open_log(url), Chain()
    other.head("acme")
    for _ in range(6):
        with log.hold("acme", wait_ms=5_000) as hold:
            hold.append([chain.next(b"x")])
    assert len(asked) == 2, "the first is not often, and the second asks"
    asked.clear()
    unused = log.hold("acme", wait_ms=5_000)
    assert not asked and unused.head == chain.head
    with pytest.raises(BusyError):
        other.hold("acme", wait_ms=2 * int(KEPT_S * 1_000))  # renewed while it is in use
    unused.release()
    with other.hold("acme", wait_ms=int(KEPT_S * 500)) as hold:
        assert hold.head == chain.head
        hold.append([chain.next(b"y")])
    asked.clear()
    for _ in range(3):
        with log.hold("acme", wait_ms=5_000) as hold:
            hold.append([chain.next(b"x")])
    assert len(asked) == 3, "it is wanted elsewhere"
    assert log.head("acme") == chain.head
    log.close()
    other.close()


def test_an_append_that_arrives_after_its_outcome_was_looked_for_is_refused(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from doxa.replication.engines.postgres import PostgresHold

    log, chain, late = open_log(url), Chain(), []
    for _ in range(3):
        with log.hold("acme", wait_ms=5_000) as hold:
            hold.append([chain.next(b"x")])
    real = PostgresHold._at_once

    def held_up(self: PostgresHold, told: dict[str, object]) -> int:
        late.append((self, told))
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    before = chain.head
    with monkeypatch.context() as patch:
        patch.setattr(PostgresHold, "_at_once", held_up)
        with pytest.raises(UnreachableError) as raised, log.hold("acme", wait_ms=5_000) as hold:
            hold.append([chain.next(b"never")])
    assert raised.value.fields["outcome"] == "none"
    ((hold, told),) = late
    assert told["token"] and real(hold, told) == -1
    assert log.head("acme") == before
    log.close()


@pytest.mark.parametrize("what", ["quota", "erase", "move"])
def test_what_was_kept_is_held_to_the_same_laws(url: str, what: str) -> None:
    """A quota set meanwhile, an erasure, and a move end it as they end a lock."""
    log, chain = open_log(url), Chain()
    assert isinstance(log, FleetLog)
    first = chain.next(b"secret")
    for one in (first, chain.next(b"x"), chain.next(b"x")):
        with log.hold("acme", wait_ms=5_000) as hold:
            hold.append([one])
    hold = log.hold("acme", wait_ms=5_000)
    assert hold._connection is None  # type: ignore[attr-defined]
    if what == "quota":
        log.configure("acme", quota_bytes=1)
        with pytest.raises(LimitError), hold:
            hold.append([chain.next(b"more")])
    elif what == "erase":
        hold.append([chain.next(b"eraser", erased=(1,))])
        assert log.read("acme", 0, limit_bytes=PLENTY)[0].entries[0].payload is None
    else:
        hold.configure(moved_to="postgresql://elsewhere/doxa")
        with pytest.raises(ConflictError, match="has moved"):
            log.hold("acme", wait_ms=1_000)
    log.close()


def test_nothing_of_a_session_outlives_a_transaction(url: str) -> None:
    """So that a pooler may hand each transaction another connection."""
    log, chain = open_log(url), Chain()
    with log.hold("acme", wait_ms=1_000) as hold:
        hold.append([chain.next(b"one")])
    connection = log._pool.getconn()  # type: ignore[attr-defined]
    told = connection.execute(
        "SELECT current_setting('role'), current_setting('doxa.tenant', true),"
        " current_setting('lock_timeout'), (SELECT count(*) FROM pg_prepared_statements),"
        " (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
    ).fetchone()
    log._pool.putconn(connection)  # type: ignore[attr-defined]
    log.close()
    assert told == ("none", "", "0", 0, 0)


def test_servers_that_start_at_once_make_the_tables_once(url: str) -> None:
    logs, failed = [open_log(url) for _ in range(6)], []

    def use(log: object) -> None:
        try:
            log.head("acme")  # type: ignore[attr-defined]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=use, args=(log,)) for log in logs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for log in logs:
        log.close()
    assert failed == []


def test_a_schema_of_a_newer_version_is_left_alone(url: str) -> None:
    import psycopg

    log = open_log(url)
    log.head("acme")
    log.close()
    with psycopg.connect(url) as connection:
        number = connection.execute("SELECT max(number) + 1 FROM doxa_log.migration").fetchone()
        connection.execute("INSERT INTO doxa_log.migration VALUES(%s, 'of tomorrow')", number)
    log = open_log(url)
    with pytest.raises(StoreError, match="newer version"):
        log.head("acme")
    log.close()


def test_an_engine_that_is_killed_loses_nothing_that_was_acknowledged(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    """Reads go on meanwhile and say so, writes are refused, and all goes on afterwards."""
    url = own_server.create("shop")
    given = {"tenant": "acme", "replica": tmp_path / "one", "background": True}
    with opened(url, **given) as memory:  # type: ignore[arg-type]
        kept = memory.remember("Deploys are on Thursday", project="p")
        own_server.kill()
        assert len(memory.recall("deploys", project="p").hits) == 1
        with pytest.raises(UnreachableError, match="does not answer"):
            memory.remember("Deploys are on Friday", project="p")
        assert memory.replica is not None and not memory.replica.status.reachable
        with opened(url, **given | {"background": False}) as alone:  # type: ignore[arg-type]
            assert len(alone.recall("deploys", project="p").hits) == 1
        with pytest.raises(UnreachableError):
            opened(url, tenant="acme", replica=tmp_path / "new")  # type: ignore[arg-type]
        told = {one.name: one for one in memory.doctor()}["replica"]
        assert not told.ok and "last heard of" in told.detail
        own_server.start()
        memory.remember("Rollbacks are on Friday", project="p")
        assert memory.replica.status.reachable
        assert {one.name: one for one in memory.doctor()}["replica"].ok
        with opened(url, tenant="acme", replica=tmp_path / "two") as other:  # type: ignore[arg-type]
            assert digest(other.store) == digest(memory.store)
            assert verify_log(other.store) == verify_log(memory.store)
            assert "Thursday" in str(other.get(str(kept.kref)))


@pytest.mark.parametrize("committed", [True, False])
def test_a_connection_that_breaks_during_the_commit_is_not_guessed_about(
    url: str, tmp_path: Path, committed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outcome is looked up: the write is acknowledged if the engine has it, else refused; and
    the replica is what the engine is, either way."""
    import psycopg

    from doxa.replication.engines.postgres import PostgresHold

    append = PostgresHold._append

    def broken(self: PostgresHold, transactions: object) -> None:
        if committed:
            append(self, transactions)  # type: ignore[arg-type]
        self._connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    with Store(tmp_path / "one.db", expressions=LazyExpressions()) as store:
        replica = Replica(store, open_log(url), "acme")
        monkeypatch.setattr(PostgresHold, "_append", broken)
        try:
            with store.write(Identity("ana", "agent"), op="test") as tx:
                tx.create_node(["Thing"], {})
            assert committed
        except UnreachableError as error:
            assert not committed and error.fields["outcome"] == "none"
        monkeypatch.undo()
        assert store.last_transaction() == replica.log.head("acme").tx == int(committed)
        with store.write(Identity("ana", "agent"), op="test") as tx:
            tx.create_node(["Thing"], {})
        assert replica.catch_up() == replica.log.head("acme")
        replica.stop()
        store.shared = None
