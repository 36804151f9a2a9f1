"""Which units await consolidation, at the cost of what is new.

A mark of each project and role says up to which log entry everything was looked at and nothing
waited. What was written since names the threads and sessions to look at: their turns, what
supersedes them, and summaries that were written, replaced or removed. Whatever is neither a node
nor an edge (a policy, a hold, an erasure) may change which turns are sources anywhere, so that all
threads are looked at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from doxa.base.ids import NodeId, Role
from doxa.consolidation import queue
from doxa.consolidation.units import Unit, threads_of, transcript_of, units_of
from doxa.consolidation.writer import is_retired, is_stored
from doxa.store import Reader

_OWN = ("consolidation.queue", "consolidation.failed", "consolidation.done")


class WaitingUnits(NamedTuple):
    """Units that await consolidation, the oldest first; `mark` is what to save under `name` if
    nothing waits, or None."""

    units: list[Unit]
    name: str
    mark: int | None


def waiting_units(reader: Reader, project: str, *, role: Role, limit: int) -> WaitingUnits:
    """Return units of a project that are not stored as they are now, by whatever producer. Those
    that failed wait in the queue for their time, and those whose summary was retired are not
    summed up again until it is restored."""
    failed = {
        (task.thread, task.session, task.part)
        for task in queue.pending(reader, project=project)
        if task.attempts
    }
    name = f"job/{role}/{project}/consolidation"
    rows = reader.rows("SELECT coalesce(max(last_seq), 0) FROM main.receipt")
    end = int(rows[0][0])
    found: list[Unit] = []
    after = _mark(reader, name)
    for unit in _changed_units(reader, project, after, end):
        if (unit.thread, unit.session, unit.part) in failed:
            continue
        transcript = transcript_of(reader, unit)
        stored = is_stored(reader, unit, transcript.digest, producer=None, model=None)
        if transcript.turns and not stored and not is_retired(reader, unit):
            found.append(unit)
            if len(found) >= limit:
                break
    return WaitingUnits(found, name, None if found or end == after else end)


def _mark(reader: Reader, name: str) -> int:
    rows = reader.rows("SELECT seq FROM main.cursor WHERE name = ?", (name,))
    return int(rows[0][0]) if rows else 0


def _changed_units(reader: Reader, project: str, after: int, end: int) -> Iterator[Unit]:
    if after >= end:
        return
    if not after or reader.rows(_ELSE, (after, end, *_OWN)):
        for thread in threads_of(reader, project):
            yield from units_of(reader, thread)
        return
    turns: dict[str, set[NodeId]] = {}
    sessions: dict[str, set[str]] = {}
    prefix = f"kref://{project}/"
    for thread, turn, session in reader.rows(_CHANGED, (after, end, prefix, prefix[:-1] + "0")):
        turns.setdefault(thread, set()).add(NodeId(turn or 0))
        sessions.setdefault(thread, set()).add(session or "")
    for thread in sorted(turns):
        units = list(units_of(reader, thread))
        named = sessions[thread] | {
            unit.session for unit in units if not turns[thread].isdisjoint(unit.turns)
        }
        gone = turns[thread].difference(*(unit.turns for unit in units), (NodeId(0),))
        for unit in units:
            if gone or unit.session in named:
                yield unit


_ELSE = (
    "SELECT 1 FROM main.log l JOIN main.receipt r ON r.tx = l.tx WHERE l.seq > ?1 AND l.seq <= ?2"
    " AND l.op NOT LIKE 'node.%' AND l.op NOT LIKE 'edge.%' AND r.op NOT IN (?3, ?4, ?5) LIMIT 1"
)
# Threads by address, with a turn that changed, or the session of a summary that did.
_CHANGED = (
    "WITH entry AS MATERIALIZED (SELECT op, element FROM main.log WHERE seq > ?1 AND seq <= ?2"
    " AND op NOT IN ('node.access', 'edge.access')),"
    " touched AS MATERIALIZED (SELECT element AS id FROM entry WHERE op LIKE 'node.%'"
    " UNION SELECT e.dst FROM entry l CROSS JOIN edge e ON e.id = l.element WHERE l.op LIKE"
    " 'edge.%' AND e.type IN ('SUPERSEDES', 'HAS_EXCHANGE', 'CURRENT')"
    " UNION SELECT e.dst FROM entry l CROSS JOIN edge_past e ON e.id = l.element WHERE l.op LIKE"
    " 'edge.%' AND e.type IN ('SUPERSEDES', 'HAS_EXCHANGE', 'CURRENT'))"
    " SELECT t.kref, d.id, '' FROM touched d CROSS JOIN edge h ON h.dst = d.id AND h.type ="
    " 'HAS_EXCHANGE' JOIN node t ON t.id = h.src WHERE t.kref >= ?3 AND t.kref < ?4"
    " UNION SELECT t.kref, d.id, '' FROM touched d CROSS JOIN edge_past h ON h.dst = d.id AND"
    " h.type = 'HAS_EXCHANGE' JOIN node t ON t.id = h.src WHERE t.kref >= ?3 AND t.kref < ?4"
    " UNION SELECT n.props ->> '$.thread', 0, n.props ->> '$.session' FROM touched d CROSS JOIN"
    " node n ON n.id = d.id WHERE n.props ->> '$.level' = 'session' AND n.props ->> '$.thread' >="
    " ?3 AND n.props ->> '$.thread' < ?4"
    " UNION SELECT n.props ->> '$.thread', 0, n.props ->> '$.session' FROM touched d CROSS JOIN"
    " node_past n ON n.id = d.id WHERE n.props ->> '$.level' = 'session' AND n.props ->>"
    " '$.thread' >= ?3 AND n.props ->> '$.thread' < ?4"
)
