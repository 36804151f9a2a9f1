"""The rows of a statement as a session gives them, and the words in which its failures are told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from doxa.base.temporal_python import to_python
from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError, placed
from doxa.query.errors import fail
from doxa.query.evaluate import Row
from doxa.query.explain import Described, described, described_command
from doxa.query.held import Held
from doxa.query.notices import Notice
from doxa.query.run import Plan, Result, Run
from doxa.store import Interrupted


class GraphResult:
    """Rows of one statement: iterate, or `records()`. `summary` is complete once the rows are."""

    def __init__(
        self,
        result: Result,
        release: Callable[[], None] | None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self.columns = result.columns
        self.run = result.run
        self.plan: Plan | None = None
        self.look_up: Callable[[], list[Notice]] = list
        self._rows: Iterator[Row] = iter(result)
        self._release = release
        self._failed = failed

    def __iter__(self) -> GraphResult:
        return self

    def __next__(self) -> Row:
        try:
            with told(self.run):
                return next(self._rows)
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
        """All rows as dictionaries; with `python`, dates and times as those of Python's datetime.
        InputError for one that it cannot hold."""
        if python:
            return [dict(zip(self.columns, map(_python, row), strict=True)) for row in self]
        return [dict(zip(self.columns, row, strict=True)) for row in self]

    def single(self) -> Any:
        """The only value of the only row. Raises QueryError if there is more or less."""
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
        """What was created, set and deleted."""
        return dict(self.run.graph.counters)

    def description(self) -> Described | None:
        """The plan of an EXPLAIN or PROFILE; call it once the rows are taken."""
        if self.plan is None or self.plan.statement.mode is None:
            return None
        if isinstance(self.plan.statement.body, t.Clause):
            return described_command(self.plan.statement.body)
        return described(self.plan.steps, self.run)

    def notices(self) -> list[Notice]:
        """What is odd about the statement though it ran: unknown labels and types, patterns that
        nothing connects."""
        return self.look_up()

    def buffer(self) -> None:
        """Take the rest into memory and let go of the snapshot."""
        if self._release is not None:
            with told(self.run):
                self._rows = iter(Held("rows of an unfinished result").all(self._rows))
            self.close(keep=True)

    def close(self, *, keep: bool = False) -> None:
        """Let go of the snapshot. Rows not yet read are gone, unless they were buffered."""
        if not keep and self._release is not None:
            self._rows = iter(())
        release, self._release = self._release, None
        if release is not None:
            release()


def taken(result: Result) -> list[Row]:
    with told(result.run):
        return list(result)


class told:
    """Work of a run: SQL underneath hears its span, and failures are told in the words of a query:
    why it was stopped, where it went wrong."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run

    def __enter__(self) -> None:
        self.run.graph.reader.watch(self.run.span.stopped)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.run.graph.reader.watch(None)
        if error is None or isinstance(error, StopIteration):
            return
        if isinstance(error, QueryError):
            placed(error, self.run.text)
        elif isinstance(error, Interrupted):
            self.run.span.look()
        elif isinstance(error, MemoryError):
            fail(
                "There is no memory left for this query.",
                kind="MemoryLimit",
                detail="OutOfMemory",
                hint="Narrow it, or work in batches.",
            )
        elif isinstance(error, RecursionError):
            fail(
                "A value of this query nests too deep.",
                kind="ArgumentError",
                detail="NestingTooDeep",
                hint="Build flatter lists and maps.",
            )


def _python(value: Any) -> Any:
    """Dates and times as Python's, also inside lists and maps; elements keep theirs."""
    if type(value) is list:
        return [_python(item) for item in value]
    if type(value) is dict:
        return {name: _python(item) for name, item in value.items()}
    return to_python(value)
