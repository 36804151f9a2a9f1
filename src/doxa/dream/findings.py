"""What an assessor is given, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from doxa.store import Node, Reader

FindingKind = Literal[
    "duplicate", "contradiction", "stale", "gap", "relation", "summary", "unsupported"
]
KINDS: tuple[FindingKind, ...] = (
    "duplicate",
    "contradiction",
    "stale",
    "gap",
    "relation",
    "summary",
    "unsupported",
)
# Proposed only if all kinds are asked for: in one of the two labelled samples less than 80 % were
# right (bench/dream.py).
DOUBTFUL: tuple[FindingKind, ...] = ("contradiction", "gap", "summary")
TAKING: tuple[FindingKind, ...] = ("duplicate", "contradiction", "stale")  # they end a belief


@dataclass(frozen=True, slots=True)
class DreamFinding:
    """One proposal of an assessor: its kind, the reason in words, the addresses that it concerns,
    and the action (dream/actions.py). `ends` is the address of the belief that it would end."""

    kind: FindingKind
    reason: str
    about: tuple[str, ...]
    action: Mapping[str, Any] = field(default_factory=dict)
    ends: str = ""
    name: str = ""
    by: str = "rules"

    @property
    def key(self) -> str:
        """What tells it from others: its kind, and its name or what it concerns and would end."""
        if self.name:
            return f"{self.kind}|{self.name}"
        return "|".join((self.kind, self.ends, self.name, *sorted(self.about)))


@dataclass(frozen=True, slots=True)
class DreamBatch:
    """A batch for an assessor: at most DREAM_BATCH_ITEMS_MAX current revisions of one project, the
    bundles that hold them, the threads with new turns, what lost its support, and names by the
    addresses of new turns that contain them."""

    project: str
    beliefs: tuple[Node, ...]
    bundles: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    threads: tuple[str, ...] = ()
    unsupported: tuple[Node, ...] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    expired: tuple[Node, ...] = ()


class Assessor(Protocol):
    """Looks at a batch and says what it would change. It writes nothing."""

    @property
    def name(self) -> str: ...

    def assess(self, reader: Reader, batch: DreamBatch) -> list[DreamFinding]: ...
