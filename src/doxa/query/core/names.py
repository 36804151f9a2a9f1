"""Names that the planner gives to slots which no variable of the query names.

They are of a type of their own, so that no text of a query can name one: ``MATCH (`n0`)`` and the
unnamed node of ``MATCH ()`` are two keys of a layout.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from doxa.query.core.row import Layout


class Kind(Enum):
    """What a slot with an internal name holds."""

    ELEMENT = "element"  # an unnamed node or edge of a pattern
    PROPERTY = "property"  # one property of a variable, read instead of the whole element
    SHADOWED = "shadowed"  # such a property, after its variable's name was given to another value
    PATH = "path"  # the path of an expression that is one
    STEP = "step"  # the edge that a condition of a variable length tests
    BEFORE = "before"  # a subquery of an updating clause, evaluated before the clause writes
    CREATED = "created"  # an unnamed element of CREATE or MERGE
    AGGREGATE = "aggregate"  # the result of an aggregation within a larger expression
    OUTER = "outer"  # the last slot of the outer query's row, so that the layout is as wide as it
    RETURNED = "returned"  # the elements that a returned value was computed from
    TRAVERSED = "traversed"  # the elements that a row passed through
    ELEMENT_ID = "element id"  # the id of a variable of which no whole value is needed
    TRAVERSED_IDS = "traversed ids"  # the ids that a pushed-down pattern passed through


class InternalName(str):
    """A key of a layout that differs from every name a query can write, whatever its text.

    It is a `str` so that it can stand where a variable's name stands, in `tree.Variable` above all.
    """

    __slots__ = ("kind", "parts")

    kind: Kind
    parts: tuple[str | int, ...]

    def __new__(cls, kind: Kind, *parts: str | int) -> InternalName:
        self = super().__new__(cls, f"<{' '.join([kind.value, *map(str, parts)])}>")
        self.kind, self.parts = kind, parts
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, InternalName)
            and other.kind is self.kind
            and other.parts == self.parts
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__  # equal names have equal texts


OUTER: str = InternalName(Kind.OUTER)


def is_internal(name: str, *kinds: Kind) -> bool:
    """Return whether the planner made this name; with kinds, whether it is of one of them."""
    return isinstance(name, InternalName) and (not kinds or name.kind in kinds)


def is_hidden(name: str) -> bool:
    """Return whether the column is recorded as an access and removed from the result."""
    return is_internal(name, Kind.RETURNED, Kind.TRAVERSED)


def property_column(variable: str, name: str) -> InternalName:
    """Return the name in a layout of a single property that was read instead of the whole
    element."""
    return InternalName(Kind.PROPERTY, variable, name)


def without_property_columns(layout: Layout, names: Iterable[str]) -> dict[str, int]:
    """Return the layout without the single properties of variables whose names now mean something
    else. The width stays."""
    rebound = frozenset(names)
    return {
        InternalName(Kind.SHADOWED, name.parts[0], name)
        if isinstance(name, InternalName)
        and name.kind in (Kind.PROPERTY, Kind.SHADOWED)
        and name.parts[0] in rebound
        else name: slot
        for name, slot in layout.items()
    }
