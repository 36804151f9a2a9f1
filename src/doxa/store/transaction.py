"""The only way to write: one context manager whose block is the atomic region.

Inside, each call checks role, guards and limits, appends to the log and applies the operation; at
the end search rows are brought up to date and one receipt seals it all. An exception leaves nothing
behind. The chain is drawn in `log.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConstraintError, InputError, LimitError, NotFoundError, RoleError
from doxa.base.ids import ROLES, EdgeId, NodeId, Role, TxId
from doxa.base.limits import (
    ACTOR_CHARS_MAX,
    LABEL_CHARS_MAX,
    NOTE_CHARS_MAX,
    SWEEP_BATCH_ITEMS_MAX,
    TRANSACTION_ENTRIES_MAX,
)
from doxa.base.values import (
    Properties,
    canonical,
    check_properties,
    check_text,
    decode,
    encode_properties,
    same_value,
)
from doxa.policy.rules import PREFIX
from doxa.store import apply
from doxa.store.constraint import ConstraintChecker, Constraints
from doxa.store.declared import SUPPRESSING, Declared, declared, kinds_changed
from doxa.store.guard import End, misfits, rank
from doxa.store.index import Indexes, IndexWriter, State, build, drop
from doxa.store.indexing.search import SearchWriter, parse_rule
from doxa.store.indexing.vectors import VectorWriter
from doxa.store.log import GENESIS, LogWriter, receipt_hash
from doxa.store.reader import Reader, int64_array
from doxa.store.rows import Edge, Node, Receipt
from doxa.store.scrub import mark
from doxa.store.visibility.access import Noted, encode_access, used
from doxa.store.visibility.judge import Expressions, Judge, Subject
from doxa.store.visibility.window import Seen, WindowWriter, load, note_swept, swept

_ANY_END = End((), False)  # where no guard asks
_LIVE_MAX = 200_000


class Identity(NamedTuple):
    """Who acts: a name for the record and a role for the gate."""

    actor: str = "local"
    role: Role = "agent"


class Tail(NamedTuple):
    """The end of the log as the last receipt states it: what the next transaction goes on from."""

    tx: int
    time: int
    seq: int
    node: int
    edge: int
    head: bytes
    hash: bytes


def read_tail(db: apsw.Connection) -> Tail:
    row = db.execute(
        "SELECT tx, time, last_seq, last_node, last_edge, head, hash FROM receipt ORDER BY tx DESC"
        " LIMIT 1"
    ).fetchone()
    return Tail(*row) if row else Tail(0, 0, 0, 0, 0, GENESIS, GENESIS)


class Transaction(Reader):
    """Made by Store.write; not by hand. `now` is its one timestamp, later than any before it in
    this file."""

    def __init__(
        self,
        db: apsw.Connection,
        *,
        clock_ns: int,
        identity: Identity,
        op: str,
        note: str,
        rules: Declared,
        expressions: Expressions | None = None,
        neutral: bool = False,
        seal: Callable[[Transaction], None] | None = None,
    ) -> None:
        """`seal` is called before the end, while it may still write: what must hold after every
        transaction, by whatever door it came."""
        if (
            identity.role not in ROLES
        ):  # the guards rank an unknown role above all: right for a rule, wrong for a session
            raise InputError(
                f"{identity.role!r} is no role.",
                next_step=f"Use one of {', '.join(ROLES)}.",
                field="role",
            )
        tail = read_tail(db)
        self.tx = TxId(tail.tx + 1)
        self.entries = LogWriter(db, tx=self.tx, seq=tail.seq, head=tail.head)
        super().__init__(
            db,
            now=max(clock_ns, tail.time + 1),
            pending=self.entries,
            expressions=expressions,
            neutral=neutral,
        )
        self.identity = Identity(
            check_text(identity.actor, field="actor", bytes_max=ACTOR_CHARS_MAX * 4), identity.role
        )
        self.op = op
        self.note = check_text(note, field="note", bytes_max=NOTE_CHARS_MAX * 4)
        self.receipt_made: Receipt | None = None
        self._tail = tail
        self._node, self._edge = tail.node, tail.edge
        self._declared = rules
        self._guards = rules.guards
        self._search = SearchWriter(db, rules.search)
        self._vectors = VectorWriter(db)
        self._index = IndexWriter(db, rules.indexes)
        self._constraints = ConstraintChecker(db, rules.constraints)
        self._windows = WindowWriter(
            db, rules.judge, lambda: self._search.rules, suppressing=bool(rules.suppressing)
        )
        self._policies_changed = [False, False]  # of nodes, of edges
        self.left_to_sweep = False
        self.noted: list[Noted] = []  # what its queries returned: handed on when it ends
        self._judged: dict[tuple[NodeId, str, NodeId], None] = {}
        self._ends: dict[
            int, End
        ] = {}  # ends of edges looked at in this transaction, until the node changes
        self._live: set[int] = set()  # nodes that are known to be there
        self.catalogue_changed = False
        self._live_edges = frozenset(rule.live_edge for rule in rules.search.values())
        self._stirred: dict[int, None] = {}
        self._seal = seal

    # Nodes

    def create_node(self, labels: Iterable[str], props: Mapping[str, object]) -> NodeId:
        names = _labels(labels)
        clean = check_properties(props, owner=_owner(names))
        self._guards.node_write(self.identity.role, names, clean)
        data = encode_properties(clean, owner=_owner(names))
        self._require_free(clean.get("kref"), owner=0)
        identity = self._node = self._node + 1
        self._log(
            "node.create",
            identity,
            payload=b'{"id":%d,"labels":%b,"props":%b}' % (identity, canonical(names), data),
        )
        apply.create_node(self._db, identity, names, props=data, now=self.now)
        self._node_changed(identity, None, (names, clean))
        self._windows.changed(Subject(False, identity, names, clean, self.now, self.now), made=True)
        self._search.node_made(identity, names)
        return NodeId(identity)

    def _node_changed(
        self, identity: int, before: State | None, after: State | None, *, kept: bool = False
    ) -> None:
        self._ends.pop(identity, None)
        if after is None:
            self._live.discard(identity)
        else:
            self._note_live(identity)
        self._index.node_changed(identity, before, after, kept=kept)
        if after is not None:
            self._constraints.node_touched(identity, after[0])

    def restore_node(self, identity: NodeId, labels: Iterable[str], *, props: Properties) -> None:
        """Bring back a node that was deleted, under its own id: undo."""
        names = _labels(labels)
        self._guards.node_write(self.identity.role, names, props)
        self._require_free(props.get("kref"), owner=identity)
        data = encode_properties(props, owner=_owner(names))
        self._log(
            "node.create",
            identity,
            payload=b'{"id":%d,"labels":%b,"props":%b}' % (identity, canonical(names), data),
        )
        apply.create_node(self._db, identity, names, props=data, now=self.now)
        self._node_changed(identity, None, (names, props))
        self._windows.changed(Subject(False, identity, names, props, self.now, self.now), made=True)
        self._search.node_made(identity, names)

    def set_node(
        self, identity: NodeId, props: Mapping[str, object], *, labels: Iterable[str] | None = None
    ) -> None:
        """Replace the properties (and labels, if given). Nothing is logged when nothing changes."""
        before = self._require_node(identity)
        names = before.labels if labels is None else _labels(labels)
        clean = check_properties(props, owner=_owner(names))
        if names == before.labels and same_value(clean, before.props):
            return
        self._guards.node_write(self.identity.role, before.labels)
        self._guards.node_change(
            self.identity.role, before.labels, before=before.props, after=clean, labels_after=names
        )
        self._guards.node_write(self.identity.role, names, clean)
        data = encode_properties(clean, owner=_owner(names))
        self._require_free(clean.get("kref"), owner=identity)
        self._log(
            "node.set",
            identity,
            payload=b'{"id":%d,"labels":%b,"props":%b}' % (identity, canonical(names), data),
        )
        apply.set_node(self._db, identity, names, props=data, now=self.now)
        self._node_changed(
            identity, (before.labels, before.props), (names, clean), kept=before.since < self.now
        )
        self._windows.changed(Subject(False, identity, names, clean, self.now, before.born))
        self._search.node_touched(identity, names, before=(before.labels, before.props))
        if not self._guards.labels.keys().isdisjoint(names):
            self._stirred[identity] = None

    def delete_node(self, identity: NodeId) -> None:
        """Close the node: it leaves the present and stays in the past. Its edges must be gone."""
        before = self._require_node(identity)
        self._guards.node_write(self.identity.role, before.labels)
        self._guards.node_change(self.identity.role, before.labels, before=before.props, after=None)
        if self._db.execute(
            "SELECT 1 FROM edge WHERE src = ? OR dst = ? LIMIT 1", (identity, identity)
        ).get:
            raise ConstraintError(
                f"Node {identity} still has edges.",
                next_step="Remove its edges in the same transaction.",
                node=identity,
            )
        self._log("node.delete", identity, payload=canonical({"id": identity}))
        apply.delete_node(self._db, identity, self.now)
        self._node_changed(
            identity, (before.labels, before.props), None, kept=before.since < self.now
        )
        self._search.node_gone(identity)

    # Edges

    def create_edge(
        self, kind: str, src: NodeId, *, dst: NodeId, props: Mapping[str, object] | None = None
    ) -> EdgeId:
        clean = check_properties(props or {}, owner=kind)
        self._guarded(_name(kind, "edge type"), src, dst=dst, props=clean)
        identity = self._edge = self._edge + 1
        self._log_edge(identity, kind, src=src, dst=dst, props=clean)
        return EdgeId(identity)

    def _guarded(self, kind: str, src: NodeId, *, dst: NodeId, props: Properties) -> bool:
        """Whether a guard is about an edge between these two nodes, which must be there; raises if
        it refuses."""
        if kind not in self._guards.edges:
            self._require_live(src)
            self._require_live(dst)
            return False
        asked = self._guards.has_ends(kind)
        ends = [self._end(node, asked) for node in (src, dst)]
        about = self._guards.edge_write(self.identity.role, kind, props, ends=(ends[0], ends[1]))
        if about and kind in self._guards.judged_last:
            self._judged[src, kind, dst] = None
        return about

    def _require_live(self, node: NodeId) -> None:
        if node not in self._live:
            if self._db.execute("SELECT 1 FROM node WHERE id = ?", (node,)).get is None:
                raise NotFoundError(
                    f"There is no node {node} to connect.",
                    next_step="Create the node first.",
                    node=node,
                )
            self._note_live(node)

    def _note_live(self, node: int) -> None:
        if len(self._live) >= _LIVE_MAX:
            self._live.clear()
        self._live.add(node)

    def _end(self, node: NodeId, asked: bool) -> End:
        if not asked:
            self._require_live(node)
            return _ANY_END
        held = self._ends.get(node)
        if held is None:
            row = self._db.execute(
                "SELECT labels, kref IS NOT NULL FROM node WHERE id = ?", (node,)
            ).get
            if row is None:
                raise NotFoundError(
                    f"There is no node {node} to connect.",
                    next_step="Create the node first.",
                    node=node,
                )
            held = self._ends[node] = End(tuple(decode(row[0])), bool(row[1]))
        return held

    def restore_edge(
        self, identity: EdgeId, kind: str, *, src: NodeId, dst: NodeId, props: Properties
    ) -> None:
        """Bring back an edge that was deleted, under its own id: undo."""
        self._guarded(kind, src, dst=dst, props=props)
        self._log_edge(identity, kind, src=src, dst=dst, props=props)

    def _log_edge(
        self, identity: int, kind: str, *, src: NodeId, dst: NodeId, props: Properties
    ) -> None:
        data = encode_properties(props, owner=kind)
        body = b'{"dst":%d,"id":%d,"props":%b,"src":%d,"type":%b}' % (
            dst,
            identity,
            data,
            src,
            canonical(kind),
        )
        self._log("edge.create", identity, payload=body)
        apply.create_edge(self._db, identity, kind, src=src, dst=dst, props=data, now=self.now)
        self._index.edge_changed(identity, kind, before=None, after=props)
        self._windows.changed(
            Subject(True, identity, (kind,), props, self.now, self.now, src, dst), made=True
        )
        self._constraints.edge_touched(identity, kind, src=src, dst=dst)
        self._search.edge_touched(kind, dst)
        self._stir(kind, src, dst)

    def set_edge(self, identity: EdgeId, props: Mapping[str, object]) -> None:
        before = self._require_edge(identity)
        clean = check_properties(props, owner=before.type)
        if same_value(clean, before.props):
            return
        for props_held in (before.props, clean):
            self._guarded(before.type, before.src, dst=before.dst, props=props_held)
        data = encode_properties(clean, owner=before.type)
        self._log("edge.set", identity, payload=b'{"id":%d,"props":%b}' % (identity, data))
        apply.set_edge(self._db, identity, props=data, now=self.now)
        self._index.edge_changed(
            identity, before.type, before=before.props, after=clean, kept=before.since < self.now
        )
        self._windows.changed(
            Subject(
                True, identity, (before.type,), clean, self.now, before.born, before.src, before.dst
            )
        )
        self._constraints.edge_touched(identity, before.type, src=before.src, dst=before.dst)
        self._search.edge_touched(before.type, before.dst)
        self._stir(before.type, before.src, before.dst)

    def delete_edge(self, identity: EdgeId) -> None:
        before = self._require_edge(identity)
        if self._guarded(before.type, before.src, dst=before.dst, props=before.props):
            self._guards.edge_removal(self.identity.role, before.type)
        self._log("edge.delete", identity, payload=canonical({"id": identity}))
        apply.delete_edge(self._db, identity, self.now)
        self._index.edge_changed(
            identity, before.type, before=before.props, after=None, kept=before.since < self.now
        )
        self._search.edge_touched(before.type, before.dst)
        self._stir(before.type, before.src, before.dst)

    def _stir(self, kind: str, src: int, dst: int) -> None:
        if kind in self._declared.support:
            self._stirred[src] = None
        elif kind in self._live_edges:
            self._stirred[dst] = None

    @property
    def stirred(self) -> list[NodeId]:
        """What take_stirred would give."""
        return [NodeId(identity) for identity in self._stirred]

    def take_stirred(self) -> list[NodeId]:
        """Nodes of which this transaction changed whether they are live, what they rest on, or
        their properties, since this was last asked."""
        found, self._stirred = self._stirred, {}
        return [NodeId(identity) for identity in found]

    # Catalogue, erasure, derived rows

    def set_catalogue(self, name: str, value: object) -> None:
        """Declare or remove (None) a rule. Operators and the system only. What a search declaration
        is about is indexed in this transaction."""
        if rank(self.identity.role) < rank("operator"):
            raise RoleError(
                "Only an operator may change the catalogue.",
                next_step="Ask the operator to make this change.",
                name=name,
            )
        label = name.removeprefix("search:") if name.startswith("search:") else None
        rule = None if label is None or value is None else parse_rule(name, value)
        before = self.catalogue(name)
        self._log("catalogue.set", 0, payload=canonical({"name": name, "value": value}))
        apply.set_catalogue(self._db, name, value)
        self.catalogue_changed = True
        if label is not None:
            self._search.rule_set(label, rule)
        if name.startswith(("index:", "constraint:")):
            self._schema_set(name, before, value)
        if name.startswith(("index:", PREFIX)):
            self._windows.renew, self._windows.idle = self._policies_set, False

    def _schema_set(self, name: str, before: Any, value: Any) -> None:
        """Fill or empty an index; test everything that a new constraint is about."""
        indexes, constraints = (
            Indexes(self.catalogue_all("index:")),
            Constraints(self.catalogue_all("constraint:")),
        )
        if name.startswith("index:"):
            if before is not None:
                drop(self._db, before["id"])
            if value is not None:
                build(self._db, indexes.by_name[name.removeprefix("index:")])
        self._index.indexes = indexes
        self._constraints.constraints = constraints
        if name.startswith("constraint:") and value is not None:
            self._constraints.verify_all(constraints.by_name[name.removeprefix("constraint:")])

    def _policies_set(self, before: Judge) -> Judge:
        """What is written from now on is judged by the rules as they are; what was written before
        follows with `follow_policies`."""
        judge = declared(self.catalogue_all(), self._expressions).judge
        for kind, changed in enumerate(kinds_changed(before.rules, judge.rules)):
            self._policies_changed[kind] |= changed
        return judge

    def follow_policies(self) -> None:
        """After a change of policies: windows are as they say, or are noted as not yet so. At the
        end of a statement, and before the commit."""
        _ = self._windows.judge  # takes in what was declared
        if any(self._policies_changed):
            nodes, edges = self._policies_changed
            self._policies_changed = [False, False]
            self.left_to_sweep = self._windows.policies_changed(nodes=nodes, edges=edges)

    def declared(self) -> Declared:
        return (
            declared(self.catalogue_all(), self._expressions, swept(self._db))
            if self.catalogue_changed
            else self._declared
        )

    def verify_constraints(self) -> None:
        """Test what was touched since the last call: at the end of a statement, and before the
        commit. Raises ConstraintError."""
        self._constraints.verify()

    def erase(self, nodes: Sequence[NodeId]) -> int:
        """Destroy nodes with every version, their edges, search rows and log payloads. The chain
        stays verifiable. Returns payloads destroyed."""
        if rank(self.identity.role) < rank("operator"):
            raise RoleError(
                "Only an operator may erase content.",
                next_step="Retire it instead, or ask the operator.",
            )
        edges: set[int] = set()
        for identity in nodes:
            for table in ("edge", "edge_past"):
                edges.update(
                    row[0]
                    for row in self._db.execute(
                        f"SELECT id FROM {table} WHERE src = ? OR dst = ?", (identity, identity)
                    )
                )
        mark(self._db, self.tx)
        self._search.erased()
        for node in self.nodes(nodes):
            self._node_changed(node.id, (node.labels, node.props), None)
        for edge in [self.edge(EdgeId(i)) for i in edges]:
            if edge is not None:
                self._index.edge_changed(edge.id, edge.type, before=edge.props, after=None)
        erased_nodes, erased_edges = sorted(nodes), sorted(edges)
        self._index.erased(erased_nodes, erased_edges)
        self._log("erase", 0, payload=canonical({"edges": erased_edges, "nodes": erased_nodes}))
        for identity in nodes:
            self._search.node_gone(identity)
        touched = [
            row
            for i in edges
            for row in self._db.execute("SELECT type, dst FROM edge WHERE id = ?", (i,))
        ]
        rested = [
            edge.src
            for edge in map(self.edge, map(EdgeId, edges))
            if edge is not None and edge.type in self._declared.support
        ]
        apply.erase(self._db, nodes=erased_nodes, edges=erased_edges)
        gone = set(nodes)
        for kind, dst in touched:
            if dst not in gone:
                self._search.edge_touched(kind, dst)
        self._stirred |= dict.fromkeys(src for src in rested if src not in gone)
        return sum(
            self._destroy(prefix, ids)
            for prefix, ids in (("node.", erased_nodes), ("edge.", erased_edges))
        )

    def _destroy(self, prefix: str, elements: Sequence[int]) -> int:
        """Remove the log payloads of these elements. A scan of the log: erasing is rare, and an
        index on it would slow every write."""
        sql = (
            "DELETE FROM log_payload WHERE seq IN (SELECT seq FROM log WHERE substr(op, 1, 5) = ?"
            " AND element IN (SELECT value FROM carray(?)))"
        )
        self.entries.flush()
        self._db.execute(sql, (prefix, int64_array(elements)))
        return int(self._db.changes())

    def flush_atoms(self) -> None:
        """From here on `Reader.saying` sees what this transaction wrote."""
        self._search.flush_atoms()

    # Use and suppression

    def suppress(self, identity: int, *, edge: bool = False) -> bool:
        """Hide an element by hand until `restore`, whatever its score; who may write it may do so.
        False if it is hidden so already."""
        return self._suppress(identity, edge, True)

    def restore(self, identity: int, *, edge: bool = False) -> bool:
        """Take a suppression back: the element is visible again as far as its score goes. False if
        there was none."""
        return self._suppress(identity, edge, False)

    def _suppress(self, identity: int, edge: bool, hidden: bool) -> bool:
        kind = "edge" if edge else "node"
        subject, access, before = self._require_writable(identity, edge)
        if access.suppressed is hidden:
            return False
        flags = self.catalogue(SUPPRESSING) or {}
        if not flags.get(kind):
            self._log(
                "catalogue.set",
                0,
                payload=canonical({"name": SUPPRESSING, "value": flags | {kind: True}}),
            )
            apply.set_catalogue(self._db, SUPPRESSING, flags | {kind: True})
            self.catalogue_changed = True
            self._windows.idle = False
        self._log(
            f"{kind}.{'suppress' if hidden else 'restore'}",
            identity,
            payload=canonical({"id": identity}),
        )
        apply.suppress(self._db, identity, edge=edge, hidden=hidden)
        access.suppressed = hidden
        judge = self._windows.judge
        self._windows.write(
            subject, judge.verdict(subject, access, judge.rule(subject)), before=before, docs=True
        )
        return True

    def _require_writable(self, identity: int, edge: bool) -> Seen:
        """An element that this role may write, or take out of sight. What a guard keeps from
        changing takes an operator."""
        if edge:
            held = self._require_edge(EdgeId(identity))
            if self._guarded(held.type, held.src, dst=held.dst, props=held.props) and rank(
                self.identity.role
            ) < rank("operator"):
                raise RoleError(
                    f"Only an operator may hide or show an edge {held.type} of a belief by hand.",
                    next_step="Retire the belief, or ask the operator.",
                )
        else:
            node = self._require_node(NodeId(identity))
            self._guards.node_write(self.identity.role, node.labels)
            if rank(self.identity.role) < rank("operator"):
                try:
                    self._guards.node_change(
                        self.identity.role, node.labels, before=node.props, after=None
                    )
                except ConstraintError:
                    raise RoleError(
                        f"Only an operator may hide or show a {':'.join(node.labels)} by hand.",
                        next_step="Retire it instead, or ask the operator.",
                    ) from None
        found = load(self._db, identity, edge=edge)
        assert found is not None
        return found

    def record(self, notes: Sequence[Noted]) -> int:
        """Take notes of accesses into the metadata of the elements that policies are about, each
        access in order. Returns how many elements."""
        judge = self._windows.judge
        count = 0
        for key, uses in used(notes).items():
            edge, identity = key < 0, abs(key)
            found = load(self._db, identity, edge=edge)
            rule = judge.rule(found[0]) if found is not None else None
            if found is None or rule is None:
                continue
            subject, access, before = found
            known = {name: len(seen) for name, seen in access.support.items()}
            for noted, walked in uses:
                judge.use(rule, subject, access, noted, walked=walked)
            added = {
                name: seen[known.get(name, 0) :]
                for name, seen in access.support.items()
                if len(seen) > known.get(name, 0)
            }
            data, more = encode_access(access, support=False), canonical(added)
            body = b'{"data":%b,"id":%d,"support":%b}' % (
                data,
                identity,
                more,
            )  # who supports it is told once, when it is new
            self._log(f"{'edge' if edge else 'node'}.access", identity, payload=body)
            apply.set_access(self._db, identity, edge=edge, data=encode_access(access))
            self._windows.write(
                subject, judge.verdict(subject, access, rule), before=before, docs=True
            )
            count += 1
        return count

    def sweep(self) -> bool:
        """Judge the next batch of elements after a change of policies. True if there is more to do."""
        held = swept(self._db) or {}
        for kind, done in held.items():
            at = self._windows.sweep(kind, done, SWEEP_BATCH_ITEMS_MAX)
            note_swept(
                self._db,
                {**held, kind: at}
                if at is not None
                else {one: value for one, value in held.items() if one != kind},
            )
            self.catalogue_changed = True  # what is declared says how far it has come
            return at is not None or len(held) > 1
        return False

    def put_vectors(
        self,
        scope: int,
        doc: int,
        *,
        model: str,
        vectors: Mapping[int, tuple[bytes, bytes]],
        coming: bool = False,
    ) -> bool:
        """Derived rows of one doc: (f16 data, code) for each part of its text by its number. Not
        logged: they can be made again.

        All vectors of a set are of one model; the first one names that of the set in use. Raises
        ConstraintError for another. False if they are not wanted any more: the doc went while its
        text was embedded, or the `coming` set has them or is of another model by now.
        """
        return self._vectors.put(scope, doc, model=model, vectors=vectors, coming=coming)

    def fail_vectors(self, scope: int, doc: int, *, coming: bool = False) -> None:
        """Count a failed attempt. The doc stays due until the limit of attempts, and findable by
        its words always."""
        self._vectors.fail(scope, doc, coming=coming)

    def begin_vectors(self, model: str) -> None:
        """From here on a second set of vectors is made beside the one in use, of this model; see
        vectors.py."""
        self._vectors.begin(model)

    def switch_vectors(self, model: str) -> bool:
        """Put the coming set of this model into use, if nothing is due in it any more. Whether it
        was."""
        return self._vectors.switch(model)

    def drop_former_vectors(self) -> bool:
        """Delete some rows of a set that is not wanted any more. True if more are left."""
        return self._vectors.drop_former()

    def notes_of_what_was_there(self) -> list[Noted]:
        """Of a transaction that is undone, the notes of elements that were there before it."""
        return [noted.without(_Beyond(self._tail.node, self._tail.edge)) for noted in self.noted]

    # The end

    @contextmanager
    def part(self) -> Iterator[None]:
        """An operation inside of a larger transaction. `receipt_made` tells afterwards whether it
        wrote; the receipt's hashes come at the end."""
        seq, self.receipt_made = self.entries.seq, None
        yield
        if self.entries.seq > seq:
            last, head = self.entries.seq, self.entries.head
            self.receipt_made = Receipt(
                self.tx, self.now, *self.identity, self.op, self.note, seq + 1, last, head, b""
            )

    def finish(self) -> None:
        """Check what only the whole can show, then seal. Called by Store.write before the commit."""
        if self._seal is not None and self._stirred:
            self._seal(self)
        self.verify_constraints()
        for src, kind, dst in self._judged:
            for problem in misfits(self._db, self._guards.edges[kind], kind=kind, src=src, dst=dst):
                raise ConstraintError(
                    f"After this change {problem}.",
                    next_step="Remove the old one in the same transaction.",
                    node=src,
                )
        self.follow_policies()
        self._search.flush()
        self.entries.flush()
        if self.entries.seq == self._tail.seq:
            return
        first = self._tail.seq + 1
        fields = (
            self.tx,
            self.now,
            self.identity.actor,
            self.identity.role,
            self.op,
            self.note,
            first,
            self.entries.seq,
            self._node,
            self._edge,
        )
        seal = receipt_hash(self._tail.hash, fields, self.entries.head)
        self._db.execute(
            "INSERT INTO receipt VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*fields, self.entries.head, seal),
        )
        self.receipt_made = Receipt(*fields[:8], self.entries.head, seal)

    def _log(self, op: str, element: int, *, payload: bytes) -> None:
        if self.entries.seq - self._tail.seq >= TRANSACTION_ENTRIES_MAX:
            raise LimitError(
                f"One transaction would write more than {TRANSACTION_ENTRIES_MAX:,} log entries.",
                next_step="Split the work into several calls.",
                limit_entries=TRANSACTION_ENTRIES_MAX,
            )
        self.entries.add(op, element, payload)

    def _require_free(self, kref: object, *, owner: int) -> None:
        """Asked before anything is logged: a caller may catch the refusal and go on in the same
        transaction."""
        if (
            kref is not None
            and self._db.execute("SELECT 1 FROM node WHERE kref = ? AND id <> ?", (kref, owner)).get
            is not None
        ):
            raise ConstraintError(
                f"The address {kref} is taken.",
                next_step="Choose another name, or revise what is there.",
                kref=kref,
            )

    def _require_node(self, identity: NodeId) -> Node:
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


class _Beyond:
    """The ids of nodes, and of edges with a minus, that a transaction gave."""

    def __init__(self, node: int, edge: int) -> None:
        self._node, self._edge = node, edge

    def __contains__(self, identity: object) -> bool:
        return isinstance(identity, int) and (identity > self._node or -identity > self._edge)


def _labels(labels: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({_name(label, "label") for label in labels}))


def _name(text: str, what: str) -> str:
    if not isinstance(text, str) or not text or len(text) > LABEL_CHARS_MAX:
        raise InputError(
            f"This is no usable {what}: {str(text)[:40]!r}.",
            next_step=f"Use 1 to {LABEL_CHARS_MAX} characters.",
            field=what,
        )
    return check_text(text, field=what)


def _owner(labels: Sequence[str]) -> str:
    return ":".join(labels) or "node"
