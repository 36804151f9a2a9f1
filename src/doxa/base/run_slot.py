"""One thread of a server at a time does what needs the interpreter; the others wait without asking
for it.

The interpreter runs one thread at a time. Threads that all want to run take it from each other at
each call that lets go of it, such as each step of a statement: some twenty changes of thread for a
short statement with 32 clients, a third of the server's processor time. A thread with the slot is
not interrupted, since the others wait for the slot.

    take ─► read, execute, answer ─► leave ─► wait for the client

The slot is an order and no lock: nothing relies on it. Who has it for longer than a few
milliseconds is passed over and goes on alongside the next; who waits for something else (a write
lock, the disk) leaves it.
"""

from __future__ import annotations

import threading
import time

LONG_S = 0.005


class _ThreadSlot(threading.local):
    lock: threading.Lock | None = None


_held = _ThreadSlot()


class RunSlot:
    """The slot that some threads share. A thread holds one at most."""

    def __init__(self, long_s: float = LONG_S) -> None:
        """`long_s`: for how many seconds others wait for one who has it."""
        self._long_s = long_s
        self._lock = threading.Lock()
        self._taken_at = 0.0
        self._passing = threading.Lock()

    def take(self) -> None:
        """Wait until nobody has the slot, or who has it has had it for long. Nothing happens if
        this thread has it."""
        while _held.lock is None:
            lock = self._lock
            if lock.acquire(timeout=self._long_s):
                if lock is self._lock:
                    _held.lock, self._taken_at = lock, time.monotonic()
                else:  # who had it was passed over
                    lock.release()
            elif time.monotonic() - self._taken_at >= self._long_s:
                self._pass_over(lock)

    def _pass_over(self, lock: threading.Lock) -> None:
        with self._passing:
            if lock is self._lock:
                self._lock = threading.Lock()


def leave_run_slot() -> None:
    """Let others have the slot of this thread, if it has one: it is about to wait."""
    lock = _held.lock
    if lock is not None:
        _held.lock = None
        lock.release()
