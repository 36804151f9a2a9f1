"""Arithmetic, access and text operators on Cypher values. Errors are openCypher's."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from doxa.base import spatial, temporal
from doxa.query.core.comparison import equals
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown
from doxa.query.core.memory_budget import check_size

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
_TEMPORAL = (
    temporal.Date,
    temporal.LocalTime,
    temporal.Time,
    temporal.LocalDateTime,
    temporal.DateTime,
    temporal.Duration,
)
_WITH_CLOCK = (temporal.LocalTime, temporal.Time, temporal.LocalDateTime, temporal.DateTime)


def whole(value: int) -> int:
    """Return an integer result. Raises QueryError on overflow."""
    if not INT_MIN <= value <= INT_MAX:
        fail(
            "The result does not fit in a 64-bit integer.",
            kind="ArithmeticError",
            detail="IntegerOverflow",
            hint="Use floats: 1.0 * value.",
        )
    return value


def is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def add(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    one, two = type(left), type(right)
    if one is int and two is int:
        return whole(left + right)
    if is_number(left) and is_number(right):
        return _float(lambda: left + right)
    if one is str and two is str:
        return check_size(left + right)
    if one is list:
        return check_size(left + right if two is list else [*left, right])
    if two is list:
        return check_size([left, *right])
    if one is str and (is_number(right) or isinstance(right, _TEMPORAL)):
        return left + text_of(right)
    if two is str and (is_number(left) or isinstance(left, _TEMPORAL)):
        return text_of(left) + right
    if isinstance(left, _TEMPORAL) and isinstance(right, _TEMPORAL):
        return temporal.add(left, right)
    fail(f"{shown(left)} and {shown(right)} cannot be added.")


def subtract(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        return whole(left - right)
    if is_number(left) and is_number(right):
        return left - right
    if isinstance(left, _TEMPORAL) and isinstance(right, temporal.Duration):
        return temporal.subtract(left, right)
    fail(f"{shown(right)} cannot be subtracted from {shown(left)}.")


def multiply(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        return whole(left * right)
    if is_number(left) and is_number(right):
        return _float(lambda: left * right)
    if isinstance(left, temporal.Duration) and is_number(right):
        return temporal.multiply(left, right)
    if isinstance(right, temporal.Duration) and is_number(left):
        return temporal.multiply(right, left)
    fail(f"{shown(left)} and {shown(right)} cannot be multiplied.")


def divide(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        if right == 0:
            fail("An integer is divided by zero.", kind="ArithmeticError", detail="DivisionByZero")
        quotient = abs(left) // abs(right)
        return whole(quotient if (left < 0) == (right < 0) else -quotient)
    if is_number(left) and is_number(right):
        if right == 0:
            if left == 0 or left != left:
                return math.nan
            return math.copysign(math.inf, left) * math.copysign(1.0, right)
        return _float(lambda: left / right)
    if isinstance(left, temporal.Duration) and is_number(right):
        if right == 0:
            fail("A duration is divided by zero.", kind="ArithmeticError", detail="DivisionByZero")
        return temporal.divide(left, right)
    fail(f"{shown(left)} cannot be divided by {shown(right)}.")


def modulo(left: Any, right: Any) -> Any:
    """Return the remainder, which has the sign of the dividend."""
    if left is None or right is None:
        return None
    if type(left) is int and type(right) is int:
        if right == 0:
            fail("An integer is divided by zero.", kind="ArithmeticError", detail="DivisionByZero")
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    if is_number(left) and is_number(right):
        return math.nan if right == 0 or math.isinf(left) else math.fmod(left, right)
    fail(f"{shown(left)} has no remainder by {shown(right)}.")


def power(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if not is_number(left) or not is_number(right):
        fail(f"{shown(left)} cannot be raised to {shown(right)}.")
    try:
        return math.pow(left, right)
    except OverflowError:
        return math.inf
    except ValueError:
        return math.nan if left != 0 else math.inf


def concatenate(left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if type(left) is type(right) and type(left) in (str, list):
        return left + right
    fail(
        f"{shown(left)} and {shown(right)} cannot be joined.",
        hint="|| joins two texts or two lists.",
    )


def negate(value: Any) -> Any:
    if value is None:
        return None
    if type(value) is int:
        return whole(-value)
    if type(value) is float:
        return -value
    if isinstance(value, temporal.Duration):
        return temporal.multiply(value, -1)
    fail(f"{shown(value)} has no sign.")


def plus(value: Any) -> Any:
    """Evaluate `+value`: the value as it is. Types that have no sign are refused where they are
    certain, before a query runs."""
    return value


def _float(compute: Any) -> float:
    try:
        return float(compute())
    except OverflowError:
        return math.inf


ARITHMETIC = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": modulo,
    "^": power,
    "||": concatenate,
}


# Access


def property_of(value: Any, name: str) -> Any:
    if value is None:
        return None
    if isinstance(value, (Node, Edge)):
        return value.properties.get(name)
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, _TEMPORAL):
        return temporal.get(value, name)
    if isinstance(value, spatial.Point):
        return spatial.get(value, name)
    fail(f"{shown(value)} has no property {name}.")


def item_of(value: Any, index: Any) -> Any:
    """Evaluate `value[index]` for a list, a map, a node or a relationship."""
    if value is None or index is None:
        return None
    if type(value) is list:
        if type(index) is not int:
            fail(f"A list is indexed by an integer, not by {shown(index)}.")
        return value[index] if -len(value) <= index < len(value) else None
    if isinstance(value, (dict, Node, Edge)):
        if type(index) is not str:
            fail(
                f"A property is named by text, not by {shown(index)}.",
                detail="MapElementAccessByNonString",
            )
        return property_of(value, index)
    fail(f"{shown(value)} cannot be indexed.")


def slice_of(value: Any, start: Any, end: Any) -> Any:
    if value is None:
        return None
    if type(value) is not list:
        fail(f"{shown(value)} cannot be sliced.")
    for bound in (start, end):
        if bound is not None and bound is not _OPEN and type(bound) is not int:
            fail(f"A list bound is an integer, not {shown(bound)}.")
    if start is None or end is None:
        return None
    return value[None if start is _OPEN else start : None if end is _OPEN else end]


_OPEN: Any = object()
OPEN = _OPEN  # the missing bound of a slice; null would make the slice null


def contained(value: Any, items: Any) -> bool | None:
    """Evaluate `value IN items`."""
    if items is None:
        return None
    if type(items) is not list:
        fail(f"IN needs a list on its right, not {shown(items)}.")
    unknown = False
    for item in items:
        found = equals(value, item)
        if found:
            return True
        unknown = unknown or found is None
    return None if unknown else False


def text_of(value: Any) -> str:
    """Implement toString(): booleans and numbers as Cypher writes them, temporal values with their
    seconds."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) is float:
        return float_text(value)
    if isinstance(value, _WITH_CLOCK):
        return temporal.text_with_seconds(value)
    return str(value)


def float_text(value: float) -> str:
    """Format a float as Java does, and with it Neo4j: an exponent below 0.001 and from 10^7."""
    if value != value:
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    assert isinstance(exponent, int)
    whole_part, rest = str(digits[0]), "".join(map(str, digits[1:])).rstrip("0") or "0"
    return f"{'-' if sign else ''}{whole_part}.{rest}E{exponent + len(digits) - 1}"
