"""Nodes, edges and paths as a query holds them, and the laws of Cypher values: equality,
comparison, order, grouping.

A Node or Edge knows its id at once and loads the rest when asked. Inside a query that writes, what
was loaded before a write is loaded again after it, so that every row sees the graph as it is.
Results are detached: they stay as they were when they left the query.

Sources: openCypher CIP2016-06-14 (comparability, orderability, equivalence), Neo4j's order of
types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol

from doxa.base import spatial, temporal
from doxa.cypher.errors import QueryError
from doxa.query.errors import fail

_TEMPORAL = (
    temporal.Date,
    temporal.LocalTime,
    temporal.Time,
    temporal.LocalDateTime,
    temporal.DateTime,
    temporal.Duration,
)


class Source(Protocol):
    """Where elements load themselves from: the graph of the running query. `epoch` counts its
    writes."""

    epoch: int

    def load_node(self, identity: int) -> tuple[tuple[str, ...], dict[str, Any]]: ...

    def load_edge(self, identity: int) -> dict[str, Any]: ...


class Element:
    """What nodes and edges share. `source` is None when detached."""

    __slots__ = ("_props", "epoch", "id", "source")

    def __init__(self, identity: int, source: Source | None) -> None:
        self.id = identity
        self.source = source
        self.epoch = -1
        self._props: dict[str, Any] = {}

    def __hash__(self) -> int:
        return hash(self.id)

    @property
    def properties(self) -> dict[str, Any]:
        """All properties. Raises QueryError (DeletedEntityAccess) when the query deleted the
        element."""
        if self.source is not None and self.epoch != self.source.epoch:
            self.load()
        return self._props

    def load(self) -> None:
        raise NotImplementedError

    def get(self, name: str, default: Any = None) -> Any:
        return self.properties.get(name, default)

    def __getitem__(self, name: str) -> Any:
        return self.properties[name]

    def __contains__(self, name: object) -> bool:
        return name in self.properties

    def detach(self) -> None:
        """Load what is missing and let go of the query. A deleted element keeps what was known of
        it."""
        if self.source is not None:
            if self.epoch != self.source.epoch:
                with suppress(QueryError):
                    self.load()
            self.source = None


class Node(Element):
    """A node: `id`, `labels`, `properties`; node["name"] reads one."""

    __slots__ = ("_labels",)

    def __init__(
        self,
        identity: int,
        source: Source | None = None,
        *,
        labels: tuple[str, ...] = (),
        props: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(identity, source)
        self._labels = labels
        if props is not None:
            self._props = props
            self.epoch = source.epoch if source is not None else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other.id == self.id

    __hash__ = Element.__hash__

    @property
    def labels(self) -> tuple[str, ...]:
        if self.source is not None and self.epoch != self.source.epoch:
            self.load()
        return self._labels

    @property
    def element_id(self) -> str:
        return f"n:{self.id}"

    def load(self) -> None:
        assert self.source is not None
        self._labels, self._props = self.source.load_node(self.id)
        self.epoch = self.source.epoch

    def __repr__(self) -> str:
        return f"<Node {self.id}{''.join(':' + label for label in self._labels)} {self._props}>"


class Edge(Element):
    """A relationship: `id`, `type`, `start` and `end` (node ids), `properties`."""

    __slots__ = ("end", "start", "type")

    def __init__(
        self,
        identity: int,
        source: Source | None = None,
        *,
        kind: str,
        start: int,
        end: int,
        props: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(identity, source)
        self.type = kind
        self.start = start
        self.end = end
        if props is not None:
            self._props = props
            self.epoch = source.epoch if source is not None else 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edge) and other.id == self.id

    __hash__ = Element.__hash__

    @property
    def element_id(self) -> str:
        return f"r:{self.id}"

    def load(self) -> None:
        assert self.source is not None
        self._props = self.source.load_edge(self.id)
        self.epoch = self.source.epoch

    def __repr__(self) -> str:
        return f"<Edge {self.id} {self.start}-[:{self.type}]->{self.end} {self._props}>"


class Path:
    """Nodes and edges in turn: one node more than edges."""

    __slots__ = ("edges", "nodes")

    def __init__(self, nodes: list[Node], edges: list[Edge]) -> None:
        self.nodes = nodes
        self.edges = edges

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Path) and other.nodes == self.nodes and other.edges == self.edges

    def __hash__(self) -> int:
        return hash((tuple(self.nodes), tuple(self.edges)))

    def __len__(self) -> int:
        return len(self.edges)

    def elements(self) -> Iterator[Element]:
        """The nodes and edges in their order."""
        for node, edge in zip(self.nodes, self.edges, strict=False):
            yield node
            yield edge
        yield self.nodes[-1]

    def __repr__(self) -> str:
        return f"<Path {list(self.elements())}>"


def detach(value: Any) -> Any:
    """The value as it leaves the query: elements loaded, wherever they are inside."""
    if isinstance(value, Element):
        value.detach()
    elif isinstance(value, Path):
        for element in value.elements():
            element.detach()
    elif isinstance(value, list):
        for item in value:
            detach(item)
    elif isinstance(value, dict):
        for item in value.values():
            detach(item)
    return value


HOLDING = frozenset((Node, Edge, Path, list, dict))  # values that are, or may hold, elements


def detached(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Rows as they leave the query."""
    for row in rows:
        for value in row:
            if type(value) in HOLDING:
                detach(value)
        yield row


