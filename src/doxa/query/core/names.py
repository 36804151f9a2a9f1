"""Names that the planner gives to slots which no variable of the query names."""

from __future__ import annotations

from collections.abc import Iterable

from doxa.query.core.row import Layout

SEEN, WALKED = "  seen", "  walked"
IDENTITY, PASSED = (
    "  id ",
    "  passed ",
)  # columns of ids: of one variable, of all that a region passed through


def is_hidden(name: str) -> bool:
    return name.startswith((SEEN, WALKED))


def column_name(variable: str, name: str) -> str:
    """The name in a layout of a single property that was read instead of the whole element."""
    return f"  {variable}\0{name}"


def without_columns(layout: Layout, names: Iterable[str]) -> dict[str, int]:
    """The layout without the single properties of variables whose names now mean something else.
    The width stays."""
    prefixes = tuple(f"  {name}\0" for name in names)
    return {
        (f"{name}\0" if name.startswith(prefixes) else name): slot for name, slot in layout.items()
    }


_PIN = "  pin"  # holds the last outer slot in a layout, so that the layout is as wide as the row
