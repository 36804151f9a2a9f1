"""A log that was shipped: the receipts, entries and payloads of a memory file in a file of their
own, appended to as the original grows, and verified as they come.

    receipt(...)   log(...)   log_payload(...)      as in a memory file
    meta(key, value)                                retained: as in a memory file

Nothing in it can be searched; `rebuild` makes a memory file of it, as of any change. What was
erased in the original is erased here with the next shipment.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConflictError, CorruptError
from doxa.store.file.engine import make_private, translated
from doxa.store.log_writer import GENESIS, entry_hash, receipt_hash
from doxa.store.store import Store

APPLICATION_ID = 0x646F7863  # "doxc"
_TABLES = ("receipt", "log", "log_payload")
_CHANGES_PER_BATCH = 500
_PRAGMAS = (("journal_mode", "DELETE"), ("secure_delete", True), ("synchronous", "FULL"))
_META = ("retained",)
_RECEIPT = "tx, time, actor, role, op, note, first_seq, last_seq, last_node, last_edge, head, hash"
_ENTRY = "l.seq, l.tx, l.op, l.element, l.payload_hash, l.hash, p.salt, p.payload"


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
        if not self.db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'receipt'").get:
            return 0, GENESIS
        row: Any = self.db.execute(
            "SELECT tx, hash FROM receipt ORDER BY tx DESC LIMIT 1"
        ).fetchone()
        return (0, GENESIS) if row is None else (row[0], row[1])

    def ship(self, source: Store, *, progress: Callable[[int], None] = lambda _: None) -> Shipped:
        """Append what the source has committed since. Batches are whole: what is cut short goes on
        with the next shipment. Raises ConflictError if the source does not continue this log, and
        CorruptError if what it has does not verify."""
        with translated(self.path), source.read() as snapshot:
            db = snapshot._db
            self._prepare(db)
            before, _ = self.last
            self._require_continued(db, source.path)
            entries = 0
            for rows, found in _batches(db, self.last[0]):
                self._require_verified(rows, found, source.path)
                with self.db:
                    self.db.executemany(
                        f"INSERT INTO receipt({_RECEIPT}) VALUES({_marks(12)})", rows
                    )
                    self.db.executemany(
                        "INSERT INTO log VALUES(?, ?, ?, ?, ?, ?)", [row[:6] for row in found]
                    )
                    self.db.executemany(
                        "INSERT INTO log_payload VALUES(?, ?, ?)",
                        [(row[0], row[6], row[7]) for row in found if row[7] is not None],
                    )
                entries += len(found)
                progress(len(rows))
            last, head = self.last
            erased = self._erase_too(db) if last > before else 0
            self._copy_meta(db)
        return Shipped(last - before, entries, erased, last, head.hex())

    def _prepare(self, source: apsw.Connection) -> None:
        """Make the tables as the source has them, in a new file."""
        if self.db.pragma("application_id") == APPLICATION_ID:
            return
        with self.db:
            for (sql,) in source.execute(
                "SELECT sql FROM sqlite_schema WHERE tbl_name IN (?, ?, ?) AND sql IS NOT NULL"
                " ORDER BY type DESC",
                _TABLES,
            ):
                with suppress(apsw.SQLError):  # an index that a constraint made exists already
                    self.db.execute(sql)
            self.db.execute("CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID")
            self.db.execute(f"PRAGMA application_id = {APPLICATION_ID}")

    def _require_continued(self, source: apsw.Connection, path: str) -> None:
        number, known = self.last
        if not number:
            return
        found = source.execute("SELECT hash FROM receipt WHERE tx = ?", (number,)).get
        if found == known:
            return
        has = "another receipt" if found else "no receipt"
        raise ConflictError(
            f"{path} does not continue the log in {self.path}: it has {has} of change {number}.",
            next_step="It is a copy of an earlier state that was written to. Follow it into another"
            " folder, and compare the two.",
            path=self.path,
            change=number,
        )

    def _require_verified(self, rows: list[Any], found: list[Any], path: str) -> None:
        """Check that receipts and entries continue the chain that is here."""
        seq, head = self.db.execute(
            "SELECT seq, hash FROM log ORDER BY seq DESC LIMIT 1"
        ).fetchone() or (0, GENESIS)
        _, before = self.last
        entries = iter(found)
        for row in rows:
            for at in range(row[6], row[7] + 1):
                entry = next(entries, None)
                seq += 1
                if entry is None or entry[0] != at or at != seq or not _is_whole(entry, head):
                    raise _broken(path, f"log entry {at}")
                head = entry[5]
            if head != row[10] or receipt_hash(before, row[:10], row[10]) != row[11]:
                raise _broken(path, f"receipt {row[0]}")
            before = row[11]

    def _erase_too(self, source: apsw.Connection) -> int:
        """Remove payloads that the source has no more."""
        counts = [
            db.execute(
                "SELECT count(*) FROM log_payload WHERE seq <= (SELECT max(seq) FROM log)"
            ).get
            for db in (source, self.db)
        ]
        if counts[0] == counts[1]:
            return 0
        kept = {row[0] for row in source.execute("SELECT seq FROM log_payload")}
        gone = [row for row in self.db.execute("SELECT seq FROM log_payload") if row[0] not in kept]
        with self.db:
            self.db.executemany("DELETE FROM log_payload WHERE seq = ?", gone)
        return len(gone)

    def _copy_meta(self, source: apsw.Connection) -> None:
        for key in _META:
            value = source.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
            if value is not None:
                self.db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))


def is_chain(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a log that was shipped."""
    try:
        if not Path(path).is_file():  # opening a pipe waits for its writer
            return False
        with Path(path).open("rb") as file:
            return file.read(72)[68:] == APPLICATION_ID.to_bytes(4, "big")
    except OSError:
        return False


def _batches(source: apsw.Connection, after: int) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield receipts after a change with their entries, some at a time."""
    while True:
        rows: list[Any] = source.execute(
            f"SELECT {_RECEIPT} FROM receipt WHERE tx > ? ORDER BY tx LIMIT ?",
            (after, _CHANGES_PER_BATCH),
        ).fetchall()
        if not rows:
            return
        found: list[Any] = source.execute(
            f"SELECT {_ENTRY} FROM log l LEFT JOIN log_payload p ON p.seq = l.seq"
            " WHERE l.seq BETWEEN ? AND ? ORDER BY l.seq",
            (rows[0][6], rows[-1][7]),
        ).fetchall()
        yield rows, found
        after = rows[-1][0]


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


def _broken(path: str, what: str) -> CorruptError:
    return CorruptError(
        f"The log of {path} does not verify at {what}.",
        next_step="Keep the file as evidence, and restore the latest backup to a new path.",
        path=path,
    )


def _marks(count: int) -> str:
    return ", ".join("?" * count)
