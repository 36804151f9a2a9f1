"""The contracts of the eleven consumers: which records each may use, as data and one function.

    eligible(consumer, view, context) -> allowed or denied, with every reason

A record that one consumer may use another may not. The rules, in the order of the reasons:

    kind, status     of those that the contract lists; a wrapped record has the kind `memory`
    prohibited       the record forbids this consumer; wins over everything
    allowed          the record names this consumer, where the contract asks for it
    agent, project   those of the context, where the contract is scoped
    freshness        not expired, where the contract asks for it; volatile needs an end
    evidence         no summary that a model wrote and no hypothesis, where it asks for sources
    privacy          not above what the context permits
    injection risk   not above what the contract permits

A consumer that is not known may use nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from doxa.agent.records.records import read_record
from doxa.agent.records.types import Record
from doxa.agent.spine.governor import MODES, VERIFY
from doxa.agent.spine.leases import DECISION, LEASE, OUTCOME, body, stopped_by, use_of
from doxa.agent.spine.packets import StateRecord, read_body
from doxa.base.clock import NS
from doxa.base.errors import InputError, NotFoundError
from doxa.base.limits import GOVERNOR_APPROVAL_S
from doxa.store import Node, Reader

PRIVACY = ("public", "project", "local_private", "secret")
RISKS = ("none", "low", "medium", "high", "blocked")
_STATE, _CANDIDATE, _MEMORY = "state_record", "maturation_candidate", "memory"
_UNSOURCED = frozenset(("generated_summary", "hypothesis"))
_LIVE = frozenset(("active", "verified", "current_state"))


@dataclass(frozen=True, slots=True)
class RecordView:
    """A record as the contracts see it. `agent` is "" where it belongs to the project. `in_force`:
    a lease that is not stopped, a decision that allows its action now. `applied`: a claim of the
    declared lane, or one that was accepted."""

    kind: str
    status: str
    agent: str
    projects: tuple[str, ...]
    evidence: str = "hypothesis"
    sources: tuple[str, ...] = ()
    allowed: frozenset[str] = frozenset()
    prohibited: frozenset[str] = frozenset()
    expires_ns: int | None = None
    volatile: bool = False
    privacy: str = "local_private"
    risk: str = "blocked"
    in_force: bool = False


@dataclass(frozen=True, slots=True)
class UseContext:
    """Who uses a record, and where. `privacy_max`: the highest tier that may be shown there."""

    agent: str
    project: str
    now_ns: int
    role: str = "agent"
    privacy_max: str = "local_private"


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Whether a consumer may use a record, and every rule that forbids it."""

    consumer: str
    allowed: bool
    reasons: tuple[str, ...]
    kref: str = ""


@dataclass(frozen=True, slots=True)
class ConsumerContract:
    """What a consumer may use: statuses by kind; None: any status of it."""

    kinds: dict[str, frozenset[str] | None] = field(default_factory=dict)
    named: bool = False  # the record must name the consumer
    scoped: bool = True
    fresh: bool = False
    sourced: bool = False
    in_force: bool = False
    risk_max: str = "blocked"
    privacy: bool = True  # the context's limit holds
    operator: bool = False


def _only(*states: str) -> frozenset[str]:
    return frozenset(states)


CONTRACTS: dict[str, ConsumerContract] = {
    # A person looks at everything that is theirs.
    "ui_review": ConsumerContract(
        dict.fromkeys((_STATE, LEASE, DECISION, OUTCOME, _CANDIDATE, _MEMORY)), privacy=False
    ),
    # Recall returns evidence, stale or not; what it returns is not thereby true.
    "recall_search": ConsumerContract(
        {
            _STATE: _only("candidate", *_LIVE),
            _CANDIDATE: _only("candidate", "accepted", "applied"),
            OUTCOME: None,
            _MEMORY: None,
        },
    ),
    "maturation_router": ConsumerContract(
        {OUTCOME: _only("verified", "failed", "rolled_back", "review_requested"),
         _CANDIDATE: _only("candidate"), _STATE: _only("candidate", "current_state")},
        sourced=True,
    ),
    "context_injection": ConsumerContract(
        {_STATE: _LIVE, _CANDIDATE: _only("applied")},
        named=True, fresh=True, sourced=True, risk_max="low",
    ),
    "planning": ConsumerContract(
        {_STATE: _LIVE, LEASE: _only("active"), OUTCOME: None},
        fresh=True, risk_max="medium",
    ),
    "tool_action_execution": ConsumerContract(
        {DECISION: _only("decided", "consumed")}, in_force=True
    ),
    "memory_promotion": ConsumerContract(
        {_CANDIDATE: _only("accepted")}, sourced=True, operator=True
    ),
    "outcome_ledger": ConsumerContract({OUTCOME: None, DECISION: None}, privacy=False),
    "responsibility_registry": ConsumerContract({LEASE: None}, privacy=False),
    "scheduler": ConsumerContract({LEASE: _only("active")}, fresh=True, in_force=True),
    # Authority is a lease or an approval: never a state, an outcome, a memory or a candidate.
    "governor": ConsumerContract(
        {LEASE: _only("active"), DECISION: _only("approved")}, fresh=True, in_force=True
    ),
}  # fmt: skip


