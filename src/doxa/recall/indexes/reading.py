"""How the rows of a project and the entries of its vectors are read from the store into arrays.

A project is read whole at the first question of a process. Of a large project the store keeps
blocks of rows and codes, which are arrays already. Most of reading the rest would be the making of
Python objects, so the store joins what can be joined: two small numbers of a row in one large one,
the codes of many entries in one blob. What does not fit that form is read in the plain one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.clock import TIME_MAX
from doxa.store import (
    DOC_COLUMNS,
    INDEXED_PARTS,
    PARTS,
    Reader,
    code_blocks,
    doc_blocks,
    unpack_codes,
    unpack_rows,
    unpack_vectors,
    vector_id,
)

_SELECT = ", ".join(name for name, _ in DOC_COLUMNS)
# The windows of most rows: valid from ever, visible from the start, both without an end.
_ALWAYS = {
    "valid_from": -TIME_MAX,
    "valid_until": TIME_MAX,
    "vis_from": 0,
    "vis_until": TIME_MAX,
}
_IS_ALWAYS = " AND ".join(f"{name} = {value}" for name, value in _ALWAYS.items())
_PAIRS = (("kind", "space"), ("speaker", "thread"), ("prev", "length"))
_SMALL = "(((vectors + 1) * 256 + trust) * 2 + live)"
# Each number is a call in both languages. Two numbers of 32 bits lie in one of 64; three small ones
# in another, which is inverted where a row has windows of its own.
_JOINED = ", ".join(
    (
        "node",
        "time",
        *(f"{high} * {1 << 32} + {low}" for high, low in _PAIRS),
        f"iif({_IS_ALWAYS}, {_SMALL}, ~{_SMALL})",
    )
)
_ROWS_DECODED = 4_096  # so few that what lies between stays in the cache
_BYTES_KEPT = 64  # a row: several arrays of numbers at once
_ROWS_FIRST = 64  # whose entries are one blob; then more, if they have few,
_ROWS_JOINED = 1_024  # at most so many,
_BYTES_JOINED = 4_194_304  # and fewer rows if their blob is larger
_ASTRAL = 65_536  # from this number on characters have one width

Rows = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]


class IndexEntries(NamedTuple):
    """Entries of an index in the order of their numbers: the row of each, and the vectors or codes,
    one a row of the array."""

    rows: Rows
    data: NDArray[Any]


def read_changed(reader: Reader, scope: int, change: int) -> tuple[Rows, Columns]:
    """Return the rows that changed after a change, in order, and their columns."""
    return _read_plain(reader, "AND changed > ?", (scope, change))


def read_all(reader: Reader, scope: int) -> tuple[Rows, Columns]:
    """Return all rows of a project in the same way."""
    # each alone is a step in the tree, both together a scan
    ends = ", ".join(f"(SELECT {end}(doc) FROM doc WHERE scope = ?1)" for end in ("min", "max"))
    first, last = reader.rows(f"SELECT {ends}", (scope,))[0]
    count = 0 if last is None else last + 1
    _keep_memory(count)
    # rows are numbered without a gap, unless by hand
    found = None if first != 0 else _read_whole(reader, scope, count)
    return _read_plain(reader, "", (scope,)) if found is None else (np.arange(count), found)


def _keep_memory(rows: int) -> None:
    """Let the arrays of questions, of some bytes a row, come from memory that the process keeps.

    Beyond 128 KiB glibc maps each array and gives it back, which takes longer than filling
    it, until one that was mapped has been freed: then it keeps what is not larger. This one is
    never touched. Elsewhere it does nothing."""
    np.empty(rows * _BYTES_KEPT, dtype=np.uint8)


def _read_whole(reader: Reader, scope: int, count: int) -> Columns | None:
    """The columns of so many rows that begin with 0; None if there are fewer. Blocks are read
    first, then what lies between them, then what has changed since the blocks were made."""
    columns: Columns = {name: np.empty(count, dtype=kind) for name, kind in DOC_COLUMNS}
    change, blocks = doc_blocks(reader, scope, count)
    done = 0
    for rows, data in blocks:
        if rows.start > done and not _read_joined(reader, scope, (done, rows.start), columns):
            return None
        if rows.stop > count:
            break
        for name, values in unpack_rows(data).items():
            columns[name][rows] = values
        done = rows.stop
    if done < count and not _read_joined(reader, scope, (done, count), columns):
        return None
    if blocks:
        numbers, changed = read_changed(reader, scope, change)
        for name, column in columns.items():
            column[numbers] = changed[name]
    return columns


def _read_joined(reader: Reader, scope: int, span: tuple[int, int], columns: Columns) -> bool:
    """Read the rows from a first up to an end into columns. Returns False if there are fewer."""
    where, args = "WHERE scope = ? AND doc BETWEEN ? AND ?", (scope, span[0], span[1] - 1)
    rows = reader.stream(f"SELECT {_JOINED} FROM doc {where} ORDER BY doc", args)
    values, width = chain.from_iterable(rows), 3 + len(_PAIRS)
    for name, value in _ALWAYS.items():
        columns[name][slice(*span)] = value
    windowed = False
    for start in range(*span, _ROWS_DECODED):
        size = min(_ROWS_DECODED, span[1] - start)
        block = np.fromiter(islice(values, size * width), np.int64)
        if len(block) < size * width:
            return False
        at = slice(start, start + size)
        node, time, *pairs, small = block.reshape(size, width).T
        columns["node"][at], columns["time"][at] = node, time
        for (high, low), pair in zip(_PAIRS, pairs, strict=True):
            lower = pair.astype(np.int32)
            columns[high][at], columns[low][at] = (pair - lower) >> 32, lower
        inverted = small < 0
        windowed |= bool(inverted.any())
        small = np.where(inverted, ~small, small)
        columns["live"][at], columns["trust"][at] = small & 1, small >> 1 & 255
        columns["vectors"][at] = (small >> 9) - 1
    if windowed:
        sql = f"SELECT doc, {', '.join(_ALWAYS)} FROM doc {where} AND NOT ({_IS_ALWAYS})"
        windows = _table(reader.stream(sql, args), 1 + len(_ALWAYS))
        for place, name in enumerate(_ALWAYS, 1):
            columns[name][windows[:, 0]] = windows[:, place]
    return True


def _read_plain(reader: Reader, where: str, args: tuple[int, ...]) -> tuple[Rows, Columns]:
    sql = f"SELECT doc, {_SELECT} FROM doc WHERE scope = ? {where} ORDER BY doc"
    table = _table(reader.stream(sql, args), 1 + len(DOC_COLUMNS))
    return table[:, 0], {
        name: table[:, place].astype(kind) for place, (name, kind) in enumerate(DOC_COLUMNS, 1)
    }


def _table(rows: Iterator[tuple[int, ...]], width: int) -> Rows:
    """Rows of so many whole numbers. Values go straight into arrays: hundreds of thousands of
    tuples would be visited again and again by the collector of garbage."""
    return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, width)


def read_entries(
    reader: Reader, scope: int, span: tuple[int, int], *, exact: bool
) -> Iterator[IndexEntries]:
    """Yield the entries of the rows from the first to the last of a span, some at a time: vectors
    if `exact`, otherwise codes. Raises CorruptError unless all have one length."""
    first, last = span
    for block in () if exact or first == last else code_blocks(reader, scope, span):
        if block.first > first:
            yield _read_entries(reader, scope, (first, block.first - 1), exact=False)
        yield IndexEntries(block.rows, block.codes)
        first = block.end
    if first <= last:
        yield _read_entries(reader, scope, (first, last), exact=exact)


def _read_entries(
    reader: Reader, scope: int, span: tuple[int, int], *, exact: bool
) -> IndexEntries:
    table, column = ("vector", "data") if exact else ("vector_code", "code")
    unpack, unit = (unpack_vectors, 2) if exact else (unpack_codes, 32)
    size = 2 if exact else 1  # bytes of a number
    first, last = span
    where = f"FROM {table} WHERE id BETWEEN ?1 AND ?2 AND (id & {PARTS - 1}) < {INDEXED_PARTS}"
    blobs, rows, widths = [], [], set()
    start, step = first, _ROWS_FIRST
    while start <= last:
        begun, start = start, min(start + step, last + 1)
        low, high = vector_id(scope, begun), vector_id(scope, start) - 1
        joined, places, least, most, fit = reader.rows(
            f"SELECT CAST(group_concat({column}, '') AS BLOB),"
            f" group_concat(char({_ASTRAL} + id - ?1), ''), min(length({column})),"
            f" max(length({column})), min(typeof({column}) = 'blob') {where}",
            (low, high),
        )[0]
        if joined is None:
            continue
        if len(joined) > _BYTES_JOINED:
            step = max(1, step // 2)
        elif 2 * len(joined) < _BYTES_JOINED:
            step = min(2 * step, _ROWS_JOINED)
        ids = np.frombuffer(places.encode("utf-32-le"), dtype="<u4").astype(np.int64) - _ASTRAL
        widths |= {least, most} if fit and len(joined) == len(ids) * least else {0}
        widths |= set() if (np.diff(ids) > 0).all() else {0}
        blobs.append(joined)
        rows.append(begun + ids // PARTS)
    if not blobs:
        return IndexEntries(np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.uint8))
    if len(widths) == 1 and (width := widths.pop()) and width % unit == 0:
        return IndexEntries(
            np.concatenate(rows), unpack([b"".join(blobs)]).reshape(-1, width // size)
        )
    found = reader.rows(
        f"SELECT doc, {column} {where} ORDER BY id",
        (vector_id(scope, first), vector_id(scope, last + 1) - 1),
    )
    docs, data = zip(*found, strict=True)
    return IndexEntries(np.array(docs, dtype=np.int64), unpack(data))
