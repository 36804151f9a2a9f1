"""One message of a conversation, and the id that makes reading it twice harmless.

Every history, whatever product wrote it, becomes a stream of turns before anything else looks at it. A history is read again and
again while it grows at its end, so a turn's id comes from its content and not from its place in a file:

    content = blake2b-128( field, field, ... )       field = length as 8 bytes, little end first, then UTF-8
              fields: thread, session, speaker, text, time in ns as decimal digits (empty when unknown)
    id      = blake2b-64( content, ordinal as 8 bytes ), as 16 hexadecimal digits

The ordinal counts earlier turns of the same content: two identical "ok" in one session keep two ids, and appending changes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

TurnRole = Literal["user", "assistant", "system", "tool", "person"]
TURN_ROLES: tuple[TurnRole, ...] = ("user", "assistant", "system", "tool", "person")

_CONTENT_BYTES = 16
_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `time_ns` is UTC or None when the source has no time; `source_id` is the source's own id or ""."""

    thread: str
    session: str
    speaker: str
    role: TurnRole
    text: str
    time_ns: int | None
    source_id: str
    caption: str = ""


def turn_id(turn: Turn, ordinal: int) -> str:
    """16 hexadecimal digits; `ordinal` counts from 0 the earlier turns of this content in the thread."""
    return _id_of(_content(turn), ordinal)


def identified(turns: Iterable[Turn]) -> Iterator[tuple[str, Turn]]:
    """Pair each turn with its id, counting the ordinals. The thread is part of the content, so threads may come mixed."""
    seen: dict[bytes, int] = {}
    for turn in turns:
        content = _content(turn)
        ordinal = seen.get(content, 0)
        seen[content] = ordinal + 1
        yield _id_of(content, ordinal), turn


def _content(turn: Turn) -> bytes:
    time = "" if turn.time_ns is None else str(turn.time_ns)
    digest = blake2b(digest_size=_CONTENT_BYTES)
    for field in (turn.thread, turn.session, turn.speaker, turn.text, time):
        # A turn built in code may hold what no reader lets through; an id must exist for it all the same.
        data = field.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def _id_of(content: bytes, ordinal: int) -> str:
    return blake2b(content + ordinal.to_bytes(8, "little"), digest_size=_ID_BYTES).hexdigest()
