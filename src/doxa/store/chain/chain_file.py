"""A log that was shipped: the receipts, entries and payloads of a memory file in a file of their
own, appended to as the original grows, and verified as they come.

    receipt(...)   log(...)   log_payload(...)      as in a memory file
    meta(key, value)        retained: as in a memory file; payloads: how many there are;
                            compared: the change up to which erasures have come

Nothing in it can be searched; `rebuild` makes a memory file of it, as of any change. What was
erased in the original is erased here with the next shipment.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConflictError, CorruptError
from doxa.base.limits import BUSY_TIMEOUT_MS
from doxa.base.values import decode
from doxa.store.chain.shipment import (
    RECEIPT,
    ErasedRanges,
    Known,
    ShipmentEnd,
    ShippedPart,
    shipment,
)
from doxa.store.file.engine import make_private, translated
from doxa.store.log_writer import GENESIS, entry_hash, receipt_hash
from doxa.store.store import Store

APPLICATION_ID = 0x646F7863  # "doxc"
_PRAGMAS = (("journal_mode", "DELETE"), ("secure_delete", True), ("synchronous", "FULL"))
_SCHEMA = """
CREATE TABLE receipt(
  tx INTEGER PRIMARY KEY, time INTEGER NOT NULL, actor TEXT NOT NULL, role TEXT NOT NULL,
  op TEXT NOT NULL, note TEXT NOT NULL,
  first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL, last_node INTEGER NOT NULL,
  last_edge INTEGER NOT NULL, head BLOB NOT NULL, hash BLOB NOT NULL);
CREATE TABLE log(
  seq INTEGER PRIMARY KEY, tx INTEGER NOT NULL, op TEXT NOT NULL, element INTEGER NOT NULL,
  payload_hash BLOB NOT NULL, hash BLOB NOT NULL);
CREATE TABLE log_payload(seq INTEGER PRIMARY KEY, salt BLOB NOT NULL, payload BLOB NOT NULL);
CREATE TRIGGER log_is_append_only BEFORE UPDATE ON log
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_is_kept BEFORE DELETE ON log
  BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
