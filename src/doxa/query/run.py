"""One execution of a plan, and the engine that keeps plans: text to tree to steps once, rows as
often as asked.

`QueryEngine.prepare` is the whole path of a query's compilation; `execute` runs it against a
snapshot or a transaction.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, Protocol, TypeVar

from doxa.base.errors import InputError
from doxa.base.limits import PLANS_MAX, QUERY_TEXT_CHARS_MAX
from doxa.base.values import check_text
from doxa.cypher import tree as t
from doxa.cypher.check import Checked, check
from doxa.cypher.errors import QueryError, too_deep
from doxa.cypher.parser import parse
from doxa.query.accesses import AccessLog
from doxa.query.builtin import builtin
from doxa.query.evaluate import Row
from doxa.query.explain import Profile
from doxa.query.graph import Graph
from doxa.query.held import Held
from doxa.query.notices import Outline, outline_of
from doxa.query.plan import Planner
from doxa.query.procedures import Procedure, Registry
from doxa.query.show import shown_as_query
from doxa.query.sources import UnionStep
from doxa.query.span import Span
from doxa.query.values import detached
from doxa.store import Reader

T = TypeVar("T")


class Batches(Protocol):
    def commit(self) -> None:
        """Make what was written durable, and go on in a new transaction."""

    def abandon(self) -> None:
        """Undo what was written since the last commit, and go on in a new transaction."""


class Run:
    """What steps and expressions may ask of the execution they belong to."""

    def __init__(
        self,
        graph: Graph,
        params: Mapping[str, Any],
        *,
        now_ns: int,
        span: Span | None = None,
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
        self.session: Any = None  # what the procedures of rooms above belong to
        self.outer_row: Row = ()
        self.profile: Profile | None = None
        self.accesses: AccessLog | None = None
        self.revealing = False  # a procedure whose elements `reveal` asks for is running
        self.batches: Batches | None = (
            None  # how CALL { } IN TRANSACTIONS goes from one transaction to the next
        )
        self.text = ""  # for errors that say where
        self.span = span if span is not None else Span()
        self.tick, self.look = (
            self.span.tick,
            self.span.look,
        )  # tick is called for every row of work

    def realtime_ns(self) -> int:
        return time.time_ns()

    def parameter(self, name: str) -> Any:
        try:
            return self.params[name]
        except KeyError:
            _missing(name, phase="runtime")

    def ticking(self, items: Iterable[T]) -> Iterator[T]:
        """Items of a long list, with a tick for each."""
        for item in items:
            self.tick()
            yield item

    def whole(self, source: Iterator[Row]) -> list[Row]:
        """All rows, before anything is written on their account."""
        return Held("rows before a write").all(source)

    @contextmanager
    def outer(self, row: Row) -> Iterator[None]:
        """The row around a nested query, for groups without rows."""
        before, self.outer_row = self.outer_row, row
        try:
            yield
        finally:
            self.outer_row = before


@dataclass(slots=True)
class Plan:
    """A query ready to run."""

    text: str
    statement: t.Statement
    checked: Checked
    steps: UnionStep | None
    _outline: Outline | None = None
    noted: dict[tuple[bool, bool], Plan] = field(
        default_factory=dict
    )  # the same query with hidden columns, by what is noted

    @property
    def outline(self) -> Outline | None:
        """What its text alone says of it, worked out when first asked for; None for a schema
        command."""
        if self._outline is None and isinstance(self.statement.body, t.Query):
            self._outline = outline_of(self.statement.body)
        return self._outline

    @property
    def writes(self) -> bool:
        """Whether running it may change something: an EXPLAIN runs nothing."""
        return self.checked.writes and self.statement.mode != "EXPLAIN"

    @property
    def batched(self) -> bool:
        """Whether it commits as it goes: CALL { } IN TRANSACTIONS."""
        body = self.statement.body
        return isinstance(body, t.Query) and any(
            isinstance(c, t.CallSubquery) and c.batch for branch in body.branches for c in branch
        )


class Result:
    """Rows as they come: iterate, or take them all with `records`. `counters` are final once the
    rows are."""

    def __init__(self, columns: tuple[str, ...], rows: Iterator[Row], run: Run) -> None:
        self.columns = columns
        self.run = run
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    @property
    def counters(self) -> dict[str, int]:
        return self.run.graph.counters


class QueryEngine:
    """Plans by text. Safe to share between threads: a plan holds no state of its runs."""

    def __init__(self, registry: Registry | None = None, *, optimise: bool = True) -> None:
        self.registry = registry if registry is not None else builtin(Registry())
        self.optimise = optimise
        self._plans: dict[str, Plan] = {}

    def prepare(self, text: str) -> Plan:
        """Parse, check and plan. Raises QueryError."""
        if not isinstance(text, str):
            raise InputError(
                "A statement is text.", next_step='Call it as run("RETURN 1").', field="text"
            )
        check_text(text, field="text", bytes_max=QUERY_TEXT_CHARS_MAX * 4)
        held = self._plans.get(text)
        if held is not None:
            return held
        statement = parse(text)
        if isinstance(statement.body, t.Show):
            statement = replace(statement, body=shown_as_query(statement.body))
        checked = check(statement, text, procedure=self.registry.signature)
        steps = None
        if isinstance(statement.body, t.Query):
            try:
                steps = Planner(statement.body, self._procedure, optimise=self.optimise).plan(
                    statement.body
                )
            except RecursionError:
                raise too_deep(text) from None
        plan = Plan(text, statement, checked, steps)
        if len(self._plans) >= PLANS_MAX:
            self._plans.pop(next(iter(self._plans)))
        self._plans[text] = plan
        return plan

    def noting(self, plan: Plan, what: tuple[bool, bool]) -> Plan:
        """The same query, whose rows know which elements they came from; `what`: whether nodes, and
        edges, passed through are noted."""
        held = plan.noted.get(what)
        if held is None:
            assert isinstance(plan.statement.body, t.Query)
            steps = Planner(
                plan.statement.body, self._procedure, optimise=self.optimise, noting=what
            ).plan(plan.statement.body)
            held = plan.noted[what] = Plan(
                plan.text, plan.statement, plan.checked, steps, plan._outline
            )
        return held

    def _procedure(self, name: str) -> Procedure:
        found = self.registry.find(name)
        assert found is not None, "the check found it"
        return found

    def execute(
        self,
        plan: Plan,
        reader: Reader,
        params: Mapping[str, Any] | None = None,
        *,
        as_of: int | None = None,
    ) -> Result:
        """Run a plan on a snapshot, or in a transaction if it writes."""
        return self.start(plan, Run(Graph(reader, as_of=as_of), params or {}, now_ns=reader.now))

    def start(self, plan: Plan, run: Run) -> Result:
        """The rows of a run. What writes does so while its rows are taken, all of it with the
        first."""
        assert plan.steps is not None
        self._require_parameters(plan, run)
        rows = plan.steps.rows(run, iter(((),)))
        if not plan.steps.names:
            rows = _exhausted(rows)
        elif run.accesses is not None:
            rows = run.accesses.rows(
                rows,
                len(plan.steps.names),
                plan.steps.seen,
                reader=run.graph.reader,
                revealed=run.graph.revealed,
            )
        else:
            rows = detached(rows)
        if plan.writes:
            rows = iter(Held("rows of a write").all(rows))
        return Result(plan.steps.names, rows, run)

    def _require_parameters(self, plan: Plan, run: Run) -> None:
        body = plan.statement.body
        assert isinstance(body, t.Query)
        for clauses in body.branches:
            for clause in clauses:
                if isinstance(clause, t.CallProcedure) and clause.args is None:
                    signature = self._procedure(clause.name).signature
                    for name, _ in signature.args:
                        if name not in run.params:
                            _missing(name, phase="compile")


def _missing(name: str, *, phase: str) -> NoReturn:
    raise QueryError(
        f"The parameter ${name} is missing.",
        kind="ParameterMissing",
        detail="MissingParameter",
        next_step="Pass it with the query.",
        phase=phase,
        name=name,
    )


def _exhausted(rows: Iterator[Row]) -> Iterator[Row]:
    for _ in rows:
        pass
    return iter(())
