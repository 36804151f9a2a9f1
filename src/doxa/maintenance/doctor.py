"""What `doxa doctor` looks at: the file, its invariants, its log, its index, its vectors, its
model. Each finding says what to do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from doxa.base.errors import ClosedError, CorruptError, DoxaError, ModelError, StoreError
from doxa.base.limits import FREE_BYTES_MIN
from doxa.maintenance.embedding import Reembedding, given_up, pending, reembedding
from doxa.models.contract import Embedder
from doxa.store import LogProof, Store, check, digest, replayed_digest, verify_log

_RESTORE = (
    "Keep the file as it is. Take the latest backup: `doxa restore-backup BACKUP NEW` verifies it and"
    " copies it to a new path. What this file can still read, `doxa export` writes out, and `doxa"
    " import` adds it there."
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of doctor: what was looked at, whether it is well, and what to do if not. One that
    is well and has a `next_step` is a note: something can be switched on, nothing is wrong."""

    name: str
    ok: bool
    detail: str
    next_step: str = ""


def prove(store: Store) -> LogProof:
    """Walk the whole log and compare the state with a replay of it. Raises CorruptError where
    either does not fit."""
    proof = verify_log(store)
    if digest(store) != replayed_digest(store):
        raise CorruptError(
            f"The state of {store.path} is not what its log says: something wrote past the"
            " transactions.",
            next_step=(
                "Keep the file as evidence and restore the latest backup that verifies to a new"
                " path."
            ),
            path=store.path,
        )
    return proof


def examine(
    store: Store, embedder: Embedder | None, embedder_error: ModelError | None, *, unasked: str = ""
) -> list[Finding]:
    """All findings, the sound ones too. Raises nothing: what fails becomes a finding. `unasked`
    names an embedder that is not to be asked."""
    looks: tuple[tuple[str, Callable[[], Finding]], ...] = (
        ("file", lambda: _file(store)),
        ("disk", lambda: _space(store)),
        ("invariants", lambda: _invariants(store)),
        ("log", lambda: _log(store)),
        ("erasures", lambda: _erasures(store)),
        ("vectors", lambda: _vectors(store, embedder, unasked)),
        ("embedder", lambda: _embedder(embedder, embedder_error, unasked)),
    )
    return [_looked(name, look) for name, look in looks]


def unopened(error: StoreError) -> Finding:
    """A file that is too damaged to be opened."""
    return Finding(
        "file",
        False,
        error.message,
        _RESTORE if isinstance(error, CorruptError) else error.next_step,
    )


def _looked(name: str, look: Callable[[], Finding]) -> Finding:
    try:
        return look()
    except ClosedError:
        raise
    except (DoxaError, OSError) as error:
        damaged = isinstance(error, CorruptError)
        told = (
            error.next_step
            if isinstance(error, DoxaError)
            else "Check the path, its folder and permissions."
        )
        return Finding(
            name,
            False,
            error.message if isinstance(error, DoxaError) else str(error),
            _RESTORE if damaged else told,
        )


def _file(store: Store) -> Finding:
    path = Path(store.path)
    mode = path.stat().st_mode & 0o777
    private = os.name == "nt" or mode & 0o077 == 0
    return Finding(
        "file",
        private,
        f"{path}, mode {mode:03o}",
        "" if private else f"Let only its owner read it: chmod 600 {path}",
    )


def _space(store: Store) -> Finding:
    free = shutil.disk_usage(Path(store.path).resolve().parent).free
    enough = free > FREE_BYTES_MIN
    return Finding(
        "disk",
        enough,
        f"{free / 1024**3:.1f} GiB free",
        "" if enough else "Free some space before the next large import.",
    )


def _invariants(store: Store) -> Finding:
    problems = check(store)
    return Finding(
        "invariants",
        not problems,
        "; ".join(problems[:5]) or "all hold",
        _RESTORE if problems else "",
    )


def _log(store: Store) -> Finding:
    proof = prove(store)
    return Finding(
        "log",
        True,
        f"{proof.receipts} receipts, {proof.entries} entries verify and replay; head"
        f" {proof.head[:16]}",
    )


def _erasures(store: Store) -> Finding:
    left = store.left_to_scrub()
    told = "Close whatever else has this file open, then open it again." if left else ""
    return Finding("erasures", not left, left or "nothing is left of them", told)


def _vectors(store: Store, embedder: Embedder | None, unasked: str) -> Finding:
    with store.read() as snapshot:
        due, held, failed, coming = (
            pending(snapshot, in_use=True),
            snapshot.embedder_name(),
            given_up(snapshot),
            reembedding(snapshot),
        )
    if coming is not None:
        return _coming(coming, held or "", embedder)
    if embedder is not None and held is not None and held != embedder.name:
        return Finding(
            "vectors",
            False,
            f"they are of {held}, the model is {embedder.name}",
            "Run `doxa embed --anew` to make them all again.",
        )
    if failed:
        return Finding(
            "vectors",
            False,
            f"{failed} memories could not be embedded",
            "Recall finds them by words; `doxa embed --anew` tries again.",
        )
    if not due:
        return Finding("vectors", True, "all made")
    if embedder is None and not unasked:
        return Finding("vectors", True, f"{due} memories have none: recall finds them by words")
    return Finding(
        "vectors", False, f"{due} memories await theirs", "Run `doxa embed` to make them now."
    )


def _coming(coming: Reembedding, held: str, embedder: Embedder | None) -> Finding:
    """Vectors of another model are under way."""
    total = coming.made + coming.due + coming.failed
    detail = (
        f"{coming.made} of {total} memories have those of {coming.model}; until all are made,"
        f" recall goes by those of {held}"
    )
    if embedder is None or embedder.name == coming.model:
        return Finding("vectors", False, detail, "Run `doxa embed` to go on with them.")
    return Finding(
        "vectors",
        False,
        f"{detail}; the model is {embedder.name}",
        f"Run `doxa embed` where {coming.model} is the embedder to go on.",
    )


def _embedder(embedder: Embedder | None, error: ModelError | None, unasked: str) -> Finding:
    if error is not None:
        missing = (
            embedder is None and not {"path", "model", "url"} & error.fields.keys()
        )  # one that is there and does not work is named
        return Finding("embedder", missing, error.message, error.next_step)
    if unasked:
        return Finding("embedder", True, f"{unasked}, not asked", "`doxa doctor --models` asks it.")
    return Finding(
        "embedder",
        True,
        "switched off: recall works by words" if embedder is None else embedder.name,
    )
