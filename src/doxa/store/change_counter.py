"""The number of the latest change to search rows and vectors, by which a reader finds the rows that
changed since it last read."""

from __future__ import annotations

import apsw


def next_change(db: apsw.Connection) -> int:
    """Increment the counter, and return its new value."""
    return int(
        db.execute("UPDATE meta SET value = value + 1 WHERE key = 'change' RETURNING value").get
    )
