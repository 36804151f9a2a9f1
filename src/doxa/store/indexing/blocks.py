"""The search rows and codes of a large project once more, many at a time: the first question of a
process then reads some hundred values and not some hundred thousand.

    doc_block          the columns of BLOCK_ROWS rows of doc, as of block_state.change or later
    vector_code_block  the codes of these rows, as they are
    block_state        of which project, as of which change, for which set of vectors

A block is made of rows that are all there and have their vectors, or were given up. What a reader
takes from doc_block it brings up to date by the rows that changed since. A vector that comes or
goes takes the block of its code along, a text that goes both (forget_vectors): so of what was
erased no block keeps anything. The rows of a missing block are read one by one, until it is made
again; a file may lack any of them.

A block of rows begins with a byte for each column: 1, and the column has one value for all of them,
or 0. A block of codes begins with their number, then their places (row and part from the first of
the block on) in 4 bytes each, then the codes. All numbers are little endian.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import apsw

from doxa.base.errors import CorruptError
from doxa.store.indexing.vector_tables import (
    BLOCK_ROWS,
    BLOCKS,
    INDEXED_PARTS,
    PARTS,
    embedder_next,
    has_former,
    sets_before,
    vector_id,
)

# numpy takes longer to import than the rest of the store; who opens a file may never need a block
if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCKED_ROWS_MIN = 64 * BLOCK_ROWS  # of a project; fewer are read fast enough
DOC_COLUMNS: tuple[tuple[str, str], ...] = (
    ("node", "i8"),
    ("live", "?"),
    ("kind", "i4"),
    ("space", "i4"),
    ("speaker", "i4"),
    ("thread", "i4"),
    ("time", "i8"),
    ("valid_from", "i8"),
    ("valid_until", "i8"),
    ("trust", "i1"),
    ("prev", "i4"),
    ("length", "f4"),
    ("vectors", "i4"),
    ("vis_from", "i8"),
    ("vis_until", "i8"),
)
_CHANGED_MAX = 4 * BLOCK_ROWS  # rows that a first question reads again
_AT_ONCE = 8  # blocks that a transaction makes or deletes: some 30 ms
_TOLD_MAX = 10
_SELECT = ", ".join(name for name, _ in DOC_COLUMNS)
_TABLES = ("doc_block", "vector_code_block")
_STATE = (
    "SELECT change FROM {}block_state WHERE scope = ? AND vector_set ="
    " coalesce((SELECT value FROM meta WHERE key = 'vector_set'), 0)"
)
_DATA = (
    "SELECT id, CASE typeof(data) WHEN 'blob' THEN data END FROM {} WHERE id BETWEEN ? AND ?"
    " ORDER BY id"
)
_CODES = (
    f"SELECT id, code FROM main.vector_code WHERE id BETWEEN ? AND ? AND (id & {PARTS - 1}) <"
    f" {INDEXED_PARTS} ORDER BY id"
)
_CHANGED = (
    "SELECT count(*) FROM (SELECT 1 FROM doc INDEXED BY doc_changed WHERE scope = ? AND changed > ?"
    " LIMIT ?)"
)


class BlockSource(Protocol):
    """Where blocks are read: a snapshot."""

    def rows(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...


class CodeBlock(NamedTuple):
    """The first row of a block, its end, and of each of its codes the row and the code."""

    first: int
    end: int
    rows: NDArray[Any]
    codes: NDArray[Any]


def doc_blocks(reader: BlockSource, scope: int) -> tuple[int, list[tuple[slice, bytes]]]:
    """Return as of which change a project's blocks of rows are at the earliest, and the rows of
    each with what `unpack_rows` takes, in order."""
    since = reader.rows(_STATE.format(""), (scope,))
    if not since:
        return 0, []
    ids = _ids(scope, 0, BLOCKS)
    found = reader.rows(_DATA.format("doc_block"), ids)
    firsts = [(identity - ids[0]) * BLOCK_ROWS for identity, _ in found]
    return since[0][0], [
        (slice(first, first + BLOCK_ROWS), data)
        for first, (_, data) in zip(firsts, found, strict=True)
    ]


def unpack_rows(data: bytes) -> dict[str, NDArray[Any]]:
    """Return the columns of a block of rows: each has BLOCK_ROWS values, or one that they share.
    Raises CorruptError for any other bytes."""
    import numpy as np

    columns, at = {}, len(DOC_COLUMNS)
    try:
        for shared, (name, kind) in zip(data[:at], DOC_COLUMNS, strict=True):
            dtype = np.dtype(kind).newbyteorder("<")
            count = 1 if shared else BLOCK_ROWS
            columns[name] = np.frombuffer(data, dtype, count, at)
            at += count * dtype.itemsize
    except (TypeError, ValueError) as error:
        raise _no_block() from error
    if at != len(data):
        raise _no_block()
    return columns


def code_blocks(reader: BlockSource, scope: int, rows: tuple[int, int]) -> Iterator[CodeBlock]:
    """Yield the blocks of codes all of whose rows lie among these, the first and the last, in
    order. Raises CorruptError for any other bytes."""
    if not reader.rows(_STATE.format(""), (scope,)):
        return
    ids = _ids(scope, -(-rows[0] // BLOCK_ROWS), (rows[1] + 1) // BLOCK_ROWS)
    sql = _DATA.format("vector_code_block")
    for identity, data in reader.rows(sql, ids):
        if data != b"":
            first = (identity - _ids(scope, 0, 0)[0]) * BLOCK_ROWS
            yield CodeBlock(first, first + BLOCK_ROWS, *_unpack_codes(first, data))


def _unpack_codes(first: int, data: bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    import numpy as np

    try:
        count = int(np.frombuffer(data, "<u4", 1)[0])
        places = np.frombuffer(data, "<u4", count, 4)
        codes = np.frombuffer(data, np.uint8, -1, 4 + 4 * count).reshape(count, -1)
    except (TypeError, ValueError) as error:
        raise _no_block() from error
    if not codes.shape[1] or codes.shape[1] % 32 or not (places[1:] > places[:-1]).all():
        raise _no_block()
    rows = places.astype(np.int64) // PARTS
    if rows[-1] >= BLOCK_ROWS:
        raise _no_block()
    return first + rows, codes


def lack_blocks(db: apsw.Connection) -> list[int]:
    """Return the projects for which `make_blocks` has something to do."""
    if embedder_next(db) is not None or has_former(db):
        return []
    large = (
        "SELECT t.id FROM token t WHERE t.text >= 'scope:' AND t.text < 'scope;' AND EXISTS"
        " (SELECT 1 FROM doc WHERE scope = t.id AND doc = ?)"
    )
    scopes: list[Any] = db.execute(large, (BLOCKED_ROWS_MIN - 1,)).fetchall()
    return [
        scope
        for (scope,) in scopes
        if (since := db.execute(_STATE.format("main."), (scope,)).get) is None
        or next(_missing(db, scope), None) is not None
        or db.execute(_CHANGED, (scope, since, _CHANGED_MAX)).get == _CHANGED_MAX
    ]


def make_blocks(db: apsw.Connection, scope: int) -> bool:
    """Make some of the blocks that a project lacks, and make again some that hold rows that changed
    since; those of former vectors go. Returns True if more is left."""
    if embedder_next(db) is not None or has_former(db):
        return False
    since = db.execute(_STATE.format("main."), (scope,)).get
    if _forget(db, scope, since):
        return True
    db.execute(
        "INSERT OR REPLACE INTO main.block_state(scope, change, vector_set)"
        " SELECT ?, value, ? FROM meta WHERE key = 'change'",
        (scope, sets_before(db)),
    )
    missing = list(islice(_missing(db, scope), _AT_ONCE + 1))
    for block in missing[:_AT_ONCE]:
        ids = (_ids(scope, block, block + 1)[0],)
        for table, packed in zip(_TABLES, _packed(db, scope, block), strict=True):
            db.execute(
                f"INSERT OR REPLACE INTO main.{table}(id, data) VALUES(?, ?)", (*ids, packed)
            )
    return len(missing) > _AT_ONCE


def _forget(db: apsw.Connection, scope: int, since: int | None) -> bool:
    """Delete some of the blocks of rows that changed after `since`, or of all blocks. Returns True
    if more may be left."""
    ids = _ids(scope, 0, BLOCKS)
    deleted = 0
    for table in _TABLES[: 2 if since is None else 1]:
        found = f"SELECT id FROM main.{table} WHERE id BETWEEN ? AND ? LIMIT ?"
        args: tuple[int, ...] = (*ids, _AT_ONCE)
        if since is not None:
            found = (
                "SELECT DISTINCT b.id FROM main.doc d INDEXED BY doc_changed CROSS JOIN"
                f" main.doc_block b ON b.id = ? + d.doc / {BLOCK_ROWS} WHERE d.scope = ? AND"
                " d.changed > ? LIMIT ?"
            )
            args = (ids[0], scope, since, _AT_ONCE)
        for row in db.execute(found, args).fetchall():
            db.execute(f"DELETE FROM main.{table} WHERE id = ?", row)
            deleted += 1
    return deleted >= _AT_ONCE


def _missing(db: apsw.Connection, scope: int) -> Iterator[int]:
    """Yield the numbers of the blocks that lack a table and can be made: all rows are there, and
    none waits for its vectors."""
    last = db.execute("SELECT max(doc) FROM main.doc WHERE scope = ?", (scope,)).get
    ids = _ids(scope, 0, (-1 if last is None else last) // BLOCK_ROWS + 1)
    held = [
        {
            row[0] - ids[0]
            for row in db.execute(f"SELECT id FROM main.{table} WHERE id BETWEEN ? AND ?", ids)
        }
        for table in _TABLES
    ]
    for block in range(ids[1] - ids[0] + 1):
        if all(block in one for one in held):
            continue
        first = block * BLOCK_ROWS
        rows, waiting = db.execute(
            "SELECT count(*), sum(vectors = 0) FROM main.doc WHERE scope = ? AND doc BETWEEN ?"
            " AND ?",
            (scope, first, first + BLOCK_ROWS - 1),
        ).get
        if rows == BLOCK_ROWS and not waiting:
            yield block


def _packed(db: apsw.Connection, scope: int, block: int) -> tuple[bytes, bytes]:
    """Return the block of rows and that of codes, which is empty where there is none or they have
    not one length: then they are read one by one."""
    import numpy as np

    first = block * BLOCK_ROWS
    rows = db.execute(
        f"SELECT {_SELECT} FROM main.doc WHERE scope = ? AND doc BETWEEN ? AND ? ORDER BY doc",
        (scope, first, first + BLOCK_ROWS - 1),
    )
    table = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, len(DOC_COLUMNS))
    shared, columns = bytearray(), []
    for place, (_, kind) in enumerate(DOC_COLUMNS):
        column = table[:, place].astype(np.dtype(kind).newbyteorder("<"))
        shared.append(int((column == column[0]).all()))
        columns.append((column[:1] if shared[-1] else column).tobytes())
    start = vector_id(scope, first)
    found: Any = db.execute(_CODES, (start, vector_id(scope, first + BLOCK_ROWS) - 1)).fetchall()
    codes = [code for _, code in found]
    if not codes or {type(code) for code in codes} != {bytes} or len({*map(len, codes)}) > 1:
        return bytes(shared) + b"".join(columns), b""
    numbers = np.array([len(codes), *(identity - start for identity, _ in found)], "<u4")
    return bytes(shared) + b"".join(columns), numbers.tobytes() + b"".join(codes)


def block_problems(db: apsw.Connection) -> Iterator[str]:
    """Yield the blocks in use that are not what their rows say, some of them."""
    found = 0
    states: list[Any] = db.execute(
        "SELECT scope, change FROM block_state WHERE vector_set ="
        " coalesce((SELECT value FROM meta WHERE key = 'vector_set'), 0)"
    ).fetchall()
    for scope, change in states:
        ids = _ids(scope, 0, BLOCKS)
        for place, (table, what) in enumerate(zip(_TABLES, ("rows", "codes"), strict=True)):
            rows: Iterator[Any] = db.execute(_DATA.format(table), ids)
            for identity, data in rows:
                block = identity - ids[0]
                if place == 0:
                    fits = _has_rows(db, scope, block, data, change)
                else:
                    fits = data == _packed(db, scope, block)[1]
                if not fits and found < _TOLD_MAX:
                    found += 1
                    yield f"a block of {what} that is not that of its rows: {(scope, block)}"


def _has_rows(db: apsw.Connection, scope: int, block: int, data: object, change: int) -> bool:
    """Whether a block of rows holds those that have not changed since."""
    import numpy as np

    first = block * BLOCK_ROWS
    rows = db.execute(
        f"SELECT doc, {_SELECT} FROM doc WHERE scope = ? AND doc BETWEEN ? AND ? AND changed <= ?"
        " ORDER BY doc",
        (scope, first, first + BLOCK_ROWS - 1, change),
    )
    table = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 1 + len(DOC_COLUMNS))
    try:
        columns = unpack_rows(data if isinstance(data, bytes) else b"")
    except CorruptError:
        return False
    return all(
        (
            np.broadcast_to(columns[name], BLOCK_ROWS)[table[:, 0] - first] == column.astype(kind)
        ).all()
        for (name, kind), column in zip(DOC_COLUMNS, table.T[1:], strict=True)
    )


def _ids(scope: int, first: int, end: int) -> tuple[int, int]:
    """Return the least and the greatest number of the blocks from `first` up to `end` in their
    tables."""
    return scope * BLOCKS + first, scope * BLOCKS + end - 1


def _no_block() -> CorruptError:
    return CorruptError(
        "A block of this file's search rows is damaged: its length is not that of its parts.",
        next_step="Run `doxa doctor`, which says what else is damaged, and restore a backup.",
    )
