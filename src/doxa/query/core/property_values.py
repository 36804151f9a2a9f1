"""Which lists a property may hold. The store takes any list of scalars; a query stores lists of
one type, as Neo4j does, so that a graph built by Cypher can be moved there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.query.core.errors import fail, shown

_NUMBERS = frozenset((int, float))


def uniform(properties: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties without nulls. A list of integers and floats becomes one of floats;
    raises QueryError for other lists of several types. What is in `before` is not checked again."""
    return {
        name: _uniform(name, value)
        if type(value) is list and value is not before.get(name)
        else value
        for name, value in properties.items()
        if value is not None
    }


def _uniform(name: str, items: list[Any]) -> list[Any]:
    kinds = set(map(type, items))
    if len(kinds) < 2 or not kinds.isdisjoint((list, dict, type(None))):  # the store refuses these
        return items
    if kinds == _NUMBERS:
        return list(map(float, items))
    fail(
        f"The property {name} cannot hold {shown(items)}: its items are of several types.",
        kind="TypeError",
        detail="InvalidPropertyType",
        hint="Store items of one type, or a property for each type.",
        property=name,
    )
