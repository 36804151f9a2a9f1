"""Bring a file to this format when it is opened: all pending steps in one transaction, after a
snapshot of an existing file. A file that cannot be opened says why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from doxa.base.clock import Clock, format_time
from doxa.base.errors import CorruptError, NewerFileError, StoreError
from doxa.base.words import ANALYSER
from doxa.store.index import Indexes, build_past
from doxa.store.indexing.packing import recode
from doxa.store.indexing.search_rows import (
    SearchWriter,
    analyser_of,
    label_rows,
    note_analyser,
    rules_of,
)
from doxa.store.migration.schema import (
    APPLICATION_ID,
    FORMAT,
    PAST_ENTRIES,
    TRUST_OF_TURNS,
    VECTORS_NUMBERED,
)
from doxa.store.reader import Reader

Migrations = Sequence[tuple[str, str]]


def prepare(
    db: apsw.Connection,
    path: str,
    migrations: Migrations,
    *,
    read_only: bool,
    clock: Clock,
    backup: Callable[[str], Path],
) -> None:
    """Check that the file is ours and not newer, run the steps that it lacks, and rebuild its terms
    where another analyser made them. Raises CorruptError, NewerFileError or StoreError."""
    application = db.pragma("application_id")
    version = db.pragma("user_version")
    tables = db.execute("SELECT count(*) FROM sqlite_schema").get
    if tables and application != APPLICATION_ID:
        raise CorruptError(
            f"{path} is a database of another program.", next_step="Give another path.", path=path
        )
    if version > FORMAT:
        raise NewerFileError(
            f"{path} was written by a newer doxa (format {version}; this one reads up to"
            f" {FORMAT}).",
            next_step="Upgrade doxa, then open it again.",
            path=path,
            found_format=version,
            known_format=FORMAT,
        )
    if waiting := _pending(db, migrations):
        if read_only:
            raise StoreError(
                f"{path} needs a migration first.",
                next_step="Open it once for writing.",
                path=path,
            )
        snapshot = None
        if tables:
            stamp = format_time(clock.now_ns()).translate(dict.fromkeys(map(ord, ":-.")))
            snapshot = backup(f"{path}.before-{waiting[0][0]}-{stamp}")
        _migrate(db, path, migrations, clock=clock, snapshot=snapshot)
    if not read_only and analyser_of(db) != ANALYSER:
        _reindex(db)


def _pending(db: apsw.Connection, migrations: Migrations) -> list[tuple[str, str]]:
    done: set[str] = set()
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'").get:
        done = {row[0] for row in db.execute("SELECT name FROM migration")}
    return [step for step in migrations if step[0] not in done]


def _migrate(
    db: apsw.Connection,
    path: str,
    migrations: Migrations,
    *,
    clock: Clock,
    snapshot: Path | None,
) -> None:
    """Run all pending steps in one transaction. `snapshot` is the copy of a file that existed."""
    name = ""
    db.execute("BEGIN IMMEDIATE")
    try:
        # asked again under the lock: another process may have been first
        for name, sql in _pending(db, migrations):
            db.execute(sql)
            if name == PAST_ENTRIES and snapshot:
                for rule in Indexes(Reader(db, now=0).catalogue_all("index:")).rules:
                    build_past(db, rule)
            if name == VECTORS_NUMBERED:
                recode(db, "vector", "vector_code")
                recode(db, "vector_next", "vector_code_next")
            if name == TRUST_OF_TURNS:
                label_rows(db)
            db.execute("INSERT INTO migration VALUES(?, ?)", (name, clock.now_ns()))
        db.execute("INSERT OR IGNORE INTO meta VALUES('catalogue', 0)")
        if not snapshot:
            note_analyser(db)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT}")
        db.execute("COMMIT")
    except BaseException as error:
        with suppress(apsw.Error):  # the first error is the one to report
            if db.in_transaction:
                db.execute("ROLLBACK")
        if isinstance(
            error, (apsw.SQLError, apsw.ConstraintError, apsw.MismatchError)
        ):  # the others have an error class in doxa
            raise _failed(path, name, error, snapshot) from error
        raise


def _failed(path: str, name: str, error: apsw.Error, snapshot: Path | None) -> StoreError:
    kept = f" The snapshot {snapshot} holds it as it was." if snapshot else ""
    return StoreError(
        f"The migration {name} of {path} failed: {error}. Nothing of it was written: the file is"
        " as it was.",
        next_step=f"Open it with the version of doxa that wrote it, and report this.{kept}",
        path=path,
        migration=name,
        snapshot=str(snapshot) if snapshot else "",
    )


def _reindex(db: apsw.Connection) -> None:
    """Rebuild the postings in one transaction: another analyser made those of this file."""
    db.execute("BEGIN IMMEDIATE")
    try:
        # asked again under the lock: another process may have been first
        if analyser_of(db) != ANALYSER:
            reader = Reader(db, now=0)
            SearchWriter(db, rules_of(reader.catalogue_all("search:")), reader).rebuild()
            note_analyser(db)
            # other writers read the rules again
            db.execute("UPDATE meta SET value = value + 1 WHERE key = 'catalogue'")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
