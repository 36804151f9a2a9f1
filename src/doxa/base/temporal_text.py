"""Parse the ISO 8601 texts of openCypher's temporal values, the inverse of printing them.

The forms are those of the Cypher manual ("Specifying dates", "Specifying times", "Specifying
durations"): calendar, week, quarter and ordinal dates, basic (20150721) or extended (2015-07-21);
times with a fraction; offsets; a zone name in brackets; durations by unit or in the form of a date
and time. Every printed value parses back to itself.
"""

from __future__ import annotations

import re
from fractions import Fraction

from doxa.base.errors import InputError
from doxa.base.patterns import lazy_re
from doxa.base.temporal import (
    DAY_S,
    DAYS_MAX,
    DAYS_MIN,
    NS,
    OFFSET_MAX_S,
    YEAR_MAX,
    YEAR_MIN,
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Time,
    Zone,
    attach,
    days_of,
    days_of_week_date,
    duration_of,
    ordinal_days,
    quarter_days,
    zone_of,
)

_DATE_EXTENDED = lazy_re(
    r"([0-9]{4}|[+-][0-9]{1,9})(?:-([0-9]{2})(?:-([0-9]{2}))?|-[Ww]([0-9]{2})(?:-([0-9]))?"
    r"|-[Qq]([0-9])(?:-([0-9]{2}))?|-([0-9]{3}))?"
)
_DATE_BASIC = lazy_re(
    r"([0-9]{4})(?:([0-9]{2})([0-9]{2})?|[Ww]([0-9]{2})([0-9])?|[Qq]([0-9])([0-9]{2})?|([0-9]{3}))"
)
_OFFSET = r"[Zz]|[+-][0-9]{2}(?::[0-9]{2}(?::[0-9]{2})?|[0-9]{2}(?:[0-9]{2})?)?"
_TIME = lazy_re(
    r"([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?"
    r"|([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?"
    rf"({_OFFSET})?(?:\[([^\]]{{1,80}})\])?"
)
_OFFSET_ONLY = lazy_re(_OFFSET)
_NUMBER = r"([+-]?[0-9]{1,19}(?:[.,][0-9]{1,19})?)"
_UNITS = lazy_re(
    rf"([+-])?P(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.IGNORECASE | re.ASCII,
)
_UNITS_DATE = lazy_re(r"([+-])?[Pp]([0-9]{4})(-?)([0-9]{2})\3([0-9]{2})")

_DATE_STEP = "Write it like 2015-07-21, 2015-W30-2, 2015-Q3-21 or 2015-202."
_TIME_STEP = (
    "Write it like 21:40:32.142, followed by an offset such as +01:00 where the type has one."
)
_DURATION_STEP = "Write it like P1Y2M10DT2H30M or P2012-02-02T14:37:21.545."

_Clock = tuple[int, int | None, str | None]  # nanos of the day, offset in seconds, zone


def parse_date(text: str) -> Date:
    """Parse a date without a time. Raises InputError for anything else, and for a day that does not
    exist."""
    return Date(_days(text, text))


def parse_local_time(text: str) -> LocalTime:
    """Parse a time without an offset; a leading T is allowed. Raises InputError for anything
    else."""
    nanos, offset, zone = _time(text[1:] if text[:1] in ("T", "t") else text, text)
    if offset is not None or zone is not None:
        raise _bad(text, "a local time, which has no offset", _TIME_STEP)
    return LocalTime(nanos)


def parse_time(text: str, *, default: int = 0) -> Time:
    """Parse a time with an offset; `default` (seconds) applies if it has none. Raises InputError
    for anything else, including a zone name: without a date, a zone name has no offset."""
    nanos, offset, zone = _time(text[1:] if text[:1] in ("T", "t") else text, text)
    if zone is not None:
        raise _bad(text, "a time: without a date, a zone name has no offset", _TIME_STEP)
    return Time(nanos, default if offset is None else offset)


def parse_local_datetime(text: str) -> LocalDateTime:
    """Parse a date, or a date, T and a time, without an offset. Raises InputError for anything
    else."""
    days, (nanos, offset, zone) = _moment(text)
    if offset is not None or zone is not None:
        raise _bad(text, "a local date and time, which has no offset", _TIME_STEP)
    second, nanos = divmod(nanos, NS)
    return LocalDateTime(days * DAY_S + second, nanos)


def parse_datetime(text: str, *, default: Zone = 0) -> DateTime:
    """Parse a date, or a date, T and a time, with an offset, a zone name or both; the zone is
    `default` if it has neither. Raises InputError for anything else, and for an offset that the
    zone does not have at that time."""
    days, (nanos, offset, zone) = _moment(text)
    second, nanos = divmod(nanos, NS)
    local = days * DAY_S + second
    if zone is None:
        return attach(local, nanos, default if offset is None else offset)
    zone_of(zone)
    result = attach(local, nanos, zone, prefer=offset)
    if offset is not None and offset != result.offset:
        raise _bad(
            text,
            f"a time in {zone}, which has another offset then",
            "Omit the offset or the zone name.",
        )
    return result


