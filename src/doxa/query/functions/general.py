"""Functions on elements, lists, maps and types: openCypher's scalar and list functions and Neo4j
5's additions."""

from __future__ import annotations

import re
import uuid
from typing import Any

from doxa.base import spatial, temporal
from doxa.base.limits import VALUE_ITEMS_MAX
from doxa.cypher.errors import QueryError
from doxa.query.core.comparison import equals
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.core.errors import fail, shown
from doxa.query.core.operators import INT_MAX, INT_MIN, text_of, whole
from doxa.query.core.type_names import value_type
from doxa.query.functions.registry import Function, FunctionContext


def _element(value: Any, function: str) -> Node | Edge:
    if isinstance(value, (Node, Edge)):
        return value
    fail(
        f"{function}() takes a node or a relationship, not {shown(value)}.",
        detail="InvalidArgumentValue",
    )


def _edge(value: Any, function: str) -> Edge:
    if isinstance(value, Edge):
        return value
    fail(f"{function}() takes a relationship, not {shown(value)}.", detail="InvalidArgumentValue")


def _path(value: Any, function: str) -> Path:
    if isinstance(value, Path):
        return value
    fail(f"{function}() takes a path, not {shown(value)}.", detail="InvalidArgumentValue")


def _list(value: Any, function: str) -> list[Any]:
    if type(value) is list:
        return value
    fail(f"{function}() takes a list, not {shown(value)}.", detail="InvalidArgumentValue")


def _labels(value: Any) -> list[str]:
    if isinstance(value, Node):
        return list(value.labels)
    fail(f"labels() takes a node, not {shown(value)}.", detail="InvalidArgumentValue")


def _type(value: Any) -> str:
    return _edge(value, "type").type


def _keys(value: Any) -> list[str]:
    if isinstance(value, dict):
        return list(value)
    return list(_element(value, "keys").properties)


