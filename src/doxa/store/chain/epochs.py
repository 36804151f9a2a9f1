"""Epochs: a copy of a file that is written to says so in its log, so that two files with one past
and two futures can be distinguished.

    original   receipt 1 ─ 2 ─ 3 ─ 4 ─ 5
    copy       receipt 1 ─ 2 ─ 3 ─ 4'        4' begins with the entry `epoch`: number, id, why, of

A copy has a mark, `meta.copy`. The first transaction that writes to it adds the entry to the log
and removes the mark, at once or not at all. The entry changes no state: digests of the original and
the copy are equal as long as what was written is. `meta.epochs` repeats what the log says, so that
nobody has to search it.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

import apsw

from doxa.base.values import canonical, decode

if TYPE_CHECKING:
    from doxa.store.reader import Reader
    from doxa.store.transaction import Transaction

OP = "epoch"
_MARK, _EPOCHS = "copy", "epochs"


class Epoch(NamedTuple):
    """An epoch of a file: its number and id, what the copy was made for, and its first change."""

    number: int
    id: str
    why: str
    change: int


def mark_copy(db: apsw.Connection, why: str) -> None:
    """Mark a file as a copy, for `why`: backup, restore or follow."""
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get:
        db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (_MARK, why))


def copy_mark(db: apsw.Connection) -> str:
    """Return why a file was copied; empty unless it is a copy that nobody has written to."""
    found = db.execute("SELECT value FROM main.meta WHERE key = ?", (_MARK,)).get
    return "" if found is None else str(found)


def begin_epoch(tx: Transaction, why: str) -> None:
    """Begin an epoch with this transaction, in its log."""
    db = tx._db
    before = epochs_in(db)
    number = before[-1].number + 1 if before else 1
    epoch = Epoch(number, secrets.token_hex(8), why, tx.tx)
    body = {"number": number, "id": epoch.id, "why": why}
    tx.entries.add(OP, 0, canonical(body))
    note_epochs(db, [*before, epoch])
    db.execute("DELETE FROM main.meta WHERE key = ?", (_MARK,))


def note_epochs(db: apsw.Connection, epochs: list[Epoch]) -> None:
    """Repeat in `meta` what the log says."""
    if epochs:
        rows = canonical([list(one) for one in epochs]).decode()
        db.execute("INSERT OR REPLACE INTO main.meta VALUES(?, ?)", (_EPOCHS, rows))


def epochs_in(db: apsw.Connection) -> list[Epoch]:
    """Return the epochs of a file, the first one first; none if it never was a copy."""
    found = db.execute("SELECT value FROM main.meta WHERE key = ?", (_EPOCHS,)).get
    return [] if found is None else [Epoch(*row) for row in decode(found)]


def logged_epochs(db: apsw.Connection) -> list[Epoch]:
    """Return the epochs that the log states."""
    rows = db.execute(
        "SELECT l.tx, p.payload FROM main.log l JOIN main.log_payload p ON p.seq = l.seq"
        " WHERE l.op = ? ORDER BY l.seq",
        (OP,),
    )
    return [
        Epoch(body["number"], body["id"], body["why"], change)
        for change, body in ((row[0], decode(row[1])) for row in rows)
    ]


def epoch_problems(snapshot: Reader) -> list[str]:
    """Return what is wrong with the epochs of a file."""
    db = snapshot._db
    if epochs_in(db) == logged_epochs(db):
        return []
    return ["the epochs that are noted are not those of the log"]
