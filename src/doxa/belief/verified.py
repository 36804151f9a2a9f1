"""What an operator verified stays believed until an operator decides otherwise, and nobody else
calls a belief verified. The end of every transaction looks at it, so that no verb, query or undo
goes around it."""

from __future__ import annotations

from collections.abc import Iterable

from doxa.base.errors import RoleError
from doxa.base.ids import NodeId
from doxa.belief.graph import CURRENT
from doxa.store import Node, Transaction

VERIFIED = "verified"


def keep_verified(tx: Transaction, dirty: Iterable[NodeId]) -> None:
    """Raise RoleError if an agent's transaction so far made a verified belief, or ended one."""
    if tx.identity.role != "agent":
        return
    for node in tx.nodes(list(dirty)):
        if "Revision" not in node.labels or node.props.get("trust") != VERIFIED:
            continue
        live = bool(tx.edges_in(node.id, CURRENT))
        if live and node.born == tx.now:
            raise _refused(
                f"Only an operator may call a belief verified; this would be {node.props['kref']}.",
                "State it with trust 'stated'.",
            )
        if not live and _was_current(tx, node):
            said = f"{node.props['kref']} is verified: only an operator may retract it."
            raise _refused(
                said, "Ask the operator, or state what contradicts it: that opens a conflict."
            )


def _was_current(tx: Transaction, node: Node) -> bool:
    """Whether it was believed when the transaction began."""
    sql = (
        "SELECT 1 FROM edge_past WHERE dst = ? AND type = 'CURRENT' AND until = ? AND since < until"
        " LIMIT 1"
    )
    return bool(tx.rows(sql, (node.id, tx.now)))


def _refused(message: str, next_step: str) -> RoleError:
    return RoleError(message, next_step=next_step, role="agent", needed="operator")
