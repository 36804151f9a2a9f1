"""Count the directed triangles of a graph from its resident arrays.

    MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c)-[:KNOWS]->(a) RETURN count(*)

Follow two edges, and add up how many edges go back from the end to the start. Where a part of the
nodes has many walks, that is read from a table: for some nodes at a time, where their incoming
edges come from. Else it is searched among the sorted edges, so that the cost follows the edges and
walks, not the square of the nodes. That counts closed walks; a match uses no edge twice, and a walk
that does is one edge from a node to itself, taken twice or three times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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
_WALKS = 500_000  # of two edges, at once
_WALKS_OF_A_TABLE = 1_000  # clearing and filling a table costs as much as searching for so many


class Triangle(NamedTuple):
    """The types of the edges (None: all), and the labels of the three nodes along them, if any."""

    types: tuple[str, ...] | None
    labels: tuple[str | None, str | None, str | None]


class CountTrianglesStep:
    """The one row of `count(*)`; `group` counts where there are no arrays."""

    def __init__(self, about: Triangle, group: QueryStep, scan: QueryStep) -> None:
        self.about, self.group, self.scan = about, group, scan

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        view = run.graph.image
        if view is not None:
            links = AdjacencyScan(run, types=self.about.types, direction="out")
            labels = {label for label in self.about.labels if label is not None}
            held = {label: view.columns(label, ()) for label in labels}
            if links.resident and None not in held.values():
                ids = {label: part.ids for label, part in held.items() if part is not None}
                of = [None if label is None else ids[label] for label in self.about.labels]
                yield (_triangles(*links.all_edges(), of, run.raise_if_cancelled),)
                return
            last = next(iter(run.graph.rows("SELECT max(id) FROM edge")))[0]
            links.spend(last or 0)
        yield from self.group.rows(run, source)


def count_triangles(step: QueryStep, calls: list[t.Call], group: QueryStep) -> QueryStep:
    """Return the step that counts triangles, if that is what a pattern and its grouping without
    keys are; else `group`."""
    if isinstance(step, PatternScanStep) and len(calls) == 1 and calls[0].star:
        about = _triangle_of(step.pushed)
        if about is not None:
            return CountTrianglesStep(about, group, step)
    return group


def _triangle_of(pushed: PushedDownPattern) -> Triangle | None:
    """Return what a pattern is about, if it is all triangles of edges in one direction."""
    if len(pushed.nodes) != 3 or len(pushed.edges) != 3 or pushed.bound or pushed.revealed:
        return None
    labels: dict[str, str] = {}
    for condition in pushed.conditions.accepted:
        match condition.tree:
            case ("labels", key, t.LabelName(name)) if key not in labels:
                labels[key] = name
            case _:
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
    known = next(iter(types))
    if pushed.traversed or len(types) > 1 or known is None or not labels.keys() <= following.keys():
        return None
    if len({start, second, third}) < 3 or following.get(third) != start:
        return None
    return Triangle(known or None, (labels.get(start), labels.get(second), labels.get(third)))


def _ends_of(edge: EdgeVar) -> tuple[str, str] | None:
    pattern = edge.pattern
    if not isinstance(pattern, t.EdgePattern) or pattern.direction == "both":
        return None
    return (edge.left, edge.right) if pattern.direction == "out" else (edge.right, edge.left)


def _triangles(
    src: Array, dst: Array, of: Sequence[Array | None], check: Callable[[], None]
) -> int:
    """Count three edges a to b to c to a, none of them twice, with a, b and c among these ids.
    `check` is called now and then and may raise."""
    import numpy as np

    if not len(src):
        return 0
    nodes, ends = np.unique(np.concatenate((src, dst)), return_inverse=True)
    count = len(nodes)
    src, dst = ends[: len(src)], ends[len(src) :]
    fits = [
        np.ones(count, dtype=np.bool_) if ids is None else np.isin(nodes, ids, assume_unique=True)
        for ids in of
    ]
    walks = _walks_of(src, dst, fits, count)
    into, origin, first = _sides(dst, src, fits[0], fits[2], count)
    tables = -(-count // max(1, _MARKS // count))
    if walks.before[-1] >= tables * _WALKS_OF_A_TABLE:
        total = _closed_by_table(walks, into, origin, first, count, check)
    else:
        total = _closed_by_search(walks, into, origin, count, check)
    own = src[(src == dst) & fits[0][src] & fits[1][src] & fits[2][src]]
    loops = np.bincount(own, minlength=1).astype(np.int64)
    return total - int((loops**3 - loops * (loops - 1) * (loops - 2)).sum())


def _sides(near: Array, far: Array, ours: Array, theirs: Array, count: int) -> tuple[Array, ...]:
    """Return the edges between nodes that fit, by the node near, and where those of each begin."""
    import numpy as np

    kept = ours[near] & theirs[far]
    near, far = near[kept], far[kept]
    order = np.argsort(near, kind="stable")
    near, far = near[order], far[order]
    return near, far, np.searchsorted(near, np.arange(count + 1))


class _TwoEdges(NamedTuple):
    """Walks of two edges: the first ones by their start, and for each how many walks are before it
    and where the second ones begin, by the node in the middle."""

    start: Array
    middle: Array
    before: Array
    begin: Array
    beyond: Array

    def parts(self, at: int, end: int, check: Callable[[], None]) -> Iterator[tuple[Array, Array]]:
        """Yield the starts and ends of the walks over these first edges, some at a time."""
        import numpy as np

        while at < end:
            stop = int(np.searchsorted(self.before, self.before[at] + _WALKS, side="right")) - 1
            stop = min(max(stop, at + 1), end)
            counts = np.diff(self.before[at : stop + 1])
            shift = self.begin[self.middle[at:stop]] - self.before[at:stop] + self.before[at]
            places = np.arange(int(counts.sum())) + np.repeat(shift, counts)
            yield np.repeat(self.start[at:stop], counts), self.beyond[places]
            check()
            at = stop


def _walks_of(src: Array, dst: Array, fits: Sequence[Array], count: int) -> _TwoEdges:
    import numpy as np

    start, middle, _ = _sides(src, dst, fits[0], fits[1], count)
    _, beyond, begin = _sides(src, dst, fits[1], fits[2], count)
    before = np.concatenate(([0], np.cumsum(begin[middle + 1] - begin[middle])))
    return _TwoEdges(start, middle, before, begin, beyond)


def _closed_by_table(
    walks: _TwoEdges,
    into: Array,
    origin: Array,
    first: Array,
    count: int,
    check: Callable[[], None],
) -> int:
    """Count edges from the ends of walks to their starts, which a table holds for some nodes."""
    import numpy as np

    at_once = max(1, _MARKS // count)
    marks = np.zeros(at_once * count, dtype=np.int32)
    total = 0
    for low in range(0, count, at_once):
        high = min(count, low + at_once)
        incoming = slice(int(first[low]), int(first[high]))
        marked = (into[incoming] - low) * count + origin[incoming]
        np.add.at(marks, marked, 1)
        at, end = np.searchsorted(walks.start, (low, high))
        for start, far in walks.parts(int(at), int(end), check):
            total += int(marks[(start - low) * count + far].sum(dtype=np.int64))
        marks[marked] = 0
    return total


def _closed_by_search(
    walks: _TwoEdges, into: Array, origin: Array, count: int, check: Callable[[], None]
) -> int:
    """Count edges from the ends of walks to their starts, which are searched among the edges."""
    import numpy as np

    edges, times = np.unique(into * count + origin, return_counts=True)
    if not len(edges):
        return 0
    total = 0
    for start, far in walks.parts(0, len(walks.start), check):
        wanted = start * count + far
        places = np.minimum(np.searchsorted(edges, wanted), len(edges) - 1)
        total += int(times[places[edges[places] == wanted]].sum())
    return total
