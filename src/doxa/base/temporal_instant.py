"""Convert every representation of a point in time to one number, so that time windows compare by
meaning and not by the types of their bounds.

    Date            its first instant in UTC
    DateTime        its instant
    LocalDateTime   its clock reading taken as UTC
    text            ISO 8601: a date, or a date and a time; UTC unless it has an offset
    integer         nanoseconds since 1970-01-01T00:00Z

Other values are not points in time: a time of day, a duration, a float, a boolean, other text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from doxa.base.errors import InputError
from doxa.base.temporal import DAY_NS, NS, Date, DateTime, LocalDateTime
from doxa.base.temporal_text import parse_datetime

INSTANT_FORMS = (
    "a date, a datetime, text such as 2024-03-01 or 2024-03-01T10:00:00Z, or integer nanoseconds"
    " since 1970"
)
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_SIGN = 1 << 127
_KEY_MAX = 2 * _SIGN - 1


def instant_of(value: object) -> int | None:
    """Return nanoseconds since the epoch, or None if the value is not a point in time. The result
    may exceed 64 bits for distant years."""
    if isinstance(value, str):
        try:
            value = parse_datetime(value)
        except InputError:
            return None
    if isinstance(value, (DateTime, LocalDateTime)):
        return value.seconds * NS + value.nanos
    if isinstance(value, Date):
        return value.days * DAY_NS
    return value if type(value) is int and _INT_MIN <= value <= _INT_MAX else None


def instant_key(instant: int) -> bytes:
    """Encode an instant as 16 bytes that sort in the order of the instants."""
    return min(max(instant + _SIGN, 0), _KEY_MAX).to_bytes(16, "big")


@lru_cache(maxsize=16_384)
def text_instant_key(text: Any) -> bytes | None:
    """Return the sort key of a text that denotes a point in time, or None. Registered in SQL as
    `doxa_instant`."""
    instant = instant_of(text) if isinstance(text, str) else None
    return None if instant is None else instant_key(instant)
