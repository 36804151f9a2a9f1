"""What `doxa serve` does in a process: open the memory, make servers, and serve until stopped."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from doxa.base.errors import NO_SPACE
from doxa.cli.output import json_text

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.servers.bolt import BoltServer
    from doxa.servers.contract import Database, Mounted
    from doxa.servers.credentials import Credentials, Principal
    from doxa.servers.http import HttpServer
    from doxa.servers.mcp.http import McpServer
    from doxa.servers.prefork.worker import Worker


class ServePlan(NamedTuple):
    """What to serve, as the command line said it; JSON can hold it. `options` are those of each
    interface, `memory` those of opening."""

    options: Mapping[str, Mapping[str, Any]]
    db: str | None
    data: str | None
    users: str | None
    memory: Mapping[str, Any]
    log: str
    as_json: bool


def serve_plan(plan: ServePlan, worker: Worker | None = None) -> None:
    """Open what is served, and serve it until interrupted, as one of several workers if there are
    several."""
    from doxa import __version__
    from doxa.app.care.service import SettingsFollower
    from doxa.servers.listening import serve as serve_all
    from doxa.servers.service.deadline import StopDeadline
    from doxa.servers.service.notify import ServiceManager
    from doxa.servers.telemetry.exporting import begin_export
    from doxa.settings import configuration

    _begin_log(plan.log, worker)
    known = _credentials(plan)
    count = len(known.users()) if known else 0
    throttle = _throttle(known, worker)  # one for all interfaces: wrong passwords count together
    options = {name: dict(one) for name, one in plan.options.items()}
    if worker is not None and worker.number > 1:
        options.pop("mcp", None)  # its sessions live in one process
    for name in options.keys() & {"http", "mcp"}:
        options[name]["version"] = __version__
    manager = None if worker is None else ServiceManager({})  # the supervisor speaks to it
    settings = SettingsFollower()
    otel = configuration().get("telemetry.otel")
    end_export = begin_export(__version__, *((otel.name, otel.text) if otel else ("", "")))
    kinds = kinds_of(**{name: name in options for name in ("bolt", "http", "mcp")})
    with StopDeadline() as deadline:
        with _opened(plan) as served:
            database = served.database
            if options.get("http", {}).pop("mem0", False):
                options["http"]["mounts"] = {"mem0": _mem0(database)}
            share = {} if worker is None else {"share": worker}
            made = {
                name: kind(database, throttle, **options[name], **share)
                for name, kind in kinds.items()
            }
            if worker is not None:
                _join(worker, served)

            def listening() -> None:
                _collect_less_often()
                addresses = {name: one.uri for name, one in made.items()}
                if worker is None:
                    Ready(served.path, known, count, plan.as_json).show(addresses)
                else:
                    worker.ready(addresses, str(served.path))
                    if worker.number == 1:
                        worker.embed_when_written(lambda: _embed(served))

            serve_all(
                *made.values(),
                ready=listening,
                reload=lambda: str(settings.reload(served.memories())),
                manager=manager,
                deadline=deadline,
                control=worker,
            )
        end_export()


def _begin_log(form: str, worker: Worker | None) -> None:
    from doxa.servers.telemetry.logs import log_as_json, log_as_text

    number = 0 if worker is None else worker.number
    if form == "json":
        log_as_json(number)
    elif number:
        log_as_text(number)


def _credentials(plan: ServePlan) -> Credentials | None:
    from doxa.servers.credentials import Credentials

    return None if plan.users is None else Credentials(plan.users)


def _throttle(known: Credentials | None, worker: Worker | None) -> Any:
    """Return the logins with a throttle, whose counts are those of all workers."""
    from doxa.servers.credentials import PARALLEL_LOGINS, LoginThrottle, throttled

    if known is None or worker is None:
        return throttled(known)
    from doxa.servers.prefork.state import FailuresElsewhere

    failures = FailuresElsewhere(worker.calls.from_thread)
    return LoginThrottle(known, failures, parallel=worker.part(PARALLEL_LOGINS))


def _join(worker: Worker, served: Served) -> None:
    """Let a memory that several processes serve know of the others."""
    from doxa.base.errors import InputError
    from doxa.servers.prefork.transactions import share_transactions

    (memory,) = served.memories()
    if memory.config.shared is not None:
        raise InputError(
            "Several workers serve a memory file, not the replica of a shared log.",
            next_step="Leave --workers out, or serve a replica in each process.",
            field="workers",
        )
    if worker.number > 1:
        memory.embeds_elsewhere = worker.written
    share_transactions(memory.queries.transactions, worker)


def _embed(served: Served) -> None:
    for memory in served.memories():
        if memory.pending():
            memory.wake()


_COLLECT_AFTER_OBJECTS = 20_000


def _collect_less_often() -> None:
    """Leave what is loaded now out of garbage collection, and collect less often: at the default of
    700 objects the collector took an eighth of the time of small statements."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER_OBJECTS, *gc.get_threshold()[1:])


