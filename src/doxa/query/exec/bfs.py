"""Breadth-first search: one SQL statement per level over the adjacency index, fetching only ids.

    MATCH (a {key: 1})-[:R*1..4]->(b) RETURN count(DISTINCT b)
    the nodes that a length reaches, regardless of the number of paths

    shortestPath((a)-[:R*]-(b))
    from both ends, the smaller frontier first, until the frontiers meet

Conditions on edges and single trails need more than ids; `trails.py` handles them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from doxa.query.core.run import Run
from doxa.query.sql.visible_edges import edge_source, edge_tests
from doxa.store import ResidentEdges, int64_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_FLAGS = 4_096
_FLIPPED = {"out": "in", "in": "out", "both": "both"}
Parents = dict[
    int, list[tuple[int, int]]
]  # by node: edges from the previous level, with their start


class AdjacencyScan:
    """The edges that a pattern may follow, without properties: from resident arrays if there are
    some for this snapshot, else by SQL."""

    def __init__(
        self, run: Run, *, types: tuple[str, ...] | None, direction: str, revealed: int = 0
    ) -> None:
        self.run = run
        table = edge_source(run, revealed=revealed)
        self._asked = types
        self._types = types or ()
        sides = {
            "out": (("src", "dst"),),
            "in": (("dst", "src"),),
            "both": (("src", "dst"), ("dst", "src")),
        }[direction]
        self._outgoing = [near == "src" for near, _ in sides]
        tests = {far: edge_tests(run, types, far, revealed=revealed) for _, far in sides}
        self._sql = [
            f"SELECT f.value, e.{far}, e.id FROM carray(?) f CROSS JOIN {table} e WHERE e.{near} ="
            f" f.value{tests[far]}"
            for near, far in sides
        ]
        self.resident = self._resident()

    def _resident(self) -> list[ResidentEdges]:
        """Return the resident arrays of all sides, or none."""
        view = self.run.graph.image
        if view is None:
            return []
        found = [view.adjacency(self._asked, outgoing=outgoing) for outgoing in self._outgoing]
        held = [part for part in found if part is not None]
        return held if len(held) == len(found) else []

    def of(self, nodes: Collection[int]) -> Iterator[tuple[int, int, int]]:
        """Yield (node, node at the other end, edge) for the edges of these nodes. A loop may occur
        twice."""
        if self.resident:
            import numpy as np

            known = np.fromiter(nodes, dtype=np.int64, count=len(nodes))
            for near, far, ids in self.arrays_of(known):
                yield from zip(near.tolist(), far.tolist(), ids.tolist(), strict=True)
            return
        listed = list(nodes)
        for side in range(len(self._sql)):
            yield from self._read(side, listed)

    def arrays_of(self, nodes: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield the same as arrays, which must be resident. Of nodes whose edges changed since, the
        edges are read."""
        import numpy as np

        for side, part in enumerate(self.resident):
            self.run.raise_if_cancelled()
            settled = nodes
            if len(part.dirty):
                dirty = np.isin(nodes, part.dirty)
                settled = nodes[~dirty]
                read = list(self._read(side, nodes[dirty].tolist())) if dirty.any() else []
                if read:
                    rows = np.array(read, dtype=np.int64)
                    yield rows[:, 0], rows[:, 1], rows[:, 2]
            yield part.edges_of(settled)

    def all_edges(self) -> tuple[Array, Array]:
        """Return (node, node at the other end) for all edges of one direction, which must be
        resident."""
        import numpy as np

        (part,) = self.resident
        known = np.arange(len(part.offsets) - 1, dtype=np.int64)
        found = list(self.arrays_of(np.union1d(known, part.dirty)))
        return (
            np.concatenate([near for near, _, _ in found]),
            np.concatenate([far for _, far, _ in found]).astype(np.int64),
        )

    def degree(self, node: int) -> int | None:
        """Return how many different edges a node has; None if they are not resident."""
        parts = self.resident
        if not parts:
            return None
        for part in parts:
            if len(part.dirty) and part.is_dirty(node):
                return len(
                    {edge for side in range(len(parts)) for _, _, edge in self._read(side, (node,))}
                )
        return parts[0].degree(node, loops=True) + sum(
            [part.degree(node, loops=False) for part in parts[1:]]
        )

    def spend(self, edges: int) -> None:
        """Note that so many edges were read without arrays, all directions together."""
        view = self.run.graph.image
        if view is not None:
            each = -(-edges // len(self._outgoing))
            for outgoing in self._outgoing:
                view.spend_on_edges(self._asked, outgoing=outgoing, edges=each)

    def _read(self, side: int, nodes: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        run, read = self.run, 0
        for row in run.graph.rows(self._sql[side], (int64_array(nodes), *self._types)):
            run.tick()
            read += 1
            yield row[0], row[1], row[2]
        view = run.graph.image
        if view is not None and not self.resident:
            view.spend_on_edges(self._asked, outgoing=self._outgoing[side], edges=read)


def reachable_nodes(
    links: AdjacencyScan, start: int, *, least: int, most: int | None
) -> Iterator[int]:
    """Yield each node at the end of a trail of `least` (0 or 1) to `most` directed edges once,
    nearest first.

    The shortest walk to a node repeats no edge, so that trails and walks end in the same nodes.
    """
    if links.resident:
        yield from _reached(links, start, least=least, most=most)
        return
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


def _reached(links: AdjacencyScan, start: int, *, least: int, most: int | None) -> Iterator[int]:
    """The same over arrays."""
    import numpy as np

    seen = _Seen(start if least == 0 else -1)
    if least == 0:
        yield start
    level = np.array([start], dtype=np.int64)
    depth = 0
    while len(level) and (most is None or depth < most):
        depth += 1
        ends = [far for _, far, _ in links.arrays_of(level)]
        level = seen.add(np.concatenate(ends) if len(ends) != 1 else ends[0])
        yield from level.tolist()


class _Seen:
    """A set of ids, as flags by id."""

    def __init__(self, first: int) -> None:
        import numpy as np

        self._flags = np.zeros(max(_FLAGS, first + 1), dtype=np.bool_)
        if first >= 0:
            self._flags[first] = True

    def add(self, ids: Array) -> Array:
        """Add ids, and return those that are new, each once."""
        import numpy as np

        top = int(ids.max()) + 1 if len(ids) else 0
        if top > len(self._flags):
            grown = np.zeros(2 * top, dtype=np.bool_)
            grown[: len(self._flags)] = self._flags
            self._flags = grown
        fresh = np.unique(ids[~self._flags[ids]])
        self._flags[fresh] = True
        return fresh


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
