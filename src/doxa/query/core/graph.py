"""The graph as one running query sees it: a snapshot of the present or of a past time, or a
transaction with its own writes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from doxa.base.errors import InputError, LimitError, NotFoundError
from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import decode_properties, same_value
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail
from doxa.query.core.property_values import uniform
from doxa.query.core.valid_time import ValidTime
from doxa.store import ImageView, Indexes, Reader, Transaction, VisibilityFilter, int64_array
from doxa.store.bulk.collecting import many_objects
from doxa.store.bulk.edges import NewEdge, create_edges
from doxa.store.bulk.nodes import create_nodes
from doxa.store.bulk.sets import NodeSets

_TYPES_READ = 20_000
_VERSIONS_READ = 20_000
COUNTERS = (
    "nodes_created",
    "nodes_deleted",
    "relationships_created",
    "relationships_deleted",
    "properties_set",
    "labels_added",
    "labels_removed",
)


class Graph:
    """Reads and, with a transaction, writes. `epoch` counts the writes: data loaded before a write
    is loaded again after it."""

    def __init__(
        self, reader: Reader, *, as_of: int | None = None, valid: ValidTime | None = None
    ) -> None:
        self.valid = valid
        self.reader = reader
        self.as_of = as_of
        self.epoch = 0
        self.counters = dict.fromkeys(COUNTERS, 0)
        self._labels: dict[str, tuple[str, ...]] = {}
        self._indexes: Indexes | None = None
        self.links: dict[Any, Any] = {}  # the adjacency that expressions of this run have asked for
        self._later: NodeSets | None = None
        self.revealed: set[tuple[bool, int]] = (
            set()
        )  # (edge, id) of elements that this query sees whole

    # Reading

    def rows(self, sql: str, args: Sequence[Any] = ()) -> Iterable[tuple[Any, ...]]:
        """Stream the rows of an SQL statement. An interrupted one raises QueryError with the
        reason."""
        return self.reader.stream(sql, args)

    def node(self, identity: int) -> Node:
        return Node(identity, self)

    def node_of(self, identity: int, labels: str, props: str) -> Node:
        """Build a node from its row: labels and properties as JSON text."""
        return Node(identity, self, labels=self.labels_of(labels), props=decode_properties(props))

    def labels_of(self, text: str) -> tuple[str, ...]:
        """Decode a label set. There are few, so each text is decoded once."""
        found = self._labels.get(text)
        if found is None:
            found = self._labels[text] = tuple(decode_properties(text))
        return found

    def edge_of(self, identity: int, kind: str, start: int, end: int, props: str) -> Edge:
        return Edge(
            identity,
            self,
            kind=kind,
            start=start,
            end=end,
            props={} if props == "{}" else decode_properties(props),
        )

    def load_node(self, identity: int) -> tuple[tuple[str, ...], dict[str, Any]]:
        table = (
            self.raw_table(edge=False)
            if (False, identity) in self.revealed
            else self.node_table(hidden=True)
        )
        for row in self.rows(f"SELECT labels, json(props) FROM {table} WHERE id = ?", (identity,)):
            return self.labels_of(row[0]), decode_properties(row[1])
        fail(
            "The node was deleted; it has no properties or labels any more.",
            kind="EntityNotFound",
            detail="DeletedEntityAccess",
            node=identity,
        )

    def load_edge(self, identity: int) -> dict[str, Any]:
        table = (
            self.raw_table(edge=True)
            if (True, identity) in self.revealed
            else self.edge_table(hidden=True)
        )
        for row in self.rows(f"SELECT json(props) FROM {table} WHERE id = ?", (identity,)):
            return dict(decode_properties(row[0]))
        fail(
            "The relationship was deleted; it has no properties any more.",
            kind="EntityNotFound",
            detail="DeletedEntityAccess",
            edge=identity,
        )

    def edge(self, identity: int, *, revealed: bool = False) -> Edge | None:
        table = self.raw_table(edge=True) if revealed else self.edge_table()
        for row in self.rows(
            f"SELECT id, type, src, dst, json(props) FROM {table} WHERE id = ?", (identity,)
        ):
            return self.edge_of(*row)
        return None

    def indexes(self) -> Indexes:
        """Return the declared indexes. As of a past time their entries of all times are read, so
        the version of each element must be tested."""
        if self._indexes is None:
            self._indexes = self.reader.declared().indexes
        return self._indexes

    def has_label(self, name: str) -> bool:
        """Return whether any node of the present has this label."""
        return (
            next(iter(self.rows("SELECT 1 FROM node_label WHERE label = ? LIMIT 1", (name,))), None)
            is not None
        )

    def has_type(self, name: str) -> bool:
        """Return whether any relationship of the present has this type. Only the first thousands
        are read; beyond them the answer is yes."""
        if (
            next(
                iter(
                    self.rows(
                        "SELECT 1 FROM (SELECT type FROM edge LIMIT ?) WHERE type = ? LIMIT 1",
                        (_TYPES_READ, name),
                    )
                ),
                None,
            )
            is not None
        ):
            return True
        return (
            next(iter(self.rows("SELECT 1 FROM edge LIMIT 1 OFFSET ?", (_TYPES_READ,))), None)
            is not None
        )

    def had_label(self, name: str) -> bool:
        """Return whether any version of a node has or had this label: one that was deleted is not
        misspelt. Only the first thousands of past versions are read; beyond them the answer is
        yes."""
        return self.has_label(name) or self._in_past(
            "node_past", "instr(labels, json_quote(?))", name
        )

    def had_type(self, name: str) -> bool:
        """Return whether any version of a relationship has this type, as `had_label` does."""
        return self.has_type(name) or self._in_past("edge_past", "type = ?", name)

    def _in_past(self, table: str, test: str, name: str) -> bool:
        found = self.rows(
            f"SELECT coalesce(max({test}), 0), count(*) FROM (SELECT * FROM {table} LIMIT ?)",
            (name, _VERSIONS_READ),
        )
        held, read = next(iter(found))
        return bool(held) or read >= _VERSIONS_READ

    @functools.cached_property
    def image(self) -> ImageView | None:
        """Return the resident arrays of this snapshot; None where they would not be exact: as of a
        time, in a transaction, where policies hide something, and for a session that is bound to
        projects."""
        view = self.reader.image
        if view is None or self.as_of is not None or self.valid is not None:
            return None
        return view if self.sight is not None and not self.sight.tests else None

    @functools.cached_property
    def sight(self) -> VisibilityFilter | None:
        """Return the visibility filter of the present; None as of a past time, when policies do not
        apply."""
        return self.reader.sight() if self.as_of is None else None

    def changed_sight(self) -> None:
        """Apply a change of visibility to the rest of this query."""
        self.epoch += 1
        self.__dict__.pop("sight", None)

    @property
    def sight_key(self) -> tuple[Any, ...]:
        """Equal for runs whose tables and tests of visibility are equal."""
        return (
            0 if self.sight is None else self.sight.key
        ), None if self.valid is None else self.valid.key

    @property
    def tests_nodes(self) -> bool:
        """Whether the node at the end of an edge may be invisible and must be tested."""
        return (self.sight is not None and self.sight.tests_nodes) or (
            self.valid is not None and self.valid.tests_nodes
        )

    def source(self, alias: str, *, edge: bool) -> tuple[str, str]:
        """Return the table to read and the test for its rows. Together they equal the visible
        table, and are faster in a join."""
        if self.sight is None:
            return (self.edge_table() if edge else self.node_table()), ""
        return self.sight.table(edge=edge, hidden=True), self.sight.test(alias, edge=edge)

    # As of a time: live rows that already existed, united with the versions valid then

    def raw_table(self, *, edge: bool) -> str:
        """Return the table including hidden elements and faded properties."""
        return (
            (self.edge_table() if edge else self.node_table())
            if self.sight is None
            else "edge"
            if edge
            else "node"
        )

    def node_table(self, *, hidden: bool = False) -> str:
        if self.sight is not None:
            return self.sight.table(edge=False, hidden=hidden)
        assert self.as_of is not None
        time, columns = int(self.as_of), "id, labels, props, kref"
        past = (
            f" UNION ALL SELECT {columns} FROM node_past WHERE since <= {time} AND until > {time}"
            if self.has_past[0]
            else ""
        )
        return f"(SELECT {columns} FROM node WHERE since <= {time}{past})"

    def edge_table(self, *, hidden: bool = False) -> str:
        if self.sight is not None:
            return self.sight.table(edge=True, hidden=hidden)
        assert self.as_of is not None
        time, columns = int(self.as_of), "id, type, src, dst, props"
        past = (
            f" UNION ALL SELECT {columns} FROM edge_past WHERE since <= {time} AND until > {time}"
            if self.has_past[1]
            else ""
        )
        return f"(SELECT {columns} FROM edge WHERE since <= {time}{past})"

    def label_table(self, *, hidden: bool = False) -> str:
        """Return the table of labels. `hidden`: also those of invisible nodes, for a caller that
        reads the nodes too."""
        if self.sight is not None:
            seen = (
                "(SELECT label, node FROM node_label WHERE node IN (SELECT id FROM"
                f" {self.node_table()}))"
            )
            return seen if self.sight.tests_nodes and not hidden else "node_label"
        assert self.as_of is not None
        time = int(self.as_of)
        past = (
            " UNION ALL SELECT j.value, p.id FROM node_past p, json_each(p.labels) j WHERE p.since"
            f" <= {time} AND p.until > {time}"
        )
        return (
            "(SELECT l.label, l.node FROM node_label l JOIN node n ON n.id = l.node WHERE n.since"
            f" <= {time}{past if self.has_past[0] else ''})"
        )

    @functools.cached_property
    def has_past(self) -> tuple[bool, bool]:
        """Return whether any version of a node, and of an edge, ended after the requested time. If
        none did, all elements of that time still exist."""
        time = 0 if self.as_of is None else int(self.as_of)
        nodes, edges = (
            bool(
                next(
                    iter(self.rows(f"SELECT 1 FROM {table} WHERE until > ? LIMIT 1", (time,))), None
                )
            )
            for table in ("node_past", "edge_past")
        )
        return nodes, edges

    # Writing

    def _writer(self) -> Transaction:
        assert isinstance(self.reader, Transaction), "a plan that writes runs in a transaction"
        self.epoch += 1
        return self.reader

    # What the store is asked to write; `preview.py` asks it for nothing

    def _new_node(self, labels: tuple[str, ...], props: Mapping[str, Any]) -> NodeId:
        return self._writer().create_node(labels, props)

    def _new_nodes(
        self, labels: tuple[str, ...], props: Sequence[Mapping[str, Any]]
    ) -> list[NodeId]:
        return create_nodes(self._writer(), labels, props)

    def _new_edge(self, kind: str, start: int, *, end: int, props: Mapping[str, Any]) -> EdgeId:
        return self._writer().create_edge(kind, NodeId(start), dst=NodeId(end), props=props)

    def _new_edges(self, kind: str, edges: Sequence[NewEdge]) -> list[EdgeId]:
        return create_edges(self._writer(), kind, edges)

    def _set_node(
        self, node: Node, props: Mapping[str, Any], *, before: dict[str, Any] | None
    ) -> None:
        """`before`: all properties of the node, if they are known."""
        known = None if before is None else (node.labels, before)
        self._writer().set_node(NodeId(node.id), props, known=known)

    def _set_edge(self, edge: Edge, props: Mapping[str, Any]) -> None:
        self._writer().set_edge(EdgeId(edge.id), props)

    def _set_labels(self, node: Node, props: Mapping[str, Any], labels: set[str]) -> None:
        self._writer().set_node(NodeId(node.id), props, labels=labels)

    def create_node(self, labels: Iterable[str], props: Mapping[str, Any]) -> Node:
        names = tuple(sorted(set(labels)))
        clean = uniform(props, {})
        self._refuse_forged(names, clean)
        with _STORABLE:
            identity = self._new_node(names, clean)
        self.counters["nodes_created"] += 1
        self.counters["labels_added"] += len(names)
        self.counters["properties_set"] += len(clean)
        return self.node(identity)

    def create_nodes(
        self, labels: Iterable[str], props: Sequence[Mapping[str, Any]]
    ) -> list[NodeId]:
        """Create nodes with these labels and these properties, which are `uniform`, in order.
        Return their ids."""
        names = tuple(sorted(set(labels)))
        for given in props:
            self._refuse_forged(names, given)
        with _STORABLE, many_objects():
            made = self._new_nodes(names, props)
        self.counters["nodes_created"] += len(made)
        self.counters["labels_added"] += len(names) * len(made)
        self.counters["properties_set"] += sum(map(len, props))
        return made

    def _refuse_forged(self, labels: Iterable[str], props: Mapping[str, Any]) -> None:
        """Refuse to create beliefs, turns and places by hand: doxa.* procedures create them with
        their source. The store refuses every other address that a query gives."""
        if "kref" not in props:
            return
        guards = self.reader.declared().guards
        made = [label for label in labels if guards.labels.get(label, {}).get("addressed")]
        if made:
            fail(
                f"A {made[0]} with an address is not made by hand.",
                kind="ConstraintValidationFailed",
                detail="ProtectedLabel",
                hint="Call doxa.remember, or leave out the property kref for a node of your own.",
                label=made[0],
            )

    def create_edge(self, kind: str, start: Node, *, end: Node, props: Mapping[str, Any]) -> Edge:
        clean = uniform(props, {})
        with _STORABLE:
            try:
                identity = self._new_edge(kind, start.id, end=end.id, props=clean)
            except NotFoundError:
                _refuse_deleted_end()
        self.counters["relationships_created"] += 1
        self.counters["properties_set"] += len(clean)
        return Edge(identity, self, kind=kind, start=start.id, end=end.id)

    def create_edges(self, kind: str, edges: Sequence[NewEdge]) -> list[EdgeId]:
        """Create edges of one type, whose properties are `uniform`, in order. Return their ids."""
        with _STORABLE, many_objects():
            try:
                made = self._new_edges(kind, edges)
            except NotFoundError:
                _refuse_deleted_end()
        self.counters["relationships_created"] += len(made)
        self.counters["properties_set"] += sum([len(props) for _, _, props in edges])
        return made

    def set_properties(
        self,
        element: Node | Edge,
        props: Mapping[str, Any],
        *,
        named: Iterable[str] | None = None,
    ) -> None:
        """Replace the element's properties; null means absent. `named`: those that are counted as
        set, also to the value that they had, or as removed, if it had them; None: those that
        differ."""
        before = element.properties
        whole = self._with_faded(element, props)
        clean = uniform(whole, before)
        if named is None:
            named = [
                name
                for name in {**before, **clean}
                if not same_value(before.get(name), clean.get(name))
            ]
        self.counters["properties_set"] += len(
            [name for name in named if name in clean or name in before]
        )
        later = self._later
        if later is not None and isinstance(element, Node) and "kref" not in clean:
            if later.takes(element.labels, before):
                with _STORABLE:
                    element._props = later.set(element.id, element.labels, before, clean)
                return
            self.write_later()
        if isinstance(element, Node) and "kref" in clean and "kref" not in before:
            self._refuse_forged(element.labels, clean)
        with _STORABLE:
            if isinstance(element, Node):
                is_read = whole is props and element.source is self
                self._set_node(element, clean, before=before if is_read else None)
            else:
                self._set_edge(element, clean)

    @contextmanager
    def setting_later(self) -> Iterator[None]:
        """Log changes of nodes at once in the block, and write them together. Who reads elements by
        other objects than those that were changed calls `write_later` before."""
        reader = self.reader
        assert isinstance(reader, Transaction)
        self._later = NodeSets(reader) if self.sight is not None and not self.sight.tests else None
        try:
            yield
            self.write_later()
        finally:
            self._later = None

    def write_later(self) -> None:
        """Write the changes that are not written yet."""
        if self._later is not None:
            self._writer()
            self._later.flush()

    def load_nodes(self, nodes: Iterable[Node], *, bytes_max: int) -> Node | None:
        """Load the nodes that are not loaded, in one statement, and the first ones only once they
        hold more than `bytes_max`: at which it stopped. One that is not found, and what is read as
        of a time, is loaded when it is asked for."""
        waiting: dict[int, list[Node]] = {}
        for node in nodes:
            if node.source is self and node.epoch != self.epoch:
                waiting.setdefault(node.id, []).append(node)
        for _, identity in self.revealed:
            waiting.pop(identity, None)
        if len(waiting) < 2 or self.as_of is not None:
            return None
        left = bytes_max
        sql = (
            f"SELECT n.id, n.labels, json(n.props) FROM carray(?) c CROSS JOIN"
            f" {self.node_table(hidden=True)} n WHERE n.id = c.value"
        )
        for identity, labels, props in self.rows(sql, (int64_array(list(waiting)),)):
            for node in waiting[identity]:
                if left < 0:
                    return node
                node.fill(self.labels_of(labels), decode_properties(props))
                left -= len(props)
        return None

    def _with_faded(self, element: Node | Edge, props: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add the faded properties of the element: a query that does not see a property does not
        remove it."""
        edge = isinstance(element, Edge)
        table, identity = self.raw_table(edge=edge), (element.id,)
        if table == (self.edge_table(hidden=True) if edge else self.node_table(hidden=True)):
            return props
        for (text,) in self.rows(f"SELECT json(props) FROM {table} WHERE id = ?", identity):
            shown = element.properties
            return {
                **{
                    name: value
                    for name, value in decode_properties(text).items()
                    if name not in shown
                },
                **props,
            }
        return props

    def set_labels(
        self, node: Node, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> None:
        before = set(node.labels)
        after = (before | set(add)) - set(remove)
        if after != before:
            self._refuse_forged(after - before, node.properties)
            self.counters["labels_added"] += len(after - before)
            self.counters["labels_removed"] += len(before - after)
            self._set_labels(node, self._with_faded(node, node.properties), after)

    def delete_edge(self, identity: int) -> None:
        writer = self._writer()
        if (
            writer.edge(EdgeId(identity)) is not None
        ):  # hidden or not: all relationships of a node are deleted with it
            writer.delete_edge(EdgeId(identity))
            self.counters["relationships_deleted"] += 1

    def delete_node(self, identity: int) -> None:
        writer = self._writer()
        held = writer.node(NodeId(identity))
        if held is None:
            return
        if any(True for _ in self.edges_of(identity)):
            fail(
                "A node that still has relationships cannot be deleted.",
                kind="ConstraintVerificationFailed",
                detail="DeleteConnectedNode",
                hint="Use DETACH DELETE to delete its relationships too.",
                node=identity,
            )
        writer.delete_node(NodeId(identity))
        self.counters["nodes_deleted"] += 1
        self.counters["labels_removed"] += 0

    def edges_of(self, identity: int) -> Iterator[int]:
        rows = self.rows(
            "SELECT id FROM edge WHERE src = ? UNION SELECT id FROM edge WHERE dst = ?",
            (identity, identity),
        )
        return iter([row[0] for row in rows])


def _refuse_deleted_end() -> NoReturn:
    fail(
        "A relationship cannot connect a deleted node.",
        kind="EntityNotFound",
        detail="DeletedEntityAccess",
    )


class _storable:
    """Translates the store's refusal of a value into openCypher's error."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InputError) and not isinstance(error, LimitError):
            fail(
                error.message, kind="TypeError", detail="InvalidPropertyType", hint=error.next_step
            )


_STORABLE = _storable()
