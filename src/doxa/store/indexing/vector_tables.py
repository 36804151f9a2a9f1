"""The vectors of a file: the set in use and, while those of another model are made, the set that is
to take its place.

    vector, vector_code              of the model meta.embedder: what recall reads
    vector_next, vector_code_next    of the model meta.embedder_next
    vector_next_due                  what the coming set lacks, with the failed attempts; one that
    failed too often stays and holds nothing up

    begin ─► [drop_former ...] ─► put | fail ... ─► switch ─► [drop_former ...]

The work order is in the file, so that any process with the model goes on after a crash. A switch
renames tables, whatever their size; so the set that was in use then lies under the names of the
next one, and meta.vectors_former says that it is not wanted. It goes in small transactions, before
which no other set is made there. Whatever a table is for, a text that goes takes its rows along
(forget_vectors).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import apsw

from doxa.base.errors import ConstraintError, LimitError
from doxa.base.limits import JOB_ATTEMPTS_MAX, VECTORS_DROPPED_ITEMS_MAX
from doxa.store.change_counter import next_change

# The parts of a row's vectors by number: 0 is the whole text, then passages of a long one; fields
# of a belief; sentences of a short text. Those below INDEXED_PARTS have a code, by which an index
# names candidates; the others only tell candidates apart.
FIELDS_FROM = 40
INDEXED_PARTS = 64
# The number of a vector: its scope, row and part in 26, 30 and 7 bits, so that what lies together
# in a conversation does so in the file.
PARTS, _ROWS, _SCOPES = 1 << 7, 1 << 30, 1 << 26
# A row of the search that is new is due in the coming set too, if there is one.
DUE_NEXT = (
    "INSERT INTO main.vector_next_due(scope, doc) SELECT ?, ? FROM meta WHERE key = 'embedder_next'"
)

_TABLES = ("vector", "vector_code", "vector_next", "vector_code_next")
_LACKED = """
UPDATE main.doc INDEXED BY {index} SET attempts = 0,
  vectors = (SELECT count(*) FROM main.vector_next v WHERE v.id BETWEEN {ids})
WHERE vectors {test} 0 AND NOT EXISTS
  (SELECT 1 FROM main.vector_next_due q WHERE q.scope = doc.scope AND q.doc = doc.doc)
