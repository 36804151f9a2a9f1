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
    used = set[tuple[int, int]]()
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = rows[start : start + _ROWS_AT_ONCE]
        values = tuple(chain.from_iterable(part))
        statement = _statement(head, len(part[0]), len(part))
        if len(part) <= _ROWS_FEW:
            db.execute(statement, values)
        else:
            db.execute(statement, (*values, True), prepare_flags=_OUTSIDE)
            used.add((len(part[0]), len(part)))
    for width, count in used:
        nothing = (None,) * (width * count + 1)
        db.execute(_statement(head, width, count), nothing, prepare_flags=_OUTSIDE)


@lru_cache(maxsize=512)
def _statement(head: str, width: int, count: int) -> str:
    """Many rows have a last value besides, which says whether to insert them."""
    rows = ", ".join(["(" + ", ".join("?" * width) + ")"] * count)
    if count <= _ROWS_FEW:
        return f"{head} VALUES {rows}"
    return f"{head} SELECT * FROM (VALUES {rows}) WHERE ?"
