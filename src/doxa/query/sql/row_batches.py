"""Many rows asked about in one statement: what a region's statement compares with becomes columns
of a table that it begins with.

    SELECT x.element FROM entry x … WHERE x.key >= ? AND x.key < ?
    for one row
    SELECT x.element, k.n FROM (VALUES …) k CROSS JOIN entry x … WHERE x.key >= k.c0 AND x.key <
    k.c1   for a chunk of rows

Chunks begin with one row and grow, so that a LIMIT reads little ahead; an error in a row comes
after all that the rows before it gave. Reading ahead changes nothing that is seen: every step that
writes takes all its rows first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, TypeVar

Asked = TypeVar("Asked")
ROWS_MAX = 64
_GROWTH = 8
_COLUMNS_MAX = 100


class Template:
    """A statement for one row, from which those for several are made. Arguments that are tuples are
    `columns`: they differ from row to row."""

    def __init__(
        self,
        select: tuple[str, list[Any]],
        body: tuple[str, list[Any]],
        *,
        columns: list[Any],
        apart: bool,
    ) -> None:
        """`apart`: a table within FROM asks for a column, and sees none."""
        self._select, self._body = _with_columns(*select, columns), _with_columns(*body, columns)
        self._possible = not apart and 0 < len(columns) <= _COLUMNS_MAX
        self._columns = len(columns)
        self._sql: dict[int, str] = {}

    def statement(self, rows: list[list[Any]]) -> tuple[str, list[Any]] | None:
        """The statement for rows of these columns, with its arguments; its last column is the
        number of the row. None if there can be none."""
        if not self._possible or self._select is None or self._body is None:
            return None
        (select, before), (body, after) = self._select, self._body
        sql = self._sql.get(len(rows))
        if sql is None:
            names = ", ".join(
                [
                    "column1 AS n",
                    *[f"column{number + 2} AS c{number}" for number in range(self._columns)],
                ]
            )
            values = ", ".join([f"({', '.join('?' * (self._columns + 1))})"] * len(rows))
            table = f"(SELECT {names} FROM (VALUES {values})) k"
            sql = self._sql[len(rows)] = (
                f"SELECT {select}, k.n FROM {table} CROSS JOIN {body.removeprefix('FROM ')}"
            )
        args = before.copy()
        for number, row in enumerate(rows):
            args.append(number)
            args += row
        return sql, args + after


def chunks(source: Iterator[Asked]) -> Iterator[list[Asked]]:
    size = 1
    while True:
        chunk: list[Asked] = []
        try:
            for asked in islice(source, size):
                chunk.append(asked)
        except Exception:
            if chunk:
                yield chunk
            raise
        if not chunk:
            return
        yield chunk
        size = min(ROWS_MAX, size * _GROWTH)


def parts(rows: list[Asked]) -> Iterator[list[Asked]]:
    """The rows in parts of the few sizes that statements are made for."""
    at = 0
    for size in (ROWS_MAX, _GROWTH, 1):
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


def _with_columns(sql: str, args: list[Any], columns: list[Any]) -> tuple[str, list[Any]] | None:
    pieces = sql.split("?")
    if len(pieces) != len(args) + 1:  # a name holds a question mark
        return None
    text, left = pieces[0], []
    for arg, piece in zip(args, pieces[1:], strict=True):
        if type(arg) is tuple:
            text += f"k.c{columns.index(arg)}{piece}"
        else:
            text += f"?{piece}"
            left.append(arg)
    return text, left
