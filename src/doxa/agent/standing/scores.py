"""What evidence adds up to: the scores and their trail, and the report of a day. All of it is
derived, so that the commit derives a report again and compares.

    score(d) = clamp(5 + Σ delta of each counted piece of evidence for d)      1 to 10
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doxa.agent.records.records import list_records
from doxa.agent.records.types import Record
from doxa.agent.standing.patterns import SCORE_MAX, SCORE_MIN, SCORE_START, dimensions, patterns
from doxa.base.clock import NS, format_time
from doxa.base.limits import RECORD_ABOUT_ITEMS_MAX
from doxa.store import Reader

EVIDENCE, SYNTHESIS = "standing_evidence", "standing_synthesis"
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


def evidence_of(reader: Reader, project: str, agent: str, person: str) -> list[Record]:
    """Return the evidence about a person, in the order of the turns."""
    found = list_records(reader, project=project, agent=agent, kind=EVIDENCE, limit=_ALL)
    return [one for one in found if one.data["person"] == person]


def reports_of(reader: Reader, project: str, agent: str, person: str) -> list[Record]:
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


def report_of(
    reader: Reader, project: str, agent: str, person: str, now_ns: int, *, without: str = ""
) -> dict[str, Any] | None:
    """Return the report of a person's last day that ended, or None if nothing is new since the one
    before; of more evidence than a report can cite, the next one cites the rest. `without`: the
    address of a report that is not looked at, since it is about to be made."""
    day = format_time(now_ns)[:10]
    ended = [
        one
        for one in evidence_of(reader, project, agent, person)
        if format_time(int(one.data["said_ns"]))[:10] < day
    ]
    earlier = [one for one in reports_of(reader, project, agent, person) if one.kref != without]
    cited = {kref for one in earlier for kref in one.data["evidence"]}
    fresh = [one for one in ended if one.kref not in cited][:RECORD_ABOUT_ITEMS_MAX]
    if not fresh:
        return None
    scores, trail = score(ended)
    before = earlier[-1].data["scores"] if earlier else dict.fromkeys(dimensions(), SCORE_START)
    changes = {name: round(scores[name] - before[name], 6) for name in scores}
    return {
        "person": person,
        "day": day,
        "scores": scores,
        "changes": changes,
        "trajectory": {
            name: _trajectory(name, change, trail, now_ns) for name, change in changes.items()
        },
        "evidence": [one.kref for one in fresh],
    }


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
