"""A folder of databases, each a memory file of its own: nothing but the folder is shared.

    <folder>/<name>.db                      a database
    <folder>/<name>.db.dropped-<time>       what DROP DATABASE without DESTROY DATA leaves

Files are opened when they are first used, one by one: who wants another database does not wait for
one whose file, or whose engine, is slow. A database that anybody has open is not dropped.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from doxa.app import Memory
from doxa.base.clock import SystemClock, format_time
from doxa.base.errors import (
    ClosedError,
    ConflictError,
    InputError,
    LimitError,
    NotFoundError,
    StoreError,
)
from doxa.base.files.places import hooks_folder, imports_folder, mark_of_replica, signals_folder
from doxa.base.limits import DATABASES_ITEMS_MAX
from doxa.servers.credentials import Principal
from doxa.servers.databases.names import SUFFIX, check_database_name
from doxa.servers.memory import DATABASE, MemoryDatabase

_SIDES = ("-wal", "-shm")
# what belongs to a memory file and stands next to it: before it goes, so that what is cut short is
# done again
_BESIDE = (
    mark_of_replica(Path("x")).name[1:],
    *(f"{kind}{side}" for kind in (".spend", ".working") for side in ("", *_SIDES, "-journal")),
    hooks_folder(Path("x")).name[1:],
    imports_folder(Path("x")).name[1:],
    signals_folder(Path("x")).name[1:],
)


class _Opened(NamedTuple):
    memory: Memory
    database: MemoryDatabase


class DatabaseFolder:
    """The databases of a folder, which is made if it is not there. Thread-safe."""

    def __init__(self, path: str | os.PathLike[str], open_memory: Callable[[Path], Memory]) -> None:
        """`open_memory` opens a file, or creates it."""
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise StoreError(
                f"{self.path} cannot be used as a folder: {error.strerror}.",
                next_step="Give the path of a folder that you may write to.",
                path=str(self.path),
            ) from None
        self._open_memory = open_memory
        self._prepare()

    def _prepare(self) -> None:
        self._lock = threading.RLock()
        self._opened: dict[str, _Opened] = {}
        self._users: dict[str, int] = {}  # sessions by database
        self._taken: dict[str, Future[None]] = {}  # while one thread opens or closes a database
        self._closed = False
        if not self._file(DATABASE).exists():
            self.create(DATABASE, lenient=True)

    def names(self) -> list[str]:
        """Return the names, the default database first."""
        found = []
        for entry in os.scandir(self.path):
            name = entry.name.removesuffix(SUFFIX)
            if name == entry.name or not entry.is_file(follow_symlinks=False):
                continue
            with suppress(InputError):
                if check_database_name(name) == name:
                    found.append(name)
        return sorted(found, key=lambda name: (name != DATABASE, name))

    def names_for(self, principal: Principal) -> list[str]:
        """Return the names of those that a principal may use, its default first."""
        return [name for name in self.names() if principal.may_use(name)]

    def database(self, name: str) -> MemoryDatabase:
        """Return a database, opened if need be. Raises NotFoundError if it does not exist."""
        while True:
            with self._lock:
                held = self._opened.pop(name, None)
                if held is not None:
                    self._opened[name] = held  # the last one is the last used
                    return held.database
                taken = self._taken.get(name)
                mine = self._take(name) if taken is None else None
            if mine is not None:
                return self._opened_by(mine, name).database
            assert taken is not None
            taken.result()  # raises what opening it raised

    def _opened_by(self, mine: Future[None], name: str) -> _Opened:
        """Open a database that this thread has taken. Those that wait get the same error."""
        try:
            if not self._exists(name):
                raise _unknown(name)
            memory = self._open(name)
            held = _Opened(memory, MemoryDatabase(memory, name=name, known=self.names_for))
            with self._lock:
                is_late = self._closed
                if not is_late:
                    self._opened[name] = held
            if is_late:
                memory.close()
                raise ClosedError("The server is stopping.", next_step="Try again later.")
        except BaseException as error:
            self._give_back(name, error)
            raise
        self._give_back(name)
        return held

    def _take(self, name: str) -> Future[None]:
        """Let others wait for what this thread does to a database, until `_give_back`."""
        found: Future[None] = Future()
        self._taken[name] = found
        return found

    def _give_back(self, name: str, error: BaseException | None = None) -> None:
        """Let those go on that wait for a database; with an error, they get it."""
        with self._lock:
            taken = self._taken.pop(name)
        if error is None:
            taken.set_result(None)
        else:
            taken.set_exception(error)

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        """Take a database for the block, as soon as nobody else has it."""
        while True:
            with self._lock:
                taken = self._taken.get(name)
                if taken is None:
                    self._take(name)
                    break
            wait((taken,))
        try:
            yield
        finally:
            self._give_back(name)

    def _exists(self, name: str) -> bool:
        return name in self.names()

    def _open(self, name: str) -> Memory:
        return self._open_memory(self._file(name))

    @contextmanager
    def using(self, name: str) -> Iterator[MemoryDatabase]:
        """Count a user of a database in the block."""
        found = self.enter(name)
        try:
            yield found
        finally:
            self.leave(name)

    def enter(self, name: str) -> MemoryDatabase:
        """Count a user of a database, who must `leave`."""
        with self._lock:
            self._users[name] = self._users.get(name, 0) + 1
        try:
            return self.database(name)
        except BaseException:
            self.leave(name)
            raise

    def leave(self, name: str) -> None:
        with self._lock:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name]

    def create(self, name: str, *, lenient: bool = False) -> bool:
        """Create a database. False if it exists and `lenient` is set; else ConflictError."""
        name = check_database_name(name)
        with self._alone(name):
            with self._lock:
                known = self.names()
                coming = len(self._taken.keys() - set(known))
            if name in known:
                if lenient:
                    return False
                raise ConflictError(
                    f"The database {name} exists already.",
                    next_step="Use CREATE DATABASE … IF NOT EXISTS, or another name.",
                    database=name,
                )
            if len(known) + coming > DATABASES_ITEMS_MAX:
                raise LimitError(
                    f"A folder holds up to {DATABASES_ITEMS_MAX:,} databases.",
                    next_step="Serve another folder for more.",
                    items_max=DATABASES_ITEMS_MAX,
                )
            self._open_memory(self._file(name)).close()
            return True

    def drop(self, name: str, *, lenient: bool = False, destroys: bool = False) -> bool:
        """Take a database away. Without `destroys` its file is kept under a name that is not a
        database's. False if it is not there and `lenient` is set; else NotFoundError. Raises
        ConflictError for the default database, and while anybody uses it."""
        name = check_database_name(name)
        with self._lock:
            if name not in self.names():
                if lenient:
                    return False
                raise _unknown(name)
            if name == DATABASE:
                raise ConflictError(
                    f"{name} is the default database and stays.",
                    next_step="Stop the server to move its file.",
                    database=name,
                )
            if self._users.get(name) or name in self._taken:
                users = self._users.get(name, 1)
                raise ConflictError(
                    f"The database {name} is in use by {users} open sessions.",
                    next_step="Wait until their transactions have ended.",
                    database=name,
                )
            held = self._opened.pop(name, None)
            self._take(name)
        try:
            if held is not None:
                held.memory.close()
            self._take_away(name, destroys=destroys)
        finally:
            self._give_back(name)
        return True

    def _take_away(self, name: str, *, destroys: bool) -> None:
        file = self._file(name)
        for (
            side
        ) in _SIDES:  # what a closed file leaves is empty; another process would have content
            log = file.with_name(file.name + side)
            if side == "-wal" and log.exists() and log.stat().st_size:
                raise ConflictError(
                    f"Another process has the database {name} open.",
                    next_step="Close it there first.",
                    database=name,
                )
            with suppress(FileNotFoundError):
                log.unlink()
        stamp = format_time(SystemClock().now_ns()).translate(dict.fromkeys(map(ord, ":-.")))
        for path in [file.with_name(file.name + end) for end in (*_BESIDE, "")]:
            if not path.exists():
                continue
            if not destroys:  # a database of the same name must not find the files of this one
                end = path.name.removeprefix(file.name)
                path.rename(file.with_name(f"{file.name}.dropped-{stamp}{end}"))
            elif path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def memories(self) -> list[tuple[str, Memory]]:
        """Return the memories that are open, by name."""
        with self._lock:
            return [(name, held.memory) for name, held in self._opened.items()]

    def close(self, end: Callable[[Memory], None] = Memory.close) -> None:
        """Close every memory, by `end`. What is just being opened is closed by who opens it, and
        what is being closed is waited for."""
        with self._lock:
            self._closed = True
            taken = list(self._taken.values())
        wait(taken)
        with self._lock, ExitStack() as stack:
            while self._opened:
                stack.callback(end, self._opened.popitem()[1].memory)

    def _file(self, name: str) -> Path:
        return self.path / f"{check_database_name(name)}{SUFFIX}"


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(
        f"Unknown database {name[:80]!r}.",
        next_step="List them with SHOW DATABASES.",
        database=name,
    )
