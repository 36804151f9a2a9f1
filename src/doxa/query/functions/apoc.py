"""The functions of APOC that integrations call: cleaning, flattening, a predicate that fails.

Source: the APOC documentation, "Functions overview"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from doxa.base.limits import VALUE_CHARS_MAX
from doxa.base.temporal import DAY_S, Date, offset_text
from doxa.base.temporal_text import parse_datetime
from doxa.query.core.comparison import group_key
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail, shown, type_name
from doxa.query.core.operators import text_of
from doxa.query.functions.registry import Function

# What a text for String.format of Java may ask for: %s, %2$d, %.3f, %%.
_PLACE = re.compile(r"%(?:(\d{1,3})\$)?[-#+ 0,(]*\d{0,3}(?:\.\d{1,3})?([a-zA-Z%])")


def validate(predicate: Any, message: Any, params: Any, *, called: str) -> bool:
    """Fail with the message if the predicate is true; `called` names who asks. Clients find their
    message behind the words "Caused by: java.lang.RuntimeException"."""
    if type(predicate) is not bool:
        fail(
            f"The {called} takes a boolean, not {shown(predicate)}.", detail="InvalidArgumentValue"
        )
    if predicate:
        fail(
            f"Failed to invoke {called}: Caused by: java.lang.RuntimeException:"
            f" {_formatted(message, params)}",
            kind="ProcedureError",
            detail="ValidationFailed",
            hint="The statement forbids what it found.",
        )
    return True


def _formatted(message: Any, params: Any) -> str:
    """Fill the places of a message. A place without a parameter stays as it is."""
    if not isinstance(message, str):
        fail(f"The message is a text, not {shown(message)}.", detail="InvalidArgumentValue")
    given: Sequence[Any] = params if isinstance(params, list) else ()
    following = iter(given)

    def fill(place: re.Match[str]) -> str:
        if place[2] == "%":
            return "%"
        at = int(place[1] or 0)
        try:
            return _text(given[at - 1] if at else next(following))
        except (IndexError, StopIteration):
            return place[0]

    return _PLACE.sub(fill, message)[:VALUE_CHARS_MAX] if given else message


def _text(value: Any) -> str:
    if type(value) is list:
        return f"[{', '.join(_text(item) for item in value)}]"
    return str(value) if value is None or isinstance(value, dict) else text_of(value)


def _clean(map_: Any, keys: Any, values: Any) -> dict[str, Any]:
    """Leave out some keys, some values (as they are or as text), and nulls."""
    unwanted = set(map(group_key, values))
    return {
        key: value
        for key, value in as_map(map_).items()
        if value is not None
        and key not in keys
        and group_key(value) not in unwanted
        and group_key(_text(value)) not in unwanted
    }


def _flatten(list_: Any, recursive: Any = False) -> list[Any]:
    """Put the items of inner lists in their place: of one level, or of all."""
    return list(_flat(list_, every=recursive is True))


def _flat(list_: Iterable[Any], *, every: bool) -> Iterable[Any]:
    for item in list_:
        if type(item) is not list:
            yield item
        elif every:
            yield from _flat(item, every=True)
        else:
            yield from item


def different(values: Iterable[Any]) -> list[Any]:
    """Keep the first of equal values."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(group_key(value), value)
    return list(found.values())


def as_map(value: Any) -> dict[str, Any]:
    """Return a map as it is, an element as its properties, null as an empty map."""
    if isinstance(value, (Node, Edge)):
        return dict(value.properties)
    if value is not None and not isinstance(value, dict):
        fail(f"A map is needed here, not {shown(value)}.", detail="InvalidArgumentValue")
    return value or {}


def _property(element: Any, name: Any) -> Any:
    return as_map(element).get(name)


_TYPES = {
    "ZONED DATETIME": "DATE_TIME",
    "LOCAL DATETIME": "LOCAL_DATE_TIME",
    "ZONED TIME": "TIME",
    "LOCAL TIME": "LOCAL_TIME",
    "BYTES": "LIST",
}


def type_in_apoc(value: Any) -> str:
    """Return the name of a value's type in APOC's tables of a schema."""
    name = type_name(value)
    return _TYPES.get(name, name)


def _cypher_types(value: Any) -> dict[str, str]:
    return {
        key: f"LIST OF {_type_of_items(item)}" if type(item) is list else type_in_apoc(item)
        for key, item in as_map(value).items()
    }


def _type_of_items(items: list[Any]) -> str:
    names = set(map(type_in_apoc, items))
    return names.pop() if len(names) == 1 else "ANY"


def _validate_predicate(predicate: Any, message: Any, params: Any) -> bool:
    called = "function `apoc.util.validatePredicate`"
    return validate(predicate, message, params, called=called)


_WITH_ZONE = "iso_zoned_date_time"
_WITH_OFFSET = "iso_offset_date_time"
_DATE = "yyyy-MM-dd"


def _convert_format(text: Any, given: Any, wanted: Any = _DATE) -> str:
    """Write a date and time in another form: with its zone, with its offset alone, or the date.
    These are the forms that integrations ask for."""
    if given not in (_WITH_ZONE, _WITH_OFFSET):
        fail(
            f"A date is read as {_WITH_ZONE} or {_WITH_OFFSET}, not as {shown(given)}.",
            detail="InvalidArgumentValue",
            hint="Use datetime() and format it with toString().",
        )
    if wanted not in (_WITH_ZONE, _WITH_OFFSET, _DATE):
        fail(
            f"A date is written as {_WITH_ZONE}, {_WITH_OFFSET} or {_DATE}, not as"
            f" {shown(wanted)}.",
            detail="InvalidArgumentValue",
            hint="Put it together from the parts of datetime().",
        )
    moment = parse_datetime(text)
    days, second = divmod(moment.seconds + moment.offset, DAY_S)
    date = str(Date(days))
    if wanted == _DATE:
        return date
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    fraction = f".{moment.nanos:09}".rstrip("0").rstrip(".")
    zone = f"[{moment.zone}]" if moment.zone and wanted == _WITH_ZONE else ""
    return f"{date}T{clock}{fraction}{offset_text(moment.offset)}{zone}"


FUNCTIONS = (
    Function("apoc.date.convertFormat", _convert_format, 2, 3),
    Function("apoc.map.clean", _clean, 3, 3),
    Function("apoc.coll.flatten", _flatten, 1, 2),
    Function("apoc.coll.toSet", different, 1, 1),
    Function("apoc.any.property", _property, 2, 2),
    Function("apoc.meta.cypher.types", _cypher_types, 1, 1),
    Function("apoc.util.validatePredicate", _validate_predicate, 3, 3, nulls=True),
)
