"""What the governor is given, as doxa looks it up: nothing that a caller asserts is authority.

    instruction   the address of a turn that a person said, of this project, not imported, recent
    lease         what the leases in force say (leases.py)
    anomaly       the caller's report, or confirmed after two failures of one kind (anomaly_of)
    boundaries    the caller's report and what the target shows (boundaries.py)

The address of anything else (a handoff, an outcome, a tool, a belief, a candidate) in the place of
an instruction or a lease is not authority, and changes nothing.
"""

from __future__ import annotations

from collections import Counter

from doxa.agent.records.records import find_record, list_records
from doxa.agent.records.types import Record
from doxa.agent.spine.boundaries import crossed_by
from doxa.agent.spine.governor import ActionRequest, Anomaly
from doxa.agent.spine.leases import DECISION, OUTCOME, what_leases_say
from doxa.agent.spine.packets import GovernorDecision, OutcomeEvent, read_body
from doxa.base.clock import NS
from doxa.base.limits import (
    GOVERNOR_FAILURES_S,
    GOVERNOR_INSTRUCTION_S,
    GOVERNOR_OUTCOMES_ITEMS_READ,
)
from doxa.store import Reader

SAME_FAILURES = 2  # of one kind: the action is not tried a third time
_IMPORTED = "Imported"
_JUDGES = ("operator", "system")  # whose outcome ends what failed before it


def request_of(
    reader: Reader,
    said: GovernorDecision,
    *,
    project: str,
    agent: str,
    now_ns: int,
    approval: bool = False,
    kref: str = "",
) -> ActionRequest:
    """Return the request that the governor decides: what a decision says, with authority, anomalies
    and boundaries as they are now. `kref`: its address, if it is written already."""
    crossed = (*said.boundaries, *crossed_by(said.action_class, said.target))
    return ActionRequest(
        said.action_class,
        instruction=is_instruction(reader, said.instruction, project, agent, now_ns),
        lease=what_leases_say(
            reader,
            project=project,
            agent=agent,
            named=said.lease,
            action_class=said.action_class,
            target=said.target,
            now_ns=now_ns,
            without=kref,
        ),
        approval=approval,
        confirmed=said.confirmed,
        externality=said.externality,
        reversibility=said.reversibility,
        sensitivity=said.sensitivity,
        shaping=said.shaping,
        anomaly=_higher(said.anomaly, anomaly_of(reader, project, agent, now_ns)),
        evidence=said.evidence,
        boundaries=tuple(dict.fromkeys(crossed)),
        floor=said.floor,
    )


def is_instruction(reader: Reader, kref: str, project: str, agent: str, now_ns: int) -> bool:
    """Return whether an address is a current instruction: a recent turn that a person said."""
    node = reader.node_by_kref(kref) if kref else None
    if node is None or "Exchange" not in node.labels or _IMPORTED in node.labels:
        return False
    props = node.props
    time = props["time"]
    return (
        props["role"] == "user"
        and props["project"] == project
        and props["speaker"] != agent
        and not props.get("deprecated")
        and isinstance(time, int)
        and 0 <= now_ns - time <= GOVERNOR_INSTRUCTION_S * NS
    )


def anomaly_of(reader: Reader, project: str, agent: str, now_ns: int) -> Anomaly:
    """Return `confirmed` if actions of the agent failed twice in the same way, within the time that
    counts and since an operator last recorded an outcome. Outcomes of another kind, which an agent
    may record as many of as it likes, hide no failure."""

    def newest(states: tuple[str, ...]) -> list[Record]:
        found = list_records(
            reader,
            project=project,
            agent=agent,
            kind=OUTCOME,
            states=states,
            newest=True,
            limit=GOVERNOR_OUTCOMES_ITEMS_READ,
        )
        return [one for one in found if now_ns - one.made <= GOVERNOR_FAILURES_S * NS]

    failures: Counter[str] = Counter()
    for one in newest(("failed",)):
        event = outcome_body(one)
        if event.role not in _JUDGES:
            failures[event.failure_class] += 1
            if failures[event.failure_class] == SAME_FAILURES:
                judged = [held.made for held in newest(()) if outcome_body(held).role in _JUDGES]
                return "none" if judged and judged[0] > one.made else "confirmed"
    return "none"


def decision_body(record: Record) -> GovernorDecision:
    """Return what a decision says."""
    found = read_body(GovernorDecision, record.data, record.kref)
    assert isinstance(found, GovernorDecision)
    return found


def outcome_body(record: Record) -> OutcomeEvent:
    """Return what an outcome says."""
    found = read_body(OutcomeEvent, record.data, record.kref)
    assert isinstance(found, OutcomeEvent)
    return found


def find_decision(reader: Reader, kref: str) -> Record | None:
    """Return the decision at an address, or None if it is something else."""
    found = find_record(reader, kref) if kref else None
    return found if found is not None and found.type == DECISION else None


def _higher(first: Anomaly, second: Anomaly) -> Anomaly:
    order: tuple[Anomaly, ...] = ("none", "suspected", "confirmed")
    return max(first, second, key=order.index)
