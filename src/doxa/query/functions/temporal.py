"""The temporal functions of Cypher: the five kinds of instant from texts, maps, clocks and each
other, and durations.

One path makes every instant from a map: what is selected (`date`, `time`, `datetime`) gives the
base, the other components replace parts of it, and a `timezone` converts what was selected with a
zone and is simply attached to anything else. Truncation is the same path with a rounded base.
Sources: openCypher CIP2015-08-06, TCK features Temporal1 to Temporal10, the Cypher manual's
"Temporal functions".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fractions import Fraction
from functools import partial
from math import trunc
from typing import NamedTuple, cast

from doxa.base.errors import InputError
from doxa.base.temporal import (
    DAY_NS,
    DAY_S,
    INSTANTS,
    NS,
    YEAR_MAX,
    YEAR_MIN,
    Date,
    DateTime,
    Duration,
    Instant,
    LocalDateTime,
    LocalTime,
    Time,
    Zone,
    at_zone,
    attach,
    between,
    checked_days,
    civil,
    day_nanos,
    days_between,
    days_of,
    days_of_week_date,
    duration_of,
    exact,
    local_days,
    month_days,
    months_between,
    offset_at,
    ordinal_days,
    plus_months,
    quarter_days,
    seconds_between,
    value_zone,
)
from doxa.base.temporal_text import (
    parse_date,
    parse_datetime,
    parse_duration,
    parse_local_datetime,
    parse_local_time,
    parse_time,
    parse_zone,
)
from doxa.query.functions.registry import Function, FunctionContext, wrong


class _InstantType(NamedTuple):
    """What a type of instant is made of."""

    name: str
    dated: bool
    timed: bool
    zoned: bool


_DATE = _InstantType("date", dated=True, timed=False, zoned=False)
_LOCAL_TIME = _InstantType("localtime", dated=False, timed=True, zoned=False)
_TIME = _InstantType("time", dated=False, timed=True, zoned=True)
_LOCAL_DATETIME = _InstantType("localdatetime", dated=True, timed=True, zoned=False)
_DATETIME = _InstantType("datetime", dated=True, timed=True, zoned=True)
_KINDS = (_DATE, _LOCAL_TIME, _TIME, _LOCAL_DATETIME, _DATETIME)
_Fields = dict[str, object]  # a map's entries, their names in lower case
# The ways to name a day, by the component that the others of the way depend on. `year` belongs to
# all of them.
_WAYS = {
    "month": ("month", "day"),
    "week": ("week", "dayofweek"),
    "quarter": ("quarter", "dayofquarter"),
    "ordinalday": ("ordinalday",),
}
_CLOCK = {"hour": 24, "minute": 60, "second": 60}
_FRACTIONS = ("millisecond", "microsecond", "nanosecond")
_DATE_FIELDS = frozenset(("year", *(name for way in _WAYS.values() for name in way)))
_TIME_FIELDS = frozenset((*_CLOCK, *_FRACTIONS))
_EPOCH = {"epochseconds": NS, "epochmillis": 1_000_000}
# Sizes of units and components: what a map adds to a truncated value must be smaller than the unit.
_UNITS = {
    "millennium": 14,
    "century": 13,
    "decade": 12,
    "year": 11,
    "weekyear": 10,
    "quarter": 9,
    "month": 8,
    "week": 7,
    "day": 6,
    "hour": 5,
    "minute": 4,
    "second": 3,
    "millisecond": 2,
    "microsecond": 1,
}
_SIZES = {**_UNITS, "dayofquarter": 6, "dayofweek": 6, "ordinalday": 6, "nanosecond": 0}
_UNIT_NS = {
    "hour": 3_600 * NS,
    "minute": 60 * NS,
    "second": NS,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
}
_UNIT_YEARS = {"millennium": 1_000, "century": 100, "decade": 10, "year": 1}


# Making instants


def _create(kind: _InstantType, context: FunctionContext, *given: object) -> Instant:
    """date(), time(), localtime(), localdatetime(), datetime(): now, or from a text, a map or
    another instant."""
    if not given:
        return _now(kind, context.statement_ns, _default_zone(context))
    value = given[0]
    if isinstance(value, str):
        return _from_text(kind, context, value)
    if isinstance(value, dict):
        return _from_map(kind, context, _fields(kind.name, value))
    if isinstance(value, INSTANTS):
        source = "datetime" if kind.dated and kind.timed else kind.name.removeprefix("local")
        return _from_map(kind, context, {source: value})
    raise wrong(kind.name, value, wanted="a text, a map of components or another instant")


def _clock(
    kind: _InstantType,
    read: Callable[[FunctionContext], int],
    context: FunctionContext,
    *given: object,
) -> Instant:
    """The transaction's, the statement's or the real time, in a zone: a text, or a map with
    `timezone`."""
    zone = given[0] if given else None
    if isinstance(zone, dict) and zone.keys() == {"timezone"}:
        zone = zone["timezone"]
    if given and not isinstance(zone, str):
        raise wrong(
            kind.name, given[0], wanted="a time zone such as 'Europe/Stockholm' or '+01:00'"
        )
    return _now(
        kind, read(context), parse_zone(zone) if isinstance(zone, str) else _default_zone(context)
    )


def _now(kind: _InstantType, now_ns: int, zone: Zone) -> Instant:
    seconds, nanos = divmod(now_ns, NS)
    moment = at_zone(seconds, nanos, zone)
    if kind is _DATETIME:
        return moment
    return _composed(kind, local_days(moment), day_nanos(moment), moment.offset)


def _from_text(kind: _InstantType, context: FunctionContext, text: str) -> Instant:
    if kind is _DATE:
        return parse_date(text)
    if kind is _LOCAL_TIME:
        return parse_local_time(text)
    if kind is _LOCAL_DATETIME:
        return parse_local_datetime(text)
    if kind is _TIME:
        return parse_time(text, default=_offset_now(context, _default_zone(context)))
    return parse_datetime(text, default=_default_zone(context))


def _from_map(kind: _InstantType, context: FunctionContext, fields: _Fields) -> Instant:
    if fields.keys() == {"timezone"}:
        return _now(kind, context.statement_ns, _zone_field(kind, fields))
    if kind is _DATETIME and not fields.keys().isdisjoint(_EPOCH):
        return _from_epoch_fields(kind, fields)
    _check_fields(kind, fields)
    date_source, time_source = _source(kind, fields, "date"), _source(kind, fields, "time")
    base_days = None if date_source is None else _days_in(kind, date_source)
    base_nanos = None if time_source is None else _nanos_in(kind, time_source)
    days = _date_part(kind, fields, base_days) if kind.dated else 0
    nanos = _time_part(kind, fields, base_nanos) if kind.timed else 0
    if not kind.zoned:
        return _composed(kind, days, nanos, 0)
    asked = _zone_field(kind, fields) if "timezone" in fields else None
    had = value_zone(time_source)
    if kind is _TIME:
        offset = None if asked is None else _offset_now(context, asked)
        if had is None:
            return Time(
                nanos, _offset_now(context, _default_zone(context)) if offset is None else offset
            )
        own = cast("Time | DateTime", time_source).offset
        return (
            Time(nanos, own)
            if offset is None
            else Time((nanos + (offset - own) * NS) % DAY_NS, offset)
        )
    second, rest = divmod(nanos, NS)
    local = days * DAY_S + second
    if had is None:
        return attach(local, rest, _default_zone(context) if asked is None else asked)
    moment = attach(
        local, rest, had, prefer=time_source.offset if isinstance(time_source, DateTime) else None
    )
    return moment if asked is None else at_zone(moment.seconds, moment.nanos, asked)


def _from_epoch_fields(kind: _InstantType, fields: _Fields) -> DateTime:
    """datetime({epochSeconds or epochMillis, a fraction below it, timezone})."""
    name = next(name for name in _EPOCH if name in fields)
    below = _FRACTIONS if name == "epochseconds" else ("nanosecond",)
    for other in fields.keys() - {name, "timezone", *below}:
        raise _bad(
            kind,
            other,
            f"{other[:80]} cannot be given together with {name}",
            step="Add nanosecond and timezone only.",
        )
    count = _EPOCH[name] * _integer(kind, fields, name)
    if name == "epochmillis":
        count += _integer(kind, fields, "nanosecond", 0, 1_000_000) if "nanosecond" in fields else 0
    else:
        count += _fraction(kind, fields)
    seconds, nanos = divmod(count, NS)
    return at_zone(seconds, nanos, _zone_field(kind, fields) if "timezone" in fields else 0)


def _composed(kind: _InstantType, days: int, nanos: int, offset: int) -> Instant:
    if kind is _LOCAL_TIME:
        return LocalTime(nanos)
    if kind is _TIME:
        return Time(nanos, offset)
    checked_days(days)
    return Date(days) if kind is _DATE else LocalDateTime(days * DAY_S + nanos // NS, nanos % NS)


# The parts of a map


def _fields(function: str, values: Mapping[object, object]) -> _Fields:
    result = {str(name).lower(): value for name, value in values.items()}
    if not result:
        raise wrong(function, values, wanted="a map with at least one component")
    return result


def _check_fields(kind: _InstantType, fields: Collection[str]) -> None:
    known: set[str] = {"timezone"} if kind.zoned else set()
    if kind.dated:
        known |= {"date", *_DATE_FIELDS}
    if kind.timed:
        known |= {"time", *_TIME_FIELDS}
    if kind.dated and kind.timed:
        known.add("datetime")
    for name in fields:
        if name not in known:
            raise _bad(
                kind,
                name,
                f"unknown component {name[:80]!r}",
                step="Use the components of this type only.",
            )
    if "datetime" in fields and ("date" in fields or "time" in fields):
        raise _bad(
            kind,
            "datetime",
            "datetime cannot be given together with date or time",
            step="Select either.",
        )


def _source(kind: _InstantType, fields: _Fields, name: str) -> Instant | None:
    """The instant that `date` or `time` is selected from."""
    name = "datetime" if "datetime" in fields else name
    if name not in fields:
        return None
    value = fields[name]
    if not isinstance(value, INSTANTS):
        raise wrong(kind.name, value, wanted=f"an instant to select the {name} from")
    return value


def _days_in(kind: _InstantType, value: Instant) -> int:
    if isinstance(value, (LocalTime, Time)):
        raise wrong(kind.name, value, wanted="an instant that has a date")
    return local_days(value)


def _nanos_in(kind: _InstantType, value: Instant) -> int:
    # A whole date stands for its midnight only where date and time are wanted together.
    if isinstance(value, Date) and not kind.dated:
        raise wrong(kind.name, value, wanted="an instant that has a time")
    return day_nanos(value)


def _integer(
    kind: _InstantType,
    fields: _Fields,
    name: str,
    least: int | None = None,
    below: int | None = None,
) -> int:
    value = fields[name]
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(kind.name, value, wanted=f"an integer as {name}")
    if (least is not None and value < least) or (below is not None and value >= below):
        raise _bad(kind, name, f"{name} cannot be {value}")
    return value


def _date_part(kind: _InstantType, fields: _Fields, base: int | None) -> int:
    """Days since the epoch, from the base's date and the components that replace parts of it."""
    ways = [lead for lead, way in _WAYS.items() if not fields.keys().isdisjoint(way)]
    if len(ways) > 1:
        raise _bad(kind, ways[1], f"{ways[0]} and {ways[1]} name the day in different ways")
    numbers = {name: _integer(kind, fields, name) for name in _DATE_FIELDS & fields.keys()}
    if base is None:
        if "year" not in numbers:
            raise _bad(kind, "year", "year is missing")
        if ways and ways[0] not in numbers:
            raise _bad(kind, ways[0], f"{ways[0]} is missing")
    if not YEAR_MIN <= numbers.get("year", 0) <= YEAR_MAX:
        raise _bad(kind, "year", f"year is outside {YEAR_MIN} to {YEAR_MAX}")
    way = ways[0] if ways else "month"
    try:
        return checked_days(
            _new_days(way, numbers) if base is None else _replaced_days(way, numbers, base)
        )
    except (ValueError, OverflowError):
        shown = ", ".join(f"{name}: {number}" for name, number in sorted(numbers.items()))
        raise _bad(kind, way, f"there is no day {{{shown[:200]}}}") from None


