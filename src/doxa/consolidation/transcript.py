"""The turns of one session or thread, as producers read them and the validator checks claims.

Turns whose source is not trusted (tools, systems, people without a name) are not in it: nothing is
concluded from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b

from doxa.base.clock import format_time

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class SourceTurn:
    """One turn: `id` is the name of its exchange, `kref` its address."""

    id: str
    speaker: str
    role: str
    text: str
    time_ns: int
    kref: str = ""
    session: str = ""

    @property
    def is_persons(self) -> bool:
        """Whether a person said it, and not an assistant."""
        return self.role in ("user", "person")

    def as_data(self) -> dict[str, str]:
        """Return the turn as a host or model is given it."""
        return {
            "id": self.id,
            "time": format_time(self.time_ns)[:16],
            "speaker": self.speaker,
            "role": self.role,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a session in the order of their time. `left_out` counts turns that nothing may
    be concluded from."""

    project: str
    thread: str
    session: str
    turns: tuple[SourceTurn, ...]
    left_out: int = 0
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "digest", digest_of(self.turns))

    @property
    def speakers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns))

    def turn(self, identity: str) -> SourceTurn | None:
        return next((turn for turn in self.turns if turn.id == identity), None)


def digest_of(turns: Iterable[SourceTurn]) -> str:
    """Return what changes whenever a turn, its words or its time do."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for turn in turns:
        for part in (turn.id, turn.speaker, turn.text, str(turn.time_ns)):
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
    return digest.hexdigest()
