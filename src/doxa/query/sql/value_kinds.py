"""Classify values by how SQL can compare them."""

from __future__ import annotations

from typing import Any

from doxa.base import temporal
from doxa.base.values import canonical
from doxa.query.sql.pushed_test import PushedTest

UNDECIDED_KINDS = frozenset(("other", "others", "temporal"))
_MOMENTS = frozenset(
    (temporal.Date, temporal.DateTime, temporal.LocalDateTime, temporal.Time, temporal.LocalTime)
)
_ORDERS = frozenset(("<", "<=", ">", ">="))
_ID_DIGITS_MAX, _IDS_END = 18, 2**63


# Kinds of values


def kind_of(value: Any, op: str) -> str:
    """Return how SQL can compare a value: null, boolean, number, text, numbers, texts, others,
    temporal or other."""
    if value is None:
        return "null"
    kind = type(value)
    if op == "IN":
        return _list_kind(value) if kind is list else "other"
    if kind is str and "\x00" not in value:
        return "other" if op == "ENDS WITH" and not value else "text"
    if op in ("STARTS WITH", "ENDS WITH", "CONTAINS"):
        return "other" if kind is str else "null"
    if kind is int or (kind is float and value == value and abs(value) != float("inf")):
        return "number"
    if kind is bool and op == "=":
        return "boolean"
    return "temporal" if kind in _MOMENTS and op in _ORDERS else "other"


def _list_kind(values: list[Any]) -> str:
    """The kind of a list on the right of IN; nulls in it never match."""
    kinds = {kind_of(value, "=") for value in values} - {"null"}
    if not kinds:
        return "null"
    return (
        {"text": "texts", "number": "numbers"}.get(kinds.pop(), "others")
        if len(kinds) == 1
        else "others"
    )


def classify_arguments(
    tests: list[PushedTest], given: list[Any]
) -> tuple[list[Any], tuple[str, ...]]:
    """Return the values to compare with and their kinds. A value for an id becomes the number of
    the element, a list the numbers of elements."""
    values, kinds = [], []
    for test, value in zip(tests, given, strict=True):
        if test.name is not None:
            values.append(value)
            kinds.append(kind_of(value, test.op))
            continue
        items = value if test.op == "IN" else [value]
        if type(items) is not list:
            values.append(value)
            kinds.append("null" if value is None else "other")
            continue
        found = [
            number for number in (_id_of(item, test.prefix) for item in items) if number is not None
        ]
        values.append(found if test.op == "IN" else found[0] if found else None)
        kinds.append("null" if not found else "ids" if test.op == "IN" else "id")
    return values, tuple(kinds)


def _id_of(value: Any, prefix: str) -> int | None:
    """The id that a value denotes, or None."""
    if not prefix:
        whole = type(value) is int or (type(value) is float and value.is_integer())
        return int(value) if whole and 0 <= value < _IDS_END else None
    digits = value[len(prefix) :] if type(value) is str and value.startswith(prefix) else ""
    if not digits.isdecimal() or len(digits) > _ID_DIGITS_MAX or str(int(digits)) != digits:
        return None
    return int(digits)


def assumed_kind(test: PushedTest) -> str:
    """Return the assumed kind of a value that is not known yet."""
    kind = "text" if test.name is not None else "id"
    return f"{kind}s" if test.op == "IN" else kind


def bound_value(value: Any) -> Any:
    """Return the argument bound for a value: lists as JSON."""
    return (
        canonical([item for item in value if item is not None]).decode()
        if type(value) is list
        else value
    )
