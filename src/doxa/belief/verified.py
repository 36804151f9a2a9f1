"""What an operator verified stays believed until an operator decides otherwise, and nobody else
calls a belief verified, brings one back, or says what it depends on. The end of every transaction
looks at it, so that no verb, query or undo goes around it."""

from __future__ import annotations

from collections.abc import Iterable

from doxa.base.errors import RoleError
from doxa.base.ids import NodeId, is_below_operator
from doxa.belief.graph import CURRENT, PROTECTED_TAGS, TAG
from doxa.store import Node, Transaction

VERIFIED = "verified"


def keep_verified(tx: Transaction, dirty: Iterable[NodeId]) -> None:
    """Raise RoleError if an agent's transaction so far made a verified belief, ended one, or
    changed the grounds of one that is verified or carries a protected tag."""
    if not is_below_operator(tx.rights):
        return
    for node in tx.nodes(list(dirty)):
        if "Revision" not in node.labels or node.props.get("kref") is None:
            continue
        verified = node.props.get("trust") == VERIFIED
        if verified:
            _keep_state(tx, node)
        if (verified or is_tagged(tx, node.id)) and _grounds_changed(tx, node):
            raise refused_grounds(node)


def _keep_state(tx: Transaction, node: Node) -> None:
    live, was = bool(tx.edges_in(node.id, CURRENT)), _was_current(tx, node)
    if live and node.born == tx.now:
        raise _refused(
            f"Only an operator may call a belief verified; this would be {node.props['kref']}.",
            "State it with trust 'stated'.",
        )
    if was and not live:
        said = f"{node.props['kref']} is verified: only an operator may retract it."
        raise _refused(
            said, "Ask the operator, or state what contradicts it: that opens a conflict."
        )
    if live and not was and _has_become_current(tx, node):
        said = f"{node.props['kref']} is verified and was retired: only an operator may restore it."
        raise _refused(said, "Ask the operator, or state it again with trust 'stated'.")


def is_tagged(tx: Transaction, revision: NodeId) -> bool:
    """Return whether a revision carries a tag that takes an operator."""
    return any(edge.props.get("name") in PROTECTED_TAGS for edge in tx.edges_in(revision, TAG))


def refused_grounds(node: Node) -> RoleError:
    return _refused(
        f"Only an operator may say what {node.props['kref']} depends on: it is verified or"
        " approved.",
        "Ask the operator.",
    )


def keep_ground(tx: Transaction, revision: NodeId, ground: NodeId) -> None:
    """Raise RoleError if an agent's transaction takes away the ground of a verified belief that an
    agent gave it, in a file of before that was refused."""
    node = tx.node(revision) if is_below_operator(tx.rights) else None
    if node is None or node.props.get("trust") != VERIFIED:
        return
    sql = (
        "SELECT 1 FROM edge e JOIN receipt r ON r.time = e.born AND r.role = 'agent' WHERE e.src ="
        " ? AND e.dst = ? AND e.type IN ('DEPENDS_ON', 'DERIVED_FROM') LIMIT 1"
    )
    if tx.rows(sql, (revision, ground)):
        raise refused_grounds(node)


def _grounds_changed(tx: Transaction, node: Node) -> bool:
    """Whether this transaction wrote or removed a ground of a revision that was there before."""
    if node.born == tx.now:
        return False
    sql = (
        "SELECT EXISTS (SELECT 1 FROM edge WHERE src = ?1 AND type IN ('DEPENDS_ON',"
        " 'DERIVED_FROM') AND since = ?2) OR EXISTS (SELECT 1 FROM edge_past WHERE src = ?1 AND"
        " type IN ('DEPENDS_ON', 'DERIVED_FROM') AND until = ?2 AND since < until)"
    )
    return bool(tx.rows(sql, (node.id, tx.now))[0][0])


def _has_become_current(tx: Transaction, node: Node) -> bool:
    return any(edge.since == tx.now for edge in tx.edges_in(node.id, CURRENT))


def _was_current(tx: Transaction, node: Node) -> bool:
    """Whether it was believed when the transaction began, and the edge that said so is gone."""
    sql = (
        "SELECT 1 FROM edge_past WHERE dst = ? AND type = 'CURRENT' AND until = ? AND since < until"
        " LIMIT 1"
    )
    return bool(tx.rows(sql, (node.id, tx.now)))


def _refused(message: str, next_step: str) -> RoleError:
    return RoleError(message, next_step=next_step, role="agent", needed="operator")
