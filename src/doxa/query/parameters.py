"""Convert parameters from Python to Cypher values, or raise an error that names the position."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Mapping
from typing import Any, NoReturn

from doxa.base import spatial, temporal
from doxa.base.errors import InputError
from doxa.base.temporal_python import from_python
from doxa.query.core.elements import Edge, Node, Path
from doxa.query.core.operators import INT_MAX, INT_MIN

_PLACE_CHARS = 80  # of the position of a value, for an error
_DEPTH_MAX = 100
_OURS = (*temporal.INSTANTS, temporal.Duration, spatial.Point, Node, Edge, Path)
_NATIVE = (datetime.date, datetime.time, datetime.timedelta)
_AS_IT_IS = frozenset((bool, float, type(None), bytes))


def convert_parameters(params: Mapping[str, Any]) -> dict[str, Any]:
    """Convert parameters: Python's dates and times become Cypher's, tuples and arrays become lists.
    Raises InputError for types that Cypher lacks."""
    found = {}
    for name, value in params.items():
        if not isinstance(name, str):
            _refuse(f"A parameter is named by text, not by {name!r:.40}.", "params")
        found[name] = _value(value, f"${name}", 0)
    return found


def _value(value: Any, place: str, depth: int) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else _text(value, place)
    if kind is int:
        if not INT_MIN <= value <= INT_MAX:
            _refuse(f"{place} does not fit in a 64-bit integer.", place)
        return value
    if kind in _AS_IT_IS:
        return value
    if depth > _DEPTH_MAX:
        _refuse(f"{place:.80} nests more than {_DEPTH_MAX} levels deep.", place)
    if kind is list or kind is tuple:
        return [_value(item, place, depth + 1) for item in value]
    if isinstance(value, Mapping):
        return _map(value, place[:_PLACE_CHARS], depth)
    return _other(value, place, depth)


def _map(value: Mapping[Any, Any], place: str, depth: int) -> dict[str, Any]:
    found = {}
    for name, item in value.items():
        if type(name) is not str or not name.isascii():
            if not isinstance(name, str):
                _refuse(f"A map's keys are text; {place} has {name!r:.40}.", place)
            name = _text(name, place)
        kind = type(item)
        if (  # most values: nothing to convert, and no error that would name the place
            (kind is str and item.isascii())
            or (kind is int and INT_MIN <= item <= INT_MAX)
            or kind in _AS_IT_IS
        ):
            found[name] = item
        else:
            found[name] = _value(item, f"{place}.{name}", depth + 1)
    return found


def _other(value: Any, place: str, depth: int) -> Any:
    if isinstance(value, _OURS):
        return value
    if isinstance(value, _NATIVE):
        return from_python(value)
    if isinstance(value, str):
        return _text(str.__str__(value), place)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (list, tuple)):
        return [_value(item, place, depth + 1) for item in value]
    if isinstance(value, numbers.Integral):
        return _value(int(value), place, depth)
    if isinstance(value, float):
        return float(value)
    if callable(getattr(value, "tolist", None)):  # arrays and scalars of numpy
        return _value(value.tolist(), place, depth + 1)
    _refuse(
        f"{place} cannot be given to a query: Cypher has no type for {type(value).__name__}.", place
    )


def _text(value: str, place: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        _refuse(f"{place} has a character that no text can hold (half of a surrogate pair).", place)
    return value


def _refuse(message: str, field: str) -> NoReturn:
    step = (
        "Give null, booleans, 64-bit integers, floats, text, bytes, dates and times, lists and"
        " maps."
    )
    raise InputError(message, next_step=step, field=field[:80])
