"""The steps of WITH and RETURN: projection, grouping, DISTINCT, SKIP and LIMIT.

The first `keep` slots hold the outer row of a nested query; every projection passes them through.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from operator import itemgetter
from typing import Any

from doxa.query.core.comparison import group_key
from doxa.query.core.memory_budget import SET_ENTRY_BYTES, MemoryBudget
from doxa.query.core.row import Row
from doxa.query.core.row_count import row_count
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.expressions.compiler import slot_of
from doxa.query.functions.aggregates import AGGREGATES, Aggregation, Distinct


class ProjectStep:
    """Compute columns for each row; with `widen`, append them, for an ORDER BY that sees both."""

    def __init__(self, columns: list[Evaluate], *, keep: int, widen: bool = False) -> None:
        self.columns = columns
        self.keep = keep
        self.widen = widen
        self.slots = [slot_of(column) for column in columns]
        self.take_rows = _taken(self.slots)
        self.done = False  # the previous step already returns the columns

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if self.done:
            return source
        columns, keep = self.columns, self.keep
        if self.take_rows is not None and not keep:
            take_rows = self.take_rows
            return (
                map(take_rows, source)
                if not self.widen
                else (row + take_rows(row) for row in source)
            )
        if self.widen:
            return ((*row, *[column(row, run) for column in columns]) for row in source)
        if keep:
            return ((*row[:keep], *[column(row, run) for column in columns]) for row in source)
        return (tuple([column(row, run) for column in columns]) for row in source)


def are_done(steps: Iterable[QueryStep]) -> bool:
    """Return whether the steps are projections that an earlier step has made."""
    return all(type(step) is ProjectStep and step.done for step in steps)


def _taken(slots: list[int | None]) -> Callable[[Row], Row] | None:
    """Return a getter for these slots of a row, or None if a column is more than a slot."""
    if not slots or None in slots:
        return None
    if len(slots) == 1:
        only = slots[0]
        assert only is not None
        return lambda row: (row[only],)
    return itemgetter(*slots)


class SelectColumnsStep:
    """Keep only the columns, after an ORDER BY or WHERE that needed more."""

    def __init__(self, slots: list[int], *, keep: int) -> None:
        self.slots = slots
        self.keep = keep

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        slots, keep = self.slots, self.keep
        return ((*row[:keep], *[row[slot] for slot in slots]) for row in source)


class GroupStep:
    """Yield one row for each group of keys; without keys, exactly one row."""

    def __init__(
        self,
        keys: list[Evaluate],
        aggregates: list[tuple[str, Evaluate | None, list[Evaluate], bool]],
        *,
        keep: int,
    ) -> None:
        self.keys = keys
        self.aggregates = aggregates
        self.keep = keep

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        groups: dict[Any, tuple[tuple[Any, ...], list[Aggregation]]] = {}
        keep, keys, aggregates = self.keep, self.keys, self.aggregates
        budget = MemoryBudget("groups and what they collect")
        first: Row | None = None
        for row in source:
            run.tick()
            first = first or row
            values = tuple([key(row, run) for key in keys])
            name = tuple([group_key(value) for value in values])
            group = groups.get(name)
            if group is None:
                budget.add_row(values, extra=SET_ENTRY_BYTES)
                group = groups[name] = (
                    (*row[:keep], *values),
                    [self._fresh(item, row, run) for item in aggregates],
                )
            for aggregation, (_, argument, _, _) in zip(group[1], aggregates, strict=True):
                value = True if argument is None else argument(row, run)
                if value is not None and aggregation.add(value):
                    budget.add_value(value)
        if not groups and not keys:
            outer = run.outer_row[:keep]
            yield (*outer, *[self._fresh(item, (*outer,), run).result() for item in aggregates])
        for values, aggregations in groups.values():
            yield (*values, *[aggregation.result() for aggregation in aggregations])

    def _fresh(
        self, item: tuple[str, Evaluate | None, list[Evaluate], bool], row: Row, run: Run
    ) -> Aggregation:
        name, _, extra, distinct = item
        try:
            parameters = [one(row, run) for one in extra]
        except IndexError:  # no row: a parameter that depends on rows has no value
            parameters = [0.5 for _ in extra]
        made = AGGREGATES[name](*parameters)
        return Distinct(made) if distinct else made


class DistinctStep:
    """Yield each distinct row once; the last `hidden` columns are not compared."""

    def __init__(self, *, keep: int, hidden: int = 0) -> None:
        self.keep = keep
        self.columns = slice(keep, -hidden if hidden else None)

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        return self.new_rows()(run.ticking(source))

    def new_rows(self) -> Callable[[Iterable[Row]], Iterator[Row]]:
        """Return a function that yields those of its rows that none before equals, in any call."""
        seen: set[Any] = set()
        budget = MemoryBudget("distinct rows")

        def new(rows: Iterable[Row]) -> Iterator[Row]:
            for row in rows:
                key = tuple([group_key(value) for value in row[self.columns]])
                if key not in seen:
                    budget.add_row(key, extra=SET_ENTRY_BYTES)
                    seen.add(key)
                    yield row

        return new


class SkipStep:
    def __init__(self, count: Evaluate) -> None:
        self.count = count

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        return itertools.islice(source, row_count(self.count, run, "SKIP"), None)


class LimitStep:
    """Stop the source early; with `whole`, run it to its end because it writes."""

    def __init__(self, count: Evaluate, *, whole: bool) -> None:
        self.count = count
        self.whole = whole

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        most = row_count(self.count, run, "LIMIT")
        if self.whole:
            return iter(run.materialize(source)[:most])
        return itertools.islice(source, most)


class FinishStep:
    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for _ in source:
            pass
        return iter(())
