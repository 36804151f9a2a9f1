"""The store: one file, opened, migrated, read on snapshots, written by transactions, checked
against its own log.

with store.read() as snapshot: ...                       reads, all of one moment
with store.write(identity, op="revise") as tx: ...       the only writes; sealed by one receipt
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from doxa.base.clock import Clock, SystemClock, format_time
from doxa.base.errors import CorruptError, DoxaError, NewerFileError, StoreError
from doxa.base.limits import ACCESS_NOTED_ITEMS_MAX, ACCESS_WAITING_ITEMS_MAX
from doxa.base.values import canonical
from doxa.base.words import ANALYSER
from doxa.store.declared import Declared, declared
from doxa.store.engine import Engine, begin, make_private, translated, usable_path
from doxa.store.files import copy_whole, discard, holds_nothing
from doxa.store.index import Indexes, build_past
from doxa.store.indexing.packing import recode
from doxa.store.indexing.search_rows import (
    SearchRule,
    SearchWriter,
    analyser_of,
    compact,
    note_analyser,
    rules_of,
)
from doxa.store.log import LogWriter, read_start
from doxa.store.reader import Reader
from doxa.store.rows import Identity
from doxa.store.schema import APPLICATION_ID, FORMAT, MIGRATIONS, PAST_ENTRIES, VECTORS_NUMBERED
from doxa.store.scrub import left_over, marked, scrub
from doxa.store.transaction import Transaction
from doxa.store.visibility.access import ACCESSES, AccessBuffer, AccessRecord
from doxa.store.visibility.evaluator import Expressions
from doxa.store.visibility.window_writer import swept


class Store:
    """One database file. Open with Store(path); close it, or use it as a context manager. Safe to
    share between threads."""

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
    ) -> None:
        """`expressions` compiles what promotion policies say; without `decay_enabled` policies are
        kept, but nothing is hidden or counted. `check_before_commit` is called at the end of each
        transaction that changed what is live or what depends on what."""
        self.path = usable_path(path)
        self.clock: Clock = clock or SystemClock()
        self.read_only = read_only
        self.decay_enabled = decay_enabled
        self._expressions = expressions
        self._check_before_commit = check_before_commit
        self.accesses = AccessBuffer()
        self.on_due: Callable[[bool], None] = lambda urgent: (
            None
        )  # called when accesses wait to be written, or windows to follow
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
            with translated(self.path):
                self._prepare(migrations)
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

    def close(self) -> None:
        """Close every connection; what an erasure left to do is tried once more, without waiting.
        Safe to call twice."""
        if self._engine.closed:
            return
        if not self.read_only and not self._engine.is_inherited:
            self._flush_last()
            with suppress(
                apsw.Error, DoxaError
            ):  # a damaged or busy file can be closed all the same
                db = self._engine.connection()
                if not db.in_transaction and marked(db) is not None:
                    scrub(db, wait_ms=0)
        self._engine.close()

    def _flush_last(self) -> None:
        """Write what was noted and not yet written; the file is closed in any case."""
        try:
            with (
                self._flushing
            ):  # one that another thread is at has its notes: they are written, or put back
                pass
            self.flush_accesses()
        except Exception:
            self._engine.close()
            raise

    # Reading and writing

    @contextmanager
    def read(self) -> Iterator[Reader]:
        """Open a snapshot: nothing that commits meanwhile is seen. Nested reads of a thread share
        the outer snapshot."""
        db = self._engine.connection()
        with translated(self.path):
            if db.in_transaction:
                yield self._reader(
                    db, self._engine.moment.now, getattr(self._local, "entries", None)
                )
                return
            db.execute("BEGIN")
            try:
                reader = self._reader(db, self.clock.now_ns())
                self._judging(reader)
                yield reader
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")

    def _reader(self, db: apsw.Connection, now: int, pending: LogWriter | None = None) -> Reader:
        return Reader(
            db,
            now=now,
            known=self._known,
            pending=pending,
            expressions=self._expressions,
            neutral=not self.decay_enabled,
        )

    def _judging(self, reader: Reader) -> None:
        """From here on the SQL of this thread judges visibility at the time of this transaction,
        and by its rules."""
        moment = self._engine.moment
        moment.now, moment.seen, moment.shown = reader.scored_at, reader.is_seen, reader.shown_of

    @contextmanager
    def write(
        self,
        identity: Identity,
        *,
        op: str,
        note: str = "",
        stopped: Callable[[], bool] | None = None,
        scored_at: int | None = None,
    ) -> Iterator[Transaction]:
        """Open a transaction, durable when the block ends, absent when it raises. Waits for other
        writers up to the busy limit.

        `stopped` is asked while it waits; when it says yes, the wait ends with BusyError.
        `scored_at`: the time by which policies judge in it, if it goes on where a read began.
        """
        db = self._engine.connection()
        joined: Transaction | None = getattr(self._local, "joined", None)
        if joined is not None:
            with joined.part():
                yield joined
            return
        if db.in_transaction:
            raise StoreError(
                "A transaction is already open in this thread.",
                next_step="Finish it first; transactions do not nest.",
            )
        with translated(self.path):
            begin(db, stopped)
            tx: Transaction | None = None
            try:
                version, tail = read_start(db)
                if version != self._catalogue_version:
                    self._load_catalogue(db, version)
                tx = Transaction(
                    db,
                    clock_ns=self.clock.now_ns(),
                    tail=tail,
                    identity=identity,
                    op=op,
                    note=note,
                    rules=self._declared,
                    expressions=self._expressions,
                    neutral=not self.decay_enabled,
                    check_before_commit=self._check_before_commit,
                )
                self._local.entries = tx.entries
                tx.scored_at = tx.now if scored_at is None else scored_at
                self._judging(tx)
                yield tx
                tx.finish()
                if tx.catalogue_changed:
                    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
                db.execute("COMMIT")
                if tx.left_to_sweep:
                    self.on_due(True)
                self._hand_on(tx.noted)
            except BaseException:
                with suppress(
                    apsw.Error
                ):  # the engine may have rolled back by itself; the first error is the one to tell
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                if tx is not None:
                    self._hand_on(tx.notes_of_what_was_there())
                raise
            finally:
                self._local.entries = None

    @property
    def is_joined(self) -> bool:
        """Whether writes of this thread are parts of a larger transaction."""
        return getattr(self._local, "joined", None) is not None

    @contextmanager
    def joined(self, reader: Reader) -> Iterator[None]:
        """Make writes of this thread part of the transaction `reader`, if it is one, in the
        block."""
        before = getattr(self._local, "joined", None)
        self._local.joined = reader if isinstance(reader, Transaction) else None
        try:
            yield
        finally:
            self._local.joined = before

    def _hand_on(self, notes: list[AccessRecord]) -> None:
        """Notes of a transaction that has ended. Those of an id that it gave and took back would be
        of whatever has the id next."""
        for noted in notes:
            self.note(noted)
        notes.clear()

    # Accesses and sweeps

    def note(self, noted: AccessRecord) -> None:
        """Remember that elements were returned, for the next flush. Costs a read nothing but an
        append."""
        if self.read_only or not self.decay_enabled or not noted.size:
            return
        waiting = self.accesses.note(noted)
        if waiting >= ACCESS_WAITING_ITEMS_MAX and not self._engine.connection().in_transaction:
            self.flush_accesses()  # who reads faster than can be written waits here
        else:
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
        self.note(AccessRecord(reader.now, given, [row[0] for row in rows]))

    def flush_accesses(self) -> int:
        """Write what was noted, as one transaction. Returns how many elements it was about. A
        failure keeps the notes for the next flush."""
        if not self.accesses.size or self._engine.connection().in_transaction:
            return 0
        with self._flushing:
            notes = self.accesses.take()
            try:
                with self.write(Identity("doxa", "system"), op=ACCESSES) as tx:
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
        self._catalogue_version = version

    def search_rules(self) -> dict[str, SearchRule]:
        """Return the search declarations in force."""
        with self.read() as snapshot:
            return rules_of(snapshot.catalogue_all("search:"))

    # Opening

    def _prepare(self, migrations: Sequence[tuple[str, str]]) -> None:
        db = self._engine.connection()
        application = db.pragma("application_id")
        version = db.pragma("user_version")
        tables = db.execute("SELECT count(*) FROM sqlite_schema").get
        if tables and application != APPLICATION_ID:
            raise CorruptError(
                f"{self.path} is a database of another program.",
                next_step="Give another path.",
                path=self.path,
            )
        if version > FORMAT:
            raise NewerFileError(
                f"{self.path} was written by a newer doxa (format {version}; this one reads up to"
                f" {FORMAT}).",
                next_step="Upgrade doxa, then open it again.",
                path=self.path,
                found_format=version,
                known_format=FORMAT,
            )
        if self._pending(db, migrations):
            if self.read_only:
                raise StoreError(
                    f"{self.path} needs a migration first.",
                    next_step="Open it once for writing.",
                    path=self.path,
                )
            self._migrate(db, migrations, existing=bool(tables))
        if not self.read_only and analyser_of(db) != ANALYSER:
            self._reindex(db)

    def _reindex(self, db: apsw.Connection) -> None:
        """The words of this file were cut by other rules than questions will be: cut them again, in
        one transaction."""
        db.execute("BEGIN IMMEDIATE")
        try:
            if (
                analyser_of(db) != ANALYSER
            ):  # asked again under the lock: another process may have been first
                reader = Reader(db, now=0)
                SearchWriter(db, rules_of(reader.catalogue_all("search:")), reader).rebuild()
                note_analyser(db)
                db.execute(
                    "UPDATE meta SET value = value + 1 WHERE key = 'catalogue'"
                )  # other writers look at the rules again
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    @staticmethod
    def _pending(
        db: apsw.Connection, migrations: Sequence[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        done: set[str] = set()
        if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").get:
            done = {row[0] for row in db.execute("SELECT name FROM migration")}
        return [step for step in migrations if step[0] not in done]

    def _migrate(
        self, db: apsw.Connection, migrations: Sequence[tuple[str, str]], *, existing: bool
    ) -> None:
        """All pending steps in one transaction, after a snapshot of what was there."""
        snapshot = None
        if existing:
            stamp = format_time(self.clock.now_ns()).translate(
                {ord(":"): None, ord("-"): None, ord("."): None}
            )
            snapshot = self.backup(
                f"{self.path}.before-{self._pending(db, migrations)[0][0]}-{stamp}"
            )
        name = ""
        db.execute("BEGIN IMMEDIATE")
        try:
            for name, sql in self._pending(
                db, migrations
            ):  # asked again under the lock: another process may have been first
                db.execute(sql)
                if name == PAST_ENTRIES and existing:
                    for rule in Indexes(Reader(db, now=0).catalogue_all("index:")).rules:
                        build_past(db, rule)
                if name == VECTORS_NUMBERED:
                    recode(db, "vector", "vector_code")
                    recode(db, "vector_next", "vector_code_next")
                db.execute("INSERT INTO migration VALUES(?, ?)", (name, self.clock.now_ns()))
            db.execute("INSERT OR IGNORE INTO meta VALUES('catalogue', 0)")
            if not existing:
                note_analyser(db)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}")
            db.execute("COMMIT")
        except BaseException as error:
            with suppress(apsw.Error):  # the first error is the one to tell
                if db.in_transaction:
                    db.execute("ROLLBACK")
            if isinstance(
                error, (apsw.SQLError, apsw.ConstraintError, apsw.MismatchError)
            ):  # the others have an error class in doxa
                raise self._migration_failed(name, error, snapshot) from error
            raise

    def _migration_failed(self, name: str, error: apsw.Error, snapshot: Path | None) -> StoreError:
        kept = f" The snapshot {snapshot} holds it as it was." if snapshot else ""
        return StoreError(
            f"The migration {name} of {self.path} failed: {error}. Nothing of it was written: the"
            " file is as it was.",
            next_step=f"Open it with the version of doxa that wrote it, and report this.{kept}",
            path=self.path,
            migration=name,
            snapshot=str(snapshot) if snapshot else "",
        )

    # Care of the file

    def backup(self, target: str | os.PathLike[str]) -> Path:
        """Write a consistent copy while others read and write. The target must not exist; it
        appears whole or not at all."""
        return copy_whole(self._engine.connection(), Path(usable_path(target)))

    def compact(self) -> None:
        """Merge small posting rows. Happens by itself; here for the end of a bulk load."""
        db = self._engine.connection()
        with translated(self.path):
            db.execute("BEGIN IMMEDIATE")
            try:
                compact(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def scrub(self) -> str:
        """Overwrite freed pages and empty the write-ahead log, so that the bytes are gone from the
        file too.

        Returns an empty text when all is done, else what is left and why; the next scrub and every
        close try again.
        """
        db = self._engine.connection()
        if db.in_transaction:
            raise StoreError(
                "A transaction is open in this thread.",
                next_step="Finish it first.",
                path=self.path,
            )
        with translated(self.path):
            return scrub(db)

    def left_to_scrub(self) -> str:
        """Return what an earlier erasure could not finish, in words; empty if nothing is left."""
        with self.read() as snapshot:
            return left_over(marked(snapshot._db))
