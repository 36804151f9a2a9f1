"""Batch the rows that look up the same statement: their arguments become a table in FROM.

    SELECT x.element FROM entry x … WHERE x.key = ?
    for one row

    SELECT x.element, k.rowid - 1 FROM carray(?) k CROSS JOIN entry x … WHERE x.key = k.value
    for a batch of rows whose only argument is a whole key

    SELECT x.element, k.n FROM (VALUES …) k CROSS JOIN entry x … WHERE x.key = k.c0 AND …
    for another batch of rows

Batches begin with one row and grow, so that a LIMIT reads little ahead. An error in a row is raised
after the results of the rows before it. Reading ahead has no visible effect, since every step that
writes consumes all its rows first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import apsw

from doxa.query.sql.index_selection import KEY

Lookup = TypeVar("Lookup")
_Row = TypeVar("_Row", bound=tuple[Any, ...])
ROWS_MAX = 64
KEYS_MAX = 512
_GROWTH = 8
_COLUMNS_MAX = 100
_TEXT_MAX = 1 << 16  # characters of a list, and of a few rows more


class Template:
    """The statement for one row, from which statements for batches are generated. Arguments that
    are tuples are `columns`: they differ between rows."""

    def __init__(
        self,
        select: tuple[str, list[Any]],
        body: tuple[str, list[Any]],
        *,
        columns: list[Any],
        apart: bool,
    ) -> None:
        """`apart`: a table within FROM needs a column, which it cannot see."""
        only_key = columns == [KEY]
        names = {
            column: "k.value" if only_key else f"k.c{number}"
            for number, column in enumerate(columns)
        }
        self._select, self._body = _with_columns(*select, names), _with_columns(*body, names)
        self._possible = not apart and 0 < len(columns) <= _COLUMNS_MAX
        self.of_keys = only_key and self._possible and None not in (self._select, self._body)
        self._columns = len(columns)
        self._sql: dict[int, str] = {}

    def statement_of_keys(self, keys: Sequence[bytes]) -> tuple[str, list[Any]]:
        """Return the same for keys, where each of them is all that its row gives (`of_keys`)."""
        assert self._select is not None and self._body is not None
        (select, before), (body, after) = self._select, self._body
        table = f"carray(?) k CROSS JOIN {body.removeprefix('FROM ')}"
        return (
            f"SELECT {select}, k.rowid - 1 FROM {table}",
            [*before, apsw.carray(tuple(keys)), *after],
        )

    def statement(self, rows: list[list[Any]]) -> tuple[str, list[Any]] | None:
        """Return the statement for a batch of these columns and its arguments; its last column is
        the number of the row. None if that is impossible."""
        if self.of_keys:
            return self.statement_of_keys([key for (key,) in rows])
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


def chunks(source: Iterator[Lookup], *, most: int = ROWS_MAX) -> Iterator[list[Lookup]]:
    size = 1
    while True:
        chunk: list[Lookup] = []
        try:
            for lookup in islice(source, size):
                chunk.append(lookup)
        except Exception:
            if chunk:
                yield chunk
            raise
        if not chunk:
            return
        yield chunk
        size = min(most, size * _GROWTH)


def parts(rows: list[Lookup]) -> Iterator[list[Lookup]]:
    """Split the rows into batches of the few sizes that statements exist for."""
    at = 0
    for size in (ROWS_MAX, _GROWTH, 1):
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size


def growing(
    rows: Iterator[_Row], *, most: int = ROWS_MAX, texts: Sequence[Any] | None = None
) -> Iterator[list[_Row]]:
    """Yield the rows in lists: of one row first, then of more and more, up to `most`. A list ends
    with the few rows by which it holds much text, and the next one is shorter. `texts` are getters
    of the columns that may hold text, or None there; without them all are looked at."""
    if most == 1:
        for row in rows:
            yield [row]
        return
    size = 1
    while True:
        found: list[_Row] = []
        held = 0
        while len(found) < size and held <= _TEXT_MAX:
            part = list(islice(rows, min(size - len(found), _GROWTH)))
            if not part:
                break
            found += part
            if texts is None:
                held += sum([len(text) for row in part for text in row if type(text) is str])
            else:
                for text in texts:
                    held += sum(map(len, filter(None, map(text, part))))
        if not found:
            return
        size = min(size * _GROWTH, most) if held <= _TEXT_MAX else max(1, len(found) // _GROWTH)
        yield found


def _with_columns(
    sql: str, args: list[Any], names: Mapping[Any, str]
) -> tuple[str, list[Any]] | None:
    pieces = sql.split("?")
    if len(pieces) != len(args) + 1:  # a name contains a question mark
        return None
    text, left = pieces[0], []
    for arg, piece in zip(args, pieces[1:], strict=True):
        if type(arg) is tuple:
            text += names[arg] + piece
        else:
            text += f"?{piece}"
            left.append(arg)
    return text, left
