"""Values that are structures in Bolt: graph elements, dates, times, durations and points, in the
dialect of the negotiated version.

    4E Node           id, labels, properties, element id*
    52 Relationship   id, start, end, type, properties, 3 element ids*
    72 Unbound        id, type, properties, element id*
    50 Path           nodes, unbound relationships, indices
    44 Date           days                    64 LocalDateTime  seconds, nanos
    54 Time           nanos, offset           45 Duration       months, days, seconds, nanos
    74 LocalTime      nanos                   58 Point2D        srid, x, y
                                              59 Point3D        srid, x, y, z
    DateTime: 49 UTC seconds, nanos, offset; 69 the same with a zone name. Before 5.0 without the
    patch "utc", 46 and 66 with seconds in local time.            * since 5.0

Values from a client are validated here, because the types of `base` trust their caller. Elements
cannot be sent to the server.

Source: the Bolt documentation, "Structure semantics".
"""

from __future__ import annotations

import math
from typing import Any

from doxa.base.errors import InputError
from doxa.base.spatial import CARTESIAN, CARTESIAN_3D, WGS_84, WGS_84_3D, Point
from doxa.base.temporal import (
    DAY_NS,
    NS,
    OFFSET_MAX_S,
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Time,
    at_zone,
    attach,
    checked_days,
    duration_of,
    zone_of,
)
from doxa.servers.bolt.packstream import Packer, Put, Writer, list_head, structure_head

_DAY_S = 86_400
_FLAT, _SOLID = frozenset((CARTESIAN, WGS_84)), frozenset((CARTESIAN_3D, WGS_84_3D))
_ELEMENTS = {0x4E: "node", 0x52: "relationship", 0x72: "relationship", 0x50: "path"}


def packer(*, element_ids: bool, utc: bool) -> Packer:
    """Create a packer for one dialect: `element_ids` since 5.0; `utc` since 5.0, and before with
    the patch of that name."""
    writers: dict[type, Writer] = {
        Date: _write_date,
        LocalTime: _write_local_time,
        Time: _write_time,
        LocalDateTime: _write_local_datetime,
        Duration: _write_duration,
        Point: _write_point,
        DateTime: _write_datetime if utc else _write_datetime_old,
    }
    node, edge, path = (
        (_write_node, _write_edge, _write_path)
        if element_ids
        else (_write_node_old, _write_edge_old, _write_path_old)
    )

    def classify(kind: type) -> Writer | None:
        """Recognise elements by their attributes, because the query engine defines their
        classes."""
        if hasattr(kind, "labels"):
            return node
        if hasattr(kind, "start") and hasattr(kind, "end"):
            return edge
        return path if hasattr(kind, "nodes") and hasattr(kind, "edges") else None

    return Packer(writers, classify)


# Elements


def _write_node(packer: Packer, put: Put, value: Any, depth: int) -> None:
    put(b"\xb4\x4e")
    _node_fields(packer, put, value, depth)
    packer.put(put, value.element_id, depth)


def _write_node_old(packer: Packer, put: Put, value: Any, depth: int) -> None:
    put(b"\xb3\x4e")
    _node_fields(packer, put, value, depth)


def _node_fields(packer: Packer, put: Put, value: Any, depth: int) -> None:
    packer.put(put, value.id, depth)
    packer.put(put, value.labels, depth)
    packer.put(put, value.properties, depth)


def _write_edge(packer: Packer, put: Put, value: Any, depth: int) -> None:
    put(b"\xb8\x52")
    _edge_fields(packer, put, value, depth)
    for identity in (value.element_id, f"n:{value.start}", f"n:{value.end}"):
        packer.put(put, identity, depth)


def _write_edge_old(packer: Packer, put: Put, value: Any, depth: int) -> None:
    put(b"\xb5\x52")
    _edge_fields(packer, put, value, depth)


def _edge_fields(packer: Packer, put: Put, value: Any, depth: int) -> None:
    for field in (value.id, value.start, value.end, value.type, value.properties):
        packer.put(put, field, depth)


def _write_path(packer: Packer, put: Put, value: Any, depth: int) -> None:
    _path(packer, put, value, depth=depth, element_ids=True)


def _write_path_old(packer: Packer, put: Put, value: Any, depth: int) -> None:
    _path(packer, put, value, depth=depth, element_ids=False)


def _path(packer: Packer, put: Put, value: Any, *, depth: int, element_ids: bool) -> None:
    """Write each node and relationship once, then the walk as indices: a relationship from 1,
    negative against its direction, then a node from 0."""
    nodes: dict[int, int] = {value.nodes[0].id: 0}
    edges: dict[int, int] = {}
    once_nodes: list[Any] = [value.nodes[0]]
    once_edges: list[Any] = []
    walk: list[int] = []
    at = value.nodes[0]
    for edge, node in zip(value.edges, value.nodes[1:], strict=True):
        if edge.id not in edges:
            edges[edge.id] = len(once_edges) + 1
            once_edges.append(edge)
        if node.id not in nodes:
            nodes[node.id] = len(once_nodes)
            once_nodes.append(node)
        number = edges[edge.id]
        walk += [number if edge.start == at.id else -number, nodes[node.id]]
        at = node
    put(b"\xb3\x50")
    packer.put(put, once_nodes, depth)
    put(list_head(len(once_edges)))
    for edge in once_edges:
        put(structure_head(4 if element_ids else 3, 0x72))
        for field in (edge.id, edge.type, edge.properties):
            packer.put(put, field, depth)
        if element_ids:
            packer.put(put, edge.element_id, depth)
    packer.put(put, walk, depth)


