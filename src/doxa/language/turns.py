"""One message of a conversation, and the id that makes reading it twice harmless.

Every history, whatever product wrote it, becomes a stream of turns before anything else looks at
it. A history is read again and again while it grows at its end, so a turn's id comes from its
content and not from its place in a file:

    content = blake2b-128( field, field, ... )       field = length as 8 bytes, little end first,
    then UTF-8
              fields: thread, session, speaker, text, time in ns as decimal digits (empty when
              unknown)
    id      = blake2b-64( content, ordinal as 8 bytes ), as 16 hexadecimal digits

The ordinal counts earlier turns of the same content: two identical "ok" in one session keep two
ids, and appending changes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

from doxa.base.clock import format_time, parse_time
from doxa.base.errors import InputError

TurnRole = Literal["user", "assistant", "system", "tool", "person"]
TURN_ROLES: tuple[TurnRole, ...] = ("user", "assistant", "system", "tool", "person")

_FIELDS = frozenset("text content role id caption thread session speaker time timestamp".split())
_NS_LIKELY_MIN = 10**17
_CONTENT_BYTES = 16
_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class Turn:
    """One message. `time_ns` is UTC or None when the source has no time; `source_id` is the
    source's own id or ""."""

    thread: str
    session: str
    speaker: str
    role: TurnRole
    text: str
    time_ns: int | None
    source_id: str
    caption: str = ""


def turn_id(turn: Turn, ordinal: int) -> str:
    """16 hexadecimal digits; `ordinal` counts from 0 the earlier turns of this content in the
    thread."""
    return _id_of(_content(turn), ordinal)


def identified(turns: Iterable[Turn]) -> Iterator[tuple[str, Turn]]:
    """Pair each turn with its id, counting the ordinals. The thread is part of the content, so
    threads may come mixed."""
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
        # A turn built in code may hold what no reader lets through; an id must exist for it all the
        # same.
        data = field.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def _id_of(content: bytes, ordinal: int) -> str:
    return blake2b(content + ordinal.to_bytes(8, "little"), digest_size=_ID_BYTES).hexdigest()


def turn_of(message: Mapping[str, object], *, thread: str, session: str) -> Turn:
    """A turn from a message as callers give it: `text` (or `content`), and optionally speaker,
    role, time, id, caption, thread, session.

    Raises InputError naming the field that does not fit.
    """
    if not isinstance(message, Mapping):
        raise InputError(
            f"A message is a mapping; this is {type(message).__name__}.",
            next_step="Give {'speaker': ..., 'text': ...}.",
            field="message",
        )
    unknown = sorted(str(name)[:40] for name in message.keys() - _FIELDS)
    if unknown:
        raise InputError(
            f"A message has no field {', '.join(unknown)[:200]}.",
            next_step=f"Use {', '.join(sorted(_FIELDS))}.",
            field="message",
        )
    text = message.get("text", message.get("content"))
    role = message.get("role", "person")
    values = {name: message.get(name, "") for name in ("id", "caption")}
    values["thread"] = message.get("thread", thread) or "default"
    values["session"] = message.get("session", session)
    values["speaker"] = message.get("speaker") or role
    for name, value in (*values.items(), ("text", text)):
        if not isinstance(value, str):
            raise InputError(
                f"{name} of a message is text; this is {type(value).__name__}.",
                next_step="Give it as text.",
                field=name,
            )
    if role not in TURN_ROLES:
        raise InputError(
            f"{str(role)[:40]!r} is no role.",
            next_step=f"Use one of {', '.join(TURN_ROLES)}.",
            field="role",
        )
    time = message.get("time", message.get("timestamp"))
    if isinstance(time, int) and not isinstance(time, bool):
        refuse_seconds(time, "time")
    when = None if time is None else parse_time(time, field="time")  # type: ignore[arg-type]
    thread, session, speaker, source_id, caption = (
        readable(str(values[name])) for name in ("thread", "session", "speaker", "id", "caption")
    )
    return Turn(thread, session, speaker, role, readable(str(text)), when, source_id, caption)


def check_turn(turn: Turn) -> Turn:
    """A turn that a caller built itself, whose fields nobody has looked at yet."""
    for name in ("thread", "session", "speaker", "text", "source_id", "caption"):
        value = getattr(turn, name)
        if not isinstance(value, str):
            raise InputError(
                f"{name} of a turn is text; this is {type(value).__name__}.",
                next_step="Give it as text.",
                field=name,
            )
    if turn.role not in TURN_ROLES:
        raise InputError(
            f"{str(turn.role)[:40]!r} is no role.",
            next_step=f"Use one of {', '.join(TURN_ROLES)}.",
            field="role",
        )
    if turn.time_ns is not None:
        parse_time(turn.time_ns, field="time_ns")
    return turn


def refuse_seconds(value: int, field: str) -> None:
    """Integers are nanoseconds. One of the first three years around 1970 is more likely of today,
    in seconds, milliseconds or microseconds."""
    if 0 < abs(value) < _NS_LIKELY_MIN:
        raise InputError(
            f"{field} {value} would be {format_time(value)}: integers are nanoseconds since 1970.",
            next_step="Give nanoseconds, ISO 8601 text or a datetime.",
            field=field,
        )


def readable(text: str) -> str:
    """Text that can be stored: lone surrogates become U+FFFD, NULs go."""
    return (
        text.encode("utf-8", "replace").decode().replace("\0", "")
        if "\0" in text or not text.isascii()
        else text
    )
