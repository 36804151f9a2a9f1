"""What a record is, and what a type of record declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from doxa.base.ids import Role
from doxa.store import Node, Transaction

# Called at commit for a record that was made or changed: (transaction, before or None, after).
# Raises what the change is refused with.
Check = Callable[[Transaction, Node | None, Node], None]


@dataclass(frozen=True, slots=True)
class RecordType:
    """One type of record: who makes it, in which states it may be, and who moves it.

    `states`: the state of a new record, and the least role that may make one so.
    `moves`: state -> next state -> the least role. A state without moves is final.
    `noted_by`: the least role that may change `notes`; None: nobody.
    `check`: what else holds at commit.
    """

    name: str
    states: Mapping[str, Role]
    moves: Mapping[str, Mapping[str, Role]] = field(default_factory=dict)
    noted_by: Role | None = None
    check: Check | None = None

    @property
    def known_states(self) -> frozenset[str]:
        """Every state that such a record may be in."""
        return frozenset(self.states).union(self.moves, *self.moves.values())


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is now. Times are ns UTC.

    `content_hash` is the SHA-256 of type, agent, text and data, which never change; `state`, `said`
    (why it moved) and `notes` may.
    """

    kref: str
    project: str
    agent: str
    type: str
    state: str
    text: str
    data: Mapping[str, Any]
    content_hash: str
    made: int
    made_by: str
    moved: int | None = None
    moved_by: str = ""
    said: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the record within its agent and type."""
        return self.kref.rpartition("/")[2].removesuffix(".record")
