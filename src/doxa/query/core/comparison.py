"""Equality, comparison, order and grouping of Cypher values.

Sources: openCypher CIP2016-06-14 (comparability, orderability, equivalence), Neo4j's order of
types.
"""

from __future__ import annotations

import math
from typing import Any

from doxa.base import spatial, temporal
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.core.errors import fail

_TEMPORAL = (
    temporal.Date,
    temporal.LocalTime,
    temporal.Time,
    temporal.LocalDateTime,
    temporal.DateTime,
    temporal.Duration,
)


# Equality: true, false, or None for unknown


def equals(one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    kind, second = type(one), type(other)
    if kind is second:
        if kind is list:
            return _equal_lists(one, other)
        if kind is dict:
            return _equal_maps(one, other)
        return bool(one == other)
    if kind in _NUMBER and second in _NUMBER:
        return bool(one == other)
    return False


_NUMBER = frozenset({int, float})


def _equal_lists(one: list[Any], other: list[Any]) -> bool | None:
    if len(one) != len(other):
        return False
    unknown = False
    for left, right in zip(one, other, strict=True):
        found = equals(left, right)
        if found is False:
            return False
        unknown = unknown or found is None
    return None if unknown else True


def _equal_maps(one: dict[str, Any], other: dict[str, Any]) -> bool | None:
    if one.keys() != other.keys():
        return False
    unknown = False
    for key, left in one.items():
        found = equals(left, other[key])
        if found is False:
            return False
        unknown = unknown or found is None
    return None if unknown else True


_UNORDERED = frozenset({temporal.Duration, spatial.Point})


# Comparison: <, <=, >, >=


def compare(one: Any, other: Any) -> int | bool | None:
    """Return -1, 0 or 1; None if the two cannot be compared; False if one is NaN, as every
    comparison with it is false."""
    if one is None or other is None:
        return None
    kind, second = type(one), type(other)
    if kind in _NUMBER and second in _NUMBER:
        if one != one or other != other:
            return False
        return int(one > other) - int(one < other)
    if kind is not second:
        return None
    if kind is str or kind is bool:
        return int(one > other) - int(one < other)
    if kind is list:
        return _compare_lists(one, other)
    if kind in _TEMPORAL and kind is not temporal.Duration:
        left, right = temporal.order_key(one), temporal.order_key(other)
        return (left > right) - (left < right)
    if kind is dict:
        return _compare_maps(one, other)
    if kind is Node or kind is Edge:
        return int(one.id > other.id) - int(one.id < other.id)
    return 0 if equals(one, other) else None


def _compare_lists(one: list[Any], other: list[Any]) -> int | bool | None:
    for left, right in zip(one, other, strict=False):
        if equals(left, right):
            continue
        return compare(left, right)
    return (len(one) > len(other)) - (len(one) < len(other))


def _compare_maps(one: dict[str, Any], other: dict[str, Any]) -> int | bool | None:
    """By size, then by keys, then by the values of the keys in order."""
    left, right = (len(one), sorted(one)), (len(other), sorted(other))
    if left != right:
        return (left > right) - (left < right)
    for name in left[1]:
        found = compare(one[name], other[name])
        if found is False:  # NaN
            return None
        if found != 0:
            return found
    return 0


def less(one: Any, other: Any) -> bool | None:
    found = compare(one, other)
    if found is None or found is False:
        return found
    # durations and points have no order: equal ones are <= each other, and < is unknown
    return None if type(one) in _UNORDERED else found < 0


def less_equal(one: Any, other: Any) -> bool | None:
    found = compare(one, other)
    return found if found is None or found is False else found <= 0


# Order of all values: for ORDER BY, min() and max()

_RANK = {
    dict: 0,
    Node: 1,
    Edge: 2,
    list: 3,
    Path: 4,
    spatial.Point: 5,
    temporal.DateTime: 6,
    temporal.LocalDateTime: 7,
    temporal.Date: 8,
    temporal.Time: 9,
    temporal.LocalTime: 10,
    temporal.Duration: 11,
    bytes: 12,
    str: 13,
    bool: 14,
    int: 15,
    float: 15,
    type(None): 16,
}


def order_key(value: Any) -> tuple[Any, ...]:
    """Return a tuple that sorts as Cypher does, ascending: maps (by size, keys, values), nodes,
    edges, lists, paths, points, temporals, text, booleans, numbers, NaN, null."""
    kind = type(value)
    rank = _RANK.get(kind, 12)
    if rank == 15:
        return (15, 1, 0) if value != value else (15, 0, value)
    if rank in (13, 14, 12):
        return (rank, value)
    if rank == 16:
        return (16,)
    if kind is list:
        return (3, *[order_key(item) for item in value], (-1,))
    if kind is dict:
        names = sorted(value)
        return (0, len(names), names, [order_key(value[name]) for name in names])
    if kind is Node or kind is Edge:
        return (rank, value.id)
    if kind is Path:
        return (4, *[order_key(item) for item in value.elements()], (-1,))
    if kind is spatial.Point:
        return (5, spatial.order_key(value))
    return (rank, temporal.order_key(value))


# Grouping: null equals null, NaN equals NaN


def group_key(value: Any) -> Any:
    """Return a hashable key: two values belong to one group exactly if their keys are equal."""
    kind = type(value)
    if kind is str or kind is int or value is None:
        return value
    if kind is float:
        return ("nan",) if value != value else value
    if kind is bool:
        return ("b", value)
    if kind is list:
        return ("l", *[group_key(item) for item in value])
    if kind is dict:
        return ("m", frozenset((key, group_key(item)) for key, item in value.items()))
    if kind is Node:
        return ("n", value.id)
    if kind is Edge:
        return ("e", value.id)
    return (kind.__name__, value)


def truth(value: Any) -> bool | None:
    """Return the value of a condition. Raises QueryError unless it is a boolean or null."""
    if value is True or value is False or value is None:
        return value
    fail(
        f"A condition must be true, false or null, not {value!r:.40}.",
        hint="Compare the value with something.",
    )


def finite(value: float) -> bool:
    return not math.isinf(value) and value == value
