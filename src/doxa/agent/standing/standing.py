"""Standing: how a person's words of the past count in four dimensions. A score is never stored: it
is computed from the evidence each time, in the order of the turns, so that there is one trail and
no second truth, and what is appealed or erased counts no longer.

    score(d) = clamp(5 + Σ delta of each counted piece of evidence for d)      1 to 10
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from doxa.agent.records.records import (
    list_records,
    move_record,
    note_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.agent.standing.patterns import found_in
from doxa.agent.standing.scores import (
    EVIDENCE,
    SYNTHESIS,
    StandingDelta,
    evidence_of,
    report_of,
    reports_of,
    score,
)
from doxa.agent.standing.types import (
    CONSENT,
    consent_of,
    evidence_name,
    seconds_of,
    since_of,
)
from doxa.base.errors import ConstraintError, DoxaError, InputError, StoreError
from doxa.base.ids import is_below_operator
from doxa.base.limits import NAME_CHARS_MAX, STANDING_TURNS_ITEMS_MAX
from doxa.store import Identity, Node, Reader, Store, Transaction

_ALL = 1_000_000


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a person stands, as they are shown it: scores from 1 to 10 by dimension, the trail, and
    the reports. `state`: in, out, or never asked."""

    person: str
    state: str
    scores: Mapping[str, float]
    trail: tuple[StandingDelta, ...] = ()
    reports: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class StandingUpdate:
    """What an update read and wrote."""

    turns: int
    evidence: int
    reports: int


def opt_in(tx: Transaction, *, project: str, agent: str, person: str) -> Record:
    """Record that a person opted in. From now on their turns count, not the earlier ones."""
    known = consent_of(tx, project, agent, person)
    if known is None:
        return write_record(
            tx,
            project=project,
            agent=agent,
            kind=CONSENT,
            name=person,
            state="in",
            data={"person": person},
        )
    return move_record(tx, known.kref, "in", expected=("out",)) if known.state == "out" else known


def opt_out(tx: Transaction, *, project: str, agent: str, person: str) -> int:
    """Stop at once; as an operator, erase everything that was kept. Returns the records erased."""
    known = consent_of(tx, project, agent, person)
    if known is not None and known.state == "in" and is_below_operator(tx.rights):
        move_record(tx, known.kref, "out")
    if known is None or is_below_operator(tx.rights):
        return 0
    kept = [
        known,
        *evidence_of(tx, project, agent, person),
        *reports_of(tx, project, agent, person),
    ]
    nodes = [require_record(tx, one.kref).id for one in kept]
    tx.erase(nodes)
    return len(nodes)


def read_standing(reader: Reader, *, project: str, agent: str, person: str, limit: int) -> Standing:
    """Return where a person stands; nothing but the state unless they are in."""
    known = consent_of(reader, project, agent, person)
    if known is None or known.state != "in":
        return Standing(person, known.state if known else "never asked", {})
    scores, trail = score(evidence_of(reader, project, agent, person))
    reports = tuple(dict(one.data) for one in reports_of(reader, project, agent, person))
    return Standing(person, "in", scores, tuple(trail[-limit:] if limit else ()), reports[-limit:])


def update(store: Store, identity: Identity, *, project: str, agent: str) -> StandingUpdate:
    """Read the turns of everybody who is in, since the last update, and write evidence and the
    report of a day that has ended. What was read is not read again; a turn counts once. Each person
    has a transaction, so that one who cannot be updated stops no other; the first error is raised
    at the end. An error about the memory itself is raised at once.
    """
    with store.read() as reader:
        found = list_records(
            reader, project=project, agent=agent, kind=CONSENT, states=("in",), limit=_ALL
        )
    done, failed = [StandingUpdate(0, 0, 0)], list[DoxaError]()
    for one in found:
        try:
            with store.write(identity, op="standing") as tx:
                done.append(_update_one(tx, project, agent, str(one.data["person"])))
        except StoreError:  # the same for everybody
            raise
        except DoxaError as error:
            failed.append(error)
    if failed:
        raise failed[0]
    return StandingUpdate(
        sum(one.turns for one in done),
        sum(one.evidence for one in done),
        sum(one.reports for one in done),
    )


