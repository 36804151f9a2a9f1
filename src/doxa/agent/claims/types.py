"""The record of a claim, and its law."""

from __future__ import annotations

from typing import Any

from doxa.agent.claims.modes import mode_of
from doxa.agent.records.types import RecordType
from doxa.base.errors import ConstraintError
from doxa.base.values import decode
from doxa.store import Node, Transaction

SPACE = "claims"  # in which the beliefs of accepted claims lie
CLAIM = "claim"
DECISION, REVERSAL = "decision", "reversal"  # the notes that an acceptance and a reversal leave


def _check(tx: Transaction, before: Node | None, node: Node) -> None:
    """A claim becomes accepted in the mode `enforce` alone, in the transaction that states its
    belief, by a decision that names its hash and that of its resolved sources; it is reversed in
    the transaction that retires the belief."""
    was = before.props["state"] if before is not None else ""
    state = node.props["state"]
    if state == was or state not in ("accepted", "reversed"):
        if before is not None and node.props.get("notes") != before.props.get("notes"):
            raise _refused(node, "Its notes are those of a decision.", "Decide about it.")
        return
    notes, held = _notes(node), _notes(before)
    name = DECISION if state == "accepted" else REVERSAL
    decision = notes.get(name) or {}
    if decision.get("claim") != node.props["content_hash"] or not decision.get("sources"):
        raise _refused(
            node, "The decision does not name what it says.", "Preview it, and decide by the verb."
        )
    if {**notes, name: None} != {**held, name: None} or decision.get("time") != tx.now:
        raise _refused(node, "Its notes are those of a decision.", "Decide by the verb for it.")
    belief = tx.node_by_kref(str(decision.get("belief", "")))
    if state == "reversed":
        if decision.get("belief") != held.get(DECISION, {}).get("belief"):
            raise _refused(node, "It names another belief.", "Decide by the verb for it.")
        if belief is not None and tx.edges_in(belief.id, "CURRENT"):
            raise _refused(node, "Its belief is held still.", "Decide by the verb for it.")
        return
    if belief is None or "Revision" not in belief.labels:
        raise _refused(node, "The decision names no belief.", "Decide by the verb for it.")
    if mode_of(tx) != "enforce":
        raise _refused(
            node,
            f"Claims are accepted in the mode enforce, not {mode_of(tx)}.",
            "An operator sets it: doxa operator plan modes --set claims.mode=enforce",
        )
    if decode(str(node.props["data"])).get("kind") == "identity":
        raise _refused(
            node, "What an agent is, is crystallised.", "Propose it as a candidate of identity."
        )
    drawn = {edge.dst for edge in tx.edges_out(belief.id, "DERIVED_FROM")}
    if belief.props.get("summary") != node.props["text"] or node.id not in drawn:
        raise _refused(node, "Its belief says something else.", "Decide by the verb for it.")


def _notes(node: Node | None) -> dict[str, Any]:
    found = decode(str(node.props.get("notes", "{}"))) if node is not None else {}
    return found if isinstance(found, dict) else {}


def _refused(node: Node, why: str, step: str) -> ConstraintError:
    return ConstraintError(
        f"{node.props['kref']} does not become {node.props['state']}. {why}",
        next_step=step,
        kref=str(node.props["kref"]),
    )


CLAIMS = RecordType(
    CLAIM,
    states={"candidate": "agent"},
    moves={
        "candidate": {
            "accepted": "operator",
            "rejected": "operator",
            "deferred": "operator",
        },
        "deferred": {"accepted": "operator", "rejected": "operator"},
        "accepted": {"reversed": "operator"},
    },
    noted_by="operator",
    check=_check,
)
CLAIM_TYPES = (CLAIMS,)
