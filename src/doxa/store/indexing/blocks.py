"""The search rows and codes of a large project once more, many at a time: the first question of a
process then reads some hundred values and not some hundred thousand.

    doc_block          the columns of BLOCK_ROWS rows of doc, as of the block's change or later
    vector_code_block  the codes of these rows, as they are
    block_state        as of which change a block is, and of which set of vectors

A block is made of rows that are all there and have their vectors, or were given up. What a reader
takes from doc_block it brings up to date by the rows that changed since the oldest of them.
Triggers of doc take the block of codes along where vectors come or go, and both where a text goes:
so of what was erased no block keeps anything. The rows of a missing block are read one by one,
until it is made again; a file may lack any of them.

A block of rows begins with a byte for each column: 1, and the column has one value for all of them,
or 0. A block of codes begins with their number, then their places (row and part from the first of
the block on) in 4 bytes each, then the codes. All numbers are little endian.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import apsw

from doxa.base.errors import CorruptError
from doxa.store.indexing.vector_tables import (
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

BLOCK_ROWS, BLOCKS = 1 << 10, 1 << 20  # of a block, of a project; triggers of doc know them too
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
_CHANGED_OF = 16  # blocks are brought up to date when one row of so many has changed
_AT_ONCE = 8  # blocks that a transaction makes: 30 to 50 ms
_LOOKS = 16  # at blocks of which nothing changed, for each that is made
_TOLD_MAX = 10
_NO_NUMBERS = (TypeError, ValueError, OverflowError)  # what a damaged row makes of an array
_SELECT = ", ".join(name for name, _ in DOC_COLUMNS)
_TABLES = ("doc_block", "vector_code_block")
_SET = "s.vector_set = coalesce((SELECT value FROM meta WHERE key = 'vector_set'), 0)"
_DATA = (
    "SELECT s.id, CASE typeof(b.data) WHEN 'blob' THEN b.data END, s.change FROM block_state s"
    f" CROSS JOIN {{}} b USING(id) WHERE s.id BETWEEN ? AND ? AND {_SET} ORDER BY s.id"
)
_OLDEST = (
    "SELECT min(s.change) FROM main.block_state s CROSS JOIN main.doc_block b USING(id) WHERE s.id"
    f" BETWEEN ? AND ? AND {_SET}"
)
_CODES = (
    f"SELECT id, code FROM main.vector_code WHERE id BETWEEN ? AND ? AND (id & {PARTS - 1}) <"
    f" {INDEXED_PARTS} ORDER BY id"
)
_CHANGED = "SELECT count(*) FROM (SELECT 1 FROM {}doc {}WHERE scope = ? AND changed > ? LIMIT ?)"
_WAITING = (
    "SELECT 1 FROM main.doc INDEXED BY doc_unembedded WHERE scope = ? AND doc BETWEEN ? AND ? AND"
    " vectors = 0 LIMIT 1"
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


def doc_blocks(reader: BlockSource, scope: int, rows: int) -> tuple[int, list[tuple[slice, bytes]]]:
    """Return as of which change the blocks of a project of so many rows are at the earliest, and
    the rows of each with what `unpack_rows` takes, in order; none where so much has changed since
    that reading rows is faster."""
    ids = _ids(scope, 0, BLOCKS)
    since = reader.rows(_OLDEST.replace("main.", ""), ids)[0][0]
    if since is None:
        return 0, []
    most = 2 * rows // _CHANGED_OF + 1
    if reader.rows(_CHANGED.format("", ""), (scope, since, most))[0][0] == most:
        return 0, []
    found = [
        ((identity - ids[0]) * BLOCK_ROWS, data)
        for identity, data, _ in reader.rows(_DATA.format("doc_block"), ids)
    ]
    return since, [(slice(first, first + BLOCK_ROWS), data) for first, data in found]


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
    ids = _ids(scope, -(-rows[0] // BLOCK_ROWS), (rows[1] + 1) // BLOCK_ROWS)
    for identity, data, _ in reader.rows(_DATA.format("vector_code_block"), ids):
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
        "SELECT t.id FROM main.token t WHERE t.text >= 'scope:' AND t.text < 'scope;' AND EXISTS"
        " (SELECT 1 FROM main.doc WHERE scope = t.id AND doc = ?)"
    )
    scopes: list[Any] = db.execute(large, (BLOCKED_ROWS_MIN - 1,)).fetchall()
    return [
        scope
        for (scope,) in scopes
        if next(_missing(db, scope), None) is not None or next(_old(db, scope), None) is not None
    ]


def make_blocks(db: apsw.Connection, scope: int) -> bool:
    """Make some of the blocks that a project lacks, or make again some of the oldest where many
    rows changed. Returns True if more may be left."""
    if embedder_next(db) is not None or has_former(db):
        return False
    done = 0
    for block in _missing(db, scope):
        done += _LOOKS * _make(db, scope, block)  # of those that cannot be made more may be behind
        if done == _AT_ONCE * _LOOKS:
            return True
    for block in _old(db, scope):
        done += _LOOKS if _make(db, scope, block) else 1
        if done >= _AT_ONCE * _LOOKS:
            return True
    return False


def _rows(db: apsw.Connection, scope: int) -> int:
    last: Any = db.execute("SELECT max(doc) FROM main.doc WHERE scope = ?", (scope,)).get
    return 0 if last is None else last + 1


def _missing(db: apsw.Connection, scope: int) -> Iterator[int]:
    """Yield the numbers of the blocks that lack a table, or are of another set of vectors, and no
    row of which waits for its vectors."""
    complete = _rows(db, scope) // BLOCK_ROWS
    ids = _ids(scope, 0, complete)
    whole = (
        "SELECT s.id FROM main.block_state s CROSS JOIN main.doc_block USING(id) CROSS JOIN"
        f" main.vector_code_block USING(id) WHERE s.id BETWEEN ? AND ? AND {_SET}"
    )
    held: set[Any] = {row[0] - ids[0] for row in db.execute(whole, ids)}
    for block in range(complete):
        first = block * BLOCK_ROWS
        if (
            block not in held
            and db.execute(_WAITING, (scope, first, first + BLOCK_ROWS - 1)).get is None
        ):
            yield block


def _old(db: apsw.Connection, scope: int) -> Iterator[int]:
    """Yield the numbers of the blocks that are not as of now, the oldest first, if many rows
    changed since that was made."""
    ids, most = _ids(scope, 0, BLOCKS), _rows(db, scope) // _CHANGED_OF + 1
    since: Any = db.execute(_OLDEST, ids).get
    changed = _CHANGED.format("main.", "INDEXED BY doc_changed ")
    if since is None or db.execute(changed, (scope, since, most)).get != most:
        return
    aged = (
        "SELECT s.id FROM main.block_state s CROSS JOIN main.doc_block USING(id) WHERE s.id BETWEEN"
        f" ? AND ? AND {_SET} AND s.change < (SELECT value FROM meta WHERE key = 'change')"
    )
    found: list[Any] = db.execute(f"{aged} ORDER BY s.change, s.id", ids).fetchall()
    yield from (identity - ids[0] for (identity,) in found)


def _make(db: apsw.Connection, scope: int, block: int) -> bool:
    """Make a block, or note that it is as of now where nothing of it changed. Returns whether it
    was made."""
    identity = _ids(scope, block, block + 1)[0]
    first = block * BLOCK_ROWS
    found: Any = db.execute(
        f"SELECT s.change, EXISTS (SELECT 1 FROM main.doc_block WHERE id = s.id), EXISTS (SELECT 1"
        f" FROM main.vector_code_block WHERE id = s.id) FROM main.block_state s WHERE s.id = ? AND"
        f" {_SET}",
        (identity,),
    ).fetchone()
    since, has_rows, has_codes = found or (-1, False, False)
    touched = (
        has_rows
        and db.execute(
            "SELECT 1 FROM main.doc WHERE scope = ? AND doc BETWEEN ? AND ? AND changed > ?"
            " LIMIT 1",
            (scope, first, first + BLOCK_ROWS - 1, since),
        ).get
        is not None
    )
    parts: list[bytes | None] = [None, None]
    if touched or not has_rows:
        parts[0] = _packed_rows(db, scope, block)
        if parts[0] is None:  # an old one must not stay the oldest
            db.execute("DELETE FROM main.doc_block WHERE id = ?", (identity,))
            return False
    if not has_codes:
        parts[1] = _packed_codes(db, scope, block)
    for table, data in zip(_TABLES, parts, strict=True):
        if data is not None:
            db.execute(
                f"INSERT OR REPLACE INTO main.{table}(id, data) VALUES(?, ?)", (identity, data)
            )
    db.execute(
        "INSERT OR REPLACE INTO main.block_state(id, change, vector_set) SELECT ?, value, ? FROM"
        " meta WHERE key = 'change'",
        (identity, sets_before(db)),
    )
    return any(data is not None for data in parts)


def _packed_rows(db: apsw.Connection, scope: int, block: int) -> bytes | None:
    """Return the block of rows, or None where some are not there or one is damaged."""
    import numpy as np

    first = block * BLOCK_ROWS
    rows = db.execute(
        f"SELECT {_SELECT} FROM main.doc WHERE scope = ? AND doc BETWEEN ? AND ? ORDER BY doc",
        (scope, first, first + BLOCK_ROWS - 1),
    )
    try:
        table = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, len(DOC_COLUMNS))
    except _NO_NUMBERS:
        return None
    if len(table) < BLOCK_ROWS:
        return None
    shared, columns = bytearray(), []
    for place, (_, kind) in enumerate(DOC_COLUMNS):
        column = table[:, place].astype(np.dtype(kind).newbyteorder("<"))
        shared.append(int((column == column[0]).all()))
        columns.append((column[:1] if shared[-1] else column).tobytes())
    return bytes(shared) + b"".join(columns)


def _packed_codes(db: apsw.Connection, scope: int, block: int) -> bytes:
    """Return the block of codes, which is empty where there is none or they have not one length:
    then they are read one by one."""
    import numpy as np

    first = block * BLOCK_ROWS
    start = vector_id(scope, first)
    found: Any = db.execute(_CODES, (start, vector_id(scope, first + BLOCK_ROWS) - 1)).fetchall()
    codes = [code for _, code in found]
    if not codes or {type(code) for code in codes} != {bytes} or len({*map(len, codes)}) > 1:
        return b""
    numbers = np.array([len(codes), *(identity - start for identity, _ in found)], "<u4")
    return numbers.tobytes() + b"".join(codes)


def block_problems(db: apsw.Connection) -> Iterator[str]:
    """Yield the blocks in use that are not what their rows say, some of them, and states of blocks
    that cannot be."""
    unlike: Iterator[Any] = db.execute(
        f"SELECT s.id FROM block_state s LEFT JOIN doc d ON d.scope = s.id / {BLOCKS} AND d.doc ="
        f" s.id % {BLOCKS} * {BLOCK_ROWS} WHERE d.doc IS NULL OR s.change > (SELECT value FROM meta"
        " WHERE key = 'change') OR s.vector_set > coalesce((SELECT value FROM meta WHERE key ="
        " 'vector_set'), 0) LIMIT ?",
        (_TOLD_MAX,),
    )
    for (identity,) in unlike:
        place = divmod(identity, BLOCKS)
        yield f"the state of a block of no rows, or of what is yet to come: {place}"
    found = 0
    for table, what in zip(_TABLES, ("rows", "codes"), strict=True):
        rows: Iterator[Any] = db.execute(_DATA.format(table), (-(2**63), 2**63 - 1))
        for identity, data, change in rows:
            scope, block = divmod(identity, BLOCKS)
            fits = (
                data == _packed_codes(db, scope, block)
                if what == "codes"
                else _has_rows(db, scope, block, data, change)
            )
            if not fits and found < _TOLD_MAX:
                found += 1
                yield f"a block of {what} that is not that of its rows: {(scope, block)}"


def _has_rows(db: apsw.Connection, scope: int, block: int, data: object, change: int) -> bool:
    """Whether a block of rows holds those that have not changed since."""
    import numpy as np

    first = block * BLOCK_ROWS
    rows = db.execute(
        f"SELECT doc, {_SELECT} FROM main.doc WHERE scope = ? AND doc BETWEEN ? AND ? AND"
        " changed <= ? ORDER BY doc",
        (scope, first, first + BLOCK_ROWS - 1, change),
    )
    try:
        table = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 1 + len(DOC_COLUMNS))
    except _NO_NUMBERS:
        return True  # what is wrong with the row is found where it is looked at
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


def blocks_of_gone(db: apsw.Connection) -> int:
    """Count the blocks, of any set of vectors, that hold something of a row whose text is gone."""
    found = 0
    for table in _TABLES:
        rows: Iterator[Any] = db.execute(f"SELECT id, data FROM main.{table}")
        for identity, data in rows:
            scope, block = divmod(identity, BLOCKS)
            first = block * BLOCK_ROWS
            gone: list[Any] = db.execute(
                "SELECT doc FROM main.doc WHERE scope = ? AND doc BETWEEN ? AND ? AND node < 0",
                (scope, first, first + BLOCK_ROWS - 1),
            ).fetchall()
            found += bool(gone) and _holds(data, first, [doc for (doc,) in gone], table)
    return found


def _holds(data: bytes, first: int, docs: list[int], table: str) -> bool:
    """Whether a block holds something of these rows; a damaged one may."""
    import numpy as np

    try:
        if table == "doc_block":
            nodes = np.broadcast_to(unpack_rows(data)["node"], BLOCK_ROWS)
            return bool((nodes[np.array(docs) - first] > 0).any())
        return data != b"" and bool(np.isin(docs, _unpack_codes(first, data)[0]).any())
    except CorruptError:
        return True


def _ids(scope: int, first: int, end: int) -> tuple[int, int]:
    """Return the least and the greatest number of the blocks from `first` up to `end` in their
    tables."""
    return scope * BLOCKS + first, scope * BLOCKS + end - 1


def _no_block() -> CorruptError:
    return CorruptError(
        "A block of this file's search rows is damaged: its length is not that of its parts.",
        next_step=(
            "Run `doxa doctor`, which names what is damaged; `doxa embed --anew` makes all vectors"
            " and blocks again."
        ),
    )
