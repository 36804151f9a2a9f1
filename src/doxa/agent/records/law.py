"""The law of records, asked at the commit of every transaction that made or changed one."""

from __future__ import annotations

from collections.abc import Mapping

from doxa.agent.records.records import content_hash
from doxa.agent.records.types import RecordType
from doxa.base.errors import ConstraintError, RoleError
from doxa.base.ids import ROLES, Role, is_below_operator
from doxa.base.values import decode
from doxa.store import Node, Transaction

_MOVED = ("moved_ns", "moved_by", "said")


def check_change(tx: Transaction, node: Node, types: Mapping[str, RecordType]) -> None:
    """Check a record that this transaction made or changed. Raises ConstraintError or RoleError."""
    kref = str(node.props["kref"])
    kind = types.get(str(node.props["type"]))
    if kind is None:
        raise ConstraintError(
            f"{kref} would be of the unknown type {str(node.props['type'])[:40]!r}.",
            next_step=f"Use one of {', '.join(sorted(types)) or 'none'}.",
            kref=kref,
        )
    if is_below_operator(tx.rights) and node.props["agent"] != tx.identity.actor:
        raise RoleError(
            f"{kref} belongs to the agent {node.props['agent']}; {tx.identity.actor} may not write"
            " it.",
            next_step="Write it in a session of that agent.",
            kref=kref,
        )
    before = tx.node_as_of(node.id, tx.now - 1) if node.born < tx.now else None
    if before is None:
        _check_new(tx, node, kind)
    else:
        _check_moved(tx, before, node, kind)
    if kind.check is not None:
        kind.check(tx, before, node)


def _check_new(tx: Transaction, node: Node, kind: RecordType) -> None:
    kref, state = str(node.props["kref"]), str(node.props["state"])
    if state not in kind.states:
        raise ConstraintError(
            f"A new record of type {kind.name} is {' or '.join(kind.states)}, not {state[:40]}.",
            next_step="Make it so, and move it from there.",
            kref=kref,
        )
    _require_role(tx, kind.states[state], f"make a record of type {kind.name} that is {state}")
    if node.props["made_ns"] != tx.now or node.props["made_by"] != tx.identity.actor:
        raise ConstraintError(
            f"{kref} would be made at another time, or by somebody else.",
            next_step="Write it with the verb for it.",
            kref=kref,
        )
    said = content_hash(
        str(node.props["agent"]),
        kind.name,
        str(node.props["text"]),
        decode(str(node.props["data"])),
    )
    if said != node.props["content_hash"]:
        raise ConstraintError(
            f"The content hash of {kref} is not that of what it says.",
            next_step="Write it with the verb for it.",
            kref=kref,
        )


def _check_moved(tx: Transaction, before: Node, node: Node, kind: RecordType) -> None:
    kref, was, state = (
        str(node.props["kref"]),
        str(before.props["state"]),
        str(node.props["state"]),
    )
    if node.id in tx.changed_edges:
        raise ConstraintError(
            f"What {kref} concerns does not change.", next_step="Make another record.", kref=kref
        )
    moved = any(before.props.get(name) != node.props.get(name) for name in _MOVED)
    if moved and was == state:
        raise ConstraintError(
            f"{kref} is {state} already.",
            next_step="Leave it: when it moved, who moved it and why does not change.",
            kref=kref,
        )
    mover = node.props.get("moved_ns"), node.props.get("moved_by")
    if (moved or was != state) and mover != (tx.now, tx.identity.actor):
        raise ConstraintError(
            f"{kref} would be moved at another time, or by somebody else.",
            next_step="Move it with the verb for it.",
            kref=kref,
        )
    if was != state:
        allowed = kind.moves.get(was, {})
        if state not in allowed:
            raise ConstraintError(
                f"{kref} is {was} and does not become {state[:40]}.",
                next_step=(
                    f"From {was} it becomes {' or '.join(allowed)}."
                    if allowed
                    else f"A record of type {kind.name} that is {was} stays so."
                ),
                kref=kref,
            )
        _require_role(tx, allowed[state], f"move a record of type {kind.name} to {state}")
    if before.props.get("notes") != node.props.get("notes"):
        if kind.noted_by is None:
            raise ConstraintError(
                f"A record of type {kind.name} has no notes.",
                next_step="Make another record.",
                kref=kref,
            )
        _require_role(tx, kind.noted_by, f"change the notes of a record of type {kind.name}")


def _require_role(tx: Transaction, needed: Role, what: str) -> None:
    if ROLES.index(tx.rights) < ROLES.index(needed):
        raise RoleError(
            f"The role {tx.rights} may not {what}; it takes {needed}.",
            next_step=f"Ask the {needed} to do it.",
            role=tx.rights,
            needed=needed,
        )
