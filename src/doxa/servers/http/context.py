"""The query context from request headers, available to statements as $_session, $_agent and any
other $_name.

    X-Query-Session: s1         $_session = 's1'
    X-Query-Trace-Id: 42        $_trace_id = '42'

The context is what the client claims about itself. Only the login authenticates it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from doxa.base.limits import (
    HTTP_CONTEXT_ITEMS_MAX,
    HTTP_CONTEXT_NAME_CHARS_MAX,
    HTTP_CONTEXT_VALUE_BYTES_MAX,
)
from doxa.servers.http.errors import HttpError
from doxa.servers.memory import SYSTEM_TIME, VALID_TIME

PREFIX = b"x-query-"
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def context_of(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return the context by name, with dashes as underscores. Raises HttpError for invalid names
    and values, and for too many."""
    found: dict[str, str] = {}
    for header, value in headers:
        if not header.lower().startswith(PREFIX):
            continue
        shown = f"X-Query-{header[len(PREFIX) :].decode('latin-1')[:80].title()}"
        name = header[len(PREFIX) :].decode("latin-1").lower().replace("-", "_")
        if not _NAME.fullmatch(name) or len(name) > HTTP_CONTEXT_NAME_CHARS_MAX:
            raise _bad(
                f"The header {shown} is not a valid context name.",
                f"Use a letter, then letters, digits and dashes, {HTTP_CONTEXT_NAME_CHARS_MAX}"
                " characters at most, after X-Query-.",
            )
        if name in (SYSTEM_TIME, VALID_TIME):
            raise _bad(
                f"The header {shown} cannot set a time.",
                "Begin the statement with AS OF SYSTEM TIME or AS OF VALID TIME.",
            )
        if name in found:
            raise _bad(
                f"The header {shown} occurs twice.",
                "Send each name once; dashes and underscores are equal.",
            )
        found[name] = _text(value, shown)
        if len(found) > HTTP_CONTEXT_ITEMS_MAX:
            raise _bad(
                f"There are more than {HTTP_CONTEXT_ITEMS_MAX} headers X-Query-...", "Send fewer."
            )
    return found


def _text(value: bytes, shown: str) -> str:
    if len(value) > HTTP_CONTEXT_VALUE_BYTES_MAX:
        raise _bad(
            f"The header {shown} is longer than {HTTP_CONTEXT_VALUE_BYTES_MAX:,} bytes.",
            "Send a shorter name or id.",
        )
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _bad(f"The header {shown} is not UTF-8.", "Send it as UTF-8.") from None


def _bad(message: str, next_step: str) -> HttpError:
    return HttpError(message, http=400, next_step=next_step)
