"""Instants: equal points in time have equal keys, whatever their type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.temporal import DAY_NS, Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from doxa.base.temporal_instant import instant_key, instant_of, text_instant_key


@pytest.mark.parametrize(
    "value",
    [
        Date(1),
        DateTime(86_400, 0, 0),
        DateTime(86_400, 0, 18_000, None),
        LocalDateTime(86_400, 0),
        DAY_NS,
        "1970-01-02",
        "1970-01-02T00:00Z",
        "1970-01-02T05:00:00+05:00",
        "19700102T000000",
        "1970-01-02T01:00+01:00[Europe/Stockholm]",
    ],
)
def test_the_same_instant(value: Any) -> None:
    assert instant_of(value) == DAY_NS
    assert not isinstance(value, str) or text_instant_key(value) == instant_key(DAY_NS)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        "",
        "zzz",
        "10:00",
        "1970-02-30",
        "1970-01-01 10:00",
        Time(0, 0),
        LocalTime(0),
        Duration(0, 1, 0, 0),
        [1],
        b"1",
        2**63,
    ],
)
def test_what_is_no_point_in_time(value: Any) -> None:
    assert instant_of(value) is None
    assert not isinstance(value, str) or text_instant_key(value) is None


@given(st.integers(-(10**9) * 366 * DAY_NS, 10**9 * 366 * DAY_NS), st.integers(-3, 3))
def test_keys_have_the_order_of_the_instants(instant: int, step: int) -> None:
    other = instant + step
    assert (instant_key(instant) < instant_key(other)) == (instant < other)
    assert len(instant_key(instant)) == 16


def test_years_far_away_lose_nothing() -> None:
    first, last = instant_of("+999999999-12-31"), instant_of("+999999999-12-31T23:59:59.999999999Z")
    assert first is not None and last == first + DAY_NS - 1
