"""Property values and their canonical byte form, which makes hashes and replay agree on every
machine.

A property value is null, a boolean, a 64-bit integer, a float, text, a temporal value, a point,
bytes, or a list of these (lists do not nest). The canonical form is UTF-8 JSON with sorted keys and
no whitespace. A value that JSON cannot represent becomes an object with one key:

    {"$date": days}                                {"$localtime": nanos}
    {"$time": [nanos, offset]}                     {"$localdatetime": [seconds, nanos]}
    {"$datetime": [seconds, nanos, offset, zone]}  {"$duration": [months, days, seconds, nanos]}
    {"$point": [srid, x, y, z]}                    {"$bytes": base64}
    {"$float": "NaN" | "Infinity" | "-Infinity"}
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

import msgspec

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import (
    LIST_ITEMS_MAX,
    PROPERTIES_BYTES_MAX,
    PROPERTY_NAME_CHARS_MAX,
    TEXT_BYTES_MAX,
)
from doxa.base.spatial import Point
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time

Scalar = bool | int | float | str | bytes | Temporal | Point
Value = Scalar | list[Scalar] | None
Properties = dict[str, Value]

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_encoder = msgspec.json.Encoder(order="sorted")
_decoder = msgspec.json.Decoder()
_MISSING: Any = object()
_PLAIN = frozenset({str, int, bool})
decode = _decoder.decode
TAGGED = '{"$'  # begins a value that JSON has no form for


def canonical(value: object) -> bytes:
    """Return the canonical bytes of any JSON value."""
    return _encoder.encode(value)


def same_value(one: object, other: object) -> bool:
    """Return whether two values, or two mappings of properties, have the same canonical form.
    Python's own comparison treats 1, 1.0 and True as equal and NaN as different from itself."""
    return one is other or (
        not _differ_plainly(one, other)
        and _encoder.encode(_tagged(one)) == _encoder.encode(_tagged(other))
    )


def _differ_plainly(one: object, other: object) -> bool:
    """Return whether two mappings differ in a name, or in a value that JSON represents as it is;
    False if that is not known without encoding them."""
    if type(one) is not dict or type(other) is not dict:
        return False
    if len(one) != len(other):
        return True
    for name, value in one.items():
        found = other.get(name, _MISSING)
        if found is value:
            continue
        kind = type(value)
        if found is _MISSING or (
            kind in _PLAIN and (found != value if type(found) is kind else type(found) in _PLAIN)
        ):
            return True
    return False


def check_text(value: str, *, field: str, bytes_max: int = TEXT_BYTES_MAX) -> str:
    """Return the text if it is encodable and within the limit. Raises InputError or LimitError."""
    try:
        size = len(value) if value.isascii() else len(value.encode())
    except UnicodeEncodeError as error:
        raise InputError(
            f"{field} contains a lone surrogate at character {error.start}.",
            next_step="Send valid Unicode text.",
            field=field,
            position=error.start,
        ) from None
    if size > bytes_max:
        raise LimitError(
            f"{field} has {size:,} bytes; the limit is {bytes_max:,}.",
            next_step="Split the text, or store the file as an artifact and keep a summary.",
            field=field,
            size_bytes=size,
            limit_bytes=bytes_max,
        )
    return value


def check_properties(
    values: Mapping[str, object], *, owner: str, before: Properties | None = None
) -> Properties:
    """Return a checked copy without nulls; a null property is an absent one. What `before` holds
    was checked. Raises InputError or LimitError naming the field."""
    result: Properties = {}
    for name, value in values.items():
        if before is not None and value is not None and before.get(name) is value:
            result[name] = before[name]
            continue
        if not isinstance(name, str) or not name or len(name) > PROPERTY_NAME_CHARS_MAX:
            raise InputError(
                f"{owner} has a property without a usable name: {str(name)[:40]!r}.",
                next_step=f"Name properties with 1 to {PROPERTY_NAME_CHARS_MAX} characters.",
                owner=owner,
            )
        if value is not None:
            known = name if name.isascii() else check_text(name, field="property name")
            result[known] = value if _is_fine(value) else _check_value(value, f"{owner}.{name}")
    return result


def _is_fine(value: object) -> TypeGuard[Scalar]:
    """Return whether a value is valid without further checks, as most are."""
    if type(value) is str:
        return len(value) <= TEXT_BYTES_MAX and value.isascii()
    return (
        type(value) is bool
        or type(value) is float
        or (type(value) is int and _INT_MIN <= value <= _INT_MAX)
    )


