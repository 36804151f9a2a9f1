"""One thread of a server at a time does what needs the interpreter; the others wait without asking
for it.

The interpreter runs one thread at a time. Threads that all want to run take it from each other at
each call that lets go of it, such as each step of a statement: some twenty changes of thread for a
short statement with 32 clients, a third of the server's processor time. A thread with the slot is
not interrupted, since the others wait for the slot.

    take ─► read, execute, answer ─► leave ─► wait for the client

It goes from one to the next in the order in which they came. The slot is an order and no lock:
nothing relies on it. Who has it for longer than a few milliseconds is passed over and goes on
alongside the next; who waits for something else (a write lock, the disk) leaves it.
"""

from __future__ import annotations

import threading
import time
from collections import deque

LONG_S = 0.005


class RunSlot:
    """The slot that some threads share. A thread holds one at most."""

    def __init__(self, long_s: float = LONG_S) -> None:
        """`long_s`: for how many seconds others wait for one who has it."""
        self._long_s = long_s
        self._lock = threading.Lock()
        self._holder = 0  # the number of a thread; 0: nobody
        self._taken_at = 0.0
        self._waiting: deque[tuple[int, threading.Lock]] = deque()

    def take(self) -> None:
        """Wait until nobody has the slot who came before, or who has it has had it for long.
        Nothing happens if this thread has it."""
        if _held.slot is not None:
            return
        thread = threading.get_ident()
        with self._lock:
            if not self._holder:
                self._give(thread)
                _held.slot = self
                return
            given = threading.Lock()
            given.acquire()
            self._waiting.append((thread, given))
        while not given.acquire(timeout=self._long_s):
            with self._lock:
                first = bool(self._waiting) and self._waiting[0][1] is given
                if first and time.monotonic() - self._taken_at >= self._long_s:
                    self._waiting.popleft()
                    self._give(thread)
                    break
        _held.slot = self

    def leave(self) -> None:
        """Let the next one have it, unless this thread was passed over."""
        with self._lock:
            if self._holder != threading.get_ident():
                return
            if not self._waiting:
                self._holder = 0
                return
            thread, given = self._waiting.popleft()
            self._give(thread)
        given.release()

    def _give(self, thread: int) -> None:
        self._holder, self._taken_at = thread, time.monotonic()


class _ThreadSlot(threading.local):
    slot: RunSlot | None = None


_held = _ThreadSlot()


def leave_run_slot() -> None:
    """Let others have the slot of this thread, if it has one: it is about to wait."""
    slot = _held.slot
    if slot is not None:
        _held.slot = None
        slot.leave()
