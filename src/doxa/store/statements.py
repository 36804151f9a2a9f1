"""Counting the SQL statements of an operation: a measure of its cost that needs no clock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from doxa.store.store import Store


@contextmanager
def counted_statements(store: Store) -> Iterator[list[str]]:
    """Collect the statements that this thread executes on a store, in order. Each row of an
    `executemany` counts as one."""
    db = store.connection()
    seen: list[str] = []

    def note(_cursor: Any, sql: str, _bindings: Any) -> bool:
        seen.append(sql)
        return True

    before, db.exec_trace = db.exec_trace, note
    try:
        yield seen
    finally:
        db.exec_trace = before
