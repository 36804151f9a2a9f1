"""The trace context of a client: which trace its call belongs to.

    traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
                 version, trace id, id of the client's span, flags

Over HTTP it is a header, in MCP a field of `_meta`, in Bolt a field of the transaction's metadata.
One that is not valid counts as none, as the specification asks.

Source: W3C Trace Context, section 3.2; MCP SEP-414.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PARENT, STATE = "traceparent", "tracestate"
STATE_CHARS_MAX = 512
_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_NONE = ("0" * 32, "0" * 16)


class TraceParent(NamedTuple):
    """The trace and the span of the client, in hexadecimal; whether the client records it."""

    trace_id: str
    span_id: str
    sampled: bool

    def __str__(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


def parsed(text: object) -> TraceParent | None:
    """Return a trace context, None if the text is not one."""
    found = _FORM.fullmatch(text.strip()) if isinstance(text, str) and len(text) < 200 else None
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == "ff" or (version == "00" and more) or trace == _NONE[0] or span == _NONE[1]:
        return None
    return TraceParent(trace, span, bool(int(flags, 16) & 1))
