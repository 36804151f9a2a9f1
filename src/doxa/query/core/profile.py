"""Row counts and times of the steps of a PROFILE."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from doxa.query.core.row import Row

_T = TypeVar("_T")


class Profile:
    """Counts the rows of each step and its own time: without the steps that it pulls from or runs
    inside. A step works when it starts, if it must see all rows first, and for each row."""

    def __init__(self) -> None:
        self.measured: dict[int, list[float]] = {}  # by id of a step: rows, milliseconds
        self._inner_ms = 0.0  # in other steps, since the running step was last entered

    def rows(self, step: Any, run: Any, source: Iterator[Row]) -> Iterator[Row]:
        """Start a step and count what it does."""
        held = self.measured.setdefault(id(step), [0, 0.0])
        return self._watch(held, self._timed(held, lambda: iter(step.rows(run, source))))

    def _watch(self, held: list[float], rows: Iterator[Row]) -> Iterator[Row]:
        while (row := self._timed(held, lambda: next(rows, None))) is not None:
            held[0] += 1
            yield row

    def _timed(self, held: list[float], work: Callable[[], _T]) -> _T:
        before, self._inner_ms = self._inner_ms, 0.0
        start = time.perf_counter()
        try:
            return work()
        finally:
            total = (time.perf_counter() - start) * 1000
            held[1] += total - self._inner_ms
            self._inner_ms = before + total
