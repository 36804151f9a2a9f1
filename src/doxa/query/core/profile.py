"""Row counts and times of the steps of a PROFILE."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from doxa.query.core.row import Row


class Profile:
    """Counts the rows and the time of steps as they run."""

    def __init__(self) -> None:
        self.measured: dict[int, list[float]] = {}

    def watch(self, step: Any, rows: Iterator[Row]) -> Iterator[Row]:
        held = self.measured.setdefault(id(step), [0, 0.0])
        while True:
            start = time.perf_counter()
            row = next(rows, None)
            held[1] += (time.perf_counter() - start) * 1000
            if row is None:
                return
            held[0] += 1
            yield row
