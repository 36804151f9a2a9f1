"""The numbers of the changes that a piece of work committed, for its log line.

with collected() as numbers: ...     the caller of the work, on its thread
committed(7)                         the store, after a commit of that thread
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NUMBERS: ContextVar[list[int] | None] = ContextVar("committed", default=None)


def committed(number: int) -> None:
    """Note a commit of this thread, if somebody collects them."""
    numbers = _NUMBERS.get()
    if numbers is not None:
        numbers.append(number)


def collect(numbers: list[int] | None) -> None:
    """Collect what this thread commits in a list from now on; None: no more."""
    _NUMBERS.set(numbers)


@contextmanager
def collected(numbers: list[int]) -> Iterator[None]:
    """Collect what this thread commits in the block."""
    token = _NUMBERS.set(numbers)
    try:
        yield
    finally:
        _NUMBERS.reset(token)
