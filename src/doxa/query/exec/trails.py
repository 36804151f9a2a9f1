"""Trails: variable lengths and shortest paths that need the properties of their edges.

The edges of each node are read once and cached while nothing is written. `bfs.py` is faster where
ids are enough.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from doxa.query.core.elements import Edge
from doxa.query.core.run import Run
from doxa.query.sql.visible_edges import edge_source, edge_tests, node_test

Passes = Callable[[Edge], bool]
_REMEMBERED_MAX = 50_000


class Adjacency:
    """The edges of nodes that a pattern may follow, as (edge, node at its other end).

    `revealed`: EDGES for hidden edges too, or ALL. `open_ended`: a walk may end at a hidden node
    but not continue from it.
    """

    def __init__(
        self,
        run: Run,
        *,
        types: tuple[str, ...] | None,
        direction: str,
        passes: Passes | None,
        revealed: int = 0,
        open_ended: bool = False,
    ) -> None:
        self.run = run
        self._hidden: set[int] = set()
        self.passes = passes
        self._known: dict[int, list[tuple[Edge, int]]] = {}
        self._epoch = run.graph.epoch
        self._types = types or ()

        def asked(near: str, far: str) -> str:
            tests, seen = (
                edge_tests(run, types, far, revealed=revealed),
                node_test(run, far, revealed=revealed),
            )
            if open_ended and seen:
                tests = tests.removesuffix(f" AND {seen}")
            last = seen if open_ended and seen else "1"
            return (
                f"SELECT id, type, src, dst, json(props), {far}, {last} FROM"
                f" {edge_source(run, revealed=revealed)} e WHERE {near} = ?{tests}"
            )

        out, into = asked("src", "dst"), asked("dst", "src")
        self._sql = {"out": (out,), "in": (into,), "both": (out, f"{into} AND src <> dst")}[
            direction
        ]

    def of(self, node: int) -> list[tuple[Edge, int]]:
        graph = self.run.graph
        if self._epoch != graph.epoch:
            self._known.clear()
            self._epoch = graph.epoch
        if node in self._hidden:
            return []
        found = self._known.get(node)
        if found is None:
            self.run.tick()
            found = []
            for sql in self._sql:
                for row in graph.rows(sql, (node, *self._types)):
                    edge = graph.edge_of(row[0], row[1], row[2], row[3], row[4])
                    if self.passes is None or self.passes(edge):
                        found.append((edge, row[5]))
                        if not row[6]:
                            self._hidden.add(row[5])
            if len(self._known) < _REMEMBERED_MAX:
                self._known[node] = found
        return found


def trails(
    adjacency: Adjacency,
    start: int,
    *,
    least: int,
    most: int | None,
    used: frozenset[int] = frozenset(),
) -> Iterator[tuple[list[Edge], int]]:
    """Yield every walk from `start` that repeats no edge, with its end, depth first. `used` edges
    are excluded."""
    if least == 0:
        yield [], start
    if most == 0:
        return
    path: list[Edge] = []
    walked = set(used)
    stack = [iter(adjacency.of(start))]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            if path:
                walked.discard(path.pop().id)
            continue
        edge, end = step
        if edge.id in walked:
            continue
        path.append(edge)
        walked.add(edge.id)
        if len(path) >= least:
            yield list(path), end
        if most is None or len(path) < most:
            stack.append(iter(adjacency.of(end)))
        else:
            walked.discard(path.pop().id)


def shortest(
    adjacency: Adjacency, start: int, *, end: int, least: int, most: int | None, every: bool
) -> Iterator[list[Edge]]:
    """Yield a shortest walk from start to end, breadth first; with `every`, all of that length."""
    if start == end and least == 0:
        yield []
        return
    if start == end:
        yield from _by_length(
            adjacency, start, end=end, least=max(1, least), most=most, every=every
        )
        return
    if least > 1:
        yield from _by_length(adjacency, start, end=end, least=least, most=most, every=every)
        return
    parents: dict[int, list[tuple[Edge, int]]] = {start: []}
    frontier = [start]
    depth = 0
    while frontier and end not in parents and (most is None or depth < most):
        depth += 1
        level: dict[int, list[tuple[Edge, int]]] = {}
        for node in frontier:
            for edge, other in adjacency.of(node):
                if other not in parents:
                    level.setdefault(other, []).append((edge, node))
        parents.update(level)
        frontier = list(level)
    if end not in parents:
        return
    yield from _unwound(parents, end, start=start, every=every)


def _unwound(
    parents: dict[int, list[tuple[Edge, int]]], end: int, *, start: int, every: bool
) -> Iterator[list[Edge]]:
    stack: list[tuple[int, list[Edge]]] = [(end, [])]
    while stack:
        node, tail = stack.pop()
        if node == start:
            yield tail[::-1]
            if not every:
                return
            continue
        stack.extend((before, [*tail, edge]) for edge, before in reversed(parents[node]))


def _by_length(
    adjacency: Adjacency, start: int, *, end: int, least: int, most: int | None, every: bool
) -> Iterator[list[Edge]]:
    """Search trails of growing length, for a minimum length or a walk back to the start."""
    found_at: int | None = None
    for path, node in ordered_trails(adjacency, start, most=most):
        if found_at is not None and len(path) > found_at:
            return
        if len(path) >= least and node == end:
            yield path
            if not every:
                return
            found_at = len(path)


def ordered_trails(
    adjacency: Adjacency, start: int, *, most: int | None
) -> Iterator[tuple[list[Edge], int]]:
    """Yield trails from `start`, shortest first."""
    queue: deque[tuple[list[Edge], int]] = deque([([], start)])
    while queue:
        path, node = queue.popleft()
        yield path, node
        if most is None or len(path) < most:
            walked = {edge.id for edge in path}
            queue.extend(
                ([*path, edge], other)
                for edge, other in adjacency.of(node)
                if edge.id not in walked
            )
