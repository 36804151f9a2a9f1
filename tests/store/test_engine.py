"""The engine's own part: how long a writer waits for another."""

from __future__ import annotations

from doxa.base.limits import BUSY_TIMEOUT_MS
from doxa.store.file.engine import BusyBackoff


def test_patience_ends_when_the_limit_has_passed_by_the_clock() -> None:
    time = [1_000.0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        time[0] += seconds * 1.5  # a loaded machine wakes late

    patience = BusyBackoff(now=lambda: time[0], sleep=sleep)
    for begin in (time[0], time[0] + 1e6):  # each wait has the whole limit
        time[0] = begin
        slept.clear()
        attempt = 0
        while patience(attempt):
            attempt += 1
        waited = time[0] - begin
        assert BUSY_TIMEOUT_MS / 1000 <= waited < BUSY_TIMEOUT_MS / 1000 + 0.05
        assert all(seconds > 0 for seconds in slept)


def test_patience_without_time_gives_up_at_once() -> None:
    assert not BusyBackoff(limit_ms=0)(0)
