"""One SQLite connection per thread, opened the same way everywhere, with the engine's errors turned
into ours.

What differs between engines lives in this file: pragmas, busy handling, error classes. Several
processes may open the file: writers take turns (`locking/writer_queue.py`), readers run on WAL
snapshots.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

import apsw

from doxa.base.errors import (
    BusyError,
    ClosedError,
    CorruptError,
    DiskFullError,
    DoxaError,
    ReadOnlyError,
    StoreError,
)
from doxa.base.files.write_ahead import use_write_ahead_log, write_ahead_log_of
from doxa.base.limits import BUSY_TIMEOUT_MS
from doxa.base.temporal_instant import text_instant_key
from doxa.store.file import process
from doxa.store.file.disk_space import is_out_of_space
from doxa.store.file.write_ahead_log import KEPT_BYTES, WriteAheadLog
from doxa.store.locking.group import WriterTurn
from doxa.store.locking.turnstile import Waiting
from doxa.store.locking.writer_queue import WriterQueue, queue_of

if TYPE_CHECKING:
    from doxa.store.declared import Declared

_WAIT_FIRST_S = 0.0005
_WAIT_MOST_S = 0.02
# The most that apsw keeps. It drops a statement that is not among the last so many that were run,
# however few there are, so a write after many reads prepares its statements again.
_STATEMENTS_CACHED = 512
# How long closing waits for what other threads are at: before it interrupts them, and at most
_CLOSE_KINDLY_S, _CLOSE_S, _CLOSE_STEP_S = 0.5, 5.0, 0.001
_FILE_MODE = 0o600
_PRAGMAS: tuple[tuple[str, str | int], ...] = (
    ("foreign_keys", 0),
    ("cache_size", -65_536),
    (
        "mmap_size",
        256 << 20,
        # of the file's first part: what a process keeps resident stays level however large the file
        # is
    ),
    ("journal_size_limit", KEPT_BYTES),
    ("temp_store", "MEMORY"),
    ("trusted_schema", 0),
    (
        "wal_autocheckpoint",
        4_000,
    ),  # a change writes some 25 pages, so the default of 1,000 would stop writers every 40 changes
)


Interrupted = apsw.InterruptError  # a statement that was watched (Reader.watch) and interrupted


class TransactionClock:
    """What SQL functions know of the transaction that their connection is in: its time, by which
    visibility is judged, and how to judge."""

    def __init__(self) -> None:
        self.now = 0
        self.seen: Callable[[bool, int], bool] | None = None
        self.shown: Callable[[bool, int, str, str], str] | None = None
        # what the catalogue declared when it was last read and its version, and the engine's number
        # of the file's state then
        self.known: tuple[Declared, int] | None = None
        self.state = -1
        self.last = (-1, 0)  # the number of a state, and of the last transaction that it has

    def is_seen(self, edge: Any, identity: Any) -> bool:
        assert self.seen is not None
        return self.seen(bool(edge), identity)

    def shown_of(self, edge: Any, identity: Any, props: Any, fades: Any) -> str:
        assert self.shown is not None
        return self.shown(bool(edge), identity, props, fades or "")


class Engine:
    """Connections to one file. Thread-safe: every thread, and every process after a fork, gets a
    connection of its own."""

    def __init__(
        self,
        path: str,
        *,
        read_only: bool = False,
        prepared: Callable[[apsw.Connection], None] | None = None,
    ) -> None:
        """`prepared` is called with every new connection."""
        self.path = path
        self._prepared = prepared
        # NORMAL where the engine of a shared log makes commits durable (Replica)
        self.synchronous = "FULL"
        self.read_only = read_only
        self._local = threading.local()
        self._all: list[apsw.Connection] = []
        self._lock = threading.Lock()
        self._closing = threading.Lock()  # who closes comes back when all is closed
        self._inherited: list[apsw.Connection] = []
        self._moments: dict[apsw.Connection, TransactionClock] = {}
        self._pid = process.number
        self._queue: WriterQueue | None = None
        self._queue_pid = self._pid
        self._place = str(Path(path).absolute())  # a process may change its folder
        self._file = (0, 0)  # that the first connection opened
        self._backoff = BusyBackoff()
        self._write_ahead_log = WriteAheadLog(lambda: self.closed)
        self.closed = False

    def connection(self) -> apsw.Connection:
        if self.closed:
            raise closed(self.path)
        found: apsw.Connection | None = getattr(self._local, "connection", None)
        if found is not None and self._local.pid == process.number:
            turn: WriterTurn | None = self._local.turn
            return found if turn is None or turn.ended else turn.db
        with self._lock:
            if self._pid != process.number:
                self._inherited, self._all, self._pid = _let_go(self._all), [], process.number
                self._moments.clear()
        with translated(self.path) as errors:
            made = self._connect(errors)
        self._local.connection, self._local.pid = made, process.number
        self._local.turn = None  # that of this thread, if another's connection is used in it
        with self._lock:
            if self.closed:  # meanwhile
                made.close()
                raise closed(self.path)
            self._all.append(made)
        return made

    @property
    def moment(self) -> TransactionClock:
        """That of this thread's connection."""
        return self._moments[self.connection()]

    def moment_of(self, db: apsw.Connection) -> TransactionClock:
        return self._moments[db]

    def note_known(self, db: apsw.Connection, known: tuple[Declared, int] | None) -> None:
        """Keep what a snapshot of a connection, which is still open, knows of the catalogue."""
        moment = self._moments.get(db)  # none after a fork
        if moment is not None and known is not None:
            moment.known, moment.state = known, db.data_version()

    def is_known(self, db: apsw.Connection) -> bool:
        """Return whether the catalogue was as it is noted when the last statement of a connection,
        which has ended, ran. After a commit of anybody its version is read: it is that of the
        statement if nothing was committed in between."""
        moment, state = self._moments[db], db.data_version()
        if state == moment.state:
            return True
        version = int(db.execute("SELECT value FROM meta WHERE key = 'catalogue'").get)
        if moment.known is None or moment.known[1] != version or db.data_version() != state:
            return False
        moment.state = state
        return True

    @property
    def opened(self) -> apsw.Connection | None:
        """The connection of this thread, if there is one."""
        found: apsw.Connection | None = getattr(self._local, "connection", None)
        return found

    @property
    def is_inherited(self) -> bool:
        """Whether this is a forked child that has not used the file: nothing of it is the child's
        to finish."""
        return self._pid != process.number

    def close(self) -> None:
        """Close the connections. What another thread is at ends first, or is interrupted if it
        takes its time."""
        if self.is_inherited:  # with a lock that a thread of the parent may have had
            self.closed = True
            return
        with self._lock:
            self.closed = True
        with self._closing:
            _close_all(self._all)
            if self._queue is not None and self._queue_pid == self._pid:
                self._queue.close()
            self._all = []

    def begin(
        self,
        db: apsw.Connection,
        stopped: Callable[[], bool] | None = None,
        *,
        shares: bool = False,
    ) -> WriterTurn:
        """Begin a transaction that writes, when it is this writer's turn; `stopped` may end the
        wait. Raises BusyError after the busy limit. End the turn after the transaction.

        One that `shares` may be committed with others, on the connection of the first of them:
        `connection` returns that one until `end`."""

        def attempt() -> bool:
            self.require_in_place()
            db.set_busy_handler(None)
            try:
                db.execute("BEGIN IMMEDIATE")
            except apsw.BusyError:
                return False
            finally:
                db.set_busy_handler(self._backoff)
            return True

        if not shares:
            self.require_in_place()  # those who share wait briefly, and fail at the commit
        waiting = Waiting(BUSY_TIMEOUT_MS, stopped)
        turn = self._writers().begin(
            attempt,
            waiting,
            db,
            check=self.require_in_place,
            after=self._committed,
            kind=self if shares else None,
        )
        if turn is None:
            raise busy(self.path)
        if turn.joined:
            self._local.turn = turn
        return turn

    def _committed(self) -> None:
        """After a commit, in the turn of the writer: its own connection is free, and that of the
        group is its first member's again."""
        db = self.opened
        if db is not None:
            self._write_ahead_log.committed(db, self._backoff)

    def end(self) -> None:
        """Let this thread use its own connection again."""
        self._local.turn = None

    @property
    def has_writer(self) -> bool:
        """Whether somebody in this process writes, or waits for it."""
        return self._writers().taken

    def require_in_place(self) -> None:
        """Raise StoreError if another file has the place of the one that was opened, or none: the
        system would let the opened one be written to, and drop it when it is closed. Raise
        ClosedError if it was closed."""
        if self.closed:
            raise closed(self.path)
        if self._file != (0, 0) and self._found() != self._file:
            raise StoreError(
                f"{self.path} was moved, removed or replaced while it was open, so nothing was"
                " written.",
                next_step="Put the file back, or end what has it open and start that again.",
                path=self.path,
                moved=True,
            )

    def _found(self) -> tuple[int, int]:
        """What has the place now: device and number of the file."""
        try:
            about = os.stat(self._place)  # noqa: PTH116 - at each commit: a Path takes as long again
        except OSError:
            return (0, 0)
        return about.st_dev, about.st_ino

    def _writers(self) -> WriterQueue:
        """The queue of writers that this process has for the file."""
        if self._queue is None or self._queue_pid != process.number:
            self._queue, self._queue_pid = queue_of(self._place), process.number
        return self._queue

    def _connect(self, errors: translated) -> apsw.Connection:
        self.require_in_place()  # first: to open would make a file where there is none
        flags = apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE
        if not self.read_only and self._file == (0, 0):
            flags |= apsw.SQLITE_OPEN_CREATE
        errors.db = connection = self._open(self._place, flags)
        if self._file == (0, 0):
            self._file = self._found()
        try:
            self.require_in_place()
        except StoreError:
            connection.close()
            raise
        if self.read_only:
            connection = self._readable(connection)
        else:
            use_write_ahead_log(connection, BUSY_TIMEOUT_MS)
        for name, value in (*_PRAGMAS, ("synchronous", self.synchronous)):
            connection.pragma(name, value)
        connection.create_scalar_function(
            "doxa_instant", lambda *given: text_instant_key(*given), 1, deterministic=True
        )
        moment = self._moments[connection] = TransactionClock()
        connection.create_scalar_function(
            "doxa_now", lambda *_: moment.now, 0, deterministic=True
        )  # so it is asked once for each statement
        connection.create_scalar_function("doxa_seen", lambda *given: moment.is_seen(*given), 2)
        connection.create_scalar_function("doxa_shown", lambda *given: moment.shown_of(*given), 4)
        if self._prepared is not None:
            self._prepared(connection)
        return connection

    @staticmethod
    def _open(name: str, flags: int) -> apsw.Connection:
        connection = apsw.Connection(name, flags=flags, statementcachesize=_STATEMENTS_CACHED)
        connection.set_busy_handler(BusyBackoff())
        # plans do not depend on bound values, so a statement that is bound again keeps its plan
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        return connection

    def _readable(self, connection: apsw.Connection) -> apsw.Connection:
        """Reading takes a small file next to the database. Where none can be made (a read-only
        medium or folder) the file is opened as one that nobody changes; that is only right if the
        log next to it is empty."""
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
            return connection
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            connection.close()
            if os.access(Path(self._place).resolve().parent, os.W_OK):
                raise
        log = write_ahead_log_of(self._place)
        if log.exists() and log.stat().st_size:
            raise StoreError(
                f"{self.path} was not closed before its folder became read-only: changes are still"
                f" in {log}.",
                next_step="Copy both files to a folder you may write to, and open the copy.",
                path=self.path,
            )
        name = f"file:{quote(str(Path(self._place).resolve()))}?immutable=1"
        return self._open(name, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _let_go(connections: list[apsw.Connection]) -> list[apsw.Connection]:
    """In a forked child: close what the parent opened, and return what cannot be closed, to be kept
    unused.

    SQLite remembers per process which locks it holds. While an inherited connection is open, the
    child takes the parent's locks for its own; when the parent closes, the log is removed under the
    child and what the child wrote since is lost.
    """
    kept = []
    for connection in connections:
        try:
            if connection.in_transaction:
                kept.append(connection)  # closing would roll back the parent's transaction
                continue
            connection.config(
                apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1
            )  # the log is the parent's to empty
            connection.close()
        except apsw.Error:
            kept.append(connection)
    return kept


class BusyBackoff:
    """The busy handler of the connections: sleeps a random, growing time; gives up when the limit
    has passed by the clock. Writers wait elsewhere (`Engine.begin`).

    Random, so that writers started together do not march together. The engine counts the attempts
    of one wait from 0.
    """

    def __init__(
        self,
        *,
        limit_ms: int = BUSY_TIMEOUT_MS,
        now: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limit_s = limit_ms / 1000
        self._now, self._sleep = now, sleep
        self._until = 0.0

    def __call__(self, attempt: int) -> bool:
        now = self._now()
        if attempt == 0:
            self._until = now + self._limit_s
        if now >= self._until:
            return False
        wait = min(_WAIT_MOST_S, _WAIT_FIRST_S * 2 ** min(attempt, 8)) * random.uniform(0.5, 1.5)  # noqa: S311 - spreading load, not security
        self._sleep(min(wait, self._until - now))
        return True


def _close_all(connections: Sequence[apsw.Connection]) -> None:
    """Close connections, and leave one that a thread does not let go of to that thread."""
    began, waiting = time.monotonic(), list(connections)
    while waiting:
        left = []
        for one in waiting:
            try:
                one.close()
            except apsw.ThreadingViolationError:  # a thread is using it
                left.append(one)
        waited_s = time.monotonic() - began
        if waited_s > _CLOSE_S:
            return
        if waited_s > _CLOSE_KINDLY_S:
            for one in left:
                with suppress(apsw.ConnectionClosedError):
                    one.interrupt()
        if left:
            time.sleep(_CLOSE_STEP_S)
        waiting = left


class translated:
    """Convert the engine's exceptions to DoxaError in the block; any other passes unchanged. `db`
    is the connection that writes in it: it knows why the system refused."""

    __slots__ = ("_path", "db")

    def __init__(self, path: str, db: apsw.Connection | None = None) -> None:
        self._path, self.db = path, db

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, apsw.Error):
            found = _translation(error, self._path, self.db)
            if found is not None:
                try:
                    raise found from error
                finally:  # not a cycle with this frame: connections in it are freed at once
                    del found


def _translation(error: apsw.Error, path: str, db: apsw.Connection | None) -> DoxaError | None:
    if is_out_of_space(error, db):
        return DiskFullError(
            f"There is no space left for {path}; nothing of this change was written.",
            next_step="Free space on that disk, or raise the quota or the largest size of a file,"
            " then repeat the call.",
            path=path,
        )
    match error:
        case apsw.BusyError():
            return busy(path)
        case apsw.ConnectionClosedError():
            return closed(path)  # by another thread
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return _read_only(path)
        case apsw.CantOpenError():
            return _cannot_open(path)
        case apsw.CorruptError() | apsw.NotADBError():
            return CorruptError(
                f"{path} is damaged or is not a doxa file: {error}.",
                next_step=(
                    "Keep the file as it is, run `doxa doctor`, and restore the latest backup to a"
                    " new path with `doxa restore-backup`."
                ),
                path=path,
            )
        case apsw.IOError():
            return StoreError(
                f"The disk refused a read or write of {path}: {error}.",
                next_step="Check the disk, then repeat the call.",
                path=path,
            )
    return None


def closed(path: str = "") -> ClosedError:
    return ClosedError(
        "This memory is closed.", next_step="Open it again with doxa.open(path).", path=path
    )


def busy(path: str) -> BusyError:
    """Return the error to raise when the wait for other writers took too long."""
    return BusyError(
        f"Other writers kept {path} busy for {BUSY_TIMEOUT_MS / 1000:.0f} s; nothing was written.",
        next_step="Try again; if it stays busy, look for a process that holds a transaction open.",
        path=path,
    )


def usable_path(path: str | os.PathLike[str]) -> str:
    """Return the path as text. Raises StoreError for one that no system can name: the engine would
    not say which."""
    text = os.fspath(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        problem = "it is not valid Unicode"
    else:
        if "\0" not in text:
            return text
        problem = "it holds a NUL character"
    raise StoreError(
        f"{text!r} is not a usable path: {problem}.",
        next_step="Give the path of a file in an existing folder.",
        path=repr(text),
    )


def make_private(path: str) -> bool:
    """Create the file readable by its owner alone before anything is in it: its write-ahead log
    takes the same mode. Returns whether it was created here."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _FILE_MODE))
    except OSError:  # it exists, or opening it reports what is wrong with the path
        return False
    return True


def _read_only(path: str) -> ReadOnlyError:
    return ReadOnlyError(
        f"{path} cannot be written: the file or its folder is read-only.",
        next_step="Choose a folder you may write to. To read it, open it with read_only=True, as"
        " commands that only read do by themselves, and `doxa cypher --read`.",
        path=path,
    )


def _cannot_open(path: str) -> StoreError:
    folder = Path(path).resolve().parent
    if Path(path).is_file() and not os.access(path, os.R_OK):
        return StoreError(
            f"{path} cannot be read: it belongs to somebody else.",
            next_step="Ask its owner for the right to read it.",
            path=path,
        )
    if folder.exists() and not os.access(folder, os.W_OK):
        return _read_only(path)
    reason = (
        "it is a folder"
        if Path(path).is_dir()
        else "its folder does not exist"
        if not folder.exists()
        else "the system refused"
    )
    if folder.exists() and not Path(path).exists():
        reason = "the file does not exist"
    return StoreError(
        f"{path} cannot be opened: {reason}.",
        next_step="Give the path of a file in an existing folder that you may use.",
        path=path,
    )
