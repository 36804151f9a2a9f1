"""Values as JSON: each type in both forms, and decoding of the typed form."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doxa.base.errors import DoxaError, LimitError
from doxa.base.spatial import CARTESIAN, CARTESIAN_3D, WGS_84, WGS_84_3D, Point
from doxa.base.temporal import Date, Duration, LocalDateTime, LocalTime, Time, at_zone
from doxa.base.temporal_text import parse_datetime
from doxa.query.core.elements import Edge, Node, Path
from doxa.servers.http.responses import encode
from doxa.servers.http.values import meta, plain, read_typed, row, typed

A, B = Node(1, labels=("A", "C"), props={"x": 1.5}), Node(2, labels=(), props={"day": Date(0)})
R = Edge(7, kind="R", start=2, end=1, props={"y": [1]})
PATH = Path([A, B], [R])

PLAIN = [
    (None, None),
    (True, True),
    (2**63 - 1, 2**63 - 1),
    ("ä", "ä"),
    (1.5, 1.5),
    (math.nan, "NaN"),
    (math.inf, "Infinity"),
    (-math.inf, "-Infinity"),
    (b"\0\xff", "AP8="),
    ([1, [None]], [1, [None]]),
    ({"k": math.nan}, {"k": "NaN"}),
    (Point(CARTESIAN, 2.3, 4.5), "SRID=7203;POINT (2.3 4.5)"),
    (Point(WGS_84_3D, 2.3, 4.5, 6.7), "SRID=4979;POINT Z (2.3 4.5 6.7)"),
    (Date(16_520), "2015-03-26"),
    (LocalTime(46_235_556_000_000), "12:50:35.556"),
    (Time(46_235_556_000_000, 3_600), "12:50:35.556+01:00"),
    (LocalDateTime(0, 5), "1970-01-01T00:00:00.000000005"),
    (parse_datetime("2015-06-24T12:50:35.556+01:00"), "2015-06-24T12:50:35.556+01:00"),
    (
        parse_datetime("2015-11-21T21:40:32.142[Antarctica/Troll]"),
        "2015-11-21T21:40:32.142Z[Antarctica/Troll]",
    ),
    (Duration(0, 14, 58_320, 0), "P14DT16H12M"),
    (A, {"elementId": "n:1", "labels": ["A", "C"], "properties": {"x": 1.5}}),
    (
        R,
        {
            "elementId": "r:7",
            "startNodeElementId": "n:2",
            "endNodeElementId": "n:1",
            "type": "R",
            "properties": {"y": [1]},
        },
    ),
]


@pytest.mark.parametrize("value, wanted", PLAIN, ids=lambda value: str(value)[:30])
def test_plain(value: Any, wanted: Any) -> None:
    assert plain(value) == wanted
    encode(plain(value))


def test_a_path_is_its_elements_in_turn() -> None:
    assert plain(PATH) == [plain(A), plain(R), plain(B)]
    assert typed(PATH)["_value"] == [typed(A), typed(R), typed(B)]


@pytest.mark.parametrize(
    "value, name, inside",
    [
        (None, "Null", None),
        (True, "Boolean", True),
        (1, "Integer", "1"),
        (1.0, "Float", "1.0"),
        (-math.inf, "Float", "-Infinity"),
        ("a", "String", "a"),
        (b"a", "Base64", "YQ=="),
        ([1], "List", [{"$type": "Integer", "_value": "1"}]),
        ({"a": None}, "Map", {"a": {"$type": "Null", "_value": None}}),
        (Date(0), "Date", "1970-01-01"),
        (Time(0, 0), "Time", "00:00Z"),
        (at_zone(0, 0, 3600), "OffsetDateTime", "1970-01-01T01:00+01:00"),
        (at_zone(0, 0, "Europe/Berlin"), "ZonedDateTime", "1970-01-01T01:00+01:00[Europe/Berlin]"),
        (Point(WGS_84, 1.0, 2.0), "Point", "SRID=4326;POINT (1.0 2.0)"),
        (
            A,
            "Node",
            {
                "_element_id": "n:1",
                "_labels": ["A", "C"],
                "_properties": {"x": {"$type": "Float", "_value": "1.5"}},
            },
        ),
        (
            R,
            "Relationship",
            {
                "_element_id": "r:7",
                "_start_node_element_id": "n:2",
                "_end_node_element_id": "n:1",
                "_type": "R",
                "_properties": {
                    "y": {"$type": "List", "_value": [{"$type": "Integer", "_value": "1"}]}
                },
            },
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_typed(value: Any, name: str, inside: Any) -> None:
    assert typed(value) == {"$type": name, "_value": inside}


def test_rows_have_properties_and_beside_them_what_they_are_of() -> None:
    about = {"id": 1, "elementId": "n:1", "type": "node", "deleted": False}
    assert row(A) == {"x": 1.5} and list(meta(A)) == [about]
    assert row({"n": [A, 1]}) == {"n": [{"x": 1.5}, 1]} and list(meta({"n": [A, 1]})) == [
        about,
        None,
    ]
    assert row(PATH) == [{"x": 1.5}, {"y": [1]}, {"day": "1970-01-01"}]
    (inside,) = meta(PATH)
    assert [(one["type"], one["elementId"]) for one in inside] == [
        ("node", "n:1"),
        ("relationship", "r:7"),
        ("node", "n:2"),
    ]
    assert list(meta([])) == [] and list(meta("x")) == [None]


# Back

_FLOATS = st.floats(allow_nan=False)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    _FLOATS,
    st.text(max_size=20),
    st.binary(max_size=20),
    st.builds(Date, st.integers(-300_000, 300_000)),
    st.builds(LocalTime, st.integers(0, 86_399_999_999_999)),
    st.builds(Time, st.integers(0, 86_399_999_999_999), st.sampled_from((0, 3_600, -19_800))),
    st.builds(LocalDateTime, st.integers(-(10**10), 10**10), st.integers(0, 999_999_999)),
    st.builds(
        at_zone,
        st.integers(-(10**9), 10**9),
        st.integers(0, 999_999_999),
        st.sampled_from((0, -3_600, "Europe/Berlin", "Asia/Kolkata")),
    ),
    st.builds(Point, st.just(WGS_84), st.floats(-180, 180), st.floats(-90, 90)),
    st.builds(
        Point, st.just(CARTESIAN_3D), *[st.floats(allow_nan=False, allow_infinity=False)] * 3
    ),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(_VALUES)
def test_what_has_its_type_comes_back(value: Any) -> None:
    import msgspec

    assert read_typed(msgspec.json.decode(encode(typed(value))), "$x") == value


@pytest.mark.parametrize(
    "value",
    [
        1,
        [],
        {},
        {"$type": "Integer"},
        {"$type": "Integer", "_value": "1", "more": 1},
        {"$type": "Integer", "_value": "one"},
        {"$type": "Integer", "_value": "1" * 5_000},
        {"$type": "Integer", "_value": True},
        {"$type": "Boolean", "_value": "true"},
        {"$type": "Null", "_value": 0},
        {"$type": "Float", "_value": "x"},
        {"$type": "String", "_value": 1},
        {"$type": "Base64", "_value": "a"},
        {"$type": "Base64", "_value": "ä"},
        {"$type": "List", "_value": [1]},
        {"$type": "List", "_value": {}},
        {"$type": "Map", "_value": {"a": 1}},
        {"$type": "Date", "_value": "2015-13-01"},
        {"$type": "Point", "_value": "POINT (1 2)"},
        {"$type": "Point", "_value": "SRID=1;POINT (1 2)"},
        {"$type": "Point", "_value": "SRID=4326;POINT (1 nan)"},
        {"$type": "Point", "_value": "SRID=4326;POINT (1 x)"},
        {"$type": "Node", "_value": {}},
        {"$type": "Nope", "_value": 1},
        {"$type": [], "_value": 1},
        {"$type": None, "_value": None},
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_no_value_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(DoxaError) as caught:
        read_typed({"$type": "List", "_value": [value]}, "$x")
    assert "$x[0]" in caught.value.message and caught.value.next_step


def test_depth_has_an_end() -> None:
    value: Any = {"$type": "Null", "_value": None}
    for _ in range(150):
        value = {"$type": "List", "_value": [value]}
    with pytest.raises(LimitError):
        read_typed(value, "$x")
