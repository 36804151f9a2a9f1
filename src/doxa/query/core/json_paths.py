"""Property names as paths of SQLite's JSON functions."""

from __future__ import annotations


def json_path(name: str) -> str:
    return f'$."{name}"'


def pushable_name(name: str) -> bool:
    """Return whether a name can be written as a path: SQLite's JSON paths cannot escape quotes and
    backslashes."""
    return '"' not in name and "\\" not in name and name.isprintable()
