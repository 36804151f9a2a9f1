"""Several rows in one statement: a statement for each row costs more than the row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import apsw

_ROWS_AT_ONCE = 32
_ROWS_FEW = 15  # whose values may stay with the statement
_OUTSIDE = apsw.SQLITE_PREPARE_PERSISTENT  # not in the lookaside memory


def insert_rows(db: apsw.Connection, head: str, rows: Sequence[Sequence[Any]]) -> None:
    """Insert rows of one width. `head` is the statement up to the word VALUES. What the engine
    counts as changed afterwards is not their number.

    A statement that is kept for the next time also keeps the values that it was given, in the
    connection's lookaside memory. With those of many rows in it, each small allocation of any other
    statement goes to the allocator of the process, and reading many properties takes a third
    longer. So the statement of many rows is bound once more, to nothing, unless it was refused.
    """
    used = set[int]()
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        count, width = len(part), len(part[0])
        if count <= _ROWS_FEW:
            db.execute(_few(head, width, count), tuple(chain.from_iterable(part)))
        else:
            values = (*chain.from_iterable(part), True)
            db.execute(_many(head, width, count), values, prepare_flags=_OUTSIDE)
            used.add(count)
    for count in used:
        width = len(rows[0])
        nothing = (None,) * (count * width + 1)
        db.execute(_many(head, width, count), nothing, prepare_flags=_OUTSIDE)


@lru_cache(maxsize=512)
def _few(head: str, width: int, count: int) -> str:
    row = "(" + ", ".join("?" * width) + ")"
    return f"{head} VALUES " + ", ".join([row] * count)


@lru_cache(maxsize=512)
def _many(head: str, width: int, count: int) -> str:
    """The same, with a last value that says whether to insert them."""
    row = "(" + ", ".join("?" * width) + ")"
    return f"{head} SELECT * FROM (VALUES " + ", ".join([row] * count) + ") WHERE ?"
