"""A memory file made again from a log, as of one of its changes: of a backup, of the file itself,
or of a log that was shipped.

The receipts, entries and payloads up to that change are copied, the state is replayed from them,
and what is derived is made: windows, indexes, search rows. Vectors are not in the log; they are
embedded again. What was erased later has no payload and does not come back.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw

from doxa.base.clock import Clock
from doxa.base.errors import CorruptError, NotFoundError, StoreError
from doxa.base.values import decode
from doxa.store.apply import replay_entry
from doxa.store.chain.epochs import OP as EPOCH
from doxa.store.chain.epochs import logged_epochs, mark_copy, note_epochs
from doxa.store.dump.derived import index_nodes, sweep_windows
from doxa.store.dump.rules import check_rules
from doxa.store.file.file_copy import discard
from doxa.store.index import Indexes, build
from doxa.store.proof.verify import check, verify_log
from doxa.store.reader import Reader
from doxa.store.retention.state import is_superseded, rewritten
from doxa.store.store import Store
from doxa.store.visibility.evaluator import Expressions

_COPIED = ("receipt", "log", "log_payload")
_META = ("retained",)
_REPORTED = 1_000


def change_at(source: apsw.Connection, time: int) -> int:
    """Return the number of the last change up to a time, in ns. Raises NotFoundError if there was
    none yet."""
    found = source.execute("SELECT max(tx) FROM receipt WHERE time <= ?", (time,)).get
    if found is None:
        raise NotFoundError(
            "There was no change up to that time.", next_step="Give a later time.", time=time
        )
    return int(found)


def rebuild(
    source: apsw.Connection,
    target: str | os.PathLike[str],
    *,
    change: int | None = None,
    expressions: Expressions | None = None,
    clock: Clock | None = None,
    expect: Callable[[int], None] = lambda _: None,
    progress: Callable[[int], None] = lambda _: None,
) -> Path:
    """Make a memory file at a new path from the log of a connection, up to a change, by default the
    last. It appears whole or not at all, is verified, and begins an epoch with its first change.
    `expect` is called once with the number of entries, `progress` with those since its last call.
    Raises NotFoundError for a change that there is not, CorruptError for a log that does not
    verify."""
    path = Path(target)
    if path.exists():
        raise StoreError(
            f"{path} exists already.",
            next_step="Give a path that does not exist yet.",
            path=str(path),
        )
    last = source.execute("SELECT max(tx) FROM receipt").get or 0
    change = last if change is None else change
    if not 0 < change <= last:
        raise NotFoundError(
            f"There is no change {change}; the last one is {last}.",
            next_step="Give the number of a change, or a time.",
            change=change,
        )
    sealed = source.execute("SELECT last_seq FROM receipt WHERE tx = ?", (change,)).get
    expect(int(sealed))
    part = path.with_name(path.name + ".part")
    discard(part)  # of a rebuild that was killed
    try:
        with Store(part, expressions=expressions, clock=clock) as store:
            db = store.connection()
            db.execute("BEGIN IMMEDIATE")
            try:
                _copy_log(source, db, change)
                _replay(db, progress)
                _derive(store, db)
                mark_copy(db, "restore")
                db.execute("COMMIT")
            except BaseException:
                db.execute("ROLLBACK")
                raise
            store._catalogue_version = -1
            verify_log(store)
            problems = check(store)
            if problems:
                raise CorruptError(
                    f"What the log of {path} gives is not sound: {problems[0]}.",
                    next_step="Rebuild it from another copy.",
                    path=str(path),
                )
        os.replace(part, path)
    except BaseException:
        discard(part)
        raise
    return path


def _copy_log(source: apsw.Connection, db: apsw.Connection, change: int) -> None:
    last_seq = source.execute("SELECT last_seq FROM receipt WHERE tx = ?", (change,)).get
    bounds = {"receipt": ("tx", change), "log": ("seq", last_seq), "log_payload": ("seq", last_seq)}
    for table in _COPIED:
        names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column, bound = bounds[table]
        rows = source.execute(
            f"SELECT {', '.join(names)} FROM {table} WHERE {column} <= ? ORDER BY {column}",
            (bound,),
        )
        marks = ", ".join("?" * len(names))
        db.executemany(f"INSERT INTO {table}({', '.join(names)}) VALUES({marks})", rows)
    for key in _META:
        value = source.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
        if value is not None:
            db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (key, value))
    note_epochs(db, logged_epochs(db))


def _replay(db: apsw.Connection, progress: Callable[[int], None]) -> None:
    stated, done = rewritten(db), 0
    rows: list[Any] = []
    cursor = db.execute(
        "SELECT l.op, p.payload, r.time, l.element, l.seq FROM log l JOIN log_payload p ON"
        " p.seq = l.seq JOIN receipt r ON r.tx = l.tx ORDER BY l.seq"
    )
    for op, payload, time, element, seq in cursor:
        if op != EPOCH and not is_superseded(stated, op, element, seq):
            replay_entry(db, op, body=decode(payload), now=time)
        done += 1
        if done % _REPORTED == 0:
            progress(_REPORTED)
    progress(done % _REPORTED)
    del rows


def _derive(store: Store, db: apsw.Connection) -> None:
    """Make windows, indexes and search rows of a state that was replayed."""
    reader = Reader(db, now=store.clock.now_ns())
    catalogue = reader.catalogue_all()
    known = check_rules(catalogue, store._expressions)
    db.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
    sweep_windows(db, known)
    for rule in Indexes(catalogue).rules:
        build(db, rule)
    index_nodes(db, known, now=reader.now)
