"""What `doxa doctor` looks at: the file, its invariants, its log, its index, its vectors, its model. Each finding says what to do."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from doxa.base.errors import DoxaError
from doxa.store import Store

if TYPE_CHECKING:
    from doxa.app import Finding, Memory

_FREE_BYTES_LOW = 512 * 1024**2


def examine(memory: Memory) -> list[Finding]:
    """All findings, the sound ones too. Raises nothing: what fails becomes a finding."""
    return [_file(memory), _space(memory), _invariants(memory), _log(memory), _vectors(memory), _model(memory)]


def _finding(name: str, ok: bool, detail: str, next_step: str = "") -> Finding:
    from doxa.app import Finding

    return Finding(name, ok, detail, "" if ok else next_step)


def _file(memory: Memory) -> Finding:
    path = Path(memory.store.path)
    mode = path.stat().st_mode & 0o777
    private = os.name == "nt" or mode & 0o077 == 0
    return _finding("file", private, f"{path}, mode {mode:03o}", f"Let only its owner read it: chmod 600 {path}")


def _space(memory: Memory) -> Finding:
    free = shutil.disk_usage(Path(memory.store.path).resolve().parent).free
    return _finding("disk", free > _FREE_BYTES_LOW, f"{free / 1024**3:.1f} GiB free", "Free some space before the next large import.")


def _invariants(memory: Memory) -> Finding:
    try:
        problems = memory.check()
    except DoxaError as error:
        return _finding("invariants", False, error.message, error.next_step)
    detail = "all hold" if not problems else "; ".join(problems[:5])
    return _finding("invariants", not problems, detail, "Restore the latest backup that verifies to a new path with `doxa restore`.")


def _log(memory: Memory) -> Finding:
    try:
        proof = memory.verify()
    except DoxaError as error:
        return _finding("log", False, error.message, error.next_step)
    return _finding("log", True, f"{proof.receipts} receipts, {proof.entries} entries verify and replay; head {proof.head[:16]}")


def _vectors(memory: Memory) -> Finding:
    due = memory.pending()
    return _finding("vectors", due == 0, f"{due} memories await theirs" if due else "all made", "Run `doxa embed` to make them now.")


def _model(memory: Memory) -> Finding:
    embedder = memory.embedder
    if embedder is not None:
        return _finding("model", True, embedder.name)
    error = memory.embedder_error
    if error is None:
        return _finding("model", True, "switched off: recall works by words")
    return _finding("model", False, error.message, error.next_step)


def verify_file(path: Path) -> int:
    """Open a file read-only and verify its log; the number of its receipts. Raises StoreError."""
    from doxa.store import verify_log

    with Store(path, read_only=True) as store:
        return verify_log(store).receipts
