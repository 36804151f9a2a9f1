"""The checks of `doxa doctor`: file, disk, invariants, log, erasures,
retention, vectors and embedder. Each
result says what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doxa.base.clock import NS
from doxa.base.errors import ClosedError, CorruptError, DoxaError, ModelError, StoreError
from doxa.base.limits import FREE_BYTES_MIN, JOB_SILENT_DAYS_MAX
from doxa.jobs.heartbeat import described, heartbeats
from doxa.maintenance.embedding import Reembedding, failed_embeddings, pending, reembedding
from doxa.models.contract import Embedder
from doxa.store import (
    AddressProblem,
    Identity,
    LogProof,
    Reader,
    Store,
    check,
    damage_reported,
    digest,
    replayed_digest,
    verify_log,
)
from doxa.store.retention.dropping import last_retained, retain
from doxa.store.retention.policies import policies_of
from doxa.store.stages import Stages, no_stages

_HOUR = 3_600 * NS
_RETAIN_LATE_HOURS = 48  # the background applies policies once a day
_RESTORE = (
    "Do not modify the file. Take the latest backup: `doxa restore-backup BACKUP NEW` verifies it"
    " and copies it to a new path. `doxa export` writes what is still readable in this file,"
    " and `doxa import` adds it to the copy."
)


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The result of one check: its name, whether it passed, details, and what to do. If it passed
    and has a `next_step`, that is a suggestion; nothing is wrong."""

    name: str
    ok: bool
    detail: str
    next_step: str = ""


def prove(store: Store, progress: Callable[[int], None] = lambda _: None) -> LogProof:
    """Verify the whole log and compare the state with a replay of it, all on one snapshot: others
    may write meanwhile. Raises CorruptError if either check fails. `progress` is called with the
    number of entries since the last call: each is verified once and replayed once."""
    with store.read():
        proof = verify_log(store, progress)
        same = digest(store) == replayed_digest(store, progress)
    if not same:
        raise CorruptError(
            f"The state of {store.path} differs from its log: something wrote to the file outside"
            " of transactions.",
            next_step=(
                "Keep the file as evidence, and restore the latest verified backup to a new path."
            ),
            path=store.path,
        )
    return proof


def examine(
    store: Store,
    embedder: Embedder | None,
    embedder_error: ModelError | None,
    *,
    unasked: str = "",
    stages: Stages = no_stages,
) -> list[HealthCheck]:
    """Run all checks on one snapshot and return their results. Failures become results and do not
    raise. `unasked` names an embedder that must not be called."""
    checks: tuple[tuple[str, Callable[[], HealthCheck]], ...] = (
        ("file", lambda: _file(store)),
        ("disk", lambda: _space(store)),
        ("invariants", lambda: _invariants(store, stages)),
        ("log", lambda: _log(store, stages)),
        ("erasures", lambda: _erasures(store)),
        ("retention", lambda: _retention(store)),
        ("faded", lambda: _faded(store)),
        ("jobs", lambda: _jobs(store)),
        ("vectors", lambda: _vectors(store, embedder, unasked)),
        ("embedder", lambda: _embedder(embedder, embedder_error, unasked)),
    )
    with store.read():
        return [_run(store, name, check) for name, check in checks]


def unopened(error: StoreError) -> HealthCheck:
    """Return the result for a file that is too damaged to open."""
    return HealthCheck(
        "file",
        False,
        error.message,
        _RESTORE if isinstance(error, CorruptError) else error.next_step,
    )


def _run(store: Store, name: str, check: Callable[[], HealthCheck]) -> HealthCheck:
    try:
        with damage_reported(store.path, f"the check of {name}"):
            return check()
    except ClosedError:
        raise
    except (DoxaError, OSError) as error:
        damaged = isinstance(error, CorruptError)
        next_step = (
            error.next_step
            if isinstance(error, DoxaError)
            else "Check the path, its folder and permissions."
        )
        return HealthCheck(
            name,
            False,
            error.message if isinstance(error, DoxaError) else str(error),
            _RESTORE if damaged else next_step,
        )


def _file(store: Store) -> HealthCheck:
    path = Path(store.path)
    mode = path.stat().st_mode & 0o777
    private = os.name == "nt" or mode & 0o077 == 0
    return HealthCheck(
        "file",
        private,
        f"{path}, mode {mode:03o}",
        "" if private else f"Make it readable by its owner only: chmod 600 {path}",
    )


def _space(store: Store) -> HealthCheck:
    free = shutil.disk_usage(Path(store.path).resolve().parent).free
    enough = free > FREE_BYTES_MIN
    return HealthCheck(
        "disk",
        enough,
        f"{free / 1024**3:.1f} GiB free",
        "" if enough else "Free some space before the next large import.",
    )


def _invariants(store: Store, stages: Stages) -> HealthCheck:
    problems = check(store, stages)
    return HealthCheck(
        "invariants",
        not problems,
        "; ".join(problems[:5]) or "all hold",
        _mended_by(problems),
    )


def _mended_by(problems: list[str]) -> str:
    """Return the next step: a backup, unless a query repairs all that was found."""
    steps = [one.next_step for one in problems if isinstance(one, AddressProblem)]
    return " ".join(steps[:5]) if len(steps) == len(problems) else _RESTORE


def _log(store: Store, stages: Stages) -> HealthCheck:
    with store.read() as snapshot:
        last = snapshot.last_receipt()
    proof = prove(store, stages("log entries", 2 * last.last_seq if last else 0))
    return HealthCheck(
        "log",
        True,
        f"{proof.receipts} receipts, {proof.entries} entries verify and replay; head"
        f" {proof.head[:16]}",
    )


