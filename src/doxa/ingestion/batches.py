"""Storing a batch of which the memory may refuse some items: by a constraint, as too long, as what
may not be stored at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from doxa.base.errors import ConstraintError, DoxaError, InputError, LimitError

_Item = TypeVar("_Item")
_Done = TypeVar("_Done")


def store_what_can(
    items: Sequence[_Item],
    store: Callable[[Sequence[_Item]], _Done],
    refuse: Callable[[_Item, DoxaError], None],
) -> list[_Done]:
    """Store items and return what `store` returned, which may get the same items again after an
    error; `refuse` gets each one that the memory refuses, with the error. A batch that is refused
    is stored by halves, so that one item of n costs some 2 log2(n) more calls. Raises LimitError,
    which is about a quota and passes, and every error that is about no item."""
    try:
        return [store(items)]
    except (InputError, ConstraintError) as error:
        if isinstance(error, LimitError):
            raise
        if len(items) == 1:
            refuse(items[0], error)
            return []
    half = len(items) // 2
    return [
        done
        for some in (items[:half], items[half:])
        for done in store_what_can(some, store, refuse)
    ]
