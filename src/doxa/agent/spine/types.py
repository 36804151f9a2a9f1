"""The record types of the spine, and what the commit checks of each.

    state_record          candidate, current_state -> active, verified (operator) -> retired
    responsibility_lease  candidate -> active (operator) -> paused, completed, expired, cancelled
    governor_decision     decided | pending -> approved, denied (operator); approved -> consumed
    outcome_event         never moves: the ledger is append-only
    maturation_candidate  candidate -> accepted (operator) -> applied -> reversed
    declared_lane         active (operator) -> revoked

The commit decides again about every new decision and every use of an approval. What an operator
accepts, the operator names by its content hash, so that an approval is of one content.
"""

from __future__ import annotations

from doxa.agent.records.records import CONCERNS, read_record
from doxa.agent.records.types import RecordType
from doxa.agent.spine.facts import decision_body, find_decision, outcome_body, request_of
from doxa.agent.spine.governor import MODES, VERIFY, decide
from doxa.agent.spine.lane import check_applied, require_receipt
from doxa.agent.spine.leases import DECISION, LEASE, OUTCOME, body
from doxa.agent.spine.packets import (
    DeclaredLane,
    GovernorDecision,
    MaturationCandidate,
    StateRecord,
    read_body,
)
from doxa.base.clock import NS
from doxa.base.errors import ConstraintError, RoleError
from doxa.base.ids import is_below_operator
from doxa.base.limits import (
    GOVERNOR_APPROVAL_S,
    GOVERNOR_DECISION_S,
    LEASE_S_MAX,
    STATE_FRESH_S_MAX,
)
from doxa.store import Node, Transaction

ACTED = ("observed", "verified", "rolled_back")  # outcomes of an action that was done
_OUTCOMES = (*ACTED, "failed", "blocked", "interrupted", "review_requested")


def refuse(node: Node, why: str, next_step: str) -> ConstraintError:
    """Return the error of a change that a type of record does not allow."""
    kref = str(node.props["kref"])
    return ConstraintError(f"{kref} {why}", next_step=next_step, kref=kref)


def require_edges(tx: Transaction, node: Node, krefs: tuple[str, ...]) -> None:
    """Check that a record concerns what it names, so that it is erased with it."""
    found = set()  # an edge reaches the revision that was current
    for edge in tx.edges_out(node.id, CONCERNS):
        concerned = tx.node(edge.dst)
        if concerned is not None:
            kref = str(concerned.props.get("kref", ""))
            found |= {kref, kref.partition("?")[0]}
    if not found >= {kref for kref in krefs if kref}:
        raise refuse(node, "names what it does not concern.", "Write it with the verb for it.")


def require_hash(node: Node) -> None:
    """Check that who accepted a record named its content: `said` begins with its hash."""
    if not str(node.props.get("said", "")).startswith(str(node.props["content_hash"])):
        raise refuse(
            node,
            "is accepted by the hash of its content, which was not given.",
            "Read it, and give its content_hash.",
        )


def _is_move(before: Node | None, after: Node, *states: str) -> bool:
    return (
        before is not None
        and before.props["state"] != after.props["state"]
        and after.props["state"] in states
    )


def _check_name(node: Node, tx: Transaction) -> None:
    if not read_record(node).name.startswith(f"{tx.now:019d}-"):
        raise refuse(node, "has not the name of its time.", "Write it with the verb for it.")


