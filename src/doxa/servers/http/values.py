"""Encode Cypher values as JSON, in the two forms of Neo4j's Query API and in the rows of its older
endpoint, and decode typed parameters.

    plain   node           {"elementId", "labels", "properties"}
            relationship   {"elementId", "startNodeElementId", "endNodeElementId", "type",
                            "properties"}
            path           [node, relationship, node, ...]
            others         dates, times and durations as ISO text; bytes as base64; a point as
                           "SRID=4326;POINT (1.0 2.0)", or "POINT Z" with three coordinates
    typed   {"$type": "Integer", "_value": "1"}, the only form that supports parameters of all types
    rows    the properties only, with separate metadata about their elements

JSON has no numbers for NaN and the infinities; they are the texts NaN, Infinity and -Infinity.
Elements are recognised by their attributes, because the query engine defines their classes.

Sources: Neo4j's Query API manual, "Plain JSON" and "Typed JSON"; its HTTP API manual, "Result
formats".
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import HTTP_DEPTH_MAX
from doxa.base.spatial import Point, from_map
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from doxa.base.temporal_text import (
    parse_date,
    parse_datetime,
    parse_duration,
    parse_local_datetime,
    parse_local_time,
    parse_time,
)
from doxa.base.values import float_text

Shape = Callable[[Any], Any]

TYPED_STEP = 'Give {"$type": "Integer", "_value": "1"}, or one of the other types of typed JSON.'
_AS_IT_IS = frozenset((str, int, bool, type(None)))
_WKT = re.compile(
    r"SRID=([0-9]{1,9}) ?; ?POINT ?(?:Z ?)?\(([^ ()]{1,40}) ([^ ()]{1,40})(?: ([^ ()]{1,40}))?\)"
)
_ELEMENTS = frozenset(("Node", "Relationship", "Path"))


def plain(value: Any) -> Any:
    """Convert a value to plain JSON."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return value if math.isfinite(value) else float_text(value)
    if kind is list or kind is tuple:
        return [plain(item) for item in value]
    if kind is dict:
        return {name: plain(item) for name, item in value.items()}
    if kind is bytes:
        return _base64(value)
    if kind is Point:
        return _point_text(value)
    if _is_node(value):
        return {
            "elementId": value.element_id,
            "labels": list(value.labels),
            "properties": plain(value.properties),
        }
    if _is_edge(value):
        return {
            "elementId": value.element_id,
            "startNodeElementId": f"n:{value.start}",
            "endNodeElementId": f"n:{value.end}",
            "type": value.type,
            "properties": plain(value.properties),
        }
    return [plain(element) for element in _walk(value)] if _is_path(value) else str(value)


# Typed JSON


def typed(value: Any) -> dict[str, Any]:
    """Convert a value to typed JSON."""
    kind = type(value)
    if kind is DateTime:
        return {
            "$type": "OffsetDateTime" if value.zone is None else "ZonedDateTime",
            "_value": str(value),
        }
    if kind in _NAMES:
        return {"$type": _NAMES[kind], "_value": _INSIDE.get(kind, str)(value)}
    if _is_node(value):
        inside: Any = {
            "_element_id": value.element_id,
            "_labels": list(value.labels),
            "_properties": _typed_map(value.properties),
        }
        return {"$type": "Node", "_value": inside}
    if _is_edge(value):
        inside = {
            "_element_id": value.element_id,
            "_start_node_element_id": f"n:{value.start}",
            "_end_node_element_id": f"n:{value.end}",
            "_type": value.type,
            "_properties": _typed_map(value.properties),
        }
        return {"$type": "Relationship", "_value": inside}
    assert _is_path(value), kind
    return {"$type": "Path", "_value": [typed(element) for element in _walk(value)]}


def _typed_list(value: Any) -> list[Any]:
    return [typed(item) for item in value]


def _typed_map(value: Any) -> dict[str, Any]:
    return {name: typed(item) for name, item in value.items()}


def _same(value: Any) -> Any:
    return value


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _point_text(point: Point) -> str:
    z = "" if point.z is None else f" {point.z!r}"
    return f"SRID={point.srid};POINT{' Z' if z else ''} ({point.x!r} {point.y!r}{z})"


_NAMES: dict[type, str] = {
    type(None): "Null",
    bool: "Boolean",
    str: "String",
    int: "Integer",
    float: "Float",
    list: "List",
    tuple: "List",
    dict: "Map",
    bytes: "Base64",
    Point: "Point",
    Date: "Date",
    LocalTime: "LocalTime",
    Time: "Time",
    LocalDateTime: "LocalDateTime",
    Duration: "Duration",
}
_INSIDE: dict[type, Shape] = {
    type(None): _same,
    bool: _same,
    str: _same,
    float: float_text,
    list: _typed_list,
    tuple: _typed_list,
    dict: _typed_map,
    bytes: _base64,
    Point: _point_text,
}


