"""A shared log in PostgreSQL 14 or later, alone or with standbys. The extra `postgres` installs the
driver; postgres_schema.py draws the tables.

Who holds a tenant has a lock on its row, in the transaction that will append: the engine breaks the
lock when the connection ends. An append is one statement that moves the head and writes the
transaction, and the commit goes with it: one round trip. Nothing of a session outlives a
transaction, so a pooler that hands out connections for each transaction does no harm.

Notifications wake readers. They are sent after the commit and on their own, since PostgreSQL lets
transactions that notify commit one by one only; who misses one finds the transaction by asking.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from doxa.base.errors import (
    BusyError,
    ClosedError,
    ConflictError,
    InputError,
    StoreError,
    UnreachableError,
)
from doxa.replication.codec import (
    decode_transaction,
    encode_answers,
    encode_body,
    without_payloads,
)
from doxa.replication.engines import postgres_statements as sql
from doxa.replication.engines.folder import next_token, stale_snapshot
from doxa.replication.engines.postgres_schema import LOCK, MIGRATIONS, PREPARE, ROLE
from doxa.replication.protocol import (
    START,
    Head,
    SharedTransaction,
    Snapshot,
    TenantInfo,
    check_tenant,
    continues,
)

try:
    import psycopg
    import psycopg_pool
except ImportError as error:
    raise InputError(
        "A shared log in PostgreSQL takes the driver psycopg, which is not installed.",
        next_step="Install doxa-memory[postgres].",
        field="path",
    ) from error

_CONNECT_S = 5
_CONNECTIONS_MAX = 8
_SHORT_MS = 10_000  # a statement that waits for no other writer
_IDLE_MS = 120_000  # after which the engine ends a transaction whose client is silent
_SLICE_MS = 250
_POLL_S = 1.0
_OUTCOME_S = 20.0
_CHANNEL = "doxa_log"
_OPTIONS: dict[str, Any] = {
    "connect_timeout": _CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "doxa",
}


def open_postgres(url: str) -> PostgresLog:
    return PostgresLog(url)


class PostgresLog:
    """The logs of one database."""

    def __init__(self, url: str) -> None:
        """Connects and migrates when it is first used."""
        self._url = url
        try:
            told = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as error:
            raise InputError(
                f"The URL of the shared log cannot be used: {error}.",
                next_step="Use postgresql://host/database?tenant=acme.",
                field="path",
            ) from None
        self._place = f"{told.get('host', 'localhost')}/{told.get('dbname', '')}"
        self._pool = psycopg_pool.ConnectionPool(
            url,
            min_size=0,
            max_size=_CONNECTIONS_MAX,
            timeout=_CONNECT_S,
            max_idle=60,
            reconnect_timeout=1,
            open=False,
            kwargs={**_OPTIONS, "autocommit": True, "prepare_threshold": None},
        )
        self._lock = threading.Lock()
        self._opened = False
        self._closed = False
        self._news = threading.Condition()
        self._listener: threading.Thread | None = None
        self._teller: threading.Thread | None = None
        self._to_tell: dict[str, int] = {}
        self._told: dict[str, int] = {}

    # The contract

    def head(self, tenant: str) -> Head:
        with self._transaction(tenant) as (run, _):
            return _head(run(sql.HEAD).fetchone())

    def hash_at(self, tenant: str, tx: int) -> bytes | None:
        with self._transaction(tenant) as (run, _):
            row = run(sql.HASH_AT, tx=tx).fetchone()
        return None if row is None else bytes(row[0])

    def hold(
        self, tenant: str, *, wait_ms: int, stopped: Callable[[], bool] | None = None
    ) -> PostgresHold:
        until = time.monotonic() + wait_ms / 1000
        while True:
            left = max(1, int((until - time.monotonic()) * 1000))
            hold = self._try_hold(tenant, left if stopped is None else min(left, _SLICE_MS))
            if hold is not None:
                return hold
            if time.monotonic() >= until or (stopped is not None and stopped()):
                raise BusyError(
                    f"Other writers of tenant {tenant} kept the shared log busy for"
                    f" {wait_ms / 1000:.0f} s; nothing was written.",
                    next_step="Try again.",
                    tenant=tenant,
                )

    def _try_hold(self, tenant: str, wait_ms: int) -> PostgresHold | None:
        """Lock the row of a tenant; None if another writer has it for longer."""
        check_tenant(tenant)
        connection = self._connection()
        try:
            with self._translated(tenant):
                row = self._begin(connection, tenant, wait_ms, sql.HOLD).fetchone()
                if row is None:
                    connection.execute(sql.CREATE, {"tenant": tenant, "hash": START.hash})
                    row = connection.execute(sql.HOLD, {"tenant": tenant}).fetchone()
        except _WaitedTooLong:
            self._give_back(connection)
            return None
        except BaseException:
            self._give_back(connection)
            raise
        return PostgresHold(self, tenant, connection, _head(row))

    def read(self, tenant: str, after: int, *, limit_bytes: int) -> list[SharedTransaction]:
        with self._transaction(tenant) as (run, _):
            rows = run(sql.READ, after=after, limit=limit_bytes).fetchall()
        return [decode_transaction(body, answers) for body, answers in rows]

    def wait(self, tenant: str, after: int, *, timeout_s: float) -> int:
        self._listen()
        until = time.monotonic() + timeout_s
        while True:
            head = self.head(tenant).tx
            left = until - time.monotonic()
            if head > after or left <= 0 or self._closed:
                return head
            with self._news:
                if self._told.get(tenant, 0) <= after:
                    self._news.wait(min(_POLL_S, left))

    def put_snapshot(self, tenant: str, snapshot: Snapshot) -> None:
        with self._transaction(tenant) as (run, _):
            run(sql.HOLD)
            known = run(sql.HASH_AT, tx=snapshot.head.tx).fetchone()
            erased = run(sql.ERASED_AT).fetchone()
            if known is None or known[0] != snapshot.head.hash or erased[0] > snapshot.head.tx:
                raise stale_snapshot(tenant, snapshot.head)
            run(sql.DROP_SNAPSHOTS)
            run(sql.PUT_SNAPSHOT, tx=snapshot.head.tx, hash=snapshot.head.hash, data=snapshot.data)

    def newest_snapshot(self, tenant: str) -> Snapshot | None:
        with self._transaction(tenant) as (run, _):
            row = run(sql.NEWEST_SNAPSHOT).fetchone()
        return None if row is None else Snapshot(Head(row[0], row[1]), row[2])

    def take_lease(self, tenant: str, name: str, *, held: int, now: int, ttl_ns: int) -> int:
        with self._transaction(tenant) as (run, _):
            run(sql.CREATE, hash=START.hash)
            run(sql.HOLD)  # one at a time
            row = run(sql.LEASE, name=name).fetchone()
            token = next_token(row and row[0], held=held, now=now, ttl_ns=ttl_ns)
            if token:
                run(sql.TAKE_LEASE, name=name, until=token)
            elif token == 0:
                run(sql.DROP_LEASE, name=name)
            return token or 0

    def tenants(self) -> list[TenantInfo]:
        connection = self._connection()
        try:
            with self._translated("*"):
                rows = connection.execute(
                    'SELECT tenant, tx, hash, size FROM doxa_log.tenant ORDER BY tenant COLLATE "C"'
                ).fetchall()
        finally:
            self._give_back(connection)
        return [TenantInfo(name, Head(tx, seal), size) for name, tx, seal, size in rows]

    def close(self) -> None:
        self._closed = True
        with self._news:
            self._news.notify_all()
        for thread in (self._listener, self._teller):
            if thread is not None and thread is not threading.current_thread():
                thread.join(_CONNECT_S * 2)
        with suppress(Exception):
            self._pool.close(timeout=_CONNECT_S)

    # Connections

    def _connection(self) -> psycopg.Connection[Any]:
        if self._closed:
            raise ClosedError("This log is closed.", next_step="Open the memory again.")
        with self._translated("*"):
            self._prepare()
            return self._pool.getconn(timeout=_CONNECT_S)

    def _prepare(self) -> None:
        """Make the tables, once for each opening."""
        with self._lock:
            if self._opened:
                return
            with psycopg.connect(self._url, autocommit=True, **_OPTIONS) as connection:
                migrate(connection)
            self._pool.open()
            self._opened = True

    def _give_back(self, connection: psycopg.Connection[Any]) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        with suppress(Exception):
            self._pool.putconn(connection)

    def _begin(
        self, connection: psycopg.Connection[Any], tenant: str, wait_ms: int, statement: str
    ) -> psycopg.Cursor[Any]:
        """Begin a transaction of a tenant with its first statement, in one round trip."""
        told = {"tenant": tenant, "role": ROLE, "wait": str(wait_ms), "idle": str(_IDLE_MS)}
        with connection.pipeline():
            connection.execute("BEGIN")
            connection.execute(sql.BEGIN, told)
            return connection.execute(statement, {"tenant": tenant})

    @contextmanager
    def _transaction(
        self, tenant: str
    ) -> Iterator[tuple[Callable[..., psycopg.Cursor[Any]], psycopg.Connection[Any]]]:
        """Run statements of one tenant as one transaction."""
        check_tenant(tenant)
        connection = self._connection()
        try:
            with self._translated(tenant):
                connection.execute("BEGIN")
                connection.execute(
                    sql.BEGIN,
                    {"tenant": tenant, "role": ROLE, "wait": str(_SHORT_MS), "idle": str(_IDLE_MS)},
                )
                yield (
                    lambda statement, **values: connection.execute(
                        statement, values | {"tenant": tenant}
                    ),
                    connection,
                )
                connection.execute("COMMIT")
        except _WaitedTooLong:
            raise BusyError(
                f"Other writers of tenant {tenant} kept the shared log busy.",
                next_step="Try again.",
                tenant=tenant,
            ) from None
        finally:
            self._give_back(connection)

    @contextmanager
    def _translated(self, tenant: str) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            raise _WaitedTooLong from error
        except (psycopg.OperationalError, psycopg_pool.PoolTimeout, psycopg_pool.PoolClosed) as e:
            raise UnreachableError(
                f"The shared log at {self._place} does not answer: {_first_line(e)}.",
                next_step="Repeat the call when it does; reads of the replica go on.",
                tenant=tenant,
                outcome="none",
            ) from e
        except psycopg.Error as error:
            raise StoreError(
                f"The shared log at {self._place} refused a statement: {_first_line(error)}.",
                next_step="Check the rights of the user of the URL, and the log of the engine.",
                tenant=tenant,
            ) from error

    # News

    def tell(self, tenant: str, tx: int) -> None:
        """Wake readers of a tenant: of this process at once, others by a notification."""
        with self._news:
            self._told[tenant] = self._to_tell[tenant] = tx
            self._news.notify_all()
        with self._lock:
            if self._teller is None:
                self._teller = threading.Thread(
                    target=self._tell_others, name="doxa-log-teller", daemon=True
                )
                self._teller.start()

    def _tell_others(self) -> None:
        connection: psycopg.Connection[Any] | None = None
        while not self._closed:
            with self._news:
                if not self._to_tell:
                    self._news.wait(_POLL_S)
                due, self._to_tell = self._to_tell, {}
            try:
                if due and connection is None:
                    connection = psycopg.connect(self._url, autocommit=True, **_OPTIONS)
                for tenant, tx in due.items():
                    assert connection is not None
                    connection.execute("SELECT pg_notify(%s, %s)", (_CHANNEL, f"{tx} {tenant}"))
            except psycopg.Error:  # who waits will ask
                connection = None
        if connection is not None:
            connection.close()

    def _listen(self) -> None:
        with self._lock:
            if self._listener is None and not self._closed:
                self._listener = threading.Thread(
                    target=self._hear, name="doxa-log-listener", daemon=True
                )
                self._listener.start()

    def _hear(self) -> None:
        while not self._closed:
            try:
                with psycopg.connect(self._url, autocommit=True, **_OPTIONS) as connection:
                    connection.execute(f"LISTEN {_CHANNEL}")
                    while not self._closed:
                        for news in connection.notifies(timeout=_POLL_S, stop_after=1):
                            tx, _, tenant = news.payload.partition(" ")
                            with self._news:
                                self._told[tenant] = max(int(tx), self._told.get(tenant, 0))
                                self._news.notify_all()
            except (psycopg.Error, ValueError):
                until = time.monotonic() + _POLL_S
                while not self._closed and time.monotonic() < until:
                    time.sleep(0.05)


class PostgresHold:
    """A lock on the row of a tenant, in a transaction that is open."""

    def __init__(
        self, log: PostgresLog, tenant: str, connection: psycopg.Connection[Any], head: Head
    ) -> None:
        self.head = head
        self._log, self._tenant, self._connection = log, tenant, connection
        self._ended = threading.Lock()

    def append(self, transactions: Sequence[SharedTransaction]) -> None:
        head = continues(self.head, transactions, self._tenant)
        try:
            with self._log._translated(self._tenant):
                self._append(transactions)
        except UnreachableError as error:
            self._find_out(head, error)
        finally:
            self.release()
        self._log.tell(self._tenant, head.tx)

    def _append(self, transactions: Sequence[SharedTransaction]) -> None:
        connection, before, done = self._connection, self.head, []
        with connection.pipeline():
            for one in transactions:
                done.append(connection.execute(sql.APPEND, self._values(one, before)))
                before = one.head
            alone = not any(one.erased for one in transactions) and len(transactions) == 1
            if alone:  # a statement that wrote nothing commits nothing
                connection.execute("COMMIT")
        if any(cursor.rowcount != 1 for cursor in done):
            raise ConflictError(
                f"The log of tenant {self._tenant} does not end at {self.head.tx} any more; nothing"
                " was appended.",
                next_step="Repeat the call.",
                tenant=self._tenant,
            )
        if alone:
            return
        for one in transactions:
            if one.erased:
                self._erase(one)
        connection.execute("COMMIT")

    def _values(self, one: SharedTransaction, before: Head) -> dict[str, Any]:
        body = encode_body(one)
        return {
            "tenant": self._tenant,
            "tx": one.tx,
            "hash": one.receipt[11],
            "after": before.tx,
            "before": before.hash,
            "size": len(body),
            "first_seq": one.first_seq,
            "last_seq": one.receipt[7],
            "body": body,
            "answers": encode_answers(one),
        }

    def _erase(self, one: SharedTransaction) -> None:
        gone, tenant, run = (
            frozenset(one.erased),
            {"tenant": self._tenant},
            self._connection.execute,
        )
        rows = run(sql.COVERING, tenant | {"first": min(gone), "last": max(gone)}).fetchall()
        for tx, body in rows:
            left = without_payloads(body, gone)
            if left != body:
                run(sql.REPLACE, tenant | {"tx": tx, "body": left})
        run(sql.CLEAR_ANSWERS, tenant)
        run(sql.ERASED, tenant | {"tx": one.tx})
        run(sql.DROP_SNAPSHOTS, tenant)

    def _find_out(self, head: Head, error: UnreachableError) -> None:
        """The connection broke: look whether the append was committed. The lock is taken again, so
        the transaction that had it has ended."""
        self.release()
        until = time.monotonic() + _OUTCOME_S
        while time.monotonic() < until:
            try:
                with self._log._transaction(self._tenant) as (run, _):
                    run(sql.HOLD)
                    row = run(sql.HASH_AT, tx=head.tx).fetchone()
                if row is not None and row[0] == head.hash:
                    return
                raise UnreachableError(
                    f"{error.message} Nothing was written.",
                    next_step=error.next_step,
                    tenant=self._tenant,
                    outcome="none",
                ) from error
            except (BusyError, UnreachableError) as again:
                if again.__cause__ is error:
                    raise
                time.sleep(0.2)
        raise UnreachableError(
            f"{error.message} Whether transaction {head.tx} was written is unknown.",
            next_step="Look for its receipt when the engine answers, before repeating the call.",
            tenant=self._tenant,
            outcome="unknown",
            change=head.tx,
        ) from error

    def release(self) -> None:
        if self._ended.acquire(blocking=False):
            self._log._give_back(self._connection)

    def __enter__(self) -> PostgresHold:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


class _WaitedTooLong(Exception):
    """A lock was not given in time."""


def migrate(connection: psycopg.Connection[Any]) -> None:
    """Make the tables, or bring them up to date. Raises StoreError for a newer schema."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        known = connection.execute("SELECT to_regclass('doxa_log.migration')").fetchone()
        if known is None or known[0] is None:
            connection.execute(PREPARE)
        done = connection.execute(
            "SELECT number, name FROM doxa_log.migration ORDER BY number"
        ).fetchall()
        names = [name for name, _ in MIGRATIONS]
        if [name for _, name in done] != names[: len(done)]:
            raise StoreError(
                "The shared log was made by a newer version of doxa.",
                next_step="Upgrade doxa on this server.",
            )
        for number in range(len(done), len(MIGRATIONS)):
            name, statements = MIGRATIONS[number]
            connection.execute(statements)
            connection.execute("INSERT INTO doxa_log.migration VALUES(%s, %s)", (number + 1, name))


def _head(row: Any) -> Head:
    return START if row is None else Head(row[0], bytes(row[1]))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:300]
