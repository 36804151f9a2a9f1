"""The five packets of the spine: what each record of it says, checked at commit, and as JSON.

    packet = {"packet_version": 1, "packet_type": T, "id": kref, "agent", "project", "state",
              "made", "content_hash", "text", "body": what the type says, as its class below}

The body is the `data` of the record; the classes forbid fields that they do not know, so a packet
that was written by a bare transaction has the same form as one that a verb wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from doxa.agent.records.types import Record
from doxa.agent.spine.governor import (
    ActionClass,
    Anomaly,
    Evidence,
    Externality,
    LeaseSays,
    Mode,
    Reversibility,
    Sensitivity,
    Shaping,
)
from doxa.base.clock import format_time
from doxa.base.errors import ConstraintError

Consumer = Literal[
    "ui_review",
    "recall_search",
    "maturation_router",
    "context_injection",
    "planning",
    "tool_action_execution",
    "memory_promotion",
    "outcome_ledger",
    "responsibility_registry",
    "scheduler",
    "governor",
]
EvidenceClass = Literal[
    "source_quote", "tool_observation", "user_statement", "generated_summary", "hypothesis"
]
Privacy = Literal["public", "project", "local_private", "secret"]
InjectionRisk = Literal["none", "low", "medium", "high", "blocked"]
Freshness = Literal["fixed", "slow", "volatile"]
MutationPolicy = Literal["immutable", "append_only", "operator_only", "reviewed"]
OutcomeStatus = Literal[
    "observed", "verified", "failed", "blocked", "interrupted", "rolled_back", "review_requested"
]
Lane = Literal[
    "semantic", "current_state", "claim", "relational", "procedural", "safety",
    "context_eligibility",
]  # fmt: skip
Notice = Literal["stopped", "failed", "ended", "expiring"]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
_Words = Annotated[str, msgspec.Meta(min_length=1, max_length=4_000)]
_Note = Annotated[str, msgspec.Meta(max_length=4_000)]
_Names = Annotated[tuple[_Name, ...], msgspec.Meta(max_length=100)]
_Time = Annotated[int, msgspec.Meta(ge=0)]


class StateRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What may shape behavior: source, freshness, who may consume it, who may change it. Without
    `allowed_consumers` only reviews, recall and the ledger read it. Times are ns UTC."""

    source_type: _Name
    sources: _Names
    evidence_class: EvidenceClass
    observed_ns: _Time
    freshness: Freshness = "slow"
    expires_ns: _Time | None = None
    allowed_consumers: tuple[Consumer, ...] = ()
    prohibited_consumers: tuple[Consumer, ...] = ()
    privacy: Privacy = "local_private"
    injection_risk: InjectionRisk = "blocked"
    mutation_policy: MutationPolicy = "operator_only"
    scope: _Names = ()  # projects; none: that of the record
    rollback: _Note = ""


class StopConditions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a lease stops by itself; after that it covers nothing until an operator resumes it."""

    actions_max: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 100
    failures_max: Annotated[int, msgspec.Meta(ge=1, le=100)] = 3
    same_failure_max: Annotated[int, msgspec.Meta(ge=1, le=100)] = 2
    blocked_stops: bool = True
    rolled_back_stops: bool = True


class ResponsibilityLease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an agent is responsible for, until when, and within which limits."""

    owner: _Name
    executor: _Name
    objective: _Words
    expires_ns: _Time
    allowed: tuple[ActionClass, ...]
    prohibited: tuple[ActionClass, ...] = ()
    approval_required_for: tuple[ActionClass, ...] = ()
    scope: _Names = ()  # patterns of targets; none: any target
    success_criteria: _Names = ()
    non_goals: _Names = ()
    stop: StopConditions = StopConditions()
    notify: tuple[Notice, ...] = ("stopped", "ended")


