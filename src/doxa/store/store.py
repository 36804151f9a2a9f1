"""The store: one file, opened, migrated, read on snapshots, written by transactions, checked
against its own log.

with store.read() as snapshot: ...                       reads, all of one moment
with store.write(identity, op="revise") as tx: ...       the only writes; sealed by one receipt
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from doxa.base.clock import Clock, SystemClock
from doxa.base.errors import BusyError, DoxaError, StoreError, UnreachableError
from doxa.base.ids import NodeId, Role
from doxa.base.limits import ACCESS_NOTED_ITEMS_MAX, ACCESS_WAITING_ITEMS_MAX
from doxa.base.run_slot import resume_run_slot
from doxa.base.values import canonical
from doxa.base.words import ANALYSER
from doxa.store.chain.epochs import begin_epoch, copy_mark
from doxa.store.declared import Declared, declared
from doxa.store.file.damage import damage_reported
from doxa.store.file.engine import Engine, make_private, translated, usable_path
from doxa.store.file.file_copy import copy_whole, discard, holds_nothing
from doxa.store.file.scrub import left_over, marked, scrub
from doxa.store.idempotency.keys import KeyedCall
from doxa.store.image.images import Images, ImageView
from doxa.store.indexing.search_rows import (
    analyser_of,
    compact,
    rules_of,
)
from doxa.store.indexing.search_texts import SearchRule
from doxa.store.locking.group import WriterTurn
from doxa.store.locking.require_free import require_free
from doxa.store.log_writer import LogWriter, read_start
from doxa.store.migration.migrate import prepare
from doxa.store.migration.schema import MIGRATIONS
from doxa.store.reader import WATCH_STEPS, Reader, few_rows
from doxa.store.retention.copies import note_copy
from doxa.store.rows import Identity
from doxa.store.scope.binding import ProjectBinding
from doxa.store.stream.commit_signal import CommitSignal
from doxa.store.stream.cursors import save_cursor
from doxa.store.stream.leases import take_lease
from doxa.store.stream.shared_writes import SharedTurn, SharedWrites
from doxa.store.transaction import Transaction
from doxa.store.visibility.access import ACCESSES, AccessBuffer, AccessRecord
from doxa.store.visibility.evaluator import Expressions
from doxa.store.visibility.window_writer import swept

_LAST_NOTES_S = 1.0  # how long a store that is closed waits to write its notes of accesses
_LAST_TRANSACTION = "SELECT tx FROM receipt ORDER BY tx DESC LIMIT 1"


class Store:
    """One database file. Open with Store(path); close it, or use it as a context manager. Safe to
    share between threads."""

    binding: ProjectBinding | None = None  # the projects that it reads and writes; None: all
    images: Images | None = None  # arrays derived from what is there now; None: none are kept
    _copied = ""  # why the file was copied, if it is a copy that nobody has written to

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock | None = None,
        read_only: bool = False,
        migrations: Sequence[tuple[str, str]] = MIGRATIONS,
        expressions: Expressions | None = None,
        decay_enabled: bool = True,
        check_before_commit: Callable[[Transaction], None] | None = None,
        image_bytes_max: int = 0,
    ) -> None:
        """`expressions` compiles what promotion policies say; without `decay_enabled` policies are
        kept, but nothing is hidden or counted. `check_before_commit` is called at the end of each
        transaction that changed what is live or what depends on what. `image_bytes_max` bounds the
        arrays that wide reads use; 0: there are none."""
        self.path = usable_path(path)
        self.clock: Clock = clock or SystemClock()
        self.read_only = read_only
        self.decay_enabled = decay_enabled
        self._expressions = expressions
        self._check_before_commit = check_before_commit
        self.accesses = AccessBuffer()
        self.commits = CommitSignal()  # of this process, through this store
        self.on_due: Callable[[bool], None] = lambda urgent: (
            None
        )  # called when accesses wait to be written, or windows to follow
        # called after an erasure, to reach what lies next to the file; returns what is left, or ""
        self.on_scrub: Callable[[], str] = str
        self.shared: SharedWrites | None = None  # set if other servers write to the same log
        self.images = Images(image_bytes_max) if image_bytes_max else None
        self._engine = Engine(self.path, read_only=read_only)
        self._catalogue_version = -1
        self._declared = declared({})
        self._known: dict[int, Declared] = {}
        self._local = threading.local()
        self._flushing = (
            threading.Lock()
        )  # one flush at a time, so that accesses are written in their order
        made = not read_only and make_private(self.path)
        try:
            with damage_reported(self.path, "its tables"):
                db = self._engine.connection()
            with damage_reported(self.path, "its tables", db):
                prepare(
                    db,
                    self.path,
                    migrations,
                    read_only=read_only,
                    clock=self.clock,
                    backup=self.backup,
                )
        except BaseException:
            empty = made and holds_nothing(self.path, self._engine.opened)
            self._engine.close()
            if empty:
                discard(self.path)
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connection(self) -> apsw.Connection:
        """Return the connection of this thread, for measuring and for tests. Writes go through
        `write`."""
        return self._engine.connection()

    def require_open(self) -> None:
        """Raise ClosedError after close."""
        self._engine.connection()

    def require_in_place(self) -> None:
        """Raise StoreError if the file was moved, removed or replaced since it was opened."""
        self._engine.require_in_place()

    def close(self) -> None:
        """Close every connection; what an erasure left to do is tried once more, without waiting.
        Safe to call twice."""
        if self._engine.closed:
            self._engine.close()  # by another thread, which may be at it
            return
        if not self.read_only and not self._engine.is_inherited:
            self._flush_last()
            with suppress(
                apsw.Error, DoxaError
            ):  # a damaged or busy file can be closed all the same
                db = self._engine.connection()
                if not db.in_transaction and marked(db) is not None:
                    scrub(db, wait_ms=0)
        if self.images is not None:
            self.images.clear()
        self._engine.close()

    def _flush_last(self) -> None:
        """Write what was noted and not yet written; the file is closed in any case. Notes wait for
        no engine, and not for long for another writer."""
        until = time.monotonic() + _LAST_NOTES_S
        try:
            with (
                self._flushing
            ):  # one that another thread is at has its notes: they are written, or put back
                pass
            self.flush_accesses(stopped=lambda: time.monotonic() > until)
        except (UnreachableError, BusyError):
            pass
        except Exception:
            self._engine.close()
            raise

    # Reading and writing

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """Open a snapshot: nothing that commits meanwhile is seen. Nested reads of a thread share
        the outer snapshot."""
        db = self._engine.connection()
        with translated(self.path, db):
            if db.in_transaction:
                yield self._reader(
                    db, self._engine.moment.now, getattr(self._local, "entries", None)
                )
                return
            if self.shared is not None:
                self.shared.before_read()
            db.execute("BEGIN")
            try:
                reader = self._reader(db, self.clock.now_ns())
                self._judging(db, reader)
                if self.images is not None:
                    reader.image = ImageView(self.images, db)
                yield reader
                self._engine.note_known(db, reader.known_declared)
            finally:
                if not self._engine.closed and db.in_transaction:
                    db.execute("COMMIT")

    def known_declared(self) -> Declared | None:
        """Return what the catalogue declared when this thread last read; None if it has not, or is
        in a transaction. `rows_once` tells whether that is so still."""
        db = self._engine.connection()
        known = self._engine.moment_of(db).known
        return None if known is None or db.in_transaction else known[0]

    def rows_once(
        self, sql: str, args: Sequence[Any], *, stopped: Callable[[], bool]
    ) -> tuple[list[tuple[Any, ...]] | None, bool]:
        """Run one statement, a snapshot by itself, after `known_declared`. Returns its rows, None
        if these are many, and whether the catalogue of that snapshot is known to be the one that
        was read. `stopped` is asked now and then, and may end it with `Interrupted`."""
        db = self._engine.connection()
        try:
            if self.shared is not None:
                self.shared.before_read()
            db.set_progress_handler(stopped, WATCH_STEPS)
            try:
                found = few_rows(db.execute(sql, args))
            finally:
                db.set_progress_handler(None)
            return found, self._engine.is_known(db)
        except apsw.Error:
            with translated(self.path, db):
                raise

    def last_transaction(self) -> int:
        """Return the number of the last transaction that is committed, 0 before the first."""
        with translated(self.path):
            found = self._engine.connection().execute(_LAST_TRANSACTION).get
        return int(found or 0)

    def last_transaction_read(self) -> int:
        """Return the number of the last transaction that this thread has seen so far, or of a later
        one. It is looked up if the last statement saw another state of the file than at the last
        time."""
        db = self._engine.connection()
        moment = self._engine.moment_of(db)
        if moment.last[0] != db.data_version():
            found = self.last_transaction()
            moment.last = db.data_version(), found  # the state that the lookup saw
        return max(moment.last[1], getattr(self._local, "seen", 0))

    def _note_seen(self, tx: Transaction) -> None:
        """Note for this thread what a transaction saw, which may have been on the connection of
        another. One that is bound to projects does not see how many there are."""
        if tx.receipt_made is not None:
            self._local.seen = tx.receipt_made.tx
        elif self.binding is None:
            self._local.seen = tx.tx - 1

    def _reader(self, db: apsw.Connection, now: int, pending: LogWriter | None = None) -> Reader:
        return Reader(
            db,
            now=now,
            known=self._known,
            pending=pending,
            expressions=self._expressions,
            neutral=not self.decay_enabled,
            leases=self._leases(),
        )

    def _leases(self) -> Callable[[str], int] | None:
        return None if self.shared is None else self.shared.lease_until

    def _judging(self, db: apsw.Connection, reader: Reader) -> None:
        """From here on the SQL of this connection judges visibility at the time of this reader,
        and by its rules."""
        moment = self._engine.moment_of(db)
        moment.now, moment.seen, moment.shown = reader.scored_at, reader.is_seen, reader.shown_of

    @property
    def has_writer(self) -> bool:
        """Whether a transaction of this process writes or waits for its turn, so that one that
        begins now would wait, too."""
        return self._engine.has_writer

    def write(
        self,
        identity: Identity,
        *,
        op: str,
        note: str = "",
        stopped: Callable[[], bool] | None = None,
        scored_at: int | None = None,
        rights: Role | None = None,
        by_hand: bool = False,
        not_before: int = 0,
        run: NodeId | None = None,
        counted: bool | None = None,
        shares: bool = False,
    ) -> AbstractContextManager[Transaction]:
        """Open a transaction, durable when the block ends, absent when it raises. Waits for other
        writers up to the busy limit, or until `stopped` says yes: BusyError. `scored_at`: the time
        by which policies judge in it, if it goes on where a read began. `rights`: a role below the
        identity's, by which guards judge. `by_hand`: a query runs; what joins it is an operation.
        `not_before`: the earliest time that it may have, in ns. `run`: the node of the run of a
        job that writes; the role `background` writes in no other way. `counted`: whether the quota
        of the file may refuse it; None: unless the system writes. `shares`: it is brief, and may
        become durable together with others that wait.
        """
        joined: Transaction | None = getattr(self._local, "joined", None)
        keyed: KeyedCall | None = getattr(self._local, "keyed", None)
        if joined is None and keyed is not None:
            joined = keyed.open(identity, op, note)
        if joined is not None:
            joined.require_run(run)
            return joined.part()
        return self._transaction(
            identity,
            op=op,
            note=note,
            stopped=stopped,
            scored_at=scored_at,
            rights=rights,
            by_hand=by_hand,
            not_before=not_before,
            run=run,
            counted=counted,
            shares=shares,
        )

    @contextmanager
    def _transaction(
        self,
        identity: Identity,
        *,
        op: str,
        note: str = "",
        stopped: Callable[[], bool] | None = None,
        scored_at: int | None = None,
        rights: Role | None = None,
        by_hand: bool = False,
        not_before: int = 0,
        run: NodeId | None = None,
        counted: bool | None = None,
        shares: bool = False,
    ) -> Iterator[Transaction]:
        db = self._engine.connection()
        require_free(db, identity, run)
        with translated(self.path, db) as errors:
            turn, shared = self._begin(db, stopped, shares)
            db = errors.db = turn.db
            tx: Transaction | None = None
            try:
                version, tail = read_start(db)
                if version != self._catalogue_version:
                    self._load_catalogue(db, version)
                tx = Transaction(
                    db,
                    clock_ns=max(self.clock.now_ns(), not_before),
                    tail=tail,
                    identity=identity,
                    op=op,
                    note=note,
                    rules=self._declared,
                    expressions=self._expressions,
                    neutral=not self.decay_enabled,
                    check_before_commit=self._check_before_commit,
                    rights=rights,
                    by_hand=by_hand,
                    counted=counted,
                    leases=self._leases(),
                )
                tx.turn = turn
                if shared is not None:
                    tx.on_expired = shared.end
                tx.binding = self.binding
                self._local.entries = tx.entries
                if self._copied and copy_mark(db):  # a member of the group may have
                    begin_epoch(tx, self._copied)
                tx.scored_at = tx.now if scored_at is None else scored_at
                self._judging(db, tx)
                tx.begin_run(run)
                yield tx
                self._commit(tx, db, shared)
            except BaseException as error:
                turn.rollback(error)
                self._engine.end()
                if tx is not None:
                    self._hand_on(tx.notes_of_what_was_there())
                raise
            finally:
                self._local.entries = None
                self._engine.end()
                if shared is not None:
                    shared.end()
                if tx is not None:
                    tx.let_go(self._engine.opened or db)
            resume_run_slot()

    def _begin(
        self, db: apsw.Connection, stopped: Callable[[], bool] | None, shares: bool
    ) -> tuple[WriterTurn, SharedTurn | None]:
        """Begin a transaction of this file, after that of the shared log if there is one. What is
        committed there is not committed with others here."""
        if self.shared is None:
            return self._engine.begin(db, stopped, shares=shares), None
        shared = self.shared.begin(stopped)
        try:
            return self._engine.begin(db, stopped), shared
        except BaseException:
            shared.end()
            raise

    def _commit(
        self, tx: Transaction, db: apsw.Connection, shared: SharedTurn | None = None
    ) -> None:
        tx.require_not_expired()
        tx.finish()
        in_log = False
        if shared is not None and tx.receipt_made is not None:
            self._engine.require_in_place()  # what the log has is written, wherever this file is
            shared.commit(tx)
            in_log = True
        if tx.catalogue_changed:
            db.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
        assert tx.turn is not None
        tx.turn.commit(alone=tx.catalogue_changed, checked=in_log)
        self._copied = ""
        self._note_seen(tx)
        self.commits.notify(tx.tx)
        if tx.left_to_sweep:
            self.on_due(True)
        self._hand_on(tx.noted)

    @property
    def is_joined(self) -> bool:
        """Whether writes of this thread are parts of a larger transaction."""
        return any(getattr(self._local, name, None) for name in ("joined", "keyed"))

    @contextmanager
    def joined(self, reader: Reader) -> Iterator[None]:
        """Make writes of this thread part of transaction `reader`, if it is one, in the block."""
        before = getattr(self._local, "joined", None)
        self._local.joined = reader if isinstance(reader, Transaction) else None
        try:
            yield
        finally:
            self._local.joined = before

    @contextmanager
    def keyed(self, call: KeyedCall) -> Iterator[KeyedCall]:
        """Make all writes of this thread one transaction in the block: that of a call under an
        idempotency key. It begins with the first write, which raises Repeated if the call was
        carried out before. `KeyedCall.keep` belongs at the end of the block."""
        before: Transaction | None = getattr(self._local, "joined", None)
        with ExitStack() as stack:

            def begin(identity: Identity, op: str, note: str) -> Transaction:
                tx = stack.enter_context(self._transaction(identity, op=op, note=note))
                self._local.joined = tx
                call.begin(tx)
                return tx

            call.open = begin
            if before is not None:
                call.begin(before)
            self._local.keyed = call
            try:
                yield call
            finally:
                self._local.keyed, self._local.joined = None, before

    def _hand_on(self, notes: list[AccessRecord]) -> None:
        """Notes of a transaction that has ended. Those of an id that it gave and took back would be
        of whatever has the id next."""
        for noted in notes:
            self.note(noted)
        notes.clear()

    # Cursors of consumers, leases of jobs

    def take_lease(self, name: str, *, held: int, ttl_ns: int) -> int:
        """Take, renew or give back (`ttl_ns` 0) the lease of a job; see stream/leases.py. Returns
        the token to hold, 0 if somebody else has it."""
        if self.shared is not None:
            return self.shared.take_lease(name, held=held, ttl_ns=ttl_ns)
        return take_lease(self._engine, name, held=held, now=self.clock.now_ns(), ttl_ns=ttl_ns)

    def save_cursor(self, key: str, seq: int | None, *, back: bool = False) -> None:
        """Keep how far a consumer of the log has come; None removes the cursor. It only moves
        forward unless `back` is set. Not logged (stream/cursors.py)."""
        save_cursor(self._engine, key, seq, back=back)

    # Accesses and sweeps

    def note(self, noted: AccessRecord) -> None:
        """Remember that elements were returned, for the next flush. Costs a read nothing but an
        append."""
        size = noted.size
        if self.read_only or not self.decay_enabled or not size:
            return
        waiting = self.accesses.note(noted, size)
        if waiting >= ACCESS_WAITING_ITEMS_MAX and not self._engine.connection().in_transaction:
            self.flush_accesses()  # who reads faster than can be written waits here
        elif waiting == size or waiting >= ACCESS_NOTED_ITEMS_MAX:
            self.on_due(waiting >= ACCESS_NOTED_ITEMS_MAX)

    def returned(
        self, reader: Reader, krefs: Sequence[str], context: Mapping[str, Any] | None
    ) -> None:
        """Record the accesses to what a verb returned, by its addresses. `context` is known to
        policies as $_name; None: nothing is recorded."""
        evaluator = reader.declared().evaluator
        if (
            self.read_only
            or not self.decay_enabled
            or not evaluator.rules.any
            or not krefs
            or context is None
        ):
            return
        rows = reader.rows(
            "SELECT id FROM node WHERE kref IN (SELECT value FROM json_each(?))",
            (canonical(list(krefs)).decode(),),
        )
        given = {f"_{name}": value for name, value in context.items() if value is not None}
        self.note(AccessRecord(reader.now, given, ([row[0] for row in rows],)))

    def flush_accesses(self, *, stopped: Callable[[], bool] | None = None) -> int:
        """Write what was noted, as one transaction. Returns how many elements it was about. A
        failure keeps the notes for the next flush; `stopped` ends the wait for other writers."""
        if not self.accesses.size or self._engine.connection().in_transaction:
            return 0
        with self._flushing:
            notes = self.accesses.take()
            try:
                with self.write(Identity("doxa", "system"), op=ACCESSES, stopped=stopped) as tx:
                    return tx.record(notes)
            except BaseException:
                self.accesses.put_back(notes)
                raise

    def sweep(self) -> bool:
        """Update the next windows after a change of policies. False when none is left."""
        with self.read() as reader:
            if not reader.swept():
                return False
        with self.write(Identity("doxa", "system"), op="sweep") as tx:
            return tx.sweep()

    def _load_catalogue(self, db: apsw.Connection, version: int) -> None:
        if analyser_of(db) != ANALYSER:
            raise StoreError(
                f"The index of {self.path} was rebuilt by another version of doxa"
                f" ({analyser_of(db)}; this one has {ANALYSER}).",
                next_step="Use one version of doxa on a file, and open it again.",
                path=self.path,
            )
        catalogue = Reader(db, now=0).catalogue_all()
        self._declared = declared(catalogue, self._expressions, swept(db))
        self._catalogue_version, self._copied = version, copy_mark(db)

    def search_rules(self) -> dict[str, SearchRule]:
        """Return the search declarations in force."""
        with self.read() as snapshot:
            return rules_of(snapshot.catalogue_all("search:"))

    # Care of the file

    def require_whole(self, what: str) -> None:
        """Raise RoleError for `what`, if this store is bound to projects: it reads a whole file."""

    def unbound(self) -> Store:
        """Return the store of the whole file, for a check of what lies outside of it."""
        return self

    def backup(
        self,
        target: str | os.PathLike[str],
        *,
        progress: Callable[[int], object] = lambda _: None,
    ) -> Path:
        """Write a consistent copy while others read and write. The target must not exist; it
        appears whole or not at all. Its path is remembered, for `verify_erased`. `progress` is
        called with the bytes that were copied since the last call."""
        made = copy_whole(self._engine.connection(), Path(usable_path(target)), progress)
        self.note_copy(made, kind="backup")
        return made

    def note_copy(self, path: str | os.PathLike[str], *, kind: str) -> None:
        """Remember that a copy of the content was written; a read-only file remembers nothing."""
        db = self._engine.connection()
        if not self.read_only and not db.in_transaction:
            with translated(self.path, db):
                note_copy(db, path, kind=kind, time=self.clock.now_ns())

    def compact(self) -> None:
        """Merge small posting rows. Happens by itself; here for the end of a bulk load."""
        db = self._engine.connection()
        with translated(self.path, db):
            turn = self._engine.begin(db)
            try:
                compact(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            finally:
                turn.end()

    def scrub(self) -> str:
        """Overwrite freed pages and empty the write-ahead log, so that the bytes are gone from the
        file too.

        What `on_scrub` does for the files next to it is done too. Returns an empty text when all is
        done, else what is left and why; the next scrub and every close try again.
        """
        db = self._engine.connection()
        if db.in_transaction:
            raise StoreError(
                "A transaction is open in this thread.",
                next_step="Finish it first.",
                path=self.path,
            )
        if self.images is not None:
            self.images.clear()
        with translated(self.path, db):
            left = scrub(db)
        return " ".join(part for part in (left, self.on_scrub()) if part)

    def left_to_scrub(self) -> str:
        """Return what an earlier erasure could not finish, in words; empty if nothing is left."""
        with self.read() as snapshot:
            return left_over(marked(snapshot._db))
