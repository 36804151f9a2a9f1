"""Standing: how a person's words of the past count in four dimensions. A score is never stored: it
is computed from the evidence each time, in the order of the turns, so that there is one trail and
no second truth, and what is appealed or erased counts no longer.

    score(d) = clamp(5 + Σ delta of each counted piece of evidence for d)      1 to 10
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from doxa.agent.records.records import (
    list_records,
    move_record,
    note_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.agent.standing.patterns import (
    SCORE_MAX,
    SCORE_MIN,
    SCORE_START,
    dimensions,
    found_in,
    patterns,
)
from doxa.agent.standing.types import (
    CONSENT,
    EVIDENCE,
    SYNTHESIS,
    consent_of,
    evidence_name,
)
from doxa.base.clock import NS, format_time
from doxa.base.errors import ConstraintError, InputError
from doxa.base.ids import is_below_operator
from doxa.base.limits import STANDING_TURNS_ITEMS_MAX
from doxa.belief.kref import Kref
from doxa.store import Node, Reader, Transaction

_ALL = 1_000_000
_STUCK_DAYS = 30
_MOVED = 0.1  # a change in a score that is a direction


@dataclass(frozen=True, slots=True)
class StandingDelta:
    """One step of the trail: which pattern was found in which turn, and what it changed."""

    evidence: str
    turn: str
    time: int
    dimension: str
    pattern: str
    delta: float
    score: float
    state: str


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
            notes={"since": tx.now},
        )
    note_record(tx, known.kref, {"since": tx.now})
    return move_record(tx, known.kref, "in", expected=("out",)) if known.state == "out" else known


def opt_out(tx: Transaction, *, project: str, agent: str, person: str) -> int:
    """Stop at once; as an operator, erase everything that was kept. Returns the records erased."""
    known = consent_of(tx, project, agent, person)
    if known is not None and known.state == "in" and is_below_operator(tx.rights):
        move_record(tx, known.kref, "out")
    if known is None or is_below_operator(tx.rights):
        return 0
    kept = [known, *evidence_of(tx, project, agent, person), *_reports(tx, project, agent, person)]
    nodes = [require_record(tx, one.kref).id for one in kept]
    tx.erase(nodes)
    return len(nodes)


def evidence_of(reader: Reader, project: str, agent: str, person: str) -> list[Record]:
    """Return the evidence about a person, in the order of the turns."""
    found = list_records(reader, project=project, agent=agent, kind=EVIDENCE, limit=_ALL)
    return [one for one in found if one.data["person"] == person]


def _reports(reader: Reader, project: str, agent: str, person: str) -> list[Record]:
    found = list_records(reader, project=project, agent=agent, kind=SYNTHESIS, limit=_ALL)
    return [one for one in found if one.data["person"] == person]


def score(evidence: list[Record]) -> tuple[dict[str, float], list[StandingDelta]]:
    """Return the scores that evidence adds up to, and the trail."""
    scores = dict.fromkeys(dimensions(), SCORE_START)
    trail = []
    for one in evidence:
        for name in one.data["patterns"]:
            pattern = patterns().get(name)
            if pattern is None:
                continue
            delta = pattern.delta if one.state == "counted" else 0.0
            before = scores[pattern.dimension]
            after = round(min(max(before + delta, SCORE_MIN), SCORE_MAX), 6)
            scores[pattern.dimension] = after
            trail.append(
                StandingDelta(
                    one.kref,
                    str(one.data["turn"]),
                    int(one.data["said_ns"]),
                    pattern.dimension,
                    name,
                    round(after - before, 6),
                    after,
                    one.state,
                )
            )
    return scores, trail


def read_standing(reader: Reader, *, project: str, agent: str, person: str, limit: int) -> Standing:
    """Return where a person stands; nothing but the state unless they are in."""
    known = consent_of(reader, project, agent, person)
    if known is None or known.state != "in":
        return Standing(person, known.state if known else "never asked", {})
    scores, trail = score(evidence_of(reader, project, agent, person))
    reports = tuple(dict(one.data) for one in _reports(reader, project, agent, person))
    return Standing(person, "in", scores, tuple(trail[-limit:] if limit else ()), reports[-limit:])


def update(tx: Transaction, *, project: str, agent: str) -> StandingUpdate:
    """Read the turns of everybody who is in, since the last update, and write evidence and the
    report of a day that has ended. What was read is not read again; a turn counts once."""
    turns = written = reports = 0
    for consent in list_records(
        tx, project=project, agent=agent, kind=CONSENT, states=("in",), limit=_ALL
    ):
        person = str(consent.data["person"])
        read, last = _turns_of(tx, project, person, consent)
        turns += len(read)
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
        reports += _synthesize(tx, project, agent, person)
    return StandingUpdate(turns, written, reports)


def agents_with_consent(reader: Reader, project: str) -> list[str]:
    """Return the agents of a project with whom somebody opted in."""
    prefix = f"{Kref(project, ('agents',))}/"
    sql = (
        "SELECT DISTINCT n.props ->> '$.agent' FROM node n WHERE n.kref >= ? AND n.kref < ? AND"
        " n.props ->> '$.type' = ? AND n.props ->> '$.state' = 'in' ORDER BY 1"
    )
    return [row[0] for row in reader.rows(sql, (prefix, prefix + "\U0010ffff", CONSENT))]


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
    since = int(consent.notes.get("since", consent.made)) // NS  # turns are timed in seconds
    found = [
        node
        for node in tx.nodes([row[0] for row in rows])
        if not node.props.get("deprecated") and _seconds(node) >= since
    ]
    return found, rows[-1][0] if rows else 0


def _seconds(turn: Node) -> int:
    time = turn.props["time"]
    assert isinstance(time, int)
    return time // NS


def _synthesize(tx: Transaction, project: str, agent: str, person: str) -> int:
    """Write the report of a person's day, once. The evidence stays: the report cites it."""
    evidence = evidence_of(tx, project, agent, person)
    day = format_time(tx.now)[:10]
    today = [one for one in evidence if format_time(int(one.data["said_ns"]))[:10] < day]
    earlier = _reports(tx, project, agent, person)
    last = earlier[-1].data if earlier else None
    cited = {kref for one in earlier for kref in one.data["evidence"]}
    fresh = [one for one in today if one.kref not in cited]
    if not fresh:
        return 0
    scores, trail = score(today)
    before = last["scores"] if last else dict.fromkeys(dimensions(), SCORE_START)
    changes = {name: round(scores[name] - before[name], 6) for name in scores}
    write_record(
        tx,
        project=project,
        agent=agent,
        kind=SYNTHESIS,
        name=f"{tx.now:019d}",
        state="written",
        data={
            "person": person,
            "day": day,
            "scores": scores,
            "changes": changes,
            "trajectory": {
                name: _trajectory(name, change, trail, tx.now) for name, change in changes.items()
            },
            "evidence": [one.kref for one in fresh],
        },
        about=[one.kref for one in fresh],
    )
    return 1


def _trajectory(name: str, change: float, trail: list[StandingDelta], now_ns: int) -> str:
    if abs(change) >= _MOVED:
        return "rising" if change > 0 else "declining"
    recent = [
        one
        for one in trail
        if one.dimension == name and now_ns - one.time < _STUCK_DAYS * 86_400 * NS
    ]
    stuck = [one for one in recent if one.pattern == "names_stuckness"]
    return "stuck" if len(stuck) > 1 else "stable"


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