def check_state(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check a state record: whom it may reach is an operator's decision."""
    record = read_record(after)
    said = read_body(StateRecord, record.data, record.kref)
    if _is_move(before, after, "active", "verified"):
        require_hash(after)
    if before is not None:
        return
    require_edges(tx, after, said.sources)
    if record.state == "current_state" and is_below_operator(tx.rights):
        limit = tx.now + STATE_FRESH_S_MAX * NS
        if said.expires_ns is None or said.expires_ns > limit:
            raise refuse(after, "has no end of its freshness.", "Let it expire within a day.")
        if said.injection_risk != "blocked" or said.allowed_consumers:
            raise RoleError(
                f"{record.kref} would decide by itself who may consume it.",
                next_step="Write it as a candidate, which an operator makes active.",
                role=tx.rights,
                needed="operator",
            )


def check_lease(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check a lease: who holds it, how long, and that what is resumed is still in time."""
    record = read_record(after)
    said = body(record)
    if before is None:
        if said.executor != record.agent or said.owner == said.executor:
            raise refuse(
                after,
                "is held by its owner, or by another agent.",
                "Name the agent that holds it, and a person as its owner.",
            )
        if not said.allowed or set(said.allowed) & set(said.prohibited):
            raise refuse(
                after, "allows nothing, or what it prohibits.", "Name each class of action once."
            )
        if not tx.now < said.expires_ns <= tx.now + LEASE_S_MAX * NS:
            raise refuse(after, "has no end within 90 days.", "Give a time in that stretch.")
    if _is_move(before, after, "active"):
        require_hash(after)
        if tx.now >= said.expires_ns:
            raise refuse(after, "has expired.", "Grant another one.")
    if _is_move(before, after, "expired") and tx.now < said.expires_ns:
        raise refuse(after, "has not expired.", "Pause, complete or cancel it.")


def check_decision(tx: Transaction, before: Node | None, after: Node) -> None:
    """Decide again, and compare. An approval is used in time, by its decision alone."""
    record = read_record(after)
    said = decision_body(record)
    asked = {
        "project": record.project,
        "agent": record.agent,
        "now_ns": tx.now,
        "kref": record.kref,
    }
    if before is None:
        _check_name(after, tx)
        request = request_of(tx, said, **asked)  # type: ignore[arg-type]
        verdict = decide(request)
        state = "pending" if verdict.mode == "require_approval" else "decided"
        if (said.mode, said.reasons, said.lease_says, record.state) != (
            verdict.mode,
            verdict.reasons,
            request.lease,
            state,
        ):
            raise refuse(
                after,
                f"says {said.mode} and {record.state}; the governor decides {verdict.mode}"
                f" ({', '.join(verdict.reasons)}).",
                "Ask with govern.",
            )
        require_edges(tx, after, (said.lease, said.instruction))
    elif _is_move(before, after, "approved"):
        require_hash(after)
        if tx.now - record.made > GOVERNOR_DECISION_S * NS:
            raise refuse(after, "is more than a day old.", "Ask again.")
        _require_use(tx, after, said, asked)
    elif _is_move(before, after, "consumed"):
        moved = before.props["moved_ns"]
        if not isinstance(moved, int) or tx.now - moved > GOVERNOR_APPROVAL_S * NS:
            raise refuse(after, "was approved too long ago.", "Ask for another approval.")
        _require_use(tx, after, said, asked)


def _require_use(
    tx: Transaction, node: Node, said: GovernorDecision, asked: dict[str, object]
) -> None:
    """Check that an approval allows the action now: no other rule forbids it."""
    verdict = decide(request_of(tx, said, approval=True, **asked))  # type: ignore[arg-type]
    if not verdict.may_act:
        raise refuse(
            node,
            f"cannot be used: with an approval the governor decides {verdict.mode}"
            f" ({', '.join(verdict.reasons)}).",
            verdict.instead,
        )


def check_outcome(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check an outcome: of what was done there is a decision that allowed it."""
    record = read_record(after)
    said = outcome_body(record)
    _check_name(after, tx)
    if said.role != tx.rights:
        raise refuse(after, "was written in another role.", "Write it with outcome.")
    decision = find_decision(tx, said.decision)
    if decision is None:
        if said.decision or (record.state in ACTED and is_below_operator(tx.rights)):
            raise refuse(after, "is of an action that nobody decided.", "Ask with govern first.")
    else:
        held = decision_body(decision)
        acted = held.mode in MODES[: VERIFY + 1] or decision.state == "consumed"
        if decision.agent != record.agent or held.mode != said.mode or held.lease != said.lease:
            raise refuse(after, "does not agree with its decision.", "Write it with outcome.")
        if record.state in ACTED and not acted:
            raise refuse(
                after,
                f"says that an action was done whose decision is {held.mode}.",
                "Record it as blocked, interrupted or review_requested.",
            )
    if record.state == "verified" and not (said.verified_by and said.evidence):
        raise refuse(after, "is verified by nothing.", "Name how, and its evidence.")
    if record.state == "failed" and not said.failure_class:
        raise refuse(after, "names no kind of failure.", "Give failure_class.")
    require_edges(tx, after, (said.decision, said.lease, *said.evidence))


def check_maturation(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check a candidate: it quotes its sources, and an agent applies it in a declared lane."""
    record = read_record(after)
    said = read_body(MaturationCandidate, record.data, record.kref)
    if before is None:
        if not said.sources or not record.text.strip():
            raise refuse(after, "has no text or no source.", "Give both.")
        require_edges(tx, after, (*said.sources, said.declared))
        if (said.application == "autonomous") != bool(said.declared):
            raise refuse(
                after, "is autonomous without a declared lane, or the reverse.", "Name the lane."
            )
    elif _is_move(before, after, "accepted"):
        require_hash(after)
    elif _is_move(before, after, "applied") and before.props["state"] == "candidate":
        check_applied(tx, after, said)
    elif _is_move(before, after, "reversed"):
        require_receipt(tx, after)


def check_lane(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check a declared lane: it ends."""
    said = read_body(DeclaredLane, read_record(after).data, str(after.props["kref"]))
    if before is None and not tx.now < said.expires_ns <= tx.now + LEASE_S_MAX * NS:
        raise refuse(after, "has no end within 90 days.", "Give a time in that stretch.")


SPINE_TYPES = (
    RecordType(
        "state_record",
        states={"candidate": "agent", "current_state": "agent", "active": "operator",
                "verified": "operator"},
        moves={
            "candidate": {"active": "operator", "verified": "operator", "retired": "agent"},
            "current_state": {"verified": "operator", "retired": "agent"},
            "active": {"verified": "operator", "retired": "operator"},
            "verified": {"retired": "operator"},
        },
        check=check_state,
    ),
    RecordType(
        LEASE,
        states={"candidate": "agent", "active": "operator"},
        moves={
            "candidate": {"active": "operator", "cancelled": "agent"},
            "active": {"paused": "agent", "completed": "agent", "expired": "agent",
                       "cancelled": "agent"},
            "paused": {"active": "operator", "completed": "agent", "expired": "agent",
                       "cancelled": "agent"},
        },
        noted_by="agent",
        check=check_lease,
    ),
    RecordType(
        DECISION,
        states={"decided": "agent", "pending": "agent"},
        moves={
            "pending": {"approved": "operator", "denied": "operator", "withdrawn": "agent"},
            "approved": {"consumed": "agent", "withdrawn": "agent"},
        },
        check=check_decision,
    ),
    RecordType(OUTCOME, states=dict.fromkeys(_OUTCOMES, "agent"), check=check_outcome),
    RecordType(
        "maturation_candidate",
        states={"candidate": "agent"},
        moves={
            "candidate": {"accepted": "operator", "rejected": "operator", "withdrawn": "agent",
                          "applied": "agent"},
            "accepted": {"applied": "operator", "rejected": "operator"},
            "applied": {"reversed": "agent"},
        },
        check=check_maturation,
    ),
    RecordType(
        "declared_lane",
        states={"active": "operator"},
        moves={"active": {"revoked": "agent"}},
        check=check_lane,
    ),
)  # fmt: skip
