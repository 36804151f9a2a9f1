"""The night shift: bounded background jobs, one after another. Each is by itself: one that fails
stops no other. Each leaves a run, so that one that has stopped is noticed.

One process does it on a file at a time: it holds the lease `nightshift`, which is renewed between
jobs and while they work. Jobs that must not run at once have leases of their own as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from doxa.base.errors import BusyError, DoxaError, RoleError
from doxa.base.limits import NIGHTSHIFT_LEASE_MS
from doxa.base.stopping import stop_asked
from doxa.jobs import JobRun, begin, lease
from doxa.jobs.lease import NIGHTSHIFT
from doxa.jobs.runs import SHARE_MAX, Caps
from doxa.store import Store

_REPORTED = ("failed", "stopped", "skipped", "done")


@dataclass(frozen=True, slots=True)
class Shift:
    """What became of a job: done, failed or skipped, with its counts or the reason. `run` is the
    address of its run. Of what may ask a model, `counts` has the `tokens` that it spent; `limits`
    are what a dream had to keep: `number`, `share`, `age_days`, and of `seconds`, `calls` and
    `tokens` those that were given."""

    job: str
    state: str
    counts: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    run: str = ""
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """A job of the night shift. `do` gets its run and returns counts; `number` is how many elements
    the run touches at most. With `notes_itself`, `do` needs no run and returns a Shift."""

    do: Callable[[JobRun], Mapping[str, Any]] | None = None
    notes_itself: Callable[[], Shift] | None = None
    number: int = 20


def work_through(
    store: Store,
    project: str,
    jobs: Mapping[str, Work],
    *,
    began: Callable[[str], None] | None = None,
) -> list[Shift]:
    """Do jobs in order. They are skipped if another process has the lease, and the rest of them if
    it was lost. `began` is called with the name of each job that begins."""
    done: list[Shift] = []
    try:
        with lease(store, NIGHTSHIFT, ttl_ms=NIGHTSHIFT_LEASE_MS) as held:
            for name, work in jobs.items():
                if stop_asked():
                    done.append(Shift(name, "skipped", reason="It was asked to stop."))
                    continue
                held.renew()
                if began is not None:
                    began(name)
                done.append(_done(store, project, name, work))
    except BusyError as error:
        done += [Shift(name, "skipped", reason=error.message) for name in [*jobs][len(done) :]]
    return done


def losses_first(shifts: Sequence[Shift]) -> list[Shift]:
    """Return what a shift did in the order in which a person reads it: what failed, what was
    refused, and then what was done."""
    return sorted(shifts, key=lambda one: _REPORTED.index(one.state))


def follow(
    shift: Callable[[], list[Shift]], stopping: threading.Event, *, pause_s: float
) -> Iterator[list[Shift]]:
    """Try a shift again and again, until `stopping` is set; yield those in which anything was done.
    What another process has, or what is not due, is tried again after a pause. So is what fails:
    the run says why."""
    while not stopping.is_set():
        try:
            done = [one for one in shift() if one.state != "skipped"]
        except BusyError:
            done = []
        if done:
            yield done
        stopping.wait(pause_s)


def _done(store: Store, project: str, name: str, work: Work) -> Shift:
    if work.notes_itself is not None:
        try:
            return work.notes_itself()
        except RoleError as error:
            return Shift(name, "skipped", reason=error.message)
        except Exception as error:  # a part of somebody else's may raise anything
            return Shift(name, "failed", reason=_said(error))
    assert work.do is not None
    try:
        run = begin(store, name, project=project, caps=Caps(work.number, SHARE_MAX))
    except DoxaError as error:  # the file is full
        return Shift(name, "failed", {}, error.message)
    try:
        counts = dict(work.do(run))
    except Exception as error:
        run.finish({}, state="failed", error=_said(error))
        return Shift(name, "failed", {}, _said(error), run.kref)
    run.finish(counts)
    return Shift(name, "done", counts, "", run.kref)


def _said(error: Exception) -> str:
    return error.message if isinstance(error, DoxaError) else f"{type(error).__name__}: {error}"
