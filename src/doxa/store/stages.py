"""How long work says how far it is: with each step that begins and how much it has to do, for a
function that takes how much of it was done since its last call."""

from __future__ import annotations

from collections.abc import Callable

Stages = Callable[[str, int], Callable[[int], None]]


def no_stages(what: str, total: int) -> Callable[[int], None]:
    """Report nothing."""
    return lambda _: None
