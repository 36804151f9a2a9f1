"""What is derived from a whole state: windows, entries of indexes, search rows."""

from __future__ import annotations

from typing import Any

import apsw

from doxa.base.limits import IMPORT_BATCH_ITEMS_MAX, SWEEP_BATCH_ITEMS_MAX
from doxa.base.values import decode
from doxa.store.declared import Declared
from doxa.store.indexing.search_rows import SearchWriter, rule_of
from doxa.store.reader import Reader
from doxa.store.visibility.window_writer import WindowWriter, note_swept


def sweep_all(db: apsw.Connection, known: Declared) -> None:
    """Write the window of every element."""
    note_swept(db, {})
    if not known.evaluator.rules.any and not known.suppressing:
        return
    writer = WindowWriter(db, known.evaluator, lambda: known.search, suppressing=True)
    for kind in ("node", "edge"):
        at: int | None = 0
        while at is not None:
            at = writer.sweep(kind, at, SWEEP_BATCH_ITEMS_MAX)


def index_all(db: apsw.Connection, known: Declared, now: int) -> None:
    """Make the search rows of every node, some at a time."""
    reader = Reader(db, now=now)
    at = 0
    while True:
        rows: list[Any] = db.execute(
            "SELECT id, labels FROM node WHERE id > ? ORDER BY id LIMIT ?",
            (at, IMPORT_BATCH_ITEMS_MAX),
        ).fetchall()
        if not rows:
            return
        writer = SearchWriter(db, known.search, reader)
        for identity, labels in rows:
            names = decode(labels)
            if rule_of(names, known.search) is not None:
                writer.node_made(identity, names)
        writer.flush()
        at = rows[-1][0]
