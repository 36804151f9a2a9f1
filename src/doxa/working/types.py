"""What working memory returns, and what its backends are given and give back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a session. `id` is stable and unique: a session that begins again after it
    expired or was cleared has other ids. `redacted` has the kinds of secrets left out of it."""

    id: str
    role: str
    text: str
    time: int
    metadata: Mapping[str, object] = field(default_factory=dict)
    redacted: tuple[str, ...] = ()
    consolidated: bool = False


@dataclass(frozen=True, slots=True)
class Chat:
    """A session with its messages, oldest first. `pending` counts messages that are not marked as
    consolidated, `dropped` those that fell out of the buffer before they were. It expires at
    `until`."""

    session: str
    project: str
    context: str
    user: str
    messages: tuple[ChatMessage, ...] = ()
    pending: int = 0
    dropped: int = 0
    until: int | None = None


@dataclass(frozen=True, slots=True)
class ChatAdded:
    """The result of adding a message: the session it went to and its id. `added` is false where the
    idempotency key was known, and `id` then is that of the first message. `full`: the next message
    pushes out one that is not consolidated."""

    session: str
    id: str
    added: bool
    pending: int
    dropped: int
    full: bool
    until: int
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChatHealth:
    """What doctor says about working memory. `crowded`: a project has no room for a session."""

    crowded: bool
    detail: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class ChatSummary:
    """A session in a list, without its messages."""

    session: str
    project: str
    context: str
    user: str
    messages: int
    pending: int
    dropped: int
    since: int
    until: int


class ChatKey(NamedTuple):
    """What identifies a session. `user` is the pseudonym, never the name; `minted` is whether the
    session is one of our handles."""

    project: str
    context: str
    user: str
    session: str
    minted: bool


class Written(NamedTuple):
    """What a backend says of a message that it was given, or that was there under its key."""

    generation: str
    number: int
    first: bytes | None  # the message that the token belongs to, where it was known
    length: int
    last: int
    done: int
    dropped: int
    until_ms: int

    @property
    def pending(self) -> int:
        return min(self.length, self.last - self.done)


class Held(NamedTuple):
    """What a backend holds of a session: messages as (number, encoded message)."""

    key: ChatKey
    generation: str
    messages: tuple[tuple[int, bytes], ...]
    length: int
    last: int
    done: int
    dropped: int
    since_ms: int
    until_ms: int

    @property
    def pending(self) -> int:
        return min(self.length, self.last - self.done)


def new_generation() -> str:
    """Return what distinguishes the ids of a session from those of an earlier one of its name."""
    return secrets.token_hex(6)


class Lifetime(NamedTuple):
    """The time of a call, and how long a session lives after it; in milliseconds."""

    now_ms: int
    ttl_ms: int

    @property
    def until_ms(self) -> int:
        return self.now_ms + self.ttl_ms


class ChatBackend(Protocol):
    """Where sessions are kept. Each call is atomic; an expired session is as if it did not exist.
    One contract test runs on every implementation (`tests/working/test_contract.py`)."""

    def secret(self, known: bytes) -> bytes:
        """Return the random key of the pseudonyms, made once; b"" if there is none to read. `known`
        is the one that this process had from it, b"" at first: it is restored if it was lost."""

    def append(self, key: ChatKey, token: str, message: bytes, life: Lifetime) -> Written:
        """Add a message, unless the session holds one with this token. Drops the oldest beyond the
        limit, and makes the session live on. Raises LimitError for too many sessions."""

    def read(self, key: ChatKey, life: Lifetime, *, limit: int, touch: bool) -> Held | None:
        """Return the newest messages; with `touch` the session lives on."""

    def mark(self, key: ChatKey, generation: str, number: int, life: Lifetime) -> int | None:
        """Mark messages up to a number as consolidated, and return how many this changed; None if
        the session does not exist."""

    def clear(self, key: ChatKey, life: Lifetime) -> int:
        """Destroy a session and return how many messages it had."""

    def sessions(self, project: str, life: Lifetime) -> list[Held]:
        """Return the sessions of a project without messages, the one used last first."""

    def current(
        self, project: str, context: str, user: str, prefix: str, life: Lifetime, *, mint: bool
    ) -> str:
        """Return the handle in use, which lives on; else a new one that begins with `prefix`, or
        "" unless `mint`."""

    def place(self) -> str:
        """Return where the sessions are, without a password."""

    def close(self, now_ms: int) -> None:
        """Destroy what has expired, and close connections."""
