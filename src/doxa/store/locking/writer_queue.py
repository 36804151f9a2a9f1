"""Who writes next: writers of one process in the order in which they came, and writers of several
processes in turn.

    begin ─► the queue of this process (FIFO) ─► the turnstile between processes ─► BEGIN IMMEDIATE
    end   ◄─ after COMMIT or ROLLBACK: the next of this process

The engine alone has no order: the process that asks at the right moment gets the write lock, and
one that writes without a pause asks more often than one that sleeps between its attempts. So the
first of each process takes the turnstile, waits for the write lock, and gives the turnstile back
when it has the lock. A process that has just written finds the turnstile taken, and comes after
those that waited. One that got through may go on without the turnstile for a few milliseconds: a
change of writer costs both processes the pages that they have in memory.

The turnstile is an empty file next to the database, `<file>-queue`, under an advisory lock. It is
made when a process first finds the write lock taken by another, and removed when one that used it
closes. It decides about order alone: where it cannot be made, or another program ignores it, the
engine's lock still admits one writer at a time.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

import apsw

from doxa.store.locking.group import Group, WriterTurn, join

try:
    import fcntl
except ImportError:  # a system without them: writers of several processes have no order there
    fcntl = None  # type: ignore[assignment]

SUFFIX = "-queue"
_ASK_AGAIN_S = 0.02  # how often one who waits is asked whether to stop
_WAIT_FIRST_S, _WAIT_MOST_S = 0.0003, 0.002
_FREE_S = 0.004


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
        wait = min(_WAIT_MOST_S, _WAIT_FIRST_S * 2 ** min(attempt, 8)) * random.uniform(0.5, 1.5)  # noqa: S311 - spreading load, not security
        self._sleep(min(wait, left))
        return True


class _Waiter:
    """One who waits for the turn in this process."""

    __slots__ = ("_given", "group", "kind")

    def __init__(self, kind: object) -> None:
        self.kind = kind
        self.group: Group | None = None  # whose transaction it goes on with
        self._given = threading.Lock()
        self._given.acquire()

    def wait(self, seconds: float) -> bool:
        return self._given.acquire(timeout=seconds)

    def give(self, group: Group | None) -> None:
        self.group = group
        self._given.release()


class WriterQueue:
    """The writers of this process to one file. `queue_of` returns the one that all connections
    share."""

    def __init__(self, path: str) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._free_until = 0.0
        self._waiting: deque[_Waiter] = deque()
        self._turnstile = Turnstile(path + SUFFIX)

    def _enter(self, waiting: Waiting, kind: object) -> tuple[bool, Group | None]:
        """Wait until it is this writer's turn in this process. False if there was no time."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True, None
            mine = _Waiter(kind)
            self._waiting.append(mine)
        while left := waiting.left_s():
            if mine.wait(min(left, _ASK_AGAIN_S)):
                return True, mine.group
        with self._lock:
            if mine in self._waiting:
                self._waiting.remove(mine)
                return False, None
        return True, mine.group  # given in the same moment

    def leave(self) -> None:
        """Let the next writer of this process go on."""
        with self._lock:
            if self._waiting:
                self._waiting.popleft().give(None)
            else:
                self._taken = False

    def has_next(self, group: Group) -> bool:
        """Whether the next writer may go on with the transaction of a group."""
        return bool(self._waiting) and group.is_open

    def pass_on(self, group: Group) -> bool:
        """Let the next writer of this process go on with the transaction of a group. False if there
        is none that may."""
        with self._lock:
            if not self._waiting or self._waiting[0].kind is not group.kind or not group.is_open:
                return False
            self._waiting.popleft().give(group)
            return True

    def begin(
        self,
        attempt: Callable[[], bool],
        waiting: Waiting,
        db: apsw.Connection,
        *,
        kind: object = None,
    ) -> WriterTurn | None:
        """Wait for the turn of this writer and take the write lock with `attempt`, which says
        whether it got it. None if there was no time. Writers of one `kind` may share a transaction
        of the engine, on the connection of its first; None shares it with nobody."""
        entered, group = self._enter(waiting, kind)
        if not entered:
            return None
        if group is not None:
            return join(self, group)
        held = begun = False
        try:
            begun = time.monotonic() < self._free_until and attempt()
            held = not begun and self._turnstile.take(waiting, make=False)
            tries = 0
            while not (begun := begun or attempt()):
                held = held or self._turnstile.take(waiting, make=True)
                if not waiting.pause(tries):
                    break
                tries += 1
            if held:
                self._free_until = time.monotonic() + _FREE_S
        finally:
            if held:
                self._turnstile.give_back()
            if not begun:
                self.leave()
        return WriterTurn(self, Group(db, kind)) if begun else None

    @property
    def length(self) -> int:
        """How many writers of this process wait."""
        return len(self._waiting)

    def close(self) -> None:
        """Remove the turnstile if this process used it and nobody in it is writing. Others make
        it again when they need it."""
        with self._lock:
            if not self._taken:
                self._turnstile.remove()


class Turnstile:
    """A file whose lock one process holds. One thread at a time uses it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._handle: int | None = None
        self._file = (0, 0)

    def take(self, waiting: Waiting, *, make: bool) -> bool:
        """Wait for the lock. False if the file is absent or cannot be used, or there was no
        time."""
        if fcntl is None:
            return False
        attempt = 0
        while self._is_open(make):
            assert self._handle is not None
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if not waiting.pause(attempt):
                    return False
            except OSError:  # a file system without locks
                return False
            attempt += 1
        return False

    def give_back(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                fcntl.flock(self._handle, fcntl.LOCK_UN)

    def remove(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                self._path.unlink()
            self._close()

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
            self._handle = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | flags, 0o600)
        except OSError:
            return False
        found = os.fstat(self._handle)
        self._file = found.st_dev, found.st_ino
        return True

    def _close(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            with suppress(OSError):
                os.close(handle)


_queues: WeakValueDictionary[str, WriterQueue] = WeakValueDictionary()
_queues_lock = threading.Lock()
_queues_of = os.getpid()


def queue_of(path: str) -> WriterQueue:
    """Return the queue of a file, the same for all who name it in this process."""
    global _queues_of
    with _queues_lock:
        if _queues_of != os.getpid():
            _queues.clear()
            _queues_of = os.getpid()
        name = os.path.realpath(path)
        found = _queues.get(name)
        if found is None:
            found = _queues[name] = WriterQueue(name)
        return found


def _forget() -> None:
    """In a forked child: the threads that waited or wrote are the parent's."""
    global _queues_lock
    _queues_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
