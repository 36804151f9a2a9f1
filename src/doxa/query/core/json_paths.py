"""Property names as paths of SQLite's JSON functions."""

from __future__ import annotations


def json_path(name: str) -> str:
    return f'$."{name}"'


def pushable_name(name: str) -> bool:
    """SQLite's JSON paths have no escape for these."""
    return '"' not in name and "\\" not in name and name.isprintable()