def _properties(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    return dict(_element(value, "properties").properties)


def _end(run: Any, value: Any, *, start: bool) -> Node:
    edge = _edge(value, "startNode" if start else "endNode")
    found: Node = run.graph.node(edge.start if start else edge.end)
    return found


def _size(value: Any) -> int:
    if type(value) in (list, str):
        return len(value)
    fail(f"size() takes a list or a text, not {shown(value)}.", detail="InvalidArgumentValue")


def _is_empty(value: Any) -> bool:
    if type(value) in (list, str, dict):
        return not value
    fail(
        f"isEmpty() takes a list, a map or a text, not {shown(value)}.",
        detail="InvalidArgumentValue",
    )


def _head(value: Any) -> Any:
    items = _list(value, "head")
    return items[0] if items else None


def _last(value: Any) -> Any:
    items = _list(value, "last")
    return items[-1] if items else None


def _tail(value: Any) -> list[Any]:
    return _list(value, "tail")[1:]


def _reverse(value: Any) -> Any:
    if type(value) in (list, str):
        return value[::-1]
    fail(f"reverse() takes a list or a text, not {shown(value)}.", detail="InvalidArgumentValue")


def _range(start: Any, end: Any, step: Any = 1) -> list[int]:
    for number in (start, end, step):
        if type(number) is not int:
            fail(f"range() takes integers, not {shown(number)}.", kind="ArgumentError")
    if step == 0:
        fail("The step of range() cannot be 0.", kind="ArgumentError", detail="NumberOutOfRange")
    found = range(start, end + (1 if step > 0 else -1), step)
    if (found[-1] - start) // step >= VALUE_ITEMS_MAX if found else False:
        fail(
            f"range() would make more than {VALUE_ITEMS_MAX:,} items.",
            kind="ArgumentError",
            detail="NumberOutOfRange",
            hint="Narrow it.",
        )
    return list(found)


# Conversion


def to_boolean(value: Any) -> bool | None:
    if type(value) is bool:
        return value
    if type(value) is str:
        return {"true": True, "false": False}.get(value.strip().lower())
    if type(value) is int:
        return value != 0
    fail(
        f"toBoolean() takes a boolean, a text or an integer, not {shown(value)}.",
        detail="InvalidArgumentValue",
    )


def to_integer(value: Any) -> int | None:
    if type(value) is int:
        return value
    if type(value) is bool:
        return int(value)
    if type(value) is float:
        return whole(int(value)) if abs(value) < 2**64 else None
    if type(value) is str:
        return _integer_text(value)
    fail(
        f"toInteger() takes a number, a boolean or a text, not {shown(value)}.",
        detail="InvalidArgumentValue",
    )


def _integer_text(text: str) -> int | None:
    if text != text.strip():  # unlike toFloat(), as in Neo4j
        return None
    try:
        value = int(text) if len(text) < 25 and "_" not in text else None
        if value is not None:
            return value if INT_MIN <= value <= INT_MAX else None
    except ValueError:
        pass
    number = _float_text(text)
    return int(number) if number is not None and abs(number) < 2**63 else None


def to_float(value: Any) -> float | None:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    if type(value) is str:
        return _float_text(value.strip())
    fail(f"toFloat() takes a number or a text, not {shown(value)}.", detail="InvalidArgumentValue")


# Python reads these, Cypher does not: 1_0, inf, nan in any case but that of "NaN"
_NOT_A_FLOAT = re.compile(r"_|(?i:inf)(?!inity)|(?!NaN|Infinity)(?i:nan|infinity)")


def _float_text(text: str) -> float | None:
    try:
        return float(text) if len(text) < 400 and not _NOT_A_FLOAT.search(text) else None
    except ValueError:
        return None


_TEXTUAL = (
    str,
    bool,
    int,
    float,
    spatial.Point,
    temporal.Date,
    temporal.LocalTime,
    temporal.Time,
    temporal.LocalDateTime,
    temporal.DateTime,
    temporal.Duration,
)


def to_text(value: Any) -> str:
    if isinstance(value, _TEXTUAL):
        return text_of(value)
    fail(
        "toString() takes a text, a number, a boolean, a temporal value or a point, not"
        f" {shown(value)}.",
        detail="InvalidArgumentValue",
    )


def _or_null(convert: Any) -> Any:
    def lenient(value: Any) -> Any:

        try:
            return convert(value)
        except QueryError:
            return None

    return lenient


def _each(convert: Any, function: str) -> Any:
    lenient = _or_null(convert)
    return lambda value: [
        None if item is None else lenient(item) for item in _list(value, function)
    ]


def _null_if(one: Any, other: Any) -> Any:
    return None if equals(one, other) else one


def _timestamp(run: FunctionContext) -> int:
    return run.statement_ns // 1_000_000


def _cosine(one: Any, other: Any) -> float:
    left, right = _vectors(one, other)
    norm = sum(x * x for x in left) ** 0.5 * sum(y * y for y in right) ** 0.5
    if norm == 0:
        fail(
            "The similarity of a zero vector is not defined.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    return float((1 + sum(x * y for x, y in zip(left, right, strict=True)) / norm) / 2)


def _euclidean(one: Any, other: Any) -> float:
    left, right = _vectors(one, other)
    return float(1 / (1 + sum((x - y) ** 2 for x, y in zip(left, right, strict=True))))


def _vectors(one: Any, other: Any) -> tuple[list[float], list[float]]:
    left, right = _list(one, "vector.similarity"), _list(other, "vector.similarity")
    if (
        len(left) != len(right)
        or not left
        or not all(type(x) in (int, float) for x in (*left, *right))
    ):
        fail(
            "Vectors are lists of numbers of one length.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    return left, right


FUNCTIONS = (
    Function("labels", _labels, 1, 1),
    Function("type", _type, 1, 1),
    Function("keys", _keys, 1, 1),
    Function("properties", _properties, 1, 1),
    Function("id", lambda value: _element(value, "id").id, 1, 1),
    Function("elementId", lambda value: _element(value, "elementId").element_id, 1, 1),
    Function("startNode", lambda run, value: _end(run, value, start=True), 1, 1, context=True),
    Function("endNode", lambda run, value: _end(run, value, start=False), 1, 1, context=True),
    Function("length", lambda value: len(_path(value, "length")), 1, 1),
    Function("nodes", lambda value: list(_path(value, "nodes").nodes), 1, 1),
    Function("relationships", lambda value: list(_path(value, "relationships").edges), 1, 1),
    Function("rels", lambda value: list(_path(value, "relationships").edges), 1, 1),
    Function("size", _size, 1, 1),
    Function("isEmpty", _is_empty, 1, 1),
    Function("head", _head, 1, 1),
    Function("last", _last, 1, 1),
    Function("tail", _tail, 1, 1),
    Function("reverse", _reverse, 1, 1),
    Function("range", _range, 2, 3),
    Function("toBoolean", to_boolean, 1, 1),
    Function("toInteger", to_integer, 1, 1),
    Function("toFloat", to_float, 1, 1),
    Function("toString", to_text, 1, 1),
    Function("toBooleanOrNull", _or_null(to_boolean), 1, 1),
    Function("toIntegerOrNull", _or_null(to_integer), 1, 1),
    Function("toFloatOrNull", _or_null(to_float), 1, 1),
    Function("toStringOrNull", _or_null(to_text), 1, 1),
    Function("toBooleanList", _each(to_boolean, "toBooleanList"), 1, 1),
    Function("toIntegerList", _each(to_integer, "toIntegerList"), 1, 1),
    Function("toFloatList", _each(to_float, "toFloatList"), 1, 1),
    Function("toStringList", _each(to_text, "toStringList"), 1, 1),
    Function("valueType", value_type, 1, 1, nulls=True),
    Function("nullIf", _null_if, 2, 2, nulls=True),
    Function("randomUUID", lambda: str(uuid.uuid4()), 0, 0),
    Function("timestamp", _timestamp, 0, 0, context=True),
    Function("vector.similarity.cosine", _cosine, 2, 2),
    Function("vector.similarity.euclidean", _euclidean, 2, 2),
    Function("file", lambda run: run.csv_file, 0, 0, context=True),
    Function("linenumber", lambda run: run.csv_line, 0, 0, context=True),
)
