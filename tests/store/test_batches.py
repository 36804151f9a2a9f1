"""Rows in one statement: all of them, in order; and nothing that the statement keeps of them."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest

from doxa.store.batches import insert_rows

_SHARED = apsw.SQLITE_DBSTATUS_LOOKASIDE_USED


@pytest.fixture
def db() -> Iterator[apsw.Connection]:
    made = apsw.Connection(":memory:")
    made.execute("CREATE TABLE kept(id INTEGER PRIMARY KEY, text TEXT NOT NULL, data BLOB)")
    yield made
    made.close()


@pytest.mark.parametrize("count", [0, 1, 15, 16, 31, 32, 33, 64, 70])
def test_all_rows_are_inserted(db: apsw.Connection, count: int) -> None:
    rows = [(number, f"text {number}", bytes([number])) for number in range(count)]
    insert_rows(db, "INSERT INTO kept", rows)
    insert_rows(db, "INSERT INTO kept(text)", [(text,) for _, text, _ in rows])
    assert db.execute("SELECT * FROM kept").fetchall() == [
        *rows,
        *((count + number, text, None) for number, text, _ in rows),
    ]


def test_no_value_is_kept(db: apsw.Connection) -> None:
    """What a statement keeps of its values lies in memory that others then lack."""
    before = db.status(_SHARED)[0]
    insert_rows(db, "INSERT INTO kept", [(number, "text", b"data") for number in range(96)])
    # 32 texts and 32 blobs would take 64 places, and the statement itself some 20
    assert db.status(_SHARED)[0] < before + 8


def test_a_row_that_is_refused_leaves_those_before_it_to_the_transaction(
    db: apsw.Connection,
) -> None:
    rows = [(number, "text", b"") for number in range(40)]
    with pytest.raises(apsw.ConstraintError):
        insert_rows(db, "INSERT INTO kept", [*rows, rows[0]])
    with pytest.raises(apsw.ConstraintError, match="NOT NULL"):
        insert_rows(db, "INSERT INTO kept", [(100 + n, None, b"") for n in range(20)])
    assert db.execute("SELECT count(*) FROM kept").fetchone() == (32,)
