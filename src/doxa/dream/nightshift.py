"""The night shift: bounded background jobs, one after another. Each is by itself: one that fails
stops no other. Each leaves a run, so that one that has stopped is noticed; so does the shift, with
one report that begins with what was lost or refused.

One process does it on a file at a time: it holds the lease `nightshift`, which is renewed between
jobs and while they work. Jobs that must not run at once have leases of their own as well.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from doxa.base.clock import format_time
from doxa.base.errors import BusyError, DoxaError, LimitError, RoleError
from doxa.base.limits import NIGHTSHIFT_LEASE_MS
from doxa.base.stopping import stop_asked
from doxa.jobs import JobRun, begin, end_dead, lease
from doxa.jobs.lease import NIGHTSHIFT
from doxa.jobs.runs import SHARE_MAX, Caps
from doxa.store import Store

_REPORTED = ("failed", "stopped", "skipped", "done")
_LOSSES = ("lost", "failed", "blocked", "dropped", "missing")  # counts of a job that are losses


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

    @property
    def order(self) -> int:
        """Where a report puts it: what failed first, then what was refused, then what was done."""
        return _REPORTED.index(self.state)


@dataclass(frozen=True, slots=True)
class Work:
    """A job of the night shift. `do` gets its run and returns counts; `number` is how many elements
    the run touches at most; `regular` as in `begin`. With `notes_itself`, `do` needs no run
    and returns a Shift."""

    do: Callable[[JobRun], Mapping[str, Any]] | None = None
    notes_itself: Callable[[], Shift] | None = None
    number: int = 20
    regular: bool = False


def work_through(
    store: Store,
    project: str,
    jobs: Mapping[str, Work],
    *,
    began: Callable[[str], None] | None = None,
    budget_s: float | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> list[Shift]:
    """Do jobs in order. They are skipped if another process has the lease, and the rest of them if
    it was lost. `began` is called with the name of each job that begins. After `budget_s` seconds
    no further job begins. The shift is a run too, with one report of all jobs. A full file keeps
    none, and retention still empties it."""
    ends = None if budget_s is None else monotonic() + budget_s
    done: list[Shift] = []
    run: JobRun | None = None
    try:
        with lease(store, NIGHTSHIFT, ttl_ms=NIGHTSHIFT_LEASE_MS) as held:
            end_dead(store, NIGHTSHIFT, project=project, mine=(NIGHTSHIFT,))
            with suppress(LimitError):
                run = begin(store, NIGHTSHIFT, project=project, regular=True)
            for name, work in jobs.items():
                if stop_asked():
                    done.append(Shift(name, "skipped", reason="It was asked to stop."))
                    continue
                if ends is not None and monotonic() >= ends:
                    why = f"The {budget_s:g} seconds of the shift are over."
                    done.append(Shift(name, "skipped", reason=why))
                    continue
                held.renew()
                if began is not None:
                    began(name)
                done.append(_done(store, project, name, work))
    except BusyError as error:
        done += [Shift(name, "skipped", reason=error.message) for name in [*jobs][len(done) :]]
    except BaseException as error:
        if run is not None:
            said = f"{type(error).__name__} after {len(done)} of {len(jobs)} jobs"
            run.finish(_counted(done), state="stopped", error=said, report=report_of(store, done))
        raise
    if run is not None:
        run.finish(_counted(done), report=report_of(store, done))
    return done


def report_of(store: Store, shifts: Sequence[Shift]) -> str:
    """Return the report of a shift as Markdown: what was lost or refused, what waits for a person,
    and then what was done. It names jobs, counts and reasons, and repeats nothing of a memory."""
    lost = [f"{one.job} {one.state}: {one.reason}" for one in losses_first(shifts) if _is_lost(one)]
    for one in shifts:
        found = [f"{name} {one.counts[name]}" for name in _LOSSES if one.counts.get(name)]
        lost += [f"{one.job}: {', '.join(found)}"] if found else []
    waits = [f"{one.job}: {one.reason}" for one in shifts if one.state == "done" and one.reason]
    for name, word in (("proposed", "proposals"), ("candidates", "candidates of identity")):
        number = sum(int(one.counts.get(name) or 0) for one in shifts)
        waits += [f"{number} new {word}"] if number else []
    done = [
        f"{one.job}: " + (", ".join(f"{name} {n}" for name, n in one.counts.items()) or "nothing")
        for one in shifts
        if one.state == "done"
    ]
    parts = ("Lost or refused", lost), ("Waits for a person", waits), ("Done", done)
    return f"# Night shift, {format_time(store.clock.now_ns())[:19]}Z\n" + "".join(
        f"\n## {title}\n\n" + ("".join(f"- {line}\n" for line in lines) or "None.\n")
        for title, lines in parts
    )


def _is_lost(shift: Shift) -> bool:
    return shift.state != "done"


def _counted(shifts: Sequence[Shift]) -> dict[str, int]:
    return {state: sum(one.state == state for one in shifts) for state in _REPORTED}


def losses_first(shifts: Sequence[Shift]) -> list[Shift]:
    """Return what a shift did in the order in which a person reads it: what failed, what was
    refused, and then what was done."""
    return sorted(shifts, key=lambda one: one.order)


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
        run = begin(
            store, name, project=project, caps=Caps(work.number, SHARE_MAX), regular=work.regular
        )
    except DoxaError as error:  # the file is full
        return Shift(name, "failed", {}, error.message)
    try:
        counts = dict(work.do(run))
    except RoleError as error:
        run.finish({}, state="stopped", error=error.message)
        return Shift(name, "skipped", {}, error.message, run.kref)
    except Exception as error:
        run.finish({}, state="failed", error=_said(error))
        return Shift(name, "failed", {}, _said(error), run.kref)
    run.finish(counts)
    return Shift(name, "done", counts, "", run.kref)


def _said(error: Exception) -> str:
    return error.message if isinstance(error, DoxaError) else f"{type(error).__name__}: {error}"
