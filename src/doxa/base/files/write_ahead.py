"""Turning on the write-ahead log of a SQLite file that several may make at once."""

from __future__ import annotations

import random
import time
from pathlib import Path

import apsw

_WAIT_MOST_S = 0.02


def use_write_ahead_log(db: apsw.Connection, limit_ms: int) -> None:
    """Make the file of `db` keep a write-ahead log; raises apsw.BusyError when `limit_ms` have
    passed and the busy handler of `db` has given up.

    A file that has none yet is read before it is locked, and SQLite does not ask the busy handler
    for a lock that follows a reading (two that wait for each other would wait forever), so who
    opens a new file while others do is refused at once. The reading is over by then: asking again
    is safe.
    """
    until = time.monotonic() + limit_ms / 1_000
    while True:
        try:
            db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
        else:
            return
        time.sleep(_WAIT_MOST_S * random.random())  # noqa: S311 - spreading load, not security


def write_ahead_log_of(path: str | Path) -> Path:
    """Return the place of the write-ahead log of a file: next to the file itself, if `path` is a
    link to it."""
    return Path(f"{Path(path).resolve()}-wal")