# Rows of the older endpoint


def row(value: Any) -> Any:
    """Convert a value for the older endpoint, with elements as their properties."""
    kind = type(value)
    if kind is list or kind is tuple:
        return [row(item) for item in value]
    if kind is dict:
        return {name: row(item) for name, item in value.items()}
    if _is_node(value) or _is_edge(value):
        return plain(value.properties)
    return [row(element) for element in _walk(value)] if _is_path(value) else plain(value)


def meta(value: Any) -> Iterator[Any]:
    """Yield the metadata of the elements: one entry for each value, also inside lists and maps; a
    list of entries for a path."""
    kind = type(value)
    if kind is list or kind is tuple:
        for item in value:
            yield from meta(item)
    elif kind is dict:
        for item in value.values():
            yield from meta(item)
    elif _is_path(value):
        yield [_meta(element) for element in _walk(value)]
    else:
        yield _meta(value) if _is_node(value) or _is_edge(value) else None


def _meta(element: Any) -> dict[str, Any]:
    return {
        "id": element.id,
        "elementId": element.element_id,
        "type": "node" if _is_node(element) else "relationship",
        "deleted": False,
    }


# Elements, recognised by their attributes


def _is_node(value: Any) -> bool:
    return hasattr(value, "labels")


def _is_edge(value: Any) -> bool:
    return hasattr(value, "start") and hasattr(value, "end")


def _is_path(value: Any) -> bool:
    return hasattr(value, "nodes") and hasattr(value, "edges")


def _walk(path: Any) -> Iterator[Any]:
    yield path.nodes[0]
    for edge, node in zip(path.edges, path.nodes[1:], strict=True):
        yield edge
        yield node


# Decoding typed JSON


def read_typed(value: Any, place: str, depth: int = 0) -> Any:
    """Decode typed JSON. Raises InputError if it is invalid, LimitError if it is nested too
    deeply."""
    if depth > HTTP_DEPTH_MAX:
        raise LimitError(
            f"{place:.80} is nested more than {HTTP_DEPTH_MAX} levels deep.",
            next_step="Send flatter values.",
            depth_max=HTTP_DEPTH_MAX,
        )
    if not isinstance(value, dict) or value.keys() != {"$type", "_value"}:
        raise InputError(f"{place:.80} has no type.", next_step=TYPED_STEP, field=place[:80])
    name, inside = str(value["$type"]), value["_value"]
    if name == "List" and isinstance(inside, list):
        return [
            read_typed(item, f"{place[:80]}[{at}]", depth + 1) for at, item in enumerate(inside)
        ]
    if name == "Map" and isinstance(inside, dict):
        return {
            key: read_typed(item, f"{place[:80]}.{key[:80]}", depth + 1)
            for key, item in inside.items()
        }
    if name in _ELEMENTS:
        raise InputError(
            f"{place:.80}: a {name} cannot be a parameter.",
            next_step="Pass its elementId or its properties.",
            field=place[:80],
        )
    if (name == "Null" and inside is None) or (name == "Boolean" and isinstance(inside, bool)):
        return inside
    reader = _READERS.get(name)
    text = str(inside) if name in ("Integer", "Float") and type(inside) in (int, float) else inside
    if reader is not None and isinstance(text, str):
        try:
            return reader(text)
        except InputError as error:
            raise InputError(
                f"{place:.80}: {error.message}", next_step=error.next_step, field=place[:80]
            ) from None
        except (ValueError, binascii.Error):
            pass
    raise InputError(
        f"{place:.80} is not a valid {name[:40]!r}.", next_step=TYPED_STEP, field=place[:80]
    )


def _read_integer(text: str) -> int:
    if len(text) > 20:
        raise ValueError
    return int(text)


def _read_float(text: str) -> float:
    return float(text)


def _read_bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _read_point(text: str) -> Point:
    found = _WKT.fullmatch(text)
    if found is None:
        raise ValueError
    srid, *coordinates = found.groups()
    numbers = {
        name: float(part) for name, part in zip("xyz", coordinates, strict=True) if part is not None
    }
    point = from_map({"srid": int(srid), **numbers})
    assert point is not None, "no coordinate is null"
    return point


_READERS: dict[str, Shape] = {
    "String": _same,
    "Integer": _read_integer,
    "Float": _read_float,
    "Base64": _read_bytes,
    "Date": parse_date,
    "LocalTime": parse_local_time,
    "Time": parse_time,
    "LocalDateTime": parse_local_datetime,
    "OffsetDateTime": parse_datetime,
    "ZonedDateTime": parse_datetime,
    "Duration": parse_duration,
    "Point": _read_point,
}
