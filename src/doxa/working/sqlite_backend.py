"""Working memory in a SQLite file of its own, next to the memory file.

It is apart from the memory file so that nothing of it can be in the log, an export or a backup, and
so that its commits need not wait for the disk: `synchronous=NORMAL` never damages the file, and a
power failure may cost the last messages. What is destroyed is overwritten (`secure_delete`), also
in the write-ahead log.

    setting(name, value)
    session(id, project, context, user, name, minted, generation, since, until, last, done, dropped)
    message(session, number, token, data)
    current(project, context, user, name, until)     counter(prefix, last, until)

Times are milliseconds. Sessions whose time is over are never returned; the next write, or closing
the memory, destroys them.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from doxa.base.errors import (
    NO_SPACE,
    BusyError,
    CorruptError,
    DiskFullError,
    LimitError,
    NewerFileError,
    StoreError,
)
from doxa.base.files.write_ahead import use_write_ahead_log
from doxa.base.limits import (
    BUSY_TIMEOUT_MS,
    WORKING_MESSAGES_ITEMS_MAX,
    WORKING_SESSIONS_ITEMS_MAX,
)
from doxa.working.types import ChatKey, Held, Lifetime, Written, new_generation

_FORMAT = 1
_APPLICATION = 0x646F7877  # "doxw"
_SECRET_BYTES = 32
_COUNTER_MS = 2 * 86_400_000
_SCHEMA = """
CREATE TABLE setting(name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE session(
  id INTEGER PRIMARY KEY, project TEXT NOT NULL, context TEXT NOT NULL, user TEXT NOT NULL,
  name TEXT NOT NULL, minted INTEGER NOT NULL, generation TEXT NOT NULL, since INTEGER NOT NULL,
  until INTEGER NOT NULL, last INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0,
  dropped INTEGER NOT NULL DEFAULT 0, UNIQUE(project, context, user, name));
CREATE INDEX session_until ON session(until);
CREATE TABLE message(
  session INTEGER NOT NULL, number INTEGER NOT NULL, token TEXT NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY(session, number), UNIQUE(session, token));
CREATE TABLE current(
  project TEXT, context TEXT, user TEXT, name TEXT NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY(project, context, user)) WITHOUT ROWID;
CREATE TABLE counter(
  prefix TEXT, project TEXT, last INTEGER NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY(project, prefix)) WITHOUT ROWID;
"""
_FIND = (
    "SELECT id, generation, last, done, dropped, since, until,"
    " (SELECT count(*) FROM message WHERE session = session.id) FROM session"
    " WHERE project = ? AND context = ? AND user = ? AND name = ? AND until > ?"
)


class SqliteBackend:
    """Implements ChatBackend on one connection, which threads take turns to use. The file is made
    when it is needed first."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None
        self._process = 0

    def place(self) -> str:
        return str(self._path)

    def close(self, now_ms: int) -> None:
        opened = self._connection is not None and self._process == os.getpid()
        if opened and not self._read_only:
            with suppress(StoreError), self._writing(Lifetime(now_ms, 0)):
                pass  # what has expired is destroyed before a transaction
        with self._lock:
            if self._connection is not None and self._process == os.getpid():
                self._connection.close()
            self._connection = None

    def secret(self, known: bytes) -> bytes:
        if known:
            return known
        if self._read_only and self._absent():
            return b""  # there is nobody to find
        with self._reading() as db:
            found = db.execute("SELECT value FROM setting WHERE name = 'secret'").fetchone()
        assert found is not None
        return bytes(found[0])

    def append(self, key: ChatKey, token: str, message: bytes, life: Lifetime) -> Written:
        with self._writing(life) as db:
            found = db.execute(_FIND, (*key[:4], life.now_ms)).fetchone()
            if found is None:
                found = self._begun(db, key, life)
            row, generation, last, done, dropped, _since, _until, length = found
            known = db.execute(
                "SELECT number, data FROM message WHERE session = ? AND token = ?", (row, token)
            ).fetchone()
            number, first = (last + 1, None) if known is None else (known[0], bytes(known[1]))
            if known is None:
                db.execute("INSERT INTO message VALUES(?, ?, ?, ?)", (row, number, token, message))
                last, length = number, length + 1
                if length > WORKING_MESSAGES_ITEMS_MAX:
                    oldest = last - WORKING_MESSAGES_ITEMS_MAX
                    db.execute(
                        "DELETE FROM message WHERE session = ? AND number <= ?", (row, oldest)
                    )
                    length = WORKING_MESSAGES_ITEMS_MAX
                    dropped += oldest > done
            db.execute(
                "UPDATE session SET last = ?, dropped = ?, until = ? WHERE id = ?",
                (last, dropped, life.until_ms, row),
            )
            if key.minted:
                self._touch_current(db, key, life)
        return Written(generation, number, first, length, last, done, dropped, life.until_ms)

    def read(self, key: ChatKey, life: Lifetime, *, limit: int, touch: bool) -> Held | None:
        if self._absent():
            return None
        with self._writing(life) if touch else self._reading() as db:
            found = db.execute(_FIND, (*key[:4], life.now_ms)).fetchone()
            if found is None:
                return None
            row, generation, last, done, dropped, since, until, length = found
            messages = db.execute(
                "SELECT number, data FROM message WHERE session = ? ORDER BY number DESC LIMIT ?",
                (row, limit),
            ).fetchall()
            if touch:
                until = life.until_ms
                db.execute("UPDATE session SET until = ? WHERE id = ?", (until, row))
                if key.minted:
                    self._touch_current(db, key, life)
        ordered = tuple((number, bytes(data)) for number, data in reversed(messages))
        return Held(key, generation, ordered, length, last, done, dropped, since, until)

    def mark(self, key: ChatKey, generation: str, number: int, life: Lifetime) -> int | None:
        if self._absent():
            return None
        with self._writing(life) as db:
            found = db.execute(_FIND, (*key[:4], life.now_ms)).fetchone()
            if found is None or found[1] != generation:
                return None
            row, _, last, done, _, _, _, length = found
            upto = max(done, min(number, last))
            db.execute("UPDATE session SET done = ? WHERE id = ?", (upto, row))
            return int(min(length, last - done) - min(length, last - upto))

    def clear(self, key: ChatKey, life: Lifetime) -> int:
        if self._absent():
            return 0
        with self._writing(life) as db:
            found = db.execute(_FIND, (*key[:4], life.now_ms)).fetchone()
            if found is not None:
                db.execute("DELETE FROM message WHERE session = ?", (found[0],))
                db.execute("DELETE FROM session WHERE id = ?", (found[0],))
            db.execute(
                "DELETE FROM current WHERE project = ? AND context = ? AND user = ? AND name = ?",
                key[:4],
            )
        self._truncate_log()
        return 0 if found is None else int(found[7])

    def sessions(self, project: str, life: Lifetime) -> list[Held]:
        if self._absent():
            return []
        with self._reading() as db:
            rows: list[Any] = db.execute(
                "SELECT context, user, name, minted, generation, last, done, dropped, since, until,"
                " (SELECT count(*) FROM message WHERE session = session.id) FROM session"
                " WHERE project = ? AND until > ? ORDER BY until DESC, id DESC",
                (project, life.now_ms),
            ).fetchall()
        return [
            Held(
                ChatKey(project, row[0], row[1], row[2], bool(row[3])),
                row[4],
                (),
                row[10],
                *row[5:10],
            )
            for row in rows
        ]

    def current(
        self, project: str, context: str, user: str, prefix: str, life: Lifetime, *, mint: bool
    ) -> str:
        if not mint and self._absent():
            return ""
        with self._writing(life) if mint else self._reading() as db:
            found = db.execute(
                "SELECT name FROM current WHERE project = ? AND context = ? AND user = ?"
                " AND until > ?",
                (project, context, user, life.now_ms),
            ).fetchone()
            if found is not None or not mint:
                return "" if found is None else str(found[0])
            number: Any = db.execute(
                "INSERT INTO counter VALUES(?, ?, 1, ?) ON CONFLICT DO UPDATE SET last = last + 1"
                " RETURNING last",
                (prefix, project, life.now_ms + _COUNTER_MS),
            ).fetchall()[0][0]
            name = f"{prefix}{number:03}"
            db.execute(
                "INSERT OR REPLACE INTO current VALUES(?, ?, ?, ?, ?)",
                (project, context, user, name, life.until_ms),
            )
            return name

    def _begun(self, db: apsw.Connection, key: ChatKey, life: Lifetime) -> tuple[Any, ...]:
        """A new session, in place of one of its name that has expired."""
        count: Any = db.execute(
            "SELECT count(*) FROM session WHERE project = ?", (key.project,)
        ).fetchall()[0][0]
        if count >= WORKING_SESSIONS_ITEMS_MAX:
            raise too_many(key.project)
        generation = new_generation()
        db.execute(
            "INSERT INTO session(project, context, user, name, minted, generation, since, until)"
            " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (*key[:4], int(key.minted), generation, life.now_ms, life.until_ms),
        )
        return db.last_insert_rowid(), generation, 0, 0, 0, life.now_ms, life.until_ms, 0

    def _touch_current(self, db: apsw.Connection, key: ChatKey, life: Lifetime) -> None:
        db.execute(
            "UPDATE current SET until = ? WHERE project = ? AND context = ? AND user = ?"
            " AND name = ?",
            (life.until_ms, *key[:4]),
        )

    # The connection

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Convert what opening and using the file raise to DoxaError."""
        with _errors(self._path):
            try:
                yield
            except apsw.IOError as error:  # a quota, the largest file
                if self._connection is not None and self._connection.system_errno in NO_SPACE:
                    raise apsw.FullError(str(error)) from None
                raise

    def _absent(self) -> bool:
        """Whether nothing was ever written: reading does not make a file."""
        return self._connection is None and not self._path.exists()

    @contextmanager
    def _reading(self) -> Iterator[apsw.Connection]:
        with self._lock, self._errors():
            yield self._opened()

    @contextmanager
    def _writing(self, life: Lifetime) -> Iterator[apsw.Connection]:
        """One transaction. What has expired is destroyed first."""
        with self._lock, self._errors():
            db = self._opened()
            db.execute("BEGIN IMMEDIATE")
            try:
                swept = self._sweep(db, life.now_ms)
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # what finds no space has ended it
                    db.execute("ROLLBACK")
                raise
            if swept:
                _truncate(db)

    def _sweep(self, db: apsw.Connection, now_ms: int) -> bool:
        found = db.execute("SELECT 1 FROM session WHERE until <= ? LIMIT 1", (now_ms,)).fetchone()
        if found is None:
            return False
        db.execute(
            "DELETE FROM message WHERE session IN (SELECT id FROM session WHERE until <= ?)",
            (now_ms,),
        )
        for table in ("session", "current", "counter"):
            db.execute(f"DELETE FROM {table} WHERE until <= ?", (now_ms,))
        return True

    def _truncate_log(self) -> None:
        with self._reading() as db:
            _truncate(db)

    def _opened(self) -> apsw.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        # a connection of before a fork is the parent's: it is left alone, not closed
        self._connection, self._process = None, os.getpid()
        if self._read_only:
            db = apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READONLY)
        else:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            db = apsw.Connection(str(self._path))
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            self._prepare(db)
        except BaseException:
            db.close()
            raise
        self._connection = db
        return db

    def _prepare(self, db: apsw.Connection) -> None:
        version = _number(db, "PRAGMA user_version")
        if version > _FORMAT:
            raise NewerFileError(
                f"{self._path} was written by a newer doxa.",
                next_step="Upgrade doxa.",
                path=str(self._path),
            )
        if self._read_only:
            return
        use_write_ahead_log(db, BUSY_TIMEOUT_MS)
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA secure_delete = ON")
        if version == _FORMAT:
            return
        db.execute("BEGIN IMMEDIATE")
        if _number(db, "PRAGMA user_version") == 0:  # no other process was faster
            db.execute(_SCHEMA)
            db.execute(
                "INSERT INTO setting VALUES('secret', ?)", (secrets.token_bytes(_SECRET_BYTES),)
            )
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {_FORMAT}")
        db.execute("COMMIT")


def too_many(project: str) -> LimitError:
    """Return the error for a session beyond the limit of its project."""
    return LimitError(
        f"The project {project[:80]!r} has {WORKING_SESSIONS_ITEMS_MAX:,} sessions in working"
        " memory, which is the limit.",
        next_step="Wait until some expire, or clear those that have ended.",
        limit=WORKING_SESSIONS_ITEMS_MAX,
    )


def _number(db: apsw.Connection, statement: str) -> int:
    found: Any = db.execute(statement).fetchall()[0][0]
    return int(found)


def _truncate(db: apsw.Connection) -> None:
    """Overwrite the write-ahead log's copies of what was destroyed. While another process reads, a
    later write does it."""
    with suppress(apsw.BusyError, apsw.LockedError):
        db.execute("PRAGMA busy_timeout = 0").fetchall()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    db.set_busy_timeout(BUSY_TIMEOUT_MS)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (apsw.NotADBError, apsw.CorruptError):
        raise CorruptError(
            f"{path} is not a file of working memory, or is damaged.",
            next_step="Move it aside: it holds the messages of the last hour and nothing else.",
            path=str(path),
        ) from None
    except apsw.BusyError:
        raise BusyError(
            f"Another process held {path} for longer than {BUSY_TIMEOUT_MS // 1_000} s.",
            next_step="Try again.",
            path=str(path),
        ) from None
    except apsw.FullError:
        raise DiskFullError(
            f"There is no space left for {path}; nothing of this call was kept.",
            next_step="Free space on that disk, then repeat the call.",
            path=str(path),
        ) from None
    except (apsw.Error, OSError) as error:
        raise StoreError(
            f"{path} cannot be used: {error}.",
            next_step="Check the path, its folder, permissions and the space left.",
            path=str(path),
        ) from None
