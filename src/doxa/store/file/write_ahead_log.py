"""How large the write-ahead log of a file becomes.

SQLite copies the log into the file after a commit, and begins it again at its start when nobody
reads from it. Where somebody always does, as under the load of a server, it would grow without end,
and readers look through all of it for each page. So the commit that finds it too large waits a
moment, while nobody else writes, until those who read older states have finished. One who begins to
read meanwhile reads from the file alone, and the next commit begins the log again. Somebody who
reads for long keeps it growing: the attempt is made again when it is twice as large.

Source: the documentation of SQLite, "Write-Ahead Logging", "Avoiding Excessively Large WAL Files";
`SQLITE_CHECKPOINT_RESTART`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

import apsw

KEPT_BYTES = 32 << 20  # the file of the log keeps so much when it begins again
LARGE_BYTES = 40 << 20
READERS_WAIT_S = 0.1  # for those who read; under load they take 10 to 75 ms
_PAUSE_S = 0.0005


class WriteAheadLog:
    """The log of one file, as the writers of this process see it. Used in a writer's turn."""

    def __init__(self, path: str) -> None:
        self._path = f"{path}-wal"
        self._large = LARGE_BYTES

    def committed(self, db: apsw.Connection, busy: Callable[[int], bool]) -> None:
        """Begin the log again if it is too large. `db` has no transaction, and `busy` is its busy
        handler. Errors of the engine are left to the next attempt."""
        size = self._size()
        if size <= self._large:
            if size <= LARGE_BYTES:
                self._large = LARGE_BYTES
            return
        self._large = 2 * size
        db.set_busy_handler(_wait_until(time.monotonic() + READERS_WAIT_S))
        try:
            with suppress(apsw.Error):
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
                self._large = size  # the file keeps its size until what is new needs more
        finally:
            db.set_busy_handler(busy)

    def _size(self) -> int:
        try:
            return os.stat(self._path).st_size  # noqa: PTH116 - at each commit, as in the engine
        except OSError:
            return 0


def _wait_until(end: float) -> Callable[[int], bool]:
    """A busy handler that gives up at a time by the monotonic clock, whatever it waits for."""

    def wait(_attempt: int) -> bool:
        if time.monotonic() >= end:
            return False
        time.sleep(_PAUSE_S)
        return True

    return wait
