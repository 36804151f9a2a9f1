"""Copies of a memory file by the log: ship it to a folder or over a command, take what another one
ships, and make a file of it again, as of a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from doxa.app.expressions import LazyExpressions
from doxa.base.errors import InputError
from doxa.ingestion import arguments
from doxa.maintenance.backups import Backup, KeepRule, backups_in, file_bytes, make_backup
from doxa.replication.shipping import Pipe, Sent, receive_log, send_log
from doxa.store import Store
from doxa.store.chain.chain_file import ChainFile, Shipped, is_chain
from doxa.store.chain.rebuild import change_at, rebuild

if TYPE_CHECKING:
    from doxa.app.file import MemoryFile

__all__ = [
    "Backup",
    "KeepRule",
    "Pipe",
    "Sent",
    "backups_in",
    "chain_path",
    "file_bytes",
    "holds_log_alone",
    "make_backup",
    "receive_into",
    "restore_from_log",
    "send_log",
    "ship_log",
]
SUFFIX = ".chain"


def chain_path(folder: str | os.PathLike[str], store: Store) -> Path:
    """Return where the log of a file lies in a folder that follows it."""
    return Path(folder) / (Path(store.path).stem + SUFFIX)


def ship_log(
    memory: MemoryFile,
    folder: str | os.PathLike[str],
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> Shipped:
    """Bring the log in a folder up to date with a memory. Raises ConflictError if the memory does
    not continue it, CorruptError if what it has does not verify."""
    Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
    with ChainFile(chain_path(folder, memory.store)) as chain:
        return chain.ship(memory.store, progress=progress)


def receive_into(folder: str | os.PathLike[str], pipe: Pipe) -> Shipped:
    """Take into a folder what `send_log` ships at the other end of a pipe. Raises UnreachableError
    if it ends early, CorruptError if what comes does not verify."""

    def path_of(name: str) -> Path:
        Path(folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        return Path(folder) / (name + SUFFIX)

    return receive_log(pipe, path_of)


def restore_from_log(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    at: str | None = None,
    change: int | None = None,
    expect: Callable[[int], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Make a memory file at a new path from the log of a backup, a memory file, or a folder that
    follows one: as of a time, a change, or the last. `expect` is called with the number of entries
    of the log, `progress` with those since its last call. Raises NotFoundError for a change that
    there is not."""
    if at is not None and change is not None:
        raise InputError(
            "A time and a change were given.", next_step="Give one of them.", field="change"
        )
    found = _log_of(Path(source))

    def made_of(db: apsw.Connection) -> Path:
        number = change if at is None else change_at(db, _time(at))
        return rebuild(
            db,
            target,
            change=number,
            expressions=LazyExpressions(),
            expect=expect,
            progress=progress,
        )

    if is_chain(found):
        with ChainFile(found, read_only=True) as chain:
            return made_of(chain.db)
    with Store(found, read_only=True, expressions=LazyExpressions()) as store, store.read() as read:
        return made_of(read._db)


def holds_log_alone(source: str | os.PathLike[str]) -> bool:
    """Return whether a source has no state, but the log of one: a folder, or a shipped log."""
    return Path(source).is_dir() or is_chain(source)


def _log_of(source: Path) -> Path:
    """Return the file that has the log: the source, or the one that follows in a folder."""
    if not source.is_dir():
        return source
    found = sorted(source.glob(f"*{SUFFIX}"))
    if len(found) != 1:
        said = "no log" if not found else f"{len(found)} logs"
        raise InputError(
            f"The folder {source} has {said}.",
            next_step="Name one: a file that ends in .chain, or a backup.",
            field="source",
        )
    return found[0]


def _time(at: str) -> int:
    found = arguments.time(at, "at")
    assert found is not None, "a time was given"
    return found
