"""A replica: a local file that applies a shared log, and whose writes go through it.

    begin    take the right to append at the engine, and bring the file to its head
    commit   append what the transaction logged; then the file commits (store/store.py)

A write is acknowledged when the engine has it. A process that dies between the two commits loses
nothing: the file catches up when it is opened again. Reads never leave the machine, unless they ask
for the latest state.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

from doxa.base.errors import BusyError, ConflictError, DoxaError, InputError, UnreachableError
from doxa.base.limits import BUSY_TIMEOUT_MS, REPLICA_FETCH_BYTES_MAX
from doxa.base.run_slot import leave_run_slot, use_any_processor
from doxa.replication.following import apply_transactions, diverged, local_head
from doxa.replication.protocol import (
    AppendHold,
    FleetLog,
    Head,
    SharedEntry,
    SharedLog,
    SharedTransaction,
    TenantInfo,
    check_tenant,
)
from doxa.replication.upkeep import ReplicaUpkeep
from doxa.store import Store, Transaction
from doxa.store.file.scrub import marked
from doxa.store.stream.tokens import wait_for

LEVELS = ("local", "session", "latest")
_SLICE_S = 0.05
_WAIT_S = 5.0
_ARRIVING_S = 5.0
_ANSWER = (
    "SELECT key, expires, salt, request, answer FROM main.idempotency_key WHERE key = ? AND tx = ?"
)
_RETRY_S, _RETRY_MOST_S = 0.1, 5.0


class ReplicaStatus(NamedTuple):
    """How far a replica is. `behind` counts transactions that the engine is known to have and the
    file has not; `age_s` is the time since the engine was last heard of, None if never."""

    tenant: str
    tx: int
    head_tx: int
    behind: int
    reachable: bool
    age_s: float | None
    problem: str


class Replica:
    """The link of one store with one tenant of a shared log. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        log: SharedLog,
        tenant: str,
        *,
        level: str = "session",
        now: Callable[[], float] = time.monotonic,
        reopen: Callable[[str], SharedLog] | None = None,
    ) -> None:
        """`level`: what a read asks for if it does not say: `local` and `session` read the file as
        it is, which has all that was written through it; `latest` asks the engine first.
        `reopen` opens the engine that a tenant moved to."""
        self.store, self.log, self.tenant = store, log, check_tenant(tenant)
        self.level = check_level(level)
        self._now = now
        self._moving = threading.Lock()
        self._left: list[SharedLog] = []  # engines that the tenant moved away from
        self._turns = threading.Lock()  # one thread of this process waits at the engine
        self._applying = threading.Lock()
        self._local = threading.local()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._head = 0
        self._heard: float | None = None
        self._problem = ""
        self._reopen = reopen
        self.upkeep = ReplicaUpkeep(store, self.tenant)
        # what the machine loses in a power cut, the next opening applies again
        store._engine.synchronous = "NORMAL"
        store.connection().pragma("synchronous", "NORMAL")
        store.shared = self

    # Catching up

    def catch_up(self) -> Head:
        """Apply all that the engine has. Raises UnreachableError, and CorruptError if the file is
        not a replica of it."""
        with self._applying, self._heard_of():
            head = self._catch_up()
        with suppress(DoxaError):  # what it says of itself may come later
            log = self.log
            self._follow_move(log, self.upkeep.report_if_due(log))
        return head

    def _catch_up(self) -> Head:
        head = local_head(self.store)
        if not head.tx:
            self._has_moved()
        if head.tx and self.log.hash_at(self.tenant, head.tx) != head.hash:
            there = self.log.hash_at(self.tenant, head.tx) if self._has_moved() else None
            if there != head.hash:
                raise diverged(self.tenant, head.tx)
        head = apply_transactions(self.store, self.tenant, self._runs(head.tx))
        self._head = max(self._head, head.tx)
        return head

    def _runs(self, after: int) -> Iterator[list[SharedTransaction]]:
        while True:
            run = self.log.read(self.tenant, after, limit_bytes=REPLICA_FETCH_BYTES_MAX)
            if not run:
                return
            after = run[-1].tx
            self.upkeep.pending |= any(one.erased for one in run)
            yield run

    def _has_moved(self) -> bool:
        """Go to the engine that has the tenant now, if it has moved."""
        log = self.log
        return isinstance(log, FleetLog) and self._follow_move(log, log.info(self.tenant))

    def _follow_move(self, log: SharedLog, info: TenantInfo | None) -> bool:
        """Go where an engine says that the tenant is."""
        if info is None or not info.moved_to or self._reopen is None:
            return False
        with self._moving:
            if self.log is log:
                self.log = self._reopen(info.moved_to)
                self._left.append(log)
                self.upkeep.pending = True
        return True

    @contextmanager
    def _heard_of(self) -> Iterator[None]:
        """Note in the block whether the engine answers."""
        try:
            yield
        except UnreachableError as error:
            self._problem = error.message
            raise
        self._heard, self._problem = self._now(), ""
        self.upkeep.heard()

    def wait_for(self, token: str, *, timeout_s: float) -> Head:
        """Wait until the file has the transaction of a token, `tx@hash`, that any server of the
        tenant gave. Raises BusyError after the time, InputError for a token of another log."""
        with self.reading("local"):
            wait_for(self.store, token, timeout_s=timeout_s)
        return local_head(self.store)

    def reach(self, tx: int, timeout_s: float) -> bool:
        before = local_head(self.store).tx
        if before < tx:
            wait_s = min(timeout_s, _WAIT_S)
            with self._heard_of():
                self._head = max(self._head, self.log.wait(self.tenant, tx - 1, timeout_s=wait_s))
        return self.catch_up().tx > before

    # What the store asks (store/stream/shared_writes.py)

    def begin(self, stopped: Callable[[], bool] | None) -> ReplicaTurn:
        self._take_turn(stopped)
        try:
            with self._heard_of():
                hold = self._hold(stopped)
        except BaseException:
            self._turns.release()
            raise
        turn = ReplicaTurn(self, hold)
        try:
            self._head = max(self._head, hold.head.tx)
            with self._applying:
                if local_head(self.store) != hold.head:
                    with self._heard_of():
                        self._catch_up()
        except BaseException:
            turn.end()
            raise
        return turn

    def _hold(self, stopped: Callable[[], bool] | None) -> AppendHold:
        until = time.monotonic() + _ARRIVING_S
        while True:
            try:
                return self.log.hold(self.tenant, wait_ms=BUSY_TIMEOUT_MS, stopped=stopped)
            except ConflictError as error:
                if "arriving" in error.fields and time.monotonic() < until:
                    time.sleep(_SLICE_S)  # the end of a move, after the old engine let go
                elif "moved_to" not in error.fields or not self._has_moved():
                    raise

    def _take_turn(self, stopped: Callable[[], bool] | None) -> None:
        until = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        leave_run_slot()
        while not self._turns.acquire(timeout=_SLICE_S if stopped else BUSY_TIMEOUT_MS / 1000):
            if time.monotonic() >= until or (stopped is not None and stopped()):
                raise BusyError(
                    f"Other writers of this server kept tenant {self.tenant} busy; nothing was"
                    " written.",
                    next_step="Try again.",
                    tenant=self.tenant,
                )

    def before_read(self) -> None:
        if getattr(self._local, "level", self.level) == "latest" and not self.store.read_only:
            self.catch_up()

    def take_lease(self, name: str, *, held: int, ttl_ns: int) -> int:
        with self._heard_of():
            return self.log.take_lease(
                self.tenant, name, held=held, now=self.store.clock.now_ns(), ttl_ns=ttl_ns
            )

    def lease_until(self, name: str) -> int:
        if self._problem:  # it was away a moment ago: who only reads does not wait to find out
            raise UnreachableError(self._problem, next_step="Try again.", tenant=self.tenant)
        with self._heard_of():
            return self.log.lease_until(self.tenant, name)

    @contextmanager
    def reading(self, level: str) -> Iterator[None]:
        before = getattr(self._local, "level", self.level)
        self._local.level = check_level(level)
        try:
            yield
        finally:
            self._local.level = before

    # Following

    def start(self) -> None:
        """Follow the log in the background."""
        self._thread = threading.Thread(target=self._run, name="doxa-replica", daemon=True)
        use_any_processor()
        self._thread.start()

    def stop_following(self) -> None:
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_WAIT_S * 2)

    def stop(self) -> None:
        """Stop following, and let the engine go."""
        self.stop_following()
        self.upkeep.last_words(self.log)
        self.log.close()
        for log in self._left:
            log.close()

    def _run(self) -> None:
        pause = _RETRY_S
        while not self._stopping.is_set():
            try:
                tx = local_head(self.store).tx
                with self._heard_of():
                    head = self.log.wait(self.tenant, tx, timeout_s=0.5)
                self._head = max(self._head, head)
                if head > tx:
                    self.catch_up()
                log = self.log
                info = self.upkeep.report_if_due(log)
                if not self._follow_move(log, info):
                    self.upkeep.snapshot_if_due(log, info)
                pause = _RETRY_S
            except DoxaError as error:
                self._problem = error.message
                self._stopping.wait(pause)
                pause = min(pause * 2, _RETRY_MOST_S)

    @property
    def status(self) -> ReplicaStatus:
        tx = local_head(self.store).tx
        head = max(self._head, tx)
        age = self.upkeep.heard_age_s() if self._heard is None else self._now() - self._heard
        return ReplicaStatus(
            self.tenant, tx, head, head - tx, not self._problem, age, self._problem
        )


