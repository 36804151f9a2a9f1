"""How far a load has come, written in the transactions that load: a row of the table `cursor`.

    load/<what is loaded>/<digest of what was read so far>      seq: the rows that are loaded

It is bookkeeping and not logged, but it is there exactly if the rows are; with a shared log it goes
along with the transaction, to every replica. A load that was
interrupted, or whose file has grown, goes on after them, if the file still begins with what was
read; so a load that is repeated loads nothing twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import apsw

from doxa.store.reader import Reader
from doxa.store.transaction import Transaction

_OF = "SELECT name, seq FROM main.cursor WHERE name >= ? AND name < ?"


class LoadProgress(NamedTuple):
    """The rows that are loaded, and the digest of what was read for them."""

    rows: int
    digest: str


def progress_of(reader: Reader, load: str) -> LoadProgress | None:
    """Return how far a load has come."""
    row = reader._db.execute(_OF, _bounds(load)).fetchone()
    return None if row is None else LoadProgress(row[1], row[0].rpartition("/")[2])


def note_progress(tx: Transaction, load: str, progress: LoadProgress) -> None:
    """Note with the transaction how far a load has come."""
    tx.load_progress = (f"load/{load}/{progress.digest}", progress.rows)
    write_progress(tx._db, *tx.load_progress)


def write_progress(db: apsw.Connection, name: str, rows: int) -> None:
    """Replace the row of a load."""
    load = name.split("/")[1]
    db.execute("DELETE FROM main.cursor WHERE name >= ? AND name < ?", _bounds(load))
    db.execute("INSERT INTO main.cursor VALUES(?, ?)", (name, rows))


def all_progress(db: apsw.Connection) -> tuple[tuple[str, int], ...]:
    """Return the rows of all loads."""
    found: list[Any] = db.execute(_OF, ("load/", "load0")).fetchall()
    return tuple(found)


def _bounds(load: str) -> tuple[str, str]:
    """The names of a load: "0" is what comes after "/"."""
    return f"load/{load}/", f"load/{load}0"