def parse_zone(text: str) -> Zone:
    """Parse Z or an offset to seconds, and an IANA name to itself with spaces as underscores.
    Raises InputError for anything else."""
    if _OFFSET_ONLY.fullmatch(text):
        return _offset(text, text)
    name = text.replace(" ", "_")
    zone_of(name)
    return name


def parse_duration(text: str) -> Duration:
    """Parse a duration by unit or in the form of a date and time, with an optional sign. Raises
    InputError for anything else."""
    found = _UNITS.fullmatch(text)
    if found is None or text[-1] in "PpTt":
        return _date_duration(text)
    sign, years, months, weeks, days, hours, minutes, seconds = found.groups()
    by = -1 if sign == "-" else 1
    nanos = (_number(hours) * 3_600 + _number(minutes) * 60 + _number(seconds)) * NS
    return duration_of(
        by * (_number(years) * 12 + _number(months)),
        by * (_number(weeks) * 7 + _number(days)),
        by * nanos,
    )


def _date_duration(text: str) -> Duration:
    head, mark, tail = text.partition("T") if "T" in text else text.partition("t")
    found = _UNITS_DATE.fullmatch(head)
    if found is None:
        raise _bad(text, "a duration", _DURATION_STEP)
    sign, year, _, month, day = found.groups()
    nanos, offset, zone = _time(tail, text) if mark else (0, None, None)
    if int(month) > 12 or int(day) > 31 or offset is not None or zone is not None:
        raise _bad(text, "a duration", _DURATION_STEP)
    by = -1 if sign == "-" else 1
    return duration_of(by * (int(year) * 12 + int(month)), by * int(day), by * nanos)


def _number(text: str | None) -> int | Fraction:
    if text is None:
        return 0
    whole, mark, part = text.replace(",", ".").partition(".")
    return Fraction(int(whole + part), 10 ** len(part)) if mark else int(whole)


def _moment(text: str) -> tuple[int, _Clock]:
    """Return the days since the epoch and the clock part. The first T ends the date: no date form
    contains one."""
    head, mark, tail = text.partition("T")
    if not mark:
        head, mark, tail = text.partition("t")
    return _days(head, text), _time(tail, text) if mark else (0, None, None)


def _days(text: str, whole: str) -> int:
    found = _DATE_EXTENDED.fullmatch(text) or _DATE_BASIC.fullmatch(text)
    if found is None:
        raise _bad(whole, "a date", _DATE_STEP)
    number, month, day, week, weekday, quarter, quarter_day, ordinal = found.groups()
    year = int(number)
    try:
        if week is not None:
            days = days_of_week_date(year, int(week), int(weekday or 1))
        elif quarter is not None:
            days = quarter_days(year, int(quarter), int(quarter_day or 1))
        elif ordinal is not None:
            days = ordinal_days(year, int(ordinal))
        else:
            days = days_of(year, int(month or 1), int(day or 1))
    except ValueError:
        raise _bad(whole, "a date that exists", _DATE_STEP) from None
    if not DAYS_MIN <= days <= DAYS_MAX:  # a week date may end in the next year
        raise _bad(whole, f"a date in the years {YEAR_MIN} to {YEAR_MAX}", _DATE_STEP)
    return days


def _time(text: str, whole: str) -> _Clock:
    found = _TIME.fullmatch(text)
    if found is None:
        raise _bad(whole, "a time", _TIME_STEP)
    hour, minute, second, fraction, minute_basic, second_basic, fraction_basic, offset, zone = (
        found.groups()
    )
    hours, minutes, seconds = (
        int(hour),
        int(minute or minute_basic or 0),
        int(second or second_basic or 0),
    )
    if hours > 23 or minutes > 59 or seconds > 59:
        raise _bad(whole, "a time that exists", _TIME_STEP)
    digits = fraction or fraction_basic
    nanos = (hours * 3_600 + minutes * 60 + seconds) * NS + (
        int(digits.ljust(9, "0")) if digits else 0
    )
    return nanos, None if offset is None else _offset(offset, whole), zone


def _offset(text: str, whole: str) -> int:
    if text in ("Z", "z"):
        return 0
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    size = hours * 3_600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or size > OFFSET_MAX_S:
        raise _bad(whole, "a time whose offset exists", "Use an offset from -18:00 to +18:00.")
    return -size if text[0] == "-" else size


def _bad(text: str, what: str, step: str) -> InputError:
    return InputError(
        f"{text[:80]!r} is not {what}.", next_step=step, field="text", value=text[:80]
    )
