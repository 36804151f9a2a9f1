"""Convert between openCypher temporal values and Python's datetime types, which have no
nanoseconds, no months and no years beyond 9999."""

from __future__ import annotations

import datetime as py

from doxa.base.errors import InputError
from doxa.base.temporal import (
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Temporal,
    Time,
    at_zone,
    zone_of,
)

_EPOCH = py.datetime(1970, 1, 1)
_DAY = py.date(1970, 1, 1)
_SECOND = py.timedelta(seconds=1)

Native = py.date | py.time | py.datetime | py.timedelta


def from_python(value: Native) -> Temporal:
    """Convert a Python value exactly. Raises InputError for a time of day whose zone has no fixed
    offset."""
    if isinstance(value, py.datetime):
        return _moment(value)
    if isinstance(value, py.date):
        return Date((value - _DAY).days)
    if isinstance(value, py.timedelta):
        return Duration(0, value.days, value.seconds, value.microseconds * 1_000)
    nanos = (
        (value.hour * 60 + value.minute) * 60 + value.second
    ) * 1_000_000_000 + value.microsecond * 1_000
    if value.tzinfo is None:
        return LocalTime(nanos)
    offset = value.utcoffset()
    if offset is None:
        raise InputError(
            "A time of day in a zone with a changing offset has no UTC offset.",
            next_step="Give a datetime, or a fixed offset.",
        )
    return Time(nanos, offset // _SECOND)


def _moment(value: py.datetime) -> Temporal:
    nanos = value.microsecond * 1_000
    local = (value.replace(tzinfo=None, microsecond=0) - _EPOCH) // _SECOND
    offset = value.utcoffset()
    if offset is None:
        return LocalDateTime(local, nanos)
    name = getattr(value.tzinfo, "key", None)
    seconds = local - offset // _SECOND
    if isinstance(name, str) and name != "UTC":
        return at_zone(seconds, nanos, name)
    return DateTime(seconds, nanos, offset // _SECOND)


def to_python(value: object) -> object:
    """Convert a temporal value to Python's type, rounded down to microseconds. Other values are
    returned unchanged. Raises InputError for a value that datetime cannot represent."""
    try:
        match value:
            case Date(days):
                return _DAY + py.timedelta(days=days)
            case LocalTime(nanos):
                return _time(nanos)
            case Time(nanos, offset):
                return _time(nanos).replace(tzinfo=py.timezone(py.timedelta(seconds=offset)))
            case LocalDateTime(seconds, nanos):
                return _EPOCH + py.timedelta(seconds=seconds, microseconds=nanos // 1_000)
            case DateTime(seconds, nanos, offset, zone):
                moment = _EPOCH.replace(tzinfo=py.UTC) + py.timedelta(
                    seconds=seconds, microseconds=nanos // 1_000
                )
                return moment.astimezone(
                    zone_of(zone) if zone else py.timezone(py.timedelta(seconds=offset))
                )
            case Duration(months, days, seconds, nanos):
                if months:
                    raise InputError(
                        f"{value} has months, which have no fixed length in days.",
                        next_step="Use the value itself: its fields or its text.",
                    )
                return py.timedelta(days=days, seconds=seconds, microseconds=nanos // 1_000)
    except (OverflowError, ValueError):
        raise InputError(
            f"{value} is outside the range of Python's datetime.",
            next_step="Use the value itself: its fields or its text.",
        ) from None
    return value


def _time(nanos: int) -> py.time:
    return (_EPOCH + py.timedelta(microseconds=nanos // 1_000)).time()
