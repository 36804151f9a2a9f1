"""Points in Cypher's four coordinate systems, on a plane and on the Earth.

    srid   name          coordinates
    7203   cartesian     x, y
    9157   cartesian-3d  x, y, z
    4326   wgs-84        longitude (x), latitude (y), in degrees
    4979   wgs-84-3d     longitude (x), latitude (y), height (z) in metres

Points of different systems have no distance and do not compare by `<`. Source: the Cypher manual,
"Spatial values" and "Spatial functions".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from doxa.base.errors import InputError

CARTESIAN, CARTESIAN_3D, WGS_84, WGS_84_3D = 7203, 9157, 4326, 4979
EARTH_RADIUS_M = 6_378_140.0

_NAMES = {
    CARTESIAN: "cartesian",
    CARTESIAN_3D: "cartesian-3d",
    WGS_84: "wgs-84",
    WGS_84_3D: "wgs-84-3d",
}
_SRIDS = {name: srid for srid, name in _NAMES.items()} | {
    "wgs-84-2d": WGS_84,
    "cartesian-2d": CARTESIAN,
}
_GEOGRAPHIC = frozenset((WGS_84, WGS_84_3D))
_SOLID = frozenset((CARTESIAN_3D, WGS_84_3D))
_STEP = (
    "Give x and y (and z), or longitude and latitude (and height), and crs or srid if it is not the"
    " default."
)
_AXES = {"x": 0, "y": 1, "z": 2, "longitude": 0, "latitude": 1, "height": 2}


class Point(msgspec.Struct, frozen=True, gc=False):
    """A coordinate system's SRID and the coordinates. `z` is None in two dimensions."""

    srid: int
    x: float
    y: float
    z: float | None = None

    @property
    def crs(self) -> str:
        return _NAMES[self.srid]

    @property
    def geographic(self) -> bool:
        return self.srid in _GEOGRAPHIC

    def __str__(self) -> str:
        z = "" if self.z is None else f", z: {self.z!r}"
        return f"point({{x: {self.x!r}, y: {self.y!r}{z}, crs: '{self.crs}'}})"


def get(point: Point, field: str) -> float | int | str | None:
    """Return a component by its case-insensitive name: x, y, z, longitude, latitude, height, crs or
    srid. None if the point does not have it."""
    name = field.lower()
    if name in ("longitude", "latitude", "height") and not point.geographic:
        return None
    if name in _AXES:
        return (point.x, point.y, point.z)[_AXES[name]]
    return point.crs if name == "crs" else point.srid if name == "srid" else None


def order_key(point: Point) -> tuple[int, float, float, float]:
    """Return a key for a total order: by coordinate system, then by coordinates."""
    return (point.srid, point.x, point.y, point.z or 0.0)


def from_map(values: Mapping[str, object]) -> Point | None:
    """Build a point from a map, or return None if any value is null.

    Unless crs or srid names the system, the keys choose it: x and y the plane, longitude and
    latitude the Earth, a third coordinate the 3D form. Raises InputError for missing, unknown or
    contradictory keys and for coordinates that are not finite. A longitude beyond 180 degrees wraps
    around; a latitude beyond 90 degrees is rejected.
    """
    if any(value is None for value in values.values()):
        return None
    unknown = values.keys() - _AXES.keys() - {"crs", "srid"}
    if unknown:
        raise _bad(
            f"A point has no key {min(map(str, unknown))[:80]!r}.", min(map(str, unknown))[:80]
        )
    earth = "longitude" in values or "latitude" in values or "height" in values
    coordinates = [
        _coordinate(values, names)
        for names in (("x", "longitude"), ("y", "latitude"), ("z", "height"))
    ]
    x, y, z = coordinates
    if x is None or y is None:
        raise _bad("A point needs two or three coordinates.", "x" if x is None else "y")
    srid = _named(values)
    if srid is None:
        srid = (
            (WGS_84 if z is None else WGS_84_3D)
            if earth
            else (CARTESIAN if z is None else CARTESIAN_3D)
        )
    if earth and srid not in _GEOGRAPHIC:
        raise _bad(
            f"Longitude, latitude and height do not fit the coordinate system {_NAMES[srid]}.",
            "crs",
        )
    if (z is None) == (srid in _SOLID):
        raise _bad(
            f"{2 if z is None else 3} coordinates do not fit the coordinate system {_NAMES[srid]}.",
            "crs",
        )
    if srid in _GEOGRAPHIC:
        if not -90.0 <= y <= 90.0:
            raise _bad(f"The latitude {y!r} is not between -90 and 90 degrees.", "latitude")
        if not -180.0 <= x <= 180.0:
            x = (x + 180.0) % 360.0 - 180.0
    return Point(srid, x, y, z)


def distance(one: Point, two: Point) -> float | None:
    """Return the distance in units of the plane, or in metres along the Earth's surface (haversine)
    at the mean height. None for points of different systems."""
    if one.srid != two.srid:
        return None
    rise = (one.z or 0.0) - (two.z or 0.0)
    if not one.geographic:
        return math.hypot(one.x - two.x, one.y - two.y, rise)
    here, there = math.radians(one.y), math.radians(two.y)
    half = (
        math.sin((there - here) / 2) ** 2
        + math.cos(here) * math.cos(there) * math.sin(math.radians(two.x - one.x) / 2) ** 2
    )
    angle = 2.0 * math.atan2(math.sqrt(half), math.sqrt(max(0.0, 1.0 - half)))
    height = ((one.z or 0.0) + (two.z or 0.0)) / 2
    return math.hypot((EARTH_RADIUS_M + height) * angle, rise)


def within_bbox(point: Point, lower_left: Point, upper_right: Point) -> bool | None:
    """Return whether the point lies in the box, edges included. None for different systems.

    On the Earth, a box whose left edge is east of its right edge crosses the 180th meridian.
    """
    if not point.srid == lower_left.srid == upper_right.srid:
        return None
    if point.geographic and lower_left.x > upper_right.x:
        across = point.x >= lower_left.x or point.x <= upper_right.x
    else:
        across = lower_left.x <= point.x <= upper_right.x
    return (
        across
        and lower_left.y <= point.y <= upper_right.y
        and (lower_left.z or 0.0) <= (point.z or 0.0) <= (upper_right.z or 0.0)
    )


def _coordinate(values: Mapping[str, object], names: tuple[str, str]) -> float | None:
    given = [name for name in names if name in values]
    if not given:
        return None
    if len(given) > 1:
        raise _bad(f"A point has either {names[0]} or {names[1]}.", given[1])
    value = values[given[0]]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise _bad(f"The coordinate {given[0]} is not a number.", given[0])
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _bad(f"The coordinate {given[0]} is not finite.", given[0])
    return number


def _named(values: Mapping[str, object]) -> int | None:
    """Return the system that crs or srid names, or None if neither is given."""
    crs, srid = values.get("crs"), values.get("srid")
    if crs is not None:
        found = _SRIDS.get(crs.lower()) if isinstance(crs, str) else None
        if found is None:
            raise _bad(f"{str(crs)[:80]!r} is not a coordinate system.", "crs")
        if srid is not None and srid != found:
            raise _bad("crs and srid name different coordinate systems.", "srid")
        return found
    if srid is not None and (not isinstance(srid, int) or srid not in _NAMES):
        raise _bad(f"{str(srid)[:80]!r} is not a coordinate system.", "srid")
    return srid


def _bad(message: str, field: str) -> InputError:
    return InputError(message, next_step=_STEP, field=field)
