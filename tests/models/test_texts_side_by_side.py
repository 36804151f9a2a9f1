"""Work in several threads gives what one gives, in order, and its errors are the caller's."""

from __future__ import annotations

import threading

import pytest

from doxa.base.errors import CorruptError
from doxa.models import runtime
from doxa.models.runtime import in_threads


@pytest.mark.parametrize("processors", [1, 2, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_each_item_is_done_once_and_in_order(
    count: int, processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "processors", lambda: processors)
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        return number * number

    assert in_threads(work, range(count), threads=3) == [n * n for n in range(count)]
    assert sorted(done) == list(range(count))


def test_two_threads_work_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "processors", lambda: 2)
    both = threading.Barrier(2, timeout=30)
    in_threads(lambda _: both.wait(), range(2), threads=2)  # one alone would wait in vain


@pytest.mark.parametrize("processors", [1, 2])
def test_the_first_error_is_raised_and_the_rest_left(
    processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime, "processors", lambda: processors)
    begun: list[int] = []

    def work(number: int) -> None:
        begun.append(number)
        if number in (3, 4):
            raise CorruptError(f"text {number} is damaged", next_step="run doxa check")

    with pytest.raises(CorruptError, match="text 3"):
        in_threads(work, range(1_000), threads=2)
    assert len(begun) < 1_000


def test_an_interrupt_is_raised_before_any_error_and_stops_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runtime, "processors", lambda: 2)
    here, begun = threading.get_ident(), list[int]()
    working, failed = threading.Event(), threading.Event()

    def work(number: int) -> None:
        begun.append(number)
        if threading.get_ident() == here:
            working.set()
            assert failed.wait(30)
            raise KeyboardInterrupt
        assert working.wait(30)
        if not failed.is_set():
            failed.set()
            raise CorruptError("a text is damaged", next_step="run doxa check")

    with pytest.raises(KeyboardInterrupt):
        in_threads(work, range(1_000), threads=2)
    assert len(begun) < 1_000
    assert not [one for one in threading.enumerate() if one.name == "doxa-in-threads"]


def test_without_a_new_thread_this_one_does_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(self: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(runtime, "processors", lambda: 2)
    monkeypatch.setattr(threading.Thread, "start", ends)
    assert in_threads(str, range(3), threads=2) == ["0", "1", "2"]
