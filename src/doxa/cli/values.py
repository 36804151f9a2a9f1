"""Cypher values outside: as Cypher text for people and tables, as plain JSON for programs.

Text can be pasted into a query where a query can say it; times and durations are ISO text in both.
JSON of elements:

    node          {"id": 7, "labels": ["A"], "properties": {...}}
    relationship  {"id": 3, "type": "R", "start": 7, "end": 8, "properties": {...}}
    path          {"nodes": [...], "relationships": [...]}
    point         {"srid": 4326, "x": 1.0, "y": 2.0}         (and "z")
    bytes         base64 text;   NaN, Infinity, -Infinity as these texts: JSON has no numbers for
    them
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any

from doxa.app.results import Edge, Node, Path
from doxa.base.spatial import Point
from doxa.base.values import float_text
from doxa.cypher.printer import name, text_literal

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def cypher_text(value: Any) -> str:
    """Format a value on one line. Characters that would control the terminal are escaped."""
    return line_text(_text(value))


def line_text(text: str) -> str:
    """Escape the characters of a text that would break its line."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found.group()):04X}", text)


def _text(value: Any) -> str:
    match value:
        case None | bool():
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return text_literal(value)
        case float():
            return float_text(value)
        case Node():
            labels = "".join(f":{name(label)}" for label in value.labels)
            return (
                f"({' '.join(part for part in (labels, _map(value.properties, empty='')) if part)})"
            )
        case Edge():
            parts = (name(value.type), _map(value.properties, empty=""))
            return f"[:{' '.join(part for part in parts if part)}]"
        case Path():
            return _path(value)
        case dict():
            return _map(value, empty="{}")
        case list() | tuple():
            return f"[{', '.join(_text(item) for item in value)}]"
        case bytes():
            return f"bytes({base64.b64encode(value).decode()})"
        case _:
            return str(value)  # whole numbers, points, temporal values


def plain_text(value: Any) -> str:
    """Format a value as a cell of CSV: text unchanged, nothing for null, the rest as Cypher
    text."""
    if value is None:
        return ""
    return (
        value
        if isinstance(value, str)
        else base64.b64encode(value).decode()
        if isinstance(value, bytes)
        else cypher_text(value)
    )


def plain(value: Any) -> Any:
    """Convert a value to JSON's types."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else float_text(value)
        case Node():
            return {
                "id": value.id,
                "labels": list(value.labels),
                "properties": plain(value.properties),
            }
        case Edge():
            return {
                "id": value.id,
                "type": value.type,
                "start": value.start,
                "end": value.end,
                "properties": plain(value.properties),
            }
        case Path():
            return {
                "nodes": [plain(node) for node in value.nodes],
                "relationships": [plain(edge) for edge in value.edges],
            }
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case bytes():
            return base64.b64encode(value).decode()
        case Point():
            return {"srid": value.srid, "x": value.x, "y": value.y} | (
                {} if value.z is None else {"z": value.z}
            )
        case _:
            return str(value)


def _map(values: dict[str, Any], *, empty: str) -> str:
    if not values:
        return empty
    return "{" + ", ".join(f"{name(key)}: {_text(item)}" for key, item in values.items()) + "}"


def _path(path: Path) -> str:
    parts = [_text(path.nodes[0])]
    for before, edge, node in zip(path.nodes, path.edges, path.nodes[1:], strict=False):
        forth = edge.start == before.id
        parts += ["-" if forth else "<-", _text(edge), "->" if forth else "-", _text(node)]
    return "".join(parts)
