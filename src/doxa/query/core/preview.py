"""What a statement would write, without writing it.

    graph = PreviewGraph(snapshot)     the steps of a statement that writes run on it
    graph.counters                     what they would have created and set

Elements that the statement has changed are read back as it left them, by their id. What it finds by
a pattern is that of the snapshot, so a pattern that is looked for after a change raises
`NotForeseen`: it might find what was changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import check_properties
from doxa.query.core.elements import Edge, Node
from doxa.query.core.graph import Graph
from doxa.store import Reader
from doxa.store.bulk.edges import NewEdge
from doxa.store.intake.names import owner_of
from doxa.store.intake.secrets import cleaned


class NotForeseen(Exception):
    """The statement has to run in a transaction to know what it does."""


class PreviewGraph(Graph):
    """A snapshot, and the changes that one statement would make. New elements have negative ids."""

    image = None  # arrays of the snapshot: not asked for, so that all patterns go through `rows`

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        if (self.raw_table(edge=False), self.raw_table(edge=True)) != (
            self.node_table(hidden=True),
            self.edge_table(hidden=True),
        ):
            raise NotForeseen  # policies hide properties, which a change keeps
        self._nodes: dict[int, tuple[tuple[str, ...], dict[str, Any]]] = {}
        self._edges: dict[int, dict[str, Any]] = {}
        self._loading = False

    def rows(self, sql: str, args: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
        if self.epoch and not self._loading:
            raise NotForeseen
        return super().rows(sql, args)

    def load_node(self, identity: int) -> tuple[tuple[str, ...], dict[str, Any]]:
        with self._loads():
            return self._nodes.get(identity) or super().load_node(identity)

    def load_edge(self, identity: int) -> dict[str, Any]:
        with self._loads():
            changed = self._edges.get(identity)
            return super().load_edge(identity) if changed is None else changed

    def load_nodes(self, nodes: Iterable[Node], *, bytes_max: int) -> None:
        """Leave each node to be loaded when it is asked for."""

    @contextmanager
    def _loads(self) -> Iterator[None]:
        self._loading = True
        try:
            yield
        finally:
            self._loading = False

    @contextmanager
    def setting_later(self) -> Iterator[None]:
        yield

    def delete_edge(self, identity: int) -> NoReturn:
        raise NotForeseen

    def delete_node(self, identity: int) -> NoReturn:
        raise NotForeseen

    def _with_faded(self, element: Node | Edge, props: Mapping[str, Any]) -> Mapping[str, Any]:
        return props

    def _new_node(self, labels: tuple[str, ...], props: Mapping[str, Any]) -> NodeId:
        return self._new_nodes(labels, (props,))[0]

    def _new_nodes(
        self, labels: tuple[str, ...], props: Sequence[Mapping[str, Any]]
    ) -> list[NodeId]:
        self.epoch += 1
        made = []
        for one in props:
            identity = NodeId(-1 - len(self._nodes))
            self._nodes[identity] = labels, _stored(one, owner_of(labels))
            made.append(identity)
        return made

    def _new_edge(self, kind: str, start: int, *, end: int, props: Mapping[str, Any]) -> EdgeId:
        return self._new_edges(kind, ((start, end, dict(props)),))[0]

    def _new_edges(self, kind: str, edges: Sequence[NewEdge]) -> list[EdgeId]:
        self.epoch += 1
        made = []
        for _, _, props in edges:
            identity = EdgeId(-1 - len(self._edges))
            self._edges[identity] = _stored(props, kind)
            made.append(identity)
        return made

    def _set_node(
        self, node: Node, props: Mapping[str, Any], *, before: dict[str, Any] | None
    ) -> None:
        labels = node.labels
        clean = _stored(props, owner_of(labels), before)
        self._nodes[node.id] = labels, clean
        self.epoch += 1

    def _set_edge(self, edge: Edge, props: Mapping[str, Any]) -> None:
        self._edges[edge.id] = _stored(props, edge.type)
        self.epoch += 1

    def _set_labels(self, node: Node, props: Mapping[str, Any], labels: set[str]) -> None:
        self._nodes[node.id] = tuple(sorted(labels)), dict(props)
        self.epoch += 1


def _stored(
    props: Mapping[str, Any], owner: str, before: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what the store keeps of properties: without secrets. Raises its errors for what no
    element can have."""
    return cleaned(check_properties(props, owner=owner, before=before), [], before=before)