def _new_days(way: str, numbers: Mapping[str, int]) -> int:
    """Only from components, missing ones 1. ValueError if the day does not exist."""
    year = numbers["year"]
    if way == "week":
        return days_of_week_date(year, numbers["week"], numbers.get("dayofweek", 1))
    if way == "quarter":
        return quarter_days(year, numbers["quarter"], numbers.get("dayofquarter", 1))
    if way == "ordinalday":
        return ordinal_days(year, numbers["ordinalday"])
    return days_of(year, numbers.get("month", 1), numbers.get("day", 1))


def _replaced_days(way: str, numbers: Mapping[str, int], base: int) -> int:
    """The base with components replaced, larger ones first; a day that a month does not have
    becomes its last. ValueError as above."""
    years, day = civil(base)
    year = years + day.year
    if way == "week" and "week" in numbers:
        week_year, _, weekday = day.isocalendar()  # with a week, the year is the week's
        return days_of_week_date(
            numbers.get("year", years + week_year),
            numbers["week"],
            numbers.get("dayofweek", weekday),
        )
    if "year" in numbers:
        year = numbers["year"]
        base = days_of(year, day.month, min(day.day, month_days(year, day.month)))
    if way == "week":
        if not 1 <= numbers["dayofweek"] <= 7:
            raise ValueError(numbers)
        return base + numbers["dayofweek"] - _day_of_week(base)
    if way == "quarter":
        quarter = (day.month - 1) // 3 + 1
        if "dayofquarter" in numbers:
            return quarter_days(year, numbers.get("quarter", quarter), numbers["dayofquarter"])
        if not 1 <= numbers["quarter"] <= 4:
            raise ValueError(numbers)
        return plus_months(base, 3 * (numbers["quarter"] - quarter))
    if way == "ordinalday":
        return ordinal_days(year, numbers["ordinalday"])
    month = numbers.get("month", day.month)
    return days_of(year, month, numbers.get("day", min(day.day, month_days(year, month))))