# Equality: true, false, or None for unknown


def equals(one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    kind, second = type(one), type(other)
    if kind is second:
        if kind is list:
            return _equal_lists(one, other)
        if kind is dict:
            return _equal_maps(one, other)
        return bool(one == other)
    if kind in _NUMBER and second in _NUMBER:
        return bool(one == other)
    return False


_NUMBER = frozenset({int, float})


def _equal_lists(one: list[Any], other: list[Any]) -> bool | None:
    if len(one) != len(other):
        return False
    unknown = False
    for left, right in zip(one, other, strict=True):
        found = equals(left, right)
        if found is False:
            return False
        unknown = unknown or found is None
    return None if unknown else True


def _equal_maps(one: dict[str, Any], other: dict[str, Any]) -> bool | None:
    if one.keys() != other.keys():
        return False
    unknown = False
    for key, left in one.items():
        found = equals(left, other[key])
        if found is False:
            return False
        unknown = unknown or found is None
    return None if unknown else True


# Comparison: <, <=, >, >=


def compare(one: Any, other: Any) -> int | bool | None:
    """-1, 0 or 1; None when the two cannot be compared; False when a NaN is in play (every
    comparison with it is false)."""
    if one is None or other is None:
        return None
    kind, second = type(one), type(other)
    if kind in _NUMBER and second in _NUMBER:
        if one != one or other != other:
            return False
        return int(one > other) - int(one < other)
    if kind is not second:
        return None
    if kind is str or kind is bool:
        return int(one > other) - int(one < other)
    if kind is list:
        return _compare_lists(one, other)
    if kind in _TEMPORAL and kind is not temporal.Duration:
        left, right = temporal.order_key(one), temporal.order_key(other)
        return (left > right) - (left < right)
    if kind is temporal.Duration or kind is dict or kind in (Node, Edge, Path, spatial.Point):
        return 0 if kind is not temporal.Duration and equals(one, other) else None
    return None


def _compare_lists(one: list[Any], other: list[Any]) -> int | bool | None:
    for left, right in zip(one, other, strict=False):
        if equals(left, right):
            continue
        return compare(left, right)
    return (len(one) > len(other)) - (len(one) < len(other))


def less(one: Any, other: Any) -> bool | None:
    found = compare(one, other)
    return found if found is None or found is False else found < 0


def less_equal(one: Any, other: Any) -> bool | None:
    found = compare(one, other)
    return found if found is None or found is False else found <= 0


# Order of all values: for ORDER BY, min() and max()

_RANK = {
    dict: 0,
    Node: 1,
    Edge: 2,
    list: 3,
    Path: 4,
    spatial.Point: 5,
    temporal.DateTime: 6,
    temporal.LocalDateTime: 7,
    temporal.Date: 8,
    temporal.Time: 9,
    temporal.LocalTime: 10,
    temporal.Duration: 11,
    bytes: 12,
    str: 13,
    bool: 14,
    int: 15,
    float: 15,
    type(None): 16,
}


def order_key(value: Any) -> tuple[Any, ...]:
    """A tuple that sorts as Cypher does, ascending: maps, nodes, edges, lists, paths, points,
    temporals, text, booleans, numbers, NaN, null."""
    kind = type(value)
    rank = _RANK.get(kind, 12)
    if rank == 15:
        return (15, 1, 0) if value != value else (15, 0, value)
    if rank in (13, 14, 12):
        return (rank, value)
    if rank == 16:
        return (16,)
    if kind is list:
        return (3, *[order_key(item) for item in value], (-1,))
    if kind is dict:
        return (0, sorted(value), [order_key(value[key]) for key in sorted(value)])
    if kind is Node or kind is Edge:
        return (rank, value.id)
    if kind is Path:
        return (4, *[order_key(item) for item in value.elements()], (-1,))
    if kind is spatial.Point:
        return (5, spatial.order_key(value))
    return (rank, temporal.order_key(value))


# Grouping: null equals null, NaN equals NaN


def group_key(value: Any) -> Any:
    """A hashable stand-in: two values are one group exactly if their keys are equal."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is float:
        return ("nan",) if value != value else value
    if kind is bool:
        return ("b", value)
    if kind is list:
        return ("l", *[group_key(item) for item in value])
    if kind is dict:
        return ("m", frozenset((key, group_key(item)) for key, item in value.items()))
    if kind is Node:
        return ("n", value.id)
    if kind is Edge:
        return ("e", value.id)
    return (kind.__name__, value)


def truth(value: Any) -> bool | None:
    """A condition's value. Raises QueryError for what is no boolean."""
    if value is True or value is False or value is None:
        return value
    fail(
        f"A condition must be true, false or null, not {value!r:.40}.",
        hint="Compare the value with something.",
    )


def finite(value: float) -> bool:
    return not math.isinf(value) and value == value
