"""What clients send: the messages of each version, when they are allowed, and how they are decoded.

Drivers send the same short messages again and again, and statements whose parameters alone differ.
What these were decoded to is kept, for all clients that have logged in: whole messages that are
short, and of RUN the text and the last field. What handles them changes nothing in them.

Source: the Bolt documentation, "Bolt Protocol message specification".
"""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from doxa.base.errors import InputError
from doxa.servers.bolt.framing import Version
from doxa.servers.bolt.packstream import KnownFields, Unpacker
from doxa.servers.bolt.values import hydrate


class BoltState(Enum):
    NEGOTIATION = "NEGOTIATION"
    AUTHENTICATION = "AUTHENTICATION"
    READY = "READY"
    STREAMING = "STREAMING"
    TX_READY = "TX_READY"
    TX_STREAMING = "TX_STREAMING"
    FAILED = "FAILED"
    INTERRUPTED = "INTERRUPTED"
    DEFUNCT = "DEFUNCT"


class Request(NamedTuple):
    """A message type: its name, number of fields, and the version that introduced it."""

    name: str
    fields: int
    since: tuple[int, int] = (4, 0)


HELLO, LOGON, LOGOFF = (
    Request("HELLO", 1),
    Request("LOGON", 1, (5, 1)),
    Request("LOGOFF", 0, (5, 1)),
)
GOODBYE, RESET, TELEMETRY, ROUTE = (
    Request("GOODBYE", 0),
    Request("RESET", 0),
    Request("TELEMETRY", 1, (5, 4)),
    Request("ROUTE", 3),
)
RUN, PULL, DISCARD = Request("RUN", 3), Request("PULL", 1), Request("DISCARD", 1)
BEGIN, COMMIT, ROLLBACK = Request("BEGIN", 1), Request("COMMIT", 0), Request("ROLLBACK", 0)

REQUESTS = {
    0x01: HELLO,
    0x02: GOODBYE,
    0x0F: RESET,
    0x10: RUN,
    0x11: BEGIN,
    0x12: COMMIT,
    0x13: ROLLBACK,
    0x2F: DISCARD,
    0x3F: PULL,
    0x54: TELEMETRY,
    0x66: ROUTE,
    0x6A: LOGON,
    0x6B: LOGOFF,
}

_ALLOWED: dict[BoltState, tuple[Request, ...]] = {
    BoltState.NEGOTIATION: (HELLO,),
    BoltState.AUTHENTICATION: (LOGON,),
    BoltState.READY: (RUN, BEGIN, ROUTE, LOGOFF, TELEMETRY),
    BoltState.STREAMING: (PULL, DISCARD),
    BoltState.TX_READY: (RUN, COMMIT, ROLLBACK),
    BoltState.TX_STREAMING: (RUN, PULL, DISCARD, COMMIT, ROLLBACK),
}
# the states in which a request is allowed, by its name
ALLOWED_IN = {
    request.name: tuple([state for state, allowed in _ALLOWED.items() if request in allowed])
    for request in REQUESTS.values()
}

_ONLY_READ = frozenset((BEGIN, PULL, DISCARD, COMMIT, ROLLBACK))
_SHORT_BYTES, _SHORT_MAX = 128, 1_000
KEPT: dict[bytes, tuple[Request, list[Any]]] = {}  # short messages, as they were decoded
_FIELDS = KnownFields()
_RUN_START = b"\xb3\x10"


def decoded(
    message: bytes, version: Version, *, utc: bool, keep: bool, wrong: list[InputError]
) -> tuple[Request, list[Any]]:
    """Decode a message to its type and its fields. Raises InputError or LimitError for one that
    is not a message of this version. A value that no property can have is None, and its error
    added to `wrong`. `utc`: what the seconds of a DateTime count. `keep`: for the next time."""
    is_plain = True

    def read(tag: int, fields: list[Any]) -> Any:
        nonlocal is_plain
        is_plain = False
        try:
            return hydrate(tag, fields, utc=utc)
        except InputError as error:
            wrong.append(error)
            return None

    known = _FIELDS if keep and message.startswith(_RUN_START) else None
    tag, fields = Unpacker(message, read).message(known)
    request = REQUESTS.get(tag)
    if request is None or version < request.since:
        raise InputError(
            f"Bolt {version} has no message {tag:#04x}.",
            next_step="Send messages of the negotiated version.",
        )
    if len(fields) != request.fields:
        raise InputError(
            f"{request.name} must have {request.fields} fields, not {len(fields)}.",
            next_step="Send it as specified for this version.",
        )
    if keep and is_plain and len(message) <= _SHORT_BYTES and request in _ONLY_READ:
        if len(KEPT) >= _SHORT_MAX:
            KEPT.clear()
        KEPT[message] = request, fields
    return request, fields
