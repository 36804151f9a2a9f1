"""The two shapes that a plan consists of: functions of a row, and steps from rows to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from doxa.query.core.row import Row
from doxa.query.core.run import Run

Evaluate = Callable[[Row, Run], Any]


class QueryStep(Protocol):
    """One step of a plan. Steps have no state of a run, so that runs may share them."""

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        """Yield the rows that follow from those of the previous step."""