def eligible(consumer: str, view: RecordView, context: UseContext) -> Eligibility:
    """Return whether a consumer may use a record, with every reason against it. Never raises."""
    contract = CONTRACTS.get(consumer)
    if contract is None:
        return Eligibility(consumer, False, ("consumer_unknown",))
    reasons = [*_of_record(consumer, contract, view), *_of_context(contract, view, context)]
    return Eligibility(consumer, not reasons, tuple(reasons))


def _of_record(consumer: str, contract: ConsumerContract, view: RecordView) -> list[str]:
    found = []
    if view.kind not in contract.kinds:
        found.append("kind")
    else:
        states = contract.kinds[view.kind]
        if states is not None and view.status not in states:
            found.append("status")
    if consumer in view.prohibited:
        found.append("prohibited")
    if contract.named and consumer not in view.allowed:
        found.append("not_allowed")
    if contract.sourced and (view.evidence in _UNSOURCED or not view.sources):
        found.append("evidence")
    if contract.in_force and not view.in_force:
        found.append("not_in_force")
    # A lease, decision or outcome is doxa's own form, and holds no text for a prompt.
    worded = view.kind in (_STATE, _CANDIDATE, _MEMORY)
    if worded and _rank(RISKS, view.risk) > RISKS.index(contract.risk_max):
        found.append("injection_risk")
    return found


def _of_context(contract: ConsumerContract, view: RecordView, context: UseContext) -> list[str]:
    found = []
    if contract.scoped and view.agent not in ("", context.agent) and context.role != "operator":
        found.append("agent")
    if contract.scoped and context.project not in view.projects:
        found.append("project")
    ended = view.expires_ns is not None and context.now_ns >= view.expires_ns
    if contract.fresh and (ended or (view.volatile and view.expires_ns is None)):
        found.append("freshness")
    if contract.privacy and _rank(PRIVACY, view.privacy) > _rank(PRIVACY, context.privacy_max):
        found.append("privacy")
    if contract.operator and context.role != "operator":
        found.append("role")
    return found


def _rank(levels: tuple[str, ...], word: str) -> int:
    return levels.index(word) if word in levels else len(levels)


def view_of(reader: Reader, node: Node, now_ns: int) -> RecordView:
    """Return a node as the contracts see it. What is not a packet of the spine is wrapped: a
    memory, that reviews and recall may use, and that nothing acts upon.
    """
    if "Record" not in node.labels:
        return RecordView(
            _MEMORY,
            "retrieved",
            "",
            (str(node.props.get("project", "")),),
            "source_quote" if "Exchange" in node.labels else "user_statement",
            (str(node.props["kref"]),),
        )
    record = read_record(node)
    found = RecordView(_MEMORY, record.state, record.agent, (record.project,))
    if record.type == _STATE:
        return _state_view(found, record)
    if record.type == LEASE:
        held = body(record)
        stopped = stopped_by(held, use_of(reader, record), now_ns)
        force = record.state == "active" and not stopped
        return replace(found, kind=LEASE, expires_ns=held.expires_ns, in_force=force)
    if record.type == DECISION:
        return replace(found, kind=DECISION, in_force=_allows(record, now_ns))
    if record.type in (OUTCOME, _CANDIDATE):
        said = record.data
        sources = said.get("sources") or said.get("evidence") or ()
        view = replace(found, kind=record.type, sources=tuple(sources), evidence="source_quote")
        applied = record.state == "applied"
        return (
            replace(view, allowed=frozenset(("context_injection",)), risk="low")
            if applied and said.get("lane") == "claim"
            else view
        )
    return found


def _state_view(found: RecordView, record: Record) -> RecordView:
    said: Any = read_body(StateRecord, record.data, record.kref)
    return replace(
        found,
        kind=_STATE,
        projects=said.scope or (record.project,),
        evidence=said.evidence_class,
        sources=said.sources,
        allowed=frozenset(said.allowed_consumers),
        prohibited=frozenset(said.prohibited_consumers),
        expires_ns=said.expires_ns,
        volatile=said.freshness == "volatile" or record.state == "current_state",
        privacy=said.privacy,
        risk=said.injection_risk,
    )


def _allows(record: Record, now_ns: int) -> bool:
    """Return whether a decision allows its action now: for an hour, as an approval does."""
    since = record.moved if record.moved is not None else record.made
    if now_ns - since > GOVERNOR_APPROVAL_S * NS:
        return False
    acts = record.data["mode"] in MODES[: VERIFY + 1] and record.state == "decided"
    return acts or record.state in ("approved", "consumed")


def check_use(reader: Reader, kref: str, consumer: str, context: UseContext) -> Eligibility:
    """Return whether a consumer may use what is at an address. Raises NotFoundError, and InputError
    for a consumer that is not known."""
    if consumer not in CONTRACTS:
        raise InputError(
            f"There is no consumer {consumer[:60]!r}.",
            next_step=f"Use one of {', '.join(CONTRACTS)}.",
            field="consumer",
        )
    node = reader.node_by_kref(kref)
    if node is None:
        raise NotFoundError(f"There is nothing at {kref}.", next_step="Check the address.")
    found = eligible(consumer, view_of(reader, node, context.now_ns), context)
    return replace(found, kref=kref)
