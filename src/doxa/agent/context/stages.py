"""The contract of a stage: what takes part in the assembly of an agent's context.

    Stage(name, pool, lines)      lines(situation) -> ContextLine, ContextLine, ...

A stage reads memory by its `Situation` and yields lines, each with the reason why it is there, the
most important first. It neither counts tokens nor looks at other stages: the pipeline
(`pipeline.py`) fits the budget, drops copies and adds what has to be checked. `table.py` lists the
stages in their order.

A line of a stage that is not `quoted` reaches the model with the authority of a system or developer
message: it holds only what a person stands for (`vouching.py`) or what doxa counts itself. A stage
that is `quoted` holds what others said, quoted: it goes into the context as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from doxa.agent.continuity.modes import modes
from doxa.base.ids import digest_of
from doxa.belief.types import Conflict
from doxa.store import Store

if TYPE_CHECKING:
    from doxa.recall import Hit, Recall

Pool = Literal["essential", "high", "medium", "low", "minimal"]
# Shares of the budget. What a pool does not need goes to the next one, never to one before it, so
# that a block does not depend on those that follow.
POOLS: Mapping[Pool, float] = {
    "essential": 0.30,
    "high": 0.25,
    "medium": 0.25,
    "low": 0.15,
    "minimal": 0.05,
}
# At most so much of the budget goes to a stage that is given whole; the pools share the rest.
WHOLE_SHARE = 0.75
MODES = modes()
LANGUAGES = ("en", "de", "es", "fr", "zh")


@dataclass(frozen=True, slots=True)
class ContextLine:
    """One line: its section, its text as the agent reads it, why it is there, its address or "",
    the addresses of what it says besides, and what a verifier found or that nobody looked, which
    the text ends with."""

    section: str
    text: str
    reason: str
    kref: str = ""
    holds: tuple[str, ...] = ()
    note: str = ""

    @property
    def digest(self) -> str:
        """What stands for the line where its words are not to be kept; the same whatever a
        verifier finds."""
        return digest_of(self.section, self._unnoted())

    def noted(self, note: str) -> ContextLine:
        """Return the line with a note at its end."""
        text = f"{self.text[:-1]}; {note}]" if self.text.endswith("]") else f"{self.text} [{note}]"
        return replace(self, text=text, reason=f"{self.reason}; {note}", note=note)

    def _unnoted(self) -> str:
        if not self.note:
            return self.text
        plain = self.text.removesuffix(f"; {self.note}]")
        return f"{plain}]" if plain != self.text else self.text.removesuffix(f" [{self.note}]")


@dataclass(frozen=True, slots=True)
class Situation:
    """What a stage may know: how memory is read in the name of the caller, and what the turn is
    about. `recall`, `recent`, `conflicts` and `chat` are the verbs of the caller's session, so that
    its project, its rights and its policies hold. Times are ns UTC.

    `question` is what the person just wrote; `since_ns` when the last conversation ended;
    `thread` and `session` name the conversation; `given` has digests of addresses that the
    conversation has already; `machine`: whether files of this machine may be looked at.
    """

    store: Store
    project: str
    agent: str
    recall: Callable[..., Recall]
    recent: Callable[..., list[Hit]]
    conflicts: Callable[..., list[Conflict]]
    chat: Callable[[str], Iterable[tuple[str, str, int]]] | None = None
    question: str = ""
    mode: str = "chat"
    session: str = ""
    thread: str = ""
    language: str = "en"
    since_ns: int | None = None
    until_ns: int | None = None
    given: frozenset[str] = frozenset()
    machine: bool = False
    commands: bool = False
    read: dict[str, Any] = field(default_factory=dict)  # what stages of one assembly share

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` returns, made once in an assembly."""
        if key not in self.read:
            self.read[key] = make()
        return self.read[key]


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage. `lines` yields the lines of a situation; `quoted`: they hold what others said;
    `checked`: they say themselves what was checked; `distinct`: two of its lines are the same only
    if their address is; `briefed`: it takes part in the brief of hosts; `modes`: those in which it
    takes part. With `instead` all of its lines are given, or the one that this returns in their
    place; such a stage comes before all others, and no line of it is dropped as a copy."""

    name: str
    pool: Pool
    lines: Callable[[Situation], Iterable[ContextLine]]
    quoted: bool = False
    checked: bool = False
    distinct: bool = False
    briefed: bool = False
    instead: Callable[[Situation, Sequence[ContextLine]], ContextLine] | None = None
    modes: frozenset[str] = frozenset(MODES)
