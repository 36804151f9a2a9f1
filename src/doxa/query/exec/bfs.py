"""Breadth-first search: one SQL statement per level over the adjacency index, fetching only ids.

    MATCH (a {key: 1})-[:R*1..4]->(b) RETURN count(DISTINCT b)
    the nodes that a length reaches, regardless of the number of paths

    shortestPath((a)-[:R*]-(b))
    from both ends, the smaller frontier first, until the frontiers meet

Conditions on edges and single trails need more than ids; `trails.py` handles them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from doxa.query.core.run import Run
from doxa.query.sql.visible_edges import edge_source, edge_tests
from doxa.store import int64_array

_FLIPPED = {"out": "in", "in": "out", "both": "both"}
Parents = dict[
    int, list[tuple[int, int]]
]  # by node: edges from the previous level, with their start


class AdjacencyScan:
    """The edges that a pattern may follow, without properties."""

    def __init__(
        self, run: Run, *, types: tuple[str, ...] | None, direction: str, revealed: int = 0
    ) -> None:
        self.run = run
        table = edge_source(run, revealed=revealed)
        self._types = types or ()
        sides = {
            "out": (("src", "dst"),),
            "in": (("dst", "src"),),
            "both": (("src", "dst"), ("dst", "src")),
        }[direction]
        tests = {far: edge_tests(run, types, far, revealed=revealed) for _, far in sides}
        self._sql = [
            f"SELECT f.value, e.{far}, e.id FROM carray(?) f CROSS JOIN {table} e WHERE e.{near} ="
            f" f.value{tests[far]}"
            for near, far in sides
        ]

    def of(self, nodes: Collection[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (node, node at the other end, edge) for the edges of these nodes. A loop may occur
        twice."""
        run = self.run
        known = int64_array(list(nodes))
        for sql in self._sql:
            for row in run.graph.rows(sql, (known, *self._types)):
                run.tick()
                yield row[0], row[1], row[2]


def reachable_nodes(
    links: AdjacencyScan, start: int, *, least: int, most: int | None
) -> Iterator[int]:
    """Yield each node at the end of a trail of `least` (0 or 1) to `most` directed edges once,
    nearest first.

    The shortest walk to a node repeats no edge, so that trails and walks end in the same nodes.
    """
    seen: set[int] = set()
    if least == 0:
        seen.add(start)
        yield start
    level: Collection[int] = (start,)
    depth = 0
    while level and (most is None or depth < most):
        depth += 1
        level = {end for _, end, _ in links.of(level)} - seen
        seen |= level
        yield from level


def shortest_path_edges(
    run: Run,
    start: int,
    *,
    end: int,
    types: tuple[str, ...] | None,
    direction: str,
    most: int | None,
    every: bool,
    revealed: int = 0,
) -> Iterator[list[int]]:
    """Yield the edges of a shortest path between two different nodes; with `every`, of each
    shortest path."""
    sides = [
        _Frontier(run, start, types, direction, revealed),
        _Frontier(run, end, types, _FLIPPED[direction], revealed),
    ]
    depth = 0
    while all(side.level for side in sides) and (most is None or depth < most):
        depth += 1
        here, there = sorted(sides, key=lambda side: len(side.level))
        met = [node for node in here.grow() if node in there.parents]
        if met:
            for node in met:
                for first in sides[0].paths(node):
                    for last in sides[1].paths(node):
                        yield first[::-1] + last
                        if not every:
                            return
            return


class _Frontier:
    """A search from one end: the nodes reached, the edges that led there, and the last level."""

    def __init__(
        self, run: Run, start: int, types: tuple[str, ...] | None, direction: str, revealed: int
    ) -> None:
        self.links = AdjacencyScan(run, types=types, direction=direction, revealed=revealed)
        self.parents: Parents = {start: []}
        self.level: Collection[int] = (start,)

    def grow(self) -> Iterable[int]:
        found: Parents = {}
        parents = self.parents
        for node, other, edge in self.links.of(self.level):
            if other not in parents:
                found.setdefault(other, []).append((edge, node))
        parents.update(found)
        self.level = found.keys()
        return self.level

    def paths(self, node: int) -> Iterator[list[int]]:
        """Yield the edges of each way back from `node` to the start of the search."""
        stack: list[tuple[int, list[int]]] = [(node, [])]
        while stack:
            at, tail = stack.pop()
            before = self.parents[at]
            if not before:
                yield tail
            stack.extend((other, [*tail, edge]) for edge, other in reversed(before))
