"""Apply the retention policies as an operator, and overwrite what went."""

from __future__ import annotations

from collections.abc import Callable

from doxa.base.errors import LimitError, RoleError
from doxa.base.ids import is_below_operator
from doxa.jobs import begin
from doxa.store import Identity, Store
from doxa.store.retention.dropping import Dropped, retain

JOB = "retain"


def retain_as_job(
    store: Store,
    identity: Identity,
    *,
    project: str,
    stopped: Callable[[], bool] = bool,
    regular: bool = False,
) -> Dropped:
    """Drop what no policy keeps, and note it as a run, however it was asked for: the heartbeat of
    retention. In a full file the work of a caller is not noted, since it is how the file is
    emptied; `regular` as in `begin`."""
    _check(identity)
    try:
        run = begin(store, JOB, project=project, regular=regular, counted=not regular)
    except LimitError:
        return retain_and_scrub(store, identity, stopped=stopped)
    with run:
        dropped = retain_and_scrub(store, identity, stopped=stopped)
        run.finish({"versions": dropped.versions})
    return dropped


def retain_and_scrub(
    store: Store,
    identity: Identity,
    *,
    preview: bool = False,
    stopped: Callable[[], bool] = bool,
) -> Dropped:
    """Drop what no policy keeps and overwrite the freed pages. Raises RoleError for an agent."""
    _check(identity)
    dropped = retain(store, identity, preview=preview, stopped=stopped)
    if dropped.changes:
        dropped.note = store.scrub()
    return dropped


def _check(identity: Identity) -> None:
    if is_below_operator(identity.role):
        raise RoleError(
            "Only an operator may apply the retention policies.",
            next_step="Ask the operator to run retention.",
        )
