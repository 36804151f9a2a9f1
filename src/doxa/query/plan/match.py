"""Plan MATCH as steps: SQL for connected patterns, expansion of lengths and shortest paths, and
each condition as early as possible.

    MATCH (a:A {x: 1})-[:R]->(b)-[:S*1..3]->(c) WHERE c.y > b.y
    PatternScan a, b, R  ·  VariableLength b -[:S*1..3]-> c  ·  Filter c.y > b.y"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from doxa.cypher import tree as t
from doxa.query.core.elements import Edge
from doxa.query.core.names import InternalName, Kind, is_internal, property_column
from doxa.query.core.pattern import (
    EdgeVar,
    PatternGraph,
    conjuncts,
    decompose,
    equalities,
    plain_types,
    variables_of,
)
from doxa.query.core.row import Layout, Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.exec.match_steps import (
    BoundEdgeStep,
    FilterStep,
    PathStep,
    QuantifiedStep,
    ShortestStep,
    UniqueStep,
    VariableLengthStep,
)
from doxa.query.expressions.compiler import Compiler
from doxa.query.expressions.label_tests import label_test
from doxa.query.plan.open_conditions import OpenConditions
from doxa.query.plan.pattern_order import PATTERN_EDGES_MAX, Component, PatternOrder
from doxa.query.sql.conditions import Conditions, PushedCondition
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.query.sql.visible_edges import ALL, EDGES


class MatchPlanner:
    """Plans one MATCH. `layout` grows as steps bind variables.

    `loads` reports which variables need all their properties, `columns` which single properties are
    read. With `ends_only` the following clause depends on which nodes match, not on how often.
    """

    def __init__(
        self,
        graph: PatternGraph,
        layout: Layout,
        *,
        compiler: Compiler,
        loads: Callable[[str], bool],
        width: int,
        fresh: Iterator[int],
        columns: Callable[[str], tuple[str, ...]] = lambda _: (),
        pushing: bool = True,
        ends_only: bool = False,
        revealed: frozenset[str] = frozenset(),
        tracked: frozenset[str] = frozenset(),
        property_only: frozenset[str] = frozenset(),
    ) -> None:
        self.graph = graph
        self.layout = dict(layout)
        self.before = frozenset(layout)
        self.compiler = compiler
        self.loads = loads
        self.columns = columns
        self.pushing = pushing
        opened = frozenset(key for name, keys in graph.paths if name in revealed for key in keys)
        self.revealed = revealed | opened
        self.reveals = {
            edge.key: ALL if edge.key in opened else EDGES if edge.key in revealed else 0
            for edge in graph.edges
        }
        self.ends_only = ends_only and len(graph.edges) == 1 and not graph.paths
        self.size = width
        self.fresh = fresh
        self.steps: list[QueryStep] = []
        self.conditions = OpenConditions(graph.conjuncts, _own_names(graph), layout)
        self.order = PatternOrder(graph, layout, compiler.tick)
        self._settled = len(layout)  # how many names of the layout these two know
        self.edge_slots: list[str] = []
        self.segments = 0
        path_keys = {key for _, keys in graph.paths for key in keys}
        named = {
            key for key in (*graph.nodes, *(e.key for e in graph.edges)) if not is_internal(key)
        }
        self.property_only = property_only & named  # of these at most single properties are needed
        self.tracked = tracked  # recorded as returned or traversed
        self.required = (named - self.property_only) | path_keys
        for edge in graph.edges:
            if not edge.fixed:
                self.required |= {edge.left, edge.right, edge.key}
        if (
            sum(1 for edge in graph.edges if not edge.fixed or edge.key in layout)
            and len(graph.edges) > 1
        ):
            self.required |= {edge.key for edge in graph.edges}
        self.required |= self._possibly_equal_edges()

    def plan(self) -> tuple[list[QueryStep], dict[str, int], int]:
        """Return the steps, the layout after them and the row's width."""
        self._bound_edges()
        self._filters()
        while not self.order.is_done():
            edge = self.order.next_length()
            if edge is not None:
                self.segments += 2
                self._expand(edge)
                self.order.take(edge)
            else:
                self._push_down(self.order.next_component())
            self._filters()
        self._paths()
        self._filters(last=True)
        if self.segments > 1 and len(self.graph.edges) > 1:
            self._unique()
        return self.steps, self.layout, self.size

    def _slot(self, key: str) -> int:
        self.layout[key] = self.size
        self.size += 1
        return self.layout[key]

    def _place(self, key: str) -> tuple[int, bool]:
        """The slot of a node, and whether it is bound already."""
        if key in self.layout:
            return self.layout[key], True
        return self._slot(key), False

    # Conditions

    def _filters(self, *, last: bool = False) -> None:
        """Add the conditions whose variables are all bound."""
        new = list(islice(reversed(self.layout), len(self.layout) - self._settled))
        self._settled = len(self.layout)
        self.order.bind(reversed(new))
        self.conditions.bind(new)
        for conjunct in self.conditions.take_all() if last else self.conditions.take_ready():
            self.steps.append(FilterStep(self.compiler.condition(conjunct, self.layout), conjunct))

    # Bound edges

    def _bound_edges(self) -> None:
        for edge in self.graph.edges:
            if edge.key in self.before and not edge.shortest:
                self.order.take(edge)
                self.segments += 1
                assert isinstance(edge.pattern, t.EdgePattern)
                left, left_known = self._place(edge.left)
                right, right_known = self._place(edge.right)
                self.edge_slots.append(edge.key)
                self.steps.append(
                    BoundEdgeStep(
                        edge,
                        slot=self.layout[edge.key],
                        left=(left, left_known),
                        right=(right, right_known or edge.left == edge.right),
                    )
                )

    # Pattern scans

    def _possibly_equal_edges(self) -> set[str]:
        """Edges of one component that could equal an edge of another: they are kept to ensure that
        none is used twice."""
        if self.order.fixed_edges > PATTERN_EDGES_MAX:
            return {*self.graph.nodes, *(edge.key for edge in self.graph.edges)}
        components = [found.edges for found in self.order.components() if found.edges]
        return {
            edge.key
            for one in components
            for other in components
            if one is not other
            for edge in one
            for second in other
            if _may_be_equal(edge, second)
        }

    def _push_down(self, component: Component) -> None:
        nodes, edges = component
        self.property_only_here: list[str] = []
        known = {key: self.layout[key] for key in nodes if key in self.layout}
        new = frozenset(nodes) - known.keys()
        conditions = Conditions(
            new,
            frozenset(edge.key for edge in edges),
            self.layout.keys(),
            compiler=self.compiler,
            layout=self.layout,
        )
        pushed = PushedDownPattern(nodes, edges, known, conditions, revealed=self.revealed)
        here = [*new, *(edge.key for edge in edges)]
        for number, conjunct in self.conditions.about(here) if self.pushing else ():
            if conditions.push(conjunct):
                self.conditions.take(number)
        tested = conditions.named()
        later = {key for key in here if self.conditions.about((key,))}
        for key in nodes:
            if key not in pushed.bound and (key in self.required or key in later or key in tested):
                pushed.outputs.append((key, "node", self.loads(key) or key in later))
                self._slot(key)
            elif key not in pushed.bound:
                self._add_unrequired(pushed, key, edge=False)
        for edge in edges:
            self.order.take(edge)
            if edge.key in self.required or edge.key in later or edge.key in tested:
                pushed.outputs.append((edge.key, "edge", self.loads(edge.key) or edge.key in later))
                self._slot(edge.key)
                self.edge_slots.append(edge.key)
            else:
                self._add_unrequired(pushed, edge.key, edge=True)
        if pushed.traversed:
            self._slot(InternalName(Kind.TRAVERSED_IDS, next(self.fresh)))
        for key in dict.fromkeys(
            (*(key for key, _, _ in pushed.outputs), *self.property_only_here)
        ):
            for name in self.columns(key):
                pushed.columns.append((key, name))
                self._slot(property_column(key, name))
        if edges:
            self.segments += 1
        self.steps.append(
            PatternScanStep(
                pushed, [self._fallback(condition) for condition in conditions.accepted]
            )
        )

    def _add_unrequired(self, pushed: PushedDownPattern, key: str, *, edge: bool) -> None:
        """Bind an element without its value: at most single properties, and its id for the access
        log."""
        read = key in self.property_only and bool(self.columns(key))
        if read:
            self.property_only_here.append(key)
        if key in self.tracked and read:
            pushed.outputs.append((key, "edge id" if edge else "node id", False))
            self._slot(InternalName(Kind.ELEMENT_ID, key))
        elif key in self.tracked:
            pushed.traversed.append((key, edge))
        self.layout.setdefault(key, -1)

    def _fallback(self, condition: PushedCondition) -> Evaluate:
        """Compile the condition for Python. A condition without comparisons never needs that."""
        return (
            self.compiler.condition(condition.expression, self.layout)
            if condition.tests
            else lambda row, run: True
        )

    # Variable lengths

    def _known(self, key: str) -> bool:
        return key in self.layout

    def _expand(self, edge: EdgeVar) -> None:
        if isinstance(edge.pattern, t.QuantifiedPattern):
            self._quantified(edge, edge.pattern)
            return
        passes = self._passes(edge.pattern)
        left, left_known = self._place(edge.left)
        right, right_known = self._place(edge.right)
        if edge.left == edge.right:
            right_known = True
        base = self.size
        slot = self._slot(edge.key)
        self.edge_slots.append(edge.key)
        if edge.shortest:
            wanted = self._about_path(edge)
            path_slot = None
            if edge.path is not None:
                path_slot = self._slot(edge.path)
            tests = [self.compiler.condition(conjunct, self.layout) for conjunct in wanted]
            self.steps.append(
                ShortestStep(
                    edge,
                    left=left,
                    right=right,
                    passes=passes,
                    tests=tests,
                    path=path_slot is not None,
                    revealed=self.reveals[edge.key],
                    open_ended=bool({edge.left, edge.right} & self.revealed),
                )
            )
            return
        once = self.ends_only and is_internal(edge.key)
        self.steps.append(
            VariableLengthStep(
                edge,
                left=(left, left_known),
                right=(right, right_known),
                slot=slot,
                passes=passes,
                base=base,
                once=once,
                revealed=self.reveals[edge.key],
                open_ended=(edge.right if left_known else edge.left) in self.revealed,
            )
        )

    def _about_path(self, edge: EdgeVar) -> list[t.Expression]:
        """Split off the conditions on a shortest path: they take part in its search, which finds
        the shortest path that satisfies them."""
        names = {edge.key} if edge.path is None else {edge.key, edge.path}
        wanted = []
        for number, condition in self.conditions.about(names):
            if self.conditions.names_of(number) - names <= self.layout.keys():
                self.conditions.take(number)
                wanted.append(condition)
        return wanted

    def _passes(
        self, pattern: t.EdgePattern
    ) -> Callable[[Row, Run], Callable[[Edge], bool] | None]:
        """Compile the conditions on each edge of a variable length, for one row."""
        name = pattern.variable or InternalName(Kind.STEP)
        inner = {**self.layout, name: self.size}
        variable = t.Variable(name, at=pattern.at)
        tests = [
            self.compiler.condition(item, inner)
            for item in equalities(variable, pattern.properties)
        ]
        if pattern.where is not None:
            tests += [self.compiler.condition(item, inner) for item in conjuncts(pattern.where)]
        typed = (
            label_test(pattern.types)
            if pattern.types is not None and plain_types(pattern.types) is None
            else None
        )
        if not tests and typed is None:
            return lambda row, run: None
        size = self.size

        def bound(row: Row, run: Run) -> Callable[[Edge], bool]:
            padded = row + (None,) * (size - len(row))

            def passes(edge: Edge) -> bool:
                return (typed is None or typed(frozenset((edge.type,)))) and all(
                    test((*padded, edge), run) is True for test in tests
                )

            return passes

        return bound

    # Quantified patterns

    def _quantified(self, edge: EdgeVar, part: t.QuantifiedPattern) -> None:
        forward = self._known(edge.left)
        near, far = (edge.left, edge.right) if forward else (edge.right, edge.left)
        near_slot = self.layout[near]
        far_slot, far_known = self._place(far)
        names = variables_of(part.path)
        inner = decompose((part.path,), part.where, fresh=self.fresh)
        inner_start = inner.nodes[0] if forward else inner.nodes[-1]
        inner_end = inner.nodes[-1] if forward else inner.nodes[0]
        if len(inner.nodes) == 1:
            inner_end = inner_start
        layout = {key: slot for key, slot in self.layout.items() if slot >= 0}
        for key in inner.nodes:
            layout.pop(key, None)
        start_slot = self.size
        layout[inner_start] = start_slot
        revealed = (
            frozenset((*inner.nodes, *(one.key for one in inner.edges)))
            if edge.key in self.revealed
            else self.revealed
        )
        planner = MatchPlanner(
            inner,
            layout,
            compiler=self.compiler,
            loads=lambda _: True,
            width=self.size + 1,
            fresh=self.fresh,
            revealed=frozenset(revealed),
        )
        planner.required |= {*inner.nodes, *(one.key for one in inner.edges)}
        steps, after, _ = planner.plan()
        base = self.size
        slots = {name: self._slot(name) for name in names}
        path_slot = self._slot(edge.key)
        self.edge_slots.append(edge.key)
        self.steps.append(
            QuantifiedStep(
                part,
                steps=steps,
                near=near_slot,
                far=(far_slot, far_known),
                start=start_slot,
                end=after[inner_end],
                base=base,
                forward=forward,
                variables=[(name, after[name]) for name in slots],
                edges=[after[one.key] for one in inner.edges],
                nodes=[after[key] for key in inner.nodes],
                path=path_slot,
            )
        )

    # Paths and uniqueness

    def _paths(self) -> None:
        for name, keys in self.graph.paths:
            if name not in self.layout:
                slots = [self.layout[key] for key in keys]
                self._slot(name)
                self.steps.append(PathStep(name, slots))

    def _unique(self) -> None:
        slots = [self.layout[key] for key in self.edge_slots if key in self.layout]
        if len(slots) > 1:
            self.steps.append(UniqueStep(slots))


def _own_names(graph: PatternGraph) -> set[str]:
    """All names that a MATCH binds."""
    names = {
        *graph.nodes,
        *(edge.key for edge in graph.edges),
        *(name for name, _ in graph.paths),
    }
    for edge in graph.edges:
        if isinstance(edge.pattern, t.QuantifiedPattern):
            names |= set(variables_of(edge.pattern.path))
    return names


def _may_be_equal(one: EdgeVar, other: EdgeVar) -> bool:
    """Whether two parts of a pattern can match the same edge: unless their types are disjoint."""
    if not (isinstance(one.pattern, t.EdgePattern) and isinstance(other.pattern, t.EdgePattern)):
        return True
    names, others = plain_types(one.pattern.types), plain_types(other.pattern.types)
    return not names or not others or bool(set(names) & set(others))
