"""The second half of an erasure: the freed pages are overwritten and the write-ahead log is
emptied, or it is known that this is still due.

An erasure leaves a mark in its own transaction, `meta.scrub` = the number of the change, so that
neither a crash nor a busy file loses the work order. Once the pages are overwritten the mark is
negative: only the log still holds the bytes. A log is emptied when nobody reads an older state.
"""

from __future__ import annotations

import time

import apsw

from doxa.base.limits import SCRUB_WAIT_MS
from doxa.store.file.disk_space import is_out_of_space
from doxa.store.file.engine import BusyBackoff

_RETRY_S = 0.02
# of calls with an idempotency key (idempotency/keys.py)
CLEAR_ANSWERS = (
    "UPDATE main.idempotency_key SET salt = NULL, request = NULL, answer = NULL WHERE answer IS NOT"
    " NULL"
)
_LATER = "it is tried again when the memory is closed and at the next erasure"


def mark(db: apsw.Connection, tx: int) -> None:
    """Record that content was erased, and clear the kept answers, which may quote it; called in the
    erasing transaction."""
    db.execute("INSERT OR REPLACE INTO meta VALUES('scrub', ?)", (tx,))
    db.execute(CLEAR_ANSWERS)


def marked(db: apsw.Connection) -> int | None:
    """Return the pending erasure: the change whose bytes are in the pages, negative if only in the
    log, or None."""
    found = db.execute("SELECT value FROM meta WHERE key = 'scrub'").get
    return None if found is None else int(found)


def left_over(due: int | None) -> str:
    """Describe a mark for a person: nothing, or where erased bytes may still be, and what becomes
    of them."""
    if due is None:
        return ""
    if due > 0:
        return f"Erased, but the freed pages of the file were not overwritten yet; {_LATER}."
    return (
        f"Erased, but a reader of an older state keeps the bytes in the write-ahead log; {_LATER}."
    )


def scrub(db: apsw.Connection, *, wait_ms: int = SCRUB_WAIT_MS) -> str:
    """Overwrite erased content that is pending and return what could not be done (see left_over).
    Busy and full disks are reported, not raised: the erasure itself is done.

    `wait_ms` bounds the wait for readers; 0 does not wait for writers either.
    """
    due = marked(db)
    try:
        if not wait_ms:
            db.set_busy_handler(None)
        if due is None or due > 0:
            db.execute("VACUUM")
            db.execute("UPDATE meta SET value = -value WHERE key = 'scrub' AND value = ?", (due,))
        db.set_busy_handler(None)
        emptied = _empty_log(db, wait_ms)
        db.set_busy_handler(BusyBackoff())
        if not emptied:
            db.execute(
                "INSERT OR IGNORE INTO meta VALUES('scrub', -1)"
            )  # a request without an erasure is kept too
        elif due is not None:
            db.execute(
                "DELETE FROM meta WHERE key = 'scrub' AND value = ?", (-abs(due),)
            )  # a later erasure has another mark
    except (apsw.BusyError, apsw.FullError, apsw.IOError) as error:
        if isinstance(error, apsw.IOError) and not is_out_of_space(error, db):
            raise
        return left_over(marked(db) or 1)
    finally:
        db.set_busy_handler(BusyBackoff())
    return left_over(marked(db))


def _empty_log(db: apsw.Connection, wait_ms: int) -> bool:
    """Whether the log was emptied. Short tries instead of the engine's own wait, which would hold
    every writer up."""
    until = time.monotonic() + wait_ms / 1000
    while db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0][0]:
        if time.monotonic() >= until:
            return False
        time.sleep(_RETRY_S)
    return True
