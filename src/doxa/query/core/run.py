"""One execution of a plan: parameters, clock, graph, deadline and access log.

Steps and expressions receive the `Run` with every row. It knows nothing of plans, so that every
other package of the query engine can depend on it.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NoReturn, Protocol, TypeVar

from doxa.cypher.errors import QueryError
from doxa.query.core.access_log import AccessLog
from doxa.query.core.deadline import Deadline
from doxa.query.core.graph import Graph
from doxa.query.core.memory_budget import MemoryBudget
from doxa.query.core.open_transactions import OpenTransactions
from doxa.query.core.profile import Profile
from doxa.query.core.row import Row
from doxa.store import Identity
from doxa.store.bulk.collecting import many_objects

T = TypeVar("T")
# Each step pulls rows from the one before, within its call. A chain that is longer than what is
# left of Python's stack, less this for what a step calls, is cut: all rows are collected there,
# which gives up what a LIMIT spares. Few steps fit always.
_STACK_KEPT, _STEPS_FEW = 250, 50
_FEW_ROWS = 64  # too few objects to hold back the collector for


class Batches(Protocol):
    def commit(self) -> None:
        """Commit the current transaction and begin a new one."""

    def abandon(self) -> None:
        """Roll back to the last commit and begin a new transaction."""


class InnerQuery(Protocol):
    def __call__(self, run: Run, text: str, params: Mapping[str, Any], /) -> list[Row]:
        """Run a text on the graph of a run, within its deadline. Returns the rows."""


class Run:
    """The execution that steps and expressions belong to."""

    def __init__(
        self,
        graph: Graph,
        params: Mapping[str, Any],
        *,
        now_ns: int,
        deadline: Deadline | None = None,
        csv_folder: str | None = None,
    ) -> None:
        self.graph = graph
        self.params = params
        self.transaction_ns = now_ns
        self.statement_ns = now_ns
        self.timezone = "Z"
        self.csv_folder = csv_folder
        self.csv_file: str | None = None
        self.csv_line: int | None = None
        self.inner: InnerQuery | None = None  # runs another text as a part of this run
        self.identity: Identity | None = None  # who runs it
        self.transactions: OpenTransactions | None = None  # of this process, on this file
        self.session: Any = None  # the owner, for procedures of other packages
        self.outer_row: Row = ()
        self.profile: Profile | None = None
        self.accesses: AccessLog | None = None
        self.revealing = False  # a procedure runs whose results are passed to reveal()
        self.batches: Batches | None = None  # commits and rolls back for CALL { } IN TRANSACTIONS
        self.text = ""  # for positions in errors
        self.deadline = deadline if deadline is not None else Deadline()
        self.tick, self.raise_if_cancelled = (
            self.deadline.tick,
            self.deadline.raise_if_cancelled,
        )  # tick is called for every row of work

    def realtime_ns(self) -> int:
        return time.time_ns()

    def parameter(self, name: str) -> Any:
        try:
            return self.params[name]
        except KeyError:
            missing_parameter(name, phase="runtime")

    def rows_of(self, step: Any, source: Iterator[Row]) -> Iterator[Row]:
        """Start a step of the plan; PROFILE measures it."""
        if self.profile is not None:
            return self.profile.rows(step, self, source)
        rows: Iterator[Row] = step.rows(self, source)
        return rows

    def rows_of_all(self, steps: Sequence[Any], source: Iterator[Row]) -> Iterator[Row]:
        """Start steps one after another."""
        at_once = self._steps_at_once() if len(steps) > _STEPS_FEW else len(steps)
        for number, step in enumerate(steps):
            if number and number % at_once == 0:
                source = iter(MemoryBudget("rows between clauses").collect(self.ticking(source)))
            source = self.rows_of(step, source)
        return source

    def _steps_at_once(self) -> int:
        """How many steps may pull rows from one another here; with PROFILE each takes up to four
        calls."""
        depth, frame = 0, sys._getframe()
        while (frame := frame.f_back) is not None:  # type: ignore[assignment]
            depth += 1
        left = sys.getrecursionlimit() - depth - _STACK_KEPT
        return max(_STEPS_FEW, left if self.profile is None else left // 4)

    def ticking(self, items: Iterable[T]) -> Iterator[T]:
        """Iterate over a long list with a tick for each item."""
        for item in items:
            self.tick()
            yield item

    def query(self, text: str, params: Mapping[str, Any]) -> list[Row]:
        """Run another text as a part of this run, and return its rows."""
        assert self.inner is not None, "the engine gives it before the first row"
        return self.inner(self, text, params)

    def materialize(self, source: Iterator[Row]) -> list[Row]:
        """Collect all rows before any of them causes a write."""
        budget = MemoryBudget("rows before a write")
        found = budget.collect(islice(source, _FEW_ROWS))
        if len(found) == _FEW_ROWS:
            with many_objects():
                found += budget.collect(source)
        return found

    @contextmanager
    def outer(self, row: Row) -> Iterator[None]:
        """Set the row around a nested query, for groups without rows."""
        before, self.outer_row = self.outer_row, row
        try:
            yield
        finally:
            self.outer_row = before


def missing_parameter(name: str, *, phase: str) -> NoReturn:
    raise QueryError(
        f"The parameter ${name} is missing.",
        kind="ParameterMissing",
        detail="MissingParameter",
        next_step="Pass it with the query.",
        phase=phase,
        name=name,
    )
