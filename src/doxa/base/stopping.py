"""Asking long work to stop where it can: between two batches, so that what it did is whole.

with stoppable(lambda: cancelled):     who calls the work, on its thread
    memory.dream()
if stop_asked(): ...                   the work, before its next batch
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

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
