"""The slot is one thread's at a time, and no thread waits for one that has it for long."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from doxa.base.run_slot import (
    ANY,
    FAIR_S,
    ProcessorBinding,
    RunSlot,
    _held,
    _SlotWaiter,
    leave_run_slot,
    resume_run_slot,
    runnable_s,
    use_any_processor,
)

FOREVER_S = 60.0
_ALL = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
binds = pytest.mark.skipif(len(_ALL) < 2, reason="needs two processors and a system that binds")


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    """What a test holds on the main thread is forgotten after it: a transaction of a later test
    would wait there for a holder that is gone."""
    yield
    leave_run_slot()
    _held.last = None


def _thread(work: Callable[[], None]) -> threading.Thread:
    made = threading.Thread(target=work)
    made.start()
    return made


def test_threads_have_it_one_after_the_other() -> None:
    slot, inside, most, done = RunSlot(FOREVER_S), 0, 0, 0

    def work() -> None:
        nonlocal inside, most, done
        for _ in range(200):
            slot.take()
            inside += 1
            most = max(most, inside)
            time.sleep(0)  # another thread runs, if it can
            inside -= 1
            done += 1
            leave_run_slot()

    threads = [_thread(work) for _ in range(8)]
    for thread in threads:
        thread.join(30)
    assert (most, done) == (1, 1_600)


def test_one_who_has_it_for_long_is_passed_over() -> None:
    slot, passed, go_on, after = RunSlot(0.01), threading.Event(), threading.Event(), []

    def holder() -> None:
        slot.take()
        assert passed.wait(30)
        leave_run_slot()  # of a slot that others have by now
        go_on.set()

    def other() -> None:
        slot.take()
        passed.set()
        assert go_on.wait(30)
        leave_run_slot()

    def last() -> None:
        slot.take()
        after.append(True)
        leave_run_slot()

    slot.take()
    leave_run_slot()
    threads = [_thread(holder)]
    while not slot._holder:
        time.sleep(0.001)
    threads += [_thread(other), _thread(last), _thread(last)]
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert after == [True, True]


def test_taking_it_twice_and_leaving_without_it_do_nothing() -> None:
    slot = RunSlot(FOREVER_S)
    leave_run_slot()
    slot.take()
    slot.take()
    leave_run_slot()
    leave_run_slot()
    thread = _thread(slot.take)
    thread.join(30)
    assert not thread.is_alive()


def test_who_has_waited_for_long_is_given_it_in_order() -> None:
    slot, came, held = RunSlot(FOREVER_S), [], threading.Event()

    def first() -> None:
        slot.take()
        assert held.wait(30)
        leave_run_slot()

    def later(number: int) -> None:
        slot.take()
        came.append(number)
        leave_run_slot()

    threads = [_thread(first)]
    while not slot._holder:
        time.sleep(0.001)
    for number in range(20):
        threads.append(_thread(partial(later, number)))
        while len(slot._waiting) <= number:
            time.sleep(0.001)
    time.sleep(2 * FAIR_S)
    held.set()
    for thread in threads:
        thread.join(30)
    assert came == list(range(20))


def test_who_looks_first_passes_a_long_holder_over_for_the_first_in_line() -> None:
    """Who comes later waits longer before looking; the one that looks need not be the first."""
    slot, came, over = RunSlot(0.02), [], threading.Event()

    def holder() -> None:
        slot.take()
        assert over.wait(30)
        leave_run_slot()

    def later(number: int) -> None:
        slot.take()
        came.append(number)
        leave_run_slot()
        if len(came) == 3:
            over.set()

    threads = [_thread(holder)]
    while not slot._holder:
        time.sleep(0.001)
    slot._waiting.append(sleeper := _SlotWaiter())  # it does not look by itself
    for number in range(2):
        threads.append(_thread(partial(later, number)))
        while len(slot._waiting) <= number + 1:
            time.sleep(0.001)
    sleeper.wait(30)
    assert sleeper.given
    assert slot._holder == sleeper.thread == threading.get_ident()
    _held.slot = slot
    came.append(-1)
    leave_run_slot()
    for thread in threads:
        thread.join(30)
    assert came == [-1, 0, 1]


@pytest.mark.parametrize("place_s", [0.0, 1.0])
def test_who_waits_among_many_looks_later(monkeypatch: pytest.MonkeyPatch, place_s: float) -> None:
    """Each look takes the interpreter from the holder, and finds nothing while the line moves."""
    slot, in_vain, wait = RunSlot(0.005), [], _SlotWaiter.wait

    def counted(self: _SlotWaiter, seconds: float) -> None:
        wait(self, seconds)
        if seconds and not self.called:
            in_vain.append(seconds)

    monkeypatch.setattr("doxa.base.run_slot.PLACE_S", place_s)
    monkeypatch.setattr(_SlotWaiter, "wait", counted)

    def work() -> None:
        for _ in range(5):
            slot.take()
            time.sleep(0.001)
            leave_run_slot()

    threads = [_thread(work) for _ in range(32)]
    for thread in threads:
        thread.join(60)
    assert bool(in_vain) == (place_s == 0.0)


def test_no_call_is_lost_when_another_thread_comes_before() -> None:
    slot, done = RunSlot(FOREVER_S), [0] * 16

    def work(number: int) -> None:
        for turn in range(500):
            slot.take()
            done[number] += 1
            if turn % 7 == number % 7:
                time.sleep(0)
            leave_run_slot()

    threads = [_thread(partial(work, number)) for number in range(16)]
    for thread in threads:
        thread.join(30)
    assert done == [500] * 16
    assert not slot._holder
    assert not slot._waiting


def test_one_who_was_given_it_and_passed_over_before_waking_up_goes_on() -> None:
    slot = RunSlot(FOREVER_S)
    slot.take()
    waiter = _SlotWaiter()
    waiter.since -= 2 * FAIR_S
    slot._waiting.append(waiter)
    leave_run_slot()
    assert slot._holder == waiter.thread
    assert not slot._waiting
    slot._give(-1)  # another one, after LONG_S
    assert slot._is_mine(waiter)


def _on_a_thread(work: Callable[[], None]) -> None:
    """Run it on a thread of its own, whose binding ends with it."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    _thread(run).join(30)
    if failed:
        raise failed[0]