def _erasures(store: Store) -> HealthCheck:
    left = store.left_to_scrub()
    next_step = "Close all other programs that have this file open, then reopen it." if left else ""
    return HealthCheck("erasures", not left, left or "no traces are left", next_step)


def _retention(store: Store) -> HealthCheck:
    """Whether the retention policies were applied, and what they would drop now."""
    with store.read() as snapshot:
        policies = policies_of(snapshot.catalogue_all("retention:"))
        ran = last_retained(snapshot)
    if not policies:
        return HealthCheck("retention", True, "no policy: everything is kept")
    due = retain(store, Identity("doctor", "system"), preview=True)
    if ran is None:
        said = "never applied"
    else:
        hours = max(0, store.clock.now_ns() - ran) // _HOUR
        said = f"last applied {hours // 24} days and {hours % 24} hours ago"
    detail = f"{len(policies)} policies, {said}"
    if not (due.versions or due.payloads or due.accesses):
        return HealthCheck("retention", True, f"{detail}; nothing is due")
    detail += (
        f"; due are {due.versions:,} past versions, {due.payloads:,} log payloads and"
        f" {due.accesses:,} notes of accesses"
    )
    return HealthCheck(
        "retention",
        ran is not None and hours < _RETAIN_LATE_HOURS,
        detail,
        "Run `doxa retain --preview` to see them and `doxa retain` to drop them; `doxa serve` does"
        " it by itself.",
    )


def _faded(store: Store) -> HealthCheck:
    with store.read() as snapshot:
        hidden = faded_memories(snapshot)
    if not hidden:
        return HealthCheck("faded", True, "no policy hides a turn or a belief")
    return HealthCheck(
        "faded",
        True,
        f"policies hide {hidden:,} turns and revisions",
        "`doxa recall --as-of now` finds them, `doxa get --reveal` shows one, and `doxa policy"
        " explain` says why it is hidden.",
    )


def faded_memories(reader: Reader) -> int:
    """Return how many turns and revisions the persistence policies hide now."""
    test = reader.sight().test("n", edge=False)
    if not test:
        return 0
    rows = reader.rows(
        "SELECT count(*) FROM node_label l JOIN node n ON n.id = l.node"
        f" WHERE l.label IN ('Exchange', 'Revision') AND NOT ({test})"
    )
    return int(rows[0][0])


def _jobs(store: Store) -> HealthCheck:
    with store.read() as snapshot:
        beats = heartbeats(snapshot, now=snapshot.now)
    if not beats:
        return HealthCheck("jobs", True, "no background job has run")
    said = list(zip(beats, described(beats), strict=True))
    late = [words for one, words in said if one.is_late(JOB_SILENT_DAYS_MAX)]
    return HealthCheck(
        "jobs",
        not late,
        "; ".join(late or (words for _, words in said)),
        "Run it now, and look at what starts it: `doxa runs` lists its runs." if late else "",
    )


def _vectors(store: Store, embedder: Embedder | None, unasked: str) -> HealthCheck:
    with store.read() as snapshot:
        due, held, failed, coming = (
            pending(snapshot, in_use=True),
            snapshot.embedder_name(),
            failed_embeddings(snapshot),
            reembedding(snapshot),
        )
    if coming is not None:
        return _reembedding_check(coming, held or "", embedder)
    if embedder is not None and held is not None and held != embedder.name:
        return HealthCheck(
            "vectors",
            False,
            f"they were computed by {held}, but the model is {embedder.name}",
            "Run `doxa embed --anew` to recompute all of them.",
        )
    if failed:
        return HealthCheck(
            "vectors",
            False,
            f"{failed} memories could not be embedded",
            "Recall finds them by words; `doxa embed --anew` retries them.",
        )
    if not due:
        return HealthCheck("vectors", True, "complete")
    if embedder is None and not unasked:
        return HealthCheck("vectors", True, f"{due} memories have none: recall finds them by words")
    return HealthCheck(
        "vectors", False, f"{due} memories are pending", "Run `doxa embed` to compute them now."
    )


def _reembedding_check(coming: Reembedding, held: str, embedder: Embedder | None) -> HealthCheck:
    """Return the result while the vectors of another model are being computed."""
    total = coming.made + coming.due + coming.failed
    detail = (
        f"{coming.made} of {total} memories have vectors of {coming.model}; until all are complete,"
        f" recall uses those of {held}"
    )
    if embedder is None or embedder.name == coming.model:
        return HealthCheck("vectors", False, detail, "Run `doxa embed` to continue.")
    return HealthCheck(
        "vectors",
        False,
        f"{detail}; the model is {embedder.name}",
        f"Run `doxa embed` with the embedder {coming.model} to continue.",
    )


def _embedder(embedder: Embedder | None, error: ModelError | None, unasked: str) -> HealthCheck:
    if error is not None:
        # an embedder that exists but does not work is named in the error's fields
        missing = embedder is None and not {"path", "model", "url"} & error.fields.keys()
        return HealthCheck("embedder", missing, error.message, error.next_step)
    if unasked:
        return HealthCheck(
            "embedder", True, f"{unasked}, not asked", "`doxa doctor --models` asks it."
        )
    return HealthCheck(
        "embedder",
        True,
        "switched off: recall works by words" if embedder is None else embedder.name,
    )
