"""One thread of a server at a time does what needs the interpreter; the others wait without asking
for it.

The interpreter runs one thread at a time. Threads that all want to run take it from each other at
each call that lets go of it, such as each step of a statement: some twenty changes of thread for a
short statement with 32 clients, a third of the server's processor time. A thread with the slot is
not interrupted, since the others wait for the slot.

    take ─► read, execute, answer ─► leave ─► wait for the client

While several want the slot, they also share a processor (`bind`): the system wakes a thread on
whichever processor is idle, and each change of thread then moves what the caches hold, which took
as much processor time again as the work. One that runs for long may use any (`free`), and
for a while the others use another one, since that one is busy.

A thread that comes when the slot is free takes it before those that are still waking up, which is
quicker for all; but who has waited for long is given it. The slot is an order and no lock: nothing
relies on it. Who has it for longer than a few milliseconds is passed over and goes on
alongside the next: one who waits looks for that after a time that grows with the line, since each
look takes the interpreter from the holder, and gives the slot to the first in line. Who waits for
something else (a write lock, the disk) leaves it.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress

LONG_S = 0.005
# One who waits looks later for each that waits, up to so many: a look interrupts the holder.
PLACE_S, PLACES_MAX = 0.001, 16
FAIR_S = 0.01  # after which one who waits is given the slot
CROWDED_S = 1.0  # for how long threads share a processor after one had to wait
ASIDE_S = 1.0  # for how long they use another one after one had run for long

_BINDS = hasattr(os, "sched_setaffinity")
_PROCESSORS = sorted(os.sched_getaffinity(0)) if _BINDS else []
ANY = -1  # processor


class ProcessorBinding:
    """Where a thread may run. The thread makes it; the event loop may end it (`RunSlot.free`)."""

    __slots__ = ("processor", "thread_id")

    def __init__(self) -> None:
        self.processor = ANY
        self.thread_id = threading.get_native_id()
        _held.binding = self

    def end(self) -> None:
        """Let the thread run on any processor. If `bind` runs at the same moment, an unbound thread
        may be noted as bound until its next change, and never a bound one as unbound."""
        self.processor = ANY
        _run_on(self.thread_id, _PROCESSORS)


class _ThreadSlot(threading.local):
    slot: RunSlot | None = None
    last: RunSlot | None = None  # that it had, has or waits for
    binding: ProcessorBinding | None = None


_held = _ThreadSlot()


def _run_on(thread_id: int, processors: Sequence[int]) -> None:
    if len(_PROCESSORS) > 1:
        with suppress(OSError):  # the thread has ended, or the system has taken the processor away
            os.sched_setaffinity(thread_id, processors)


def runnable_s(thread_id: int) -> float:
    """Return for how many seconds a thread of this process has run so far, or waited for a
    processor; as if it always had, if the system does not say it. `thread_id`: its number there."""
    try:
        place = os.open(f"/proc/self/task/{thread_id}/schedstat", os.O_RDONLY)
        try:
            ran, waited, *_ = os.read(place, 100).split()
        finally:
            os.close(place)
    except (OSError, ValueError):
        return time.monotonic()
    return (int(ran) + int(waited)) / 1e9


def use_any_processor() -> None:
    """Let this thread, which is about to start threads or processes that compute, run on any
    processor until its client's next message: they may run where it may."""
    if _held.binding is not None and _held.binding.processor != ANY:
        _held.binding.end()


class _SlotWaiter:
    __slots__ = ("_lock", "called", "given", "since", "thread")

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.since = time.monotonic()
        self.called = self.given = False  # guarded by the slot's lock
        self._lock = threading.Lock()
        self._lock.acquire()

    def wait(self, seconds: float) -> None:
        self._lock.acquire(timeout=seconds)

    def call(self) -> None:
        if not self.called:
            self.called = True
            self._lock.release()


class RunSlot:
    """The slot that some threads share. A thread holds one at most."""

    def __init__(self, long_s: float = LONG_S, *, number: int = 0) -> None:
        """`long_s`: for how many seconds others wait for one who has it. `number`: of this process
        among those of a server, which use different processors; 0 if it is the only one."""
        self._long_s = long_s
        self._first = number or os.getpid()  # of the processors: the one to share
        self._crowded_until = self._aside_until = 0.0
        self._lock = threading.Lock()
        self._holder = 0  # the number of a thread; 0: nobody
        self._taken_at = 0.0
        self._waiting: deque[_SlotWaiter] = deque()

    def take(self) -> None:
        """Wait until the slot is free, or who has it has had it for long. Nothing happens if this
        thread has it."""
        if _held.slot is not None:
            return
        _held.last = self
        with self._lock:
            if not self._holder:
                self._give(threading.get_ident())
                _held.slot = self
                return
            mine = _SlotWaiter()
            self._waiting.append(mine)
            self._crowded_until = mine.since + CROWDED_S
        while True:
            mine.wait(self._long_s + min(len(self._waiting), PLACES_MAX) * PLACE_S)
            with self._lock:
                if self._is_mine(mine):
                    break
        _held.slot = self

    def _is_mine(self, mine: _SlotWaiter) -> bool:
        """Whether one who waits has the slot now: it was given, is free, or is had for long."""
        if mine.given:  # and passed over, perhaps, if this thread was slow to wake up
            return True
        if mine.called:  # but another came before
            mine.called = False
            mine.wait(0)
        if not self._holder:
            self._waiting.remove(mine)
            self._give(mine.thread)
            return True
        if time.monotonic() - self._taken_at >= self._long_s:
            self._give_to_first()
        return mine.given

    def leave(self) -> None:
        """Let others have it, unless this thread was passed over."""
        with self._lock:
            if self._holder != threading.get_ident():
                return
            self._holder = 0
            if self._waiting:
                first = self._waiting[0]
                if time.monotonic() - first.since >= FAIR_S:
                    self._give_to_first()
                else:
                    first.call()

    def bind(self, binding: ProcessorBinding) -> None:
        """Let this thread run on the processor that those who want the slot share now, or on any if
        they share none."""
        now = time.monotonic()
        wanted = ANY
        if now < self._crowded_until and len(_PROCESSORS) > 1:
            aside = now < self._aside_until
            wanted = _PROCESSORS[(self._first + aside) % len(_PROCESSORS)]
        if wanted != binding.processor:
            _run_on(0, _PROCESSORS if wanted == ANY else (wanted,))
            binding.processor = wanted

    def free(self, binding: ProcessorBinding) -> None:
        """Let a thread that has run for long use any processor, and the others another one for a
        while."""
        self._aside_until = time.monotonic() + ASIDE_S
        binding.end()

    def awaited_by(self, thread: int) -> bool:
        """Return whether a thread waits for the slot. `thread`: its identifier in Python."""
        return any(one.thread == thread for one in tuple(self._waiting))

    def _give_to_first(self) -> None:
        first = self._waiting.popleft()
        self._give(first.thread)
        first.given = True
        first.call()

    def _give(self, thread: int) -> None:
        self._holder, self._taken_at = thread, time.monotonic()


def leave_run_slot() -> None:
    """Let others have the slot of this thread, if it has one: it is about to wait."""
    slot = _held.slot
    if slot is not None:
        _held.slot = None
        slot.leave()


def resume_run_slot() -> None:
    """Take the slot that this thread had before, if it had one: it has waited together with others
    that all go on now."""
    slot = _held.last
    if slot is not None:
        slot.take()