# Time and place


def _fields(packer: Packer, put: Put, tag: int, *fields: int | float | str) -> None:
    put(structure_head(len(fields), tag))
    for field in fields:
        packer.put(put, field, 1)


def _write_date(packer: Packer, put: Put, value: Date, _: int) -> None:
    _fields(packer, put, 0x44, value.days)


def _write_local_time(packer: Packer, put: Put, value: LocalTime, _: int) -> None:
    _fields(packer, put, 0x74, value.nanos)


def _write_time(packer: Packer, put: Put, value: Time, _: int) -> None:
    _fields(packer, put, 0x54, value.nanos, value.offset)


def _write_local_datetime(packer: Packer, put: Put, value: LocalDateTime, _: int) -> None:
    _fields(packer, put, 0x64, value.seconds, value.nanos)


def _write_datetime(packer: Packer, put: Put, value: DateTime, _: int) -> None:
    if value.zone is None:
        _fields(packer, put, 0x49, value.seconds, value.nanos, value.offset)
    else:
        _fields(packer, put, 0x69, value.seconds, value.nanos, value.zone)


def _write_datetime_old(packer: Packer, put: Put, value: DateTime, _: int) -> None:
    local = value.seconds + value.offset
    if value.zone is None:
        _fields(packer, put, 0x46, local, value.nanos, value.offset)
    else:
        _fields(packer, put, 0x66, local, value.nanos, value.zone)


def _write_duration(packer: Packer, put: Put, value: Duration, _: int) -> None:
    _fields(packer, put, 0x45, value.months, value.days, value.seconds, value.nanos)


def _write_point(packer: Packer, put: Put, value: Point, _: int) -> None:
    if value.z is None:
        _fields(packer, put, 0x58, value.srid, value.x, value.y)
    else:
        _fields(packer, put, 0x59, value.srid, value.x, value.y, value.z)


# Reading


def hydrate(tag: int, fields: list[Any], *, utc: bool) -> Any:
    """Decode a structure from a client. Raises InputError if it is unknown, has the wrong fields or
    is out of range."""
    if tag in _ELEMENTS:
        raise InputError(
            f"A {_ELEMENTS[tag]} cannot be a parameter.",
            next_step="Pass its id, elementId() or properties.",
        )
    match tag, [None if isinstance(field, bool) else field for field in fields]:
        case 0x44, [int(days)]:
            return Date(checked_days(days))
        case 0x74, [int(nanos)]:
            return LocalTime(_within(nanos, DAY_NS, "The nanoseconds of a day"))
        case 0x54, [int(nanos), int(offset)]:
            return Time(_within(nanos, DAY_NS, "The nanoseconds of a day"), _offset(offset))
        case 0x64, [int(seconds), int(nanos)]:
            checked_days(seconds // _DAY_S)
            return LocalDateTime(seconds, _nanos(nanos))
        case 0x45, [int(months), int(days), int(seconds), int(nanos)]:
            return duration_of(months, days, seconds * NS + nanos)
        case 0x58, [int(srid), float(x), float(y)] if srid in _FLAT:
            return _point(Point(srid, x, y))
        case 0x59, [int(srid), float(x), float(y), float(z)] if srid in _SOLID:
            return _point(Point(srid, x, y, z))
        case ((0x49 | 0x69 | 0x46 | 0x66), [int(seconds), int(nanos), int() | str() as zone]) if (
            tag in (0x49, 0x69)
        ) == utc:
            return _datetime(tag, seconds, nanos=_nanos(nanos), zone=zone)
    raise InputError(
        f"A structure with the tag {tag:#04x} and {len(fields)} fields is not a value of this"
        " version of Bolt.",
        next_step="Send dates, times, durations and points as specified.",
    )


def _datetime(tag: int, seconds: int, *, nanos: int, zone: int | str) -> DateTime:
    if isinstance(zone, int) != (tag in (0x49, 0x46)):
        raise InputError(
            "The zone of a datetime has the wrong type for its tag.",
            next_step="Send an offset in seconds, or a zone name, as the tag requires.",
        )
    if isinstance(zone, int):
        _offset(zone)
    else:
        zone_of(zone)
    return at_zone(seconds, nanos, zone) if tag in (0x49, 0x69) else attach(seconds, nanos, zone)


def _within(value: int, end: int, what: str) -> int:
    if not 0 <= value < end:
        raise InputError(
            f"{what} are {value}, not between 0 and {end - 1}.",
            next_step="Send a time that exists.",
        )
    return value


def _nanos(value: int) -> int:
    return _within(value, NS, "The nanoseconds of a second")


def _offset(value: int) -> int:
    if abs(value) > OFFSET_MAX_S:
        raise InputError(
            f"The offset {value} s exceeds 18 hours.",
            next_step="Send an offset between -64,800 and 64,800 seconds.",
        )
    return value


def _point(point: Point) -> Point:
    if not all(math.isfinite(part) for part in (point.x, point.y, point.z or 0.0)):
        raise InputError(
            "A coordinate of a point is not finite.", next_step="Send finite coordinates."
        )
    if point.geographic and not -90.0 <= point.y <= 90.0:
        raise InputError(
            f"The latitude {point.y!r} is not between -90 and 90 degrees.",
            next_step="Send longitude first, then latitude.",
        )
    if point.geographic and not -180.0 <= point.x <= 180.0:
        return Point(point.srid, (point.x + 180.0) % 360.0 - 180.0, point.y, point.z)
    return point