@binds
def test_threads_share_a_processor_only_while_one_had_to_wait() -> None:
    slot = RunSlot(0.001, number=1)

    def work() -> None:
        binding = ProcessorBinding()
        slot.bind(binding)
        assert os.sched_getaffinity(0) == _ALL
        slot.take()
        waits = _thread(slot.take)  # passes over
        waits.join(30)
        slot.bind(binding)
        assert os.sched_getaffinity(0) == {binding.processor}
        slot._crowded_until = 0.0
        slot.bind(binding)
        assert binding.processor == ANY
        assert os.sched_getaffinity(0) == _ALL

    _on_a_thread(work)


def _crowded(number: int = 0) -> RunSlot:
    slot = RunSlot(number=number)
    slot._crowded_until = time.monotonic() + FOREVER_S
    return slot


def _processor_of(slot: RunSlot) -> int:
    found: list[int] = []

    def work() -> None:
        binding = ProcessorBinding()
        slot.bind(binding)
        assert os.sched_getaffinity(0) == {binding.processor}
        found.append(binding.processor)

    _on_a_thread(work)
    return found[0]


@binds
def test_processes_of_a_server_use_different_processors() -> None:
    slots = [_crowded(number) for number in range(1, len(_ALL) + 1)]
    assert {_processor_of(slot) for slot in slots} == _ALL


@binds
def test_one_who_runs_for_long_may_use_any_and_the_others_another_processor() -> None:
    slot, bound, freed = _crowded(), threading.Event(), threading.Event()
    bindings: list[ProcessorBinding] = []
    first = _processor_of(slot)

    def runs_long() -> None:
        bindings.append(ProcessorBinding())
        slot.bind(bindings[0])
        bound.set()
        assert freed.wait(30)
        assert os.sched_getaffinity(0) == _ALL
        slot.bind(bindings[0])  # at the next message
        assert os.sched_getaffinity(0) == {bindings[0].processor}

    thread = threading.Thread(target=_on_a_thread, args=(runs_long,))
    thread.start()
    assert bound.wait(30)
    slot.free(bindings[0])
    freed.set()
    thread.join(30)
    assert _processor_of(slot) != first
    slot._aside_until = 0.0
    assert _processor_of(slot) == first
    assert bindings[0].processor not in (ANY, first)


@binds
def test_what_a_bound_thread_starts_may_use_any_processor() -> None:
    slot, seen = _crowded(), []

    def start() -> None:
        _thread(lambda: seen.append(os.sched_getaffinity(0))).join(30)

    def work() -> None:
        use_any_processor()
        binding = ProcessorBinding()
        use_any_processor()
        start()
        slot.bind(binding)
        start()
        use_any_processor()
        start()
        assert (binding.processor, os.sched_getaffinity(0)) == (ANY, _ALL)
        slot.bind(binding)
        slot.free(binding)  # while it starts something
        use_any_processor()
        assert (binding.processor, os.sched_getaffinity(0)) == (ANY, _ALL)
        slot.bind(binding)
        binding.end()
        start()

    _on_a_thread(work)
    assert [one == _ALL for one in seen] == [True, False, True, True]


def test_the_slot_knows_who_waits_for_it() -> None:
    slot = RunSlot(FOREVER_S)
    slot.take()
    waits = _thread(slot.take)
    while not slot._waiting:
        time.sleep(0.001)
    assert waits.ident is not None
    assert slot.awaited_by(waits.ident)
    assert not slot.awaited_by(threading.get_ident())
    leave_run_slot()
    waits.join(30)
    assert not slot.awaited_by(waits.ident)


def test_a_thread_that_waits_is_not_counted_as_running() -> None:
    numbers: list[int] = []
    begun, end = threading.Event(), threading.Event()

    def work() -> None:
        numbers.append(threading.get_native_id())
        begun.set()
        end.wait(30)

    thread = _thread(work)
    assert begun.wait(30)
    before = runnable_s(numbers[0]), runnable_s(threading.get_native_id())
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    waited, ran = (
        runnable_s(numbers[0]) - before[0],
        runnable_s(threading.get_native_id()) - before[1],
    )
    end.set()
    thread.join(30)
    assert ran >= 0.15
    if os.path.exists("/proc/self/schedstat"):
        assert waited < 0.1
    assert runnable_s(2**30) <= time.monotonic()  # no thread of this process has this number


def test_who_waited_with_others_takes_the_slot_again() -> None:
    slot, inside, most = RunSlot(FOREVER_S), 0, 0
    go_on = threading.Barrier(6)

    def work() -> None:
        nonlocal inside, most
        slot.take()
        leave_run_slot()
        go_on.wait(30)
        for _ in range(50):
            resume_run_slot()
            inside += 1
            most = max(most, inside)
            time.sleep(0)
            inside -= 1
            leave_run_slot()

    threads = [_thread(work) for _ in range(6)]
    for thread in threads:
        thread.join(30)
    assert most == 1


def test_a_thread_that_never_had_a_slot_resumes_none() -> None:
    _on_a_thread(resume_run_slot)
