"""The branches of a query and their UNION."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doxa.query.core.access_log import ProvenanceValues
from doxa.query.core.comparison import group_key
from doxa.query.core.memory_budget import SET_ENTRY_BYTES, MemoryBudget
from doxa.query.core.names import Kind, is_hidden, is_internal
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import QueryStep


@dataclass(slots=True)
class Branch:
    """The steps of one branch; `columns` are slots of the last row. A query that returns nothing
    has no columns."""

    steps: list[QueryStep]
    columns: dict[str, int]

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        return run.rows_of_all(self.steps, source)


class UnionStep:
    """The branches in order, with the first branch's columns after the kept slots."""

    def __init__(
        self, branches: list[Branch], *, every: bool, keep: int, spread: bool = False
    ) -> None:
        """`spread`: keep hidden columns separate. Otherwise two follow the columns: one for all
        returned elements, one for all traversed ones."""
        self.branches = branches
        self.every = every
        self.keep = keep
        self.names = tuple(name for name in branches[0].columns if not is_hidden(name))
        self.hidden = any(is_hidden(name) for branch in branches for name in branch.columns)
        self.spread = spread
        self.returned_columns = (
            sum(is_internal(name, Kind.RETURNED) for name in branches[0].columns)
            if spread
            else int(self.hidden)
        )
        self.width = len(self.names) + (2 if self.hidden else 0)
        self._places = [self._place(branch) for branch in branches]

    def single(self) -> list[QueryStep] | None:
        """Return the steps of the only branch if its rows are the rows of the query."""
        return (
            self.branches[0].steps
            if len(self.branches) == 1 and not self.keep and self._places[0][3]
            else None
        )

    def _place(self, branch: Branch) -> tuple[list[int], list[int], list[int], bool]:
        """The slots of the columns, of returned and of traversed elements, and whether rows already
        have this form."""
        slots = [branch.columns[name] for name in self.names]
        returned, traversed = (
            [slot for name, slot in branch.columns.items() if is_internal(name, kind)]
            for kind in (Kind.RETURNED, Kind.TRAVERSED)
        )
        order = [*slots, *returned, *traversed]
        return (
            slots,
            returned,
            traversed,
            (self.spread or not self.hidden)
            and order == list(range(self.keep, self.keep + len(order))),
        )

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if len(self.branches) == 1:
            return self._branch(run, source, 0)
        return self._all(run, source)

    def _branch(self, run: Run, source: Iterator[Row], number: int) -> Iterator[Row]:
        rows = self.branches[number].rows(run, source)
        slots, returned, traversed, straight = self._places[number]
        keep = self.keep
        if straight:
            return rows
        if self.hidden and not self.spread:
            hidden = returned, traversed
            return (
                (
                    *row[:keep],
                    *[row[slot] for slot in slots],
                    *[ProvenanceValues(row[slot] for slot in one) for one in hidden],
                )
                for row in rows
            )
        return (
            (*row[:keep], *[row[slot] for slot in (*slots, *returned, *traversed)]) for row in rows
        )

    def _all(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            seen: set[Any] = set()
            budget = MemoryBudget("distinct rows")
            for number in range(len(self.branches)):
                for found in self._branch(run, iter((row,)), number):
                    if not self.every:
                        key = tuple(
                            [
                                group_key(value)
                                for value in found[self.keep : self.keep + len(self.names)]
                            ]
                        )
                        if key in seen:
                            continue
                        budget.add_row(key, extra=SET_ENTRY_BYTES)
                        seen.add(key)
                    yield found
