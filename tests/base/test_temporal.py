"""Temporal values: texts, fields, zones and arithmetic as tables; calendar, printing and order as
properties over the whole range."""

from __future__ import annotations

import datetime as standard

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError
from doxa.base.temporal import (
    DAY_NS,
    DAY_S,
    DAYS_MAX,
    DAYS_MIN,
    NS,
    OFFSET_MAX_S,
    TEMPORALS,
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Time,
    add,
    at_zone,
    attach,
    between,
    civil,
    days_between,
    days_of,
    days_of_week_date,
    divide,
    duration_of,
    get,
    local_days,
    months_between,
    multiply,
    offset_at,
    order_key,
    ordinal_days,
    quarter_days,
    seconds_between,
    subtract,
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

ZONES = (
    "Europe/Stockholm",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "UTC",
    "Etc/GMT+5",
)
READ = {
    Date: parse_date,
    LocalTime: parse_local_time,
    Time: parse_time,
    LocalDateTime: parse_local_datetime,
    DateTime: parse_datetime,
}
READ |= {Duration: parse_duration}

near_days = st.integers(-200 * 365, 200 * 365)
days = st.one_of(st.integers(DAYS_MIN, DAYS_MAX), near_days)
inner_days = st.one_of(st.integers(DAYS_MIN + 2, DAYS_MAX - 2), near_days)  # room for an offset
seconds = st.builds(lambda day, second: day * DAY_S + second, inner_days, st.integers(0, DAY_S - 1))
fractions = st.one_of(st.just(0), st.integers(0, NS - 1))
offsets = st.one_of(
    st.integers(-OFFSET_MAX_S, OFFSET_MAX_S), st.integers(-18, 18).map(lambda hour: hour * 3600)
)
clocks = st.integers(0, DAY_NS - 1)
small = st.integers(-(10**6), 10**6)

dates = days.map(Date)
local_times = clocks.map(LocalTime)
times = st.builds(Time, clocks, offsets)
local_datetimes = st.builds(LocalDateTime, seconds, fractions)
datetimes = st.builds(at_zone, seconds, fractions, st.one_of(offsets, st.sampled_from(ZONES)))
durations = st.builds(Duration, small, small, st.integers(-(10**9), 10**9), fractions)
temporals = st.one_of(dates, local_times, times, local_datetimes, datetimes, durations)

NO_DATES = (
    "",
    "15",
    "2015-7-21",
    "2015-0721",
    "201507211",
    "2015-W54",
    "2015-W30-8",
    "2015-W00",
    "2015-Q5",
    "2015-Q1-91",
    "2015-366",
    "2015-000",
    "2015-02-29",
    "2015-00-01",
    "12345-01-01",
    "+1234567890-01-01",
    "2015-07-21T12:00",
    "2015-07-21Z",
    "２０１５",
    "2015-07-21\n",
    "+999999999-W52-7",
    "x" * 200,
)


# Texts


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("2015-Q2-60", "2015-05-30"),
        ("2015Q260", "2015-05-30"),
        ("2015q2", "2015-04-01"),
        ("2016-366", "2016-12-31"),
        ("2020-W53-5", "2021-01-01"),
        ("+2015-W13-4", "2015-03-26"),
        ("0000", "0000-01-01"),
        ("-0001-12", "-0001-12-01"),
        ("+12345-02-28", "+12345-02-28"),
        ("-999999999-01-01", "-999999999-01-01"),
        ("+999999999-12-31", "+999999999-12-31"),
    ],
)
def test_a_date_is_read_in_every_form(text: str, printed: str) -> None:
    assert str(parse_date(text)) == printed


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date_is_refused_with_a_way_on(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_date(text)
    assert caught.value.fields["field"] == "text"
    assert caught.value.next_step
    assert len(str(caught.value.fields["value"])) <= 80


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("21", "21:00Z"),
        ("T2140", "21:40Z"),
        ("214032,5z", "21:40:32.500Z"),
        ("21:40:32.000001-0130", "21:40:32.000001-01:30"),
        ("21:40:32.000000001+01:02:03", "21:40:32.000000001+01:02:03"),
        ("00:00:01-000001", "00:00:01-00:00:01"),
    ],
)
def test_a_time_is_read_in_every_form(text: str, printed: str) -> None:
    assert str(parse_time(text)) == printed


