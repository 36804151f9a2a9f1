"""The record types of standing, and what the commit checks of them.

    standing_consent    in (operator) -> out (agent) -> in (operator)
    standing_evidence   counted -> appealed (agent) -> removed, counted (operator)
    standing_synthesis  written: a dated report, never the score itself

Evidence is derived: the commit reads the turn again and accepts no more than the patterns find in
it, of a person who opted in, in what they said since. A report is derived again in the same way. So
no agent can invent any.
"""

from __future__ import annotations

from doxa.agent.records.records import CONCERNS, find_record, read_record, record_kref
from doxa.agent.records.types import Record, RecordType
from doxa.agent.standing.patterns import found_in
from doxa.agent.standing.scores import EVIDENCE, SYNTHESIS, report_of
from doxa.base.clock import NS
from doxa.base.errors import ConstraintError
from doxa.store import Node, Reader, Transaction

CONSENT = "standing_consent"


def consent_of(reader: Reader, project: str, agent: str, person: str) -> Record | None:
    """Return what a person decided about standing, or None if they were never asked."""
    return find_record(reader, record_kref(project, agent, CONSENT, person))


def check_evidence(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check that evidence is what the patterns find in a turn of a person who opted in."""
    record = read_record(after)
    person = str(record.data.get("person", ""))
    agreed = consent_of(tx, record.project, record.agent, person) if person else None
    if agreed is None or agreed.state != "in":
        raise ConstraintError(
            f"{person or 'Nobody'} has not opted in to standing.",
            next_step="Ask the person; an operator records it with standing_in.",
            kref=record.kref,
        )
    if before is not None:
        return
    turn = tx.node_by_kref(str(record.data.get("turn", "")))
    linked = {edge.dst for edge in tx.edges_out(after.id, CONCERNS)}
    if (
        turn is None
        or turn.id not in linked
        or "Exchange" not in turn.labels
        or turn.props["role"] != "user"
        or turn.props["speaker"] != person
        or turn.props["project"] != record.project
        or list(record.data.get("patterns", ())) != found_in(str(turn.props.get("text", "")))
        or not record.data.get("patterns")
        or record.name != evidence_name(turn)
        or set(record.data) != {"person", "turn", "patterns", "said_ns"}
        or record.data["said_ns"] != turn.props["time"]
        or seconds_of(turn) < since_of(agreed)
    ):
        raise ConstraintError(
            f"{record.kref} is not what the patterns find in a turn of {person}.",
            next_step="Let standing_update read the turns.",
            kref=record.kref,
        )


def check_synthesis(tx: Transaction, before: Node | None, after: Node) -> None:
    """Check that a report is what the evidence adds up to now, of a person who opted in."""
    record = read_record(after)
    person = str(record.data.get("person", ""))
    agreed = consent_of(tx, record.project, record.agent, person) if person else None
    linked = {edge.dst for edge in tx.edges_out(after.id, CONCERNS)}
    derived = None
    if agreed is not None and agreed.state == "in":
        derived = report_of(tx, record.project, record.agent, person, tx.now, without=record.kref)
    cited = [tx.node_by_kref(kref) for kref in derived["evidence"]] if derived else []
    if before is None and (
        derived is None
        or dict(record.data) != derived
        or record.text
        or any(node is None or node.id not in linked for node in cited)
    ):
        raise ConstraintError(
            f"{record.kref} is not what the evidence adds up to.",
            next_step="Let standing_update write it.",
            kref=record.kref,
        )


def since_of(consent: Record) -> int:
    """Return since when a person is in, in seconds: turns are timed in seconds."""
    return (consent.made if consent.moved is None else consent.moved) // NS


def seconds_of(turn: Node) -> int:
    """Return when a turn was said, in seconds."""
    time = turn.props["time"]
    assert isinstance(time, int)
    return time // NS


def evidence_name(turn: Node) -> str:
    """Return the name of the evidence of a turn: one for each turn, sorted by its time."""
    import hashlib

    time = turn.props["time"]
    assert isinstance(time, int)
    digest = hashlib.sha256(str(turn.props["kref"]).encode()).hexdigest()[:16]
    return f"{max(time, 0):019d}-{digest}"


STANDING_TYPES = (
    RecordType(
        CONSENT,
        states={"in": "operator"},
        moves={"in": {"out": "agent"}, "out": {"in": "operator"}},
        noted_by="agent",
    ),
    RecordType(
        EVIDENCE,
        states={"counted": "agent"},
        moves={
            "counted": {"appealed": "agent"},
            "appealed": {"removed": "operator", "counted": "operator"},
        },
        check=check_evidence,
    ),
    RecordType(SYNTHESIS, states={"written": "agent"}, check=check_synthesis),
)
