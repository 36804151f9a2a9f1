"""Points: maps, components, distances and boxes, with the manual's examples and the axioms of a
metric."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.errors import InputError
from doxa.base.spatial import (
    CARTESIAN,
    CARTESIAN_3D,
    EARTH_RADIUS_M,
    WGS_84,
    WGS_84_3D,
    Point,
    distance,
    from_map,
    get,
    order_key,
    within_bbox,
)

plane = st.builds(Point, st.just(CARTESIAN), st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
earth = st.builds(Point, st.just(WGS_84), st.floats(-180, 180), st.floats(-90, 90))


@pytest.mark.parametrize(
    ("values", "point"),
    [
        ({"x": 2.3, "y": 4}, Point(CARTESIAN, 2.3, 4.0)),
        ({"x": 2.3, "y": 4, "z": 2}, Point(CARTESIAN_3D, 2.3, 4.0, 2.0)),
        ({"x": 2.3, "y": 4.5, "crs": "WGS-84"}, Point(WGS_84, 2.3, 4.5)),
        ({"x": 2.3, "y": 4.5, "z": 1, "srid": 4979}, Point(WGS_84_3D, 2.3, 4.5, 1.0)),
        ({"longitude": 56.7, "latitude": 12.78}, Point(WGS_84, 56.7, 12.78)),
        ({"longitude": 56.7, "latitude": 12.78, "height": 8}, Point(WGS_84_3D, 56.7, 12.78, 8.0)),
        ({"longitude": 56.7, "latitude": 12.78, "z": 8}, Point(WGS_84_3D, 56.7, 12.78, 8.0)),
        ({"longitude": 190, "latitude": -90}, Point(WGS_84, -170.0, -90.0)),
        ({"longitude": 180, "latitude": 90}, Point(WGS_84, 180.0, 90.0)),
        ({"x": 1, "y": 2, "crs": "cartesian", "srid": 7203}, Point(CARTESIAN, 1.0, 2.0)),
        ({"x": 1, "y": None}, None),
        ({"x": 1, "y": 2, "crs": None}, None),
    ],
)
def test_a_map_describes_a_point(values: dict[str, object], point: Point | None) -> None:
    assert from_map(values) == point


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"x": 1},
        {"latitude": 1},
        {"x": 1, "y": "2"},
        {"x": 1, "y": True},
        {"x": 1, "y": math.nan},
        {"x": 10**400, "y": 1},
        {"x": 1, "y": 2, "w": 3},
        {"x": 1, "longitude": 1, "y": 2},
        {"x": 1, "y": 2, "crs": "mars"},
        {"x": 1, "y": 2, "srid": 1},
        {"x": 1, "y": 2, "srid": [7203]},
        {"x": 1, "y": 2, "crs": "cartesian", "srid": 4326},
        {"x": 1, "y": 2, "crs": "cartesian-3D"},
        {"x": 1, "y": 2, "z": 3, "crs": "cartesian"},
        {"longitude": 1, "latitude": 2, "crs": "cartesian"},
        {"longitude": 1, "latitude": 90.5},
    ],
)
def test_what_is_no_point_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(InputError) as caught:
        from_map(values)
    assert caught.value.next_step
    assert "field" in caught.value.fields


def test_components_and_printing() -> None:
    flat, place = Point(CARTESIAN, 3.0, 4.0), Point(WGS_84_3D, 4.0, 3.0, 4321.0)
    assert [
        get(flat, name) for name in ("x", "Y", "z", "crs", "srid", "longitude", "height", "nothing")
    ] == [3.0, 4.0, None, "cartesian", 7203] + [None] * 3
    assert [
        get(place, name) for name in ("latitude", "longitude", "height", "x", "y", "z", "crs")
    ] == [
        3.0,
        4.0,
        4321.0,
        4.0,
        3.0,
        4321.0,
        "wgs-84-3d",
    ]
    assert str(flat) == "point({x: 3.0, y: 4.0, crs: 'cartesian'})"
    assert str(place) == "point({x: 4.0, y: 3.0, z: 4321.0, crs: 'wgs-84-3d'})"


def test_distances_of_the_manual() -> None:
    assert distance(Point(CARTESIAN, 2.3, 4.5), Point(CARTESIAN, 1.1, 5.4)) == pytest.approx(1.5)
    assert distance(
        Point(WGS_84_3D, 12.78, 56.7, 100.0), Point(WGS_84_3D, 12.79, 56.71, 100.0)
    ) == pytest.approx(1269.9148706779097)
    assert (
        round(
            distance(Point(WGS_84, 12.564590, 55.672874), Point(WGS_84, 12.994341, 55.611784)) or 0
        )
        == 27842
    )
    assert distance(Point(CARTESIAN, 1.0, 1.0), Point(CARTESIAN_3D, 1.0, 1.0, 1.0)) is None
    assert distance(Point(WGS_84, 0.0, 0.0), Point(WGS_84, 180.0, 0.0)) == pytest.approx(
        math.pi * EARTH_RADIUS_M
    )


@given(st.one_of(st.tuples(plane, plane, plane), st.tuples(earth, earth, earth)))
def test_a_distance_is_a_metric(points: tuple[Point, Point, Point]) -> None:
    one, two, three = points
    there, back, around = (
        distance(one, two),
        distance(two, one),
        (distance(one, three) or 0.0) + (distance(three, two) or 0.0),
    )
    assert there is not None
    assert there == pytest.approx(back)
    assert distance(one, one) == 0.0
    assert there <= around * (1 + 1e-9) + 1e-3


@pytest.mark.parametrize(
    ("point", "lower_left", "upper_right", "inside"),
    [
        (
            Point(CARTESIAN, 5.0, 5.0),
            Point(CARTESIAN, 0.0, 0.0),
            Point(CARTESIAN, 10.0, 10.0),
            True,
        ),
        (
            Point(CARTESIAN, 0.0, 10.0),
            Point(CARTESIAN, 0.0, 0.0),
            Point(CARTESIAN, 10.0, 10.0),
            True,
        ),
        (
            Point(CARTESIAN, 5.0, 5.0),
            Point(CARTESIAN, 10.0, 0.0),
            Point(CARTESIAN, 0.0, 10.0),
            False,
        ),
        (
            Point(CARTESIAN_3D, 5.0, 5.0, 11.0),
            Point(CARTESIAN_3D, 0.0, 0.0, 0.0),
            Point(CARTESIAN_3D, 10.0, 10.0, 10.0),
            False,
        ),
        (
            Point(WGS_84, 180.0, 55.66),
            Point(WGS_84, 179.0, 55.66),
            Point(WGS_84, -179.0, 55.7),
            True,
        ),
        (
            Point(WGS_84, 0.0, 55.66),
            Point(WGS_84, 179.0, 55.66),
            Point(WGS_84, -179.0, 55.7),
            False,
        ),
        (Point(WGS_84, 0.0, 55.66), Point(WGS_84, -179.0, 55.66), Point(WGS_84, 179.0, 55.7), True),
        (Point(WGS_84, 0.0, 55.0), Point(WGS_84, -1.0, 56.0), Point(WGS_84, 1.0, 54.0), False),
        (Point(WGS_84, 0.0, 55.0), Point(CARTESIAN, -1.0, 56.0), Point(CARTESIAN, 1.0, 54.0), None),
    ],
)
def test_boxes(point: Point, lower_left: Point, upper_right: Point, inside: bool | None) -> None:
    assert within_bbox(point, lower_left, upper_right) is inside


def test_points_are_values_with_a_total_order() -> None:
    assert (
        len({Point(CARTESIAN, 1.0, 2.0), Point(CARTESIAN, 1.0, 2.0), Point(WGS_84, 1.0, 2.0)}) == 2
    )
    assert (
        order_key(Point(WGS_84, 9.0, 9.0))
        < order_key(Point(CARTESIAN, 1.0, 2.0))
        < order_key(Point(CARTESIAN, 1.0, 3.0))
    )