def test_a_time_without_an_offset_takes_the_default() -> None:
    assert parse_time("12:00", default=3600) == Time(12 * 3600 * NS, 3600)
    assert (
        str(parse_datetime("2015-07-01", default="Europe/Stockholm"))
        == "2015-07-01T00:00+02:00[Europe/Stockholm]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1",
        "24:00",
        "12:60",
        "12:00:60",
        "12:0",
        "1200:00",
        "12:00.5",
        "12:00:00.1234567891",
        "12:00+19",
        "12:00+18:01",
        "12:00+01:60",
        "12:00 Z",
    ],
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_time(text)
    with pytest.raises(InputError):
        parse_datetime(f"2015-01-01T{text}")


def test_a_local_text_has_no_offset_and_a_time_no_zone() -> None:
    for read, text in (
        (parse_local_time, "12:00Z"),
        (parse_local_datetime, "2015-01-01T12:00[Europe/London]"),
        (parse_time, "12:00[Europe/London]"),
    ):
        with pytest.raises(InputError):
            read(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        (
            "2017-03-26T02:30[Europe/Stockholm]",
            "2017-03-26T03:30+02:00[Europe/Stockholm]",
        ),  # skipped: moved on
        (
            "2017-10-29T02:30[Europe/Stockholm]",
            "2017-10-29T02:30+02:00[Europe/Stockholm]",
        ),  # twice: the first
        ("2017-10-29T02:30+01:00[Europe/Stockholm]", "2017-10-29T02:30+01:00[Europe/Stockholm]"),
        ("1818-07-21T21:40[Europe/Berlin]", "1818-07-21T21:40+00:53:28[Europe/Berlin]"),
        ("-0500-07-21T21:40[Europe/Berlin]", "-0500-07-21T21:40+00:53:28[Europe/Berlin]"),
        ("+12345-07-01T12:00[Europe/Berlin]", "+12345-07-01T12:00+02:00[Europe/Berlin]"),
        ("+12345-01-01T12:00[Europe/Berlin]", "+12345-01-01T12:00+01:00[Europe/Berlin]"),
    ],
)
def test_a_zone_gives_the_offset_in_force(text: str, printed: str) -> None:
    assert str(parse_datetime(text)) == printed


def test_the_packaged_zones_come_before_the_systems() -> None:
    pytest.importorskip("tzdata")
    assert (
        str(parse_datetime("1818-07-21T21:40[Europe/Stockholm]"))
        == "1818-07-21T21:40+00:53:28[Europe/Stockholm]"
    )


def test_an_offset_that_the_zone_does_not_have_is_refused() -> None:
    with pytest.raises(InputError):
        parse_datetime("2017-07-29T02:30+01:00[Europe/Stockholm]")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Nowhere/There",
        "../etc/passwd",
        "Europe",
        "/etc/localtime",
        "posixrules",
        "localtime",
        "Europe/Stockholm/",
        "zone.tab",
        "x" * 500,
    ],
)
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InputError):
        parse_zone(name)


