"""Plan MATCH as steps: SQL for connected patterns, expansion of lengths and shortest paths, and
each condition as early as possible.

    MATCH (a:A {x: 1})-[:R]->(b)-[:S*1..3]->(c) WHERE c.y > b.y
    PatternScan a, b, R  ·  VariableLength b -[:S*1..3]-> c  ·  Filter c.y > b.y"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from doxa.cypher import tree as t
from doxa.query.core.elements import Edge
from doxa.query.core.names import InternalName, Kind, is_internal, property_column
from doxa.query.core.pattern import (
    EdgeVar,
    PatternGraph,
    conjuncts,
    decompose,
    equalities,
    free_variables,
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
from doxa.query.sql.conditions import Conditions, PushedCondition
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.query.sql.visible_edges import ALL, EDGES

# SQLite limits the number of joined tables and the depth of conditions: a larger pattern needs
# several statements.
_PATTERN_EDGES_MAX = 30


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
        self.conjuncts = list(graph.conjuncts)
        self.pending = list(graph.edges)
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
        while self.pending or any(node not in self.layout for node in self.graph.nodes):
            if not self._plan_expansion():
                self._push_down(self._next_component())
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
        for conjunct in list(self.conjuncts):
            needs = free_variables(conjunct) & self._own()
            if needs <= set(self.layout) or last:
                self.conjuncts.remove(conjunct)
                self.steps.append(
                    FilterStep(self.compiler.condition(conjunct, self.layout), conjunct)
                )

    def _own(self) -> set[str]:
        """All names that this MATCH binds."""
        names = {
            *self.graph.nodes,
            *(edge.key for edge in self.graph.edges),
            *(name for name, _ in self.graph.paths),
        }
        for edge in self.graph.edges:
            if isinstance(edge.pattern, t.QuantifiedPattern):
                names |= set(variables_of(edge.pattern.path))
        return names

    # Bound edges

    def _bound_edges(self) -> None:
        for edge in list(self.pending):
            if edge.key in self.layout and not edge.shortest:
                self.pending.remove(edge)
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

    def _next_component(self) -> tuple[list[str], list[EdgeVar]]:
        """The next connected component of fixed edges and unbound nodes; one that contains a bound
        node comes first."""
        components = self._components()
        touching = [
            component
            for component in components
            if any(node in self.layout for node in component[0])
        ]
        return touching[0] if touching else max(components, key=self._selectivity)

    def _components(self) -> list[tuple[list[str], list[EdgeVar]]]:
        fixed = [edge for edge in self.pending if edge.fixed]
        touching: dict[str, list[EdgeVar]] = {}
        for edge in fixed:
            for end in dict.fromkeys((edge.left, edge.right)):
                touching.setdefault(end, []).append(edge)
        seen: set[str] = set()
        components: list[tuple[list[str], list[EdgeVar]]] = []
        for start in self.graph.nodes:
            if start in seen or start in self.layout:
                continue
            nodes, frontier = {start: None}, [start]
            edges: dict[str, EdgeVar] = {}
            while frontier:
                for edge in touching.get(frontier.pop(), ()):
                    if len(edges) >= _PATTERN_EDGES_MAX:
                        break
                    edges[edge.key] = edge
                    for other in (edge.left, edge.right):
                        if other not in nodes:
                            nodes[other] = None
                            if other not in self.layout:
                                frontier.append(other)
            seen.update(node for node in nodes if node not in self.layout)
            components.append((list(nodes), list(edges.values())))
        loose = [edge for edge in fixed if edge.left in self.layout and edge.right in self.layout]
        components.extend(
            ([edge.left, edge.right] if edge.left != edge.right else [edge.left], [edge])
            for edge in loose
        )
        return components

    def _possibly_equal_edges(self) -> set[str]:
        """Edges of one component that could equal an edge of another: they are kept to ensure that
        none is used twice."""
        components = [edges for _, edges in self._components() if edges]
        if sum(edge.fixed for edge in self.pending) > _PATTERN_EDGES_MAX:
            return {*self.graph.nodes, *(edge.key for edge in self.graph.edges)}
        return {
            edge.key
            for one in components
            for other in components
            if one is not other
            for edge in one
            for second in other
            if _may_be_equal(edge, second)
        }

    def _selectivity(self, component: tuple[list[str], list[EdgeVar]]) -> int:
        """Estimate the selectivity of the conditions of a component."""
        best = 0
        for conjunct in self.conjuncts:
            match conjunct:
                case t.HasLabels(t.Variable(key)) if key in component[0]:
                    best = max(best, 1)
                case t.Comparison((t.Property(t.Variable(key)), _), ("=",)) if key in component[0]:
                    best = max(best, 2)
        return best

    def _push_down(self, component: tuple[list[str], list[EdgeVar]]) -> None:
        nodes, edges = component
        self.property_only_here: list[str] = []
        outside = frozenset(self.layout)
        known = {key: self.layout[key] for key in nodes if key in self.layout}
        new = frozenset(nodes) - known.keys()
        conditions = Conditions(
            new,
            frozenset(edge.key for edge in edges),
            outside,
            compiler=self.compiler,
            layout=self.layout,
        )
        pushed = PushedDownPattern(nodes, edges, known, conditions, revealed=self.revealed)
        for conjunct in list(self.conjuncts):
            if self.pushing and conditions.push(conjunct):
                self.conjuncts.remove(conjunct)
        tested = conditions.named()
        later = {name for conjunct in self.conjuncts for name in free_variables(conjunct)}
        for key in nodes:
            if key not in pushed.bound and (key in self.required or key in later or key in tested):
                pushed.outputs.append((key, "node", self.loads(key) or key in later))
                self._slot(key)
            elif key not in pushed.bound:
                self._add_unrequired(pushed, key, edge=False)
        for edge in edges:
            self.pending.remove(edge)
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

    def _plan_expansion(self) -> bool:
        """Plan one variable length, shortest path or quantified pattern from a bound node. Fixed
        edges at bound nodes come first."""
        if any(
            edge.fixed and (self._known(edge.left) or self._known(edge.right))
            for edge in self.pending
        ):
            return False
        for edge in self.pending:
            if edge.fixed:
                continue
            if edge.shortest and not (self._known(edge.left) and self._known(edge.right)):
                continue
            if self._known(edge.left) or self._known(edge.right):
                self.pending.remove(edge)
                self.segments += 2
                self._expand(edge)
                return True
        return False

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
            wanted, self.conjuncts = self._about_path(edge)
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

    def _about_path(self, edge: EdgeVar) -> tuple[list[t.Expression], list[t.Expression]]:
        """Split off the conditions on a shortest path: they take part in its search, which finds
        the shortest path that satisfies them."""
        names = {edge.key, edge.path} - {None}
        wanted = [
            c
            for c in self.conjuncts
            if free_variables(c) & names
            and free_variables(c) & self._own() <= names | set(self.layout)
        ]
        return wanted, [c for c in self.conjuncts if c not in wanted]

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
        layout = {
            key: slot for key, slot in self.layout.items() if slot >= 0 and key not in inner.nodes
        }
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


def _may_be_equal(one: EdgeVar, other: EdgeVar) -> bool:
    """Whether two parts of a pattern can match the same edge: unless their types are disjoint."""
    if not (isinstance(one.pattern, t.EdgePattern) and isinstance(other.pattern, t.EdgePattern)):
        return True
    names, others = plain_types(one.pattern.types), plain_types(other.pattern.types)
    return not names or not others or bool(set(names) & set(others))
