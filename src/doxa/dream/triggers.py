"""When a dream is due: by schedule, when nothing was written for a while, or when much is new."""

from __future__ import annotations

from dataclasses import dataclass

from doxa.dream.pipeline import JOB, position
from doxa.jobs import RunInfo, list_runs
from doxa.store import Reader

_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Triggers:
    """What makes a dream due; None: this does not. `every_s` since the last one began, `idle_s`
    since the last change by somebody else with something new to look at, `entries` of the log that
    are new."""

    every_s: float | None = 86_400
    idle_s: float | None = None
    entries: int | None = None


def why_due(reader: Reader, project: str, triggers: Triggers, *, now: int, job: str = JOB) -> str:
    """Return why a dream, or another job, is due now, in words; empty if none is. What jobs write
    is not a change."""
    runs = list_runs(reader, project=project, job=job, limit=1)
    since = (now - runs[0].started) / _S if runs else None
    if triggers.every_s is not None and (since is None or since >= triggers.every_s):
        return "by schedule" if since is not None else "it has never run"
    last = reader.rows(
        "SELECT max(last_seq), max(time) FROM main.receipt WHERE role <> 'background' AND op NOT"
        " LIKE 'dream.%' AND actor NOT LIKE 'job:%'"
    )[0]
    seen = position(reader, project) if job == JOB else _seq_at(reader, runs)
    behind = (last[0] or 0) - seen
    if triggers.entries is not None and behind >= triggers.entries:
        return f"{behind} log entries are new"
    idle = triggers.idle_s is not None and last[1] is not None
    if idle and behind > 0 and (now - last[1]) / _S >= (triggers.idle_s or 0):
        return "nothing was written for a while"
    return ""


def _seq_at(reader: Reader, runs: list[RunInfo]) -> int:
    """The last log entry when a run began; 0 without one."""
    sql = "SELECT coalesce(max(last_seq), 0) FROM main.receipt WHERE time <= ?"
    return int(reader.rows(sql, (runs[0].started,))[0][0]) if runs else 0
