"""The order in which a pattern is planned: which connected edges become the next statement, and
which length or shortest path can start.

    MATCH (a:A)-[:R]->(b)-[:S*1..3]->(c), (d:D {x: 1})
    statement d  ·  statement a, R, b  ·  length S from b

A pattern may have thousands of parts, so a step costs as much as the parts that it touches: nodes
that become bound divide their own region again, and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from doxa.cypher import tree as t
from doxa.cypher.tokens import Tick
from doxa.query.core.pattern import EdgeVar, PatternGraph

# SQLite limits the number of joined tables and the depth of conditions: a larger pattern needs
# several statements.
PATTERN_EDGES_MAX = 30


class Component(NamedTuple):
    """Connected nodes and fixed edges. Of its nodes those that are bound lead no further."""

    nodes: list[str]
    edges: list[EdgeVar]


class _UnboundRegion:
    """Unbound nodes that fixed edges connect. It stands until one of them is bound."""

    __slots__ = ("nodes", "stands")

    def __init__(self, nodes: list[str]) -> None:
        self.nodes = nodes
        self.stands = True


# place in the order, number, region, component
_Candidate = tuple[tuple[int, int], int, _UnboundRegion, Component]


class PatternOrder:
    """The parts of a pattern that are not planned yet; `layout` is what is bound at first."""

    def __init__(self, graph: PatternGraph, layout: Mapping[str, int], tick: Tick) -> None:
        self._tick = tick
        self._edges = dict(enumerate(graph.edges))
        self._numbers = {id(edge): number for number, edge in enumerate(graph.edges)}
        self._places = {key: place for place, key in enumerate(graph.nodes)}
        self._bound = {key for key in graph.nodes if key in layout}
        self._left = len(self._places) - len(self._bound)
        self._selectivities = _selectivities(graph.conjuncts)
        self._fixed: dict[str, list[int]] = {}
        self._lengths: dict[str, list[int]] = {}
        self.fixed_edges = 0
        for number, edge in self._edges.items():
            self.fixed_edges += edge.fixed
            ends = self._fixed if edge.fixed else self._lengths
            for end in dict.fromkeys((edge.left, edge.right)):
                ends.setdefault(end, []).append(number)
        self._regions: dict[str, _UnboundRegion] = {}
        self._touching: list[_Candidate] = []  # with a bound node
        self._apart: list[_Candidate] = []
        self._closed: list[int] = []  # fixed edges between bound nodes
        self._startable: list[int] = []  # lengths and shortest paths
        self._candidates = 0
        self._divide(key for key in graph.nodes if key not in self._bound)
        for key in graph.nodes:
            if key in self._bound:
                self._reach(key)

    def is_done(self) -> bool:
        """Return whether everything is planned."""
        return not self._edges and not self._left

    def bind(self, names: Iterable[str]) -> None:
        """Note names that a step has bound."""
        divided: dict[int, _UnboundRegion] = {}
        found = [name for name in names if name in self._places and name not in self._bound]
        self._bound.update(found)
        self._left -= len(found)
        for name in found:
            region = self._regions.pop(name)
            region.stands = False
            divided[id(region)] = region
            self._reach(name)
        for region in divided.values():
            self._divide(node for node in region.nodes if node not in self._bound)

    def take(self, edge: EdgeVar) -> None:
        """Note that an edge is planned."""
        del self._edges[self._numbers[id(edge)]]

    def next_length(self) -> EdgeVar | None:
        """Return the first length, shortest path or quantified pattern that can start from bound
        nodes; None while fixed edges at bound nodes are left, since these come first."""
        if self._peek(self._touching) is not None or self._closed_edge() is not None:
            return None
        while self._startable:
            edge = self._edges.get(heappop(self._startable))
            if edge is not None:
                return edge
        return None

    def next_component(self) -> Component:
        """Return the first component that contains a bound node, or else the most selective."""
        touching = self._peek(self._touching)
        if touching is not None:
            return touching
        closed = self._closed_edge()
        if closed is not None:
            return _alone(closed)
        apart = self._peek(self._apart)
        assert apart is not None, "an unbound node is in some component"
        return apart

    def components(self) -> list[Component]:
        """Return all components of a pattern from which nothing was taken."""
        return [
            *(candidate[3] for candidate in (*self._touching, *self._apart)),
            *(_alone(self._edges[number]) for number in self._closed),
        ]

    def _peek(self, candidates: list[_Candidate]) -> Component | None:
        while candidates and not candidates[0][2].stands:
            heappop(candidates)
        return candidates[0][3] if candidates else None

    def _closed_edge(self) -> EdgeVar | None:
        while self._closed and self._closed[0] not in self._edges:
            heappop(self._closed)
        return self._edges[self._closed[0]] if self._closed else None

    def _reach(self, node: str) -> None:
        """Find what a node allows that is bound."""
        self._tick()
        for number in self._fixed.get(node, ()):
            edge = self._edges.get(number)
            if edge is not None and edge.left in self._bound and edge.right in self._bound:
                heappush(self._closed, number)
        for number in self._lengths.get(node, ()):
            edge = self._edges.get(number)
            ends = 0 if edge is None else (edge.left in self._bound) + (edge.right in self._bound)
            if edge is not None and ends > bool(edge.shortest):
                heappush(self._startable, number)

    def _divide(self, nodes: Iterable[str]) -> None:
        """Divide unbound nodes into regions, and these into components."""
        nodes = list(nodes)
        for start in nodes:
            self._regions.pop(start, None)
        for start in nodes:
            if start in self._regions:
                continue
            region = _UnboundRegion([])
            self._regions[start] = region
            frontier = [start]
            while frontier:
                self._tick()
                node = frontier.pop()
                region.nodes.append(node)
                for number in self._fixed.get(node, ()):
                    edge = self._edges.get(number)
                    for other in () if edge is None else (edge.left, edge.right):
                        if other not in self._regions and other not in self._bound:
                            self._regions[other] = region
                            frontier.append(other)
            region.nodes.sort(key=self._places.__getitem__)
            self._find_components(region)

    def _find_components(self, region: _UnboundRegion) -> None:
        seen: set[str] = set()
        for start in region.nodes:
            if start in seen:
                continue
            found = self._component(start)
            open_nodes = [node for node in found.nodes if node not in self._bound]
            seen.update(open_nodes)
            self._candidates += 1
            touches = len(open_nodes) < len(found.nodes)
            worth = 0 if touches else max(self._selectivities.get(key, 0) for key in found.nodes)
            candidate = (-worth, self._places[start]), self._candidates, region, found
            heappush(self._touching if touches else self._apart, candidate)

    def _component(self, start: str) -> Component:
        """Return the component that grows from a node, up to the limit of edges."""
        nodes, frontier = {start: None}, [start]
        edges: dict[int, EdgeVar] = {}
        while frontier:
            self._tick()
            for number in self._fixed.get(frontier.pop(), ()):
                if len(edges) >= PATTERN_EDGES_MAX:
                    break
                edge = self._edges.get(number)
                if edge is None:
                    continue
                edges[number] = edge
                for other in (edge.left, edge.right):
                    if other not in nodes:
                        nodes[other] = None
                        if other not in self._bound:
                            frontier.append(other)
        return Component(list(nodes), list(edges.values()))


def _alone(edge: EdgeVar) -> Component:
    return Component(list(dict.fromkeys((edge.left, edge.right))), [edge])


def _selectivities(conjuncts: Iterable[t.Expression]) -> dict[str, int]:
    """Estimate how selective the conditions on each name are."""
    found: dict[str, int] = {}
    for conjunct in conjuncts:
        match conjunct:
            case t.HasLabels(t.Variable(key)):
                found.setdefault(key, 1)
            case t.Comparison((t.Property(t.Variable(key)), _), ("=",)):
                found[key] = 2
    return found
