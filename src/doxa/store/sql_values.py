"""Arrays of integers, and names of properties, as statements take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw


def int64_array(values: Sequence[int]) -> Any:
    """Bind a list of integers as a table: `… IN carray(?)`. The binding refuses an empty array;
    null is the empty table."""
    import array

    return apsw.carray(array.array("q", values)) if len(values) else None


def json_path(name: str) -> str:
    """Return a property's path for SQLite's JSON functions."""
    return f'$."{name}"'


def pushable_name(name: str) -> bool:
    """Return whether a name can be written as a path: SQLite's JSON paths cannot escape quotes and
    backslashes."""
    return '"' not in name and "\\" not in name and name.isprintable()
