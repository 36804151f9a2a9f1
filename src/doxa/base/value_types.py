"""Test values against Cypher type names, for `x IS :: INTEGER` and for property type constraints.

    INTEGER   LIST<STRING NOT NULL>   INTEGER | FLOAT   ZONED DATETIME NOT NULL
    PROPERTY VALUE   ANY

Source: the Cypher manual, "Values and types" and "Type predicate expressions". Higher layers add
the types that a property cannot have.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from doxa.base import spatial, temporal
from doxa.base.errors import InputError

PROPERTY_TYPES: dict[str, tuple[type, ...]] = {
    "BOOLEAN": (bool,),
    "STRING": (str,),
    "INTEGER": (int,),
    "FLOAT": (float,),
    "DATE": (temporal.Date,),
    "LOCAL TIME": (temporal.LocalTime,),
    "ZONED TIME": (temporal.Time,),
    "LOCAL DATETIME": (temporal.LocalDateTime,),
    "ZONED DATETIME": (temporal.DateTime,),
    "DURATION": (temporal.Duration,),
    "POINT": (spatial.Point,),
    "BYTES": (bytes,),
}
_PROPERTY = frozenset(kind for kinds in PROPERTY_TYPES.values() for kind in kinds)

Test = Callable[[Any], bool]


class TypeNames:
    """A set of type names and their tests. Null belongs to every type that is not NOT NULL."""

    def __init__(self, plain: Mapping[str, tuple[type, ...]]) -> None:
        self._plain = plain
        self.test: Callable[[str], Test] = functools.lru_cache(maxsize=256)(self._test)

    def conforms(self, value: Any, name: str) -> bool:
        """Return whether a value is of a type. Raises InputError for an unknown type name."""
        return self.test(name)(value)

    def _test(self, name: str) -> Test:
        parts = _alternatives(name)
        if len(parts) > 1:
            tests = [self.test(part) for part in parts]
            return lambda value: any(test(value) for test in tests)
        if name.endswith(" NOT NULL"):
            inner = self.test(name.removesuffix(" NOT NULL"))
            return lambda value: value is not None and inner(value)
        if name.startswith(("LIST<", "ARRAY<")):
            item = self.test(name.partition("<")[2].removesuffix(">"))
            return lambda value: (
                value is None or (type(value) is list and all(item(one) for one in value))
            )
        if name.startswith("ANY"):
            return self.test(name[4:-1]) if name.startswith("ANY<") else lambda value: True
        if name in ("NULL", "NOTHING"):
            return lambda value: value is None and name == "NULL"
        if name == "PROPERTY VALUE":
            return lambda value: (
                value is None
                or type(value) in _PROPERTY
                or (type(value) is list and all(type(one) in _PROPERTY for one in value))
            )
        if name not in self._plain:
            raise InputError(
                f"{name} is not a type.",
                next_step=f"Types are {', '.join(sorted(self._plain))}, LIST<…> and ANY.",
                field="type",
            )
        kinds = self._plain[name]
        return lambda value: value is None or type(value) in kinds


def _alternatives(name: str) -> list[str]:
    """Split a type name at the bars that are outside angle brackets."""
    depth, start, parts = 0, 0, []
    for index, char in enumerate(name):
        depth += (char == "<") - (char == ">")
        if depth == 0 and name.startswith(" | ", index):
            parts.append(name[start:index])
            start = index + 3
    return [*parts, name[start:]]


conforms = TypeNames(PROPERTY_TYPES).conforms
