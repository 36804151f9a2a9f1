"""What memory knows about itself: how much of what it holds, on which topics, how old it is, and
what is open. Eight statements, whatever the file holds; nothing is loaded or written."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.belief import list_conflicts
from doxa.store import Reader

_DAY_NS = 86_400_000_000_000
_CURRENT = """
WITH believed AS (
  SELECT n.id, n.kref, n.props ->> '$.project' AS project, n.props ->> '$.kind' AS kind,
    n.props ->> '$.time' AS time, n.props ->> '$.summary' AS summary,
    n.props -> '$.topics' AS topics, n.props ->> '$.valid_until' AS until,
    n.props ->> '$.confidence' AS confidence, e.src AS item
  FROM edge e JOIN node n ON n.id = e.dst
  WHERE e.type = 'CURRENT' AND (?1 = '' OR n.project = ?1)
)
"""
_UNSUPPORTED = (
    "SELECT count(*) FROM believed b JOIN edge t ON t.src = b.item AND t.type = 'TAG' AND t.dst ="
    " b.id AND t.props ->> '$.name' = 'unsupported'"
)


@dataclass(frozen=True, slots=True)
class BeliefCount:
    """How many beliefs there are of one project and kind, or on one topic, and the times of the
    oldest and the newest, in ns UTC."""

    name: str
    beliefs: int
    oldest: int
    newest: int


@dataclass(frozen=True, slots=True)
class StaleBelief:
    """A belief that nobody stated for long, and its age in days."""

    kref: str
    text: str
    days: int


@dataclass(frozen=True, slots=True)
class Survey:
    """What memory holds (`beliefs`, `turns`, `executions`), on what (`kinds` by project and kind,
    `topics`, each the largest first), how old it is (`stale` beliefs, `oldest` of them) and what is
    open: `conflicts` (the newest are in `open_conflicts`), `unsupported` beliefs, `expired` and
    `doubtful` ones (confidence below 0.5), and vectors that are `pending`."""

    beliefs: int
    turns: int
    executions: int
    kinds: tuple[BeliefCount, ...]
    topics: tuple[BeliefCount, ...]
    stale: int
    oldest: tuple[StaleBelief, ...]
    conflicts: int
    open_conflicts: tuple[str, ...]
    unsupported: int
    expired: int
    doubtful: int
    pending: int


def survey(reader: Reader, *, project: str, stale_days: int, limit: int) -> Survey:
    """Return the survey of a project, of all of them with ""."""
    before = reader.now - stale_days * _DAY_NS
    totals = reader.rows(
        _CURRENT + "SELECT count(*), coalesce(sum(kind = 'execution'), 0), coalesce(sum(time < ?2"
        " AND kind <> 'execution'), 0), coalesce(sum(until <= ?3), 0), coalesce(sum(confidence <"
        " 0.5), 0) FROM believed",
        (project, before, reader.now),
    )[0]
    kinds = reader.rows(
        _CURRENT + "SELECT project || ' ' || kind, count(*), min(time), max(time) FROM believed"
        " GROUP BY project, kind ORDER BY 2 DESC, 1 LIMIT ?2",
        (project, limit),
    )
    topics = reader.rows(
        _CURRENT + "SELECT t.value, count(*), min(time), max(time) FROM believed, json_each(topics)"
        " t GROUP BY t.value ORDER BY 2 DESC, 1 LIMIT ?2",
        (project, limit),
    )
    oldest = reader.rows(
        _CURRENT + "SELECT kref, summary, (?3 - time) / ?4 FROM believed WHERE time < ?2 AND kind"
        " <> 'execution' ORDER BY time, kref LIMIT ?5",
        (project, before, reader.now, _DAY_NS, limit),
    )
    turns = reader.rows(
        "SELECT count(*) FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Exchange'"
        " AND (?1 = '' OR n.project = ?1) AND n.props ->> '$.deprecated' IS NULL",
        (project,),
    )[0][0]
    conflicts = reader.rows(
        "SELECT count(*) FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Conflict'"
        " AND (?1 = '' OR n.project = ?1) AND n.props ->> '$.decision' IS NULL",
        (project,),
    )[0][0]
    unsupported = reader.rows(_CURRENT + _UNSUPPORTED, (project,))[0][0]
    pending = reader.rows(
        "SELECT count(*) FROM doc d JOIN node n ON n.id = d.node WHERE d.vectors = 0 AND (?1 = ''"
        " OR n.project = ?1)",
        (project,),
    )[0][0]
    newest = list_conflicts(reader, project, decided=False, limit=limit) if conflicts else []
    return Survey(
        totals[0],
        turns,
        totals[1],
        tuple(BeliefCount(*row) for row in kinds),
        tuple(BeliefCount(*row) for row in topics),
        totals[2],
        tuple(StaleBelief(*row) for row in oldest),
        conflicts,
        tuple(one.kref for one in newest),
        unsupported,
        totals[3],
        totals[4],
        pending,
    )
