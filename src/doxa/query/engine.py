"""The query engine: compile a text once, keep its plan, and run it many times.

`QueryEngine.prepare` shows the whole path of compilation; `execute` runs a plan on a snapshot or in
a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple

from doxa.base.errors import InputError
from doxa.base.limits import PLANS_MAX, QUERY_TEXT_CHARS_MAX
from doxa.base.values import check_text
from doxa.cypher import tree as t
from doxa.cypher.errors import too_deep
from doxa.cypher.parser import parse
from doxa.cypher.semantics.check import Checked, check
from doxa.cypher.tokens import Tick, no_tick
from doxa.query.brief_writes import BriefWrites
from doxa.query.core.elements import detached
from doxa.query.core.graph import Graph
from doxa.query.core.memory_budget import MemoryBudget
from doxa.query.core.open_transactions import OpenTransactions
from doxa.query.core.row import Row
from doxa.query.core.run import Run, missing_parameter
from doxa.query.deferred_writes import DeferrableWrites
from doxa.query.exec.union import UnionStep
from doxa.query.first_statements import FirstStatements
from doxa.query.notifications import Outline, outline_of
from doxa.query.plan.compiled_read import CompilableRead, compilable_read
from doxa.query.plan.deferrable import may_be_deferred, set_of_rows
from doxa.query.plan.plain_scan import PlainScan, plain_scan
from doxa.query.plan.planner import Planner
from doxa.query.procedures.builtin import builtin
from doxa.query.procedures.registry import RegisteredProcedure, Registry
from doxa.query.procedures.show import show_as_query
from doxa.store import Reader


@dataclass(slots=True)
class Plan:
    """A query ready to run."""

    text: str
    statement: t.Statement
    checked: Checked
    steps: UnionStep | None
    read: CompilableRead | None = None  # if it is one statement of SQL over parameters
    scan: PlainScan | None = None  # if its rows are properties read by one statement
    _outline: Outline | None = None
    tracked_plans: dict[tuple[bool, bool], Plan] = field(
        default_factory=dict
    )  # the same query with hidden columns, by the recorded elements
    # whether running it may change data: EXPLAIN runs nothing
    writes: bool = field(init=False)
    # whether it commits in batches: CALL { } IN TRANSACTIONS
    batched: bool = field(init=False)
    # whether what it answers can be found before it runs
    deferrable: bool = field(init=False)
    # how to find it where the number of its rows says it; False before that was looked for
    counted: CountedSet | Literal[False] | None = False

    def __post_init__(self) -> None:
        self.writes = self.checked.writes and self.statement.mode != "EXPLAIN"
        body = self.statement.body
        self.batched = isinstance(body, t.Query) and any(
            isinstance(c, t.CallSubquery) and c.batch for branch in body.branches for c in branch
        )
        self.deferrable = self.writes and may_be_deferred(self.statement)

    @property
    def outline(self) -> Outline | None:
        """The names and patterns of the text, computed on first use; None for a schema command."""
        if self._outline is None and isinstance(self.statement.body, t.Query):
            self._outline = outline_of(self.statement.body)
        return self._outline


class CountedSet(NamedTuple):
    """What a statement sets, by the number of its rows; see `plan/deferrable.py`."""

    rows: CompilableRead
    plan: Plan  # of `rows`
    parameters: frozenset[str]
    values: tuple[tuple[str, t.Literal | t.ParameterRef], ...]


class Result:
    """An iterator of rows; `records` collects them. `counters` are final once the rows are
    consumed."""

    def __init__(
        self,
        columns: tuple[str, ...],
        rows: Iterator[Row],
        run: Run,
        collected: Sequence[Row] = (),
        lists: Iterator[list[Row]] | None = None,
    ) -> None:
        self.columns = columns
        self.run = run
        self.lists = lists  # the same rows, in lists, where they are read so
        self.collected = collected  # the same rows, where the query writes
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def records(self) -> list[dict[str, Any]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self._rows]

    @property
    def counters(self) -> dict[str, int]:
        return self.run.graph.counters


class QueryEngine:
    """Compiles texts and caches their plans. Safe to share between threads: plans have no state of
    their runs."""

    def __init__(self, registry: Registry | None = None, *, optimise: bool = True) -> None:
        self.registry = registry if registry is not None else builtin(Registry())
        self.optimise = optimise
        self.first_statements = FirstStatements()
        self.brief_writes = BriefWrites()
        self.deferrable_writes = DeferrableWrites()
        self.transactions = OpenTransactions()
        self._plans: dict[str, Plan] = {}

    def prepare(self, text: str, tick: Tick = no_tick) -> Plan:
        """Parse, check and plan, with a tick for each token and expression. Raises QueryError."""
        if not isinstance(text, str):
            raise InputError(
                "A statement is text.", next_step='Call it as run("RETURN 1").', field="text"
            )
        held = self._plans.get(text)
        if held is not None:
            return held
        check_text(text, field="text", bytes_max=QUERY_TEXT_CHARS_MAX * 4)
        statement = parse(text, tick)
        if isinstance(statement.body, t.Show):
            statement = replace(statement, body=show_as_query(statement.body))
        plan = self._planned(text, statement, tick)
        if len(self._plans) >= PLANS_MAX:
            self._plans.pop(next(iter(self._plans)))
        self._plans[text] = plan
        return plan

    def _planned(self, text: str, statement: t.Statement, tick: Tick) -> Plan:
        checked = check(statement, text, procedure=self.registry.signature, tick=tick)
        steps = None
        if isinstance(statement.body, t.Query):
            try:
                steps = Planner(
                    statement.body, self._procedure, optimise=self.optimise, tick=tick
                ).plan(statement.body)
            except RecursionError:
                raise too_deep(text) from None
        read = _compilable(statement, checked, steps) if self.optimise else None
        scan = plain_scan(steps) if self.optimise else None
        return Plan(text, statement, checked, steps, read, scan)

    def counted(self, plan: Plan) -> CountedSet | None:
        """Return how to count what a statement sets that may be deferred, if one compiled read does
        it. Looked for once."""
        if plan.counted is False:
            found = set_of_rows(plan.statement) if self.optimise else None
            rows = None if found is None else self._planned(plan.text, found.rows, no_tick)
            plan.counted = (
                CountedSet(rows.read, rows, found.parameters, found.values)
                if found is not None and rows is not None and rows.read is not None
                else None
            )
        return plan.counted

    def tracking_plan(self, plan: Plan, what: tuple[bool, bool]) -> Plan:
        """Return the same query with hidden columns for the access log; `what`: whether traversed
        nodes, and edges, are recorded."""
        held = plan.tracked_plans.get(what)
        if held is None:
            assert isinstance(plan.statement.body, t.Query)
            steps = Planner(
                plan.statement.body, self._procedure, optimise=self.optimise, tracking=what
            ).plan(plan.statement.body)
            held = plan.tracked_plans[what] = Plan(
                plan.text,
                plan.statement,
                plan.checked,
                steps,
                compilable_read(steps) if plan.read is not None else None,
                plain_scan(steps) if plan.scan is not None else None,
                plan._outline,
            )
        return held

    def _procedure(self, name: str) -> RegisteredProcedure:
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
        """Return the rows of a run. A query that writes runs completely before its first row is
        returned."""
        assert plan.steps is not None
        self._require_parameters(plan, run)
        run.inner = self._within
        if plan.scan is not None and run.profile is None:
            lists = plan.scan.rows(run)
            if run.accesses is not None:
                lists = run.accesses.all_of(lists, run.graph)
            return Result(plan.steps.names, chain.from_iterable(lists), run, lists=lists)
        rows = plan.steps.rows(run, iter(((),)))
        if not plan.steps.names and plan.writes:
            for _ in rows:
                pass
            return Result((), iter(()), run)
        if not plan.steps.names:
            rows = _exhausted(rows)
        elif run.accesses is not None:
            rows = run.accesses.rows(
                rows,
                len(plan.steps.names),
                plan.steps.returned_columns,
                reader=run.graph.reader,
                revealed=run.graph.revealed,
            )
        else:
            rows = detached(rows)
        if plan.writes:
            collected = MemoryBudget("rows of a write").collect(rows)
            return Result(plan.steps.names, iter(collected), run, collected)
        return Result(plan.steps.names, rows, run)

    def _within(self, outer: Run, text: str, params: Mapping[str, Any]) -> list[Row]:
        """Run a text as a part of another run: on its graph, at its time, within its deadline."""
        plan = self.prepare(text, outer.deadline.tick)
        assert plan.steps is not None
        run = Run(outer.graph, params, now_ns=outer.statement_ns, deadline=outer.deadline)
        run.transaction_ns, run.session, run.text = outer.transaction_ns, outer.session, text
        run.inner = self._within
        return MemoryBudget("rows of a procedure").collect(plan.steps.rows(run, iter(((),))))

    def _require_parameters(self, plan: Plan, run: Run) -> None:
        body = plan.statement.body
        assert isinstance(body, t.Query)
        for clauses in body.branches:
            for clause in clauses:
                if isinstance(clause, t.CallProcedure) and clause.args is None:
                    signature = self._procedure(clause.name).signature
                    for name, _ in signature.args:
                        if name not in run.params:
                            missing_parameter(name, phase="compile")


def _compilable(
    statement: t.Statement, checked: Checked, steps: UnionStep | None
) -> CompilableRead | None:
    timed = statement.system_time is not None or statement.valid_time is not None
    if checked.writes or timed or statement.mode is not None:
        return None
    return compilable_read(steps)


def _exhausted(rows: Iterator[Row]) -> Iterator[Row]:
    for _ in rows:
        pass
    return iter(())
