"""Conflicts: what is trusted less does not retire what is trusted more, and is not lost either.

The challenger is a revision that is written and not believed; the conflict joins it with the
beliefs that it challenges and stays open until somebody decides: accept (the challenger is
believed, and what contradicts it is retracted), reject (it stays in history), both (each is
believed for its own time). A decision is a change like any other and can be undone. What an
operator verified is retracted only by an operator's decision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

from doxa.base.errors import ConflictError, InputError, NotFoundError, RoleError
from doxa.base.ids import NodeId, is_below_operator
from doxa.belief.background.repetition import lowered
from doxa.belief.graph import CHALLENGER, HELD
from doxa.belief.kref import Kref, parse_kref
from doxa.belief.reading.views import sides
from doxa.belief.types import CONFLICT_KIND, CheckedDraft
from doxa.belief.writes import Content, add_revision, create_item
from doxa.store import Node, Reader, Transaction

Decision = Literal["accept", "reject", "both"]
DECISIONS: tuple[Decision, ...] = ("accept", "reject", "both")


def open_conflict(
    tx: Transaction,
    kref: Kref,
    draft: CheckedDraft,
    held: Sequence[Node],
    *,
    content: Content | None = None,
    links: Iterable[tuple[str, str]] = (),
) -> tuple[Node, str, bool]:
    """Write a challenger and its conflict: (challenger, the conflict's address, whether it is new).
    One that is open already is found again. `content`: that of the draft, where it is known.
    `links`: what the caller will join it with."""
    item = tx.node_by_kref(str(kref)) or create_item(tx, kref)
    if content is None:
        draft, _ = lowered(tx, draft, kref.project, links)
        content = Content.of(draft)
    for conflict, challenger in _open_of(tx, item.id):
        if challenger.props.get("content_hash") == content.hash:
            return challenger, str(conflict.props["kref"]), False
    made = add_revision(tx, item, draft, current=False, content=content)
    return made, write_conflict(tx, kref, made, held), True


def write_conflict(tx: Transaction, kref: Kref, made: Node, held: Sequence[Node]) -> str:
    """Write the conflict of a challenger, at `kref`, that is not believed, and return its
    address."""
    digest = hashlib.blake2b(
        str(made.props["kref"]).encode(), digest_size=6
    ).hexdigest()  # unlike the name it tells nothing of what was said
    address = Kref(kref.project, kref.spaces, f"r{made.props['number']}-{digest}", CONFLICT_KIND)
    props = {
        "kref": str(address),
        "project": kref.project,
        "space": "/".join(kref.spaces),
        "kind": CONFLICT_KIND,
        "opened": tx.now,
        "opened_by": tx.identity.actor,
    }
    conflict_id = tx.create_node(("Conflict",), props)
    tx.create_edge(CHALLENGER, conflict_id, dst=made.id)
    for node in held:
        tx.create_edge(HELD, conflict_id, dst=node.id)
    return str(address)


def _open_of(reader: Reader, item: NodeId) -> list[tuple[Node, Node]]:
    """(conflict, challenger) for each open conflict in which a revision of this item is the
    challenger."""
    sql = (
        "SELECT c.src, c.dst FROM edge h JOIN edge c ON c.dst = h.dst AND c.type = 'CHALLENGER' "
        "WHERE h.src = ? AND h.type = 'HAS_REVISION' ORDER BY c.id"
    )
    found = []
    for conflict, challenger in reader.rows(sql, (item,)):
        nodes = reader.node(NodeId(conflict)), reader.node(NodeId(challenger))
        if nodes[0] is not None and nodes[1] is not None and not nodes[0].props.get("decision"):
            found.append((nodes[0], nodes[1]))
    return found


def require_conflict(reader: Reader, kref: Kref) -> Node:
    node = reader.node_by_kref(str(kref))
    if node is None or "Conflict" not in node.labels:
        raise NotFoundError(
            f"There is no conflict at {kref}.",
            next_step="List what is open with conflicts.",
            kref=str(kref),
        )
    return node


def check_decision(tx: Transaction, conflict: Node, decision: str) -> tuple[Node, list[Node]]:
    """Return the sides of a conflict on which this may be decided. Raises InputError, ConflictError
    (decided already) or RoleError."""
    if decision not in DECISIONS:
        raise InputError(
            f"{str(decision)[:40]!r} is not a decision.",
            next_step=f"Use {', '.join(DECISIONS)}.",
            field="decision",
        )
    if conflict.props.get("decision"):
        raise ConflictError(
            f"{conflict.props['kref']} was decided already: {conflict.props['decision']}.",
            next_step="Undo that decision first.",
            kref=str(conflict.props["kref"]),
        )
    challenger, held = sides(tx, conflict)
    if (
        decision != "reject"
        and is_below_operator(tx.identity.role)
        and any(node.props.get("trust") == "verified" for node in held)
    ):
        said = "Only an operator may retract what an operator verified."
        raise RoleError(
            said, next_step="Ask the operator to decide.", role="agent", needed="operator"
        )
    return challenger, held


def close_conflict(tx: Transaction, conflict: Node, decision: str) -> None:
    props = conflict.props | {
        "decision": decision,
        "decided": tx.now,
        "decided_by": tx.identity.actor,
    }
    tx.set_node(conflict.id, props)


def conflict_address(value: str | Kref) -> Kref:
    """Read a conflict's address as callers give it."""
    kref = (
        value if isinstance(value, Kref) else parse_kref(value) if isinstance(value, str) else None
    )
    if kref is None or kref.kind != CONFLICT_KIND:
        raise InputError(
            f"{str(value)[:80]!r} is not the address of a conflict.",
            next_step="List what is open with conflicts.",
            field="kref",
        )
    return kref