def _day_of_week(days: int) -> int:
    """1 for Monday to 7 for Sunday."""
    return (days + 3) % 7 + 1  # 1970-01-01 was a Thursday


def _time_part(kind: _InstantType, fields: _Fields, base: int | None) -> int:
    """Nanoseconds of the day, from the base's time and the components that replace parts of it;
    fractions replace the whole fraction."""
    if base is None:
        needed = "hour"
        for name in ("minute", "second", "fraction"):
            given = (
                name in fields if name != "fraction" else not fields.keys().isdisjoint(_FRACTIONS)
            )
            if given and needed not in fields:
                raise _bad(kind, needed, f"{needed} is missing")
            needed = name
        if not kind.dated and "hour" not in fields:
            raise _bad(kind, "hour", "hour is missing")
        base = 0
    seconds, nanos = divmod(base, NS)
    parts = {"hour": seconds // 3_600, "minute": seconds // 60 % 60, "second": seconds % 60}
    for name, below in _CLOCK.items():
        if name in fields:
            parts[name] = _integer(kind, fields, name, 0, below)
    if not fields.keys().isdisjoint(_FRACTIONS):
        nanos = _fraction(kind, fields)
    return (parts["hour"] * 3_600 + parts["minute"] * 60 + parts["second"]) * NS + nanos


def _fraction(kind: _InstantType, fields: _Fields) -> int:
    """Nanoseconds of the second. A part counts what the larger parts leave: after a millisecond, 0
    to 999 microseconds."""
    nanos, room = 0, NS
    for name, unit in zip(_FRACTIONS, (1_000_000, 1_000, 1), strict=True):
        if name in fields:
            nanos += _integer(kind, fields, name, 0, room // unit) * unit
            room = unit
    return nanos


# Zones


def _default_zone(context: FunctionContext) -> Zone:
    return 0 if context.timezone in ("UTC", "Z") else parse_zone(context.timezone)


def _offset_now(context: FunctionContext, zone: Zone) -> int:
    """A time without a date takes the offset that a zone has at the time of the statement."""
    return offset_at(zone, context.statement_ns // NS)


def _zone_field(kind: _InstantType, fields: _Fields) -> Zone:
    value = fields["timezone"]
    if not isinstance(value, str):
        raise wrong(
            kind.name, value, wanted="a text such as 'Europe/Stockholm' or '+01:00' as timezone"
        )
    return parse_zone(value)


# Truncation


def _truncate(
    kind: _InstantType, context: FunctionContext, unit: object, *given: object
) -> Instant:
    """date.truncate(unit, instant, map) and its kin: the instant at the start of its unit, smaller
    components then set from the map."""
    function = f"{kind.name}.truncate"
    value = given[0] if given else _now(_DATETIME, context.statement_ns, _default_zone(context))
    extra = given[1] if len(given) > 1 else {}
    if not isinstance(unit, str):
        raise wrong(function, unit, wanted="the name of a unit, such as 'day'")
    if not isinstance(value, INSTANTS):
        raise wrong(function, value, wanted="an instant")
    if not isinstance(extra, dict):
        raise wrong(function, extra, wanted="a map of components")
    name = unit.lower()
    clock_unit = name in _UNIT_NS
    if (
        name not in _UNITS
        or (clock_unit and not kind.timed)
        or (not clock_unit and name != "day" and not kind.dated)
    ):
        raise _bad(kind, "unit", f"unknown unit {unit[:80]!r}", step=_UNIT_STEP)
    if isinstance(value, Date) and clock_unit:
        raise _bad(kind, "unit", f"a date has no {name}", step=_UNIT_STEP)
    fields: _Fields = {str(key).lower(): item for key, item in extra.items()}
    _check_fields(kind, fields)
    for key in fields.keys() - {"timezone"}:
        if _SIZES.get(key, 99) >= _UNITS[name]:
            raise _bad(kind, key, f"{key} is not smaller than {name}", step=_UNIT_STEP)
    days = _date_part(kind, fields, _floor_days(name, _days_in(kind, value))) if kind.dated else 0
    nanos = 0
    if kind.timed:
        nanos = _nanos_in(kind, value) // _UNIT_NS[name] * _UNIT_NS[name] if clock_unit else 0
        if name in _FRACTIONS and not fields.keys().isdisjoint(_FRACTIONS):
            fields = {name: nanos % NS // _UNIT_NS[name], **fields}  # what is kept of the fraction
        nanos = _time_part(kind, fields, nanos)
    return _placed(kind, context, value, fields, days, nanos)


def _placed(
    kind: _InstantType,
    context: FunctionContext,
    value: Instant,
    fields: _Fields,
    days: int,
    nanos: int,
) -> Instant:
    """The truncated local time in the zone asked for, else the value's own, else the default.
    Nothing is converted."""
    if not kind.zoned:
        return _composed(kind, days, nanos, 0)
    own = value_zone(value)
    zone = (
        _zone_field(kind, fields)
        if "timezone" in fields
        else _default_zone(context)
        if own is None
        else own
    )
    if kind is _TIME:
        if isinstance(value, (Time, DateTime)) and "timezone" not in fields:
            return Time(nanos, value.offset)
        return Time(nanos, _offset_now(context, zone))
    second, rest = divmod(nanos, NS)
    return attach(
        days * DAY_S + second,
        rest,
        zone,
        prefer=value.offset if isinstance(value, DateTime) else None,
    )


def _floor_days(unit: str, days: int) -> int:
    if unit in _UNIT_YEARS:
        years, day = civil(days)
        return days_of((years + day.year) // _UNIT_YEARS[unit] * _UNIT_YEARS[unit], 1, 1)
    if unit == "weekyear":
        years, day = civil(days)
        return days_of_week_date(years + day.isocalendar().year, 1, 1)
    if unit in ("quarter", "month"):
        years, day = civil(days)
        return days_of(
            years + day.year, day.month if unit == "month" else (day.month - 1) // 3 * 3 + 1, 1
        )
    return days + 1 - _day_of_week(days) if unit == "week" else days


# The epoch


def from_epoch(seconds: object, nanoseconds: object) -> DateTime:
    """Implement datetime.fromepoch(seconds, nanoseconds)."""
    total = trunc(
        _number("datetime.fromepoch", seconds) * NS + _number("datetime.fromepoch", nanoseconds)
    )
    return at_zone(total // NS, total % NS, 0)


def from_epoch_millis(milliseconds: object) -> DateTime:
    """Implement datetime.fromepochmillis(milliseconds)."""
    total = trunc(_number("datetime.fromepochmillis", milliseconds) * 1_000_000)
    return at_zone(total // NS, total % NS, 0)


# Durations

_MONTHS = {"years": 12, "quarters": 3, "months": 1}
_DAYS = {"weeks": 7, "days": 1}
_NANOS = {
    "hours": 3_600 * NS,
    "minutes": 60 * NS,
    "seconds": NS,
    "milliseconds": 1_000_000,
    "microseconds": 1_000,
    "nanoseconds": 1,
}


def duration(value: object) -> Duration:
    """Implement duration(text) and duration(map): years to nanoseconds, whole or fractional,
    positive or negative."""
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, Duration):
        return value
    if not isinstance(value, dict):
        raise wrong("duration", value, wanted="a text such as 'P1DT2H' or a map of amounts")
    fields = _fields("duration", value)
    for name in fields.keys() - _MONTHS.keys() - _DAYS.keys() - _NANOS.keys():
        raise InputError(
            f"duration(): there is no component {name[:80]!r}.",
            next_step="Use years to nanoseconds.",
            field=name[:80],
        )
    months, days, nanos = (
        sum(
            _number("duration", fields[name]) * size
            for name, size in units.items()
            if name in fields
        )
        for units in (_MONTHS, _DAYS, _NANOS)
    )
    return duration_of(months, days, nanos)


def _between(
    name: str, measure: Callable[[Instant, Instant], Duration], one: object, two: object
) -> Duration:
    for value in (one, two):
        if not isinstance(value, INSTANTS):
            raise wrong(name, value, wanted="two instants")
    return measure(cast("Instant", one), cast("Instant", two))


def _number(function: str, value: object) -> int | Fraction:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(function, value, wanted="numbers")
    return exact(value, field=function)


_DAY_STEP = (
    "Name the day by year, month and day, or by year and week, quarter or ordinalDay, or select it"
    " from a date."
)
_TIME_STEP = "Give hour, minute, second and fractions without a gap, each within its range."
_UNIT_STEP = "Choose a unit that both types have, and components smaller than it."


def _bad(kind: _InstantType, field: str, what: str, *, step: str = _DAY_STEP) -> InputError:
    return InputError(
        f"{kind.name}: {what}.",
        next_step=_TIME_STEP if field in _TIME_FIELDS else step,
        field=field[:80],
    )


def _functions() -> tuple[Function, ...]:
    clocks: dict[str, Callable[[FunctionContext], int]] = {
        "transaction": lambda context: context.transaction_ns,
        "statement": lambda context: context.statement_ns,
        "realtime": lambda context: context.realtime_ns(),
    }
    measures = {
        "between": between,
        "inMonths": months_between,
        "inDays": days_between,
        "inSeconds": seconds_between,
    }
    result = [Function(kind.name, partial(_create, kind), 0, 1, context=True) for kind in _KINDS]
    result += [
        Function(f"{kind.name}.{name}", partial(_clock, kind, read), 0, 1, context=True)
        for kind in _KINDS
        for name, read in clocks.items()
    ]
    result += [
        Function(f"{kind.name}.truncate", partial(_truncate, kind), 1, 3, context=True)
        for kind in _KINDS
    ]
    result += [
        Function("datetime.fromepoch", from_epoch, 2, 2),
        Function("datetime.fromepochmillis", from_epoch_millis, 1, 1),
    ]
    result += [Function("duration", duration, 1, 1)]
    result += [
        Function(f"duration.{name}", partial(_between, f"duration.{name}", measure), 2, 2)
        for name, measure in measures.items()
    ]
    return tuple(result)


FUNCTIONS = _functions()
