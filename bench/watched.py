"""How far a benchmark is, on a terminal only: what it goes through, at what rate, time left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from doxa.cli.context import progress

T = TypeVar("T")


def watched(items: Iterable[T], what: str) -> Iterator[T]:
    """Yield the items and show how many are done."""
    held = list(items)
    with progress(what, False, total=len(held)) as advance:
        for one in held:
            yield one
            advance(1)
