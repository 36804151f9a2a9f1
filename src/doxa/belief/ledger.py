"""The belief operations: each one transaction, one receipt, one Change that says what was gained
and lost.

This is K's item and revision and N's fact key and version at once: the one ledger. revising.py
decides what is retracted, support.py what loses its support. graph.py and walks.py read beliefs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from doxa.base.errors import ConflictError, InputError, LimitError, RoleError
from doxa.base.ids import is_below_operator
from doxa.base.limits import BUNDLE_MEMBERS_MAX
from doxa.belief import undo as undoing
from doxa.belief.conflicts import check_decision, conflict_address, require_conflict
from doxa.belief.graph import (
    CURRENT,
    DECLARATIONS,
    RETIRED_REVISION,
    SUPPORT_EDGES,
    TAG,
    UNSUPPORTED,
    current_of,
    facts_of,
    item_of,
    last_of,
    parse_target,
    require,
    resolve,
)
from doxa.belief.kref import Kref, check_name, parse_kref
from doxa.belief.loading import LoadedItem, load_item
from doxa.belief.operation import DryRunRollback, Operation, change_of, with_receipt
from doxa.belief.project_rules import CONSTRAINTS, ENTRENCHMENT
from doxa.belief.reading.bundles import BUNDLE_KIND, MEMBER
from doxa.belief.relevant_beliefs import RelevantBeliefs
from doxa.belief.removal.erasure import clear_reports, edges_drawn_from, nodes_at
from doxa.belief.removal.retiring import set_deprecated
from doxa.belief.revising import apply_retractions, judge, judge_all
from doxa.belief.stating import Links, decide, make_current, place_for, require_consistent, state
from doxa.belief.support import Erasure
from doxa.belief.types import (
    RESERVED_KINDS,
    Action,
    Change,
    CheckedDraft,
    Draft,
    Fact,
    check_artifact,
    check_draft,
    check_fact,
    without,
)
from doxa.belief.verified import VERIFIED
from doxa.belief.writes import (
    check_link_type,
    create_item,
    draft_kref,
    ensure_place,
    expect_revision,
    link_end,
    move_tag,
    place_of,
    require_belief,
    require_item,
    tag_edge,
)
from doxa.logic.constraints import parse_constraints
from doxa.logic.entrenchment import parse_entrenchment
from doxa.logic.sentence import Atom, Sentence, parse_sentence
from doxa.store import Identity, Store, Transaction


def declare(store: Store) -> None:
    """Declare the guards and searchable labels in a new file. Does nothing where they are
    declared."""
    with store.read() as snapshot:
        known = snapshot.catalogue_all()
    wanted = {name: value for name, value in DECLARATIONS.items() if known.get(name) != value}
    if wanted and not store.read_only:
        with store.write(Identity("doxa", "system"), op="declare") as tx:
            for name, value in wanted.items():
                tx.set_catalogue(name, value)
            for (identity,) in tx.rows(_RETIRED_AND_CURRENT):  # an older file
                item = tx.node(identity)
                assert item is not None
                tx.set_node(
                    identity,
                    {name: value for name, value in item.props.items() if name != "deprecated"},
                )
                set_deprecated(tx, tx.node(identity) or item, True)


_RETIRED_AND_CURRENT = (
    "SELECT n.id FROM edge e JOIN node n ON n.id = e.src JOIN node_label l ON l.node = n.id AND"
    " l.label = 'Item' WHERE e.type = 'CURRENT' AND n.props ->> '$.deprecated' AND n.kref IS NOT"
    " NULL"
)


_BRIEF = frozenset(  # operations on one item: those that wait together become durable together
    ("put", "tell", "revise", "supersede", "deprecate", "restore", "tag", "untag", "link", "unlink")
)


class Ledger:
    """Belief operations in the name of one identity."""

    def __init__(self, store: Store, identity: Identity, *, dry_run: bool = False) -> None:
        """With `dry_run` every operation does all its work and keeps nothing of it: the Change says
        what would become of it."""
        self._store = store
        self.identity = identity
        self._dry = dry_run

    @contextmanager
    def write(self, op: str, *, note: str = "") -> Iterator[Operation]:
        """Open the one transaction of an operation."""
        if self._dry and self._store.is_joined:
            raise InputError(
                "A dry run cannot be a part of a transaction.",
                next_step="Run it by itself; in Cypher, doxa.dryRun.",
                field="dry_run",
            )
        try:
            with self._store.write(self.identity, op=op, note=note, shares=op in _BRIEF) as tx:
                work = Operation(tx, dry=self._dry)
                yield work
                work.end()
                if self._dry:
                    raise DryRunRollback
        except DryRunRollback:
            pass

    def check(self, draft: Draft) -> CheckedDraft:
        """Check a draft as callers give it: its author is who acts, unless an operator vouches for
        somebody else."""
        checked = check_draft(draft)
        if is_below_operator(self.identity.role) and draft.author not in ("", self.identity.actor):
            raise RoleError(
                f"A belief stated by {self.identity.actor[:80]} cannot be signed"
                f" {draft.author[:80]!r}.",
                next_step="Leave the author out; it is who acts.",
                role=self.identity.role,
                needed="operator",
            )
        return checked

    # Places

    def create_space(self, project: str, space: str) -> Change:
        """Create a space (or project) and its parents. Making one that exists changes nothing."""
        place = place_of(project, space)
        with self.write("create_space") as work:
            tx = work.tx
            ensure_place(tx, place)
        return change_of(work, "created" if work.wrote else "unchanged", kref=str(place))

    # Expansion and revision

    def expand(self, draft: Draft, *, links: Links = ()) -> Change:
        """Add a new belief. Raises ConflictError if the item exists, or if it contradicts what is
        believed: then it is a revision, and should be called one."""
        checked = self.check(draft)
        kref = draft_kref(draft)
        with self.write("expand") as work:
            if work.tx.node_by_kref(str(kref)) is not None:
                raise ConflictError(
                    f"{kref} exists.",
                    next_step="Revise it, or give the new belief another name.",
                    kref=str(kref),
                )
            change = state(work.tx, create_item(work.tx, kref), checked, links=links)
            if change.losses or change.conflict:
                beside = change.losses[0].kref if change.losses else change.conflict
                raise ConflictError(
                    f"{kref} would contradict {beside}.",
                    next_step="Revise instead; the receipt names what is retracted.",
                    kref=beside,
                )
        return with_receipt(change, work)

    def put(self, draft: Draft, *, links: Links = (), expect: int | None = None) -> Change:
        """Expand or revise, whichever it is; unchanged if the current revision says the same."""
        checked = self.check(draft)
        with self.write("put") as work:
            change = self.upsert(work.tx, draft_kref(draft), checked, links=links, expect=expect)
        return with_receipt(change, work)

    def believe(self, draft: Draft, *, links: Links = ()) -> Change:
        """State sentences where they belong: as the next revision of a belief that states another
        value of the same thing, else as a new belief. What contradicts them, anywhere in the
        project, is retracted."""
        checked = self.check(draft)
        with self.write("revise") as work:
            kref = draft_kref(draft) if draft.name else place_for(work.tx, draft)
            change = self.upsert(work.tx, kref, checked, links=links)
        return with_receipt(change, work)

    def revise(
        self,
        target: str | Kref,
        draft: Draft,
        *,
        links: Links = (),
        expect: int | None = None,
        again: bool = False,
    ) -> Change:
        """Write a new revision of an existing item. `expect` is the revision number the caller saw
        as current (compare-and-set); `again`: write one also if it says the same, since it was
        stated once more."""
        checked = self.check(draft)
        return self._revise(parse_target(target), checked, links, expect, again)

    def _revise(
        self, kref: Kref, draft: CheckedDraft, links: Links, expect: int | None, again: bool
    ) -> Change:
        with self.write("revise") as work:
            loaded = load_item(work.tx, kref.item())
            require_belief(work.tx, kref)
            change = self.upsert(
                work.tx,
                kref.item(),
                draft,
                links=links,
                expect=expect,
                again=again,
                loaded=loaded,
            )
        return with_receipt(change, work)

    def upsert(
        self,
        tx: Transaction,
        kref: Kref,
        draft: CheckedDraft,
        *,
        links: Links = (),
        expect: int | None = None,
        again: bool = False,
        in_time: bool = False,
        carry: bool = False,
        loaded: LoadedItem | None = None,
    ) -> Change:
        """Do what `put` does, inside a transaction that the caller holds. The Change has no receipt
        yet; see with_receipt(). `in_time`: what contradicts it and was stated later persists.
        `carry`: it depends on what the item depended on. `loaded`: the item, if the caller has read
        it."""
        loaded = loaded or load_item(tx, kref)
        item = create_item(tx, kref) if loaded is None else require_belief(tx, kref)
        expect_revision(tx, item, tag="current", expect=expect)
        return state(
            tx,
            item,
            draft,
            links=links,
            again=again,
            in_time=in_time,
            carry=carry,
            last=loaded.last if loaded else None,
        )

    def supersede(self, target: str | Kref, draft: Draft, *, links: Links = ()) -> Change:
        """Replace a belief. Under the same address it is a revision; under a new one the old item
        is retired and linked."""
        checked = self.check(draft)
        kref = parse_target(target)
        if not draft.name or draft_kref(draft) == kref.item():
            return self._revise(kref, checked, links, None, False)
        with self.write("supersede") as work:
            change = self.replace_in(work.tx, kref, checked, links=links)
        return with_receipt(change, work)

    def replace_in(
        self, tx: Transaction, kref: Kref, draft: CheckedDraft, *, links: Links = ()
    ) -> Change:
        """Do what `supersede` does by a belief at another address, inside a transaction that the
        caller holds. The Change has no receipt yet; see with_receipt()."""
        load_item(tx, kref.item())
        old_item = require_belief(tx, kref)
        old = current_of(tx, old_item.id)
        new_kref = draft_kref(draft)
        found = load_item(tx, new_kref)
        item = create_item(tx, new_kref) if found is None else require_belief(tx, new_kref)
        change = state(tx, item, draft, links=links, again=True, replacing=old)
        if change.action not in ("created", "revised"):  # a conflict is open: nothing is replaced
            return change
        if old is None:
            set_deprecated(tx, old_item, True)
        return replace(change, action="superseded", previous=str(kref.item()))

    # Contraction

    def contract(self, target: str | Kref, *, fact: Fact | None = None) -> Change:
        """Stop believing. With `fact`: that atom, wherever the item's project says or entails it
        (see contract_sentence). A kref pinned to a revision: that whole revision loses its tags. An
        item: deprecated. Nothing is destroyed."""
        kref = parse_target(target)
        if fact is not None:
            return self._contract_fact(kref, check_fact(fact))
        if kref.revision is None and kref.tag is None and kref.at is None:
            return self.deprecate(kref)
        with self.write("contract") as work:
            tx = work.tx
            node = resolve(tx, kref)
            edges = [*tx.edges_in(node.id, CURRENT), *tx.edges_in(node.id, TAG)]
            for edge in edges:
                tx.delete_edge(edge.id)
            item = item_of(tx, node.id)
            if (
                item.props.get(RETIRED_REVISION) == node.props["number"]
            ):  # restoring the item is not to bring it back
                tx.set_node(
                    item.id,
                    {name: value for name, value in item.props.items() if name != RETIRED_REVISION},
                )
        return change_of(
            work,
            "contracted" if work.wrote else "unchanged",
            kref=str(node.props["kref"]),
            lost=facts_of(node) if edges else (),
        )

    def _contract_fact(self, kref: Kref, fact: Fact) -> Change:
        with self.write("contract") as work:
            node = current_of(work.tx, require_belief(work.tx, kref).id)
            held = facts_of(node) if node else ()
            if node is None or len(without(held, (fact,))) == len(held):
                return Change(
                    "unchanged",
                    str(kref.item()),
                    None,
                    work.tx.now,
                    reason="the current revision does not say so",
                )
            verdict = judge(
                "contract", RelevantBeliefs(work.tx, kref.project), [parse_sentence(list(fact))]
            )
            apply_retractions(work.tx, verdict, by=None)
            after = last_of(work.tx, require_belief(work.tx, kref)) or node
        return change_of(
            work,
            "contracted" if work.wrote else "unchanged",
            kref=str(after.props["kref"]),
            previous=str(node.props["kref"]),
            lost=(fact,) if verdict.lost else (),
            losses=verdict.losses(),
            reason=verdict.refusal,
        )

    def contract_sentence(self, project: str, sentences: Sequence[Sentence]) -> Change:
        """Stop believing that these are all true: the least entrenched belief that says so is
        retracted, wherever it is. Unchanged if nothing says so, or if it follows from the rules
        alone."""
        place = place_of(project, "")
        with self.write("contract") as work:
            verdict = judge("contract", RelevantBeliefs(work.tx, project), sentences)
            apply_retractions(work.tx, verdict, by=None)
        action: Action = "contracted" if verdict.lost else "unchanged"
        reason = verdict.refusal or ("" if verdict.lost else "nothing that is believed says so")
        lost = tuple(
            Fact(*said)
            for key in verdict.lost
            if isinstance(said := verdict.holding.sentences[key], Atom)
        )
        return change_of(
            work,
            action,
            kref=verdict.losses()[0].kref if verdict.lost else str(place),
            losses=verdict.losses(),
            reason=reason,
            lost=lost,
        )

    def deprecate(self, target: str | Kref, *, expect: int | None = None) -> Change:
        """Take an item or exchange out of recall; it stays in the graph and in history."""
        kref = parse_target(target).item()
        with self.write("deprecate") as work:
            node = require_item(work.tx, kref)
            expect_revision(work.tx, node, tag="current", expect=expect)
            current = current_of(work.tx, node.id)
            set_deprecated(work.tx, node, True)
        return change_of(
            work,
            "deprecated" if work.wrote else "unchanged",
            kref=str(kref),
            lost=facts_of(current) if current and work.wrote else (),
        )

    def restore(self, target: str | Kref) -> Change:
        """Restore a deprecated item or exchange. What contradicts it is retracted; raises
        ConflictError if that is trusted more."""
        kref, verdict, node = parse_target(target).item(), None, None
        with self.write("restore") as work:
            item = require_item(work.tx, kref)
            if item.props.get("deprecated"):
                node = last_of(work.tx, item) if "Item" in item.labels else None
                if node is None:
                    set_deprecated(work.tx, item, False)
                else:
                    verdict = make_current(work.tx, item, node)
        return change_of(
            work,
            "restored" if work.wrote else "unchanged",
            kref=str(kref),
            gained=facts_of(node) if node else (),
            losses=verdict.losses() if verdict else (),
        )

    # Conflicts and rules

    def resolve(
        self, target: str | Kref, decision: str, *, valid_from: int | None = None
    ) -> Change:
        """Decide an open conflict: accept, reject or both (each for its own time: the challenger
        from `valid_from` on, in ns). Raises RoleError where what an operator verified would give
        way to an agent."""
        kref = conflict_address(target)
        with self.write("resolve") as work:
            conflict = require_conflict(work.tx, kref)
            both = check_decision(work.tx, conflict, decision)
            made, verdict = decide(work.tx, conflict, decision, sides=both, at=valid_from)
        return change_of(
            work,
            "resolved",
            kref=str(made.props["kref"]),
            reason=decision,
            losses=verdict.losses() if verdict else (),
            conflict=str(kref),
            gained=facts_of(made) if decision != "reject" else (),
        )

    def constrain(
        self, project: str, *, constraints: object = None, entrenchment: object = None
    ) -> Change:
        """Declare what cannot be true together in a project, or which belief is given up first.
        What can no longer be believed is retracted in the same change. Operators only. None leaves
        a declaration as it is."""
        place = place_of(project, "")
        with self.write("constrain") as work:
            declared = {
                CONSTRAINTS + project: None
                if constraints is None
                else parse_constraints(constraints).as_data(),
                ENTRENCHMENT + project: None
                if entrenchment is None
                else parse_entrenchment(entrenchment).as_data(),
            }
            for name, value in declared.items():
                if value is not None and work.tx.catalogue(name) != value:
                    work.tx.set_catalogue(name, value)
            verdict = judge_all(RelevantBeliefs(work.tx, project))
            apply_retractions(work.tx, verdict, by=None)
        return change_of(
            work,
            "constrained" if work.wrote else "unchanged",
            kref=str(place),
            losses=verdict.losses(),
        )

    # Tags

    def tag(self, target: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        """Point a tag at the revision that the address means. `expect`: the revision it must point
        to now (0 = none)."""
        kref, name = parse_target(target), _tag_name(tag)
        with self.write("tag") as work:
            tx = work.tx
            item, node = require_belief(tx, kref), resolve(tx, kref)
            expect_revision(tx, item, tag=name, expect=expect)
            edge, verdict = tag_edge(tx, item.id, name), None
            if edge is None or edge.dst != node.id:
                if name == "current":
                    verdict = make_current(tx, item, node)
                else:
                    move_tag(tx, item, tag=name, revision=node)
        losses = verdict.losses() if verdict else ()
        return change_of(
            work,
            "tagged" if work.wrote else "unchanged",
            kref=str(node.props["kref"]),
            reason=name,
            losses=losses,
        )

    def untag(self, target: str | Kref, tag: str, *, expect: int | None = None) -> Change:
        kref, name = parse_target(target), _tag_name(tag)
        with self.write("untag") as work:
            tx = work.tx
            item = require_belief(tx, kref)
            expect_revision(tx, item, tag=name, expect=expect)
            if tag_edge(tx, item.id, name):
                move_tag(tx, item, tag=name, revision=None)
        return change_of(
            work, "untagged" if work.wrote else "unchanged", kref=str(kref.item()), reason=name
        )

    def rollback(self, target: str | Kref, *, expect: int | None = None) -> Change:
        """Make the revision that the (pinned) address means believed again, also when none is or
        the item is deprecated. The later ones stay in history."""
        kref = parse_target(target)
        with self.write("rollback") as work:
            tx = work.tx
            item, node = require_belief(tx, kref), resolve(tx, kref)
            expect_revision(tx, item, tag="current", expect=expect)
            before, retired = last_of(tx, item), bool(item.props.get("deprecated"))
            is_current = before is not None and before.id == node.id
            if is_current and not retired:
                return Change(
                    "unchanged",
                    str(node.props["kref"]),
                    None,
                    tx.now,
                    reason="it is current already",
                )
            verdict = make_current(tx, item, node)
            gained, lost = facts_of(node), facts_of(before) if before and not retired else ()
        return change_of(
            work,
            "rolled_back",
            kref=str(node.props["kref"]),
            previous=str(before.props["kref"]) if before else "",
            gained=without(gained, lost),
            lost=without(lost, gained),
            reason="it was deprecated" if retired else "",
            losses=verdict.losses() if verdict else (),
        )

    def undo(self, change: int) -> Change:
        """Reverse one earlier change. Revisions that it made stay in history, out of recall.
        Undoing an undo redoes."""
        with self.write("undo", note=f"undo {change}") as work:
            tx = work.tx
            kref = undoing.undo(tx, change)
            require_consistent(tx, tx.dirty_nodes, change)
        return change_of(work, "undone", kref=kref, reason=f"change {change}")

    # Edges, artifacts, bundles

    def link(
        self,
        source: str | Kref,
        target: str | Kref,
        *,
        kind: str,
        metadata: Mapping[str, object] | None = None,
    ) -> Change:
        """Create a typed edge between what two addresses mean now (revisions, exchanges,
        bundles)."""
        check_link_type(kind)
        if metadata is not None and not isinstance(metadata, Mapping):
            raise InputError(
                f"metadata is a mapping of names to values; this is {type(metadata).__name__}.",
                next_step="Give a mapping.",
                field="metadata",
            )
        with self.write("link") as work:
            tx = work.tx
            src, dst = link_end(tx, source), link_end(tx, target)
            if (
                kind in SUPPORT_EDGES
                and is_below_operator(self.identity.role)
                and src.props.get("trust") == VERIFIED
            ):
                said = (
                    f"Only an operator may say what {src.props['kref']} depends on: it is verified."
                )
                raise RoleError(
                    said, next_step="Ask the operator.", role="agent", needed="operator"
                )
            tx.create_edge(kind, src.id, dst=dst.id, props=metadata or {})
        return change_of(
            work, "linked", kref=str(src.props["kref"]), reason=f"{kind} {dst.props['kref']}"
        )

    def unlink(self, source: str | Kref, target: str | Kref, *, kind: str) -> Change:
        check_link_type(kind)
        with self.write("unlink") as work:
            tx = work.tx
            src, dst = link_end(tx, source), link_end(tx, target)
            for edge in tx.edges_out(src.id, kind):
                if edge.dst == dst.id:
                    tx.delete_edge(edge.id)
        return change_of(
            work,
            "unlinked" if work.wrote else "unchanged",
            kref=str(src.props["kref"]),
            reason=f"{kind} {dst.props['kref']}",
        )

    def attach(
        self, target: str | Kref, name: str, *, location: str, sha256: str = "", size_bytes: int = 0
    ) -> Change:
        """Attach an artifact: a named pointer from a revision to a file. The content is never read
        or copied here."""
        clean = check_name(name, what="artifact", dots=True)
        check_artifact(location, sha256=sha256, size_bytes=size_bytes)
        with self.write("attach") as work:
            tx = work.tx
            address = parse_target(target)
            require_belief(tx, address)
            node = resolve(tx, address)
            kref = str(parse_kref(f"{node.props['kref']}&a={clean}"))
            props = {
                "kref": kref,
                "name": clean,
                "location": location,
                "sha256": sha256 or None,
                "size_bytes": size_bytes or None,
            }
            tx.create_edge("HAS_ARTIFACT", node.id, dst=tx.create_node(("Artifact",), props))
        return change_of(work, "attached", kref=kref)

    def bundle(
        self, target: str | Kref, *, add: Iterable[str] = (), remove: Iterable[str] = ()
    ) -> Change:
        """Add to or remove from a bundle (an item of kind `bundle`, made if new). Past membership
        stays readable as of a time."""
        kref = parse_target(target).item()
        if kref.kind != BUNDLE_KIND:
            raise InputError(
                f"{kref} is not a bundle.",
                next_step="Give an address that ends in .bundle.",
                kref=str(kref),
            )
        added, removed = _targets(add, "add"), _targets(remove, "remove")
        with self.write("bundle") as work:
            tx = work.tx
            node = (
                require(tx, kref)
                if tx.node_by_kref(str(kref)) is not None
                else create_item(tx, kref, labels=("Bundle",))
            )
            members = {edge.dst: edge.id for edge in tx.edges_out(node.id, MEMBER)}
            for target in added:
                item = require(tx, _item(target))
                if item.id not in members and item.id != node.id:
                    members[item.id] = tx.create_edge(MEMBER, node.id, dst=item.id)
            if len(members) > BUNDLE_MEMBERS_MAX:
                raise LimitError(
                    f"{kref} would hold {len(members):,} items; the limit is"
                    f" {BUNDLE_MEMBERS_MAX:,}.",
                    next_step="Use several bundles.",
                    kref=str(kref),
                    items=len(members),
                    limit_items=BUNDLE_MEMBERS_MAX,
                )
            for target in removed:
                edge = members.pop(require(tx, _item(target)).id, None)
                if edge is not None:
                    tx.delete_edge(edge)
        return change_of(work, "grouped" if work.wrote else "unchanged", kref=str(kref))

    def erase(self, targets: Iterable[str | Kref]) -> Change:
        """Destroy the content of items, single revisions or exchanges, with every version, index
        row and log payload. Cannot be undone.

        A thread goes with the last of its exchanges; an address of a thread, space or project takes
        the place itself, if all it holds is among the targets (ConflictError otherwise). The reason
        of the Change says so where the file could not be scrubbed at once."""
        krefs = _targets(targets, "targets")
        with self.write("erase") as work:
            tx = work.tx
            nodes = nodes_at(tx, krefs)
            erasure = Erasure(tx, [node.id for node in nodes])
            clear_reports(tx, nodes)
            tx.erase([node.id for node in nodes], edges=edges_drawn_from(tx, nodes))
            erasure.tag(tx)
        left = self._store.scrub()
        return change_of(
            work,
            "erased",
            kref=str(krefs[0]) if krefs else "",
            reason=f"{len(nodes)} elements" + (f". {left}" if left else ""),
        )


def _targets(values: Iterable[str | Kref], field: str) -> list[Kref]:
    """Several addresses; one alone is refused, because its characters are not what was meant."""
    if isinstance(values, (str, Kref)) or not isinstance(values, Iterable):
        raise InputError(
            f"{field} is a list of addresses; this is {values!r:.60}.",
            next_step="Give the addresses in a list.",
            field=field,
        )
    return [parse_target(value) for value in values]


def _item(kref: Kref) -> Kref:
    """What a bundle may hold: items, however they are pinned."""
    if not kref.is_item or kref.kind in RESERVED_KINDS:
        raise InputError(
            f"{kref} is not an item.",
            next_step="A bundle holds items, such as kref://project/name.kind.",
            kref=str(kref),
        )
    return kref.item()


def _tag_name(tag: str) -> str:
    name = check_name(tag, what="tag")
    if name == "initial":
        raise InputError(
            "The tag initial is kept by the system: it is revision 1.",
            next_step="Choose another tag.",
            field="tag",
        )
    if name == UNSUPPORTED:
        raise InputError(
            "The tag unsupported follows from what a belief depends on.",
            next_step="Choose another tag.",
            field="tag",
        )
    return name
