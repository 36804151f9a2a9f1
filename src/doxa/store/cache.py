"""What one transaction has read and written of nodes and edges, so that it reads nothing twice.

Only the transaction that holds the write lock may use it: nobody else can change the file
meanwhile, and every write of its own passes through here. The end of the transaction drops it.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence

from doxa.base.ids import NodeId
from doxa.base.values import decode_properties
from doxa.store.rows import Edge, Node

_NODES_MAX = 20_000
_EDGES_MAX = 40_000
ABSENT = object()  # there is no such node, as opposed to: not known
Encoded = tuple[int, tuple[str, ...], bytes, int, int]  # id, labels, properties, since, born


class ElementCache:
    """Nodes by id and address, and the edges at a node by type.

    `whole` holds the ends all of whose edges are known; of other ends a list is known for each
    type that was asked for.
    """

    def __init__(self) -> None:
        self._nodes: dict[int, Node | Encoded | None] = {}
        self._krefs: dict[str, int | None] = {}
        self._edges: dict[int, Edge] = {}
        self._ends: dict[tuple[bool, int], dict[str, list[Edge]]] = {}
        self._whole: set[tuple[bool, int]] = set()
        self._made: set[int] = set()

    def clear(self) -> None:
        for held in (self._nodes, self._krefs, self._edges, self._ends, self._whole, self._made):
            held.clear()

    # Nodes

    def node(self, identity: int) -> Node | object | None:
        """Return the node, ABSENT, or None if nothing is known of it."""
        found = self._nodes.get(identity, ABSENT)
        if found is ABSENT:
            return None
        if found is None:
            return ABSENT
        if type(found) is tuple:
            _, labels, data, since, born = found
            node = Node(NodeId(identity), labels, decode_properties(data.decode()), since, born)
            self._nodes[identity] = node
            return node
        return found

    def labels(self, identity: int) -> tuple[str, ...] | None:
        """Return the labels of a node that is known to be there."""
        found = self._nodes.get(identity)
        return None if found is None else found[1]

    def id_at(self, kref: str) -> int | object | None:
        """Return the id of the node at an address, ABSENT, or None if nothing is known of it."""
        if kref not in self._krefs:
            return None
        found = self._krefs[kref]
        return ABSENT if found is None else found

    def put_node(self, node: Node) -> None:
        """Keep a node as it was read."""
        if len(self._nodes) >= _NODES_MAX:
            self.clear()
        self._nodes[node.id] = node
        kref = node.props.get("kref")
        if isinstance(kref, str):
            self._krefs[kref] = node.id

    def put_absent(self, *, identity: int | None = None, kref: str | None = None) -> None:
        if identity is not None:
            self._nodes[identity] = None
        if kref is not None:
            self._krefs[kref] = None

    def node_made(self, node: Encoded, kref: object) -> None:
        """Keep a new node as it was written. It has no edges yet."""
        identity = node[0]
        self.node_set(node, kref)
        self._made.add(identity)
        for end in ((False, identity), (True, identity)):
            self._ends[end] = {}
            self._whole.add(end)

    def node_set(self, node: Encoded, kref: object, *, before: object = None) -> None:
        """Cache a node that was written. `before` is the address that it had."""
        if len(self._nodes) >= _NODES_MAX:
            self.clear()
        if before != kref:
            self._krefs.pop(before, None)  # type: ignore[call-overload]
        self._nodes[node[0]] = node
        if isinstance(kref, str):
            self._krefs[kref] = node[0]

    def node_gone(self, identity: int, kref: object) -> None:
        self._nodes[identity] = None
        self._krefs.pop(kref, None)  # type: ignore[call-overload]
        self._made.discard(identity)

    def is_made(self, identity: int) -> bool:
        """Return whether this transaction made the node."""
        return identity in self._made

    # Edges

    def edge(self, identity: int) -> Edge | None:
        return self._edges.get(identity)

    def edges(self, incoming: bool, node: int, kind: str | None) -> list[Edge] | None:
        """Return the edges of a type at a node by id, or of all types; None if they are not
        known."""
        end = incoming, node
        held = self._ends.get(end)
        if held is None:
            return None
        if kind is None:
            if end not in self._whole:
                return None
            return sorted((edge for edges in held.values() for edge in edges), key=_id)
        found = held.get(kind)
        if found is None:
            return [] if end in self._whole else None
        return [*found]

    def put_edges(
        self, incoming: bool, node: int, edges: Sequence[Edge], *, kinds: Iterable[str] | None
    ) -> None:
        """Keep all edges of these types at a node, or all edges (None), as they were read."""
        if len(self._edges) + len(edges) >= _EDGES_MAX:
            self.clear()
        end = incoming, node
        held = self._ends.setdefault(end, {})
        if kinds is None:
            held.clear()
            self._whole.add(end)
        else:
            held |= {kind: [] for kind in kinds}
        for edge in edges:
            self._edges[edge.id] = edge
            held.setdefault(edge.type, []).append(edge)

    def edge_made(self, edge: Edge) -> None:
        if len(self._edges) >= _EDGES_MAX:
            self.clear()
        self._edges[edge.id] = edge
        for end in ((False, edge.src), (True, edge.dst)):
            held = self._ends.get(end)
            if held is not None and (edge.type in held or end in self._whole):
                insort(held.setdefault(edge.type, []), edge, key=_id)

    def edge_set(self, edge: Edge) -> None:
        self.edge_gone(edge)
        self.edge_made(edge)

    def edge_gone(self, edge: Edge) -> None:
        self._edges.pop(edge.id, None)
        for end in ((False, edge.src), (True, edge.dst)):
            held = self._ends.get(end, _NONE).get(edge.type)
            if held:
                held[:] = [one for one in held if one.id != edge.id]


_NONE: Mapping[str, list[Edge]] = {}


def _id(edge: Edge) -> int:
    return edge.id
