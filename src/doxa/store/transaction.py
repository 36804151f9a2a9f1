"""The only way to write: one context manager whose block is the atomic region.

Inside, each call checks role, guards and limits, appends to the log and applies the operation; at
the end search rows are brought up to date and one receipt seals it all. An exception leaves nothing
behind. The chain is drawn in `log.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from doxa.base.errors import (
    ConflictError,
    ConstraintError,
    DoxaError,
    InputError,
    NotFoundError,
    RoleError,
    StoreError,
)
from doxa.base.ids import ROLES, EdgeId, NodeId, Role
from doxa.base.limits import ACTOR_CHARS_MAX, NOTE_CHARS_MAX, SWEEP_BATCH_ITEMS_MAX
from doxa.base.values import canonical, check_text
from doxa.policy.rules import PREFIX
from doxa.store import apply
from doxa.store.constraint import Constraints
from doxa.store.declared import SUPPRESSING, Declared, declared, kinds_changed
from doxa.store.elements import ElementWriter
from doxa.store.file.scrub import mark
from doxa.store.guard import misfits, rank
from doxa.store.index import Indexes, build, drop
from doxa.store.indexing.blocks import make_blocks
from doxa.store.indexing.search_rows import parse_rule
from doxa.store.indexing.vector_tables import VectorWriter
from doxa.store.intake.secrets import check_name, without_secrets
from doxa.store.locking.group import WriterTurn
from doxa.store.log_writer import Tail, receipt_hash
from doxa.store.proof.addresses import lying_in_nothing
from doxa.store.retention.holds import require_free
from doxa.store.rows import Identity, Receipt, RunStamp
from doxa.store.scope.quota import QUOTA, check_quota, forget_count, parse_quota
from doxa.store.sql_values import int64_array
from doxa.store.visibility.access import AccessRecord, encode_access, used
from doxa.store.visibility.evaluator import Expressions, PolicyEvaluator
from doxa.store.visibility.window_writer import Seen, load, note_swept, swept

RUN_LABEL = "Run"


class Transaction(ElementWriter):
    """Created by Store.write, not by hand. `now` is its one timestamp, later than any before it in
    this file."""

    def __init__(
        self,
        db: apsw.Connection,
        *,
        clock_ns: int,
        tail: Tail,
        identity: Identity,
        op: str,
        note: str,
        rules: Declared,
        expressions: Expressions | None = None,
        neutral: bool = False,
        check_before_commit: Callable[[Transaction], None] | None = None,
        rights: Role | None = None,
        by_hand: bool = False,
        counted: bool | None = None,
        leases: Callable[[str], int] | None = None,
    ) -> None:
        """`check_before_commit` is called at the end, while it may still write: it keeps what must
        hold after every transaction, whichever interface wrote it. `counted`: whether a quota may
        refuse it; None: unless the system writes."""
        if (
            identity.role not in ROLES
        ):  # guards rank an unknown role above all: right for a rule, wrong for a session
            raise InputError(
                f"{identity.role!r} is not a role.",
                next_step=f"Use one of {', '.join(ROLES)}.",
                field="role",
            )
        check_text(identity.actor, field="actor", bytes_max=ACTOR_CHARS_MAX * 4)
        check_name(identity.actor, "actor")
        super().__init__(
            db,
            now=max(clock_ns, tail.time + 1),
            identity=identity,
            tail=tail,
            rules=rules,
            expressions=expressions,
            neutral=neutral,
            rights=rights,
            by_hand=by_hand,
            leases=leases,
        )
        self._counted = identity.role != "system" if counted is None else counted
        self.op = op
        note = check_text(note, field="note", bytes_max=NOTE_CHARS_MAX * 4)
        self.note = without_secrets(note) if note else note
        self.receipt_made: Receipt | None = None
        self._vectors = VectorWriter(db)
        self._policies_changed = [False, False]  # of nodes, of edges
        self.left_to_sweep = False
        self.noted: list[AccessRecord] = []  # what its queries returned: handed on when it ends
        self.catalogue_changed = False
        self.turn: WriterTurn | None = None  # set by the store that began it
        self.expired = False
        self.on_expired: Callable[[], None] = lambda: None
        self.load_progress: tuple[str, int] | None = None  # bulk/progress.py
        self.call_key: bytes | None = None  # of a call with an idempotency key that it carries out
        self._check_before_commit = check_before_commit

    @property
    def is_shared(self) -> bool:
        """Whether transactions that have finished wait for the commit of this one."""
        return self.turn is not None and self.turn.joined

    @property
    def has_new_names(self) -> bool:
        # what others have finished is undone if their common commit fails
        return self.is_shared or super().has_new_names

    def require_run(self, run: NodeId | None) -> None:
        """Raise StoreError if what joins is of another run than the transaction."""
        if run is not None and (self.run is None or self.run.node != run):
            raise StoreError(
                "A run of a job cannot be a part of a transaction.",
                next_step="Begin it by itself, outside of the transaction.",
            )

    def begin_run(self, run: NodeId | None) -> None:
        """Write in the name of a run of a job (None: of no run): what the transaction makes bears
        its marks, and the laws of background work hold for it at commit."""
        if run is None:
            return
        node = self.node(run)
        if node is None or RUN_LABEL not in node.labels or node.props.get("kref") is None:
            raise NotFoundError(
                f"Node {run} is not a run of a job.", next_step="Begin a run first.", node=run
            )
        if self._check_before_commit is None:
            raise StoreError(
                "A run writes only where its laws are checked at commit.",
                next_step="Open the store with check_before_commit.",
            )
        state = node.props.get("state")
        if state == "undone" or (self.rights == "background" and state != "running"):
            raise ConflictError(
                f"The run {node.props['kref']!s} is {state!s}.",
                next_step="Begin another run.",
                kref=str(node.props["kref"]),
            )
        model = node.props.get("model")
        self.run = RunStamp(run, str(node.props["kref"]), model if isinstance(model, str) else "")

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
        check_name(name, "name")
        check_name(canonical(value).decode(), name.partition(":")[0])
        if self.binding is not None and not self.binding.may_declare(name):
            raise self.binding.refusal("the catalogue, which is the file's")
        if name == QUOTA:
            parse_quota(value)  # type: ignore[arg-type]  # checked there
        if name.startswith("search:") and value is not None:
            parse_rule(name, value)
        self._declare(name, value)

    def _declare(self, name: str, value: object) -> None:
        """Log and write an entry of the catalogue, and what depends on it."""
        if name == QUOTA:
            forget_count(self._db)
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

    def _policies_set(self, before: PolicyEvaluator) -> PolicyEvaluator:
        """What is written from now on is judged by the rules as they are; what was written before
        follows with `follow_policies`."""
        evaluator = declared(self.catalogue_all(), self._expressions).evaluator
        for kind, changed in enumerate(kinds_changed(before.rules, evaluator.rules)):
            self._policies_changed[kind] |= changed
        return evaluator

    def follow_policies(self) -> None:
        """Update the windows after a change of policies, or mark them as pending."""
        _ = self._windows.evaluator  # takes in what was declared
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

    def erase(self, nodes: Sequence[NodeId], *, edges: Sequence[EdgeId] = ()) -> int:
        """Destroy nodes with every version, their edges, search rows and log payloads, and single
        edges. The chain stays verifiable. Returns payloads destroyed. Raises ConflictError if a
        legal hold is on any of them."""
        if rank(self.identity.role) < rank("operator"):
            raise RoleError(
                "Only an operator may erase content.",
                next_step="Retire it instead, or ask the operator.",
            )
        gone_edges: set[int] = {*edges, *self._logged_edges(nodes)}
        for identity in nodes:
            for table in ("edge", "edge_past"):
                gone_edges.update(
                    row[0]
                    for row in self._db.execute(
                        f"SELECT id FROM main.{table} WHERE src = ? OR dst = ?",
                        (identity, identity),
                    )
                )
        require_free(self._db, self.catalogue_all("hold:"), nodes=set(nodes), edges=gone_edges)
        return self._erase(nodes, gone_edges)

    def _erase(self, nodes: Sequence[NodeId], gone_edges: Collection[int]) -> int:
        """Log and carry out an erasure. Returns payloads destroyed."""
        mark(self._db, self.tx)
        self._search.erased()
        for node in self.nodes(nodes):
            self._node_changed(node.id, (node.labels, node.props), None)
        for edge in [self.edge(EdgeId(i)) for i in gone_edges]:
            if edge is not None:
                self._index.edge_changed(edge.id, edge.type, before=edge.props, after=None)
        erased_nodes, erased_edges = sorted(nodes), sorted(gone_edges)
        self._index.erased(erased_nodes, erased_edges)
        self._log("erase", 0, payload=canonical({"edges": erased_edges, "nodes": erased_nodes}))
        for identity in nodes:
            self._search.node_gone(identity)
        touched = [
            row
            for i in gone_edges
            for row in self._db.execute("SELECT type, dst FROM main.edge WHERE id = ?", (i,))
        ]
        rested = [
            edge.src
            for edge in map(self.edge, map(EdgeId, gone_edges))
            if edge is not None and edge.type in self._declared.support
        ]
        apply.erase(self._db, nodes=erased_nodes, edges=erased_edges)
        self._cache.clear()
        gone = set(nodes)
        for kind, dst in touched:
            if dst not in gone:
                self._search.edge_touched(kind, dst)
        self._dirty |= dict.fromkeys(src for src in rested if src not in gone)
        return sum(
            self._destroy(prefix, ids)
            for prefix, ids in (("node.", erased_nodes), ("edge.", erased_edges))
        )

    def _logged_edges(self, nodes: Sequence[NodeId]) -> set[int]:
        """Return the edges at these nodes that only the log still knows: gone in the instant in
        which they were made, or whose versions retention dropped."""
        self.entries.flush()
        body = "CAST(p.payload AS TEXT)"
        rows = self._db.execute(
            "SELECT l.element FROM main.log l CROSS JOIN main.log_payload p ON p.seq = l.seq WHERE"
            f" l.op IN ('edge.create', 'edge.import') AND (json_extract({body}, '$.src') IN"
            f" carray(?1) OR json_extract({body}, '$.dst') IN carray(?1))",
            (int64_array(nodes),),
        )
        return {row[0] for row in rows} if nodes else set()

    def _destroy(self, prefix: str, elements: Sequence[int]) -> int:
        """Remove the log payloads of these elements. A scan of the log: erasing is rare, and an
        index on it would slow every write."""
        sql = (
            "DELETE FROM main.log_payload WHERE seq IN (SELECT seq FROM main.log WHERE"
            " substr(op, 1, 5) = ?"
            " AND element IN (SELECT value FROM carray(?)))"
        )
        self.entries.flush()
        self._db.execute(sql, (prefix, int64_array(elements)))
        return int(self._db.changes())

    def flush_atoms(self) -> None:
        """Make what this transaction wrote so far visible to `Reader.saying`."""
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
        evaluator = self._windows.evaluator
        self._windows.write(
            subject,
            evaluator.decide(subject, access, evaluator.rule(subject)),
            before=before,
            docs=True,
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

    def record(self, notes: Sequence[AccessRecord]) -> int:
        """Take notes of accesses into the metadata of the elements that policies are about, each
        access in order. Returns how many elements."""
        evaluator = self._windows.evaluator
        count = 0
        for key, uses in used(noted.resolved(self.ends_of) for noted in notes).items():
            edge, identity = key < 0, abs(key)
            found = load(self._db, identity, edge=edge)
            rule = evaluator.rule(found[0]) if found is not None else None
            if found is None or rule is None:
                continue
            subject, access, before = found
            known = {name: len(seen) for name, seen in access.support.items()}
            for noted, walked in uses:
                evaluator.use(rule, subject, access, noted, walked=walked)
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
            )  # who supports it is logged once, when it is new
            self._log(f"{'edge' if edge else 'node'}.access", identity, payload=body)
            apply.set_access(self._db, identity, edge=edge, data=encode_access(access))
            self._windows.write(
                subject, evaluator.decide(subject, access, rule), before=before, docs=True
            )
            count += 1
        return count

    def sweep(self) -> bool:
        """Update the next windows after a change of policies. True if more are left."""
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
        """Write the derived rows of one doc: (f16 data, code) for each part of its text by its
        number. Not logged: they can be recomputed.

        All vectors of a set are of one model; the first one determines that of the set in use.
        Raises ConstraintError for another. False if they are not wanted any more: the doc is gone,
        or the `coming` set has them or is of another model by now.
        """
        return self._vectors.put(scope, doc, model=model, vectors=vectors, coming=coming)

    def fail_vectors(self, scope: int, doc: int, *, coming: bool = False) -> None:
        """Count a failed attempt. The doc stays due until the limit of attempts, and findable by
        its words always."""
        self._vectors.fail(scope, doc, coming=coming)

    def begin_vectors(self, model: str) -> None:
        """Begin a second set of vectors, of this model, next to that in use; see
        vector_tables.py."""
        self._vectors.begin(model)

    def switch_vectors(self, model: str) -> bool:
        """Put the coming set of this model into use, if nothing is due in it any more. Whether it
        was."""
        return self._vectors.switch(model)

    def drop_former_vectors(self) -> bool:
        """Delete some rows of a set that is not wanted any more. True if more are left."""
        return self._vectors.drop_former()

    def make_blocks(self, scope: int) -> bool:
        """Make some of the blocks of search rows that a large project lacks (blocks.py). Not
        logged. True if more are left."""
        return make_blocks(self._db, scope)

    def notes_of_what_was_there(self) -> list[AccessRecord]:
        """Return the notes of an undone transaction about elements that were there before it."""
        return [noted.without(_Beyond(self._tail.node, self._tail.edge)) for noted in self.noted]

    # The end

    def expire(self) -> None:
        """Undo everything from another thread, so that other writers can go on. The caller sees to
        it that nothing runs in the transaction meanwhile, and that nothing is run in it later."""
        self.expired = True
        self.entries.discard()
        if self.turn is not None:
            self.turn.rollback()
        self.on_expired()

    def require_not_expired(self) -> None:
        """Raise StoreError if another thread undid it."""
        if self.expired:
            raise StoreError(
                "The transaction was rolled back, because it kept other writers waiting.",
                next_step="Run it again.",
            )

    @contextmanager
    def part(self) -> Iterator[Transaction]:
        """Run an operation inside of a larger transaction. `receipt_made` tells afterwards whether
        it wrote; the receipt's hashes come at the end."""
        seq, self.receipt_made = self.entries.seq, None
        by_hand, self.by_hand = self.by_hand, False
        try:
            yield self
        finally:
            self.by_hand = by_hand
        if self.entries.seq > seq:
            last, head = self.entries.seq, self.entries.head
            self.receipt_made = Receipt(
                self.tx, self.now, *self.identity, self.op, self.note, seq + 1, last, head, b""
            )

    def let_go(self, db: apsw.Connection) -> None:
        """Drop what refers back to a transaction that has ended: it is freed at once then, and not
        by the garbage collector. What is still read through it, is read from the thread's own
        connection `db`: others may write on the one that it shared."""
        self._search.let_go()
        self._db = db

    def finish(self) -> None:
        """Check the transaction as a whole and write its receipt. Store.write calls it last."""
        self.by_hand = False
        if self.binding is not None:  # others' values do not refuse its own
            self.verify_constraints()
        binding = self.binding
        if binding is None:
            self._finish()
            return
        try:
            with self.whole_file():
                self._finish()
        except DoxaError as error:  # what holds for the whole file may name what is not seen
            if not binding.is_named_beyond(error):
                raise
            raise binding.refusal("what other projects depend on") from None

    def _finish(self) -> None:
        due = self._dirty or self._owed or self.run is not None
        if self._check_before_commit is not None and due:
            self._check_before_commit(self)
        self.verify_constraints()
        known = self._cache.edges
        for src, kind, dst in self._judged:
            rule = self._guards.edges[kind]
            for problem in misfits(self._db, rule, kind=kind, src=src, dst=dst, known=known):
                raise ConstraintError(
                    f"After this change {problem}.",
                    next_step="Remove the old one in the same transaction.",
                    node=src,
                )
        for node, label in self._unheld:
            kind = self._guards.within[label]
            for problem in lying_in_nothing(self._db, label, kind, node=node):
                raise ConstraintError(
                    f"After this change {problem}.",
                    next_step=(
                        "Keep the edge. What is attached goes as a whole: the node with its edges,"
                        " in one transaction."
                    ),
                    node=node,
                )
        self.follow_policies()
        self._search.flush()
        self.entries.flush()
        if self.entries.seq == self._tail.seq:
            return
        quota = self._declared.quota
        if quota is not None:
            more = self._more_nodes
            emptied = not self._counted or more < 0 or self.catalogue_changed
            check_quota(self._db, quota, now=self.now, more=more, emptied=emptied)
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
            "INSERT INTO main.receipt VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*fields, self.entries.head, seal),
        )
        self.receipt_made = Receipt(*fields[:8], self.entries.head, seal)


class _Beyond:
    """The ids of nodes, and of edges with a minus, that a transaction gave."""

    def __init__(self, node: int, edge: int) -> None:
        self._node, self._edge = node, edge

    def __contains__(self, identity: object) -> bool:
        return isinstance(identity, int) and (identity > self._node or -identity > self._edge)
