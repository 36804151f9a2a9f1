"""Small files of the user: locked, and replaced in one step. Standard library alone, for `doxa
hook`."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without advisory locks: the last writer of a small file wins
    fcntl = None  # type: ignore[assignment]

PRIVATE = 0o600
_ERRORS_BYTES_MAX = 65_536


@contextmanager
def locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file `path`; yields False at once if it is taken and `wait` is False."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
    try:
        if fcntl is not None:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
        yield True
    finally:
        os.close(handle)  # which releases the lock


def write_atomically(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Replace a file in one step, durably. A symbolic link stays one: its target is replaced. The
    mode is that of the file before, or `mode`, or private."""
    import tempfile

    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if mode is None:
        try:
            mode = stat.S_IMODE(target.stat().st_mode)
        except OSError:
            mode = PRIVATE
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(file.fileno(), mode) if hasattr(os, "fchmod") else os.chmod(name, mode)
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def note_error(folder: Path, text: str) -> None:
    """Keep what went wrong in the folder of hooks, where `doxa setup --check` finds it. Never
    raises."""
    try:
        path = folder / "errors.log"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists() and path.stat().st_size > _ERRORS_BYTES_MAX:
            path.unlink()
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE)
        with os.fdopen(handle, "a", encoding="utf-8", errors="replace") as file:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            file.write(f"{stamp} {' '.join(text.split())[:500]}\n")
    except OSError:
        return
