"""The laws of background work, checked at the commit of each transaction that writes in the name of
a run, whichever verb, query or job made the change:

1. It never writes a source: no turn, thread, rule, hidden flag, and nothing that it did not make
   itself but items, their tags and their current revision.
2. It leaves alone what carries a protected tag, what an operator verified, and what is on hold; in
   the role `background` also everything that somebody stated.
3. What it concludes is at most `inferred`, derived from sources that are sources now (sources.py),
   a complete statement, neither implied by what is believed nor given up before (implied.py), and
   not surer for being concluded again.
4. It touches at most so many elements, and changes at most such a share of the project's items.

The transaction counts on the node of the run, so that many transactions of a run share one limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from doxa.base.errors import ConstraintError, LimitError, RoleError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.values import decode_properties
from doxa.belief.background.implied import given_up, implied_by
from doxa.belief.background.sources import STATED, Sources, trust_rank_of
from doxa.belief.graph import (
    CANDIDATE,
    CURRENT,
    ENTITY,
    HAS_REVISION,
    PENDING_ENTITY,
    PROTECTED_TAGS,
    STRUCTURE,
    SUPERSEDES,
    SUPPORT_EDGES,
    TAG,
    UNSUPPORTED,
    item_of,
    revisions_of,
)
from doxa.store import RUN_KREF, TRUSTS, LogEntry, Node, Transaction

# Says why what a run concludes is not to be believed; "" if it may be. The app gives it,
# since it needs the package of language.
Promotion = Callable[[Transaction, Node], str]

DERIVED = "DERIVED_FROM"
INFERRED = TRUSTS.index("inferred")
RECORDS = frozenset(("Run", "Proposal", "Record"))
_OF_RECORDS = frozenset(("HAS_PROPOSAL", "CONCERNS"))
_SOURCES = frozenset(("Exchange", "Thread"))
_OF_TURNS = frozenset(("HAS_THREAD", "HAS_EXCHANGE", "NEXT"))
_OF_ITEMS = frozenset((CURRENT, TAG, HAS_REVISION, "MEMBER"))
# what packages keep of their own next to beliefs; runs may change it
BOOKKEEPING = RECORDS | {"Project", "Space", ENTITY, PENDING_ENTITY}


def check_run(tx: Transaction, promotion: Promotion | None = None) -> None:
    """Check what a transaction of a run wrote, and count it on the run. Raises RoleError,
    ConstraintError or LimitError."""
    run = tx.run
    if run is None:
        return
    work = _Work(tx)
    for entry in tx.pending_log():
        work.take(entry)
    work.check_items()
    for node in work.revisions:
        work.check_conclusion(node, promotion)
    work.count()


class _Work:
    """What one transaction of a run did, from its log entries."""

    def __init__(self, tx: Transaction) -> None:
        self.tx = tx
        assert tx.run is not None
        self.run = tx.run
        self.sources = Sources(tx)
        self.items: set[NodeId] = set()  # whose state it changed
        self.made: set[int] = set()
        self.loose: set[int] = set()  # edges between what was there before
        self.revisions: list[Node] = []

    def take(self, entry: LogEntry) -> None:
        kind, _, op = entry.op.partition(".")
        body = cast("dict[str, Any]", entry.payload)
        if kind == "node" and op in ("create", "set", "delete"):
            self._node(NodeId(entry.element), op, body)
        elif kind == "edge" and op in ("create", "set", "delete"):
            self._edge(entry, op, body)
        else:
            raise self._refused(f"{entry.op}: it hides, counts, erases or sets a rule")

    def _node(self, identity: NodeId, op: str, body: dict[str, Any]) -> None:
        if op == "create":
            labels = frozenset(body["labels"])
            if not _SOURCES.isdisjoint(labels):
                raise self._refused("a turn of a conversation: those are sources")
            if not RECORDS.isdisjoint(labels):
                return
            self.made.add(identity)
            node = self.tx.node(identity)
            if node is not None and "Revision" in labels and node.props.get("kref") is not None:
                self.revisions.append(node)
            return
        labels, props = self._before(identity, body)
        if not _SOURCES.isdisjoint(labels):
            raise self._refused(f"{props.get('kref')!s}: it is a source")
        if identity in self.made or not BOOKKEEPING.isdisjoint(labels):
            return
        if "Item" in labels and props.get("kref") is not None and op == "set":
            self.items.add(identity)
        elif props.get(RUN_KREF) is None:
            raise self._refused(f"node {identity}, which no job made")
        else:
            self.loose.add(identity)

    def _before(
        self, identity: NodeId, body: dict[str, Any]
    ) -> tuple[frozenset[str], dict[str, Any]]:
        """Return labels and properties of a node before it was set or deleted."""
        past = [node for node in self.tx.node_history(identity) if node.since < self.tx.now]
        held = past[-1] if past else self.tx.node(identity)
        if held is None:
            return frozenset(body.get("labels", ())), dict(body.get("props", {}))
        return frozenset(held.labels), dict(held.props)

    def _edge(self, entry: LogEntry, op: str, body: dict[str, Any]) -> None:
        if op == "create":
            kind, src, dst, props = body["type"], body["src"], body["dst"], body["props"]
        else:
            found = self._edge_before(entry.element)
            if found is None:
                return  # made and removed within the transaction
            kind, src, dst, props = found
        if kind in _OF_TURNS:
            raise self._refused(f"an edge {kind}: it is a source")
        if kind in _OF_RECORDS or (kind == TAG and props.get("name") == UNSUPPORTED):
            return
        if kind in _OF_ITEMS:
            self.items.add(NodeId(src))
            return
        if kind == "HAS_ARTIFACT" and src not in self.made:
            self.items.add(item_of(self.tx, NodeId(src)).id)
            return
        if kind in STRUCTURE or {src, dst} & self.made:
            self._check_end(kind, src, dst)
            return
        self._check_end(kind, src, dst)
        if op != "create" and props.get(RUN_KREF) is None and not self._is_pending(kind, src):
            raise self._refused(f"an edge {kind} that no job made")
        if kind != SUPERSEDES:  # it goes with what it retires
            self.loose.add(-entry.element)

    def _is_pending(self, kind: str, src: int) -> bool:
        """Whether an edge names whom a pending mention may mean: that is scored again as more is
        known, also where a person's call named it first."""
        node = self.tx.node(NodeId(src)) if kind == CANDIDATE else None
        return node is not None and PENDING_ENTITY in node.labels

    def _check_end(self, kind: str, src: int, dst: int) -> None:
        """An edge that changes what a belief of somebody else depends on, or retires a turn."""
        if kind == SUPERSEDES and self._alone and dst not in self.made:
            end = self.tx.node(NodeId(dst))
            if end is not None and ("Exchange" in end.labels or src not in self.made):
                raise self._refused(f"an edge {kind} to {_at(end)}, which would count as replaced")
        node = None if src in self.made else self.tx.node(NodeId(src))
        if kind in SUPPORT_EDGES and node is not None and node.props.get(RUN_KREF) is None:
            raise self._refused(f"what {_at(node)} depends on, which no job wrote")

    def _edge_before(self, identity: int) -> tuple[str, int, int, dict[str, Any]] | None:
        rows = self.tx.rows(
            "SELECT type, src, dst, json(props) FROM edge_past WHERE id = ? AND since < ? ORDER BY"
            " since DESC LIMIT 1",
            (identity, self.tx.now),
        )
        if not rows:
            return None
        return rows[0][0], rows[0][1], rows[0][2], dict(decode_properties(rows[0][3]))

    # Whose belief it is

    @property
    def _alone(self) -> bool:
        """Whether the job acts by itself, rather than for who applies its proposals."""
        return self.tx.rights == "background"

    def check_items(self) -> None:
        """Leave alone what is protected, on hold and, by itself, what somebody stated."""
        for identity in self.items - self.made:
            item = self.tx.node(identity)
            if item is None or item.props.get("kref") is None:
                continue
            kref = str(item.props["kref"])
            if self._was_retired(item):
                raise self._refused(f"{kref}: it was retired")
            if self.sources.is_held(item):
                raise self._refused(f"{kref}: it is on legal hold")
            for node in self._as_it_was(identity):
                if self.sources.is_held(node):
                    raise self._refused(f"{kref}: it is on legal hold")
                if node.props.get("trust") == "verified" and self._was_current(node.id):
                    raise self._refused(f"{kref}: it is verified")
                if self._alone and self._is_stated(node):
                    raise self._refused(f"{kref}: somebody stated it")
            if self._protecting(identity):
                raise self._refused(f"{kref}: it carries a protected tag")

    def _was_retired(self, item: Node) -> bool:
        """Whether it is believed again by what a job does alone."""
        _, before = self._before(item.id, {})
        return self._alone and bool(before.get("deprecated")) and not item.props.get("deprecated")

    def _as_it_was(self, item: NodeId) -> Iterator[Node]:
        for node in revisions_of(self.tx, item):
            if node.id not in self.made:
                yield node

    def _is_stated(self, node: Node) -> bool:
        return node.props.get(RUN_KREF) is None and trust_rank_of(node) >= STATED

    def _was_current(self, revision: NodeId) -> bool:
        sql = (
            "SELECT EXISTS (SELECT 1 FROM edge WHERE dst = ?1 AND type = 'CURRENT' AND since < ?2)"
            " OR EXISTS (SELECT 1 FROM edge_past WHERE dst = ?1 AND type = 'CURRENT' AND until = ?2"
            " AND since < until)"
        )
        return bool(self.tx.rows(sql, (revision, self.tx.now))[0][0])

    def _protecting(self, item: NodeId) -> bool:
        sql = (
            "SELECT props ->> '$.name' FROM edge WHERE src = ?1 AND type = 'TAG' UNION SELECT props"
            " ->> '$.name' FROM edge_past WHERE src = ?1 AND type = 'TAG' AND until = ?2"
        )
        return any(name in PROTECTED_TAGS for (name,) in self.tx.rows(sql, (item, self.tx.now)))

    # What it concludes

    def check_conclusion(self, node: Node, promotion: Promotion | None) -> None:
        """A new revision of a run: inferred at most, from sources of now, complete and new."""
        kref = str(node.props["kref"])
        if trust_rank_of(node) > INFERRED:
            raise self._refused(
                f"{kref}: what a job concludes is inferred, not {node.props['trust']!s}"
            )
        edges = [edge for kind in SUPPORT_EDGES for edge in self.tx.edges_out(node.id, kind)]
        grounds = [edge.dst for edge in edges]
        found = {one.id: one for one in self.tx.nodes(grounds)}
        for ground in grounds:
            reason = self.sources.why_not(found[ground]) if ground in found else "gone"
            if reason:
                at = _at(found[ground]) if ground in found else f"node {ground}"
                raise self._refused(f"{kref}: what it is derived from, {at}, is {reason}")
        if all(edge.type != DERIVED for edge in edges):
            raise self._refused(f"{kref}: it is derived from nothing ({DERIVED})")
        self._keep_confidence(node, grounds)
        back = given_up(self.tx, node, [found[one] for one in grounds])
        if back:
            raise self._refused(f"{kref}: {back}")
        said = promotion(self.tx, node) if promotion is not None else ""
        beside = [one for one in self.revisions if one.id < node.id]
        if not said and node.props.get("kind") != "summary":  # it repeats what its session says
            said = implied_by(self.tx, node, beside=beside)
        if said:
            raise self._refused(f"{kref}: {said}")

    def _keep_confidence(self, node: Node, grounds: list[NodeId]) -> None:
        """What was concluded before does not become surer without a source that is new, other than
        an assistant who repeats it."""
        item = item_of(self.tx, node.id)
        for before in revisions_of(self.tx, item.id):
            if before.id == node.id or before.id > node.id:
                continue
            known = {edge.dst for edge in self.tx.edges_out(before.id, DERIVED)}
            new = self.tx.nodes([one for one in grounds if one not in known])
            echo = all(one.props.get("role") == "assistant" for one in new)
            if echo and _surer(node, before):
                raise self._refused(
                    f"{node.props['kref']!s}: it is surer than {before.props['kref']!s}, without"
                    " a new source"
                )

    # How much it does

    def count(self) -> None:
        """Add to the run's counts, within its limits."""
        run = self.tx.node(self.run.node)
        assert run is not None
        props = cast("dict[str, Any]", dict(run.props))
        new_items = {
            one.id
            for one in self.tx.nodes(sorted(self.made))
            if "Revision" not in one.labels
            and "Space" not in one.labels
            and "Project" not in one.labels
        }
        changed = len(self.items - self.made)
        touched = changed + len(new_items) + len(self.loose)
        if not touched and not self.made:
            return
        props["touched"] += touched
        props["changed"] += changed
        props["change"] = self.tx.tx
        # a call that applies its proposals counts from where the run stood before it
        all_touched = props["touched"] - props.get("touched_before", 0)
        all_changed = props["changed"] - props.get("changed_before", 0)
        if all_touched > props["number_max"]:
            raise LimitError(
                f"The run {self.run.kref} would touch {all_touched} elements; its limit is"
                f" {props['number_max']}.",
                next_step="Go on in a later run, or begin one with a higher limit.",
                run=self.run.kref,
                limit_elements=props["number_max"],
            )
        if all_changed > max(1, int(props["share_max"] * props["items"])):
            raise LimitError(
                f"The run {self.run.kref} would change {all_changed} of {props['items']}"
                f" items; its limit is a share of {props['share_max']:g}.",
                next_step="Look at what it proposes, and go on in a later run.",
                run=self.run.kref,
                limit_share=props["share_max"],
            )
        self.tx.set_node(self.run.node, props)

    def _refused(self, what: str) -> RoleError | ConstraintError:
        if not is_below_operator(self.tx.rights):
            return ConstraintError(
                f"The run {self.run.kref} may not write {what}.",
                next_step="Make this change by a verb of its own.",
                run=self.run.kref,
            )
        return RoleError(
            f"The run {self.run.kref} may not write {what}.",
            next_step="A background job proposes this; a person decides.",
            role=self.tx.rights,
            run=self.run.kref,
        )


def _at(node: Node) -> str:
    return str(node.props.get("kref", f"node {node.id}"))


def _surer(node: Node, before: Node) -> bool:
    ranks = trust_rank_of(node), trust_rank_of(before)
    sure = tuple(float(cast("float", one.props.get("confidence", 1.0))) for one in (node, before))
    return before.props.get(RUN_KREF) is not None and (ranks[0] > ranks[1] or sure[0] > sure[1])
