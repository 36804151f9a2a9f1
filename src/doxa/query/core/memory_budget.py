"""Limits on memory: the rows that a step keeps and the size of a single value.

A step that needs all rows before it returns the first (a sort, a grouping, DISTINCT, a write) keeps
them in a `MemoryBudget`, which raises an error beyond a number of bytes. Lists, maps and texts are
checked when they are built, so that a value that doubles itself ends in an error, not in swap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from doxa.base.limits import QUERY_HELD_BYTES_MAX, VALUE_CHARS_MAX, VALUE_ITEMS_MAX
from doxa.query.core.elements import Edge, Element, Node, Path
from doxa.query.core.errors import fail

Row = TypeVar("Row", bound=Sequence[Any])
SET_ENTRY_BYTES = 120
_TUPLE = 56
_SLOT = 8
_TEXT = 56
_LIST = 72
_MAP = 232
_ELEMENT = 120
_OTHER = 96
_NESTED = frozenset((list, dict))
_SCALARS = {type(None): 0, bool: 0, int: 32, float: 24}


class MemoryBudget:
    """Estimates the bytes of kept values, as CPython stores them. `what` names them in the
    error."""

    __slots__ = ("_last", "_one", "bytes", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.bytes = 0
        self._last: Sequence[Any] = ()
        self._one: Any = None

    def add_row(self, row: Sequence[Any], *, extra: int = 0) -> None:
        """Add a row and `extra` bytes. Values that are identical to the previous row's are counted
        once.

        Raises QueryError beyond the limit.
        """
        last = self._last if len(self._last) == len(row) else (None,) * len(row)
        self._last = row
        added = _TUPLE + extra + _SLOT * len(row)
        for value, before in zip(row, last, strict=True):
            if value is not before:
                kind = type(value)
                scalar = _SCALARS.get(kind)
                if scalar is not None:
                    added += scalar
                elif kind is Node and value.epoch < 0:  # only its id is there
                    added += _ELEMENT
                else:
                    added += estimated_bytes(value)
        self.bytes += added
        if self.bytes > QUERY_HELD_BYTES_MAX:
            self._too_much()

    def add_value(self, value: Any) -> None:
        """Add a value that an aggregation keeps."""
        if value is not self._one:
            self._one = value
            scalar = _SCALARS.get(type(value))
            self.bytes += estimated_bytes(value) if scalar is None else scalar
        self.bytes += _SLOT
        if self.bytes > QUERY_HELD_BYTES_MAX:
            self._too_much()

    def add_ids(self, count: int) -> None:
        """Add so many ids that a set keeps."""
        self.bytes += count * (_SLOT + _SCALARS[int] + SET_ENTRY_BYTES)
        if self.bytes > QUERY_HELD_BYTES_MAX:
            self._too_much()

    def collect(self, rows: Iterable[Row]) -> list[Row]:
        """Collect the rows into a list."""
        found = []
        for row in rows:
            self.add_row(row)
            found.append(row)
        return found

    def _too_much(self) -> NoReturn:
        fail(
            f"The query holds more than {QUERY_HELD_BYTES_MAX:,} bytes of {self.what}.",
            kind="MemoryLimit",
            detail="TooManyRows",
            hint="Narrow it, or work in batches.",
            limit=QUERY_HELD_BYTES_MAX,
        )


def estimated_bytes(value: Any) -> int:
    """Estimate the bytes of a value."""
    kind = type(value)
    scalar = _SCALARS.get(kind)
    if scalar is not None:
        return scalar
    if kind is Node or kind is Edge:
        return _ELEMENT + (estimated_bytes(value._props) if value.epoch >= 0 else 0)
    if kind is list or kind is tuple:
        return _LIST + _SLOT * len(value) + sum(map(estimated_bytes, value))
    if kind is str or kind is bytes:
        return _TEXT + len(value)
    if kind is dict:
        total = _MAP + _SLOT * len(value) + len("".join(value))
        for item in value.values():
            scalar = _SCALARS.get(type(item))
            total += estimated_bytes(item) if scalar is None else scalar
        return total
    if isinstance(value, Path):
        return _LIST + sum([estimated_bytes(item) for item in (*value.nodes, *value.edges)])
    if isinstance(value, Element):
        return _ELEMENT + (estimated_bytes(value._props) if value.epoch >= 0 else 0)
    return _OTHER


def check_size(value: Any) -> Any:
    """Return a new text, list or map. Raises QueryError if it is too large."""
    if type(value) is str:
        if len(value) > VALUE_CHARS_MAX:
            refuse_size(VALUE_CHARS_MAX, "characters")
    else:
        _counted(value, VALUE_ITEMS_MAX)
    return value


def collect_values(values: Iterable[Any]) -> list[Any]:
    """Collect the values into a list, checking its size as it grows."""
    if type(values) is list and _NESTED.isdisjoint(map(type, values)):
        if len(values) > VALUE_ITEMS_MAX:
            refuse_size(VALUE_ITEMS_MAX, "items")
        return values
    found: list[Any] = []
    left = VALUE_ITEMS_MAX
    for value in values:
        found.append(value)
        if type(value) is list or type(value) is dict:
            left = _counted(value, left)
    if len(found) > left:
        refuse_size(VALUE_ITEMS_MAX, "items")
    return found


def _counted(value: Any, left: int) -> int:
    """Return the number of items left after this value and the values inside it."""
    left -= len(value)
    if left < 0:
        refuse_size(VALUE_ITEMS_MAX, "items")
    for item in value.values() if type(value) is dict else value:
        if type(item) is list or type(item) is dict:
            left = _counted(item, left)
    return left


def refuse_size(limit: int, unit: str) -> NoReturn:
    fail(
        f"A value of this query would have more than {limit:,} {unit}.",
        kind="MemoryLimit",
        detail="ValueTooLarge",
        hint="Narrow it.",
        limit=limit,
    )
