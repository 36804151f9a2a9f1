"""Plan a checked tree as steps. One planner per query text; the plan is kept and run many times.

MATCH (a:A) WHERE a.x > $x WITH a, count(*) AS c RETURN a.name, c
PatternScan a  ·  Group a: count  ·  Project a, c  ·  Project a.name, c"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from doxa.cypher import tree as t
from doxa.cypher.semantics.infer import has_aggregate, is_aggregate
from doxa.cypher.tokens import Tick, no_tick
from doxa.query.core.names import OUTER, InternalName, Kind, is_internal
from doxa.query.core.pattern import decompose
from doxa.query.core.row import Layout, Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.exec.degrees import degree_of
from doxa.query.exec.load_csv import CsvStep
from doxa.query.exec.match_steps import FilterStep
from doxa.query.exec.merging import MergeStep, merges_together
from doxa.query.exec.procedure_step import ProcedureStep
from doxa.query.exec.projection_steps import FinishStep
from doxa.query.exec.row_sources import OptionalStep, UnwindStep
from doxa.query.exec.setting import one_target
from doxa.query.exec.subquery import SubqueryStep
from doxa.query.exec.union import Branch, UnionStep
from doxa.query.exec.update_steps import (
    ChangeStep,
    CreateStep,
    DeleteStep,
    ForeachStep,
    PatternMaker,
    changer,
)
from doxa.query.expressions.compiler import Compiler, Nested
from doxa.query.plan.access_tracking import AccessTracking
from doxa.query.plan.hoisting import read_before, slots_of, subqueries_of
from doxa.query.plan.match import MatchPlanner
from doxa.query.plan.projection import plan_projection, project_directly
from doxa.query.plan.revealed import revealed_names
from doxa.query.plan.usage import LaterReads, property_only_variables, variable_usage
from doxa.query.procedures.registry import RegisteredProcedure

FindProcedure = Callable[[str], RegisteredProcedure]
UPDATES = (t.Create, t.Merge, t.Set, t.Remove, t.Delete, t.Foreach)


class Planner(Nested):
    """Plans one query. Without `optimise` SQL only fetches elements and Python does the rest: the
    reference that optimised plans are tested against."""

    def __init__(
        self,
        query: t.Query,
        find_procedure: FindProcedure,
        *,
        optimise: bool = True,
        tracking: tuple[bool, bool] | None = None,
        tick: Tick = no_tick,
    ) -> None:
        self.tracking = None if tracking is None else AccessTracking(query, tracking)
        self.revealed: frozenset[str] = frozenset()  # by reveal(), in the current branch
        self.optimise = optimise
        self.find_procedure = find_procedure
        self.compiler = Compiler(self, tick)
        self.fresh = itertools.count()
        self.alone = True  # no UNION
        self.loaded, self.properties = variable_usage(query)
        if any(isinstance(part, (*UPDATES, t.CallProcedure)) for part in t.walk(query)):
            self.loaded, self.properties = (
                self.loaded | frozenset(self.properties),
                {},
            )  # a single property read early would miss a write
        self.property_only = (
            property_only_variables(query, self.loaded) if optimise else frozenset[str]()
        )

    # Queries

    def plan(self, query: t.Query) -> UnionStep:
        return self.union(query, {}, 0, top=True)

    def union(
        self,
        query: t.Query,
        layout: Layout,
        keep: int,
        *,
        scope: Layout | None = None,
        top: bool = False,
    ) -> UnionStep:
        """Plan all branches, for rows whose first `keep` slots are the outer variables of
        `layout`."""
        if top:
            self.alone = len(query.branches) == 1
        branches = [self.branch(clauses, layout, keep, top=top) for clauses in query.branches]
        return UnionStep(branches, every=query.every, keep=keep, spread=top and len(branches) == 1)

    def branch(
        self,
        clauses: tuple[t.Clause, ...],
        layout: Layout,
        keep: int,
        *,
        top: bool = False,
        importing: bool = False,
    ) -> Branch:
        """Plan one branch. `importing`: only variables that its first WITH names stay visible."""
        outer, self.revealed = (
            self.revealed,
            revealed_names(clauses) | {name for name in self.revealed if name in layout},
        )
        try:
            return self._branch(clauses, layout, keep, top=top, importing=importing)
        finally:
            self.revealed = outer

    def _branch(
        self,
        clauses: tuple[t.Clause, ...],
        layout: Layout,
        keep: int,
        *,
        top: bool,
        importing: bool,
    ) -> Branch:
        steps: list[QueryStep] = []
        columns: dict[str, int] = {}
        current = {**layout, **({OUTER: keep - 1} if keep else {})}
        width = keep
        wrote = False
        later = LaterReads(clauses, self.compiler.tick)
        for at, (clause, following) in enumerate(zip(clauses, (*clauses[1:], None), strict=True)):
            self.compiler.tick()
            if isinstance(clause, t.Return):
                added, current = self._projection(
                    clause.projection,
                    None,
                    current,
                    before=steps,
                    keep=keep,
                    writes=wrote,
                    last=True,
                )
                steps += added
                columns = {name: slot for name, slot in current.items() if slot >= keep}
                if top and self.optimise and not keep and self.alone:
                    project_directly(steps, list(columns))
            elif isinstance(clause, t.With):
                added, current = self._projection(
                    clause.projection,
                    clause.where,
                    current,
                    before=steps,
                    keep=keep,
                    writes=wrote,
                    reads=later.after(at),
                )
                steps += added
                if importing and clause is clauses[0]:
                    current = {
                        name: slot
                        for name, slot in current.items()
                        if slot >= keep or name == OUTER
                    }
                width = max(_width(current), keep)
            else:
                added, current, width = self.clause(
                    clause, current, width, ends_only=_counts_each_once(following)
                )
                steps += added
                if top and len(clauses) == 1 and isinstance(clause, t.CallProcedure):
                    columns = {name: slot for name, slot in current.items() if slot >= keep}
            wrote = wrote or isinstance(clause, (*UPDATES, t.CallSubquery, t.CallProcedure))
        if top and steps and isinstance(steps[-1], CreateStep):
            steps[-1].last = True
        return Branch(steps, columns)

    def _projection(
        self,
        projection: t.Projection,
        where: t.Expression | None,
        layout: dict[str, int],
        *,
        before: list[QueryStep],
        keep: int,
        writes: bool,
        last: bool = False,
        reads: Callable[[str], bool] | None = None,
    ) -> tuple[list[QueryStep], dict[str, int]]:
        if self.tracking is not None:
            projection = self.tracking.with_provenance(
                projection, {name: slot for name, slot in layout.items() if slot >= 0}, last=last
            )
        scope = {
            name: "any" for name, slot in layout.items() if slot >= keep and not is_internal(name)
        }
        return plan_projection(
            projection,
            where,
            before=before if self.optimise else [],
            layout=layout,
            scope=scope,
            compiler=self.compiler,
            keep=keep,
            writes=writes,
            reads=reads if self.optimise else None,
        )

    def _columns(self, key: str) -> tuple[str, ...]:
        """The single properties to read of a variable that is not needed whole."""
        return () if key in self.loaded or not self.optimise else self.properties.get(key, ())

    # Clauses

    def clause(
        self, clause: t.Clause, layout: dict[str, int], width: int, *, ends_only: bool = False
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        """Return the steps, layout and width after one clause. `ends_only`: the next clause does
        not depend on how often a row occurs."""
        match clause:
            case t.Match():
                return self._match(clause, layout, width, ends_only=ends_only and self.optimise)
            case t.Unwind(source, variable):
                step = UnwindStep(self.compiler.compile(source, layout))
                after = dict(layout)
                after.pop(InternalName(Kind.RETURNED, variable), None)
                origin = (
                    self.tracking.provenance_of(source, layout)
                    if self.tracking is not None
                    else None
                )
                return (
                    [step],
                    {
                        **after,
                        variable: width,
                        **(
                            {}
                            if origin is None
                            else {InternalName(Kind.RETURNED, variable): origin}
                        ),
                    },
                    width + 1,
                )
            case t.LoadCsv(source, variable, headers, separator):
                csv = CsvStep(
                    self.compiler.compile(source, layout),
                    headers=headers,
                    separator=separator or ",",
                )
                return [csv], {**layout, variable: width}, width + 1
            case t.CallProcedure():
                return self._procedure(clause, layout, width)
            case t.CallSubquery():
                return self._subquery(clause, layout, width)
            case t.Use() | t.Finish():
                return [FinishStep()] if isinstance(clause, t.Finish) else [], layout, width
            case _:
                return self._update(clause, layout, width)

    def _match(
        self, clause: t.Match, layout: dict[str, int], width: int, *, ends_only: bool = False
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        graph = decompose(clause.patterns, clause.where, fresh=self.fresh)
        if self.tracking is not None:
            self.tracking.add_matched(graph.nodes, (edge.key for edge in graph.edges))
        planner = MatchPlanner(
            graph,
            layout,
            compiler=self.compiler,
            loads=self.loaded.__contains__,
            width=width,
            fresh=self.fresh,
            columns=self._columns,
            pushing=self.optimise,
            ends_only=ends_only,
            revealed=self.revealed,
            tracked=frozenset(self.tracking.matched) if self.tracking is not None else frozenset(),
            property_only=self.property_only,
        )
        steps, after, size = planner.plan()
        visible = {name: slot for name, slot in after.items() if slot >= 0}
        if clause.optional:
            steps = [OptionalStep(steps, size - width)]
        return steps, visible, size

    def _update(
        self, clause: t.Clause, layout: dict[str, int], width: int, *, repeated: bool = False
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        """Plan an updating clause. `repeated`: FOREACH runs it, where an item sees what earlier
        items wrote."""
        match clause:
            case t.Create(patterns):
                return self._create(patterns, layout, width, repeated=repeated)
            case t.Merge():
                return self._merge(clause, layout, width)
            case t.Set(changes) | t.Remove(changes):
                names = slots_of(clause, width)
                wide = {**layout, **{name: width + at for at, name in enumerate(names.values())}}
                step = ChangeStep(
                    [
                        changer(read_before(change, names), wide, self.compiler)
                        for change in changes
                    ],
                    before=[self.compiler.compile(part, layout) for part in names],
                    about=one_target(changes, layout) if self.optimise else None,
                )
                return [step], layout, width
            case t.Delete(targets, detach):
                return (
                    [
                        DeleteStep(
                            [self.compiler.compile(target, layout) for target in targets],
                            detach=detach,
                        )
                    ],
                    layout,
                    width,
                )
            case t.Foreach(variable, source, updates):
                inner, inner_width = {**layout, variable: width}, width + 1
                steps: list[QueryStep] = []
                for update in updates:
                    added, inner, inner_width = self._update(
                        update, inner, inner_width, repeated=True
                    )
                    steps += added
                return [ForeachStep(self.compiler.compile(source, layout), steps)], layout, width
        raise AssertionError(type(clause))

    def _create(
        self,
        patterns: tuple[t.PathPattern, ...],
        layout: dict[str, int],
        width: int,
        *,
        repeated: bool,
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        after = dict(layout)
        made = {
            part.variable
            for pattern in patterns
            for part in (pattern, *pattern.elements)
            if isinstance(part, (t.PathPattern, t.NodePattern, t.EdgePattern))
            and part.variable
            and part.variable not in layout
        }
        names: dict[t.Expression, str] = {}
        for pattern in () if repeated else patterns:
            names |= slots_of(pattern, width + len(names), made)
        before = [self.compiler.compile(part, layout) for part in names]
        for name in names.values():
            after[name] = width
            width += 1
        makers = []
        given = [read_before(pattern, names) for pattern in patterns]
        for pattern in given:
            makers.append(PatternMaker(pattern, after, width, compiler=self.compiler))
            width = makers[-1].width
        reads = any(subqueries_of(pattern) for pattern in given)  # what earlier rows created
        return [CreateStep(makers, before=before, together=not reads)], after, width

    def _merge(
        self, clause: t.Merge, layout: dict[str, int], width: int
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        made = dict(layout)
        maker = PatternMaker(clause.pattern, made, width, compiler=self.compiler)
        graph = decompose((clause.pattern,), None, fresh=self.fresh)
        planner = MatchPlanner(
            graph,
            layout,
            compiler=self.compiler,
            loads=lambda _: False,
            width=width,
            fresh=self.fresh,
            pushing=self.optimise,
        )
        planner.required |= {*graph.nodes, *(edge.key for edge in graph.edges)}
        steps, found, _ = planner.plan()
        keys = _keys_in_order(clause.pattern, graph)
        slots = [found[key] for key, slot in zip(keys, maker.slots, strict=True) if slot >= width]
        targets = [slot for slot in maker.slots if slot >= width]
        unique = list(dict(reversed(list(zip(targets, slots, strict=True)))).values())[::-1]
        if clause.pattern.variable:
            unique.append(found[clause.pattern.variable])
        checks = [
            self.compiler.compile(value, layout)
            for element in clause.pattern.elements
            if isinstance(element, (t.NodePattern, t.EdgePattern))
            and isinstance(element.properties, t.MapOf)
            for _, value in element.properties.items
        ]
        step = MergeStep(
            find=steps,
            slots=unique,
            make=maker,
            checks=checks,
            on_create=[changer(change, made, self.compiler) for change in clause.on_create],
            on_match=[changer(change, made, self.compiler) for change in clause.on_match],
            together=merges_together(clause, layout) if self.optimise else (),
        )
        return [step], made, maker.width

    # CALL

    def _procedure(
        self, clause: t.CallProcedure, layout: dict[str, int], width: int
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        procedure = self.find_procedure(clause.name)
        args = (
            None
            if clause.args is None
            else [self.compiler.compile(arg, layout) for arg in clause.args]
        )
        names = [name for name, _ in procedure.signature.results]
        yields = clause.yields
        if yields is None or yields == (("*", "*"),):
            yields = tuple((name, name) for name in names)
        after = {**layout, **{alias: width + index for index, (_, alias) in enumerate(yields)}}
        revealed = any(alias in self.revealed for _, alias in yields)
        step: QueryStep = ProcedureStep(
            procedure, args, [names.index(name) for name, _ in yields], revealed=revealed
        )
        steps = [step]
        if clause.where is not None:
            steps.append(FilterStep(self.compiler.condition(clause.where, after), clause.where))
        if clause.optional:
            steps = [OptionalStep(steps, len(yields))]
        return steps, after, width + len(yields)

    def _subquery(
        self, clause: t.CallSubquery, layout: dict[str, int], width: int
    ) -> tuple[list[QueryStep], dict[str, int], int]:
        """Plan CALL { }. Rows keep all their slots; a first WITH, or the list of imports, selects
        the visible ones."""
        visible = (
            dict(layout)
            if clause.imports is None or clause.imports == ("*",)
            else {name: layout[name] for name in clause.imports}
        )
        branches = []
        for clauses in clause.query.branches:
            importing = clause.imports is None and isinstance(clauses[0], t.With)
            branches.append(
                self.branch(
                    clauses,
                    visible if importing or clause.imports is not None else {},
                    width,
                    importing=importing,
                )
            )
        union = UnionStep(branches, every=clause.query.every, keep=width)
        names = list(union.names)
        after = {**layout, **{name: width + index for index, name in enumerate(names)}}
        if union.hidden:  # after the columns: their provenance, and the traversed elements
            after |= {InternalName(Kind.RETURNED, name): width + len(names) for name in names}
            after[InternalName(Kind.TRAVERSED, next(self.fresh))] = width + len(names) + 1
        batch = clause.batch
        rows = (
            self.compiler.compile(batch.rows, {})
            if batch is not None and batch.rows is not None
            else None
        )
        step: QueryStep = SubqueryStep(
            union,
            writes=any(isinstance(part, UPDATES) for part in t.walk(clause.query)),
            batch=batch,
            batch_rows=rows,
        )
        size = width + union.width
        if batch is not None and batch.report:
            after[batch.report] = size
            size += 1
        if clause.optional:
            step = OptionalStep([step], size - width)
        return [step], after, size

    # Patterns and queries inside expressions

    def pattern(
        self, pattern: t.PathPattern, where: t.Expression | None, layout: Layout
    ) -> tuple[Callable[[Row, Run], Any], Layout]:
        size = _width(layout)
        graph = decompose((pattern,), where, fresh=self.fresh)
        planner = MatchPlanner(
            graph,
            layout,
            compiler=self.compiler,
            loads=self.loaded.__contains__,
            width=size,
            fresh=self.fresh,
            columns=self._columns,
            pushing=self.optimise,
            revealed=self.revealed,
        )
        steps, after, _ = planner.plan()

        def matches(row: Row, run: Run) -> Iterator[Row]:
            source: Iterator[Row] = iter((row,))
            for step in steps:
                source = step.rows(run, source)
            return source

        return matches, {name: slot for name, slot in after.items() if slot >= 0}

    def query(self, query: t.Query, layout: Layout) -> Callable[[Row, Run], Any]:
        keep = _width(layout)
        tracking, self.tracking = (
            self.tracking,
            None,
        )  # a query inside an expression is only tested or counted
        union = self.union(query, layout, keep)
        self.tracking = tracking

        def results(row: Row, run: Run) -> Iterator[Row]:
            with run.outer(row):
                for found in union.rows(run, iter((row,))):
                    yield found[keep:]

        return results

    def degree(
        self, query: t.Query, layout: Layout, search: Callable[[Row, Run], Any]
    ) -> Evaluate | None:
        return degree_of(query, layout, search) if self.optimise and not self.revealed else None


def _counts_each_once(clause: t.Clause | None) -> bool:
    """Whether the result of a projection is the same if rows are repeated."""
    if not isinstance(clause, (t.Return, t.With)) or clause.projection.star:
        return False
    expressions = [item.expression for item in clause.projection.items] + [
        item.expression for item in clause.projection.order
    ]
    if not any(has_aggregate(expression) for expression in expressions):
        return clause.projection.distinct
    calls = [
        part
        for expression in expressions
        for part in t.walk(expression)
        if isinstance(part, t.Call) and is_aggregate(part)
    ]
    return all(call.distinct or call.name.lower() in ("min", "max") for call in calls)


def _width(layout: Layout) -> int:
    return max(layout.values(), default=-1) + 1


def _keys_in_order(pattern: t.PathPattern, graph: Any) -> list[str]:
    """The keys of a pattern's elements, in order."""
    anonymous_nodes = iter([key for key in graph.nodes if is_internal(key)])
    edges = iter(graph.edges)
    keys = []
    for element in pattern.elements:
        if isinstance(element, t.NodePattern):
            keys.append(element.variable or next(anonymous_nodes))
        else:
            keys.append(next(edges).key)
    return keys
