"""A memory whose clock is set by hand, and a policy that hides episodes after about 23 days."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import doxa
from doxa.base.clock import FakeClock

START = 1_700_000_000_000_000_000
DAY = 86_400


class World:
    """A memory with a clock that is set by hand."""

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock(START)
        self.memory = doxa.open(
            path, role="operator", embedder=None, background=False, clock=self.clock
        )

    def run(self, text: str, params: Any = None, **context: Any) -> list[dict[str, Any]]:
        with self.memory.session(role="operator", context=context).graph() as graph:
            return graph.run(text, params).records()

    def one(self, text: str, params: Any = None, **context: Any) -> Any:
        (row,) = self.run(text, params, **context)
        (value,) = row.values()
        return value

    def later(self, days: float) -> None:
        self.clock.advance(days=days)


EPISODES = (
    "CREATE DECAY PROFILE week OPTIONS { halfLifeSeconds: 604800, function: 'exponential',"
    " visibilityThreshold: 0.10 } CREATE DECAY PROFILE episodes FOR (n:Episode) APPLY { DECAY"
    " PROFILE 'week' }"
)


def exactly(world: World, ns: int) -> None:
    world.clock.set(ns)
