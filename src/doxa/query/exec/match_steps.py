"""The steps of a MATCH that run in Python: filters, variable lengths, shortest paths, quantified
patterns, path values and the uniqueness of edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from doxa.cypher import tree as t
from doxa.query.core.comparison import equals
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.core.errors import fail, shown
from doxa.query.core.pattern import EdgeVar, plain_types
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate, QueryStep
from doxa.query.exec.bfs import AdjacencyScan, reachable_nodes, shortest_path_edges
from doxa.query.exec.trails import Adjacency, ordered_trails, shortest, trails
from doxa.query.expressions.label_tests import label_test
from doxa.query.sql.visible_edges import ALL


def nodes_along(start: Node, edges: list[Edge], run: Run) -> list[Node]:
    """Return the nodes of a walk, from its start."""
    nodes = [start]
    here = start.id
    for edge in edges:
        here = edge.end if edge.start == here else edge.start
        nodes.append(run.graph.node(here))
    return nodes


class FilterStep:
    def __init__(self, test: Evaluate, expression: t.Expression) -> None:
        self.test = test
        self.expression = expression

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        test = self.test
        return (row for row in source if test(row, run) is True)


class BoundEdgeStep:
    """Match an edge, or a list of edges, that is already bound: its ends must fit."""

    def __init__(
        self, edge: EdgeVar, *, slot: int, left: tuple[int, bool], right: tuple[int, bool]
    ) -> None:
        self.edge = edge
        self.slot = slot
        self.left, self.right = left, right
        assert isinstance(edge.pattern, t.EdgePattern)
        self.pattern = edge.pattern
        self.typed = label_test(edge.pattern.types) if edge.pattern.types is not None else None

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            value = row[self.slot]
            if value is None:
                continue
            edges = value if self.pattern.length is not None else [value]
            if not isinstance(edges, list) or not all(isinstance(edge, Edge) for edge in edges):
                fail(f"A pattern needs a relationship here, not {shown(value)}.")
            if self.typed is not None and not all(
                self.typed(frozenset((edge.type,))) for edge in edges
            ):
                continue
            for start, end in self._ends(edges, row):
                after = self._bind(row, start, end, run)
                if after is not None:
                    yield after

    def _ends(self, edges: list[Edge], row: Row) -> Iterator[tuple[int, int]]:
        direction = self.pattern.direction
        if self.pattern.length is not None:
            least, most = self.pattern.length
            if len(edges) < (1 if least is None else least) or (
                most is not None and len(edges) > most
            ):
                return
        if not edges:
            known = (
                row[self.left[0]] if self.left[1] else row[self.right[0]] if self.right[1] else None
            )
            if known is not None:
                yield known.id, known.id
            return
        starts = {
            "out": [edges[0].start],
            "in": [edges[0].end],
            "both": list(dict.fromkeys((edges[0].start, edges[0].end))),
        }[direction]
        for start in starts:
            here: int | None = start
            for edge in edges:
                if direction != "in" and edge.start == here:
                    here = edge.end
                elif direction != "out" and edge.end == here:
                    here = edge.start
                else:
                    here = None
                    break
            if here is not None:
                yield start, here

    def _bind(self, row: Row, start: int, end: int, run: Run) -> Row | None:
        after = row
        for (slot, _), identity in ((self.left, start), (self.right, end)):
            if slot < len(after):
                if after[slot] is None or after[slot].id != identity:
                    return None
            else:
                after = (*after, run.graph.node(identity))
        return after


class VariableLengthStep:
    """Expand a variable length from a bound node."""

    def __init__(
        self,
        edge: EdgeVar,
        *,
        left: tuple[int, bool],
        right: tuple[int, bool],
        slot: int,
        passes: Callable[[Row, Run], Callable[[Edge], bool] | None],
        base: int,
        once: bool = False,
        revealed: int = 0,
        open_ended: bool = False,
    ) -> None:
        self.revealed, self.open_ended = revealed, open_ended and revealed < ALL
        assert isinstance(edge.pattern, t.EdgePattern) and edge.pattern.length is not None
        self.edge = edge
        least, most = edge.pattern.length
        self.least, self.most = 1 if least is None else least, most
        self.types = plain_types(edge.pattern.types) or None
        self.forward = left[1]
        self.near, self.far = (left[0], right) if self.forward else (right[0], left)
        self.passes = passes
        flipped = {"out": "in", "in": "out", "both": "both"}
        self.direction = edge.pattern.direction if self.forward else flipped[edge.pattern.direction]
        self.once = once and not self.far[1] and self.direction != "both" and self.least <= 1

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        shared: Adjacency | None = None
        for row in source:
            start = row[self.near]
            target = row[self.far[0]] if self.far[1] else None
            if start is None or (self.far[1] and target is None):
                continue
            if not isinstance(start, Node):
                fail(f"A pattern needs a node here, not {shown(start)}.")
            passes = self.passes(row, run)
            if self.by_levels(passes):
                for end in self.reached(run, start.id):
                    yield (*row, run.graph.node(end), None)
                continue
            if shared is None or passes is not None:
                shared = Adjacency(
                    run,
                    types=self.types,
                    direction=self.direction,
                    passes=passes,
                    revealed=self.revealed,
                    open_ended=self.open_ended,
                )
            for edges, end in trails(shared, start.id, least=self.least, most=self.most):
                run.tick()
                if target is not None and target.id != end:
                    continue
                walked = edges if self.forward else edges[::-1]
                yield (*row, walked) if self.far[1] else (*row, run.graph.node(end), walked)

    def by_levels(self, passes: Callable[[Edge], bool] | None) -> bool:
        """Return whether only the nodes at the ends are asked for, and a search by levels finds
        them."""
        return self.once and passes is None and not self.open_ended

    def reached(self, run: Run, start: int) -> Iterator[int]:
        """Yield the id of each node that a search by levels finds."""
        links = AdjacencyScan(
            run, types=self.types, direction=self.direction, revealed=self.revealed
        )
        return reachable_nodes(links, start, least=self.least, most=self.most)


class ShortestStep:
    """shortestPath or allShortestPaths between two bound nodes."""

    def __init__(
        self,
        edge: EdgeVar,
        *,
        left: int,
        right: int,
        passes: Callable[[Row, Run], Callable[[Edge], bool] | None],
        tests: list[Evaluate],
        path: bool,
        revealed: int = 0,
        open_ended: bool = False,
    ) -> None:
        self.revealed, self.open_ended = revealed, open_ended and revealed < ALL
        assert isinstance(edge.pattern, t.EdgePattern)
        self.edge = edge
        self.left, self.right = left, right
        length = edge.pattern.length or ((1, 1) if edge.pattern.length is None else (1, None))
        self.least = 1 if length[0] is None else length[0]
        self.most = length[1]
        self.types = plain_types(edge.pattern.types) or None
        self.direction = edge.pattern.direction
        self.passes = passes
        self.tests = tests
        self.path = path

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            start, end = row[self.left], row[self.right]
            if start is None or end is None:
                continue
            passes = self.passes(row, run)
            if (
                passes is None
                and not self.tests
                and self.least <= 1
                and start.id != end.id
                and not self.open_ended
            ):
                yield from self._by_levels(run, row)
                continue
            adjacency = Adjacency(
                run,
                types=self.types,
                direction=self.direction,
                passes=passes,
                revealed=self.revealed,
                open_ended=self.open_ended,
            )
            yield from (
                self._tested(run, row, adjacency)
                if self.tests
                else self._plain(run, row, adjacency)
            )

    def _by_levels(self, run: Run, row: Row) -> Iterator[Row]:
        start, end = row[self.left].id, row[self.right].id
        every = self.edge.shortest == "all"
        revealed = self.revealed
        for ids in shortest_path_edges(
            run,
            start,
            end=end,
            types=self.types,
            direction=self.direction,
            most=self.most,
            every=every,
            revealed=revealed,
        ):
            edges = [run.graph.edge(identity, revealed=revealed > 0) for identity in ids]
            yield self._row(run, row, [edge for edge in edges if edge is not None])

    def _plain(self, run: Run, row: Row, adjacency: Adjacency) -> Iterator[Row]:
        start, end = row[self.left], row[self.right]
        every = self.edge.shortest == "all"
        for edges in shortest(
            adjacency, start.id, end=end.id, least=self.least, most=self.most, every=every
        ):
            yield self._row(run, row, edges)

    def _row(self, run: Run, row: Row, edges: list[Edge]) -> Row:
        value: Any = edges
        assert isinstance(self.edge.pattern, t.EdgePattern)
        if self.edge.pattern.length is None:
            value = edges[0]
        after = (*row, value)
        return (
            (*after, Path(nodes_along(row[self.left], edges, run), edges)) if self.path else after
        )

    def _tested(self, run: Run, row: Row, adjacency: Adjacency) -> Iterator[Row]:
        found_at: int | None = None
        for edges, end in ordered_trails(adjacency, row[self.left].id, most=self.most):
            run.tick()
            if found_at is not None and (len(edges) > found_at or self.edge.shortest == "one"):
                return
            if len(edges) < self.least or end != row[self.right].id:
                continue
            after = self._row(run, row, edges)
            if all(test(after, run) is True for test in self.tests):
                found_at = len(edges)
                yield after


class QuantifiedStep:
    """Repeat a pattern; its variables become lists, in the order of the path."""

    def __init__(
        self,
        part: t.QuantifiedPattern,
        *,
        steps: list[QueryStep],
        near: int,
        far: tuple[int, bool],
        start: int,
        end: int,
        base: int,
        forward: bool,
        variables: list[tuple[str, int]],
        edges: list[int],
        nodes: list[int],
        path: int,
    ) -> None:
        self.part, self.steps = part, steps
        self.near, self.far = near, far
        self.start, self.end, self.base, self.forward = start, end, base, forward
        self.variables, self.edges, self.nodes = variables, edges, nodes

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            start = row[self.near]
            if start is None or (self.far[1] and row[self.far[0]] is None):
                continue
            padded = row + (None,) * (self.start - len(row))
            yield from self._repeat(run, row, padded, start, [])

    def _repeat(
        self, run: Run, row: Row, padded: Row, here: Node, laps: list[Row]
    ) -> Iterator[Row]:
        run.tick()
        if len(laps) >= self.part.least:
            after = self._finished(row, here, laps)
            if after is not None:
                yield after
        if self.part.most is not None and len(laps) >= self.part.most:
            return
        used = {lap[slot].id for lap in laps for slot in self.edges}
        for lap in list(run.rows_of_all(self.steps, iter(((*padded, here),)))):
            if not any(lap[slot].id in used for slot in self.edges):
                yield from self._repeat(run, row, padded, lap[self.end], [*laps, lap])

    def _finished(self, row: Row, here: Node, laps: list[Row]) -> Row | None:
        after = row
        if self.far[1]:
            if row[self.far[0]].id != here.id:
                return None
        else:
            after = (*row, here)
        ordered = laps if self.forward else laps[::-1]
        lists = [[lap[slot] for lap in ordered] for _, slot in self.variables]
        return (*after, *lists, [lap[slot] for lap in ordered for slot in self.edges])


class PathStep:
    def __init__(self, name: str, slots: list[int]) -> None:
        self.name = name
        self.slots = slots

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        first = self.slots[0]
        middles = self.slots[1::2]
        for row in source:
            nodes, edges = [row[first]], []
            for slot in middles:
                value = row[slot]
                part = value if isinstance(value, list) else [value]
                nodes.extend(nodes_along(nodes[-1], part, run)[1:])
                edges.extend(part)
            yield (*row, Path(nodes, edges))


class UniqueStep:
    """Drop rows that use an edge twice in one MATCH, across its steps."""

    def __init__(self, slots: list[int]) -> None:
        self.slots = slots

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        for row in source:
            found = [
                edge.id
                for slot in self.slots
                for edge in (row[slot] if isinstance(row[slot], list) else (row[slot],))
            ]
            if len(found) == len(set(found)):
                yield row


def same(one: Any, other: Any) -> bool:
    return equals(one, other) is True
