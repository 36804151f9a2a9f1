"""Results of verbs as JSON, and their schemas, from the types that verbs return.

    a data class, struct or named tuple   an object, by field name; names with _ are left out
    Fact                                  [subject, predicate, value]
    a time in nanoseconds                 ISO 8601, in UTC
    bytes                                 hexadecimal
    a value of the graph                  text: dates, durations, points

A schema and the value that it describes are made from the same list of fields, so that they agree.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from doxa.base.clock import format_time
from doxa.base.spatial import Point
from doxa.base.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from doxa.belief import Fact

# Fields that hold a time in nanoseconds, in every class, and in one.
TIMES = frozenset(
    "time created since until valid_from valid_until recorded opened decided at".split()
)
_TIMES_OF: Mapping[str, frozenset[str]] = {
    "Attachment": frozenset(("first_seen", "last_seen", "observed")),
    "BeliefCount": frozenset(("oldest", "newest")),
    "Contemplated": frozenset(("next_due",)),
    "CrystalliseApproval": frozenset(("expires",)),
    "DreamReport": frozenset(("started",)),
    "EntityInfo": frozenset(("first", "last")),
    "EntityPage": frozenset(("first", "last")),
    "HandoffView": frozenset(("made", "taken")),
    "JobProposal": frozenset(("made",)),
    "KnowledgeEntry": frozenset(("surfaced_last",)),
    "LeaseInfo": frozenset(("expires",)),
    "Pending": frozenset(("queued", "due")),
    "Record": frozenset(("made", "moved")),
    "RunInfo": frozenset(("started", "ended")),
    "SessionInfo": frozenset(("began", "last")),
    "SessionResult": frozenset(("due",)),
    "TopicInfo": frozenset(("first", "last")),
    "TurnSignals": frozenset(("above_since",)),
}
_SCALARS = (str, int, bool, float, type(None))
_VALUES: tuple[type, ...] = (
    Date,
    DateTime,
    Duration,
    LocalDateTime,
    LocalTime,
    Point,
    Time,
    Path,
)
_INTEGER = {"type": "integer", "format": "int64"}
_SIMPLE: Mapping[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: _INTEGER,
    float: {"type": "number"},
    type(None): {"type": "null"},
    bytes: {"type": "string"},
    Any: {},
    object: {},
    **{kind: {"type": "string"} for kind in _VALUES},
}
_TIME = {"type": "string", "format": "date-time"}
_VALUE = {"anyOf": [{"type": name} for name in ("string", "number", "boolean")]}
_FACT = {
    "type": "array",
    "prefixItems": [{"type": "string"}, {"type": "string"}, _VALUE],
    "minItems": 3,
    "maxItems": 3,
}


class Field(NamedTuple):
    name: str
    is_time: bool


@cache
def fields_of(kind: type) -> tuple[Field, ...] | None:
    """Return the fields of a class that JSON has; None for a class without fields."""
    if issubclass(kind, _VALUES):
        return None
    if is_dataclass(kind):
        names = [one.name for one in fields(kind)]
    elif issubclass(kind, msgspec.Struct):
        names = list(kind.__struct_fields__)
    elif issubclass(kind, tuple) and hasattr(kind, "_fields"):
        names = list(kind._fields)
    else:
        return None
    own = TIMES | _TIMES_OF.get(kind.__name__, frozenset())
    return tuple(Field(name, name in own) for name in names if not name.startswith("_"))


def encode_value(value: Any) -> Any:
    """Return a value as JSON has it."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is Fact:
        return list(value)
    known = fields_of(kind)  # type: ignore[arg-type]
    if known is not None:
        return {one.name: _field(getattr(value, one.name), is_time=one.is_time) for one in known}
    if isinstance(value, Mapping):
        return {str(name): encode_value(one) for name, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [encode_value(one) for one in value]
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, (str, int, float)) else str(value)


def _field(value: Any, *, is_time: bool) -> Any:
    if is_time and type(value) is int:
        return format_time(value)
    return encode_value(value)


class Schemas:
    """JSON Schemas of types. Classes are `components`, by name, and referred to."""

    def __init__(self, where: str = "#/components/schemas/") -> None:
        self.components: dict[str, dict[str, Any]] = {}
        self._where = where

    def of(self, kind: Any) -> dict[str, Any]:
        """Return the schema of a type as `encode_value` writes its values."""
        simple = _SIMPLE.get(kind) if _is_hashable(kind) else None
        if simple is not None:
            return simple
        if kind is Fact:
            return _FACT
        origin, inner = get_origin(kind), get_args(kind)
        if origin is Literal:
            return {"type": "string", "enum": list(inner)}
        if origin in (Union, types.UnionType):
            return self._union([self.of(one) for one in inner])
        if hasattr(kind, "__supertype__"):
            return self.of(kind.__supertype__)
        if isinstance(kind, type) and fields_of(kind) is not None:
            return self._class(kind)
        if origin in (tuple, list, set, frozenset) or kind in (tuple, list):
            items = [one for one in inner if one is not Ellipsis]
            return {"type": "array"} | ({"items": self.of(items[0])} if items else {})
        if kind is dict or (isinstance(origin, type) and issubclass(origin, Mapping)):
            return {"type": "object"} | (
                {"additionalProperties": self.of(inner[1])} if len(inner) > 1 else {}
            )
        return {}

    def _union(self, schemas: list[dict[str, Any]]) -> dict[str, Any]:
        """A branch for each type, each once."""
        if not all(schemas):
            return {}
        found: list[dict[str, Any]] = []
        for one in schemas:
            for branch in one["anyOf"] if set(one) == {"anyOf"} else [one]:
                if branch not in found:
                    found.append(branch)
        return {"anyOf": found} if len(found) > 1 else found[0]

    def _class(self, kind: type) -> dict[str, Any]:
        name = kind.__name__
        if name not in self.components:
            self.components[name] = {}  # it may refer to itself
            known = fields_of(kind) or ()
            hints = get_type_hints(kind)
            properties = {}
            for one in known:
                schema = self.of(hints[one.name])
                properties[one.name] = _as_time(schema) if one.is_time else schema
            self.components[name] = {
                "type": "object",
                "properties": properties,
                "required": [one.name for one in known],
            }
        return {"$ref": f"{self._where}{name}"}


def _as_time(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {"anyOf": [_as_time(one) for one in schema["anyOf"]]}
    return _TIME if schema == _INTEGER else schema


def _is_hashable(kind: Any) -> bool:
    try:
        hash(kind)
    except TypeError:
        return False
    return True