def _mem0(database: Any) -> Callable[[Principal], Mounted]:
    """mem0's interface over the session of each request's principal."""
    from doxa.adapters.mem0 import Mem0Memory
    from doxa.adapters.mem0_rest import Mem0Rest

    return lambda principal: Mem0Rest(Mem0Memory(database.session_of(principal)))


class Served(NamedTuple):
    """What is served, where it is, and the memories that are open."""

    database: Database
    path: Path
    memories: Callable[[], list[Memory]]


def _opened(plan: ServePlan) -> AbstractContextManager[Served]:
    memory = dict(plan.memory)
    if memory["csv_folder"] is not None:
        memory["csv_folder"] = Path(memory["csv_folder"])
    if plan.data is not None:
        return _databases(Path(plan.data), memory)
    return _file(None if plan.db is None else Path(plan.db), memory)


@contextmanager
def _file(db: Path | None, options: dict[str, Any]) -> Iterator[Served]:
    """One memory file, as a database."""
    from doxa.app import open_memory
    from doxa.servers.memory import MemoryDatabase

    memory = open_memory(db, **options)
    try:
        yield Served(MemoryDatabase(memory), memory.config.path, lambda: [memory])
    finally:
        _close(memory)


def _databases(data: Path, options: dict[str, Any]) -> AbstractContextManager[Served]:
    from doxa.app.care.shared import is_shared

    return _tenants(data, options) if is_shared(data) else _folder(data, options)


@contextmanager
def _tenants(url: Path, options: dict[str, Any]) -> Iterator[Served]:
    """The tenants of a shared log."""
    from doxa.app import open_memory
    from doxa.app.care.shared import TenantDirectory
    from doxa.servers.databases.service import FolderService
    from doxa.servers.databases.tenants import TenantFolder

    directory = TenantDirectory(str(url))
    found = TenantFolder(
        directory, lambda tenant: open_memory(directory.url, tenant=tenant, **options)
    )
    try:
        yield Served(FolderService(found), found.path, lambda: [one for _, one in found.memories()])
    finally:
        found.close(_close)
        directory.close()


@contextmanager
def _folder(folder: Path, options: dict[str, Any]) -> Iterator[Served]:
    """A folder of databases."""
    from doxa.app import open_memory
    from doxa.servers.databases.folder import DatabaseFolder
    from doxa.servers.databases.service import FolderService

    found = DatabaseFolder(folder, lambda path: open_memory(path, **options))
    try:
        yield Served(FolderService(found), found.path, lambda: [one for _, one in found.memories()])
    finally:
        found.close(_close)


def _close(memory: Memory) -> None:
    from doxa.app.care.service import close_within
    from doxa.base.limits import SERVE_FLUSH_MS

    close_within(memory, SERVE_FLUSH_MS)


def needs_mcp() -> Exception:
    from doxa.base.errors import InputError

    return InputError(
        "The MCP interface needs the extra mcp.",
        next_step="Install it where doxa is: pip install 'mcp>=2.3'",
        extra="mcp",
    )


def kinds_of(
    *, bolt: bool, http: bool, mcp: bool
) -> dict[str, Callable[..., BoltServer | HttpServer | McpServer]]:
    from doxa.base.errors import InputError

    found: dict[str, Callable[..., BoltServer | HttpServer | McpServer]] = {}
    if bolt:
        from doxa.servers.bolt import BoltServer

        found["bolt"] = BoltServer
    if http:
        try:
            from doxa.servers.http import HttpServer
        except ImportError:
            step = "Install it where doxa is: pip install 'starlette>=1' 'uvicorn>=0.54'"
            raise InputError(
                "The HTTP interface needs the extra http.", next_step=step, extra="http"
            ) from None
        found["http"] = HttpServer
    if mcp:
        try:
            from doxa.servers.mcp.http import memory_http_server
        except ImportError:
            raise needs_mcp() from None
        found["mcp"] = memory_http_server
    return found


class Ready(NamedTuple):
    """What is printed when it listens, so that a program that started it can connect."""

    path: Path
    known: Credentials | None
    logins: int
    as_json: bool

    def show(self, addresses: dict[str, str]) -> None:
        known, count = self.known, self.logins
        if self.as_json:
            text = json_text(
                addresses
                | {"db": str(self.path), "users": None if known is None else str(known.path)}
            )
        else:
            who = (
                f"{count} login{'' if count == 1 else 's'} in {known.path}" if known else "no login"
            )
            several = len(addresses) > 1
            text = (
                f"{' and '.join(addresses.values())} serve{'' if several else 's'} {self.path}"
                f" ({who}); interrupt to stop"
            )
        _say(sys.stdout, text)
        if known and not count:
            text = f"doxa: nobody can log in yet: doxa users add NAME; the file is {known.path}"
            _say(sys.stderr, text)


def _say(stream: TextIO, text: str) -> None:
    """Print a line, unless the disk that it goes to is full: the server listens all the same."""
    try:
        stream.write(text + "\n")
        stream.flush()
    except OSError as error:
        if error.errno not in NO_SPACE:
            raise
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())  # what is left in its buffer would fail at the end again
        os.close(null)
