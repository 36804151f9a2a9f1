"""Cypher's type names: whether a value is of a type (x IS :: INTEGER), and what valueType() says.

Source: the Cypher manual, "Values and types" and "Type predicate expressions".
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from doxa.base import spatial, temporal
from doxa.query.errors import fail, type_name
from doxa.query.values import Edge, Node, Path

_PLAIN: dict[str, tuple[type, ...]] = {
    "BOOLEAN": (bool,), "STRING": (str,), "INTEGER": (int,), "FLOAT": (float,), "DATE": (temporal.Date,), "LOCAL TIME": (temporal.LocalTime,),
    "ZONED TIME": (temporal.Time,), "LOCAL DATETIME": (temporal.LocalDateTime,), "ZONED DATETIME": (temporal.DateTime,),
    "DURATION": (temporal.Duration,), "POINT": (spatial.Point,), "NODE": (Node,), "VERTEX": (Node,), "RELATIONSHIP": (Edge,), "EDGE": (Edge,),
    "MAP": (dict,), "PATH": (Path,), "BYTES": (bytes,),
}  # fmt: skip
_PROPERTY = frozenset(
    kind for name in ("BOOLEAN", "STRING", "INTEGER", "FLOAT", "DATE", "LOCAL TIME", "ZONED TIME", "LOCAL DATETIME", "ZONED DATETIME", "DURATION",
                      "POINT", "BYTES") for kind in _PLAIN[name]
)  # fmt: skip


def conforms(value: Any, name: str) -> bool:
    return _test(name)(value)


@functools.lru_cache(maxsize=256)
def _test(name: str) -> Callable[[Any], bool]:
    parts = _alternatives(name)
    if len(parts) > 1:
        tests = [_test(part) for part in parts]
        return lambda value: any(test(value) for test in tests)
    if name.endswith(" NOT NULL"):
        inner = _test(name.removesuffix(" NOT NULL"))
        return lambda value: value is not None and inner(value)
    if name.startswith(("LIST<", "ARRAY<")):
        item = _test(name.partition("<")[2].removesuffix(">"))
        return lambda value: value is None or (type(value) is list and all(item(one) for one in value))
    if name.startswith("ANY"):
        return _test(name[4:-1]) if name.startswith("ANY<") else lambda value: True
    if name in ("NULL", "NOTHING"):
        return lambda value: value is None and name == "NULL"
    if name == "PROPERTY VALUE":
        return lambda value: value is None or type(value) in _PROPERTY or (type(value) is list and all(type(one) in _PROPERTY for one in value))
    if name not in _PLAIN:
        fail(f"{name} is no type.", kind="SyntaxError", detail="UnexpectedSyntax", hint=f"Types are {', '.join(sorted(_PLAIN))}, LIST<…>, ANY.")
    kinds = _PLAIN[name]
    return lambda value: value is None or type(value) in kinds


def _alternatives(name: str) -> list[str]:
    """Split at the bars outside of angle brackets."""
    depth, start, parts = 0, 0, []
    for index, char in enumerate(name):
        depth += (char == "<") - (char == ">")
        if depth == 0 and name.startswith(" | ", index):
            parts.append(name[start:index])
            start = index + 3
    return [*parts, name[start:]]


def value_type(value: Any) -> str:
    """valueType(): with NOT NULL, and the union of item types for lists."""
    if value is None:
        return "NULL"
    if type(value) is not list:
        return f"{type_name(value)} NOT NULL"
    kinds = sorted({value_type(item) for item in value}, key=lambda text: (text == "NULL", text))
    if "NULL" in kinds and len(kinds) > 1:
        kinds = [kind.removesuffix(" NOT NULL") for kind in kinds if kind != "NULL"]
    return f"LIST<{' | '.join(kinds) or 'NOTHING'}> NOT NULL"
