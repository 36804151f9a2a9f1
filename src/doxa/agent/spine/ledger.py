"""Writing the packets of the spine. Each function works in a transaction of its caller; what must
hold is checked at its commit (types.py). The ledger is the store's log: packets are records, and
their past states its versions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from doxa.agent.records.records import (
    find_record,
    list_records,
    move_record,
    note_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.agent.spine.facts import decision_body, find_decision, request_of
from doxa.agent.spine.governor import LEVELS, MODES, GovernorVerdict, decide
from doxa.agent.spine.leases import DECISION, LEASE, OUTCOME, body, stopped_by, use_of
from doxa.agent.spine.packets import (
    DeclaredLane,
    GovernorDecision,
    MaturationCandidate,
    OutcomeEvent,
    ResponsibilityLease,
    StateRecord,
    body_of,
    read_body,
)
from doxa.base.clock import NS
from doxa.base.errors import ConflictError, ConstraintError, InputError, NotFoundError
from doxa.base.limits import LEASE_EXPIRING_S, LEASE_NOTICES_ITEMS_MAX, LEASES_ITEMS_MAX
from doxa.base.values import canonical
from doxa.store import Reader, Transaction

_WRITTEN: dict[str, tuple[type[msgspec.Struct], str]] = {  # their form, and their first state
    "state_record": (StateRecord, "candidate"),
    "maturation_candidate": (MaturationCandidate, "candidate"),
    "declared_lane": (DeclaredLane, "active"),
}


@dataclass(frozen=True, slots=True)
class Decision:
    """What the governor decided about an action, and the record of it. `instead`: what to do where
    the action may not be done now."""

    kref: str
    mode: str
    may_act: bool
    state: str
    reasons: tuple[str, ...]
    checks: tuple[str, ...]
    rollback_required: bool
    instead: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class LeaseInfo:
    """A lease, whether it is in force, and if not, why. `expires` is ns UTC."""

    kref: str
    agent: str
    state: str
    objective: str
    allowed: tuple[str, ...]
    in_force: bool
    stopped: str
    actions: int
    expires: int
    content_hash: str
    notices: tuple[str, ...]


def write_packet(
    tx: Transaction,
    *,
    project: str,
    agent: str,
    kind: str,
    state: str,
    text: str = "",
    data: Mapping[str, Any],
    about: Sequence[str] = (),
) -> Record:
    """Write a packet, under a name that sorts by time, and return it."""
    digest = hashlib.sha256(canonical([text, dict(data)])).hexdigest()[:16]
    name = f"{tx.now:019d}-{digest}"
    return write_record(
        tx,
        project=project,
        agent=agent,
        kind=kind,
        name=name,
        state=state,
        text=text,
        data=data,
        about=[kref for kref in about if kref],
    )


def grant_lease(
    tx: Transaction, *, project: str, agent: str, lease: ResponsibilityLease, active: bool
) -> Record:
    """Write a lease: active, or a candidate that an operator makes active."""
    held = list_records(
        tx,
        project=project,
        agent=agent,
        kind=LEASE,
        states=("candidate", "active", "paused"),
        limit=LEASES_ITEMS_MAX,
    )
    if len(held) >= LEASES_ITEMS_MAX:
        raise ConstraintError(
            f"{agent} holds {LEASES_ITEMS_MAX} leases already.",
            next_step="End those that are done.",
        )
    state = "active" if active else "candidate"
    return write_packet(
        tx, project=project, agent=agent, kind=LEASE, state=state, data=body_of(lease)
    )


def govern(tx: Transaction, *, project: str, agent: str, said: GovernorDecision) -> Decision:
    """Decide about an action, and write the decision. `mode` and what follows it in `said` are
    ignored and set here. A lease that it names and that has stopped is paused with it."""
    lease = find_record(tx, said.lease) if said.lease else None
    if (
        lease is not None
        and lease.type == LEASE
        and (lease.agent, lease.state)
        == (
            agent,
            "active",
        )
    ):
        _settle(tx, lease, "")
    request = request_of(tx, said, project=project, agent=agent, now_ns=tx.now)
    verdict = decide(request)
    record = write_packet(
        tx,
        project=project,
        agent=agent,
        kind=DECISION,
        state="pending" if verdict.mode == "require_approval" else "decided",
        text=said.action,
        data=body_of(
            replace_struct(
                said,
                mode=verdict.mode,
                reasons=verdict.reasons,
                checks=verdict.checks,
                rollback_required=verdict.rollback_required,
                lease_says=request.lease,
            )
        ),
        about=(said.lease, said.instruction),
    )
    return _decision(record, verdict)


def consume(
    tx: Transaction, *, project: str, agent: str, kref: str, said: GovernorDecision
) -> Decision:
    """Use an approval, once, for the action that it was given for. Raises ConflictError if it is of
    another action or is not approved (any more)."""
    record = find_decision(tx, kref)
    if record is None or record.agent != agent or record.project != project:
        raise NotFoundError(
            f"{agent} has no decision at {kref}.", next_step="List them: packets.", kref=kref
        )
    held = decision_body(record)
    if (held.action_class, held.action, held.target) != (
        said.action_class,
        said.action,
        said.target,
    ):
        raise ConflictError(
            f"{kref} is about another action.", next_step="Ask about this one.", kref=kref
        )
    more = _riskier(said, held)
    if more:
        raise ConflictError(
            f"{kref} was approved with less risk: {', '.join(more)}.",
            next_step="Ask about the action as it is now.",
            kref=kref,
        )
    verdict = decide(
        request_of(tx, held, project=project, agent=agent, now_ns=tx.now, approval=True, kref=kref)
    )
    moved = move_record(tx, kref, "consumed", expected=("approved",))
    return _decision(moved, verdict)


def _riskier(said: GovernorDecision, held: GovernorDecision) -> list[str]:
    """Return in which fields a request names more risk than the one that was approved."""
    levels = {**LEVELS, "floor": MODES}
    found = [
        name
        for name, words in levels.items()
        if words.index(getattr(said, name)) > words.index(getattr(held, name))
    ]
    return [*found, *(["boundaries"] if set(said.boundaries) - set(held.boundaries) else [])]


def record_outcome(
    tx: Transaction,
    *,
    project: str,
    agent: str,
    status: str,
    said: OutcomeEvent,
) -> Record:
    """Write an outcome. If it meets a stop condition of its lease, the lease is paused with it."""
    decision = find_decision(tx, said.decision)
    if decision is not None:
        held = decision_body(decision)
        said = replace_struct(said, mode=held.mode, lease=held.lease)
    made = write_packet(
        tx,
        project=project,
        agent=agent,
        kind=OUTCOME,
        state=status,
        data=body_of(replace_struct(said, role=tx.rights)),
        about=(said.decision, said.lease, *said.evidence),
    )
    lease = find_record(tx, said.lease) if said.lease else None
    if lease is not None and lease.type == LEASE and lease.state == "active":
        _settle(tx, lease, status)
    return made


def _settle(tx: Transaction, lease: Record, status: str) -> None:
    """Pause a lease one of whose stop conditions is met, and notify as it says."""
    held = body(lease)
    stopped = stopped_by(held, use_of(tx, lease), tx.now)
    notices = []
    if stopped:
        moved = "expired" if stopped == "expired" else "paused"
        move_record(tx, lease.kref, moved, expected=("active",), said=stopped)
        notices = [f"stopped: {stopped}"] if "stopped" in held.notify else []
    if status == "failed" and "failed" in held.notify:
        notices.append("failed: an action failed")
    if notices:
        _notify(tx, lease, notices)


def _notify(tx: Transaction, lease: Record, notices: Sequence[str]) -> None:
    kept = [*lease.notes.get("notices", ()), *({"at": tx.now, "text": one} for one in notices)]
    note_record(tx, lease.kref, {"notices": kept[-LEASE_NOTICES_ITEMS_MAX:]})


def end_lease(tx: Transaction, kref: str, state: str, why: str) -> Record:
    """Move a lease of the agent to paused, completed, expired or cancelled."""
    lease = read_record(require_record(tx, kref))
    if lease.type != LEASE:
        raise InputError(f"{kref} is not a lease.", next_step="List them: leases.", field="lease")
    moved = move_record(tx, kref, state, said=why)
    if state != "paused" and "ended" in body(lease).notify:
        _notify(tx, lease, [f"ended: {state}"])
    return moved


def list_leases(
    reader: Reader, *, project: str, agent: str, now_ns: int, limit: int
) -> list[LeaseInfo]:
    """Return the leases of an agent, the newest first."""
    found = list_records(reader, project=project, agent=agent, kind=LEASE, newest=True, limit=limit)
    return [lease_info(reader, one, now_ns) for one in found]


def lease_info(reader: Reader, lease: Record, now_ns: int) -> LeaseInfo:
    """Return a lease as it is shown."""
    held, use = body(lease), use_of(reader, lease)
    stopped = stopped_by(held, use, now_ns)
    return LeaseInfo(
        lease.kref,
        lease.agent,
        lease.state,
        held.objective,
        held.allowed,
        lease.state == "active" and not stopped,
        stopped if lease.state == "active" else lease.said,
        use.actions,
        held.expires_ns,
        lease.content_hash,
        (*(one["text"] for one in lease.notes.get("notices", ())), *_due(lease, stopped, now_ns)),
    )


def _due(lease: Record, stopped: str, now_ns: int) -> list[str]:
    """Return the notices that hold now and that nobody wrote yet: nothing runs when time passes."""
    held = body(lease)
    if lease.state != "active":
        return []
    if stopped:
        return [f"stopped: {stopped}"] if "stopped" in held.notify else []
    near = held.expires_ns - now_ns <= LEASE_EXPIRING_S * NS
    return ["expiring: it ends within the hour"] if near and "expiring" in held.notify else []


def write_candidate(
    tx: Transaction,
    *,
    project: str,
    agent: str,
    kind: str,
    state: str,
    text: str,
    said: Mapping[str, Any],
) -> Record:
    """Write a state record, a maturation candidate or a declared lane. Raises InputError for
    another kind.
    """
    if kind not in _WRITTEN:
        raise InputError(
            f"A packet of the kind {kind[:40]!r} is not written so.",
            next_step=f"Use {' or '.join(_WRITTEN)}, or the verb for it.",
            field="kind",
        )
    form, first = _WRITTEN[kind]
    held = read_body(form, said, f"The {kind}")
    about = [*getattr(held, "sources", ()), getattr(held, "declared", "")]
    return write_packet(
        tx,
        project=project,
        agent=agent,
        kind=kind,
        state=state or first,
        text=text,
        data=body_of(held),
        about=about,
    )


def move_packet(tx: Transaction, kref: str, state: str, *, content_hash: str, why: str) -> Record:
    """Move a packet. What is accepted is named by its content hash; a claim that the agent applies
    by itself gets its receipt in the same transaction."""
    record = read_record(require_record(tx, kref))
    if content_hash and content_hash != record.content_hash:
        raise ConflictError(
            f"The content hash of {kref} is another one.", next_step="Read it again.", kref=kref
        )
    if state == "consumed":
        raise InputError(
            "An approval is used with govern, which compares the action.",
            next_step="Call govern with decision.",
            field="state",
        )
    moved = move_record(tx, kref, state, said=f"{content_hash} {why}".strip())
    if record.type == "maturation_candidate" and state in ("applied", "reversed"):
        receipt = OutcomeEvent(
            decision="",
            lease="",
            role="agent",
            mode="",
            intent=f"maturation {state}",
            observed=record.text[:400],
            evidence=(kref,),
            rollback="packet_move to reversed",
        )
        record_outcome(
            tx,
            project=record.project,
            agent=record.agent,
            status="review_requested",
            said=receipt,
        )
    return moved


def _decision(record: Record, verdict: GovernorVerdict) -> Decision:
    return Decision(
        record.kref,
        verdict.mode,
        verdict.may_act,
        record.state,
        verdict.reasons,
        verdict.checks,
        verdict.rollback_required,
        verdict.instead,
        record.content_hash,
    )


def replace_struct(packet: Any, **changed: Any) -> Any:
    """Return a packet's body with fields replaced."""
    return msgspec.structs.replace(packet, **changed)
