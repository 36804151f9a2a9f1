"""One question of a set that is held open: where and when it is asked, what an answer is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import doxa
from doxa.base.clock import FakeClock
from doxa.recall import Hit, Recall


@dataclass(frozen=True, slots=True)
class Asked:
    """One question. `group` is the conversation that it is about, `value` what its hits are worth,
    from 0 to 1, and `options` are those of its recall. With a `clock`, it is asked at `now_ns`."""

    memory: doxa.Memory
    project: str
    question: str
    group: str
    value: Callable[[Sequence[Hit]], float]
    options: Mapping[str, Any] = field(default_factory=dict)
    clock: FakeClock | None = None
    now_ns: int = 0

    def recall(self, options: Mapping[str, Any]) -> Recall:
        """Ask it, with more options of `Memory.recall`."""
        if self.clock is not None:
            self.clock.set(self.now_ns)
        return self.memory.recall(
            self.question, project=self.project, **{**self.options, **options}
        )
