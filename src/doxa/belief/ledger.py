"""The belief operations: each one transaction, one receipt, one Change that says what was gained and lost.

This is K's item and revision and N's fact key and version at once: the one ledger. Reading them is graph.py and walks.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from doxa.base.errors import ConflictError, InputError, LimitError, RoleError
from doxa.base.limits import BUNDLE_MEMBERS_MAX
from doxa.belief import undo as undoing
from doxa.belief.bundles import BUNDLE_KIND, MEMBER
from doxa.belief.erasure import emptied_places, emptied_threads, erasable, is_place
from doxa.belief.graph import CURRENT, DECLARATIONS, TAG, current_of, facts_of, parse_target, require, resolve
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.types import RESERVED_KINDS, Action, Change, Draft, Fact, check_artifact, check_draft, check_fact, without
from doxa.belief.writes import (
    add_revision,
    check_link_type,
    content_hash,
    create_item,
    draft_kref,
    draft_of,
    ensure_place,
    expect_revision,
    link,
    link_end,
    move_tag,
    place_of,
    require_belief,
    require_item,
    set_current,
    set_deprecated,
    tag_edge,
)  # fmt: skip
from doxa.store import Identity, Node, Store, Transaction

Links = Iterable[tuple[str, str]]  # (edge type, kref)


def declare(store: Store) -> None:
    """Tell a new file its gates and what is searchable. Does nothing on a file that knows."""
    with store.read() as snapshot:
        known = snapshot.catalogue_all()
    wanted = {name: value for name, value in DECLARATIONS.items() if known.get(name) != value}
    if wanted and not store.read_only:
        with store.write(Identity("doxa", "system"), op="declare") as tx:
            for name, value in wanted.items():
                tx.set_catalogue(name, value)


class Ledger:
    """Belief operations in the name of one identity."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        self.identity = identity

    def _check(self, draft: Draft) -> None:
        """A draft as callers give it: who states it is who acts, unless an operator vouches for somebody else."""
        check_draft(draft)
        if self.identity.role == "agent" and draft.author not in ("", self.identity.actor):
            raise RoleError(
                f"A belief stated by {self.identity.actor[:80]} cannot be signed {draft.author[:80]!r}.",
                next_step="Leave the author out; it is who acts.",
                role=self.identity.role,
                needed="operator",
            )

    # Places

    def create_project(self, name: str) -> Change:
        return self.create_space(name, "")

    def create_space(self, project: str, space: str) -> Change:
        """A space (or project) and its parents. Making one that exists changes nothing."""
        place = place_of(project, space)
        with self._store.write(self.identity, op="create_space") as tx:
            ensure_place(tx, place)
        return _change(tx, "created" if tx.receipt_made else "unchanged", kref=str(place))

    # Expansion and revision

    def expand(self, draft: Draft, *, links: Links = ()) -> Change:
        """A new belief. Raises ConflictError if the item exists: then it is a revision, and should be called one."""
        self._check(draft)
        kref = draft_kref(draft)
        with self._store.write(self.identity, op="expand") as tx:
            if tx.node_by_kref(str(kref)) is not None:
                raise ConflictError(f"{kref} exists.", next_step="Revise it, or give the new belief another name.", kref=str(kref))
            made = _state(tx, create_item(tx, kref), draft, links)
        return _change(tx, "created", kref=made.kref, gained=draft.facts)

    def put(self, draft: Draft, *, links: Links = (), expect: int | None = None) -> Change:
        """Expand or revise, whichever it is; unchanged if the current revision says the same."""
        self._check(draft)
        kref = draft_kref(draft)
        with self._store.write(self.identity, op="put") as tx:
            change = self.put_in(tx, kref, draft, links=links, expect=expect)
        return sealed(change, tx)

    def revise(self, target: str | Kref, draft: Draft, *, links: Links = (), expect: int | None = None) -> Change:
        """A new revision of an existing item. `expect` is the revision number the caller saw as current (compare-and-set)."""
        self._check(draft)
        kref = parse_target(target)
        with self._store.write(self.identity, op="revise") as tx:
            require_belief(tx, kref)
            change = self.put_in(tx, kref.item(), draft, links=links, expect=expect)
        return sealed(change, tx)

    def put_in(self, tx: Transaction, kref: Kref, draft: Draft, *, links: Links = (), expect: int | None = None) -> Change:
        """`put` inside a transaction that the caller holds. The Change has no receipt yet; see sealed()."""
        item = require_belief(tx, kref) if tx.node_by_kref(str(kref)) is not None else create_item(tx, kref)
        expect_revision(tx, item, tag="current", expect=expect)
        before = current_of(tx, item.id)
        if before is not None and before.props.get("content_hash") == content_hash(draft) and not item.props.get("deprecated"):
            return Change("unchanged", str(before.props["kref"]), None, tx.now, reason="the current revision says the same")
        if item.props.get("deprecated"):
            set_deprecated(tx, item, False)
        made = _state(tx, item, draft, links)
        old = facts_of(before) if before else ()
        return Change(
            "revised" if before else "created", made.kref, tx.tx, tx.now, previous=str(before.props["kref"]) if before else "",
            gained=without(draft.facts, old), lost=without(old, draft.facts),
        )  # fmt: skip

    def supersede(self, target: str | Kref, draft: Draft, *, links: Links = ()) -> Change:
        """Replace a belief. Under the same address it is a revision; under a new one the old item is retired and linked."""
        self._check(draft)
        kref = parse_target(target)
        if not draft.name or draft_kref(draft) == kref.item():
            return self.revise(kref, draft, links=links)
        with self._store.write(self.identity, op="supersede") as tx:
            old_item = require_belief(tx, kref)
            old = current_of(tx, old_item.id)
            new_kref = draft_kref(draft)
            new_item = require_belief(tx, new_kref) if tx.node_by_kref(str(new_kref)) is not None else create_item(tx, new_kref)
            if new_item.props.get("deprecated"):
                set_deprecated(tx, new_item, False)
            made = _state(tx, new_item, draft, links)
            if old is not None:
                tx.create_edge("SUPERSEDES", made.node, dst=old.id)
            set_deprecated(tx, old_item, True)
            lost = facts_of(old) if old else ()
        return _change(tx, "superseded", kref=made.kref, previous=str(kref.item()), gained=draft.facts, lost=lost)

    def has_revision(self, item: str | Kref, number: int) -> bool:
        if isinstance(number, bool) or not isinstance(number, int):
            raise InputError(f"A revision is a number from 1; this is {number!r:.60}.", next_step="Give its number.", field="number")
        with self._store.read() as snapshot:
            return snapshot.node_by_kref(str(parse_target(item).pinned(number))) is not None

    # Contraction

    def contract(self, target: str | Kref, *, fact: Fact | None = None) -> Change:
        """Stop believing. With `fact`: that atom alone, its revision gets a successor without it (minimal change). A kref pinned to a
        revision: that whole revision loses its tags. An item: deprecated. Nothing is destroyed."""
        kref = parse_target(target)
        if fact is not None:
            return self._contract_fact(kref, check_fact(fact))
        if kref.revision is None and kref.tag is None and kref.at is None:
            return self.deprecate(kref)
        with self._store.write(self.identity, op="contract") as tx:
            node = resolve(tx, kref)
            edges = [*tx.edges_in(node.id, CURRENT), *tx.edges_in(node.id, TAG)]
            for edge in edges:
                tx.delete_edge(edge.id)
        return _change(tx, "contracted" if edges else "unchanged", kref=str(node.props["kref"]), lost=facts_of(node) if edges else ())

    def _contract_fact(self, kref: Kref, fact: Fact) -> Change:
        with self._store.write(self.identity, op="contract") as tx:
            item = require_belief(tx, kref)
            node = current_of(tx, item.id)
            held = facts_of(node) if node else ()
            kept = without(held, (fact,))
            if node is None or len(kept) == len(held):
                return Change("unchanged", str(kref.item()), None, tx.now, reason="the current revision does not say so")
            if kept:
                made = add_revision(tx, item, draft_of(node, kept))
            else:
                made = node
                set_deprecated(tx, item, True)
        return _change(tx, "contracted", kref=str(made.props["kref"]), previous=str(node.props["kref"]), lost=(fact,))

    def deprecate(self, target: str | Kref) -> Change:
        """Take an item or exchange out of recall; it stays in the graph and in history."""
        return self._set_deprecated(target, True)

    def restore(self, target: str | Kref) -> Change:
        """Bring a deprecated item or exchange back."""
        return self._set_deprecated(target, False)

    def _set_deprecated(self, target: str | Kref, value: bool) -> Change:
        kref = parse_target(target).item()
        with self._store.write(self.identity, op="deprecate" if value else "restore") as tx:
            node = require_item(tx, kref)
            current = current_of(tx, node.id)
            set_deprecated(tx, node, value)
        facts = facts_of(current) if current else ()
        if tx.receipt_made is None:
            return _change(tx, "unchanged", kref=str(kref))
        return _change(tx, "deprecated" if value else "restored", kref=str(kref), lost=facts if value else (), gained=() if value else facts)

    # Tags

    def tag(self, target: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        """Point a tag at the revision that the address means. `expect`: the revision it must point to now (0 = none)."""
        kref, name = parse_target(target), _tag_name(tag)
        with self._store.write(self.identity, op="tag") as tx:
            item, node = require_belief(tx, kref), resolve(tx, kref)
            expect_revision(tx, item, tag=name, expect=expect)
            edge = tag_edge(tx, item.id, name)
            if edge is None or edge.dst != node.id:
                move_tag(tx, item, tag=name, revision=node)
        return _change(tx, "tagged" if tx.receipt_made else "unchanged", kref=str(node.props["kref"]), reason=name)

    def untag(self, target: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        kref, name = parse_target(target), _tag_name(tag)
        with self._store.write(self.identity, op="untag") as tx:
            item = require_belief(tx, kref)
            expect_revision(tx, item, tag=name, expect=expect)
            if tag_edge(tx, item.id, name):
                move_tag(tx, item, tag=name, revision=None)
        return _change(tx, "untagged" if tx.receipt_made else "unchanged", kref=str(kref.item()), reason=name)

    def rollback(self, target: str | Kref, *, expect: int | None = None) -> Change:
        """Make the revision that the (pinned) address means believed again, also when none is or the item is deprecated. The later ones stay in
        history."""
        kref = parse_target(target)
        with self._store.write(self.identity, op="rollback") as tx:
            item, node = require_belief(tx, kref), resolve(tx, kref)
            expect_revision(tx, item, tag="current", expect=expect)
            before, retired = current_of(tx, item.id), bool(item.props.get("deprecated"))
            is_current = before is not None and before.id == node.id
            if is_current and not retired:
                return Change("unchanged", str(node.props["kref"]), None, tx.now, reason="it is current already")
            set_deprecated(tx, item, False)
            if not is_current:
                set_current(tx, item.id, node.id)
            gained, lost = facts_of(node), facts_of(before) if before and not retired else ()
        return _change(
            tx, "rolled_back", kref=str(node.props["kref"]), previous=str(before.props["kref"]) if before else "",
            gained=without(gained, lost), lost=without(lost, gained), reason="it was deprecated" if retired else "",
        )  # fmt: skip

    def undo(self, change: int) -> Change:
        """Reverse one earlier change. Revisions that it made stay in history, out of recall. Undoing an undo redoes."""
        with self._store.write(self.identity, op="undo", note=f"undo {change}") as tx:
            kref = undoing.undo(tx, change)
        return _change(tx, "undone", kref=kref, reason=f"change {change}")

    # Edges, artifacts, bundles

    def link(self, source: str | Kref, target: str | Kref, *, kind: str, metadata: Mapping[str, object] | None = None) -> Change:
        """A typed edge between what two addresses mean now (revisions, exchanges, bundles)."""
        check_link_type(kind)
        if metadata is not None and not isinstance(metadata, Mapping):
            raise InputError(
                f"metadata is a mapping of names to values; this is {type(metadata).__name__}.", next_step="Give a mapping.", field="metadata"
            )
        with self._store.write(self.identity, op="link") as tx:
            src, dst = link_end(tx, source), link_end(tx, target)
            tx.create_edge(kind, src.id, dst=dst.id, props=metadata or {})
        return _change(tx, "linked", kref=str(src.props["kref"]), reason=f"{kind} {dst.props['kref']}")

    def unlink(self, source: str | Kref, target: str | Kref, *, kind: str) -> Change:
        check_link_type(kind)
        with self._store.write(self.identity, op="unlink") as tx:
            src, dst = link_end(tx, source), link_end(tx, target)
            for edge in tx.edges_out(src.id, kind):
                if edge.dst == dst.id:
                    tx.delete_edge(edge.id)
        return _change(tx, "unlinked" if tx.receipt_made else "unchanged", kref=str(src.props["kref"]), reason=f"{kind} {dst.props['kref']}")

    def attach(self, target: str | Kref, name: str, *, location: str, sha256: str = "", size_bytes: int = 0) -> Change:
        """An artifact: a named pointer from a revision to a file. The content is never read or copied here."""
        clean = check_name(name, what="artifact", dots=True)
        check_artifact(location, sha256=sha256, size_bytes=size_bytes)
        with self._store.write(self.identity, op="attach") as tx:
            address = parse_target(target)
            require_belief(tx, address)
            node = resolve(tx, address)
            kref = str(parse_kref(f"{node.props['kref']}&a={clean}"))
            props = {"kref": kref, "name": clean, "location": location, "sha256": sha256 or None, "size_bytes": size_bytes or None}
            tx.create_edge("HAS_ARTIFACT", node.id, dst=tx.create_node(("Artifact",), props))
        return _change(tx, "attached", kref=kref)

    def bundle(self, target: str | Kref, *, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Change:
        """Add to or remove from a bundle (an item of kind `bundle`, made if new). Past membership stays readable as of a time."""
        kref = parse_target(target).item()
        if kref.kind != BUNDLE_KIND:
            raise InputError(f"{kref} is no bundle.", next_step="Give an address that ends in .bundle.", kref=str(kref))
        added, removed = _targets(add, "add"), _targets(remove, "remove")
        with self._store.write(self.identity, op="bundle") as tx:
            node = require(tx, kref) if tx.node_by_kref(str(kref)) is not None else create_item(tx, kref, labels=("Bundle",))
            members = {edge.dst: edge.id for edge in tx.edges_out(node.id, MEMBER)}
            for target in added:
                item = require(tx, _item(target))
                if item.id not in members and item.id != node.id:
                    members[item.id] = tx.create_edge(MEMBER, node.id, dst=item.id)
            if len(members) > BUNDLE_MEMBERS_MAX:
                raise LimitError(
                    f"{kref} would hold {len(members):,} items; the limit is {BUNDLE_MEMBERS_MAX:,}.",
                    next_step="Use several bundles.",
                    kref=str(kref),
                    items=len(members),
                    limit_items=BUNDLE_MEMBERS_MAX,
                )
            for target in removed:
                edge = members.pop(require(tx, _item(target)).id, None)
                if edge is not None:
                    tx.delete_edge(edge)
        return _change(tx, "grouped" if tx.receipt_made else "unchanged", kref=str(kref))

    def erase(self, targets: Iterable[str | Kref]) -> Change:
        """Destroy the content of items, single revisions or exchanges, with every version, index row and log payload. Cannot be undone.

        A thread goes with the last of its exchanges; an address of a thread, space or project takes the place itself, if all it holds is among
        the targets (ConflictError otherwise). The reason of the Change says so where the file could not be scrubbed at once."""
        krefs = _targets(targets, "targets")
        with self._store.write(self.identity, op="erase") as tx:
            nodes: dict[int, Node] = {}
            places = [kref for kref in krefs if is_place(kref)]
            for kref in krefs:
                if not is_place(kref):
                    nodes |= {node.id: node for node in erasable(tx, kref)}
            for kref in places:
                nodes |= {node.id: node for node in emptied_places(tx, kref, nodes.keys())}
            nodes |= {node.id: node for node in emptied_threads(tx, nodes.values())}
            tx.erase([node.id for node in nodes.values()])
        left = self._store.scrub()
        return _change(tx, "erased", kref=str(krefs[0]) if krefs else "", reason=f"{len(nodes)} elements" + (f". {left}" if left else ""))


def _targets(values: Iterable[str | Kref], field: str) -> list[Kref]:
    """Several addresses; one alone is refused, because its characters are not what was meant."""
    if isinstance(values, (str, Kref)) or not isinstance(values, Iterable):
        raise InputError(f"{field} is a list of addresses; this is {values!r:.60}.", next_step="Give the addresses in a list.", field=field)
    return [parse_target(value) for value in values]


def _item(kref: Kref) -> Kref:
    """What a bundle may hold: items, however they are pinned."""
    if not kref.is_item or kref.kind in RESERVED_KINDS:
        raise InputError(f"{kref} is no item.", next_step="A bundle holds items, such as kref://project/name.kind.", kref=str(kref))
    return kref.item()


def sealed(change: Change, tx: Transaction) -> Change:
    """A Change made inside a transaction, once that has committed: with its receipt."""
    if tx.receipt_made is None or change.change is None:
        return change
    return replace(change, receipt=tx.receipt_made.hash.hex())


class _Made:
    __slots__ = ("kref", "node")

    def __init__(self, node: Node) -> None:
        self.kref, self.node = str(node.props["kref"]), node.id


def _state(tx: Transaction, item: Node, draft: Draft, links: Links) -> _Made:
    node = add_revision(tx, item, draft)
    for pair in links:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InputError(f"A link is an edge type and an address; this is {pair!r:.60}.", next_step="Give pairs of both.", field="links")
        link(tx, node, kind=pair[0], target=pair[1])
    return _Made(node)


def _tag_name(tag: str) -> str:
    name = check_name(tag, what="tag")
    if name == "initial":
        raise InputError("The tag initial is kept by the system: it is revision 1.", next_step="Choose another tag.", field="tag")
    return name


def _change(
    tx: Transaction, action: Action, *, kref: str, previous: str = "", gained: tuple[Fact, ...] = (), lost: tuple[Fact, ...] = (), reason: str = ""
) -> Change:
    receipt = tx.receipt_made
    return Change(action, kref, receipt.tx if receipt else None, tx.now, receipt.hash.hex() if receipt else "", previous, gained, lost, reason)
