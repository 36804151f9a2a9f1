"""What a store makes on the disk: files that appear whole or not at all, private from their first
byte, with doxa's own error when they cannot."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from doxa.base.errors import NO_SPACE, DiskFullError, ReadOnlyError, StoreError
from doxa.store.chain.epochs import mark_copy
from doxa.store.file.disk_space import is_out_of_space
from doxa.store.file.engine import make_private, translated

_PAGES_PER_STEP = 1_000
_BESIDE = ("-wal", "-shm", "-journal")
_LOCKED = frozenset((errno.EROFS, errno.EACCES, errno.EPERM))


@contextmanager
def file_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert errors of the system and the engine on opening a file to DoxaError."""
    try:
        with translated(str(path)):
            yield
    except OSError as error:
        if error.errno in NO_SPACE:
            raise DiskFullError(
                f"There is no space left for {path}.",
                next_step="Free space on that disk, then repeat the call.",
                path=str(path),
            ) from error
        if error.errno in _LOCKED:
            raise ReadOnlyError(
                f"{path} cannot be written: the file or its folder is read-only.",
                next_step="Choose a folder you may write to.",
                path=str(path),
            ) from error
        raise StoreError(
            f"{path} cannot be used: {error.strerror or error}.",
            next_step="Check the path, its folder and permissions.",
            path=str(path),
        ) from error


def discard(path: str | os.PathLike[str]) -> None:
    """Remove an unfinished file and what the engine put next to it."""
    for name in (str(path), *(f"{path}{end}" for end in _BESIDE)):
        with suppress(OSError):
            Path(name).unlink()


def copy_whole(
    source: apsw.Connection, target: Path, progress: Callable[[int], object] = lambda _: None
) -> Path:
    """Write a consistent copy of a database while others read and write. The target must not exist;
    it appears under its name when it is whole. Its first change begins an epoch. `progress` is
    called with the bytes that were copied since the last call."""
    with file_errors(target):
        if target.exists():
            raise StoreError(
                f"{target} exists already.",
                next_step="Give a path that does not exist yet.",
                path=str(target),
            )
        part = target.with_name(target.name + ".part")
        discard(part)  # of a backup that was killed
        try:
            make_private(str(part))
            copy = apsw.Connection(str(part))
            try:
                size, left = source.pragma("page_size"), 0
                with _one_moment(source), copy.backup("main", source, "main") as step:
                    while not step.done:
                        step.step(_PAGES_PER_STEP)
                        before, left = left or step.page_count, step.remaining
                        progress(max(0, before - left) * size)
                copy.execute("PRAGMA journal_mode=DELETE")
                mark_copy(copy, "backup")
            except apsw.IOError as error:
                if is_out_of_space(error, copy):
                    raise apsw.FullError("database or disk is full") from error
                raise
            finally:
                copy.close()
            os.replace(part, target)
        except BaseException:
            discard(part)
            raise
    return target


@contextmanager
def _one_moment(source: apsw.Connection) -> Iterator[None]:
    """Hold one snapshot: without it a copy begins again after each commit of another process, and
    never ends where somebody keeps writing."""
    if source.in_transaction:
        yield
        return
    source.execute("BEGIN")
    try:
        source.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018  # begins to read
        yield
    finally:
        source.execute("ROLLBACK")


def holds_nothing(path: str, db: apsw.Connection | None) -> bool:
    """Return whether a new file is still empty, so that it can be taken away when it could not be
    prepared."""
    with suppress(OSError, apsw.Error):
        return (
            Path(path).stat().st_size == 0
            if db is None
            else not db.execute("SELECT count(*) FROM sqlite_schema").get
        )
    return False
