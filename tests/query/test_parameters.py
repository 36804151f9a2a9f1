"""What Python gives a query and gets back: every type is converted or refused with its place; dates
and times go both ways."""

from __future__ import annotations

import datetime as py
import decimal
import uuid
from collections import OrderedDict, UserDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from doxa.base.temporal_python import from_python, to_python
from doxa.query.engine import QueryEngine
from doxa.query.session import GraphSession
from doxa.store import Identity, Store


@pytest.fixture
def session(tmp_path: Path) -> Iterator[GraphSession]:
    with (
        Store(tmp_path / "graph.db") as store,
        GraphSession(store, QueryEngine(), Identity("tester", "operator")) as made,
    ):
        yield made


class Shout(str):
    __slots__ = ()


@pytest.mark.parametrize(
    "value, expected",
    [
        ((1, "a"), [1, "a"]),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=(1,)), {"a": [1]}),
        (Shout("x"), "x"),
        (bytearray(b"x"), b"x"),
        (np.int64(7), 7),
        (np.float32(0.5), 0.5),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.bool_(True), True),
        (py.date(2024, 2, 29), Date(19_782)),
        (py.timedelta(days=-1, seconds=5), Duration(0, -1, 5, 0)),
        (py.time(1, 2, 3, 4), LocalTime(3_723_000_004_000)),
        (py.datetime(2024, 2, 29, 1), LocalDateTime(1_709_168_400, 0)),
        (py.datetime(2024, 2, 29, 1, tzinfo=py.UTC), DateTime(1_709_168_400, 0, 0)),
        (
            py.datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Paris")),
            DateTime(1_719_828_000, 0, 7_200, "Europe/Paris"),
        ),
        (py.time(1, tzinfo=py.timezone(py.timedelta(hours=2))), Time(3_600_000_000_000, 7_200)),
        (Date(5), Date(5)),
        (None, None),
    ],
)
def test_what_has_a_type_in_cypher_is_converted(
    session: GraphSession, value: Any, expected: Any
) -> None:
    found = session.run("RETURN $x", {"x": value}).single()
    assert found == expected and type(found) is type(expected)


CYCLE: list[Any] = []
CYCLE.append(CYCLE)


@pytest.mark.parametrize(
    "value, place",
    [
        (2**63, "$x"),
        (-(2**63) - 1, "$x"),
        ({1, 2}, "$x"),
        (decimal.Decimal(1), "$x"),
        (uuid.uuid4(), "$x"),
        (object(), "$x"),
        ({1: 2}, "$x"),
        ("\ud800", "$x"),
        ({"a": ["ok", {"b": 1j}]}, "$x.a.b"),
        ({"\ud800": 1}, "$x"),
        (CYCLE, "$x"),
        ((i for i in ()), "$x"),
        (len, "$x"),
        (py.time(1, tzinfo=ZoneInfo("Europe/Paris")), ""),
    ],
)
def test_what_has_none_is_refused_with_its_place(
    session: GraphSession, value: Any, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        session.run("RETURN $x", {"x": value})
    assert str(caught.value.fields.get("field", "")).startswith(place)
    assert session.run("RETURN 1").single() == 1


def test_names_of_parameters_are_text(session: GraphSession) -> None:
    with pytest.raises(InputError):
        session.run("RETURN 1", {1: 2})  # type: ignore[dict-item]


def test_who_asks_is_null_unless_it_is_said(session: GraphSession) -> None:
    assert session.run("RETURN [$_session, $_agent, $_tenant]").single() == [None, None, None]
    other = GraphSession(
        session.store, session.engine, session.identity, context={"agent": "kai", "round": (1, 2)}
    )
    assert other.run("RETURN [$_session, $_agent, $_tenant, $_round]").single() == [
        None,
        "kai",
        None,
        [1, 2],
    ]


NEW_YEAR = 1_704_067_200_000_000_000


@pytest.mark.parametrize(
    "moment",
    [
        "2024-01-01T00:00Z",
        py.date(2024, 1, 1),
        py.datetime(2024, 1, 1, tzinfo=py.UTC),
        NEW_YEAR,
        Date(19_723),
    ],
)
def test_the_times_of_a_session_may_have_any_form(session: GraphSession, moment: Any) -> None:
    session.run("CREATE (:A)")
    session.system_time = session.valid_time = moment
    assert session.system_time == session.valid_time == NEW_YEAR
    assert session.run("MATCH (a:A) RETURN count(a)").single() == 0
    session.system_time = None
    assert session.run("MATCH (a:A) RETURN count(a)").single() == 1
    for bad in ("rubbish", 1.5, [1], py.timedelta(1)):
        with pytest.raises(Exception, match=r"point in time|rubbish|no "):
            session.valid_time = bad


def test_a_time_may_be_a_parameter_from_python(session: GraphSession) -> None:
    session.run("CREATE (:A)")
    later = py.datetime.now(py.UTC) + py.timedelta(seconds=1)
    assert (
        session.run("AS OF SYSTEM TIME $t MATCH (a:A) RETURN count(a)", {"t": later}).single() == 1
    )


WEST = py.timezone(py.timedelta(hours=-3, minutes=-30))
NATIVE = (
    st.dates()
    | st.times()
    | st.datetimes()
    | st.timedeltas()
    | st.datetimes(timezones=st.just(WEST))
)


@given(NATIVE)
def test_times_come_back_as_they_went(value: Any) -> None:
    assert to_python(from_python(value)) == value


def test_rows_with_the_times_of_python(session: GraphSession) -> None:
    moment = "datetime('2024-02-29T01:02:03.000000999+02:00')"
    text = (
        f"RETURN date('2024-02-29') AS d, [{moment}] AS l, {{t: localtime('01:00')}} AS m,"
        " duration('P1D') AS p"
    )
    (row,) = session.run(text).records(python=True)
    zone = py.timezone(py.timedelta(hours=2))
    then = py.datetime(2024, 2, 29, 1, 2, 3, tzinfo=zone)
    assert row == {
        "d": py.date(2024, 2, 29),
        "l": [then],
        "m": {"t": py.time(1)},
        "p": py.timedelta(days=1),
    }
    for bad in ("duration('P1M')", "date('+12345-01-01')"):
        with pytest.raises(InputError):
            session.run(f"RETURN {bad} AS x").records(python=True)
