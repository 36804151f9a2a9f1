"""One message of a conversation, with an id that makes ingestion idempotent.

Every history, from any product, becomes a stream of turns before it is processed further. A history
is ingested repeatedly while it grows at its end, so the id of a turn is derived from its content
and not from its position in a file:

    field   = length as 8 bytes little-endian, then UTF-8
    content = blake2b-128( thread, session, speaker, text, time ), each as a field;
              time in ns as decimal digits, empty if unknown
    id      = blake2b-64( content, ordinal as 8 bytes little-endian ), as 16 hexadecimal digits

The ordinal counts earlier turns with the same content: two identical "ok" in one session have two
ids, and appending turns changes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
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
    """One message. `time_ns` is UTC, or None if the source has no time; `source_id` is the id in
    the source, or ""."""

    thread: str
    session: str
    speaker: str
    role: TurnRole
    text: str
    time_ns: int | None
    source_id: str
    caption: str = ""


def turn_id(turn: Turn, ordinal: int) -> str:
    """Return the id as 16 hexadecimal digits. `ordinal` is the number of earlier turns with this
    content in the thread."""
    return _id_of(_content(turn), ordinal)


def untimed_id(turn: Turn) -> str:
    """Return the id of a turn whose time and position are not part of it: what a hook reports while
    it is said and what is read from a history later, or twice, is the same turn."""
    return turn_id(replace(turn, time_ns=None), 0)


def identified(turns: Iterable[Turn]) -> Iterator[tuple[str, Turn]]:
    """Pair each turn with its id, counting the ordinals. Turns of several threads may be
    interleaved, since the thread is part of the content."""
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
        # A turn built in code may contain text that no reader produces; it needs an id too.
        data = field.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


def _id_of(content: bytes, ordinal: int) -> str:
    return blake2b(content + ordinal.to_bytes(8, "little"), digest_size=_ID_BYTES).hexdigest()


def turn_of(message: Mapping[str, object], *, thread: str, session: str) -> Turn:
    """Build a turn from a caller's message: `text` (or `content`), and optionally speaker, role,
    time, id, caption, thread, session.

    Raises InputError naming the invalid field.
    """
    if not isinstance(message, Mapping):
        raise InputError(
            f"A message must be a mapping, not {type(message).__name__}.",
            next_step="Give {'speaker': ..., 'text': ...}.",
            field="message",
        )
    unknown = sorted(str(name)[:40] for name in message.keys() - _FIELDS)
    if unknown:
        raise InputError(
            f"A message has unknown fields: {', '.join(unknown)[:200]}.",
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
                f"{name} of a message must be text, not {type(value).__name__}.",
                next_step="Give it as text.",
                field=name,
            )
    if role not in TURN_ROLES:
        raise InputError(
            f"{str(role)[:40]!r} is not a role.",
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
    """Check the fields of a turn that a caller built, and return it. Raises InputError."""
    for name in ("thread", "session", "speaker", "text", "source_id", "caption"):
        value = getattr(turn, name)
        if not isinstance(value, str):
            raise InputError(
                f"{name} of a turn must be text, not {type(value).__name__}.",
                next_step="Give it as text.",
                field=name,
            )
    if turn.role not in TURN_ROLES:
        raise InputError(
            f"{str(turn.role)[:40]!r} is not a role.",
            next_step=f"Use one of {', '.join(TURN_ROLES)}.",
            field="role",
        )
    if turn.time_ns is not None:
        parse_time(turn.time_ns, field="time_ns")
    return turn


def refuse_seconds(value: int, field: str) -> None:
    """Reject an integer time that is probably not in nanoseconds. A value within three years of
    1970 is more likely a recent time in seconds, milliseconds or microseconds."""
    if 0 < abs(value) < _NS_LIKELY_MIN:
        raise InputError(
            f"{field} {value} means {format_time(value)}: integers are nanoseconds since 1970.",
            next_step="Give nanoseconds, ISO 8601 text or a datetime.",
            field=field,
        )


def readable(text: str) -> str:
    """Make text storable: replace lone surrogates by U+FFFD and remove NULs."""
    return (
        text.encode("utf-8", "replace").decode().replace("\0", "")
        if "\0" in text or not text.isascii()
        else text
    )