class GovernorDecision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was decided about one action. `request` is what the governor was given after doxa looked
    up authority, anomalies and boundaries itself; the commit decides again from it."""

    action_class: _Name
    action: _Words
    target: Annotated[str, msgspec.Meta(max_length=1_000)]
    mode: Mode
    reasons: _Names
    checks: _Names
    rollback_required: bool
    rollback: _Note
    instruction: Annotated[str, msgspec.Meta(max_length=1_000)]
    lease: Annotated[str, msgspec.Meta(max_length=1_000)]
    lease_says: LeaseSays
    confirmed: bool
    externality: Externality
    reversibility: Reversibility
    sensitivity: Sensitivity
    shaping: Shaping
    evidence: Evidence
    anomaly: Anomaly  # as the caller reports it
    boundaries: _Names  # as the caller reports them
    floor: Mode


class OutcomeEvent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an action had as its effect. Nothing is allowed by an outcome: it is evidence."""

    decision: Annotated[str, msgspec.Meta(max_length=1_000)]
    lease: Annotated[str, msgspec.Meta(max_length=1_000)]
    role: Literal["background", "agent", "operator", "system"]
    mode: Mode | Literal[""]
    intent: _Note
    observed: _Note
    verified_by: Annotated[str, msgspec.Meta(max_length=200)] = ""
    evidence: _Names = ()
    failure_class: Annotated[str, msgspec.Meta(max_length=200)] = ""
    residual_risk: _Note = ""
    rollback: _Note = ""
    lane: Lane | Literal[""] = ""


class MaturationCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something that may become part of what the agent relies on, in one lane. Its text is what is
    proposed. `application`: who applies it; `autonomous` needs a lane that an operator declared."""

    lane: Lane
    sources: _Names
    application: Literal["operator", "autonomous"] = "operator"
    declared: Annotated[str, msgspec.Meta(max_length=1_000)] = ""  # the declared lane's address
    sensitive: _Names = ()
    later_effect: _Note = ""
    rollback: _Note = ""
    risk: Literal["low", "medium", "high"] = "low"


class DeclaredLane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator declared in advance: claims that the agent may apply by itself, if each is a
    quotation of a turn of such a speaker, at most so many a day, until then."""

    roles: tuple[Literal["user", "assistant", "tool", "system"], ...]
    expires_ns: _Time
    a_day_max: Annotated[int, msgspec.Meta(ge=1, le=1_000)]
    chars_max: Annotated[int, msgspec.Meta(ge=1, le=4_000)] = 400


PACKETS: dict[str, type[msgspec.Struct]] = {
    "state_record": StateRecord,
    "responsibility_lease": ResponsibilityLease,
    "governor_decision": GovernorDecision,
    "outcome_event": OutcomeEvent,
    "maturation_candidate": MaturationCandidate,
}


def read_body(kind: type[msgspec.Struct], data: Mapping[str, Any], what: str) -> Any:
    """Return the body of a packet, checked. Raises ConstraintError."""
    try:
        return msgspec.convert(dict(data), kind, strict=True)
    except msgspec.ValidationError as error:
        raise ConstraintError(
            f"{what} has not the form of a {kind.__name__}: {error}.",
            next_step="Compare it with the schema: doxa packets --schema.",
        ) from error


def body_of(packet: msgspec.Struct) -> dict[str, Any]:
    """Return a body as plain values, as a record keeps it."""
    plain = msgspec.to_builtins(packet)
    assert isinstance(plain, dict)
    return plain


def packet_of(record: Record) -> dict[str, Any]:
    """Return a record of the spine as a packet that JSON can hold."""
    return {
        "packet_version": 1,
        "packet_type": record.type,
        "id": record.kref,
        "agent": record.agent,
        "project": record.project,
        "state": record.state,
        "made": format_time(record.made),
        "made_by": record.made_by,
        "content_hash": record.content_hash,
        "text": record.text,
        "body": dict(record.data),
        "said": record.said,
    }


def schemas() -> dict[str, Any]:
    """Return the JSON schema of each packet's body, by type."""
    return {name: msgspec.json.schema(kind) for name, kind in PACKETS.items()}
