"""UNWIND and OPTIONAL: steps that multiply rows or keep those without a match."""

from __future__ import annotations

from collections.abc import Iterator

from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep


class UnwindStep:
    """Yield one row for each item; none for null, one for a value that is not a list."""

    def __init__(self, source: Evaluate) -> None:
        self.source = source

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            value = self.source(row, run)
            if value is None:
                continue
            for item in value if isinstance(value, list) else (value,):
                run.tick()
                yield (*row, item)


class OptionalStep:
    """Run steps for each row; a row without a match continues with nulls."""

    def __init__(self, steps: list[QueryStep], width: int) -> None:
        self.steps = steps
        self.nulls = (None,) * width

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            found = False
            for one in run.rows_of_all(self.steps, iter((row,))):
                found = True
                yield one
            if not found:
                yield (*row, *self.nulls)