def _update_one(tx: Transaction, project: str, agent: str, person: str) -> StandingUpdate:
    consent = consent_of(tx, project, agent, person)
    if consent is None or consent.state != "in":
        return StandingUpdate(0, 0, 0)
    read, last = _turns_of(tx, project, person, consent)
    written = 0
    for node in read:
        names = found_in(str(node.props.get("text", "")))
        if names:
            turn = str(node.props["kref"])
            write_record(
                tx,
                project=project,
                agent=agent,
                kind=EVIDENCE,
                name=evidence_name(node),
                state="counted",
                data={
                    "person": person,
                    "turn": turn,
                    "patterns": names,
                    "said_ns": node.props["time"],
                },
                about=[turn],
            )
            written += 1
    if last:
        note_record(tx, consent.kref, {"last": last})
    return StandingUpdate(len(read), written, _synthesize(tx, project, agent, person))


def _turns_of(
    tx: Transaction, project: str, person: str, consent: Record
) -> tuple[list[Node], int]:
    """Return the turns of a person that were not read, since they opted in, and the last number
    read, or 0."""
    rows = tx.rows(
        "SELECT n.id FROM node n JOIN node_label l ON l.node = n.id AND l.label = 'Exchange'"
        " WHERE n.props ->> '$.speaker' = ? AND n.props ->> '$.role' = 'user'"
        " AND n.props ->> '$.project' = ? AND n.id > ? ORDER BY n.id LIMIT ?",
        (person, project, int(consent.notes.get("last", 0)), STANDING_TURNS_ITEMS_MAX),
    )
    since = since_of(consent)
    found = [
        node
        for node in tx.nodes([row[0] for row in rows])
        if not node.props.get("deprecated") and seconds_of(node) >= since
    ]
    return found, rows[-1][0] if rows else 0


def _synthesize(tx: Transaction, project: str, agent: str, person: str) -> int:
    """Write the report of a person's day, once. The evidence stays: the report cites it."""
    said = report_of(tx, project, agent, person, tx.now)
    if said is None:
        return 0
    write_record(
        tx,
        project=project,
        agent=agent,
        kind=SYNTHESIS,
        name=_report_name(tx.now, person),
        state="written",
        data=said,
        about=said["evidence"],
    )
    return 1


def _report_name(now_ns: int, person: str) -> str:
    """Return the name of a report: its time and the person, or what stands for a long name."""
    name = f"{now_ns:019d}-{person}"
    if len(name) <= NAME_CHARS_MAX:
        return name
    return f"{now_ns:019d}-{sha256(person.encode()).hexdigest()[:16]}"


def people_in(reader: Reader, project: str) -> list[tuple[str, str]]:
    """Return who is in, in a project: pairs of agent and person."""
    rows = reader.rows(
        "SELECT n.props ->> '$.agent', n.id FROM node n JOIN node_label l ON l.node = n.id AND"
        " l.label = 'Record' WHERE n.props ->> '$.project' = ? AND n.props ->> '$.type' = ? AND"
        " n.props ->> '$.state' = 'in' ORDER BY n.id",
        (project, CONSENT),
    )
    nodes = {node.id: node for node in reader.nodes([row[1] for row in rows])}
    return [(str(row[0]), str(read_record(nodes[row[1]]).data["person"])) for row in rows]


def appeal(tx: Transaction, kref: str, *, why: str, decision: str) -> Record:
    """Take a piece of evidence out of the score until it is decided, or decide it as an operator:
    `remove` it, or `keep` it."""
    record = read_record(require_record(tx, kref))
    if record.type != EVIDENCE:
        raise InputError(
            f"{kref} is not evidence of standing.", next_step="See standing.", field="evidence"
        )
    states = {"": "appealed", "remove": "removed", "keep": "counted"}
    if decision not in states:
        raise InputError(
            f"An appeal is decided by remove or keep, not {decision[:40]!r}.",
            next_step="Leave it out to appeal.",
            field="decision",
        )
    if not decision and not why.strip():
        raise ConstraintError("An appeal has a reason.", next_step="Say why, in a few words.")
    expected = ("appealed",) if decision else ("counted",)
    return move_record(tx, kref, states[decision], expected=expected, said=why)
