"""Nodes, edges and paths as a query holds them.

A Node or Edge knows its id at once and loads the rest on demand. Inside a query that writes, data
loaded before a write is loaded again after it, so that every row sees the current graph. Results
are detached: they keep the state in which they left the query.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from typing import Any, Protocol

from doxa.base.limits import PROPERTIES_BYTES_MAX
from doxa.cypher.errors import QueryError

_ROWS_AT_ONCE, _GROWTH = 256, 4
LOADED_BYTES_MAX = PROPERTIES_BYTES_MAX  # together: as much as one node may hold


class Source(Protocol):
    """Loads elements: the graph of the running query. `epoch` counts its writes."""

    epoch: int

    def load_node(self, identity: int) -> tuple[tuple[str, ...], dict[str, Any]]: ...

    def load_edge(self, identity: int) -> dict[str, Any]: ...

    def load_nodes(self, nodes: Iterable[Node], *, bytes_max: int) -> Node | None: ...


class Element:
    """The common part of nodes and edges. `source` is None when detached."""

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
        """All properties. Raises QueryError (DeletedEntityAccess) if the query deleted the
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
        """Load missing data and release the query. A deleted element keeps the data that was
        loaded."""
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
        self.id = identity  # as Element does: without a call, since queries make very many
        self.source = source
        self._labels = labels
        if props is None:
            self.epoch = -1
            self._props = {}
        else:
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
        self.fill(*self.source.load_node(self.id))

    def fill(self, labels: tuple[str, ...], props: dict[str, Any]) -> None:
        """Take what was loaded."""
        assert self.source is not None
        self._labels, self._props = labels, props
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
    """A sequence of nodes and edges, with one node more than edges."""

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
        """Return the nodes and edges in order."""
        for node, edge in zip(self.nodes, self.edges, strict=False):
            yield node
            yield edge
        yield self.nodes[-1]

    def __repr__(self) -> str:
        return f"<Path {list(self.elements())}>"


def detach(value: Any) -> Any:
    """Return the value as it leaves the query: elements loaded, wherever they are inside."""
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


HOLDING = frozenset(
    (Node, Edge, Path, list, dict)
)  # types of values that are or may contain elements


def detached(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Detach all elements of the rows."""
    rows = iter(rows)
    for row in rows:
        if HOLDING.isdisjoint(map(type, row)):
            yield row
        else:
            yield from _detached(chain((row,), rows))


def _detached(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The same for rows that may hold elements. While they hold nodes that are not loaded, more and
    more rows are read ahead, until they hold some MB, and nodes are loaded together, also some
    MB."""
    most = 1
    while True:
        part: deque[tuple[Any, ...]] = deque()
        failed: Exception | None = None
        done, held = True, 0
        try:
            for row in rows:
                part.append(row)
                held += sum(map(_bytes_of, row)) if most > 1 else 0
                if len(part) == most or held > LOADED_BYTES_MAX:
                    done = False
                    break
        except Exception as error:  # it is raised after the rows before it
            failed = error
        most = min(most * _GROWTH, _ROWS_AT_ONCE) if any(map(_waiting, part)) else 1
        more = True
        while part:
            if more and _waiting(part[0]):
                more = _load_together(part)
            row = part.popleft()  # nothing here holds on to what was given
            for value in row:
                if type(value) in HOLDING:
                    detach(value)
            yield row
        if failed is not None:
            raise failed
        if done:
            return


def _waiting(row: tuple[Any, ...]) -> list[Node]:
    """The nodes that are columns of a row and not loaded."""
    return [
        value
        for value in row
        if type(value) is Node and value.source is not None and value.epoch != value.source.epoch
    ]


def _load_together(rows: Iterable[tuple[Any, ...]]) -> bool:
    """Load the first nodes that are columns of the rows, which are of one query. Whether there are
    more."""
    nodes = [node for row in rows for node in _waiting(row)]
    if len(nodes) < 2:
        return False
    source = nodes[0].source
    assert source is not None
    return source.load_nodes(nodes, bytes_max=LOADED_BYTES_MAX) is not None


def _bytes_of(value: Any) -> int:
    """About how many bytes the texts in a value hold, without those of elements."""
    kind = type(value)
    if kind is str or kind is bytes:
        return len(value)
    if kind is list:
        return sum(map(_bytes_of, value))
    return sum(map(_bytes_of, value.values())) if kind is dict else 0
