"""Runs whose process died: they stay `running` until somebody ends them.

A run is dead if nothing was written in it for as long as a lease lasts, and no process holds the
lease of its job or of the night shift, which does other jobs in its turn.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from doxa.base.errors import ConflictError, UnreachableError
from doxa.base.limits import JOB_LEASE_MS
from doxa.jobs.lease import NIGHTSHIFT, is_held
from doxa.jobs.runs import RunInfo, open_run
from doxa.store import Node, Reader, Store, Transaction

_DIED = "its process died"
_LEASED = frozenset(("dream", NIGHTSHIFT))  # the jobs that hold a lease as long as they work
_RUNNING = (
    "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Run' AND n.props"
    " ->> '$.state' = 'running' AND n.props ->> '$.job' = ?1 AND n.project = ?2 ORDER BY n.id"
)


def running(reader: Reader, job: str, *, project: str) -> list[Node]:
    """Return the runs of a job in a project that have not ended, the oldest first."""
    return reader.nodes([row[0] for row in reader.rows(_RUNNING, (job, project))])


def is_dead(reader: Reader, run: Node, *, now: int, mine: Collection[str] = ()) -> bool:
    """Return whether the process of a run died. `mine`: leases that the caller holds."""
    if run.props["state"] != "running" or now - run.since <= JOB_LEASE_MS * 1_000_000:
        return False
    others = {str(run.props["job"]), NIGHTSHIFT} - set(mine)
    return not any(is_held(reader, name, now=now) for name in others)


def with_death(reader: Reader, run: RunInfo) -> RunInfo:
    """Return a run as it is listed: one whose process died has that as its error, until the next
    run of its job goes on with it or ends it. Of a job that works without a lease nobody can say
    so."""
    may_say = run.state == "running" and run.job in _LEASED
    node = reader.node_by_kref(run.kref) if may_say else None
    try:
        died = node is not None and is_dead(reader, node, now=reader.now)
    except UnreachableError:  # nobody can say who holds the lease
        died = False
    return replace(run, error=_DIED) if died else run


def end_dead(store: Store, job: str, *, project: str, mine: Collection[str] = ()) -> int:
    """End the runs of a job whose process died as failed, and return how many there were."""
    now = store.clock.now_ns()
    with store.read() as reader:
        found = [
            run
            for run in running(reader, job, project=project)
            if is_dead(reader, run, now=now, mine=mine)
        ]
    for run in found:
        end_as_dead(store, run)
    return len(found)


def end_as_dead(store: Store, run: Node) -> None:
    """End a run as failed, unless it has ended meanwhile."""
    with suppress(ConflictError):
        open_run(store, str(run.props["kref"])).finish({}, state="failed", error=_DIED)


def end_in(tx: Transaction, run: Node, *, now: int) -> Node:
    """Return a run as it is after it was ended in this transaction, if its process died."""
    if is_dead(tx, run, now=now):
        tx.set_node(run.id, dict(run.props) | {"state": "failed", "ended_ns": now, "error": _DIED})
        return tx.node(run.id) or run
    return run
