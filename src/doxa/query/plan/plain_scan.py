"""Plans whose rows are properties read by one SQL statement: they leave the query in lists, so that
what is done around taking rows is done once for many of them.

The lists begin with one row and grow (sql/row_batches.py). Such rows hold no elements, so nothing
has to be detached from the graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from sys import maxsize
from typing import TYPE_CHECKING

from doxa.query.core.row import Row
from doxa.query.core.row_count import row_count
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.exec.projection_steps import DistinctStep, LimitStep, are_done
from doxa.query.sql.pattern_scan import PatternScanStep

if TYPE_CHECKING:
    from doxa.query.exec.union import UnionStep


class PlainScan:
    """A pattern scan whose rows are the rows of the query, with the DISTINCT and LIMIT that follow
    it."""

    def __init__(
        self, step: PatternScanStep, distinct: DistinctStep | None, limit: Evaluate | None
    ) -> None:
        self._step, self._distinct, self._limit = step, distinct, limit

    def rows(self, run: Run) -> Iterator[list[Row]]:
        """Return lists of rows, none of them empty. Raises QueryError for an impossible limit."""
        most = None if self._limit is None else row_count(self._limit, run, "LIMIT")
        if self._distinct is not None:
            return _distinct(self._distinct, self._step.projected(run), most)
        lists = self._step.projected(run, most)
        return lists if most is None else _first(lists, most)


def plain_scan(steps: UnionStep | None) -> PlainScan | None:
    """Return the scan of a plan that is nothing else; None if it is more, or returns elements."""
    found = None if steps is None else steps.single()
    if not found:
        return None
    scan, *rest = found
    limit, distinct = None, None
    if rest and isinstance(last := rest[-1], LimitStep) and not last.whole:
        limit = last.count
        rest.pop()
    if rest and isinstance(last := rest[-1], DistinctStep):
        distinct = last
        rest.pop()
    if not isinstance(scan, PatternScanStep) or scan.decoder() is None or not are_done(rest):
        return None
    return PlainScan(scan, distinct, limit)


def _first(lists: Iterator[list[Row]], most: int) -> Iterator[list[Row]]:
    """Yield the lists up to so many rows, and read no more."""
    while most > 0:
        rows = next(lists, None)
        if rows is None:
            return
        yield rows[:most]
        most -= len(rows)


def _distinct(
    step: DistinctStep, lists: Iterator[list[Row]], most: int | None
) -> Iterator[list[Row]]:
    """Yield the distinct rows, up to so many. What comes before an error is given first."""
    new, left = step.new_rows(), maxsize if most is None else most
    while left and (rows := next(lists, None)) is not None:
        kept: list[Row] = []
        try:
            for row in islice(new(rows), left):
                kept.append(row)
        except Exception:
            if kept:
                yield kept
            raise
        if kept:
            yield kept
            left -= len(kept)
