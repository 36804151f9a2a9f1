"""The result of a statement as a session returns it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

from doxa.base.temporal_python import to_python
from doxa.cypher import tree as t
from doxa.query.core.errors import fail
from doxa.query.core.graph import COUNTERS
from doxa.query.core.memory_budget import MemoryBudget
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.engine import Plan
from doxa.query.error_translation import translated_errors
from doxa.query.explain import Described, described, described_command
from doxa.query.notifications import Notification


class GraphResult:
    """The rows of one statement: iterate, or call `records()`."""

    def __init__(
        self,
        columns: tuple[str, ...],
        rows: Iterable[Row],
        run: Run | None = None,
        release: Callable[[], None] | None = None,
        failed: Callable[[], None] = lambda: None,
        lists: Iterator[list[Row]] | None = None,
        counters: Mapping[str, int] | None = None,
    ) -> None:
        """`run`: by which the rows are made, or were; None of a compiled read. `release` lets its
        snapshot go; None: the rows are all there. `lists`: what `rows` takes them from, if that
        gives many at once. `counters`: of a statement that has not run yet."""
        self.columns = columns
        self.run = run
        self.plan: Plan | None = None
        self.look_up: Callable[[], list[Notification]] = list
        self._rows: Iterator[Row] = iter(rows)
        self._lists = lists
        self._taken: Iterator[Row] = iter(())  # of the lists
        self._release = release
        self._failed = failed
        self._counters = counters

    def guard(self, taking: Callable[[Iterator[Row]], Iterator[Row]]) -> None:
        """Take the rows through a function from here on."""
        self._rows = taking(self._rows)
        self._lists = None

    def __iter__(self) -> Iterator[Row]:
        return self if self._release is not None else self._rows

    def __next__(self) -> Row:
        if self._release is None or self.run is None:
            return next(self._rows)
        if self._lists is not None:
            taken = next(self._taken, None)
            if taken is not None:
                return taken
        try:
            with translated_errors(self.run):
                if self._lists is None:
                    return next(self._rows)
                self._taken = iter(next(self._lists))
                return next(self._taken)
        except StopIteration:
            self.close()
            raise
        except BaseException:
            self.close()
            self._failed()
            raise

    def __enter__(self) -> GraphResult:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def records(self, *, python: bool = False) -> list[dict[str, Any]]:
        """Return all rows as dictionaries; with `python`, dates and times as those of Python's
        datetime.

        Raises InputError for a value that datetime cannot represent.
        """
        if python:
            return [dict(zip(self.columns, map(_python, row), strict=True)) for row in self]
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    def single(self) -> Any:
        """Return the only value of the only row. Raises QueryError if there are more or none."""
        rows = list(self)
        if len(rows) != 1 or len(rows[0]) != 1:
            fail(
                f"One value was asked for; there are {len(rows):,} rows of {len(self.columns)}"
                " columns.",
                detail="ResultNotSingle",
            )
        return rows[0][0]

    @property
    def counters(self) -> dict[str, int]:
        """The numbers of created, set and deleted items."""
        if self.run is not None:
            return dict(self.run.graph.counters)
        return dict(self._counters or dict.fromkeys(COUNTERS, 0))

    def description(self) -> Described | None:
        """Return the plan of an EXPLAIN or PROFILE; call it after consuming the rows."""
        if self.plan is None or self.plan.statement.mode is None or self.run is None:
            return None
        if isinstance(self.plan.statement.body, t.Clause):
            return described_command(self.plan.statement.body)
        return described(self.plan.steps, self.run)

    def notices(self) -> list[Notification]:
        """Return notifications: unknown labels and types, unconnected patterns."""
        return self.look_up()

    def buffer(self) -> None:
        """Read the remaining rows into memory and release the snapshot."""
        if self._release is not None and self.run is not None:
            with translated_errors(self.run):
                left = chain(self._taken, self._rows)
                self._rows = iter(MemoryBudget("rows of an unfinished result").collect(left))
            self.close(keep=True)

    def close(self, *, keep: bool = False) -> None:
        """Release the snapshot. Rows not yet read are lost unless they were buffered."""
        if not keep and (self._release is not None or self.run is None):
            self._rows = iter(())
        self._taken, self._lists = iter(()), None
        release, self._release = self._release, None
        if release is not None:
            release()


def _python(value: Any) -> Any:
    """Convert dates and times to Python's, also inside lists and maps, but not inside elements."""
    if type(value) is list:
        return [_python(item) for item in value]
    if type(value) is dict:
        return {name: _python(item) for name, item in value.items()}
    return to_python(value)
