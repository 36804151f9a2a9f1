"""What cannot be read is damage: one error for whatever a changed byte leads to.

A byte of the file that something else changed can be met as any exception: text that is not UTF-8,
JSON that does not parse, a row of fewer fields, a name that is missing. Where a file is examined,
all of them mean the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from doxa.base.errors import CorruptError, DoxaError
from doxa.store.file.engine import translated

NEXT_STEP = (
    "Keep the file as it is, and restore the latest backup that verifies to a new path with"
    " `doxa restore-backup`."
)


@contextmanager
def damage_reported(path: str, place: str, db: apsw.Connection | None = None) -> Iterator[None]:
    """Convert every exception that what was read can cause to CorruptError, which names the place.
    Errors of doxa, of the system and of memory pass. `db` is the connection that is used."""
    try:
        with translated(path, db):
            yield
    except (DoxaError, OSError, MemoryError, apsw.InterruptError):
        raise
    except Exception as error:
        raise CorruptError(
            f"{path} cannot be read at {place}: {_text(error)}.",
            next_step=NEXT_STEP,
            path=path,
            at=place,
        ) from error


def findings_of(path: str, place: str, find: Callable[[], list[str]]) -> list[str]:
    """Return what a check finds; if it cannot read what it checks, that is a finding."""
    try:
        with damage_reported(path, place):
            return find()
    except CorruptError as error:
        return [error.message]


def _text(error: Exception) -> str:
    said = str(error) or "no reason given"
    return f"{type(error).__name__}, {said[:200]}".rstrip(".")
