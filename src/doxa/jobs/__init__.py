"""Background jobs: runs, their limits and leases, proposals, applying and undoing them."""

from doxa.jobs.applying import Applied, apply, reject
from doxa.jobs.dead import end_dead
from doxa.jobs.heartbeat import Heartbeat, heartbeats, last
from doxa.jobs.lease import Lease, lease
from doxa.jobs.proposals import JobProposal, list_proposals
from doxa.jobs.runs import Budget, Caps, JobRun, RunInfo, begin, list_runs, open_run
from doxa.jobs.undoing import Undone, undo_run

__all__ = [
    "Applied",
    "Budget",
    "Caps",
    "Heartbeat",
    "JobProposal",
    "JobRun",
    "Lease",
    "RunInfo",
    "Undone",
    "apply",
    "begin",
    "end_dead",
    "heartbeats",
    "last",
    "lease",
    "list_proposals",
    "list_runs",
    "open_run",
    "reject",
    "undo_run",
]
