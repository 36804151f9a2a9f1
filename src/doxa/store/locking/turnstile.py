"""Who writes next among processes: a line in which the first writer of each stands.

    <file>-queue   byte 4: process A (its turn)   byte 5: process B   byte 6: process C

The line is an empty file next to the database. One who comes locks the byte after the last that is
locked, and has its turn when no byte before its own is. A lock belongs to an open file: that of a
process that was killed, or that gave up, is gone, and blocks nobody. So the order is that of
arrival, and no number has to be kept anywhere.

The file is made when a process first finds the write lock taken by another, and removed when one
that used it closes. It decides about order alone: where it cannot be made, or another program
ignores it, the engine's lock still admits one writer at a time. Where the system has no locks that
belong to an open file, one lock of the whole file keeps the order of two processes only.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from doxa.base.run_slot import leave_run_slot

try:
    import fcntl
except ImportError:  # a system without them: writers of several processes have no order there
    fcntl = None  # type: ignore[assignment]

_WAIT_FIRST_S, _WAIT_MOST_S = 0.0003, 0.001
_FLOCK = struct.Struct("hhqqi0q")  # type, base, start, length, pid
# elsewhere the record has another layout
_KNOWN = sys.platform == "linux" and struct.calcsize("P") == 8
_CLAIM: Any = getattr(fcntl, "F_OFD_SETLK", None) if _KNOWN else None
_ASK: Any = getattr(fcntl, "F_OFD_GETLK", None) if _KNOWN else None


class Waiting:
    """How long one may wait: until a time by the clock, or until it is stopped."""

    def __init__(
        self,
        limit_ms: int,
        stopped: Callable[[], bool] | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._now, self._sleep = now, sleep
        self._stopped = stopped
        self._until = now() + limit_ms / 1000

    def left_s(self) -> float:
        """Return the seconds that are left; 0 if there are none, or it is stopped."""
        if self._stopped is not None and self._stopped():
            return 0.0
        return max(0.0, self._until - self._now())

    def pause(self, attempt: int) -> bool:
        """Sleep a random time, longer with each attempt. False if there is no time left."""
        left = self.left_s()
        if not left:
            return False
        leave_run_slot()
        wait = min(_WAIT_MOST_S, _WAIT_FIRST_S * 2 ** min(attempt, 8)) * random.uniform(0.5, 1.5)  # noqa: S311 - spreading load, not security
        self._sleep(min(wait, left))
        return True


class Turnstile:
    """The line of processes. One thread of a process at a time uses it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._handle: int | None = None
        self._file = (0, 0)
        self._place: int | None = None

    def take(self, waiting: Waiting, *, make: bool) -> bool:
        """Wait until nobody came before. False if the file is absent or cannot be used, or the
        time is over."""
        if fcntl is None:
            return False
        attempt = 0
        while self._is_open(make):
            try:
                if self._is_first():
                    return True
            except OSError:  # a file system without locks
                return False
            if not waiting.pause(attempt):
                self.give_back()
                return False
            attempt += 1
        return False

    def give_back(self) -> None:
        """Leave the line."""
        if self._handle is None:
            return
        with suppress(OSError):
            if _CLAIM is None:
                fcntl.flock(self._handle, fcntl.LOCK_UN)
            elif self._place is not None:
                self._lock(_CLAIM, fcntl.F_UNLCK, self._place, 1)
        self._place = None

    def remove(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                self._path.unlink()
            self._close()

    def let_go(self) -> None:
        """Close the file in a forked child, which does not unlock the parent's place."""
        self._close()

    def _is_first(self) -> bool:
        """Stand in line, if this process does not; whether nobody stands before it."""
        if _CLAIM is None:
            assert self._handle is not None
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True
        if self._place is None:
            self._place = self._stand()
        return not self._place or self._locked(0, self._place) is None

    def _stand(self) -> int:
        """Lock the byte after the last that is locked."""
        place = 0
        while True:
            while (other := self._locked(place, 0)) is not None:
                place = other + 1
            try:
                self._lock(_CLAIM, fcntl.F_WRLCK, place, 1)
            except (BlockingIOError, PermissionError):  # another came at the same moment
                continue
            return place

    def _locked(self, start: int, length: int) -> int | None:
        """Return a byte that another has locked; `length` 0: to the end of all numbers."""
        kind, _, found, *_ = self._lock(_ASK, fcntl.F_WRLCK, start, length)
        return None if kind == fcntl.F_UNLCK else found

    def _lock(self, command: int, kind: int, start: int, length: int) -> tuple[int, ...]:
        assert self._handle is not None
        asked = _FLOCK.pack(kind, os.SEEK_SET, start, length, 0)
        return _FLOCK.unpack(fcntl.fcntl(self._handle, command, asked))

    def _is_open(self, make: bool) -> bool:
        """Whether the file that is there is open; one that another process removed is closed."""
        try:
            found = self._path.stat()
        except OSError:
            self._close()
            return make and self._open(os.O_CREAT)
        if self._handle is not None and (found.st_dev, found.st_ino) == self._file:
            return True
        self._close()
        return self._open(0)

    def _open(self, flags: int) -> bool:
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CLOEXEC | flags, 0o600)
        except OSError:
            return False
        found = os.fstat(self._handle)
        self._file = found.st_dev, found.st_ino
        return True

    def _close(self) -> None:
        handle, self._handle, self._place = self._handle, None, None
        if handle is not None:
            with suppress(OSError):
                os.close(handle)