"""


class Shipped(NamedTuple):
    """What a shipment did: changes and entries that were added, payloads that were erased here too,
    and the number and hash of the last receipt."""

    changes: int
    entries: int
    erased: int
    change: int
    head: str


class ChainFile:
    """A shipped log, opened or made. Use it on one thread; close it."""

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        """Raise CorruptError for another kind of file."""
        self.path = os.fspath(path)
        with translated(self.path):
            if not read_only:
                make_private(self.path)
            flags = apsw.SQLITE_OPEN_READONLY
            if not read_only:
                flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            self.db = apsw.Connection(self.path, flags=flags)
            self.db.set_busy_timeout(BUSY_TIMEOUT_MS)
            try:
                known = self.db.pragma("application_id")
                tables = self.db.execute("SELECT count(*) FROM sqlite_schema").get
                if tables and known != APPLICATION_ID:
                    raise CorruptError(
                        f"{self.path} is not a log that was shipped.",
                        next_step="Give another path.",
                        path=self.path,
                    )
                if not read_only:
                    # what is erased must not stay in freed pages
                    for name, value in _PRAGMAS:
                        self.db.pragma(name, value)
            except BaseException:
                self.db.close()
                raise

    def __enter__(self) -> ChainFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.db.close()

    @property
    def last(self) -> tuple[int, bytes]:
        """The number and the hash of the last receipt."""
        tail = _tail(self.db)
        return tail.tx, tail.hash

    def ship(self, source: Store, *, progress: Callable[[int], None] = lambda _: None) -> Shipped:
        """Append what the source has committed since. Batches are whole: what is cut short goes on
        with the next shipment. Raises ConflictError if the source does not continue this log, and
        CorruptError if what it has does not verify."""
        with source.read() as snapshot, self.intake(source.path) as intake:
            for one in shipment(snapshot._db, intake.known(), path=source.path):
                intake.take(one)
                if isinstance(one, ShippedPart):
                    progress(len(one.receipts))
            return intake.shipped()

    @contextmanager
    def intake(self, source: str) -> Iterator[Intake]:
        """Take a shipment of a source, whose name errors have."""
        with translated(self.path, self.db):
            self._make()
            taking = Intake(self.db, self.path, source)
            try:
                yield taking
            finally:
                taking.roll_back()

    def _make(self) -> None:
        """Make the tables of a new file, also if another shipment does the same now."""
        if self.db.pragma("application_id") == APPLICATION_ID:
            return
        self.db.execute("BEGIN IMMEDIATE")
        try:
            if self.db.pragma("application_id") != APPLICATION_ID:
                self.db.execute(_SCHEMA)
                self.db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self.db.execute("COMMIT")
        except BaseException:
            self.db.execute("ROLLBACK")
            raise


class ChainTail(NamedTuple):
    """The end of a log that continues: its last receipt, and the place and hash of its last
    entry."""

    tx: int
    time: int
    hash: bytes
    seq: int
    head: bytes


class Intake:
    """A shipment as it is taken: each change is verified before it is written, and is whole in the
    file or not there."""

    def __init__(self, db: apsw.Connection, path: str, source: str) -> None:
        self._db, self._path, self._source = db, path, source
        self._before = self._tail = _tail(db)
        self._seq, self._head = self._tail.seq, self._tail.head  # of a change that is not whole yet
        self._entries = self._erased = 0
        self._counts = False

    def known(self) -> Known:
        """Return what the file has."""
        compared = self._meta("compared") or 0
        return Known(self._path, self._tail.tx, self._tail.hash, self._payloads(), compared)

    def shipped(self) -> Shipped:
        """Return what was taken."""
        changes = self._tail.tx - self._before.tx
        last = self._tail
        return Shipped(changes, self._entries, self._erased, last.tx, last.hash.hex())

    def take(self, one: ShippedPart | ErasedRanges | ShipmentEnd) -> None:
        """Write a part of a shipment. Raises CorruptError for one that does not continue the log,
        ConflictError if another shipment wrote to the file meanwhile."""
        if not self._db.in_transaction:
            self._begin()
        if isinstance(one, ShippedPart):
            self._append(one)
        elif self._seq != self._tail.seq:
            raise self._broken(f"change {self._tail.tx + 1}, which has no end")
        elif isinstance(one, ErasedRanges):
            self._erase(one)
        elif one.change != self._tail.tx:
            raise self._broken(f"change {one.change}, its last one")
        else:
            self._end(one)
        if self._seq == self._tail.seq:
            self._db.execute("COMMIT")

    def roll_back(self) -> None:
        """Drop what is not whole."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _begin(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")
        if _tail(self._db) != self._tail:
            raise ConflictError(
                f"Another shipment writes to {self._path}.",
                next_step="Ship again when it has ended; nothing is lost.",
                path=self._path,
            )

    def _append(self, part: ShippedPart) -> None:
        entries = iter(part.entries)
        for receipt in part.receipts:
            while self._seq < receipt[7]:
                self._require_entry(next(entries, None), receipt[0])
            self._require_receipt(receipt)
        for entry in entries:
            self._require_entry(entry, self._tail.tx + 1)
        self._db.executemany(
            f"INSERT INTO receipt({RECEIPT}) VALUES({', '.join('?' * 12)})", part.receipts
        )
        self._db.executemany(
            "INSERT INTO log VALUES(?, ?, ?, ?, ?, ?)", [one[:6] for one in part.entries]
        )
        payloads = [(one[0], one[6], one[7]) for one in part.entries if one[7] is not None]
        self._put_meta("payloads", self._payloads() + len(payloads))
        self._db.executemany("INSERT INTO log_payload VALUES(?, ?, ?)", payloads)
        self._entries += len(part.entries)

    def _require_entry(self, entry: Any, change: int) -> None:
        """Check that an entry is the next one of the chain, of a change."""
        whole = entry is not None and entry[:2] == (self._seq + 1, change)
        if not whole or not _is_whole(entry, self._head):
            raise self._broken(f"log entry {self._seq + 1}")
        self._seq, self._head = entry[0], entry[5]

    def _require_receipt(self, row: Any) -> None:
        """Check that a receipt is the next one, and covers what came since the last one."""
        tail = self._tail
        follows = row[0] == tail.tx + 1 and type(row[1]) is int and row[1] > tail.time
        covers = (row[6], row[7], row[10]) == (tail.seq + 1, self._seq, self._head)
        if not (follows and covers and receipt_hash(tail.hash, row[:10], row[10]) == row[11]):
            raise self._broken(f"receipt {row[0]}")
        self._tail = ChainTail(row[0], row[1], row[11], row[7], row[10])

    def _erase(self, gone: ErasedRanges) -> None:
        """Remove payloads that the source has no more."""
        before = self._db.total_changes()
        self._db.executemany("DELETE FROM log_payload WHERE seq BETWEEN ? AND ?", gone.ranges)
        self._erased += self._db.total_changes() - before
        self._counts = True  # at the end, when all have come

    def _end(self, end: ShipmentEnd) -> None:
        if end.retained is not None and self._meta("retained") != end.retained:
            _check_horizons(end.retained, self._source)
            self._put_meta("retained", end.retained)
        if self._counts:
            self._put_meta("payloads", self._counted())
        if self._meta("compared") != end.change:
            self._put_meta("compared", end.change)

    def _payloads(self) -> int:
        """Return how many payloads there are, without counting them."""
        found = self._meta("payloads")
        return self._counted() if found is None else int(found)

    def _counted(self) -> int:
        return int(self._db.execute("SELECT count(*) FROM log_payload").get)

    def _meta(self, key: str) -> Any:
        return self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get

    def _put_meta(self, key: str, value: int | str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))

    def _broken(self, what: str) -> CorruptError:
        return CorruptError(
            f"The log of {self._source} does not verify at {what}.",
            next_step="Keep the file as evidence, and restore the latest backup to a new path.",
            path=self._source,
        )


