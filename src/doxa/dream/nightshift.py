"""The night shift: bounded background jobs, one after another. Each is by itself: one that fails
stops no other. Each leaves a run, so that one that has stopped is noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doxa.base.errors import DoxaError
from doxa.jobs import begin
from doxa.store import Store


@dataclass(frozen=True, slots=True)
class Shift:
    """What became of a job: done, failed or skipped, with its counts or the reason. `run` is the
    address of its run."""

    job: str
    state: str
    counts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    run: str = ""


Work = Callable[[], Mapping[str, Any]]


def work_through(
    store: Store, project: str, jobs: Mapping[str, Work], own: Mapping[str, Callable[[], Shift]]
) -> list[Shift]:
    """Do jobs in order. `own` are those that note a run themselves."""
    done = []
    for name in (*jobs, *own):
        done.append(own[name]() if name in own else _noted(store, project, name, jobs[name]))
    return done


def _noted(store: Store, project: str, name: str, work: Work) -> Shift:
    run = begin(store, name, project=project)
    try:
        counts = dict(work())
    except DoxaError as error:
        run.finish({}, state="failed", error=error.message)
        return Shift(name, "failed", {}, error.message, run.kref)
    run.finish(counts)
    return Shift(name, "done", counts, "", run.kref)
