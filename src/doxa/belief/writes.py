"""The steps that belief operations are made of, each inside a transaction that the caller holds, so
that steps combine into one unit."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from doxa.base.errors import ConflictError, InputError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.values import Properties, encode_properties
from doxa.belief.graph import (
    CURRENT,
    ENTITY,
    HAS_REVISION,
    PENDING_ENTITY,
    RESERVED_EDGES,
    SUPERSEDES,
    TAG,
    current_of,
    missing,
    parse_target,
    resolve,
)
from doxa.belief.kref import Kref, check_name, name_from, parse_kref, print_kref
from doxa.belief.reading.views import build_revision
from doxa.belief.types import Draft, Fact, check_draft, check_summary
from doxa.logic.sentence import Sentence, worded
from doxa.store import Edge, Identity, Node, Transaction

RULE_AUTHOR = "rule:"
# what a vector is made of instead of the text: it says what the former words said
EMBEDDING_TEXT = "embedding_text"


def ensure_place(tx: Transaction, place: Kref) -> NodeId:
    """Return the project or space, created with its parents if it is new."""
    found = tx.node_by_kref(str(place))
    if found is not None:
        if {"Project", "Space"}.isdisjoint(found.labels):
            raise InputError(
                f"{place} is not a project or space.",
                next_step="Choose another name.",
                kref=str(place),
            )
        return found.id
    check_address(Kref(place.project, place.spaces, "name", "kind"))
    if not place.spaces:
        return tx.create_node(("Project",), {"kref": str(place), "name": place.project})
    parent = ensure_place(tx, Kref(place.project, place.spaces[:-1]))
    made = tx.create_node(
        ("Space",), {"kref": str(place), "name": place.spaces[-1], "project": place.project}
    )
    tx.create_edge("HAS_SPACE", parent, dst=made)
    return made


def place_of(project: str, space: str) -> Kref:
    """Return the address of a space given as a project name and a path such as `a/b` (or
    nothing)."""
    if not isinstance(space, str):
        raise InputError(
            f"A space is text; this is {type(space).__name__}.",
            next_step="Give a path such as a/b, or nothing.",
            field="space",
        )
    spaces = tuple(check_name(part, what="space") for part in space.split("/")) if space else ()
    return Kref(check_name(project, what="project"), spaces)


def draft_kref(draft: Draft) -> Kref:
    """Return where a draft goes: its own name, or one made from its first words and its content."""
    place = place_of(draft.project, draft.space)
    kind = check_name(draft.kind, what="kind")
    if draft.name:
        name = check_name(draft.name, what="item", dots=True)
    else:
        check_summary(draft.summary)
        digest = hashlib.blake2b(draft.summary.encode(), digest_size=4).hexdigest()
        name = name_from(draft.title or draft.summary, digest)
    return Kref(place.project, place.spaces, name, kind)


def check_address(kref: Kref) -> None:
    """Check that what is written can be found by its address: raise KrefError unless its printed
    form, with a pin and an artifact, is an address."""
    pinned = replace(
        kref, revision=kref.revision or _PIN_WIDEST, artifact=kref.artifact or _ARTIFACT_WIDEST
    )
    if parse_kref(print_kref(pinned)) != pinned:
        raise InputError(
            f"{kref} would not be read back as it is written.",
            next_step="Choose another name.",
            kref=str(kref),
        )


_PIN_WIDEST, _ARTIFACT_WIDEST = 10**9, "a" * 64  # every item's address leaves space for these


def create_item(tx: Transaction, kref: Kref, *, labels: Iterable[str] = ()) -> Node:
    check_address(kref)
    parent = ensure_place(tx, kref.space())
    props = {
        "kref": str(kref),
        "project": kref.project,
        "space": "/".join(kref.spaces),
        "name": kref.name,
        "kind": kref.kind,
    }
    made = tx.create_node(("Item", *labels), props)
    tx.create_edge("HAS_ITEM", parent, dst=made)
    node = tx.node(made)
    assert node is not None
    return node


class Content(NamedTuple):
    """What a checked draft says, as properties, and their hash."""

    props: Properties
    hash: str

    @classmethod
    def of(cls, draft: Draft) -> Content:
        props = draft.content()
        data = encode_properties(props, owner="Revision")
        return cls(props, hashlib.blake2b(data, digest_size=12).hexdigest())


def add_revision(
    tx: Transaction,
    item: Node,
    draft: Draft,
    *,
    author: str = "",
    current: bool = True,
    content: Content | None = None,
    last: NodeId | None = None,
) -> Node:
    """Write a new revision that becomes current and SUPERSEDES the one that was; without `current`
    it is written and not believed. The caller has checked that it says something new. `author`: of
    a belief that is only rewritten, who stated it. `content`: that of a draft which the caller has
    checked. `last`: the revision written last, where that is known."""
    if content is None:
        check_draft(draft)
        content = Content.of(draft)
    before = current_of(tx, item.id)
    number = next_number(tx, item, last)
    kref = f"{item.props['kref']}?r={number}"
    props = content.props | {
        "kref": kref,
        "number": number,
        "project": item.props["project"],
        "space": item.props["space"],
        "kind": item.props["kind"],
        "author": author or _author(draft, tx.identity),
        "time": tx.now if draft.time is None else draft.time,
        "content_hash": content.hash,
    }
    made = tx.create_node(("Revision",), props, checked=True)
    tx.create_edge(HAS_REVISION, item.id, dst=made)
    if current:
        set_current(tx, item.id, made)
    if current and before is not None:
        tx.create_edge(SUPERSEDES, made, dst=before.id)
    node = tx.node(made)
    assert node is not None
    return node


def _author(draft: Draft, identity: Identity) -> str:
    """Who stated it: the one who acts. Others are named only by those who may vouch for them, and
    rules by the ingest that runs them."""
    if not is_below_operator(identity.role) or draft.author.startswith(RULE_AUTHOR):
        return draft.author or identity.actor
    return identity.actor


def next_number(tx: Transaction, item: Node, last: NodeId | None = None) -> int:
    """Return one more than the highest number ever used, also after an erasure (then the item
    remembers it). `last`: the revision written last, where it is known."""
    if last is None and not tx.is_made(item.id):
        sql = "SELECT max(dst) FROM edge WHERE src = ? AND type = ?"
        last = tx.rows(sql, (item.id, HAS_REVISION))[0][0]
    elif last is None:
        last = max((edge.dst for edge in tx.edges_out(item.id, HAS_REVISION)), default=None)
    least = item.props.get("next_number", 1)
    assert isinstance(least, int)
    if last is None:
        return least
    node = tx.node(last)
    number = node.props["number"] if node else 0
    assert isinstance(number, int)
    return max(least, number + 1)


def set_current(tx: Transaction, item: NodeId, revision: NodeId | None) -> None:
    for edge in tx.edges_out(item, CURRENT):
        tx.delete_edge(edge.id)
    if revision is not None:
        tx.create_edge(CURRENT, item, dst=revision)


def tag_edge(tx: Transaction, item: NodeId, tag: str) -> Edge | None:
    if tag == "current":
        return next(iter(tx.edges_out(item, CURRENT)), None)
    return next((edge for edge in tx.edges_out(item, TAG) if edge.props.get("name") == tag), None)


def move_tag(tx: Transaction, item: Node, *, tag: str, revision: Node | None) -> None:
    """Point a tag at a revision, or remove it (None). The store guards protected tags."""
    if tag == "current":
        set_current(tx, item.id, revision.id if revision else None)
        return
    edge = tag_edge(tx, item.id, tag)
    if edge is not None:
        tx.delete_edge(edge.id)
    if revision is not None:
        tx.create_edge(TAG, item.id, dst=revision.id, props={"name": tag})


def expect_revision(tx: Transaction, item: Node, *, tag: str, expect: int | None) -> None:
    """Raise ConflictError unless the tag points to revision `expect`; 0: to nothing."""
    if expect is None:
        return
    if isinstance(expect, bool) or not isinstance(expect, int):
        raise InputError(
            f"expect is the number of a revision, 0 for none; this is {expect!r:.60}.",
            next_step="Give the number, or leave it out.",
            field="expect",
        )
    edge = tag_edge(tx, item.id, tag)
    node = tx.node(edge.dst) if edge else None
    found, kref = node.props["number"] if node else 0, str(item.props["kref"])
    assert isinstance(found, int)
    if found != expect:
        raise ConflictError(
            f"{tag} of {kref} is at revision {found}, not {expect}: someone moved it.",
            next_step="Read it again, then decide again.",
            kref=kref,
            expected=expect,
            found=found,
        )


def link(tx: Transaction, source: Node, *, kind: str, target: str | Kref) -> None:
    """Create an edge from a revision to whatever an address means now."""
    tx.create_edge(check_link_type(kind), source.id, dst=link_end(tx, target).id)


def link_end(tx: Transaction, target: str | Kref) -> Node:
    """Return what a typed edge may join: beliefs, turns and bundles, as their addresses mean them
    now."""
    kref = parse_target(target)
    node = resolve(tx, kref)
    if not _LINKED.isdisjoint(node.labels):
        return node
    raise InputError(
        f"{kref} cannot be linked: it is a {(node.labels or ('node',))[0].lower()}.",
        next_step="Give the address of a belief, a turn or a bundle.",
        kref=str(kref),
    )


_LINKED = frozenset(("Revision", "Exchange", "Item"))


def check_link_type(kind: str) -> str:
    """Check an edge type that callers may write: those that make what a belief is are written by
    the operations alone."""
    if check_edge_type(kind) not in RESERVED_EDGES:
        return kind
    raise InputError(
        f"Edges of type {kind} are written by doxa itself.",
        next_step=(
            "Use a type of your own, such as DEPENDS_ON, or the operation that is for this: tag,"
            " revise, supersede, attach, bundle."
        ),
        field="edge_type",
    )


def check_edge_type(kind: str) -> str:
    if (
        isinstance(kind, str)
        and kind.isascii()
        and kind[:1].isalpha()
        and kind.isupper()
        and kind.replace("_", "").isalnum()
        and len(kind) <= 64
    ):
        return kind
    raise InputError(
        f"{str(kind)[:40]!r} is not an edge type.",
        next_step="Use upper-case letters, digits and _, such as DEPENDS_ON.",
        field="edge_type",
    )


def build_draft(node: Node, facts: tuple[Fact, ...], sentences: tuple[Sentence, ...]) -> Draft:
    """Build a successor of a revision that says the same except its facts and sentences; its
    summary is then written from those that stay."""
    old = build_revision(node, status="current")
    summary = "; ".join(
        [
            *(f"{fact.subject} {fact.predicate} {fact.value}" for fact in facts),
            *map(worded, sentences),
        ]
    )
    return Draft(
        summary=summary,
        project=old.project,
        space=old.space,
        kind=old.kind,
        topics=old.topics,
        facts=facts,
        sentences=sentences,
        valid_from=old.valid_from,
        valid_until=old.valid_until,
        confidence=old.confidence,
        trust=old.trust,
        metadata={name: value for name, value in old.metadata.items() if name != EMBEDDING_TEXT},
    )


def require_item(tx: Transaction, kref: Kref) -> Node:
    if not kref.is_item:
        raise InputError(
            f"{kref} is not an item.",
            next_step="Give the address of an item, such as kref://project/name.kind.",
            kref=str(kref),
        )
    node = tx.node_by_kref(str(kref.item()))
    if node is None or _HELD.isdisjoint(node.labels):
        raise missing(tx, kref.item())
    return node


_HELD = frozenset(("Item", "Exchange", "Thread", ENTITY, PENDING_ENTITY))


def require_belief(tx: Transaction, kref: Kref) -> Node:
    """Do what require_item does, for an item with revisions: a turn, thread or bundle has none."""
    node = require_item(tx, kref)
    if "Bundle" in node.labels:
        raise InputError(
            f"{kref.item()} is a bundle: it has members, no revisions and no tags.",
            next_step="Use bundle to change what it holds.",
            kref=str(kref),
        )
    if "Item" not in node.labels:
        raise InputError(
            f"{kref.item()} is what was said, not a belief: it has no revisions and no tags.",
            next_step="State a belief of its own, derived from it.",
            kref=str(kref),
        )
    return node
