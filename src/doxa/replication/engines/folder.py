"""A shared log in a folder of one machine: one SQLite file for each tenant. It keeps the contract
without a server, for tests and for several processes of one machine.

Who holds a tenant has `BEGIN IMMEDIATE` on its file, so the commit of the append ends the hold.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import apsw

from doxa.base.errors import (
    BusyError,
    ClosedError,
    ConflictError,
    LimitError,
    UnreachableError,
)
from doxa.base.limits import SNAPSHOT_BYTES_MAX
from doxa.replication.codec import (
    decode_transaction,
    encode_answers,
    encode_body,
    without_payloads,
)
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

_TABLES = """
CREATE TABLE IF NOT EXISTS tenant(name TEXT PRIMARY KEY, erased_tx INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS transaction_log(tx INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL, hash BLOB NOT NULL, body BLOB NOT NULL, answers BLOB);
CREATE TABLE IF NOT EXISTS snapshot(tx INTEGER PRIMARY KEY, hash BLOB NOT NULL, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS lease(name TEXT PRIMARY KEY, until INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS setting(name TEXT PRIMARY KEY, value NOT NULL);
CREATE TABLE IF NOT EXISTS replica(name TEXT PRIMARY KEY, tx INTEGER NOT NULL,
  scrubbed_tx INTEGER NOT NULL, time REAL NOT NULL);
CREATE TABLE IF NOT EXISTS vector(key BLOB PRIMARY KEY, data BLOB NOT NULL, made REAL NOT NULL)
  WITHOUT ROWID;
"""
_SETTINGS = ("quota_bytes", "moved_to", "arriving")
_HEAD = "SELECT tx, hash FROM transaction_log ORDER BY tx DESC LIMIT 1"
_VECTORS_KEPT_S = 86_400.0  # by then every replica that runs has them
_POLL_S = 0.01
_POLL_MOST_S = 0.1


class FolderLog:
    """The logs of a folder."""

    def __init__(self, folder: Path) -> None:
        """Raises UnreachableError if the folder cannot be made."""
        self._folder = folder
        self.users = LogUsers()
        self._local = threading.local()
        self._all: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._appended = threading.Condition()
        self._closed = False
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise self._unreachable(error) from error

    def head(self, tenant: str) -> Head:
        with self._reached(tenant) as db:
            return _head(db)

    def hash_at(self, tenant: str, tx: int) -> bytes | None:
        with self._reached(tenant) as db:
            found = db.execute("SELECT hash FROM transaction_log WHERE tx = ?", (tx,)).get
        return None if found is None else bytes(found)

    def hold(
        self,
        tenant: str,
        *,
        wait_ms: int,
        stopped: Callable[[], bool] | None = None,
        arriving: str = "",
        locked: bool = False,
    ) -> FolderHold:
        hold = self._hold(tenant, wait_ms, stopped)
        try:
            require_here(hold.info, arriving)
        except BaseException:
            hold.release()
            raise
        return hold

    def _hold(
        self, tenant: str, wait_ms: int, stopped: Callable[[], bool] | None = None
    ) -> FolderHold:
        until, pause = time.monotonic() + wait_ms / 1000, _POLL_S / 10
        with self._reached(tenant):
            # a connection of its own: the hold may end in another thread
            db = self._connect(tenant)
            while True:
                try:
                    db.execute("BEGIN IMMEDIATE")
                    return FolderHold(self, tenant, db)
                except apsw.BusyError:
                    if time.monotonic() >= until or (stopped is not None and stopped()):
                        db.close()
                        raise BusyError(
                            f"Other writers of tenant {tenant} kept the shared log busy for"
                            f" {wait_ms / 1000:.0f} s; nothing was written.",
                            next_step="Try again.",
                            tenant=tenant,
                        ) from None
                time.sleep(pause)
                pause = min(pause * 2, _POLL_S)

    def read(self, tenant: str, after: int, *, limit_bytes: int) -> list[SharedTransaction]:
        found: list[SharedTransaction] = []
        size = 0
        with self._reached(tenant) as db:
            for body, answers in db.execute(
                "SELECT body, answers FROM transaction_log WHERE tx > ? ORDER BY tx", (after,)
            ):
                if found and size + len(body) > limit_bytes:
                    break
                size += len(body)
                found.append(decode_transaction(body, answers))
        return found

    def wait(self, tenant: str, after: int, *, timeout_s: float) -> int:
        until, pause = time.monotonic() + timeout_s, _POLL_S
        while True:
            head = self.head(tenant).tx
            left = until - time.monotonic()
            if head > after or left <= 0:
                return head
            with self._appended:
                self._appended.wait(min(pause, left))
            pause = min(pause * 2, _POLL_MOST_S)

    def put_snapshot(self, tenant: str, snapshot: Snapshot) -> None:
        if len(snapshot.data) > SNAPSHOT_BYTES_MAX:
            raise large_snapshot(tenant, len(snapshot.data))
        with self._written(tenant) as db:
            known = db.execute(
                "SELECT hash FROM transaction_log WHERE tx = ?", (snapshot.head.tx,)
            ).get
            if (
                known != snapshot.head.hash
                or db.execute("SELECT erased_tx FROM tenant").get > snapshot.head.tx
            ):
                raise stale_snapshot(tenant, snapshot.head)
            db.execute("DELETE FROM snapshot")
            db.execute("INSERT INTO snapshot VALUES(?, ?, ?)", (*snapshot.head, snapshot.data))

    def newest_snapshot(self, tenant: str) -> Snapshot | None:
        with self._reached(tenant) as db:
            row: Any = db.execute(
                "SELECT tx, hash, data FROM snapshot ORDER BY tx DESC LIMIT 1"
            ).fetchone()
        return None if row is None else Snapshot(Head(row[0], row[1]), row[2])

    def take_lease(self, tenant: str, name: str, *, held: int, now: int, ttl_ns: int) -> int:
        with self._written(tenant) as db:
            until = db.execute("SELECT until FROM lease WHERE name = ?", (name,)).get
            token = next_token(until, held=held, now=now, ttl_ns=ttl_ns)
            if token is None:
                return 0
            if not token:
                db.execute("DELETE FROM lease WHERE name = ?", (name,))
            else:
                db.execute(
                    "INSERT INTO lease VALUES(?1, ?2) ON CONFLICT(name) DO UPDATE SET until = ?2",
                    (name, token),
                )
            return token

    def lease_until(self, tenant: str, name: str) -> int:
        if not self._path(tenant).exists():
            return 0
        with self._reached(tenant) as db:
            return int(db.execute("SELECT until FROM lease WHERE name = ?", (name,)).get or 0)

    def tenants(self) -> list[TenantInfo]:
        found = []
        for path in sorted(self._folder.glob("*.log.db")):
            db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                found.append(_info(db))
            finally:
                db.close()
        return sorted(found)

    # The fleet

    def info(self, tenant: str) -> TenantInfo | None:
        if not self._path(tenant).exists():
            return None
        with self._reached(tenant) as db:
            return _info(db)

    def configure(
        self,
        tenant: str,
        *,
        quota_bytes: int | None = None,
        moved_to: str | None = None,
        arriving: str | None = None,
    ) -> TenantInfo:
        given = zip(_SETTINGS, (quota_bytes, moved_to, arriving), strict=True)
        with self._written(tenant) as db:
            for name, value in given:
                if value is not None:
                    db.execute("INSERT OR REPLACE INTO setting VALUES(?, ?)", (name, value))
            return _info(db)

    def vectors(self, tenant: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        if not keys or not self._path(tenant).exists():
            return {}
        sql = "SELECT key, data FROM vector WHERE key IN carray(?)"
        with self._reached(tenant) as db:
            rows: list[Any] = db.execute(sql, (apsw.carray(tuple(keys)),)).fetchall()
        return dict(rows)

    def put_vectors(self, tenant: str, vectors: Mapping[bytes, bytes], *, read_at: int) -> bool:
        with self._written(tenant) as db:
            info = _info(db)
            if info.erased_tx > read_at or info.moved_to:
                return False
            db.execute("DELETE FROM vector WHERE made < ?", (time.time() - _VECTORS_KEPT_S,))
            rows = [(*one, time.time()) for one in vectors.items()]
            db.executemany("INSERT OR IGNORE INTO vector VALUES(?, ?, ?)", rows)
        return True

    def report(self, tenant: str, report: ReplicaReport) -> None:
        with self._written(tenant) as db:
            said = (*report[:3], time.time())
            db.execute("INSERT OR REPLACE INTO replica VALUES(?, ?, ?, ?)", said)

    def reports(self, tenant: str) -> list[ReplicaReport]:
        with self._reached(tenant) as db:
            rows: list[Any] = db.execute("SELECT * FROM replica ORDER BY name").fetchall()
        return [
            ReplicaReport(name, tx, scrubbed_tx, max(0.0, time.time() - said))
            for name, tx, scrubbed_tx, said in rows
        ]

    def withdraw(self, tenant: str, name: str) -> None:
        with self._written(tenant) as db:
            db.execute("DELETE FROM replica WHERE name = ?", (name,))

    def drop(self, tenant: str) -> None:
        with self._written(tenant) as db:
            if not _info(db).moved_to:
                raise has_not_moved(tenant)
            for table in ("transaction_log", "snapshot", "lease", "replica", "vector"):
                db.execute(f"DELETE FROM {table}")

    def close(self) -> None:
        if not self.users.leave():
            return
        self._closed = True
        with self._lock:
            for db in self._all:
                db.close()
            self._all.clear()

    # Inside

    def _path(self, tenant: str) -> Path:
        name = hashlib.sha256(check_tenant(tenant).encode()).hexdigest()[:32]
        return self._folder / f"{name}.log.db"

    def _connect(self, tenant: str) -> apsw.Connection:
        db = apsw.Connection(str(self._path(tenant)))
        db.set_busy_timeout(0)
        for _ in range(1_000):  # several processes may make the file at once
            try:
                db.execute(
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA secure_delete=1"
                )
                if db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'vector'").get == 0:
                    db.execute("BEGIN IMMEDIATE;" + _TABLES)
                    db.execute("INSERT OR IGNORE INTO tenant(name) VALUES(?)", (tenant,))
                    db.execute("COMMIT")
                return db
            except apsw.BusyError:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                time.sleep(_POLL_S)
        raise apsw.BusyError(f"the log of {tenant} is busy")

    @contextmanager
    def _reached(self, tenant: str) -> Iterator[apsw.Connection]:
        """Give the connection of this thread; what the disk refuses is UnreachableError."""
        if self._closed:
            raise ClosedError("This log is closed.", next_step="Open the memory again.")
        known: dict[str, apsw.Connection] = self._local.__dict__.setdefault("known", {})
        try:
            if tenant not in known:
                known[tenant] = self._connect(tenant)
                with self._lock:
                    self._all.append(known[tenant])
            yield known[tenant]
        except (apsw.CantOpenError, apsw.IOError, apsw.ReadOnlyError, apsw.NotADBError) as error:
            raise self._unreachable(error) from error

    @contextmanager
    def _written(self, tenant: str) -> Iterator[apsw.Connection]:
        with self._hold(tenant, 10_000) as hold:
            yield hold.db
            hold.commit()

    def _unreachable(self, error: Exception) -> UnreachableError:
        return UnreachableError(
            f"The shared log in {self._folder} cannot be used: {error}.",
            next_step="Check the folder, then repeat the call; reads of the replica go on.",
        )

    def notify(self) -> None:
        with self._appended:
            self._appended.notify_all()


class FolderHold:
    """`BEGIN IMMEDIATE` on the file of a tenant."""

    def __init__(self, log: FolderLog, tenant: str, db: apsw.Connection) -> None:
        self.db = db
        self.info = _info(db)
        self.head = self.info.head
        self._log, self._tenant = log, tenant
        self._ended = threading.Lock()

    def append(self, transactions: Sequence[SharedTransaction]) -> None:
        continues(self.head, transactions, self._tenant)
        db, bodies = self.db, [encode_body(one) for one in transactions]
        require_room(self.info, transactions, sum(map(len, bodies)))
        for one, body in zip(transactions, bodies, strict=True):
            kept = encode_answers(one)
            db.execute(
                "INSERT INTO transaction_log VALUES(?, ?, ?, ?, ?, ?)",
                (one.tx, one.first_seq, one.receipt[7], one.receipt[11], body, kept),
            )
            if one.erased:
                self._erase(one)
        self.commit()
        self._log.notify()

    def _erase(self, one: SharedTransaction) -> None:
        db, gone = self.db, frozenset(one.erased)
        rows: list[Any] = db.execute(
            "SELECT tx, body FROM transaction_log WHERE first_seq <= ? AND last_seq >= ?",
            (max(gone), min(gone)),
        ).fetchall()
        for tx, body in rows:
            left = without_payloads(body, gone)
            if left != body:
                db.execute("UPDATE transaction_log SET body = ? WHERE tx = ?", (left, tx))
        db.execute("UPDATE transaction_log SET answers = NULL WHERE answers IS NOT NULL")
        db.execute("DELETE FROM vector")
        db.execute("UPDATE tenant SET erased_tx = ?", (one.tx,))
        db.execute("DELETE FROM snapshot")

    def configure(self, *, moved_to: str) -> None:
        """Say where the tenant is from here on; ends the hold."""
        self.db.execute("INSERT OR REPLACE INTO setting VALUES('moved_to', ?)", (moved_to,))
        self.commit()

    def commit(self) -> None:
        self.db.execute("COMMIT")
        self.release()

    def release(self) -> None:
        if self._ended.acquire(blocking=False):
            with suppress(apsw.Error):
                if self.db.in_transaction:
                    self.db.execute("ROLLBACK")
            self.db.close()

    def __enter__(self) -> FolderHold:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def _head(db: apsw.Connection) -> Head:
    row: Any = db.execute(_HEAD).fetchone()
    return START if row is None else Head(row[0], row[1])


def _info(db: apsw.Connection) -> TenantInfo:
    row: Any = db.execute(
        "SELECT name, erased_tx, (SELECT coalesce(sum(length(body)), 0) FROM transaction_log),"
        " (SELECT coalesce(max(tx), 0) FROM snapshot) FROM tenant"
    ).fetchone()
    held: dict[Any, Any] = dict(db.execute("SELECT name, value FROM setting"))
    quota, moved_to, arriving = (held.get(name, "") for name in _SETTINGS)
    return TenantInfo(row[0], _head(db), row[2], quota or 0, moved_to, arriving, row[1], row[3])


def next_token(until: int | None, *, held: int, now: int, ttl_ns: int) -> int | None:
    """Return the token that a lease has next: 0 if it is given back, None if nothing changes,
    because somebody else has it or there was none to give back."""
    mine = until is not None and until == held
    if mine and not ttl_ns:
        return 0
    if ttl_ns and (mine or (not held and (until is None or until <= now))):
        return max(now + ttl_ns, (until or 0) + 1)  # a token is never given twice
    return None


def stale_snapshot(tenant: str, head: Head) -> ConflictError:
    """Return the error for a snapshot that is not of the log, or of before an erasure."""
    return ConflictError(
        f"A snapshot at transaction {head.tx} is not one of the log of tenant {tenant}, or content"
        " was erased since.",
        next_step="Make the snapshot again from a replica that has caught up.",
        tenant=tenant,
        change=head.tx,
    )


def large_snapshot(tenant: str, size: int) -> LimitError:
    """Return the error for a snapshot beyond the limit."""
    return LimitError(
        f"A snapshot of tenant {tenant} has {size:,} bytes; up to {SNAPSHOT_BYTES_MAX:,} are kept.",
        next_step="New replicas read the log instead.",
        tenant=tenant,
        bytes_max=SNAPSHOT_BYTES_MAX,
    )
