"""Times: ISO 8601 at the interfaces, integer nanoseconds inside, and no partial parses."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from doxa.base.clock import NS, TIME_MAX, FakeClock, SystemClock, format_time, parse_time
from doxa.base.errors import InputError


@given(st.integers(-TIME_MAX, TIME_MAX))
@example(-TIME_MAX)
@example(TIME_MAX)
@example(-1)
@example(0)
def test_what_is_printed_is_parsed_again(ns: int) -> None:
    assert parse_time(format_time(ns)) == ns
    assert parse_time(ns) == ns


@given(st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1), timezones=st.just(UTC)))
def test_datetimes_keep_their_instant(value: datetime) -> None:
    assert parse_time(value) == parse_time(value.isoformat())
    assert format_time(parse_time(value)).startswith(value.strftime("%Y-%m-%dT%H:%M:%S"))


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01Z", NS),
        ("1970-01-01 00:00:01", NS),
        ("  1970-01-01T00:00:01+00:00 ", NS),
        ("1970-01-01T02:00:00+02:00", 0),
        ("1970-01-01T00:00:00.000000001Z", 1),
        ("1970-01-01T00:00:00.1234567899Z", 123_456_789),
        ("1970-01-01T02:00:00.5+02:00", NS // 2),
        ("1969-12-31T23:59:59.5Z", -NS // 2),
    ],
)
def test_accepted_texts(text: str, ns: int) -> None:
    assert parse_time(text) == ns


def test_a_zone_counts_and_its_absence_means_utc() -> None:
    assert parse_time(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    assert parse_time(datetime(1970, 1, 1, 1)) == 3_600 * NS


def test_a_date_alone_is_its_first_instant_as_its_text_is() -> None:
    day = date(2026, 1, 1)
    assert parse_time(day) == parse_time("2026-01-01") == parse_time(datetime(2026, 1, 1))
    with pytest.raises(InputError, match="outside the range"):
        parse_time(date.max)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "soon",
        "2026-13-01",
        "2026-02-30",
        "2026-03-02T25:00:00",
        "2026-03-02T14:00:00.5.5",
        "2026-03-02.5",
        "2026.5-03-02",
        "9999-01-01",
        "0001-01-01",
        True,
        False,
        None,
        1.5,
        TIME_MAX + 1,
        -TIME_MAX - 1,
        b"1970-01-01",
        "1970-01-01\x00",
        datetime(9999, 1, 1, tzinfo=UTC),
    ],
)
def test_anything_else_is_refused_with_its_field(value: Any) -> None:
    with pytest.raises(InputError) as caught:
        parse_time(value, field="valid_from")
    assert caught.value.fields["field"] == "valid_from"
    assert "ISO 8601" in caught.value.next_step


@pytest.mark.parametrize(
    "value",
    [
        "9999-12-31",
        "0001-01-01",
        "2262-04-12",
        "1677-09-20",
        TIME_MAX + 1,
        datetime(9999, 1, 1, tzinfo=UTC),
    ],
)
def test_a_time_beyond_the_range_is_told_the_range(value: Any) -> None:
    with pytest.raises(InputError, match="1677-09-22 to 2262-04-11"):
        parse_time(value)
    assert parse_time("2262-04-11") < TIME_MAX
    assert parse_time("1677-09-22") > -TIME_MAX


@given(st.text(max_size=40))
def test_no_text_breaks_the_parser(text: str) -> None:
    try:
        assert -TIME_MAX <= parse_time(text) <= TIME_MAX
    except InputError as error:
        assert error.code == "input"


def test_the_fake_clock_moves_only_when_told() -> None:
    clock = FakeClock(5 * NS)
    assert (clock.now_ns(), clock.now_ns()) == (5 * NS, 5 * NS)
    clock.advance(seconds=1.5, days=1)
    assert clock.now_ns() == int(6.5 * NS) + 86_400 * NS
    clock.set(1)
    assert clock.now_ns() == 1


def test_the_system_clock_is_in_nanoseconds() -> None:
    assert parse_time("2024-01-01") < SystemClock().now_ns() < TIME_MAX
