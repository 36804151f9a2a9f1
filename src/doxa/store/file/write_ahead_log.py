"""How large the write-ahead log of a file becomes.

SQLite copies the log into the file after a commit, and begins it again at its start when nobody
reads from it. Where somebody always does, as under the load of a server, it would grow without end,
and readers look through all of it for each page. So the commit that finds it too large waits a
moment, while nobody else writes, until those who read older states have finished. One who begins to
read meanwhile reads from the file alone, and the next commit begins the log again. Somebody who
reads one state for long keeps it growing; the attempt is made again some seconds later.

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
AGAIN_S = 5.0  # after an attempt
# An attempt is several waits for those who read: SQLite looks once at which of the readers' places
# are old, and short readers that follow each other may hold one of these for as long as it waits.
WAITS, WAIT_S = 5, 0.02
_PAUSE_S = 0.0005


class WriteAheadLog:
    """The log of one file, as the writers of this process see it. Used in a writer's turn."""

    def __init__(self, stopped: Callable[[], bool] = lambda: False) -> None:
        """`stopped`: whether to wait no longer."""
        self._stopped = stopped
        self._next = 0.0  # the time of the next attempt, by the monotonic clock

    def committed(self, db: apsw.Connection, busy: Callable[[int], bool]) -> None:
        """Begin the log again if it is too large. `db` has no transaction, and `busy` is its busy
        handler. Whatever goes wrong is left to the next attempt: the commit is durable."""
        with suppress(apsw.Error, OSError):
            if os.stat(db.filename_wal).st_size <= LARGE_BYTES:  # noqa: PTH116 - at each commit
                return
            if time.monotonic() < self._next:
                return
            try:
                self._begin_again(db)
            finally:
                self._next = time.monotonic() + AGAIN_S
                db.set_busy_handler(busy)

    def _begin_again(self, db: apsw.Connection) -> None:
        for _ in range(WAITS):
            db.set_busy_handler(self._waiter())
            with suppress(apsw.BusyError):
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_RESTART)
                return

    def _waiter(self) -> Callable[[int], bool]:
        """A busy handler that gives up after some time of waiting, whatever for: the time that the
        disk takes between is not a part of it."""
        left_s = WAIT_S

        def wait(_attempt: int) -> bool:
            nonlocal left_s
            if left_s <= 0 or self._stopped():
                return False
            began = time.monotonic()
            time.sleep(_PAUSE_S)
            left_s -= time.monotonic() - began
            return True

        return wait
