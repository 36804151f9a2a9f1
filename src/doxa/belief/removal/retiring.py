"""Retire an item or exchange, and restore it: a retired item has no current revision."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from doxa.base.errors import ConflictError
from doxa.base.ids import NodeId
from doxa.belief.graph import (
    RETIRED_REVISION,
    SUPERSEDES,
    current_of,
    item_of,
    last_of,
)
from doxa.belief.relevant_beliefs import trust_rank
from doxa.belief.writes import set_current
from doxa.store import TRUSTS, Node, Transaction

SPEAKER_NAME, SPEAKER_ROLE = "speaker_name", "speaker_role"  # of a belief read from a turn
_SOURCES = ("DERIVED_FROM", "EVIDENCES")
_USER = "user"
_STATED = TRUSTS.index("stated")
# These may let in what is trusted less: somebody decided it, or it was so before.
_DECISIONS = frozenset(("resolve", "undo", "import", "restore", "rollback"))


def set_deprecated(tx: Transaction, node: Node, value: bool) -> None:
    """Retire an item or exchange, or restore it: an item with the revision that was current
    last."""
    props = dict(node.props)
    if bool(props.get("deprecated")) is value:
        return
    current = current_of(tx, node.id) if "Item" in node.labels else None
    if value:
        props["deprecated"] = True
        if current is not None:
            props[RETIRED_REVISION] = current.props["number"]
            set_current(tx, node.id, None)
    else:
        last = last_of(tx, node)
        props.pop("deprecated", None)
        props.pop(RETIRED_REVISION, None)
        if last is not None and current is None:
            set_current(tx, node.id, last.id)
    tx.set_node(node.id, props)


def retire_for(tx: Transaction, revision: NodeId, *, by: NodeId) -> None:
    """Retire an item because a revision of another one supersedes its own."""
    tx.create_edge(SUPERSEDES, by, dst=revision)
    set_deprecated(tx, item_of(tx, revision), True)


def mark_turns(tx: Transaction, retired: NodeId, *, by: NodeId, read: bool = True) -> None:
    """Mark the turns that a retired revision was read from as superseded: by the turns that its
    successor was read from, or by the successor itself where it came from none. `read` False: the
    successor only carried its turns over, and states something else."""
    old = turns_of(tx, retired)
    if not old:
        return
    new = turns_of(tx, by) if read else []
    for source in new or [by]:
        marked = {edge.dst for edge in tx.edges_out(source, SUPERSEDES)}
        for turn in old:
            if turn not in marked and turn not in new:
                tx.create_edge(SUPERSEDES, source, dst=turn)


def turns_of(tx: Transaction, revision: NodeId) -> list[NodeId]:
    """Return the turns that a revision was read from."""
    ends = [edge.dst for kind in _SOURCES for edge in tx.edges_out(revision, kind)]
    return [node.id for node in tx.nodes(ends) if "Exchange" in node.labels] if ends else []


def may_replace(trust: object, stated: Mapping[str, object], old: Node) -> bool:
    """Return whether a belief of this trust and these properties may retire another: none that is
    trusted more, and of those that rules read from turns none that another speaker stated, except a
    user's statement that of somebody who is not a user."""
    ranks = TRUSTS.index(trust) if trust in TRUSTS else 0, trust_rank(old)
    if ranks[0] != ranks[1] or ranks[0] >= _STATED:
        return ranks[0] >= ranks[1]
    role = old.props.get(SPEAKER_ROLE)
    if stated.get(SPEAKER_ROLE) == _USER and role not in (None, _USER):
        return True
    one, other = (str(of.get(SPEAKER_NAME) or "").casefold() for of in (stated, old.props))
    return not (one and other) or one == other


def keep_ranks(tx: Transaction, dirty: Iterable[NodeId]) -> None:
    """Raise ConflictError if a revision that this transaction wrote retires a belief at another
    address that it may not: a check of what the operations maintain themselves. Within an item
    only `state` writes revisions, and it knows whether the one before was still believed."""
    if tx.op in _DECISIONS:
        return
    for made in tx.nodes([identity for identity in dirty if tx.is_made(identity)]):
        if "Revision" in made.labels and trust_rank(made) <= _STATED:
            for edge in tx.edges_out(made.id, SUPERSEDES):
                _check_rank(tx, made, edge.dst)


def _item_address(revision: Node) -> str:
    return str(revision.props["kref"]).partition("?")[0]


def _check_rank(tx: Transaction, made: Node, retired: NodeId) -> None:
    old = tx.node(retired)
    if (
        old is None
        or "Revision" not in old.labels
        or _item_address(old) == _item_address(made)
        or may_replace(made.props.get("trust"), made.props, old)
    ):
        return
    kref, held = str(made.props["kref"]), str(old.props["kref"])
    raise ConflictError(
        f"{kref} cannot retire {held}, which is trusted more or was stated by somebody else.",
        next_step="State it with doxa.revise: that opens a conflict.",
        kref=kref,
        held=held,
    )
