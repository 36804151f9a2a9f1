"""Count the directed triangles of a graph from its resident arrays.

    MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(a) RETURN count(*)

For some nodes at a time: mark where their incoming edges come from, follow two edges, and add up
what is marked at the end. That counts closed walks; a match uses no edge twice, and a walk that
does is one edge from a node to itself, taken twice or three times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from doxa.cypher import tree as t
from doxa.query.core.pattern import EdgeVar, plain_types
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import QueryStep
from doxa.query.exec.bfs import AdjacencyScan
from doxa.query.sql.pattern_scan import PatternScanStep
from doxa.query.sql.pushed_pattern import PushedDownPattern

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[Any]

_MARKS = 2_000_000  # counters, of as many nodes as fit
_WALKS = 2_000_000  # of two edges, at once


class CountTrianglesStep:
    """The one row of `count(*)`; `group` counts where there are no arrays."""

    def __init__(self, types: tuple[str, ...] | None, group: QueryStep, scan: QueryStep) -> None:
        self.types, self.group, self.scan = types, group, scan

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if run.graph.image is not None:
            links = AdjacencyScan(run, types=self.types, direction="out")
            if links.resident:
                yield (_triangles(*links.all_edges(), run),)
                return
            last = next(iter(run.graph.rows("SELECT max(id) FROM edge")))[0]
            links.spend(last or 0)
        yield from self.group.rows(run, source)


def count_triangles(step: QueryStep, calls: list[t.Call], group: QueryStep) -> QueryStep:
    """Return the step that counts triangles, if that is what a pattern and its grouping without
    keys are; else `group`."""
    if isinstance(step, PatternScanStep) and len(calls) == 1 and calls[0].star:
        types = _triangle_of(step.pushed)
        if types is not None:
            return CountTrianglesStep(types or None, group, step)
    return group


def _triangle_of(pushed: PushedDownPattern) -> tuple[str, ...] | None:
    """Return the types of the edges (empty: all), if a pattern is any triangle of edges in one
    direction."""
    if len(pushed.nodes) != 3 or len(pushed.edges) != 3 or pushed.bound or pushed.revealed:
        return None
    if pushed.traversed or pushed.conditions.accepted:
        return None
    types: set[tuple[str, ...] | None] = set()
    following: dict[str, str] = {}
    for edge in pushed.edges:
        ends = _ends_of(edge)
        if ends is None:
            return None
        following[ends[0]] = ends[1]
        assert isinstance(edge.pattern, t.EdgePattern)
        named = plain_types(edge.pattern.types)
        types.add(None if named is None else tuple(sorted(named)))
    start = pushed.nodes[0]
    second = following.get(start, "")
    third = following.get(second, "")
    if len(types) > 1 or len({start, second, third}) < 3 or following.get(third) != start:
        return None
    return next(iter(types))


def _ends_of(edge: EdgeVar) -> tuple[str, str] | None:
    pattern = edge.pattern
    if not isinstance(pattern, t.EdgePattern) or pattern.direction == "both":
        return None
    return (edge.left, edge.right) if pattern.direction == "out" else (edge.right, edge.left)


def _triangles(src: Array, dst: Array, run: Run) -> int:
    """Count three edges a to b to c to a, none of them twice."""
    import numpy as np

    if not len(src):
        return 0
    nodes, ends = np.unique(np.concatenate((src, dst)), return_inverse=True)
    count = len(nodes)
    src, dst = ends[: len(src)], ends[len(src) :]
    order = np.argsort(src, kind="stable")
    src, dst = src[order], dst[order]
    first = np.searchsorted(src, np.arange(count + 1))  # where the edges of a node begin
    back = np.argsort(dst, kind="stable")
    into, first_into = src[back], np.searchsorted(dst[back], np.arange(count + 1))
    steps = np.concatenate(([0], np.cumsum(first[dst + 1] - first[dst])))  # second edges, so far
    at_once = max(1, _MARKS // count)
    marks = np.zeros(at_once * count, dtype=np.int32)
    total = 0
    for low in range(0, count, at_once):
        run.raise_if_cancelled()
        high = min(count, low + at_once)
        incoming = slice(int(first_into[low]), int(first_into[high]))
        rows = np.repeat(np.arange(high - low), np.diff(first_into[low : high + 1]))
        marked = rows * count + into[incoming]
        np.add.at(marks, marked, 1)
        at, end = int(first[low]), int(first[high])
        while at < end:
            stop = int(np.searchsorted(steps, steps[at] + _WALKS, side="right")) - 1
            stop = min(max(stop, at + 1), end)
            total += _closed(src[at:stop] - low, dst[at:stop], first, dst, marks, count)
            run.raise_if_cancelled()
            at = stop
        marks[marked] = 0
    loops = np.bincount(src[src == dst], minlength=1).astype(np.int64)
    return total - int((loops**3 - loops * (loops - 1) * (loops - 2)).sum())


def _closed(row: Array, middle: Array, first: Array, dst: Array, marks: Array, count: int) -> int:
    """Count the walks over these edges and one more that end where a mark is."""
    import numpy as np

    counts = first[middle + 1] - first[middle]
    before = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(first[middle] - before, counts)
    return int(marks[np.repeat(row, counts) * count + dst[places]].sum(dtype=np.int64))
