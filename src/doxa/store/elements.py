"""Nodes and edges as a transaction reads and writes them.

Each call checks role, guards and limits, appends to the log and applies the operation. What the
transaction has read or written it keeps (cache.py) and does not read again: that is safe because
it holds the write lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, cast

import apsw

from doxa.base.errors import ConstraintError, LimitError, NotFoundError
from doxa.base.ids import EdgeId, NodeId, Role, TxId
from doxa.base.limits import TRANSACTION_ENTRIES_MAX
from doxa.base.values import (
    Properties,
    canonical,
    check_properties,
    decode_properties,
    encode_properties,
    same_value,
)
from doxa.store import apply
from doxa.store.cache import ABSENT, ElementCache, Encoded
from doxa.store.constraint import ConstraintChecker
from doxa.store.declared import Declared
from doxa.store.guard import End
from doxa.store.index import IndexWriter, State
from doxa.store.indexing.search_rows import SearchWriter
from doxa.store.intake.chains import check_chain
from doxa.store.intake.names import node_labels, owner_of, usable_name
from doxa.store.intake.secrets import cleaned
from doxa.store.log_writer import LogWriter, Tail
from doxa.store.reader import Reader, read_edge, read_node
from doxa.store.rows import Edge, Identity, LogEntry, Node, RunStamp
from doxa.store.scope.binding import ProjectBinding, project_stated
from doxa.store.scope.views import seeing_all
from doxa.store.visibility.evaluator import Expressions, Subject
from doxa.store.visibility.window_writer import WindowWriter

_ANY_END = End((), False)  # where no guard asks
_LIVE_MAX = 200_000
_id = attrgetter("id")
_EDGES_AT = "SELECT id FROM main.edge WHERE src = ? OR dst = ?"
_TIMES = "SELECT since, born FROM node WHERE id = ?"
_PROJECT_OF_PAST = "SELECT project FROM main.node_past WHERE id = ? ORDER BY since DESC LIMIT 1"


class ElementWriter(Reader):
    """The part of a transaction that reads and writes nodes and edges."""

    def __init__(
        self,
        db: apsw.Connection,
        *,
        now: int,
        identity: Identity,
        tail: Tail,
        rules: Declared,
        expressions: Expressions | None,
        neutral: bool,
        rights: Role | None = None,
        by_hand: bool = False,
        leases: Callable[[str], int] | None = None,
    ) -> None:
        self.tx = TxId(tail.tx + 1)
        self.entries = LogWriter(db, tx=self.tx, seq=tail.seq, head=tail.head)
        super().__init__(
            db,
            now=now,
            pending=self.entries,
            expressions=expressions,
            neutral=neutral,
            leases=leases,
        )
        self.identity = identity
        # by which guards judge: an import that nobody looked at has an agent's
        self.rights: Role = rights or identity.role
        self.left_out: list[str] = []  # kinds of secrets that were redacted on the way in
        self.by_hand = by_hand  # a query writes, and no operation
        self.binding: ProjectBinding | None = None  # what it may read and write; None: all
        self.run: RunStamp | None = None  # the run of a job that writes
        self._tail = tail
        self._node, self._edge = tail.node, tail.edge
        self._more_nodes = 0  # made, less those deleted
        self._labelled = False  # whether a node was made, or came to a label
        self._declared = rules
        self._guards = rules.guards
        self._cache = ElementCache()
        self._search = search = SearchWriter(db, rules.search, self)
        self._windows = WindowWriter(
            db, rules.evaluator, lambda: search.rules, suppressing=bool(rules.suppressing)
        )
        self._index = IndexWriter(db, rules.indexes)
        self._constraints = ConstraintChecker(db, rules.constraints)
        # edges whose guards are checked at the end of the transaction
        self._judged: dict[tuple[NodeId, str, NodeId], None] = {}
        # nodes and labels whose guard asks for an edge that holds them, with none made here so far
        self._unheld: dict[tuple[int, str], None] = {}
        self._live: set[int] = set()  # nodes that are known to exist
        self._ends: dict[int, End] = {}  # as guards look at them, until the node changes
        self._live_edges = rules.search.live_edges
        self._dirty: dict[int, None] = {}
        self.changed_edges: dict[int, None] = {}  # nodes that a changed edge `shown_by` leaves
        self._owed: dict[int, None] = {}  # to be checked before the commit, drained or not

    # Reads

    def node(self, identity: NodeId) -> Node | None:
        found = self._cache.node(identity)
        if found is None:
            node = super().node(identity)
            if node is None:
                self._cache.put_absent(identity=identity)
            else:
                self._cache.put_node(node)
            return node
        return found if isinstance(found, Node) else None

    def node_by_kref(self, kref: str) -> Node | None:
        known = self._cache.id_at(kref)
        if known is None:
            node = super().node_by_kref(kref)
            if node is None:
                self._cache.put_absent(kref=kref)
            else:
                self._cache.put_node(node)
            return node
        return None if known is ABSENT else self.node(known)  # type: ignore[arg-type]

    def nodes(self, identities: Sequence[int]) -> list[Node]:
        unknown = [one for one in identities if self._cache.node(one) is None]
        for node in super().nodes(unknown):
            self._cache.put_node(node)
        found = (self._cache.node(one) for one in identities)
        return [node for node in found if isinstance(node, Node)]

    def edge(self, identity: EdgeId) -> Edge | None:
        return self._cache.edge(identity) or super().edge(identity)

    def _edges(self, end: str, node: NodeId, kind: str | None) -> list[Edge]:
        incoming = end == "dst"
        found = self._cache.edges(incoming, node, kind)
        if found is None:
            found = super()._edges(end, node, kind)
            kinds = None if kind is None else (kind,)
            self._keep(found, node, incoming, kinds)
        return found

    def _keep(
        self, edges: list[Edge], node: NodeId, incoming: bool, kinds: Sequence[str] | None
    ) -> None:
        self._cache.put_edges(incoming, node, edges, kinds=kinds)
        if edges and len(self._live) < _LIVE_MAX:  # an edge joins nodes that exist
            self._live.update([edge.src if incoming else edge.dst for edge in edges])

    def edges_in_of(self, node: NodeId, kinds: tuple[str, ...]) -> list[Edge]:
        found: list[Edge] = []
        for kind in kinds:
            held = self._cache.edges(True, node, kind)
            if held is None:
                found = super().edges_in_of(node, kinds)
                self._keep(found, node, True, kinds)
                return found
            found += held
        return sorted(found, key=_id)

    def load(
        self, sql: str, args: Sequence[object], *, address: str
    ) -> tuple[list[Node], dict[int, list[Edge]]]:
        """Read several elements in one statement: the nodes, that at the address first, and the
        edges by part.

        Its rows are (part, id, labels or type, src, dst, properties, since, born); of a node the
        part is 0 and src NULL.
        """
        nodes: list[Node] = []
        edges: dict[int, list[Edge]] = {}
        for part, identity, name, src, dst, props, since, born in self._db.execute(sql, args):
            if src is None:
                held = self._cache.node(identity)
                if not isinstance(held, Node):
                    held = read_node((identity, name, props, since, born))
                    self._cache.put_node(held)
                nodes.append(held)
            else:
                edge = read_edge((identity, name, src, dst, props, since, born))
                edges.setdefault(part, []).append(edge)
        if not nodes:
            self._cache.put_absent(kref=address)
        return nodes, edges

    def keep_edges(
        self,
        edges: list[Edge],
        *,
        leaving: NodeId | None = None,
        reaching: NodeId | None = None,
        kinds: Sequence[str] | None = None,
    ) -> None:
        """Keep all edges of these types at one end, or all of its edges (None), as `load` read
        them."""
        end = leaving if reaching is None else reaching
        assert end is not None
        edges.sort(key=_id)
        self._keep(edges, end, reaching is not None, kinds)

    @property
    def has_new_names(self) -> bool:
        return self._labelled or self._edge > self._tail.edge

    def written_since(self, tx: int) -> bool:
        return self._tail.tx > tx and super().written_since(tx)

    def is_made(self, identity: int) -> bool:
        """Return whether this transaction made the node."""
        return self._cache.is_made(identity)

    @property
    def has_windows(self) -> bool:
        """Whether a node may have a visibility window other than the one it is made with."""
        return not self._windows.idle

    # Nodes

    def create_node(
        self,
        labels: Iterable[str],
        props: Mapping[str, object],
        *,
        checked: bool = False,
        project: str | None = None,
    ) -> NodeId:
        """Create a node. `checked`: labels and properties are. `project` is where it lies if
        neither an address nor the session names one."""
        names, given = node_labels(labels), cast("Properties", props)
        clean = given if checked else check_properties(props, owner=owner_of(names))
        clean = cleaned(clean, self.left_out)
        if self.run is not None:
            clean = clean | self.run.marks()
        self._guards.node_write(self.rights, names, clean)
        self._guards.node_values(self.rights, names, before={}, after=clean, by_hand=self.by_hand)
        data = encode_properties(clean, owner=owner_of(names))
        identity = self._node + 1
        stated = None
        if self.binding is not None or "project" in clean:
            stated = project_stated(self.binding, names, clean, self._search.rules)
        if project is not None and stated is None and "kref" not in clean:
            stated = project
        self._insert_node(identity, names, clean, data, stated)
        self._node = identity
        return NodeId(identity)

    def restore_node(self, identity: NodeId, labels: Iterable[str], *, props: Properties) -> None:
        """Restore a node that was deleted, under its own id, for undo."""
        names = node_labels(labels)
        self._guards.node_write(self.rights, names, props)
        data = encode_properties(props, owner=owner_of(names))
        held = self._db.execute(_PROJECT_OF_PAST, (identity,)).get  # where it was, it is again
        self._insert_node(identity, names, props, data, held if "kref" not in props else None)

    def _insert_node(
        self,
        identity: int,
        names: tuple[str, ...],
        props: Properties,
        data: bytes,
        stated: str | None,
    ) -> None:
        """`stated` is the project of a node that no address names one for. Nothing is logged if the
        address is taken: a caller may catch the refusal and go on in the same transaction."""
        kref = props.get("kref")
        self._require_room()
        if self.binding is not None:
            self.binding.check(names, props, self._search.rules)
        project = stated if kref is None else apply.project_of(kref)
        try:
            apply.create_node(self._db, identity, names, props=data, now=self.now, project=project)
        except apsw.ConstraintError:
            raise _taken(kref) from None
        self.entries.add(
            "node.create",
            identity,
            b'{"id":%d,"labels":%b%b,"props":%b}'
            % (
                identity,
                canonical(names),
                b"" if stated is None else b',"project":%b' % canonical(stated),
                data,
            ),
        )
        self._cache.node_made((identity, names, data, self.now, self.now), kref)
        self._node_changed(identity, None, (names, props))
        if not self._windows.idle:
            self._windows.changed(
                Subject(False, identity, names, props, self.now, self.now), made=True
            )
        self._search.node_made(identity, names)

    def _node_changed(
        self,
        identity: int,
        before: State | None,
        after: State | None,
        *,
        kept: bool = False,
        older: bool = False,
    ) -> None:
        self._ends.pop(identity, None)
        if after is not None and (before is None or before[0] != after[0]):
            self._labelled = True
        if before is None:
            self._more_nodes += 1
            if after is not None and not self._guards.judged.isdisjoint(after[0]):
                self._dirty[identity] = self._owed[identity] = None
        if after is None:
            self._more_nodes -= 1
            self._live.discard(identity)
        else:
            self._note_live(identity)
            self._note_unheld(identity, before, after)
        self._index.node_changed(identity, before, after, kept=kept, older=older)
        if after is not None:
            self._constraints.node_touched(identity, after[0])

    def _note_unheld(self, identity: int, before: State | None, after: State) -> None:
        """Note a node that came to an address or a label whose guard asks for an edge that holds
        it."""
        labels, props = after
        if props.get("kref") is None:
            return
        had = () if before is None or before[1].get("kref") is None else before[0]
        for label in labels:
            if label in self._guards.within and label not in had:
                self._unheld[identity, label] = None

    def set_node(
        self,
        identity: NodeId,
        props: Mapping[str, object],
        *,
        labels: Iterable[str] | None = None,
        known: tuple[tuple[str, ...], Properties] | None = None,
    ) -> None:
        """Replace the properties (and labels, if given). Nothing is logged when nothing changes.
        `known`: all labels and properties that the node has, as they were read in this
        transaction."""
        before = self._require_node(identity, known)
        names = before.labels if labels is None else node_labels(labels)
        owner = owner_of(names)
        clean = check_properties(props, owner=owner, before=before.props)
        clean = cleaned(clean, self.left_out, before=before.props)
        if names == before.labels and same_value(clean, before.props):
            return
        self._guards.node_write(self.rights, before.labels)
        self._guards.node_change(
            self.rights, before.labels, before=before.props, after=clean, labels_after=names
        )
        self._guards.node_write(self.rights, names, clean)
        self._guards.node_values(
            self.rights, names, before=before.props, after=clean, by_hand=self.by_hand
        )
        data = encode_properties(clean, owner=owner)
        self._require_free(clean.get("kref"), owner=identity)
        self._log(
            "node.set",
            identity,
            payload=b'{"id":%d,"labels":%b,"props":%b}' % (identity, canonical(names), data),
        )
        if self.binding is not None:
            self.binding.check(names, clean, self._search.rules)
        self._replace_node(before, names, clean, data)
        if not self._guards.labels.keys().isdisjoint(names):
            self._dirty[identity] = None
        if not self._guards.judged.isdisjoint(names):
            self._owed[identity] = None

    def _replace_node(
        self, before: Node, names: tuple[str, ...], clean: Properties, data: bytes
    ) -> None:
        """Write what was logged of a node, and what depends on it."""
        identity, kref = before.id, clean.get("kref")
        project = apply.project_of(kref)
        apply.set_node(
            self._db,
            identity,
            names,
            props=data,
            now=self.now,
            project=project,
            before=before.labels,
        )
        self._cache.node_set(
            (identity, names, data, self.now, before.born),
            kref,
            before=before.props.get("kref"),
        )
        self._node_changed(
            identity,
            (before.labels, before.props),
            (names, clean),
            kept=before.since < self.now,
            older=before.born < self.now,
        )
        if project is not None and project != apply.project_of(before.props.get("kref")):
            self._enter_past_of_moved(identity)
        if not self._windows.idle:
            self._windows.changed(Subject(False, identity, names, clean, self.now, before.born))
        self._search.node_touched(identity, (names, clean), before=(before.labels, before.props))

    def _enter_past_of_moved(self, identity: NodeId) -> None:
        """Enter the keys of what a node was, and its edges: its former project does not see it."""
        self._index.enter_past(identity, edge=False)
        edges: list[Any] = self._db.execute(_EDGES_AT, (identity, identity)).fetchall()
        for row in edges:
            self._index.enter_past(row[0], edge=True)

    def delete_node(self, identity: NodeId) -> None:
        """Close the node: it leaves the present and stays in the past. Its edges must be gone."""
        before = self._require_node(identity)
        self._guards.node_write(self.rights, before.labels)
        self._guards.node_change(self.rights, before.labels, before=before.props, after=None)
        if self.binding is not None:
            self._drop_unseen_edges(identity)
        if self._db.execute(
            "SELECT 1 FROM main.edge WHERE src = ? OR dst = ? LIMIT 1", (identity, identity)
        ).get:
            raise ConstraintError(
                f"Node {identity} still has edges.",
                next_step="Remove its edges in the same transaction.",
                node=identity,
            )
        self._log("node.delete", identity, payload=canonical({"id": identity}))
        self._remove_node(before)

    def _remove_node(self, before: Node) -> None:
        identity = before.id
        apply.delete_node(self._db, identity, self.now)
        self._cache.node_gone(identity, before.props.get("kref"))
        self._node_changed(
            identity,
            (before.labels, before.props),
            None,
            kept=before.since < self.now,
            older=before.born < self.now,
        )
        self._search.node_gone(identity)

    # Edges

    def create_edge(
        self, kind: str, src: NodeId, *, dst: NodeId, props: Mapping[str, object] | None = None
    ) -> EdgeId:
        clean = cleaned(check_properties(props, owner=kind), self.left_out) if props else {}
        if self.run is not None and kind not in self._guards.edges:
            clean = clean | self.run.marks()
        self._guarded(usable_name(kind, "edge type"), src, dst=dst, props=clean)
        identity = self._edge = self._edge + 1
        self._insert_edge(identity, kind, src=src, dst=dst, props=clean)
        return EdgeId(identity)

    def restore_edge(
        self, identity: EdgeId, kind: str, *, src: NodeId, dst: NodeId, props: Properties
    ) -> None:
        """Restore an edge that was deleted, under its own id, for undo."""
        self._guarded(kind, src, dst=dst, props=props)
        self._insert_edge(identity, kind, src=src, dst=dst, props=props, made=False)

    def _guarded(
        self, kind: str, src: NodeId, *, dst: NodeId, props: Properties, judged: bool = True
    ) -> bool:
        """Whether a guard applies to an edge between these two nodes, which must exist; raises if
        it refuses. `judged`: the guard also applies at the end of the transaction."""
        if kind not in self._guards.edges:
            self._require_live(src)
            self._require_live(dst)
            return False
        asked = self._guards.has_ends(kind)
        ends = self._end(src, asked), self._end(dst, asked)
        applies = self._guards.edge_write(self.rights, kind, props, ends=ends, by_hand=self.by_hand)
        if applies and judged:
            self._guards.check_needs(kind, props)
            if kind in self._guards.judged_last:
                self._judged[src, kind, dst] = None
        if applies and "chain" in self._guards.edges[kind]:
            check_chain(self, self._guards.edges[kind], kind, src, dst, self.rights, adding=judged)
        return applies

    def _require_live(self, node: NodeId) -> None:
        if node not in self._live:
            if (
                self._cache.labels(node) is None
                and self._db.execute("SELECT 1 FROM node WHERE id = ?", (node,)).get is None
            ):
                raise _nothing_to_connect(node)
            self._note_live(node)

    def _note_live(self, node: int) -> None:
        if len(self._live) >= _LIVE_MAX:
            self._live.clear()
        self._live.add(node)

    def _end(self, node: NodeId, asked: bool) -> End:
        if not asked:
            self._require_live(node)
            return _ANY_END
        end = self._ends.get(node)
        if end is None:
            found = self.node(node)
            if found is None:
                raise _nothing_to_connect(node)
            end = self._ends[node] = End(found.labels, found.props.get("kref") is not None)
        return end

    def _insert_edge(
        self,
        identity: int,
        kind: str,
        *,
        src: NodeId,
        dst: NodeId,
        props: Properties,
        made: bool = True,
    ) -> None:
        """`made`: it is new; one that comes back has its former access metadata."""
        data = encode_properties(props, owner=kind) if props else b"{}"
        body = b'{"dst":%d,"id":%d,"props":%b,"src":%d,"type":%b}' % (
            dst,
            identity,
            data,
            src,
            canonical(kind),
        )
        self._log("edge.create", identity, payload=body)
        apply.create_edge(self._db, identity, kind, src=src, dst=dst, props=data, now=self.now)
        held = decode_properties(data.decode()) if props else {}
        self._cache.edge_made(Edge(EdgeId(identity), kind, src, dst, held, self.now, self.now))
        self._index.edge_changed(identity, kind, before=None, after=props)
        if not self._windows.idle:
            self._windows.changed(
                Subject(True, identity, (kind,), props, self.now, self.now, src, dst), made=made
            )
        self._constraints.edge_touched(identity, kind, src=src, dst=dst)
        self._search.edge_touched(kind, dst)
        for label in self._guards.held_by.get(kind, ()):
            self._unheld.pop((dst, label), None)
        self._mark_dirty(kind, src, dst)

    def set_edge(self, identity: EdgeId, props: Mapping[str, object]) -> None:
        before = self._require_edge(identity)
        clean = check_properties(props, owner=before.type)
        clean = cleaned(clean, self.left_out, before=before.props)
        if same_value(clean, before.props):
            return
        for props_held in (before.props, clean):
            self._guarded(before.type, before.src, dst=before.dst, props=props_held)
        data = encode_properties(clean, owner=before.type)
        self._log("edge.set", identity, payload=b'{"id":%d,"props":%b}' % (identity, data))
        self._replace_edge(before, clean, data)

    def _replace_edge(self, before: Edge, clean: Properties, data: bytes) -> None:
        """Write what was logged of an edge, and what depends on it."""
        identity = before.id
        apply.set_edge(self._db, identity, props=data, now=self.now)
        self._cache.edge_set(
            before._replace(props=decode_properties(data.decode()), since=self.now)
        )
        self._index.edge_changed(
            identity,
            before.type,
            before=before.props,
            after=clean,
            kept=before.since < self.now,
            older=before.born < self.now,
        )
        self._windows.changed(
            Subject(
                True, identity, (before.type,), clean, self.now, before.born, before.src, before.dst
            )
        )
        self._constraints.edge_touched(identity, before.type, src=before.src, dst=before.dst)
        self._search.edge_touched(before.type, before.dst)
        self._mark_dirty(before.type, before.src, before.dst)

    def delete_edge(self, identity: EdgeId) -> None:
        before = self._require_edge(identity)
        if self._guarded(before.type, before.src, dst=before.dst, props=before.props, judged=False):
            self._guards.edge_removal(self.rights, before.type)
        self._log("edge.delete", identity, payload=b'{"id":%d}' % identity)
        self._remove_edge(before)

    def _remove_edge(self, before: Edge) -> None:
        identity = before.id
        apply.delete_edge(self._db, identity, self.now)
        self._cache.edge_gone(before)
        self._index.edge_changed(
            identity,
            before.type,
            before=before.props,
            after=None,
            kept=before.since < self.now,
            older=before.born < self.now,
        )
        self._search.edge_touched(before.type, before.dst)
        for label in self._guards.held_by.get(before.type, ()):
            self._unheld[before.dst, label] = None
        self._mark_dirty(before.type, before.src, before.dst)

    # Bound to projects

    @contextmanager
    def whole_file(self) -> Iterator[None]:
        """Read and write the whole file in the block, if the transaction is bound to projects: what
        must hold for all of it is checked so."""
        binding, self.binding = self.binding, None
        if binding is None:
            yield
            return
        self._cache.clear()
        try:
            with seeing_all(self._db):
                yield
        finally:
            self._cache.clear()
            self.binding = binding

    def _drop_unseen_edges(self, identity: int) -> None:
        """Delete the edges that join a node to what its session does not see, since it cannot."""
        rows: list[Any] = self._db.execute(
            "SELECT id FROM main.edge WHERE (src = ?1 OR dst = ?1) AND id NOT IN (SELECT id FROM"
            " edge WHERE src = ?1 OR dst = ?1)",
            (identity,),
        ).fetchall()
        if rows:
            with self.whole_file():
                for (edge,) in rows:
                    self.delete_edge(EdgeId(edge))

    # What has to be looked at again before the commit

    def is_plain(self, kind: str) -> bool:
        """Return whether an edge of this type changes nothing but itself, so that many may be
        written without looking at each (bulk/edges.py): what `create_edge` asks by type."""
        guards = self._guards
        return (
            self.run is None
            and self._windows.idle
            and kind not in guards.edges
            and kind not in guards.held_by
            and kind not in guards.shown_by
            and kind not in self._declared.support
            and kind not in self._live_edges
            and kind not in self._search.followed
            and kind not in self._constraints.constraints.types
            and not self._index.indexes.kept_for_type(kind)
        )

    def is_plain_node(self, names: tuple[str, ...]) -> bool:
        """Return whether a new node with these labels and without an address is about nothing but
        itself, so that many may be written without looking at each (bulk/nodes.py)."""
        return (
            self.run is None
            and self._windows.idle
            and self._guards.labels.keys().isdisjoint(names)
            and self._guards.judged.isdisjoint(names)
        )

    def nodes_made(self, names: tuple[str, ...], nodes: Sequence[tuple[int, bytes]]) -> None:
        """Note plain nodes, with their encoded properties, that were written without
        `create_node`; their entries of indexes come with `index_nodes`."""
        now = self.now
        for identity, data in nodes:
            self._cache.node_made((identity, names, data, now, now), None)
        self._node = nodes[-1][0]
        self._more_nodes += len(nodes)
        self._labelled = True
        self._constraints.nodes_touched([identity for identity, _ in nodes], names)
        for label in names:
            if label in self._search.rules:
                for identity, _ in nodes:
                    self._search.node_made(identity, names)
                break

    def node_was_set(self, node: Encoded, before: State, after: Properties, *, kept: bool) -> None:
        """Note a plain node that was written without `set_node` (bulk/sets.py). `kept`: what it was
        before is now a past version."""
        identity, names = node[:2]
        self._cache.node_set(node, None)
        older = node[4] < self.now
        self._node_changed(identity, before, (names, after), kept=kept, older=older)
        self._search.node_touched(identity, (names, after), before=(names, before[1]))

    def index_nodes(self, names: tuple[str, ...], nodes: Sequence[tuple[int, Properties]]) -> None:
        """Write the entries of declared indexes of nodes that were made without them, in order."""
        self._index.nodes_made(names, nodes)

    def _mark_dirty(self, kind: str, src: int, dst: int) -> None:
        if kind in self._guards.shown_by:
            self._dirty[src] = self.changed_edges[src] = self._owed[src] = None
        if kind in self._declared.support:
            self._dirty[src] = None
        elif kind in self._live_edges:
            self._dirty[dst] = None

    @property
    def dirty_nodes(self) -> list[NodeId]:
        """What drain_dirty would return."""
        return [NodeId(identity) for identity in self._dirty]

    @property
    def nodes_to_check(self) -> list[NodeId]:
        """What the check before the commit looks at, whatever was drained since."""
        return [NodeId(identity) for identity in self._owed | self._dirty]

    def owe_dirty(self) -> None:
        """Note that what is dirty now is to be checked, though the operation drains it."""
        self._owed |= self._dirty

    def drain_dirty(self) -> list[NodeId]:
        """Take the nodes whose liveness, grounds or properties this transaction changed since the
        last call."""
        found, self._dirty = self._dirty, {}
        return [NodeId(identity) for identity in found]

    def pending_log(self) -> list[LogEntry]:
        """Return what this transaction has logged so far."""
        self.entries.flush()
        return self.log(after=self._tail.seq, limit=TRANSACTION_ENTRIES_MAX)

    # Checks

    def _log(self, op: str, element: int, *, payload: bytes) -> None:
        self._require_room()
        self.entries.add(op, element, payload)

    def has_room(self, count: int) -> bool:
        """Return whether so many entries of the log fit into the transaction."""
        return self.entries.seq - self._tail.seq + count <= TRANSACTION_ENTRIES_MAX

    def _require_room(self, count: int = 1) -> None:
        if self.entries.seq - self._tail.seq + count > TRANSACTION_ENTRIES_MAX:
            raise LimitError(
                f"One transaction would write more than {TRANSACTION_ENTRIES_MAX:,} log entries.",
                next_step="Split the work into several calls.",
                limit_entries=TRANSACTION_ENTRIES_MAX,
            )

    def _require_free(self, kref: object, *, owner: int) -> None:
        if kref is not None and (
            self._db.execute(
                "SELECT 1 FROM main.node WHERE kref = ? AND id <> ?", (kref, owner)
            ).get
            is not None
        ):
            raise _taken(kref)

    def _require_node(
        self, identity: NodeId, known: tuple[tuple[str, ...], Properties] | None = None
    ) -> Node:
        """Return the node. What is `known` of it is not read, unless this transaction wrote it."""
        if known is not None and self._cache.node(identity) is None:
            row = self._db.execute(_TIMES, (identity,)).fetchone()
            if row is not None:
                self._cache.put_node(Node(identity, *known, *row))
        node = self.node(identity)
        if node is None:
            raise NotFoundError(
                f"There is no node {identity}.",
                next_step="Look it up again; it may have been removed.",
                node=identity,
            )
        return node

    def _require_edge(self, identity: EdgeId) -> Edge:
        edge = self.edge(identity)
        if edge is None:
            raise NotFoundError(
                f"There is no edge {identity}.",
                next_step="Look it up again; it may have been removed.",
                edge=identity,
            )
        return edge


def _taken(kref: object) -> ConstraintError:
    return ConstraintError(
        f"The address {kref} is taken.",
        next_step="Choose another name, or revise what is there.",
        kref=kref,
    )


def _nothing_to_connect(node: NodeId) -> NotFoundError:
    said = f"There is no node {node} to connect."
    return NotFoundError(said, next_step="Create the node first.", node=node)