class ReplicaTurn:
    """The right to append, and the turn in this process."""

    def __init__(self, replica: Replica, hold: AppendHold) -> None:
        self._replica, self._hold = replica, hold
        self._ends = [hold.release, replica._turns.release]

    def commit(self, tx: Transaction) -> None:
        with self._replica._heard_of():
            one = transaction_of(tx)
            self._hold.append([one])
        if one.erased:
            self._replica.upkeep.pending = True
        self._replica._head = max(self._replica._head, one.tx)

    def end(self) -> None:
        while self._ends:
            try:
                end = self._ends.pop(0)
            except IndexError:
                return
            end()


def transaction_of(tx: Transaction) -> SharedTransaction:
    """Return a finished transaction as the shared log has it."""
    db, made = tx._db, tx.receipt_made
    assert made is not None
    erased: tuple[int, ...] = ()
    retained = None
    if marked(db) == tx.tx:
        gone: list[Any] = db.execute(
            "SELECT l.seq FROM main.log l LEFT JOIN main.log_payload p ON p.seq = l.seq WHERE p.seq"
            " IS NULL"
        ).fetchall()
        erased = tuple(row[0] for row in gone)
        retained = db.execute("SELECT value FROM main.meta WHERE key = 'retained'").get
    answers: tuple[tuple[Any, ...], ...] = ()
    if tx.call_key is not None:
        answers = tuple(db.execute(_ANSWER, (tx.call_key, tx.tx)).fetchall())
    found = next(read_transactions(tx._db, tx.tx, tx.tx))
    progress = () if tx.load_progress is None else (tx.load_progress,)
    return found._replace(erased=erased, retained=retained, answers=answers, progress=progress)


def read_transactions(db: Any, first: int, last: int) -> Iterator[SharedTransaction]:
    """Yield transactions of a file as the shared log has them."""
    receipts = db.execute(
        "SELECT * FROM main.receipt WHERE tx BETWEEN ? AND ? ORDER BY tx", (first, last)
    ).fetchall()
    for receipt in receipts:
        rows = db.execute(
            "SELECT l.op, l.element, p.salt, p.payload, l.payload_hash FROM main.log l LEFT JOIN"
            " main.log_payload p ON p.seq = l.seq WHERE l.seq BETWEEN ? AND ? ORDER BY l.seq",
            (receipt[6], receipt[7]),
        )
        entries = tuple(
            SharedEntry(op, element, salt, payload, None if payload is not None else payload_hash)
            for op, element, salt, payload, payload_hash in rows
        )
        yield SharedTransaction(tuple(receipt), entries)


def check_level(level: str) -> str:
    """Raise InputError for a level of reading that there is not."""
    if level not in LEVELS:
        raise InputError(
            f"{level!r:.40} is not a level of reading.",
            next_step=f"Use {', '.join(LEVELS)}.",
            field="level",
        )
    return level
