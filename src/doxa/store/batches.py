"""Several rows in one statement: a statement for each row costs more than the row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import apsw

_ROWS_AT_ONCE = 32


def insert_rows(db: apsw.Connection, head: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows of one width. `head` is the statement up to the word VALUES."""
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        db.execute(_statement(head, len(part[0]), len(part)), tuple(chain.from_iterable(part)))


@lru_cache(maxsize=512)
def _statement(head: str, width: int, count: int) -> str:
    row = "(" + ", ".join("?" * width) + ")"
    return f"{head} VALUES " + ", ".join([row] * count)
