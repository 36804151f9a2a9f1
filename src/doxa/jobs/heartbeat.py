"""When each job ran last, and how that went: so that a job that has stopped does not do so
unnoticed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from doxa.base.errors import UnreachableError
from doxa.base.limits import JOB_LEASE_MS
from doxa.jobs.lease import is_held
from doxa.jobs.runs import RunInfo, list_runs
from doxa.store import Reader

_DAY_NS = 86_400_000_000_000


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The last run of a job, and the last that ended well."""

    job: str
    run: RunInfo
    done: RunInfo | None
    now: int
    held: bool = False  # whether a process holds the lease of the job

    @property
    def is_stalled(self) -> bool:
        """Whether the last run began longer ago than a lease lasts, has not ended, and nobody holds
        the lease of its job."""
        running_ns = self.now - self.run.started
        return (
            self.run.state == "running" and not self.held and running_ns > JOB_LEASE_MS * 1_000_000
        )

    @property
    def days_since(self) -> float | None:
        """Days since it last ended well; None: never."""
        return None if self.done is None else (self.now - self.done.started) / _DAY_NS

    def is_late(self, days: int) -> bool:
        """Return whether it failed, stopped in the middle, or has not ended well for so many
        days."""
        since = self.days_since
        return self.run.state == "failed" or self.is_stalled or (since or 0) > days

    def said(self) -> str:
        """Describe it in words, such as "dream has not run for 9 days"."""
        return self._said(self.job)

    def said_of_project(self) -> str:
        """Describe it with the name of its project, for a file that has several."""
        return self._said(f"{self.job} in {self.run.project}")

    def _said(self, job: str) -> str:
        since = self.days_since
        if since is None:
            how = "stopped in the middle" if self.is_stalled else f"is {self.run.state}"
            return f"{job} has never ended well; its last run {how}"
        days = int(since + 0.001)
        span = f"{days} day{'s' if days > 1 else ''}"
        ago = f"{span} ago" if days else "today"
        if self.run.state == "failed":
            return f"{job} failed; it last ended well {ago}"
        if self.is_stalled:
            return f"{job} stopped in the middle; it last ended well {ago}"
        return f"{job} has not run for {span}" if days else f"{job} ran {ago}"


def last(reader: Reader, job: str, *, project: str | None = None, now: int) -> Heartbeat | None:
    """Return the heartbeat of a job; None if it never ran."""
    runs = list_runs(reader, project=project, job=job, limit=100)
    if not runs:
        return None
    done = next((run for run in runs if run.state in ("done", "undone")), None)
    found = Heartbeat(job, runs[0], done, now)
    if not found.is_stalled:
        return found
    try:
        return replace(found, held=is_held(reader, job, now=now))
    except UnreachableError:  # nobody can say: it is not reported as stopped
        return replace(found, held=True)


def heartbeats(reader: Reader, *, project: str | None = None, now: int) -> list[Heartbeat]:
    """Return the heartbeats of all jobs that ever ran, by name and project. A job is judged in each
    project by itself: one that runs in another hides nothing."""
    sql = (
        "SELECT DISTINCT n.props ->> '$.job', n.project FROM node_label l JOIN node n ON n.id ="
        " l.node WHERE l.label = 'Run' AND n.kref IS NOT NULL AND (?1 IS NULL OR n.project = ?1)"
        " ORDER BY 1, 2"
    )
    rows = reader.rows(sql, (project,))
    found = [last(reader, job, project=where, now=now) for job, where in rows]
    return [one for one in found if one is not None]


def described(beats: Sequence[Heartbeat]) -> list[str]:
    """Describe heartbeats in words, with their projects if there are several."""
    several = len({one.run.project for one in beats}) > 1
    return [one.said_of_project() if several else one.said() for one in beats]