def is_chain(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a log that was shipped."""
    try:
        if not Path(path).is_file():  # opening a pipe waits for its writer
            return False
        with Path(path).open("rb") as file:
            return file.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")
    except OSError:
        return False


def _tail(db: apsw.Connection) -> ChainTail:
    """Return the end of a log, which may not have its tables yet."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'receipt'").get:
        return ChainTail(0, -1, GENESIS, 0, GENESIS)
    row: Any = db.execute(
        "SELECT tx, time, hash, last_seq, head FROM receipt ORDER BY tx DESC LIMIT 1"
    ).fetchone()
    return ChainTail(0, -1, GENESIS, 0, GENESIS) if row is None else ChainTail(*row)


def _is_whole(entry: Any, before: bytes) -> bool:
    """Return whether an entry continues the chain, and its payload is what was logged."""
    seq, tx, op, element, payload_hash, found, salt, payload = entry
    if not all(
        isinstance(one, bytes) for one in (payload_hash, found, salt or b"", payload or b"")
    ):
        return False  # a changed storage class is a change like any other
    if payload is not None and hashlib.sha256(salt + payload).digest() != payload_hash:
        return False
    named = entry_hash(before, seq=seq, tx=tx, op=op, element=element, payload_hash=payload_hash)
    return bool(named == found)


def _check_horizons(retained: str, source: str) -> None:
    """Refuse what a rebuilt file could not read."""
    try:
        found = decode(retained)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(type(one) is int for one in found.values()):
        raise CorruptError(
            f"The horizons of retention of {source} cannot be read.",
            next_step="Run `doxa doctor` on that memory.",
            path=source,
        )
