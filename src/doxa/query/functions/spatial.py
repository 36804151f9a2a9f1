"""The spatial functions of Cypher: points from maps, their distance, boxes around them."""

from __future__ import annotations

from doxa.base.spatial import Point, distance, from_map, within_bbox
from doxa.query.functions.registry import Function, wrong


def point(values: object) -> Point | None:
    """Implement point(map). Null if any value of the map is null."""
    if not isinstance(values, dict):
        raise wrong(
            "point",
            values,
            wanted="a map such as {x: 1, y: 2} or {longitude: 12.5, latitude: 55.7}",
        )
    return from_map(values)


def point_distance(one: object, two: object) -> float | None:
    """Implement point.distance(point, point): metres, or units of the plane; null for different
    coordinate systems."""
    return distance(_point("point.distance", one), _point("point.distance", two))


def point_within_bbox(place: object, lower_left: object, upper_right: object) -> bool | None:
    """Implement point.withinBBox(point, lowerLeft, upperRight); null for different coordinate
    systems."""
    name = "point.withinBBox"
    return within_bbox(_point(name, place), _point(name, lower_left), _point(name, upper_right))


def _point(function: str, value: object) -> Point:
    if not isinstance(value, Point):
        raise wrong(function, value, wanted="points")
    return value


FUNCTIONS = (
    Function("point", point, 1, 1),
    Function("point.distance", point_distance, 2, 2),
    Function("distance", point_distance, 2, 2),  # the name before Neo4j 5
    Function("point.withinBBox", point_within_bbox, 3, 3),
)
