"""Named positions in the log, one row each in the table `cursor`.

A cursor says how far its consumer has come: the number of the last log entry that needs no second
delivery. It is bookkeeping, not content: moving it is not logged, since a consumer that
acknowledged events would otherwise produce events.

A name is of the role and the projects of the session that uses it, so that no session moves the
cursor of one with other rights:

    <role>/<projects, or *>/<name>
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import apsw

from doxa.base.errors import LimitError, StoreError
from doxa.base.ids import Role
from doxa.base.limits import EVENT_CURSORS_ITEMS_MAX
from doxa.store.file.engine import Engine, translated
from doxa.store.intake.secrets import check_name


class EventCursor(NamedTuple):
    """A named position: the events up to log entry `seq` were consumed; `behind` counts the log
    entries after it."""

    name: str
    seq: int
    behind: int


def prefix_of(role: Role, projects: Sequence[str]) -> str:
    """Return what the stored names of a session's cursors begin with."""
    return f"{role}/{','.join(sorted(projects)) or '*'}/"


def save_cursor(engine: Engine, key: str, seq: int | None, *, back: bool) -> None:
    """Move a cursor in a transaction of its own; None removes it. Raises StoreError inside another
    transaction of the thread."""
    db = engine.connection()
    if db.in_transaction:
        raise StoreError(
            "A cursor cannot move inside a transaction.",
            next_step="Acknowledge events after the transaction has ended.",
        )
    with translated(engine.path, db):
        turn = engine.begin(db)
        try:
            if seq is None:
                db.execute("DELETE FROM main.cursor WHERE name = ?", (key,))
            else:
                _write(db, key, seq, back=back)
            db.execute("COMMIT")
        finally:
            with suppress(apsw.Error):
                if db.in_transaction:
                    db.execute("ROLLBACK")
            turn.end()


def _write(db: apsw.Connection, key: str, seq: int, *, back: bool) -> None:
    """Move a cursor, or make it. Without `back` it only moves forward. Raises LimitError, and
    InputError for a name that holds a secret."""
    if db.execute("SELECT 1 FROM main.cursor WHERE name = ?", (key,)).get is None:
        check_name(key, "the name of the cursor")
        held = db.execute("SELECT count(*) FROM main.cursor WHERE name NOT LIKE 'load/%'").get
        if held >= EVENT_CURSORS_ITEMS_MAX:
            raise LimitError(
                f"A file holds up to {EVENT_CURSORS_ITEMS_MAX:,} cursors.",
                next_step="Remove cursors that no consumer uses any more.",
                items_max=EVENT_CURSORS_ITEMS_MAX,
            )
    moved = "excluded.seq" if back else "max(seq, excluded.seq)"
    db.execute(
        f"INSERT INTO main.cursor VALUES(?, ?) ON CONFLICT(name) DO UPDATE SET seq = {moved}",
        (key, seq),
    )