"""
_RECOUNT = """
UPDATE main.doc SET vectors = (SELECT count(*) FROM main.vector v WHERE v.id BETWEEN {ids})
WHERE vectors > 0 AND (scope, doc) IN (SELECT scope, doc FROM main.vector_next WHERE id <= ?)
AND vectors <> (SELECT count(*) FROM main.vector v WHERE v.id BETWEEN {ids})
"""
_GIVEN_UP = (
    "UPDATE main.doc SET vectors = -1, attempts = ? WHERE (scope, doc) IN (SELECT scope, doc FROM"
    " vector_next_due)"
)


def vector_id(scope: int, row: Any, part: int = 0) -> Any:
    """Return the number of the vector of a row, or the numbers of those of an array of rows."""
    return (scope * _ROWS + row) * PARTS + part


def ids_of(row: str) -> str:
    """Return SQL for the range of numbers of the vectors of a row of doc, by the name that a
    statement gives it."""
    first = f"({row}.scope * {_ROWS} + {row}.doc) * {PARTS}"
    return f"{first} AND {first} + {PARTS - 1}"


def embedder_name(db: apsw.Connection) -> str | None:
    return _text(db.execute("SELECT value FROM meta WHERE key = 'embedder'").get)


def embedder_next(db: apsw.Connection) -> str | None:
    return _text(db.execute("SELECT value FROM meta WHERE key = 'embedder_next'").get)


def sets_before(db: apsw.Connection) -> int:
    return int(db.execute("SELECT value FROM meta WHERE key = 'vector_set'").get or 0)


def has_former(db: apsw.Connection) -> bool:
    """Return whether vectors of a set that is not wanted any more are still there."""
    return db.execute("SELECT 1 FROM meta WHERE key = 'vectors_former'").get is not None


def forget_vectors(db: apsw.Connection, scope: int, doc: int) -> None:
    """Delete from every table what was made of the text of a row, since the text is gone."""
    first = vector_id(scope, doc)
    for table in _TABLES:
        db.execute(f"DELETE FROM main.{table} WHERE id BETWEEN ? AND ?", (first, first + PARTS - 1))
    db.execute("DELETE FROM main.vector_next_due WHERE scope = ? AND doc = ?", (scope, doc))


class VectorWriter:
    """What a transaction does to vectors. Nothing is logged: they can be made again."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def put(
        self,
        scope: int,
        doc: int,
        *,
        model: str,
        vectors: Mapping[int, tuple[bytes, bytes]],
        coming: bool,
    ) -> bool:
        """Implement Transaction.put_vectors."""
        assert 0 in vectors and max(vectors) < PARTS, (
            "the whole text has a vector, whatever else has"
        )
        if not (scope < _SCOPES and doc < _ROWS):
            raise LimitError(
                f"A project has vectors for at most {_ROWS:,} memories, a file for projects among"
                f" its first {_SCOPES:,} names; this is memory {doc:,} of the project that is name"
                f" {scope:,}.",
                next_step=(
                    "Begin another file: `doxa export` and `doxa import` bring what is believed"
                    " there."
                ),
                limit_rows=_ROWS,
                limit_scopes=_SCOPES,
            )
        if not (self._take_next(scope, doc, model) if coming else self._take(scope, doc, model)):
            return False
        end = "_next" if coming else ""
        for part, (data, code) in vectors.items():
            identity = vector_id(scope, doc, part)
            self._db.execute(
                f"INSERT OR REPLACE INTO main.vector{end}(id, data) VALUES(?, ?)", (identity, data)
            )
            if part < INDEXED_PARTS:
                self._db.execute(
                    f"INSERT OR REPLACE INTO main.vector_code{end}(id, code) VALUES(?, ?)",
                    (identity, code),
                )
        if not coming:
            self._db.execute(
                "UPDATE main.doc SET vectors = ?, changed = ? WHERE scope = ? AND doc = ?",
                (len(vectors), next_change(self._db), scope, doc),
            )
        return True

    def _take(self, scope: int, doc: int, model: str) -> bool:
        held = embedder_name(self._db)
        if held is not None and held != model:
            raise another_model(held, embedder_next(self._db), model)
        if (
            self._db.execute(
                "SELECT 1 FROM main.doc WHERE scope = ? AND doc = ? AND node > 0", (scope, doc)
            ).get
            is None
        ):
            return False
        if held is None:
            self._db.execute("INSERT INTO meta VALUES('embedder', ?)", (model,))
        return True

    def _take_next(self, scope: int, doc: int, model: str) -> bool:
        if embedder_next(self._db) != model or has_former(self._db):
            return False
        self._db.execute(
            "DELETE FROM main.vector_next_due WHERE scope = ? AND doc = ?", (scope, doc)
        )
        return bool(self._db.changes())

    def fail(self, scope: int, doc: int, *, coming: bool) -> None:
        """Implement Transaction.fail_vectors. In the set in use, vectors = -1 marks a failed
        doc."""
        if coming:
            self._db.execute(
                "UPDATE main.vector_next_due SET attempts = attempts + 1 WHERE scope = ? AND"
                " doc = ?",
                (scope, doc),
            )
            return
        self._db.execute(
            "UPDATE main.doc SET attempts = attempts + 1, vectors = CASE WHEN attempts + 1 >="
            " ? THEN -1"
            " ELSE 0 END, changed = ? WHERE scope = ? AND doc = ? AND node > 0",
            (JOB_ATTEMPTS_MAX, next_change(self._db), scope, doc),
        )

    def begin(self, model: str) -> None:
        """Implement Transaction.begin_vectors. Without vectors, failed docs become pending again. A
        set of this model that is under way continues, with new attempts. The model of the set in
        use cancels a set that is under way. Otherwise another set begins and replaces one that was
        under way."""
        held, coming = embedder_name(self._db), embedder_next(self._db)
        if held is None:
            self._db.execute(
                "UPDATE main.doc INDEXED BY doc_given_up SET vectors = 0, attempts = 0, changed = ?"
                " WHERE vectors < 0",
                (next_change(self._db),),
            )
            return
        if coming == model:
            self._db.execute("UPDATE main.vector_next_due SET attempts = 0 WHERE attempts > 0")
            return
        self._db.execute("DELETE FROM main.vector_next_due")
        self._db.execute("DELETE FROM meta WHERE key = 'embedder_next'")
        if self._db.execute("SELECT 1 FROM main.vector_next LIMIT 1").get is not None:
            self._db.execute("INSERT OR REPLACE INTO meta VALUES('vectors_former', 1)")
        if coming is None or held != model:
            self._db.execute("INSERT INTO meta VALUES('embedder_next', ?)", (model,))
            self._db.execute(
                "INSERT INTO main.vector_next_due(scope, doc) SELECT scope, doc FROM main.doc"
                " WHERE node > 0"
            )

    def switch(self, model: str) -> bool:
        """Implement Transaction.switch_vectors. Rows of doc are only written where the sets differ
        in what they have."""
        if embedder_next(self._db) != model or has_former(self._db):
            return False
        if (
            self._db.execute(
                "SELECT 1 FROM main.vector_next_due WHERE attempts < ? LIMIT 1", (JOB_ATTEMPTS_MAX,)
            ).get
            is not None
        ):
            return False
        next_change(self._db)  # who watches it sees another set, and reads every row again
        for index, test in (("doc_unembedded", "="), ("doc_given_up", "<")):
            self._db.execute(_LACKED.format(index=index, test=test, ids=ids_of("doc")))
        self._db.execute(_GIVEN_UP, (JOB_ATTEMPTS_MAX,))
        for table in ("vector", "vector_code"):
            self._db.execute(f"ALTER TABLE {table} RENAME TO {table}_former")
            self._db.execute(f"ALTER TABLE {table}_next RENAME TO {table}")
            self._db.execute(f"ALTER TABLE {table}_former RENAME TO {table}_next")
        self._db.execute("DELETE FROM main.vector_next_due")
        self._db.execute("DELETE FROM meta WHERE key = 'embedder_next'")
        rows = (
            ("embedder", model),
            ("vector_set", sets_before(self._db) + 1),
            ("vectors_former", 1),
        )
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", rows)
        return True

    def drop_former(self) -> bool:
        """Implement Transaction.drop_former_vectors."""
        if not has_former(self._db):
            return False
        found: Any = self._db.execute(
            "SELECT id FROM main.vector_next ORDER BY id LIMIT 1 OFFSET ?",
            (VECTORS_DROPPED_ITEMS_MAX,),
        ).get
        last = None if found is None else found | PARTS - 1  # with all parts of its row
        self._db.execute(
            _RECOUNT.format(ids=ids_of("doc")), (2**63 - 1 if last is None else last,)
        )  # the rows that a switch left as they were
        for table in ("vector_next", "vector_code_next"):
            if last is None:
                self._db.execute(f"DELETE FROM {table}")
            else:
                self._db.execute(f"DELETE FROM {table} WHERE id <= ?", (last,))
        if last is None:
            self._db.execute("DELETE FROM meta WHERE key = 'vectors_former'")
        return last is not None


def another_model(held: str | None, coming: str | None, model: str) -> ConstraintError:
    """Return the error for a model of which neither the set in use nor a coming one is."""
    under_way = f"; those of {coming} are being made" if coming is not None else ""
    return ConstraintError(
        f"The vectors of this file are of {held}, not of {model}{under_way}.",
        next_step=(
            f"Rebuild them with `doxa embed --anew`{', which replaces those' if under_way else ''}."
        ),
        held=held,
        coming=coming or "",
        model=model,
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
