"""The temporal and spatial functions as a query calls them: registry, clocks, maps with selection
and overrides, truncation, durations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError
from doxa.base.spatial import Point
from doxa.base.temporal import (
    DAYS_MAX,
    DAYS_MIN,
    INSTANTS,
    NS,
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Time,
    get,
    order_key,
)
from doxa.base.temporal_text import (
    parse_date,
    parse_datetime,
    parse_local_datetime,
    parse_local_time,
    parse_time,
)
from doxa.query.functions import spatial, temporal
from doxa.query.functions.registry import ArgumentError, Function, function_table

FUNCTIONS = function_table(temporal.FUNCTIONS, spatial.FUNCTIONS)
KINDS = {
    "date": Date,
    "time": Time,
    "localtime": LocalTime,
    "localdatetime": LocalDateTime,
    "datetime": DateTime,
}
UNITS = (
    "millennium",
    "century",
    "decade",
    "year",
    "weekYear",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
)


class Context:
    """A statement at 2024-07-01T12:00:00.000000001Z in a transaction a minute older."""

    statement_ns = 1_719_835_200 * NS + 1
    transaction_ns = statement_ns - 60 * NS

    def __init__(self, timezone: str = "UTC") -> None:
        self.timezone = timezone

    def realtime_ns(self) -> int:
        return self.statement_ns + 60 * NS


def call(name: str, *args: Any, context: Context | None = None) -> Any:
    """As the engine calls: nulls give null, the context comes first where it is wanted."""
    function = FUNCTIONS[name.lower()]
    assert function.least <= len(args) <= (function.most or 99)
    if not function.nulls and None in args:
        return None
    return function.call(context or Context(), *args) if function.context else function.call(*args)


LOCAL = parse_local_datetime("1984-10-11T12:31:14.645876123")
ZONED = parse_datetime("1984-10-11T12:00[Europe/Berlin]")


def test_the_registry_knows_every_function_in_lower_case() -> None:
    names = {
        f"{kind}{suffix}"
        for kind in KINDS
        for suffix in ("", ".transaction", ".statement", ".realtime", ".truncate")
    }
    names |= {
        "datetime.fromepoch",
        "datetime.fromepochmillis",
        "duration",
        "point",
        "point.distance",
        "distance",
        "point.withinbbox",
    }
    assert FUNCTIONS.keys() == names | {
        f"duration.{name}" for name in ("between", "inmonths", "indays", "inseconds")
    }
    with pytest.raises(AssertionError):
        function_table((Function("a", len, 1, 1), Function("A", len, 1, 1)))


@pytest.mark.parametrize("kind", KINDS)
def test_null_gives_null(kind: str) -> None:
    for suffix in ("", ".transaction", ".statement", ".realtime", ".truncate"):
        assert call(kind + suffix, None) is None


# Clocks


@pytest.mark.parametrize("kind", KINDS)
def test_the_clocks_differ_and_take_a_zone(kind: str) -> None:
    now = call(kind)
    assert type(now) is KINDS[kind]
    assert now == call(f"{kind}.statement")
    assert (
        call(f"{kind}.statement", "+02:00")
        == call(kind, {"timezone": "+02:00"})
        == call(f"{kind}.statement", {"timezone": "+02:00"})
    )
    if kind != "date":
        moments = [call(f"{kind}.{name}") for name in ("transaction", "statement", "realtime")]
        assert moments == sorted(set(moments), key=order_key)
    for wrong in (1, {"zone": "Z"}, True):
        with pytest.raises(ArgumentError):
            call(f"{kind}.realtime", wrong)


def test_now_in_a_zone() -> None:
    assert str(call("datetime")) == "2024-07-01T12:00:00.000000001Z"
    assert (
        str(call("datetime", {"timezone": "America/Los Angeles"}))
        == "2024-07-01T05:00:00.000000001-07:00[America/Los_Angeles]"
    )
    assert str(call("time.statement", "Asia/Kathmandu")) == "17:45:00.000000001+05:45"
    assert str(call("date", {"timezone": "Pacific/Kiritimati"})) == "2024-07-02"


def test_the_default_zone_is_the_contexts() -> None:
    berlin = Context("Europe/Berlin")
    assert (
        str(call("datetime", {"year": 2020}, context=berlin))
        == "2020-01-01T00:00+01:00[Europe/Berlin]"
    )
    assert (
        str(call("datetime", "2020-01-01", context=berlin))
        == "2020-01-01T00:00+01:00[Europe/Berlin]"
    )
    assert (
        str(call("time", "12:00", context=berlin)) == "12:00+02:00"
    )  # the offset at the time of the statement
    assert str(call("localtime", context=berlin)) == "14:00:00.000000001"


# Maps


@pytest.mark.parametrize(
    ("kind", "fields", "expected"),
    [
        ("date", {"year": 2020, "week": 53, "dayOfWeek": 5}, "2021-01-01"),
        ("date", {"year": -5, "ordinalDay": 366}, None),
        ("date", {"year": -4, "ordinalDay": 366}, "-0004-12-31"),
        ("date", {"year": 2015, "quarter": 2, "dayOfQuarter": 60}, "2015-05-30"),
        ("date", {"DATE": parse_date("2016-02-29"), "Year": 2017}, "2017-02-28"),
        ("date", {"date": parse_date("2000-05-31"), "month": 2}, "2000-02-29"),
        ("date", {"date": parse_date("2000-05-31"), "quarter": 1}, "2000-02-29"),
        ("date", {"date": parse_date("2000-05-31"), "dayOfQuarter": 1}, "2000-04-01"),
        ("date", {"date": parse_date("2000-05-31"), "dayOfWeek": 1}, "2000-05-29"),
        ("date", {"date": parse_date("2000-05-31"), "year": 2001, "ordinalDay": 365}, "2001-12-31"),
        ("date", {"date": parse_date("2020-12-31"), "year": 2021}, "2021-12-31"),
        (
            "localtime",
            {"hour": 1, "minute": 2, "second": 3, "millisecond": 4, "nanosecond": 5},
            "01:02:03.004000005",
        ),
        ("localtime", {"time": LOCAL, "millisecond": 1}, "12:31:14.001"),
        ("localtime", {"time": LOCAL, "hour": 0}, "00:31:14.645876123"),
        ("time", {"time": parse_time("23:00-01:00"), "timezone": "+01:00"}, "01:00+01:00"),
        ("time", {"time": LOCAL, "timezone": "+01:00"}, "12:31:14.645876123+01:00"),
        ("time", {"hour": 12, "timezone": "Europe/Berlin"}, "12:00+02:00"),
        ("time", {"time": ZONED}, "12:00+01:00"),
        ("localdatetime", {"year": 2020}, "2020-01-01T00:00"),
        ("localdatetime", {"datetime": ZONED, "day": 1, "minute": 5}, "1984-10-01T12:05"),
        ("datetime", {"date": ZONED, "hour": 1}, "1984-10-11T01:00Z"),
        ("datetime", {"date": LOCAL, "time": ZONED}, "1984-10-11T12:00+01:00[Europe/Berlin]"),
        ("datetime", {"datetime": ZONED, "month": 7}, "1984-07-11T12:00+02:00[Europe/Berlin]"),
        ("datetime", {"datetime": ZONED, "month": 7, "timezone": "Z"}, "1984-07-11T10:00Z"),
        (
            "datetime",
            {"datetime": LOCAL, "timezone": "Europe/Berlin"},
            "1984-10-11T12:31:14.645876123+01:00[Europe/Berlin]",
        ),
        (
            "datetime",
            {"year": 2017, "month": 3, "day": 26, "hour": 2, "timezone": "Europe/Berlin"},
            "2017-03-26T03:00+02:00[Europe/Berlin]",
        ),
        ("datetime", {"epochSeconds": 416779, "nanosecond": 23}, "1970-01-05T19:46:19.000000023Z"),
        (
            "datetime",
            {"epochMillis": -1, "timezone": "Europe/Berlin"},
            "1970-01-01T00:59:59.999+01:00[Europe/Berlin]",
        ),
    ],
)
def test_maps(kind: str, fields: dict[str, Any], expected: str | None) -> None:
    if expected is None:
        with pytest.raises(InputError):
            call(kind, fields)
    else:
        assert str(call(kind, fields)) == expected


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("date", {"month": 1}),
        ("date", {"year": 2020, "day": 1}),
        ("date", {"year": 2020, "dayOfWeek": 1}),
        ("date", {"year": 2020, "dayOfQuarter": 1}),
        ("date", {"year": 2020, "month": 1, "week": 1}),
        ("date", {"year": 2020, "month": 13}),
        ("date", {"year": 2020, "month": 2, "day": 30}),
        ("date", {"year": 2020, "month": 10**30}),
        ("date", {"year": 10**9}),
        ("date", {"year": 2021, "week": 53}),
        ("date", {"year": 2020, "hour": 1}),
        ("date", {"year": 2020, "timezone": "Z"}),
        ("date", {"date": Date(0), "dayOfWeek": 8}),
        ("date", {"date": Date(0), "quarter": 5}),
        ("date", {"nonsense": 1}),
        ("localtime", {"minute": 1}),
        ("localtime", {"hour": 1, "second": 1}),
        ("localtime", {"hour": 1, "minute": 1, "nanosecond": 1}),
        ("localtime", {"hour": 24}),
        ("localtime", {"hour": -1}),
        ("localtime", {"hour": 1, "minute": 1, "second": 1, "millisecond": 1, "microsecond": 1000}),
        ("localtime", {"hour": 1, "minute": 1, "second": 1, "microsecond": 1, "nanosecond": 1000}),
        ("localtime", {"hour": 1, "timezone": "Z"}),
        ("time", {"timezone": "Z", "minute": 1}),
        ("time", {"hour": 1, "timezone": "+19:00"}),
        ("datetime", {"year": 2020, "minute": 1}),
        ("datetime", {"datetime": ZONED, "time": ZONED}),
        ("datetime", {"epochSeconds": 1, "year": 2020}),
        ("datetime", {"epochMillis": 1, "millisecond": 1}),
        ("datetime", {"epochSeconds": 10**18}),
    ],
)
def test_maps_that_name_no_instant_are_refused(kind: str, fields: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        call(kind, fields)
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("date", 1),
        ("date", True),
        ("date", []),
        ("date", {}),
        ("date", Duration(0, 0, 0, 0)),
        ("date", {"year": "2020"}),
        ("date", {"year": 2020.0}),
        ("date", {"year": None}),
        ("date", {"date": "2020-01-01"}),
        ("date", LocalTime(0)),
        ("time", Date(0)),
        ("localtime", {"time": Date(0)}),
        ("datetime", {"year": 2020, "timezone": 1}),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(kind: str, value: Any) -> None:
    with pytest.raises(ArgumentError) as caught:
        call(kind, value)
    assert caught.value.code == "argument"


days = st.integers(DAYS_MIN + 400, DAYS_MAX - 400).map(Date)


@given(
    days,
    st.sampled_from(
        (
            ("year", "month", "day"),
            ("year", "quarter", "dayOfQuarter"),
            ("year", "ordinalDay"),
            ("weekYear", "week", "dayOfWeek"),
        )
    ),
)
def test_a_date_is_what_its_components_say(value: Date, names: tuple[str, ...]) -> None:
    fields = {name.replace("weekYear", "year"): get(value, name) for name in names}
    assert call("date", fields) == value
    assert call("date", {"date": Date(0), **fields}) == value
    assert call("date", {"date": value, **fields}) == value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "other",
    [parse_date("2020-02-29"), parse_local_time("12:00"), parse_time("12:00+01:00"), LOCAL, ZONED],
)
def test_every_instant_becomes_every_kind_that_it_has_the_parts_of(kind: str, other: Any) -> None:
    missing = (isinstance(other, (LocalTime, Time)) and "date" in kind) or (
        isinstance(other, Date) and kind in ("time", "localtime")
    )
    if missing:
        with pytest.raises(ArgumentError):
            call(kind, other)
    else:
        assert type(call(kind, other)) is KINDS[kind]


# Truncation


@pytest.mark.parametrize(
    ("name", "unit", "value", "fields", "expected"),
    [
        ("date", "WEEK", parse_date("2019-10-01"), {"dayOfWeek": 4}, "2019-10-03"),
        ("date", "weekYear", parse_date("2021-01-01"), {}, "2019-12-30"),
        ("date", "quarter", parse_date("2021-12-31"), {"dayOfQuarter": 92}, "2021-12-31"),
        ("date", "century", parse_date("-0001-05-05"), {}, "-0100-01-01"),
        ("localtime", "hour", LOCAL, {"second": 5}, "12:00:05"),
        ("localtime", "millisecond", LOCAL, {"microsecond": 7}, "12:31:14.645007"),
        ("time", "minute", ZONED, {"timezone": "-05:00"}, "12:00-05:00"),
        (
            "datetime",
            "month",
            parse_datetime("2017-10-29T02:30+01:00[Europe/Berlin]"),
            {},
            "2017-10-01T00:00+02:00[Europe/Berlin]",
        ),
        (
            "datetime",
            "hour",
            parse_datetime("2017-10-29T02:30+01:00[Europe/Berlin]"),
            {},
            "2017-10-29T02:00+01:00[Europe/Berlin]",
        ),
        ("localdatetime", "day", ZONED, {"hour": 3}, "1984-10-11T03:00"),
    ],
)
def test_truncation(
    name: str, unit: str, value: Any, fields: dict[str, Any], expected: str
) -> None:
    assert str(call(f"{name}.truncate", unit, value, fields)) == expected


def test_without_a_value_now_is_truncated() -> None:
    assert str(call("date.truncate", "year")) == "2024-01-01"
    assert str(call("datetime.truncate", "hour")) == "2024-07-01T12:00Z"
    assert str(call("time.truncate", "day")) == "00:00Z"


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("date", ("hour", LOCAL)),
        ("time", ("month", LOCAL)),
        ("localtime", ("eon", LOCAL)),
        ("datetime", ("hour", Date(0))),
        ("date", ("month", LOCAL, {"month": 2})),
        ("localtime", ("second", LOCAL, {"second": 1})),
        ("date", ("month", LOCAL, {"date": Date(0)})),
        ("date", ("month", LOCAL, {"timezone": "Z"})),
        ("date", ("month", parse_local_time("12:00"))),
        ("time", ("hour", Date(0))),
        ("date", (1, LOCAL)),
        ("date", ("month", "2020-01-01")),
        ("date", ("month", LOCAL, 1)),
    ],
)
def test_impossible_truncation_is_refused(name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises(InputError):
        call(f"{name}.truncate", *args)


@given(st.sampled_from(UNITS), st.integers(-(10**12), 10**12), st.integers(0, NS - 1))
def test_truncation_steps_back_and_rests(unit: str, seconds: int, nanos: int) -> None:
    value = LocalDateTime(seconds, nanos)
    start = call("localdatetime.truncate", unit, value)
    assert order_key(start) <= order_key(value)
    assert call("localdatetime.truncate", unit, start) == start


# Durations, the epoch, points


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"quarters": 1.5}, "P4M15DT5H14M33S"),
        ({"years": -0.5, "days": 1}, "P-6M1D"),
        ({"seconds": 0.1}, "PT0.1S"),
        ({"Milliseconds": 1.5, "microseconds": -500}, "PT0.001S"),
        ({"nanoseconds": 0.9}, "PT0S"),
        ({"hours": 10**6}, "PT1000000H"),
    ],
)
def test_durations_from_maps(fields: dict[str, Any], expected: str) -> None:
    assert str(call("duration", fields)) == expected


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"days": "1"},
        {"days": None},
        {"days": True},
        {"days": float("inf")},
        {"fortnights": 1},
        {"days": 1e300},
        5,
        [],
        "1 day",
    ],
)
def test_what_is_no_duration_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        call("duration", value)


def test_between() -> None:
    one, two = parse_date("1984-10-11"), parse_datetime("1985-11-25T21:40:32.142+0100")
    names = ("between", "inMonths", "inDays", "inSeconds")
    assert [str(call(f"duration.{name}", one, two)) for name in names] == [
        "P1Y1M14DT21H40M32.142S",
        "P1Y1M",
        "P410D",
        "PT9861H40M32.142S",
    ]
    for name in names:
        assert call(f"duration.{name}", None, one) is None
        with pytest.raises(ArgumentError):
            call(f"duration.{name}", one, "1985-01-01")


def test_the_epoch() -> None:
    assert (
        str(call("datetime.fromEpoch", 1683000000, 123456789)) == "2023-05-02T04:00:00.123456789Z"
    )
    assert str(call("datetime.fromEpochMillis", -1.5)) == "1969-12-31T23:59:59.998500Z"
    with pytest.raises(ArgumentError):
        call("datetime.fromEpoch", "1", 0)


def test_points() -> None:
    here, there = call("point", {"x": 0, "y": 0}), call("point", {"x": 3, "y": 4})
    assert isinstance(here, Point)
    assert call("point.distance", here, there) == call("distance", here, there) == 5.0
    assert call("point.withinBBox", here, here, there) is True
    assert call("point", {"x": 0, "y": None}) is None
    for name, args in (
        ("point", ("0 0",)),
        ("point.distance", (here, 5)),
        ("point.withinBBox", (here, here, {"x": 1})),
    ):
        with pytest.raises(ArgumentError):
            call(name, *args)


def test_every_result_is_an_instant() -> None:
    assert all(isinstance(call(kind), INSTANTS) for kind in KINDS)
