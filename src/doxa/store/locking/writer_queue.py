"""Who writes next: writers of one process in the order in which they came, and writers of several
processes in turn.

    begin ─► the queue of this process (FIFO) ─► the line of processes ─► BEGIN IMMEDIATE
    end   ◄─ after COMMIT or ROLLBACK: the next of this process

The engine alone has no order: the process that asks at the right moment gets the write lock, and
one that writes without a pause asks more often than one that sleeps between its attempts. So the
first of each process stands in line (turnstile.py), waits for the write lock, and leaves the line
when it has that. A process that has just written comes after those that waited. One that got
through may go on without standing in line for a few milliseconds: a change of writer costs both
processes the pages that they have in memory.

Writers of one kind may go on with the transaction of the one before (group.py).
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from weakref import WeakValueDictionary

import apsw

from doxa.base.run_slot import leave_run_slot
from doxa.store.locking.group import CommitGroup, WriterTurn, join
from doxa.store.locking.turnstile import Turnstile, Waiting

SUFFIX = "-queue"
_ASK_AGAIN_S = 0.02  # how often one who waits is asked whether to stop
_FREE_S = 0.004


class _Waiter:
    """One who waits for the turn in this process."""

    __slots__ = ("_given", "group", "kind")

    def __init__(self, kind: object) -> None:
        self.kind = kind
        self.group: CommitGroup | None = None  # whose transaction it goes on with
        self._given = threading.Lock()
        self._given.acquire()

    def wait(self, seconds: float) -> bool:
        return self._given.acquire(timeout=seconds)

    def give(self, group: CommitGroup | None) -> None:
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

    def _enter(self, waiting: Waiting, kind: object) -> tuple[bool, CommitGroup | None]:
        """Wait until it is this writer's turn in this process. False if there was no time."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True, None
            mine = _Waiter(kind)
            self._waiting.append(mine)
        leave_run_slot()
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

    def has_next(self, group: CommitGroup) -> bool:
        """Return whether the next writer may go on with the transaction of a group."""
        return bool(self._waiting) and group.is_open

    def pass_on(self, group: CommitGroup) -> bool:
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
        check: Callable[[], None] = lambda: None,
        after: Callable[[], None] = lambda: None,
        kind: object = None,
    ) -> WriterTurn | None:
        """Wait for the turn of this writer and take the write lock with `attempt`, which says
        whether it got it. None if there was no time. `check` is called before the commit, and
        raises if it may not be; `after` is called after it, by the thread that made it. Writers of
        one `kind` may share a transaction of the engine, on the connection of its first; None
        shares it with nobody."""
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
        return WriterTurn(self, CommitGroup(db, kind, check, after)) if begun else None

    @property
    def taken(self) -> bool:
        """Whether a writer of this process has the turn, or waits for those of others."""
        return self._taken

    @property
    def length(self) -> int:
        """How many writers of this process wait."""
        return len(self._waiting)

    def let_go(self) -> None:
        """Close the file of the line in a forked child: a place in it is the parent's."""
        self._turnstile.let_go()

    def close(self) -> None:
        """Remove the turnstile if this process used it and nobody in it is writing. Others make
        it again when they need it."""
        with self._lock:
            if not self._taken:
                self._turnstile.remove()


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
    for queue in list(_queues.values()):
        queue.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
