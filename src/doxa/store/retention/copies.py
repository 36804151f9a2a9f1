"""The copies of a file that doxa wrote: backups, snapshots before migrations, and exports. Their
paths are kept in `meta`, so that an erasure can say where else the content may be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import apsw

from doxa.base.values import canonical, decode

_KEPT = 200
_KEY = "copies"
REMOTE = "remote"  # the kind of a copy on another machine: its path begins with that


class Copy(NamedTuple):
    """A copy that was written at a time, in ns."""

    path: str
    kind: str
    time: int


def note_copy(db: apsw.Connection, path: str | os.PathLike[str], *, kind: str, time: int) -> None:
    """Remember a copy; the oldest are dropped beyond 200. Nothing if the file is not set up yet."""
    if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'meta'").get:
        return
    # a name that is not UTF-8 is kept readable, and counts as missing
    named = os.fspath(path) if kind == REMOTE else str(Path(path).absolute())
    place = named.encode("utf-8", "backslashreplace").decode()
    kept = [copy for copy in copies_of(db) if copy.path != place]
    rows = [list(copy) for copy in (*kept, Copy(place, kind, time))][-_KEPT:]
    db.execute("INSERT OR REPLACE INTO meta VALUES(?, ?)", (_KEY, canonical(rows).decode()))


def copies_of(db: apsw.Connection) -> list[Copy]:
    """Return the copies that are known, oldest first."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (_KEY,)).get
    return [] if found is None else [Copy(*row) for row in decode(found)]
