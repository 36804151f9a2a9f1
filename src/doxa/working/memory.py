"""Working memory as the verbs use it: arguments are checked and secrets removed here, once for all
backends.

A session is one (project, context, user, session). It holds its newest 50 messages and expires an
hour after it was last written or read. Nothing of it is in the graph, the log, recall or an export
until something consolidates it: `snapshot` is what a consolidation reads, `consolidated` how it
says how far it came.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from doxa.base.clock import NS, Clock
from doxa.base.errors import ConflictError, CorruptError, InputError, NotFoundError, ReadOnlyError
from doxa.base.limits import (
    WORKING_MESSAGE_BYTES_MAX,
    WORKING_MESSAGES_ITEMS_MAX,
    WORKING_SESSIONS_ITEMS_MAX,
)
from doxa.base.values import check_text
from doxa.redaction.redact import redact, redact_named, refuse_secret
from doxa.working import names
from doxa.working.sqlite_backend import SqliteBackend
from doxa.working.types import (
    Chat,
    ChatAdded,
    ChatBackend,
    ChatHealth,
    ChatKey,
    ChatMessage,
    ChatSummary,
    Held,
    Lifetime,
)

CHAT_ROLES = ("user", "assistant", "system", "tool")
_MS = NS // 1_000
_SOON_MS = 600_000  # of an hour


def open_working(
    url: str | None, path: Path, *, clock: Clock, ttl_s: int, read_only: bool
) -> WorkingMemory:
    """Open the working memory of a file: on Redis where there is a URL, else in `path`."""
    backend: ChatBackend
    if url:
        from doxa.working.redis_backend import RedisBackend

        backend = RedisBackend(url)
    else:
        backend = SqliteBackend(path, read_only=read_only)
    return WorkingMemory(backend, clock=clock, ttl_s=ttl_s, read_only=read_only)


class WorkingMemory:
    """The sessions of a backend. Safe to share between threads. `context`, `user` and `session` are
    names that callers give; an empty session is the one that the user has in the context."""

    def __init__(
        self, backend: ChatBackend, *, clock: Clock, ttl_s: int, read_only: bool = False
    ) -> None:
        self._backend = backend
        self._clock = clock
        self._ttl_ms = ttl_s * 1_000
        self._read_only = read_only
        self._secret = b""

    def close(self) -> None:
        """Destroy what has expired, and close the backend's connections."""
        self._backend.close(self._clock.now_ns() // _MS)

    def add(
        self,
        text: str,
        *,
        project: str,
        role: str = "user",
        session: str = "",
        user: str = "",
        context: str = "",
        metadata: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
    ) -> ChatAdded:
        """Add a message to a session; without one, to the user's own in this context."""
        self._require_writable()
        now_ns = self._clock.now_ns()
        token = _token(idempotency_key)
        message, kinds = _encoded(text, role, metadata, now_ns)
        life = self._life(now_ns)
        key = self._key(project, session, user, context, mint=now_ns)
        assert key is not None
        written = self._backend.append(key, token, message, life)
        if written.first is not None:
            first = _decoded(written.first)
            if (first["role"], first["text"]) != (role, _decoded(message)["text"]):
                raise ConflictError(
                    "The idempotency key belongs to another message of this session.",
                    next_step="Use a new key for a new message.",
                    field="idempotency_key",
                    id=_id(written.generation, written.number),
                )
            kinds = tuple(first["redacted"])
        return ChatAdded(
            key.session,
            _id(written.generation, written.number),
            written.first is None or not idempotency_key,
            written.pending,
            written.dropped,
            written.pending >= WORKING_MESSAGES_ITEMS_MAX,
            written.until_ms * _MS,
            kinds,
        )

    def get(
        self,
        *,
        project: str,
        session: str = "",
        user: str = "",
        context: str = "",
        limit: int = WORKING_MESSAGES_ITEMS_MAX,
    ) -> Chat:
        """Return the newest messages of a session, which lives on. A session that does not exist
        has no messages."""
        return self._read(project, session, user, context, limit=limit, touch=not self._read_only)

    def snapshot(
        self, *, project: str, session: str = "", user: str = "", context: str = ""
    ) -> Chat:
        """Return the messages that are not marked as consolidated. The session does not live longer
        for it: what reads in the background is not use."""
        limit = WORKING_MESSAGES_ITEMS_MAX
        found = self._read(project, session, user, context, limit=limit, touch=False)
        waiting = tuple(one for one in found.messages if not one.consolidated)
        return Chat(
            found.session,
            found.project,
            found.context,
            found.user,
            waiting,
            found.pending,
            found.dropped,
            found.until,
        )

    def consolidated(
        self, through: str, *, project: str, session: str = "", user: str = "", context: str = ""
    ) -> int:
        """Mark the messages of a session up to an id as consolidated, and return how many were not
        before. Marking again changes nothing. Raises NotFoundError if the session ended since."""
        self._require_writable()
        generation, number = _parsed_id(through)
        key = self._key(project, session, user, context)
        life = self._life(self._clock.now_ns())
        marked = None if key is None else self._backend.mark(key, generation, number, life)
        if marked is None:
            raise NotFoundError(
                f"The session that the message {through[:40]!r} was in has ended.",
                next_step="Nothing is left to mark; what was read from it can be stored.",
                field="through",
            )
        return marked

    def clear(self, *, project: str, session: str = "", user: str = "", context: str = "") -> int:
        """Destroy the messages of one session, and return how many there were."""
        self._require_writable()
        key = self._key(project, session, user, context)
        return 0 if key is None else self._backend.clear(key, self._life(self._clock.now_ns()))

    def clear_all(self, *, project: str, user: str = "", context: str = "") -> int:
        """Destroy every session of a project, of one user or in one context only if named."""
        self._require_writable()
        found = self._listed(project, user, context)
        life = self._life(self._clock.now_ns())
        return sum(self._backend.clear(one.key, life) for one in found)

    def sessions(
        self,
        *,
        project: str,
        user: str = "",
        context: str = "",
        limit: int = WORKING_SESSIONS_ITEMS_MAX,
    ) -> list[ChatSummary]:
        """List sessions, the one used last first."""
        return [
            ChatSummary(
                one.key.session,
                one.key.project,
                one.key.context,
                one.key.user,
                one.length,
                one.pending,
                one.dropped,
                one.since_ms * _MS,
                one.until_ms * _MS,
            )
            for one in self._listed(project, user, context)[:limit]
        ]

    def health(self, projects: Sequence[str]) -> ChatHealth:
        """Count the sessions of these projects: those that end soon with messages that are not
        consolidated, those that are full, and those that lost messages. Raises what the backend
        raises if it cannot be reached."""
        life = self._life(self._clock.now_ns())
        sessions = [self._backend.sessions(project, life) for project in projects]
        held = [one for some in sessions for one in some]
        soon_ms = min(_SOON_MS, self._ttl_ms // 2)
        ending = sum(one.pending > 0 and one.until_ms - life.now_ms <= soon_ms for one in held)
        full = sum(one.pending >= WORKING_MESSAGES_ITEMS_MAX for one in held)
        lost = sum(one.dropped for one in held)
        crowded = any(len(some) >= WORKING_SESSIONS_ITEMS_MAX for some in sessions)
        counts = {
            f"end within {soon_ms // 1_000} s with messages that are not consolidated": ending,
            f"are full ({WORKING_MESSAGES_ITEMS_MAX} messages that are not consolidated)": full,
        }
        parts = [f"{self._backend.place()}: {len(held)} sessions"]
        parts += [f"{count} {said}" for said, count in counts.items() if count]
        parts += [f"{lost} messages fell out before they were consolidated"] if lost else []
        parts += [f"a project has {WORKING_SESSIONS_ITEMS_MAX:,}, no more fit"] if crowded else []
        step = "Consolidate them, or take over what matters with `remember`."
        if crowded:
            step = "End sessions that are not used any more with `doxa chat-clear`."
        return ChatHealth(crowded, "; ".join(parts), step if len(parts) > 1 else "")

    def _listed(self, project: str, user: str, context: str) -> list[Held]:
        named_user = names.pseudonym(user, self._pseudonym_secret)
        named_context = names.check_context(context) if context != "" else ""
        return [
            one
            for one in self._backend.sessions(project, self._life(self._clock.now_ns()))
            if (not named_user or one.key.user == named_user)
            and (not named_context or one.key.context == named_context)
        ]

    def _read(
        self, project: str, session: str, user: str, context: str, *, limit: int, touch: bool
    ) -> Chat:
        now_ns = self._clock.now_ns()
        key = self._key(project, session, user, context)
        if key is None:
            own = names.pseudonym(user, self._pseudonym_secret)
            return Chat("", project, names.check_context(context), own)
        held = self._backend.read(key, self._life(now_ns), limit=limit, touch=touch)
        if held is None:
            return Chat(key.session, project, key.context, key.user)
        return Chat(
            key.session,
            project,
            key.context,
            key.user,
            tuple(_message(held, number, data) for number, data in held.messages),
            held.pending,
            held.dropped,
            held.until_ms * _MS,
        )

    def _key(
        self, project: str, session: str, user: str, context: str, *, mint: int = 0
    ) -> ChatKey | None:
        """Return the key of a session. Without a name it is the user's own in this context: the one
        in use, else a new one made at the time `mint`, else None."""
        refuse_secret(project, field="project")
        named = names.check_label(session, "session")
        own = names.pseudonym(user, self._pseudonym_secret)
        place = names.check_context(context)
        if named:
            given = user != "" or context != ""
            return names.key_of(named, project=project, context=place, user=own, is_given=given)
        now_ns = mint or self._clock.now_ns()
        prefix = names.handle_prefix(place, own, now_ns)
        found = self._backend.current(
            project, place, own, prefix, self._life(now_ns), mint=bool(mint)
        )
        return ChatKey(project, place, own, found, True) if found else None

    def _pseudonym_secret(self) -> bytes:
        self._secret = self._backend.secret(self._secret)
        return self._secret

    def _life(self, now_ns: int) -> Lifetime:
        return Lifetime(now_ns // _MS, self._ttl_ms)

    def _require_writable(self) -> None:
        if self._read_only:
            raise ReadOnlyError(
                "This memory was opened to be read only; working memory is not written either.",
                next_step="Open it without read_only.",
            )


def _encoded(
    text: object, role: object, metadata: Mapping[str, Any] | None, now_ns: int
) -> tuple[bytes, tuple[str, ...]]:
    """Return a message as it is stored, without secrets, and the kinds of those. Raises InputError
    or LimitError."""
    if role not in CHAT_ROLES:
        raise InputError(
            f"{str(role)[:40]!r} is not the role of a message.",
            next_step=f"Use one of {', '.join(CHAT_ROLES)}.",
            field="role",
        )
    if not isinstance(text, str) or not text:
        raise InputError(
            "A message is text, and not empty.",
            next_step="Give what was said.",
            field="text",
        )
    check_text(text, field="text", bytes_max=WORKING_MESSAGE_BYTES_MAX)
    clean = redact(text)
    kinds = [one.kind for one in clean.findings]
    kept = {}
    for name, value in _checked_metadata(metadata).items():
        if isinstance(value, str):
            found = redact_named(name, value)
            kinds += [one.kind for one in found.findings]
            value = found.text
        kept[refuse_secret(name, field="metadata")] = value
    redacted = tuple(dict.fromkeys(kinds))
    data = {
        "role": role,
        "text": clean.text,
        "time": now_ns,
        "metadata": kept,
        "redacted": redacted,
    }
    size = len(json.dumps(kept, ensure_ascii=False).encode()) if kept else 0
    check_text("x" * size, field="metadata", bytes_max=WORKING_MESSAGE_BYTES_MAX)
    return json.dumps(data, ensure_ascii=False).encode(), redacted


def _checked_metadata(value: object) -> dict[str, str | int | float | bool]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(
            f"metadata must be a mapping, not {type(value).__name__}.",
            next_step="Give {'name': value}.",
            field="metadata",
        )
    for name, one in value.items():
        plain = isinstance(one, (str, int, float, bool)) and one == one
        if not isinstance(name, str) or not plain or abs(_size(one)) == float("inf"):
            raise InputError(
                f"metadata maps names to text, numbers and booleans; {str(name)[:40]!r} is"
                " something else.",
                next_step="Give other values as text.",
                field="metadata",
            )
        check_text(name, field="metadata")
        if isinstance(one, str):
            check_text(one, field="metadata")
    return dict(value)


def _size(value: object) -> float:
    return value if isinstance(value, float) else 0.0


def _token(key: object) -> str:
    """Return what a message is known by while it is in the buffer: of the caller's key, or random,
    so that a repeated request of our own adds nothing twice."""
    if not isinstance(key, str):
        raise InputError(
            f"idempotency_key must be text, not {type(key).__name__}.",
            next_step="Give it as text.",
            field="idempotency_key",
        )
    if not key:
        return secrets.token_hex(16)
    import hashlib

    return hashlib.sha256(names.check_label(key, "idempotency_key").encode()).hexdigest()


def _id(generation: str, number: int) -> str:
    return f"{generation}-{number}"


def _parsed_id(value: object) -> tuple[str, int]:
    generation, _, number = value.partition("-") if isinstance(value, str) else ("", "", "")
    if not (number.isascii() and number.isdigit() and len(number) < 16):
        raise InputError(
            f"{str(value)[:40]!r} is not the id of a message.",
            next_step="Give the id of a message that was returned.",
            field="through",
        )
    return generation, int(number)


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
        if isinstance(found, dict) and found.keys() >= {"role", "text", "time", "metadata"}:
            return found
    except ValueError:
        pass
    raise CorruptError(
        "A message of working memory cannot be read.",
        next_step="Clear its session; nothing else depends on it.",
    )


def _message(held: Held, number: int, data: bytes) -> ChatMessage:
    found = _decoded(data)
    return ChatMessage(
        _id(held.generation, number),
        found["role"],
        found["text"],
        found["time"],
        found["metadata"],
        tuple(found.get("redacted", ())),
        number <= held.done,
    )
