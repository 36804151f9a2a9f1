"""How many use an opened log: all memories of a process on one engine share one."""

from __future__ import annotations

import threading


class LogUsers:
    """Counts the users of a log, the first of whom opened it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 1

    def join(self) -> bool:
        """Count one more. False if the last one has left: the log is closed."""
        with self._lock:
            self._count += self._count > 0
            return self._count > 0

    def leave(self) -> bool:
        """Count one less. True if that was the last one, or the log is closed already."""
        with self._lock:
            self._count = max(0, self._count - 1)
            return self._count == 0
