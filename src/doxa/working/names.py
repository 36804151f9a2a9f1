"""The names of sessions: a host's own, or doxa's handle.

    personal:user-3f9c2a81d07b54e6:20261123:001
    context  pseudonym             day (UTC) number on that day

The pseudonym is a keyed hash (HMAC-SHA-256, 64 bits) of the user's name. The channel is not a part
of it, so that a conversation goes on where the user writes next.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable

from doxa.base.clock import NS, format_time
from doxa.base.errors import InputError, LimitError
from doxa.base.limits import WORKING_NAME_CHARS_MAX
from doxa.base.values import check_text
from doxa.redaction.redact import refuse_secret
from doxa.working.types import ChatKey

CONTEXT_DEFAULT = "default"
_HANDLE = re.compile(r"([^:]+):(user-[0-9a-f]{16}):([0-9]{8}):([0-9]{3,})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_PSEUDONYM_CHARS = 16


def check_label(value: object, field: str) -> str:
    """Return the name of a session or context if it is usable. Raises InputError or LimitError."""
    if not isinstance(value, str):
        raise InputError(
            f"{field} must be text, not {type(value).__name__}.",
            next_step="Give it as text.",
            field=field,
        )
    check_text(value, field=field)
    if len(value) > WORKING_NAME_CHARS_MAX:
        raise LimitError(
            f"{field} has {len(value):,} characters; the limit is {WORKING_NAME_CHARS_MAX}.",
            next_step="Give a shorter one, such as a hash of it.",
            field=field,
        )
    found = _CONTROL.search(value)
    if found:
        raise InputError(
            f"{field} contains the control character U+{ord(found.group()):04X}.",
            next_step=f"Give {field} without it.",
            field=field,
            position=found.start(),
        )
    return refuse_secret(value, field=field)


def check_context(value: object) -> str:
    """Return the context, "default" where there is none."""
    found = check_label(value, "context")
    if ":" in found:
        raise InputError(
            f"A context cannot contain a colon: {found[:60]!r}.",
            next_step="Use letters, digits and hyphens.",
            field="context",
        )
    return found or CONTEXT_DEFAULT


def pseudonym(user: object, secret: Callable[[], bytes]) -> str:
    """Return `user-` and the keyed hash of a user's name; "" where there is none."""
    if not isinstance(user, str):
        raise InputError(
            f"user must be text, not {type(user).__name__}.",
            next_step="Give it as text.",
            field="user",
        )
    if not user:
        return ""
    data = check_text(user, field="user").encode()
    digest = hmac.new(secret(), data, hashlib.sha256).hexdigest()
    return f"user-{digest[:_PSEUDONYM_CHARS]}"


def handle_prefix(context: str, user: str, now_ns: int) -> str:
    """Return a handle without its number. Without a user it is that of `user-` and zeros."""
    day = format_time(now_ns - now_ns % NS)[:10].replace("-", "")
    return f"{context}:{user or 'user-' + '0' * _PSEUDONYM_CHARS}:{day}:"


def key_of(session: str, *, project: str, context: str, user: str, is_given: bool) -> ChatKey:
    """Return the key of a named session. One of our handles says context and user itself;
    `is_given` is whether the caller named one too. Raises InputError if they differ."""
    found = _HANDLE.fullmatch(session)
    if found is None:
        return ChatKey(project, context, user, session, False)
    own = found.group(2)
    own = "" if own.endswith("0" * _PSEUDONYM_CHARS) else own
    if is_given and (found.group(1), own) != (context, user):
        raise InputError(
            f"The session {session[:80]!r} belongs to another context or user.",
            next_step="Leave out context and user, which the session names, or leave it out.",
            field="session",
        )
    return ChatKey(project, found.group(1), own, session, True)
