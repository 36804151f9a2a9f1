"""The tenants of a shared log as the databases of a server: a replica of each that is used.

Replicas are opened when they are first used. Beyond so many that are open, the one that was used
longest ago is closed; beyond so many bytes, files of closed ones are deleted, oldest use first: the
engine has what they held. What is in use stays.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from doxa.app import Memory
from doxa.app.care.shared import TenantDirectory
from doxa.base.errors import ConflictError, DoxaError, InputError, UnreachableError
from doxa.base.files.write_ahead import write_ahead_log_of
from doxa.base.limits import REPLICAS_BYTES_MAX, REPLICAS_OPEN_ITEMS_MAX
from doxa.servers.databases.folder import DatabaseFolder, _Opened
from doxa.servers.databases.names import check_database_name
from doxa.servers.memory import DATABASE

_LOG = logging.getLogger("doxa.serve")
_NAMES_S = 5.0
_ASKED_S = 0.25  # that a request waits for the engine
_SIDES = ("-wal", "-shm", ".heard")


class Evicted(NamedTuple):
    """What was closed and deleted, by the names of tenants."""

    closed: tuple[str, ...]
    deleted: tuple[str, ...]


class TenantFolder(DatabaseFolder):
    """The tenants of an engine, with their replicas in a folder. Thread-safe. A tenant whose name
    no database may have is not served."""

    def __init__(
        self,
        directory: TenantDirectory,
        open_memory: Callable[[str], Memory],
        *,
        open_max: int = REPLICAS_OPEN_ITEMS_MAX,
        bytes_max: int = REPLICAS_BYTES_MAX,
    ) -> None:
        """`open_memory` opens the replica of a tenant by its name."""
        self._directory, self._open_tenant = directory, open_memory
        self._open_max, self._bytes_max = open_max, bytes_max
        self._listed: tuple[float, list[str]] = -_NAMES_S, []
        self._asking = threading.Lock()
        self._evictions, self._is_evicting = 0, False  # asked for; whether a thread is at it
        self._asked: threading.Event | None = None  # while the engine is asked
        self._made: set[str] = set()  # meanwhile, which the answer may lack
        super().__init__(directory.folder, lambda path: open_memory(path.stem))

    def names(self) -> list[str]:
        """Return the names, the default database first; as they were seconds ago, while the engine
        does not answer as they were last."""
        at, known = self._listed
        if time.monotonic() - at >= _NAMES_S:
            begun, asked = self._ask()
            if begun or not known:
                asked.wait(_ASKED_S if known else None)
            known = self._listed[1]
        found = set(self._opened) if hasattr(self, "_opened") else set()
        for name in known:
            with suppress(InputError):
                if check_database_name(name) == name:
                    found.add(name)
        return sorted(found, key=lambda name: (name != DATABASE, name))

    def _ask(self) -> tuple[bool, threading.Event]:
        """Let a thread ask the engine, which may be silent for seconds, unless one does already.
        Return whether it began now, and what is set when it has ended."""
        with self._asking:
            if self._asked is not None:
                return False, self._asked
            asked = self._asked = threading.Event()
            self._made.clear()
        run = partial(self._ask_names, asked)
        try:
            threading.Thread(target=run, daemon=True).start()
        except RuntimeError:  # the system gives no more threads
            run()
        return True, asked

    def _ask_names(self, asked: threading.Event) -> None:
        known = self._listed[1]
        try:
            with suppress(DoxaError):
                known = self._directory.names()
        finally:
            with self._asking:
                self._listed = time.monotonic(), [*known, *self._made.difference(known)]
                self._asked = None
            asked.set()

    def _opened_by(self, mine: Future[None], name: str) -> _Opened:
        found = super()._opened_by(mine, name)
        self._evict_quietly(but=name)
        return found

    def leave(self, name: str) -> None:
        super().leave(name)
        if len(self._opened) > self._open_max:
            self._evict_quietly(but=name)

    def _evict_quietly(self, *, but: str = "") -> None:
        """Evict; what fails concerns other tenants than the caller's."""
        try:
            self.evict(but=but)
        except (DoxaError, OSError) as error:
            _LOG.warning("replicas beyond the limits stay: %s", error)

    def create(self, name: str, *, lenient: bool = False) -> bool:
        name = check_database_name(name)
        with self._alone(name):
            if self._directory.exists(name):
                if lenient:
                    return False
                raise ConflictError(
                    f"The tenant {name} exists already.",
                    next_step="Use CREATE DATABASE … IF NOT EXISTS, or another name.",
                    database=name,
                )
            try:
                self._directory.create(name)
            except ConflictError:  # another server made it meanwhile
                if lenient:
                    return False
                raise
        with self._asking:
            self._made.add(name)
            self._listed = -_NAMES_S, [*self._listed[1], name] if self._listed[1] else []
        return True

    def drop(self, name: str, *, lenient: bool = False, destroys: bool = False) -> bool:
        """Refuse: other servers may use the tenant."""
        raise InputError(
            "A server does not remove a tenant: other servers may use it.",
            next_step="Move it to another engine with `doxa tenants move`.",
            field="database",
        )

    def evict(self, *, but: str = "") -> Evicted:
        """Close and delete what is beyond the limits; not `but`, nor what is in use. If another
        thread is at it, that one looks once more."""
        with self._lock:
            self._evictions += 1
            if self._is_evicting:
                return Evicted((), ())
            self._is_evicting = True
        closed: list[str] = []
        deleted: list[str] = []
        looked = 0
        try:
            while True:
                with self._lock:
                    if looked == self._evictions:
                        self._is_evicting = False
                        return Evicted(tuple(closed), tuple(deleted))
                    looked = self._evictions
                closed += self._close_beyond(but)
                deleted += self._delete_beyond()
        except BaseException:
            with self._lock:
                self._is_evicting = False
            raise

    def _close_beyond(self, but: str) -> list[str]:
        with self._lock:
            kept = {but, *self._taken}  # who made or opens one gives it back
            idle = [name for name in self._opened if name not in kept and not self._users.get(name)]
            names = idle[: max(0, len(self._opened) - self._open_max)]
            leaving = [(name, self._opened.pop(name).memory) for name in names]
            for name in names:
                self._take(name)
        for name, memory in leaving:
            try:
                memory.close()
            except Exception as error:  # whatever it is: the others are closed, and given back
                _LOG.error("the replica of %s was not closed well: %s", name, error)
            finally:
                self._give_back(name)
        return names

    def _delete_beyond(self) -> list[str]:
        deleted = []
        files = {name: self._directory.file(name) for name in self._directory.known()}
        sizes = {name: _size(path) for name, path in files.items() if path.exists()}
        total = sum(sizes.values())
        for name in sorted(sizes, key=lambda name: _used(files[name])):
            if total <= self._bytes_max:
                break
            log = write_ahead_log_of(files[name])
            with self._lock:
                if name in self._opened or name in self._taken:
                    continue
                if log.exists() and log.stat().st_size:  # in another process
                    continue
                self._take(name)
            try:
                self._directory.withdraw(name)
                for path in (files[name], *(Path(f"{files[name]}{side}") for side in _SIDES)):
                    path.unlink(missing_ok=True)
            except UnreachableError:  # the file stays until the engine answers
                break
            finally:
                self._give_back(name)
            total -= sizes[name]
            deleted.append(name)
        return deleted

    def _exists(self, name: str) -> bool:
        return name in self.names() or self._directory.exists(name)

    def _open(self, name: str) -> Memory:
        self._directory.remember(name)
        return self._open_tenant(name)

    def _file(self, name: str) -> Path:
        return self._directory.file(name)


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in (path, write_ahead_log_of(path)) if one.exists())


def _used(path: Path) -> float:
    return max(one.stat().st_mtime for one in (path, Path(f"{path}.heard")) if one.exists())