def test_a_zone_is_an_offset_or_a_name() -> None:
    assert parse_zone("Z") == 0
    assert parse_zone("-02:05:07") == -(2 * 3600 + 5 * 60 + 7)
    assert parse_zone("America/Los Angeles") == "America/Los_Angeles"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("PT0S", "PT0S"),
        ("P0D", "PT0S"),
        ("-P1Y2MT3S", "P-1Y-2MT-3S"),
        ("+P1Y-2M", "P10M"),
        ("P0.5Y", "P6M"),
        ("P1,5D", "P1DT12H"),
        ("PT-0.5S", "PT-0.5S"),
        ("PT36H", "PT36H"),
        ("pt1m", "PT1M"),
        ("P20120202T143721.545", "P2012Y2M2DT14H37M21.545S"),
        ("-P0001-02-03", "P-1Y-2M-3D"),
        ("P9223372036854775807D", "P9223372036854775807D"),
    ],
)
def test_a_duration_is_read_in_every_form(text: str, printed: str) -> None:
    assert str(parse_duration(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "P",
        "PT",
        "P1DT",
        "1D",
        "P1H",
        "PT1D",
        "P1M1Y",
        "P1",
        "P1.D",
        "P2012-13-02",
        "P2012-02-02Z",
        "P2012-0202",
        "P9223372036854775808D",
        "P" + "9" * 5000 + "D",
        "PT1ſ",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_duration(text)


@given(temporals)
def test_what_is_printed_is_read_again(value: object) -> None:
    assert READ[type(value)](str(value)) == value


@given(
    st.sampled_from(list(READ.values())),
    st.text(alphabet="0123456789-+:.,TWQPYMDHSZ[]/ae ", max_size=30),
)
def test_any_text_is_read_or_refused(read, text: str) -> None:  # type: ignore[no-untyped-def]
    try:
        value = read(text)
    except InputError:
        return
    assert read(str(value)) == value


# The calendar


@given(days)
def test_days_and_dates_are_inverse_over_the_whole_range(day: int) -> None:
    date = Date(day)
    year = get(date, "year")
    assert isinstance(year, int)
    assert days_of(year, int(get(date, "month")), int(get(date, "day"))) == day
    assert (
        days_of_week_date(
            int(get(date, "weekYear")), int(get(date, "week")), int(get(date, "dayOfWeek"))
        )
        == day
    )
    assert quarter_days(year, int(get(date, "quarter")), int(get(date, "dayOfQuarter"))) == day
    assert ordinal_days(year, int(get(date, "ordinalDay"))) == day


@given(st.dates())
def test_the_calendar_is_the_standard_one_where_that_reaches(day: standard.date) -> None:
    value = Date(day.toordinal() - standard.date(1970, 1, 1).toordinal())
    assert str(value) == day.isoformat()
    assert (get(value, "weekYear"), get(value, "week"), get(value, "weekDay")) == tuple(
        day.isocalendar()
    )


@given(
    st.datetimes(min_value=standard.datetime(1800, 1, 1), max_value=standard.datetime(2200, 1, 1)),
    st.sampled_from(ZONES),
)
def test_a_zoned_instant_shows_the_local_time_that_the_standard_library_shows(
    moment: standard.datetime, zone: str
) -> None:
    utc = moment.replace(microsecond=0, tzinfo=standard.UTC)
    value = at_zone(int(utc.timestamp()), 0, zone)
    delta = standard.timedelta(seconds=offset_at(zone, value.seconds))
    assert value.offset == delta.total_seconds()
    assert attach(value.seconds + value.offset, 0, zone, prefer=value.offset) == value


@given(st.integers(-(10**6), 10**6), st.integers(0, 10**6), st.sampled_from(ZONES))
def test_beyond_the_standard_years_the_rules_repeat_every_400(
    day: int, cycles: int, zone: str
) -> None:
    at = (days_of(14_000, 1, 1) + day) * DAY_S
    assert offset_at(zone, at) == offset_at(zone, at + cycles * 146_097 * DAY_S)


def test_the_first_and_last_days() -> None:
    assert [str(civil(day)[1].day) for day in (DAYS_MIN, DAYS_MAX)] == ["1", "31"]
    for value in (
        Date(DAYS_MAX),
        LocalDateTime(DAYS_MAX * DAY_S, 0),
        DateTime(DAYS_MAX * DAY_S, 0, 0),
    ):
        for step in (
            Duration(0, 1, 0, 0),
            Duration(1, 0, 0, 0),
            Duration(2**62, 0, 0, 0),
            Duration(0, 0, DAY_S, 0),
        ):
            with pytest.raises(InputError):
                add(value, step)


# Fields


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        (
            Date(5397),
            {
                "year": 1984,
                "quarter": 4,
                "month": 10,
                "week": 41,
                "weekYear": 1984,
                "day": 11,
                "ordinalDay": 285,
                "weekDay": 4,
                "quarterDay": 11,
            },
        ),
        (
            parse_time("12:31:14.645876123-01:30:15"),
            {"hour": 12, "minute": 31, "second": 14, "millisecond": 645, "microsecond": 645876},
        ),
        (
            parse_time("12:31:14.645876123-01:30:15"),
            {
                "nanosecond": 645876123,
                "timezone": "-01:30:15",
                "offset": "-01:30:15",
                "offsetMinutes": -90,
            },
        ),
        (
            parse_datetime("1969-12-31T23:59:59.5Z"),
            {
                "epochSeconds": -1,
                "epochMillis": -500,
                "second": 59,
                "timezone": "Z",
                "offsetSeconds": 0,
            },
        ),
        (
            parse_datetime("2017-07-01T01:00[Europe/Berlin]"),
            {"day": 1, "hour": 1, "timezone": "Europe/Berlin", "offset": "+02:00", "DAYOFWEEK": 6},
        ),
        (
            parse_duration("P-1Y-5M-10D"),
            {
                "years": -1,
                "quarters": -5,
                "months": -17,
                "weeks": -1,
                "quartersOfYear": -1,
                "monthsOfYear": -5,
            },
        ),
        (parse_duration("P-1Y-5M-10D"), {"monthsOfQuarter": -2, "daysOfWeek": -3, "hours": 0}),
        (
            parse_duration("PT-0.5S"),
            {
                "seconds": -1,
                "nanosecondsOfSecond": 500_000_000,
                "nanoseconds": -500_000_000,
                "milliseconds": -500,
            },
        ),
        (
            parse_duration("PT2H3M4.005006007S"),
            {
                "hours": 2,
                "minutes": 123,
                "minutesOfHour": 3,
                "secondsOfMinute": 4,
                "microsecondsOfSecond": 5006,
            },
        ),
    ],
)
def test_fields(value, fields: dict[str, object]) -> None:  # type: ignore[no-untyped-def]
    assert {name: get(value, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("text", "field"), [("2015", "hour"), ("2015", "timezone"), ("2015", "years"), ("2015", "")]
)
def test_a_field_that_the_type_does_not_have_is_refused(text: str, field: str) -> None:
    with pytest.raises(InputError):
        get(parse_date(text), field)
    with pytest.raises(InputError):
        get(LocalTime(0), "year")
    with pytest.raises(InputError):
        get(LocalDateTime(0, 0), "epochSeconds")


def test_types_are_never_equal_to_each_other() -> None:
    values = [
        Date(1),
        LocalTime(1),
        Time(1, 0),
        LocalDateTime(1, 0),
        DateTime(1, 0, 0),
        Duration(1, 0, 0, 0),
    ]
    assert len(set(values)) == len(values)
    assert [value for value in values if value == (1,)] == []
    assert DateTime(1, 0, 0) != DateTime(1, 0, 0, "UTC")
    with pytest.raises(AttributeError):
        values[0].days = 2  # type: ignore[union-attr]
    assert len(TEMPORALS) == 6


# Order


@given(st.lists(times, min_size=2, max_size=5))
def test_times_are_ordered_by_instant(values: list[Time]) -> None:
    ordered = sorted(values, key=order_key)
    instants = [value.nanos - value.offset * NS for value in ordered]
    assert instants == sorted(instants)


@given(datetimes, datetimes)
def test_datetimes_are_ordered_by_instant_and_totally(one: DateTime, two: DateTime) -> None:
    length = seconds_between(one, two)
    if (length.seconds, length.nanos) != (0, 0):
        assert (order_key(one) < order_key(two)) == (length.seconds >= 0)
    else:
        assert (order_key(one) == order_key(two)) == (one == two)


def test_durations_are_ordered_by_average_length() -> None:
    texts = ["P1D", "PT25H", "P30D", "P1M", "P31D", "P1Y"]
    assert sorted(reversed(texts), key=lambda text: order_key(parse_duration(text))) == texts
    assert order_key(parse_duration("P1D")) != order_key(parse_duration("PT24H"))


# Arithmetic


@pytest.mark.parametrize(
    ("value", "duration", "sum_", "difference"),
    [
        (parse_date("2011-01-31"), "P1M", "2011-02-28", "2010-12-31"),
        (parse_date("2016-02-29"), "P1Y", "2017-02-28", "2015-02-28"),
        (parse_date("2016-02-29"), "PT47H", "2016-03-01", "2016-02-28"),
        (parse_date("2016-02-29"), "P1MT-25H", "2016-03-28", "2016-01-30"),
        (parse_local_time("23:00"), "P1DT2H", "01:00", "21:00"),
        (
            parse_time("00:00-01:00"),
            "PT0.000000001S",
            "00:00:00.000000001-01:00",
            "23:59:59.999999999-01:00",
        ),
        (
            parse_datetime("2017-03-25T02:30[Europe/Berlin]"),
            "P1D",
            "2017-03-26T03:30+02:00[Europe/Berlin]",
            "2017-03-24T02:30+01:00[Europe/Berlin]",
        ),
        (
            parse_datetime("2017-03-25T02:30[Europe/Berlin]"),
            "PT24H",
            "2017-03-26T03:30+02:00[Europe/Berlin]",
            "2017-03-24T02:30+01:00[Europe/Berlin]",
        ),
        (
            parse_datetime("2017-10-30T12:00[Europe/Berlin]"),
            "P2D",
            "2017-11-01T12:00+01:00[Europe/Berlin]",
            "2017-10-28T12:00+02:00[Europe/Berlin]",
        ),
        (
            parse_datetime("2017-10-30T12:00[Europe/Berlin]"),
            "PT48H",
            "2017-11-01T12:00+01:00[Europe/Berlin]",
            "2017-10-28T13:00+02:00[Europe/Berlin]",
        ),
        (parse_duration("P1YT1S"), "P2MT1.5S", "P1Y2MT2.5S", "P10MT-0.5S"),
    ],
)
def test_sums_and_differences(value, duration: str, sum_: str, difference: str) -> None:  # type: ignore[no-untyped-def]
    by = parse_duration(duration)
    assert str(add(value, by)) == sum_ == str(add(by, value))
    assert str(subtract(value, by)) == difference


@pytest.mark.parametrize(
    ("duration", "factor", "product", "quotient"),
    [
        ("P1M", 2, "P2M", "P15DT5H14M33S"),
        ("PT1S", 0.1, "PT0.1S", "PT10S"),
        ("P1Y1D", -1, "P-1Y-1D", "P-1Y-1D"),
        ("PT0.000000001S", 3, "PT0.000000003S", "PT0S"),
        ("PT-1S", 3, "PT-3S", "PT-0.333333333S"),
    ],
)
def test_products_and_quotients(duration: str, factor: float, product: str, quotient: str) -> None:
    value = parse_duration(duration)
    assert str(multiply(value, factor)) == product
    assert str(divide(value, factor)) == quotient


def test_impossible_arithmetic_is_refused() -> None:
    with pytest.raises(InputError):
        add(Date(0), Date(1))
    with pytest.raises(InputError):
        subtract(Duration(0, 0, 0, 0), Date(1))
    for factor in (0, 0.0, float("nan"), float("inf"), 1e-300):
        with pytest.raises(InputError):
            divide(parse_duration("P1Y"), factor)
    with pytest.raises(InputError):
        multiply(parse_duration("P1Y"), 1e300)
    with pytest.raises(InputError):
        duration_of(2**63, 0, 0)


@given(durations, durations)
def test_durations_form_a_group(one: Duration, two: Duration) -> None:
    assert subtract(add(one, two), two) == one
    assert add(one, two) == add(two, one)
    assert multiply(one, 2) == add(one, one)
    assert divide(multiply(one, 3), 3) == one


@given(st.one_of(st.tuples(dates, dates), st.tuples(local_datetimes, local_datetimes)))
def test_the_duration_between_two_instants_leads_from_one_to_the_other(pair) -> None:  # type: ignore[no-untyped-def]
    one, two = pair
    step = between(one, two)
    assert add(one, step) == two
    total = step.seconds * NS + step.nanos
    assert (step.months >= 0 and step.days >= 0 and total >= 0) or (
        step.months <= 0 and step.days <= 0 and total <= 0
    )
    assert abs(total) < DAY_NS
    assert months_between(one, two).months == step.months
    assert abs(days_between(one, two).days) <= abs(local_days(two) - local_days(one))
    assert seconds_between(one, two) == multiply(seconds_between(two, one), -1)


@given(datetimes, datetimes)
def test_between_zoned_instants_leads_to_the_same_instant(one: DateTime, two: DateTime) -> None:
    reached = add(one, between(one, two))
    assert isinstance(reached, DateTime)
    assert (reached.seconds, reached.nanos, reached.zone) == (two.seconds, two.nanos, one.zone)


@given(
    temporals.filter(lambda value: not isinstance(value, Duration)),
    temporals.filter(lambda value: not isinstance(value, Duration)),
)
def test_between_takes_every_pair_of_types(one, two) -> None:  # type: ignore[no-untyped-def]
    for measure in (between, months_between, days_between, seconds_between):
        assert isinstance(measure(one, two), Duration)
    assert seconds_between(one, one) == Duration(0, 0, 0, 0)


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (
            parse_local_datetime("2018-03-31T12:00"),
            parse_local_datetime("2018-02-28T13:00"),
            "P-30DT-23H",
        ),
        (
            parse_local_datetime("2018-01-31T12:00"),
            parse_local_datetime("2018-03-01T11:00"),
            "P28DT23H",
        ),
        (parse_date("2018-01-31"), parse_date("2018-02-28"), "P28D"),
        (parse_date("2015-06-24"), parse_local_time("14:30"), "PT14H30M"),
        (parse_local_time("14:30"), parse_time("16:30+0100"), "PT2H"),
        (
            parse_datetime("2017-10-28T12:00[Europe/Berlin]"),
            parse_datetime("2017-10-29T12:00[Europe/Berlin]"),
            "P1D",
        ),
        (
            parse_datetime("2017-10-29T00:00[Europe/Berlin]"),
            parse_datetime("2017-10-29T00:00[Europe/London]"),
            "PT1H",
        ),
        (parse_date("2017-10-29"), parse_datetime("2017-10-29T04:00[Europe/Berlin]"), "PT5H"),
    ],
)
def test_between(one, two, expected: str) -> None:  # type: ignore[no-untyped-def]
    assert str(between(one, two)) == expected