def encode_properties(values: Properties, *, owner: str) -> bytes:
    data = _encoder.encode(
        values
        if _PLAIN.issuperset(map(type, values.values()))
        or all([_is_plain(value) for value in values.values()])
        else {k: _tagged(v) for k, v in values.items()}
    )
    if len(data) > PROPERTIES_BYTES_MAX:
        raise LimitError(
            f"The properties of {owner} take {len(data):,} bytes; the limit is"
            f" {PROPERTIES_BYTES_MAX:,}.",
            next_step="Store less in its properties, or split it.",
            owner=owner,
            size_bytes=len(data),
            limit_bytes=PROPERTIES_BYTES_MAX,
        )
    return data


def _is_plain(value: object) -> bool:
    """Return whether JSON represents the value as it is."""
    return type(value) in _PLAIN or (type(value) is float and math.isfinite(value))


_TAGS: dict[type, tuple[str, Callable[[Any], object]]] = {
    Date: ("$date", lambda v: v.days),
    LocalTime: ("$localtime", lambda v: v.nanos),
    Time: ("$time", lambda v: [v.nanos, v.offset]),
    LocalDateTime: ("$localdatetime", lambda v: [v.seconds, v.nanos]),
    DateTime: ("$datetime", lambda v: [v.seconds, v.nanos, v.offset, v.zone]),
    Duration: ("$duration", lambda v: [v.months, v.days, v.seconds, v.nanos]),
    Point: ("$point", lambda v: [v.srid, v.x, v.y, v.z]),
    bytes: ("$bytes", lambda v: base64.b64encode(v).decode()),
}
_TEMPORAL = (Date, LocalTime, Time, LocalDateTime, DateTime, Duration)
_MADE: dict[str, Callable[[Any], object]] = {
    "$date": Date,
    "$localtime": LocalTime,
    "$time": lambda v: Time(*v),
    "$localdatetime": lambda v: LocalDateTime(*v),
    "$datetime": lambda v: DateTime(*v),
    "$duration": lambda v: Duration(*v),
    "$point": lambda v: Point(*v),
    "$bytes": base64.b64decode,
    "$float": float,
}


def float_text(value: float) -> str:
    """Return the shortest text that reads as the same float; NaN, Infinity or -Infinity."""
    if value != value:
        return "NaN"
    return repr(value) if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _tagged(value: Any) -> object:
    if type(value) is list:
        return [_tagged(item) for item in value]
    if type(value) is dict:
        return {name: _tagged(item) for name, item in value.items()}
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": float_text(value)}
    tag = _TAGS.get(type(value))
    return value if tag is None else {tag[0]: tag[1](value)}


def decode_properties(text: str) -> Any:
    """Decode properties, or a list of labels, from JSON text."""
    values = decode(text)
    if TAGGED not in text:
        return values
    return (
        {name: _untagged(value) for name, value in values.items()}
        if type(values) is dict
        else values
    )


def decode_value(text: str) -> Any:
    """Decode one property value from JSON text."""
    value = decode(text)
    return _untagged(value) if TAGGED in text else value


def _untagged(values: Any) -> Any:
    if type(values) is list:
        return [_untagged(item) for item in values]
    if type(values) is dict:
        if len(values) == 1:
            tag, inner = next(iter(values.items()))
            if tag in _MADE and (tag != "$float" or type(inner) is str):
                return _MADE[tag](inner)
        return {name: _untagged(value) for name, value in values.items()}
    return values


def _check_value(value: object, field: str) -> Value:
    if isinstance(value, (list, tuple)):
        if len(value) > LIST_ITEMS_MAX:
            raise LimitError(
                f"{field} has {len(value):,} items; the limit is {LIST_ITEMS_MAX:,}.",
                next_step="Store fewer items, or make each a separate node.",
                field=field,
                items=len(value),
                limit_items=LIST_ITEMS_MAX,
            )
        return [_check_scalar(item, field) for item in value]
    return _check_scalar(value, field)


def _check_scalar(value: object, field: str) -> Scalar:
    if isinstance(value, str):
        return check_text(value, field=field)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and _INT_MIN <= value <= _INT_MAX:
        return value
    if isinstance(value, (float, bytes, *_TEMPORAL, Point)):
        return value
    raise InputError(
        f"{field} cannot hold {type(value).__name__} {str(value)[:40]!r}.",
        next_step=(
            "Use text, a 64-bit integer, a float, a boolean, a temporal value, a point, bytes, or a"
            " list of these."
        ),
        field=field,
        type=type(value).__name__,
    )
