"""Translate failures of a run into query errors with a position in the text."""

from __future__ import annotations

from types import TracebackType

from doxa.cypher.errors import QueryError, placed
from doxa.query.core.errors import fail
from doxa.query.core.run import Run
from doxa.store import Interrupted
from doxa.store.file.engine import closed


class translated_errors:
    """Run part of a query: SQLite checks the deadline, and failures become query errors with their
    reason and position."""

    __slots__ = ("run",)

    def __init__(self, run: Run) -> None:
        self.run = run

    def __enter__(self) -> None:
        self.run.graph.reader.watch(self.run.deadline.is_over)

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
            self.run.deadline.raise_if_cancelled()
            raise closed() from error  # by another thread
        elif isinstance(error, MemoryError):
            fail(
                "There is no memory left for this query.",
                kind="MemoryLimit",
                detail="OutOfMemory",
                hint="Narrow it, or work in batches.",
            )
        elif isinstance(error, RecursionError):
            fail(
                "A value of this query, or the query itself, nests too deep.",
                kind="ArgumentError",
                detail="NestingTooDeep",
                hint="Build flatter lists and maps, or nest fewer subqueries.",
            )
