"""Clocks, and parsing and formatting of times. A clock is injected so that tests control it.

Internally a time is an integer: nanoseconds since 1970-01-01 UTC. ISO 8601 text is used only at the
interfaces.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from doxa.base.errors import InputError

NS = 1_000_000_000
TIME_MAX = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_DAY, _LAST_DAY = "1677-09-22", "2262-04-11"  # what 64 bits of nanoseconds reach
_FRACTION = re.compile(r"(?<=[Tt _][0-9]{2}:[0-9]{2}:[0-9]{2})\.([0-9]+)(?=$|[Zz+-])")


class Clock(Protocol):
    def now_ns(self) -> int: ...


class SystemClock:
    """The wall clock. It may step back; the store's transaction time never does."""

    def now_ns(self) -> int:
        return time.time_ns()


class FakeClock:
    """A clock that moves only when it is set. For tests and demonstrations."""

    def __init__(self, start_ns: int = 1_700_000_000 * NS) -> None:
        self._now = start_ns

    def now_ns(self) -> int:
        return self._now

    def advance(self, *, seconds: float = 0, days: float = 0) -> None:
        self._now += int((seconds + days * 86_400) * NS)

    def set(self, now_ns: int) -> None:
        self._now = now_ns


def parse_time(value: str | int | date, *, field: str = "time") -> int:
    """Convert ISO 8601 text, a datetime, a date or integer nanoseconds to nanoseconds UTC.

    Text without a zone is UTC; a date alone is its first instant, in UTC. Raises InputError for
    anything else, naming the field.
    """
    if isinstance(value, bool):
        raise _bad_time(value, field)
    if isinstance(value, int):
        if not -TIME_MAX <= value <= TIME_MAX:
            raise _out_of_range(value, field)
        return value
    extra = 0
    if isinstance(value, str):
        text = value.strip()
        fraction = _FRACTION.search(text)
        if fraction:
            digits = fraction.group(1)[:9].ljust(9, "0")
            extra = int(digits)
            text = text[: fraction.start()] + text[fraction.end() :]
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            raise _bad_time(value, field) from None
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    if not isinstance(value, datetime):
        raise _bad_time(value, field)
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    try:
        delta = value - _EPOCH
    except OverflowError:
        raise _out_of_range(value, field) from None
    result = (delta.days * 86_400 + delta.seconds) * NS + delta.microseconds * 1_000 + extra
    if not -TIME_MAX <= result <= TIME_MAX:
        raise _out_of_range(value, field)
    return result


def format_time(ns: int) -> str:
    """Format integer nanoseconds as ISO 8601 in UTC. The fraction appears only if it is not zero,
    and parse_time(format_time(t)) == t."""
    seconds, fraction = divmod(ns, NS)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
    if fraction:
        text += "." + f"{fraction:09d}".rstrip("0")
    return text + "Z"


def _bad_time(value: object, field: str) -> InputError:
    return InputError(
        f"{field} is not a time: {str(value)[:80]!r}.",
        next_step="Give ISO 8601 such as 2026-03-02 or 2026-03-02T14:00:00Z.",
        field=field,
        value=str(value)[:80],
    )


def _out_of_range(value: object, field: str) -> InputError:
    return InputError(
        f"{field} is outside the range of times that can be stored, {_FIRST_DAY} to {_LAST_DAY}:"
        f" {str(value)[:80]!r}.",
        next_step=(
            "Give ISO 8601 such as 2026-03-02 within that range, or omit a bound that is open."
        ),
        field=field,
        value=str(value)[:80],
    )
