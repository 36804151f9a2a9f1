"""A shared log in PostgreSQL 14 or later, alone or with standbys. The extra `postgres` installs the
driver; postgres_schema.py draws the tables.

Who holds a tenant has a lock on its row, in the transaction that will append: the engine breaks the
lock when the connection ends. An append is one call that moves the head and writes the transaction,
and the commit goes with it: one round trip. A server that writes often keeps the tenant between its
writes, and begins the next one without asking (kept.py). Nothing of a session outlives a
transaction, so a pooler that hands out connections for each transaction does no harm.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

import psycopg
import psycopg_pool

from doxa.base.errors import (
    BusyError,
    ClosedError,
    ConflictError,
    InputError,
    StoreError,
    UnreachableError,
)
from doxa.base.limits import SNAPSHOT_BYTES_MAX, SNAPSHOT_PART_BYTES_MAX
from doxa.replication.codec import (
    decode_transaction,
    encode_answers,
    encode_body,
    without_payloads,
)
from doxa.replication.engines import postgres_connection
from doxa.replication.engines import postgres_statements as sql
from doxa.replication.engines.folder import large_snapshot, next_token, stale_snapshot
from doxa.replication.engines.kept import KEPT_S, WANTED_S, Keeper, Kept, KeptHolds
from doxa.replication.engines.postgres_connection import (
    CONNECT_S,
    OPTIONS,
    LimitedConnection,
    Statement,
    at_once,
    connect,
)
from doxa.replication.engines.postgres_news import PostgresNews
from doxa.replication.engines.postgres_schema import LOCK, MIGRATIONS, PREPARE, ROLE
from doxa.replication.engines.users import LogUsers
from doxa.replication.protocol import (
    START,
    Head,
    ReplicaReport,
    SharedTransaction,
    Snapshot,
    TenantInfo,
    check_tenant,
    continues,
    has_not_moved,
    require_here,
    require_room,
)

_CONNECTIONS_MAX = 16
_SHORT_MS = 10_000  # a statement that waits for no other writer
_IDLE_MS = 120_000  # after which the engine ends a transaction whose client is silent
_SLICE_MS = 250  # of a wait that may be ended
_TRY_MS = 5_000  # of any other, so that an engine that is silent is noticed
_KEPT_SLICE_S = 0.02  # after which is asked again for a tenant that another server keeps
_OUTCOME_S = 20.0


def open_postgres(url: str) -> PostgresLog:
    return PostgresLog(url)


class PostgresLog:
    """The logs of one database."""

    def __init__(self, url: str) -> None:
        """Connects and migrates when it is first used."""
        self._url = url
        self.users = LogUsers()
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
            timeout=CONNECT_S,
            max_idle=60,
            reconnect_timeout=1,
            open=False,
            connection_class=LimitedConnection,
            kwargs={**OPTIONS, "autocommit": True, "prepare_threshold": None},
        )
        self._lock = threading.Lock()
        self._opened = False
        self._closed = False
        self._news = PostgresNews(url)
        self._kept = KeptHolds()
        self._keeper = Keeper(self._kept, self._keep_for)
        self._asked: dict[str, tuple[float, int]] = {}  # when the head was read, and its number

    # The contract

    def head(self, tenant: str) -> Head:
        rows = self._rows(tenant, sql.HEAD)
        return _head(rows[0] if rows else None)

    def hash_at(self, tenant: str, tx: int) -> bytes | None:
        rows = self._rows(tenant, sql.HASH_AT, tx=tx)
        return bytes(rows[0][0]) if rows else None

    def hold(
        self,
        tenant: str,
        *,
        wait_ms: int,
        stopped: Callable[[], bool] | None = None,
        arriving: str = "",
        locked: bool = False,
    ) -> PostgresHold:
        until = time.monotonic() + wait_ms / 1000
        kept = self._kept.take(tenant)
        if kept is not None and not locked and not self._closed and self._kept.is_usable(kept):
            return PostgresHold(self, None, kept.info, kept)
        mine = kept.token if kept else 0
        self._kept.end(tenant, mine)
        while True:
            left = max(1, int((until - time.monotonic()) * 1000))
            slice_ms = min(left, _TRY_MS if stopped is None else _SLICE_MS)
            hold = self._try_hold(tenant, slice_ms, mine)
            if hold is not None:
                hold._left = kept
                try:
                    require_here(hold.info, arriving)
                except ConflictError:
                    hold.release()
                    raise
                hold.arriving = arriving
                return hold
            if time.monotonic() >= until or (stopped is not None and stopped()):
                raise BusyError(
                    f"Other writers of tenant {tenant} kept the shared log busy for"
                    f" {wait_ms / 1000:.0f} s; nothing was written.",
                    next_step="Try again.",
                    tenant=tenant,
                )

    def _try_hold(self, tenant: str, wait_ms: int, mine: int) -> PostgresHold | None:
        """Lock the row of a tenant; None if other writers have it, or all connections, for
        longer, or another server keeps it. `mine` is the token under which this one did."""
        check_tenant(tenant)
        try:
            connection = self._connection()
        except UnreachableError:
            if self._opened and self._pool.get_stats().get("pool_size", 0) >= _CONNECTIONS_MAX:
                return None
            raise
        try:
            with self._translated(tenant), _longer(connection, wait_ms):
                told = {"tenant": tenant, "mine": mine, "wanted_s": WANTED_S}
                rows = at_once(connection, (*_begin(tenant, wait_ms), (sql.TAKE, told)))[-1].rows
                row = rows[0] if rows else None
                if row is None:
                    connection.execute(sql.CREATE, told | {"hash": START.hash})
                    row = connection.execute(sql.TAKE, told).fetchone()
                assert row is not None, "it was just made"
                kept_s, *info = row
                if kept_s > 0:  # not for long once it is known to be wanted
                    at_once(connection, ((sql.WANT, told), ("COMMIT", {})))
                    self._give_back(connection)
                    time.sleep(min(kept_s, wait_ms / 1000, _KEPT_SLICE_S))
                    return None
        except _WaitedTooLong:
            self._give_back(connection)
            return None
        except BaseException:
            self._give_back(connection)
            raise
        return PostgresHold(self, connection, _info(info))

    def read(self, tenant: str, after: int, *, limit_bytes: int) -> list[SharedTransaction]:
        rows = self._rows(tenant, sql.READ, after=after, limit=limit_bytes)
        return [decode_transaction(body, answers) for body, answers in rows]

    def wait(self, tenant: str, after: int, *, timeout_s: float) -> int:
        """Read the head at once where there is news, else every few seconds, and once by each
        reader that has not asked for so long."""
        self._news.listen()
        until, news = time.monotonic() + timeout_s, False
        while True:
            at, head = self._asked.get(tenant, (-1e9, 0))
            due = at + self._news.poll_s
            if news or time.monotonic() >= due:
                head = self.head(tenant).tx
                due = time.monotonic() + self._news.poll_s
                self._asked[tenant] = time.monotonic(), head
            left = until - time.monotonic()
            if head > after or left <= 0 or self._closed:
                return head
            wait_s = max(0.0, min(left, due - time.monotonic()))
            news = self._news.wait(tenant, max(after, head), wait_s)

    def put_snapshot(self, tenant: str, snapshot: Snapshot) -> None:
        tx, seal, data = *snapshot.head, memoryview(snapshot.data)
        if len(data) > SNAPSHOT_BYTES_MAX:
            raise large_snapshot(tenant, len(data))
        with self._transaction(tenant) as run:
            run(sql.DROP_SNAPSHOT, tx=tx)
            for part, start in enumerate(range(0, len(data) or 1, SNAPSHOT_PART_BYTES_MAX)):
                piece = bytes(data[start : start + SNAPSHOT_PART_BYTES_MAX])
                run(sql.PUT_SNAPSHOT, tx=tx, hash=seal, part=part, data=piece)
            run(sql.HOLD)  # an erasure is before or after
            known = run(sql.HASH_AT, tx=tx).fetchone()
            erased = run(sql.ERASED_AT).fetchone()
            if known is None or erased is None or known[0] != seal or erased[0] > tx:
                raise stale_snapshot(tenant, snapshot.head)
            run(sql.DROP_SNAPSHOTS, but=tx)

    def newest_snapshot(self, tenant: str) -> Snapshot | None:
        for _ in range(3):  # another one may take its place meanwhile
            rows = self._rows(tenant, sql.NEWEST_SNAPSHOT)
            if not rows:
                return None
            tx, seal, parts = rows[0]
            data = bytearray()
            for part in range(parts):
                found = self._rows(tenant, sql.SNAPSHOT_PART, tx=tx, part=part)
                if not found:
                    break
                data += found[0][0]
            else:
                return Snapshot(Head(tx, bytes(seal)), bytes(data))
        return None

    def take_lease(self, tenant: str, name: str, *, held: int, now: int, ttl_ns: int) -> int:
        with self._transaction(tenant) as run:
            run(sql.CREATE, hash=START.hash)
            run(sql.HOLD)  # one at a time
            row = run(sql.LEASE, name=name).fetchone()
            token = next_token(row and row[0], held=held, now=now, ttl_ns=ttl_ns)
            if token:
                run(sql.TAKE_LEASE, name=name, until=token)
            elif token == 0:
                run(sql.DROP_LEASE, name=name)
            return token or 0

    def lease_until(self, tenant: str, name: str) -> int:
        rows = self._rows(tenant, sql.LEASE, name=name)
        return int(rows[0][0]) if rows else 0

    def tenants(self) -> list[TenantInfo]:
        connection = self._connection()
        try:
            with self._translated("*"):
                rows = connection.execute(
                    "SELECT t.tenant, tx, hash, size, quota, moved_to, arriving, erased_tx,"
                    " coalesce(s.newest, 0) FROM doxa_log.tenant t LEFT JOIN (SELECT tenant,"
                    " max(tx) newest FROM doxa_log.snapshot WHERE part = 0 GROUP BY tenant) s ON"
                    ' s.tenant = t.tenant ORDER BY t.tenant COLLATE "C"'
                ).fetchall()
        finally:
            self._give_back(connection)
        return [_info(row) for row in rows]

    # The fleet

    def info(self, tenant: str) -> TenantInfo | None:
        rows = self._rows(tenant, sql.INFO)
        return _info(rows[0]) if rows else None

    def configure(
        self,
        tenant: str,
        *,
        quota_bytes: int | None = None,
        moved_to: str | None = None,
        arriving: str | None = None,
    ) -> TenantInfo:
        with self._transaction(tenant) as run:
            run(sql.CREATE, hash=START.hash)
            run(sql.CONFIGURE, quota=quota_bytes, moved_to=moved_to, arriving=arriving)
            row = run(sql.INFO).fetchone()
        assert row is not None, "it was just made"
        return _info(row)

    def report(self, tenant: str, report: ReplicaReport) -> None:
        name, tx, scrubbed_tx, _ = report
        self._rows(tenant, sql.REPORT, name=name, tx=tx, scrubbed_tx=scrubbed_tx)

    def reports(self, tenant: str) -> list[ReplicaReport]:
        return [ReplicaReport(*row) for row in self._rows(tenant, sql.REPORTS)]

    def withdraw(self, tenant: str, name: str) -> None:
        self._rows(tenant, sql.WITHDRAW, name=name)

    def vectors(self, tenant: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        rows = self._rows(tenant, sql.VECTORS, keys=list(keys))
        return {bytes(key): bytes(data) for key, data in rows}

    def put_vectors(self, tenant: str, vectors: Mapping[bytes, bytes], *, read_at: int) -> bool:
        keys = sorted(vectors)  # in one order everywhere: two that put the same cannot deadlock
        with self._transaction(tenant) as run:
            row = run(sql.ERASED_BEFORE).fetchone()
            wanted = row is not None and row[0] <= read_at
            if wanted:
                run(sql.DROP_VECTORS)
                run(sql.PUT_VECTORS, keys=keys, data=[vectors[key] for key in keys])
        return wanted

    def drop(self, tenant: str) -> None:
        """Delete the log as the user of the URL: the role of a transaction may not."""
        info = self.info(tenant)
        if info is None or not info.moved_to:
            raise has_not_moved(tenant)
        with self._connected(tenant) as connection, connection.pipeline():
            connection.execute("BEGIN")
            for statement in (*sql.DROP, sql.RESET):
                connection.execute(statement, {"tenant": tenant, "hash": START.hash})
            connection.execute("COMMIT")

    def close(self) -> None:
        if not self.users.leave():
            return
        self._keeper.close()
        self._closed = True
        self._news.close()
        with suppress(Exception):
            self._pool.close(timeout=CONNECT_S)

    def tell(self, tenant: str, tx: int) -> None:
        """Wake who waits for a transaction of a tenant, here and on other servers."""
        self._news.tell(tenant, tx)

    def _keep_for(self, tenant: str, token: int, seconds: float) -> None:
        """Say for how long this server keeps a tenant. Who has the lock longer appends himself."""
        told = {"tenant": tenant, "token": token, "keep_s": seconds}
        with self._connected(tenant) as connection:
            at_once(connection, (*_begin(tenant, _SLICE_MS), (sql.KEEP, told), ("COMMIT", {})))

    # Connections

    def _connection(self) -> LimitedConnection:
        if self._closed:
            raise ClosedError("This log is closed.", next_step="Open the memory again.")
        with self._translated("*"):
            self._prepare()
            found: LimitedConnection = self._pool.getconn(timeout=CONNECT_S)
            return found

    def _prepare(self) -> None:
        """Make the tables, once for each opening."""
        if self._opened:
            return
        with self._lock:
            if self._opened:
                return
            with connect(self._url) as connection:
                migrate(connection)
            self._pool.open()
            self._opened = True

    def _give_back(self, connection: LimitedConnection) -> None:
        with suppress(psycopg.Error):
            if connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                connection.execute("ROLLBACK")
        with suppress(Exception):
            self._pool.putconn(connection)

    def _rows(self, tenant: str, statement: str, **values: Any) -> list[Any]:
        """Run one statement of a tenant as a transaction, in one round trip."""
        check_tenant(tenant)
        run = (statement, values | {"tenant": tenant})
        with self._connected(tenant) as connection:
            found = at_once(connection, (*_begin(tenant, _SHORT_MS), run, ("COMMIT", {})))
            return found[-2].rows

    @contextmanager
    def _transaction(self, tenant: str) -> Iterator[Callable[..., psycopg.Cursor[Any]]]:
        """Run statements of one tenant as one transaction."""
        check_tenant(tenant)
        with self._connected(tenant) as connection:
            at_once(connection, _begin(tenant, _SHORT_MS))
            yield lambda statement, **values: connection.execute(
                statement, values | {"tenant": tenant}
            )
            connection.execute("COMMIT")

    @contextmanager
    def _connected(self, tenant: str) -> Iterator[LimitedConnection]:
        connection = self._connection()
        try:
            with self._translated(tenant), _longer(connection, _SHORT_MS):
                yield connection
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


def _begin(tenant: str, wait_ms: int) -> tuple[Statement, Statement]:
    told = {"tenant": tenant, "role": ROLE, "wait": str(wait_ms), "idle": str(_IDLE_MS)}
    return ("BEGIN", {}), (sql.BEGIN, told)


@contextmanager
def _longer(connection: LimitedConnection, wait_ms: int) -> Iterator[None]:
    """Let statements of the block wait so much longer: they may wait for a lock."""
    connection.limit_s = postgres_connection.ANSWER_S + wait_ms / 1000
    try:
        yield
    finally:
        connection.limit_s = 0.0


class PostgresHold:
    """A lock on the row of a tenant, in a transaction that is open; or, without a connection, what
    was kept since the append before."""

    arriving = ""

    def __init__(
        self,
        log: PostgresLog,
        connection: LimitedConnection | None,
        info: TenantInfo,
        kept: Kept | None = None,
    ) -> None:
        self.head, self.info = info.head, info
        self._log, self._tenant, self._kept = log, info.tenant, kept
        self._left: Kept | None = None  # what this server kept before, until it appends
        self._connection = connection
        self._ended = threading.Lock()

    def append(self, transactions: Sequence[SharedTransaction]) -> None:
        head = continues(self.head, transactions, self._tenant)
        kept = None
        try:
            with self._log._translated(self._tenant):
                kept = self._append(transactions)
        except UnreachableError as error:
            self._find_out(head, error)
        except _WaitedTooLong:  # another server has the lock since what was kept has expired
            raise self._refused() from None
        finally:
            self._use_up()
            self.release()
        if kept is not None:
            self._log._kept.keep(self._tenant, kept)
            self._log._keeper.watch()
        self._log.tell(self._tenant, head.tx)

    def _append(self, transactions: Sequence[SharedTransaction]) -> Kept | None:
        """Append and commit. Returns what the engine keeps for the next append, if anything."""
        many = len(transactions) != 1 or bool(transactions[0].erased)
        if many and self._connection is None:
            self._lock()
        before, values = self.head, []
        token, until = 0, 0.0
        if not many and not self.arriving:  # a move is not kept up by its own appends
            token, until = self._log._kept.begin_append(self._tenant)
        for one in transactions:
            values.append(self._values(one, before) | {"keep": token})
            before = one.head
        size = sum(len(one["body"]) for one in values)
        require_room(self.info, transactions, size)
        if many:
            self._append_many(transactions, values)
            return None
        (told,) = values
        if self._connection is None:
            given = self._at_once(told)
        else:  # a call that wrote nothing commits nothing
            done = at_once(self._connection, ((sql.APPEND, told), ("COMMIT", {})))
            given = done[0].rows[0][0]
        if given < 0:
            self._look_why(transactions, size)
            raise self._refused()
        info = self.info._replace(head=before, size_bytes=self.info.size_bytes + size)
        return Kept(given, info, until) if given else None

    def _at_once(self, told: dict[str, Any]) -> int:
        """Append what continues the one before, as a transaction of its own."""
        with self._log._connected(self._tenant) as connection:
            row = connection.execute(sql.APPEND, told).fetchone()
        assert row is not None, "a function returns something"
        return int(row[0])

    def _append_many(
        self, transactions: Sequence[SharedTransaction], values: Sequence[dict[str, Any]]
    ) -> None:
        connection = self._connection
        assert connection is not None, "it was locked"
        with connection.pipeline():
            cursors = [connection.execute(sql.APPEND, one) for one in values]
        if any(cursor.fetchall()[0][0] < 0 for cursor in cursors):
            raise self._refused()
        for one in transactions:
            if one.erased:
                self._erase(connection, one)
        connection.execute("COMMIT")

    def _refused(self) -> ConflictError:
        return ConflictError(
            f"The log of tenant {self._tenant} does not end at {self.head.tx} any more; nothing"
            " was appended.",
            next_step="Repeat the call.",
            tenant=self._tenant,
        )

    def _look_why(self, transactions: Sequence[SharedTransaction], size: int) -> None:
        """Raise what the engine would have said before the block, had it been asked then."""
        info = self._log.info(self._tenant) if self._kept else None
        if info is not None and info.head == self.head:
            require_here(info, self.arriving)
            require_room(info, transactions, size)

    def _lock(self) -> None:
        """Take the lock on the row for what was kept. Raises ConflictError if the head moved."""
        mine = self._kept.token if self._kept else 0
        hold = self._log._try_hold(self._tenant, _SHORT_MS, mine)
        if hold is None or hold.head != self.head:
            if hold is not None:
                hold.release()
            raise self._refused()
        self._use_up()
        self.info, self._connection = hold.info, hold._connection
        require_here(self.info, self.arriving)

    def _values(self, one: SharedTransaction, before: Head) -> dict[str, Any]:
        return {
            "tenant": self._tenant,
            "tx": one.tx,
            "hash": one.receipt[11],
            "after": before.tx,
            "before": before.hash,
            "first_seq": one.first_seq,
            "last_seq": one.receipt[7],
            "body": encode_body(one),
            "answers": encode_answers(one),
            "erases": bool(one.erased),
            "arriving": self.arriving,
            "wait": str(_SHORT_MS),
            "token": self._kept.token if self._kept else 0,
            "keep_s": KEPT_S,
        }

    def configure(self, *, moved_to: str) -> None:
        """Say where the tenant is from here on; ends the hold."""
        try:
            with self._log._translated(self._tenant):
                if self._connection is None:
                    self._lock()
                assert self._connection is not None, "it is locked"
                told = {"tenant": self._tenant, "moved_to": moved_to}
                self._connection.execute(sql.CONFIGURE, told | {"quota": None, "arriving": None})
                self._connection.execute("COMMIT")
        finally:
            self._use_up()
            self.release()

    def _erase(self, connection: LimitedConnection, one: SharedTransaction) -> None:
        gone, tenant, run = frozenset(one.erased), {"tenant": self._tenant}, connection.execute
        rows = run(sql.COVERING, tenant | {"first": min(gone), "last": max(gone)}).fetchall()
        for tx, body in rows:
            left = without_payloads(body, gone)
            if left != body:
                run(sql.REPLACE, tenant | {"tx": tx, "body": left})
        run(sql.CLEAR_ANSWERS, tenant)
        run(sql.ERASED, tenant | {"tx": one.tx})
        run(sql.DROP_SNAPSHOTS, tenant | {"but": 0})

    def _find_out(self, head: Head, error: UnreachableError) -> None:
        """The connection broke: look whether the append was committed. The lock is taken again, so
        the transaction that had it has ended; one that is still on its way names a token that the
        engine has no more."""
        token = self._kept.token if self._kept else 0
        self._use_up()
        self.release()
        until = time.monotonic() + _OUTCOME_S
        while time.monotonic() < until:
            try:
                with self._log._transaction(self._tenant) as run:
                    run(sql.HOLD)
                    if token:
                        run(sql.FENCE, token=token)
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

    def _use_up(self) -> None:
        kept, self._kept, self._left = self._kept, None, None
        if kept is not None:
            self._log._kept.end(self._tenant, kept.token)

    def release(self) -> None:
        if not self._ended.acquire(blocking=False):
            return
        if self._connection is not None:
            self._log._give_back(self._connection)
        left = self._kept or self._left
        if left is not None:  # it was not used
            self._log._kept.keep(self._tenant, left)
            self._log._keeper.watch()

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


def migrate(connection: LimitedConnection) -> None:
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


def _info(row: Any) -> TenantInfo:
    tenant, tx, seal, size, *more = row
    return TenantInfo(tenant, Head(tx, bytes(seal)), size, *more)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:300]
