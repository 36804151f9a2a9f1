"""Asking long work to stop where it can: between two batches, so that what it did is whole. And
what is left to do when a child process was asked to end.

with stoppable(lambda: cancelled):     who calls the work, on its thread
    memory.dream()
if stop_asked(): ...                   the work, before its next batch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

_ASKED: ContextVar[Callable[[], bool] | None] = ContextVar("stop_asked", default=None)


@contextmanager
def stoppable(asked: Callable[[], bool]) -> Iterator[None]:
    """Let the work of this block, on this thread, be stopped when `asked` returns true."""
    token = _ASKED.set(asked)
    try:
        yield
    finally:
        _ASKED.reset(token)


def stop_asked() -> bool:
    """Return whether the caller of this work wants it to stop."""
    asked = _ASKED.get()
    return asked is not None and asked()


def release(process: Popen[bytes]) -> None:
    """Close the pipes of a child that ends, and wait until it has: none stays as a zombie. What
    makes it end, a signal to it or to its group, is the caller's."""
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError):  # what was not written yet cannot be
                pipe.close()
    process.wait()
