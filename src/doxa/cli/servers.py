"""The servers: `doxa mcp` for one agent over stdio, `doxa serve` for other programs over Bolt, HTTP
and MCP."""

from __future__ import annotations

import gc
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from doxa.cli.context import (
    Db,
    Json,
    Project,
    decay_enabled,
    errors_reported,
    project_named,
    project_said,
    user,
)
from doxa.cli.output import json_text
from doxa.cli.users import Users, credentials_of

if TYPE_CHECKING:
    from doxa.app import Memory
    from doxa.servers.bolt import BoltServer
    from doxa.servers.contract import Database, Mounted
    from doxa.servers.credentials import Credentials, Principal
    from doxa.servers.http import HttpServer
    from doxa.servers.mcp.http import McpServer

Port = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65_535,
        help="The port of --bolt, 7687 unless given; 0 takes a free one.",
        show_default=False,
    ),
]
HttpPort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65_535,
        help="The port of --http, 7474 unless given; 0 takes a free one.",
        show_default=False,
    ),
]
Bolt = Annotated[
    bool, typer.Option("--bolt", help="Serve Neo4j's drivers and tools by the Bolt protocol.")
]
Http = Annotated[
    bool, typer.Option("--http", help="Serve queries as JSON over HTTP, as Neo4j's Query API does.")
]
Mem0 = Annotated[
    bool, typer.Option("--mem0", help="Serve mem0's REST interface too, below /mem0 of HTTP.")
]
McpPort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65_535,
        help="The port of --mcp, 7475 unless given; 0 takes a free one.",
        show_default=False,
    ),
]
Mcp = Annotated[
    bool, typer.Option("--mcp", help="Serve agents by MCP over streamable HTTP, at /mcp.")
]
_PROFILE = "The tools of MCP: minimal (2), core (7) or full (one for every operation)."
Profile = Annotated[str, typer.Option(help=_PROFILE)]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Certificate = Annotated[
    Path | None, typer.Option(help="TLS: the certificate chain, PEM.", show_default=False)
]
Key = Annotated[
    Path | None, typer.Option(help="TLS: the key of the certificate, PEM.", show_default=False)
]
Plaintext = Annotated[
    bool,
    typer.Option(
        "--plaintext", help="Accept remote clients without TLS: something else encrypts the line."
    ),
]
Advertise = Annotated[
    str,
    typer.Option(help="The host:port in Bolt's routing tables, where clients need another one."),
]
NoLogin = Annotated[
    bool,
    typer.Option("--no-login", help="Let every program on this machine in, as operator."),
]
Timeout = Annotated[float | None, typer.Option(help="Seconds that one statement may take.")]
Csv = Annotated[
    Path | None,
    typer.Option("--csv", help="The folder that LOAD CSV may read.", show_default=False),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Serve a folder of databases, a file for each, or all tenants of a shared log by its"
        " URL, in place of one memory file.",
        show_default=False,
    ),
]
Bound = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        help="See and write this project alone; repeated, these.",
        show_default=False,
    ),
]
Log = Annotated[
    str,
    typer.Option(help="The log on standard error: text, of warnings; json, of each call too."),
]
Actor = Annotated[str, typer.Option(help="The agent's name in the log.")]
Conversation = Annotated[
    str,
    typer.Option(
        help="The name of this conversation in policies, as $_session (default: a new one)."
    ),
]
PrintConfig = Annotated[
    bool, typer.Option("--config", help="Print the entry for a host's list of servers, and exit.")
]


def mcp(
    project: Project = None,
    bound: Bound = None,
    actor: Actor = "agent",
    session: Conversation = "",
    profile: Profile = "core",
    config: PrintConfig = False,
    db: Db = None,
) -> None:
    if config:
        with errors_reported(False):
            project = project_said(project)
        entry = _host_entry(project, bound or [], actor, db, profile)
        sys.stdout.write(json_text(entry) + "\n")
        return
    from doxa.app import open_memory

    with errors_reported(False):
        try:
            from doxa.servers.mcp.stdio import serve_stdio
        except ImportError:
            raise _needs_mcp() from None
        from doxa import __version__
        from doxa.hosts.tool import HookTool
        from doxa.servers.mcp.tools import check_profile

        check_profile(profile)

        given, project = project_said(project), project_named(project)
        memory = open_memory(
            db, role="agent", actor=actor, project=project, decay_enabled=decay_enabled()
        )
        context = {"session": session or str(uuid.uuid4()), "agent": actor}
        own = project if not bound or project in bound else bound[0]
        made = memory.session(project=own, projects=bound or (), context=context)
        hooks = HookTool(made, project=own if bound else given, db=memory.config.path)
        serve_stdio(memory, made, version=__version__, profile=profile, hooks=hooks)


def _needs_mcp() -> Exception:
    from doxa.base.errors import InputError

    return InputError(
        "The MCP interface needs the extra mcp.",
        next_step="Install it where doxa is: pip install 'mcp>=2.3'",
        extra="mcp",
    )


def _host_entry(
    project: str, bound: list[str], actor: str, db: Path | None, profile: str
) -> dict[str, object]:
    """The entry of this server in the configuration of an MCP host."""
    where = ["--db", str(db.absolute())] if db else []
    only = [word for name in bound for word in ("--bound", name)]
    chosen = [] if profile == "core" else ["--profile", profile]
    how = [*only, "--actor", actor, *chosen, *where]
    args = ["-m", "doxa.cli", "mcp", "--project", project, *how]
    return {"mcpServers": {"memory": {"command": sys.executable, "args": args}}}


def serve(
    bolt: Bolt = False,
    http: Http = False,
    mcp: Mcp = False,
    mem0: Mem0 = False,
    host: Host = "127.0.0.1",
    port: Port = None,
    http_port: HttpPort = None,
    mcp_port: McpPort = None,
    profile: Annotated[str | None, typer.Option(help=_PROFILE, show_default=False)] = None,
    certificate: Certificate = None,
    key: Key = None,
    plaintext: Plaintext = False,
    advertise: Advertise = "",
    no_login: NoLogin = False,
    timeout: Timeout = None,
    csv: Csv = None,
    project: Project = None,
    users: Users = None,
    data: Data = None,
    log: Log = "text",
    db: Db = None,
    as_json: Json = False,
) -> None:
    with errors_reported(as_json):
        from doxa.cli.options import check_folder, milliseconds

        given = {
            "port": ("bolt", port),
            "advertise": ("bolt", advertise or None),
            "http-port": ("http", http_port),
            "mcp-port": ("mcp", mcp_port),
            "profile": ("mcp", profile),
            "mem0": ("http", mem0 or None),
        }
        _begin_log(log)
        _check_data(data, db, mcp=mcp, mem0=mem0)
        _check_interfaces({"bolt": bolt, "http": http, "mcp": mcp}, given)
        kinds = _kinds(bolt=bolt, http=http, mcp=mcp)  # every error before anything is opened
        if mcp:
            _check_profile(profile or "core")
        tls: dict[str, Any] = {"certificate": certificate, "key": key, "plaintext": plaintext}
        shared = _given(host=host, timeout_ms=milliseconds(timeout), **tls)
        own: dict[str, dict[str, Any]] = {
            "bolt": {"port": port, "advertised": advertise},
            "http": {"port": http_port, "mem0": mem0 or None},
            "mcp": {"port": mcp_port, "profile": profile},
        }
        options = {name: shared | _given(**own[name]) for name in kinds}
        options.get("mcp", {}).pop("timeout_ms", None)  # of statements, which agents only read with
        known = None if no_login else credentials_of(users or _users_in(data), db)
        count = len(known.users()) if known else 0
        memory = {
            "role": "operator",
            "actor": user(),
            "project": project_named(project),
            "csv_folder": check_folder(csv),
            "decay_enabled": decay_enabled(),
        }
        _serve(
            kinds,
            options,
            lambda: _databases(data, memory) if data else _file(db, memory),
            known,
            lambda path: _Ready(path, known, count, as_json).show,
        )


def _begin_log(form: str) -> None:
    from doxa.base.errors import InputError
    from doxa.servers.telemetry.logs import log_as_json

    if form not in ("text", "json"):
        raise InputError(
            f"There is no log {form[:40]!r}.", next_step="Use text or json.", field="log"
        )
    if form == "json":
        log_as_json()


def _check_profile(profile: str) -> None:
    from doxa.servers.mcp.tools import check_profile

    check_profile(profile)


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _serve(
    kinds: dict[str, Callable[..., BoltServer | HttpServer | McpServer]],
    options: dict[str, dict[str, Any]],
    opened: Callable[[], AbstractContextManager[Served]],
    known: Credentials | None,
    ready: Callable[[Path], Callable[[dict[str, str]], None]],
) -> None:
    """Open what is served, and serve it until interrupted."""
    from doxa import __version__
    from doxa.app.care.service import SettingsFollower
    from doxa.servers.credentials import throttled
    from doxa.servers.listening import serve as serve_all
    from doxa.servers.service.deadline import StopDeadline
    from doxa.servers.telemetry.exporting import begin_export
    from doxa.settings import configuration

    throttle = throttled(known)  # one for all interfaces: wrong passwords count together
    for name in options.keys() & {"http", "mcp"}:
        options[name]["version"] = __version__
    settings = SettingsFollower()
    otel = configuration().get("telemetry.otel")
    end_export = begin_export(__version__, *((otel.name, otel.text) if otel else ("", "")))
    with StopDeadline() as deadline:
        with opened() as served:
            database = served.database
            if options.get("http", {}).pop("mem0", False):
                options["http"]["mounts"] = {"mem0": _mem0(database)}
            made = {name: kind(database, throttle, **options[name]) for name, kind in kinds.items()}
            show = ready(served.path)

            def listening() -> None:
                _collect_less_often()
                show({name: one.uri for name, one in made.items()})

            serve_all(
                *made.values(),
                ready=listening,
                reload=lambda: str(settings.reload(served.memories())),
                deadline=deadline,
            )
        end_export()


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
    from doxa.app.shared import is_shared

    return _tenants(data, options) if is_shared(data) else _folder(data, options)


@contextmanager
def _tenants(url: Path, options: dict[str, Any]) -> Iterator[Served]:
    """The tenants of a shared log."""
    from doxa.app import open_memory
    from doxa.app.shared import TenantDirectory
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


def _users_in(data: Path | None) -> Path | None:
    """The file of users of a folder of databases."""
    if data is None:
        return None
    from doxa.app.shared import TenantDirectory, is_shared

    if is_shared(data):
        directory = TenantDirectory(str(data))
        directory.close()
        data = directory.folder
    data.mkdir(parents=True, exist_ok=True, mode=0o700)
    return data / "users.json"


def _check_data(data: Path | None, db: Path | None, *, mcp: bool, mem0: bool) -> None:
    from doxa.base.errors import InputError

    if data is not None and (mcp or mem0):
        raise InputError(
            f"{'--mcp' if mcp else '--mem0'} serves one memory file, not a folder of databases.",
            next_step="Give --db, and one server for each file.",
            field="command line",
        )

    if data is not None and db is not None:
        raise InputError(
            "--data serves a folder and --db one file.",
            next_step="Give one of them.",
            field="command line",
        )


def _check_interfaces(
    interfaces: dict[str, bool], options: Mapping[str, tuple[str, object]]
) -> None:
    """Check that an interface is named, and that no option is for another one."""
    from doxa.base.errors import InputError

    if not any(interfaces.values()):
        raise InputError(
            "No interface is named.",
            next_step="Give --bolt, --http, --mcp or several.",
            field="command line",
        )
    for option, (interface, value) in options.items():
        if value is not None and not interfaces[interface]:
            raise InputError(
                f"--{option} is for --{interface}, which is not served.",
                next_step=f"Give --{interface} too, or leave --{option} out.",
                field="command line",
            )


def _kinds(
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
            raise _needs_mcp() from None
        found["mcp"] = memory_http_server
    return found


class _Ready(NamedTuple):
    """What is printed when it listens, so that a program that started it can connect."""

    path: Path
    known: Credentials | None
    logins: int
    as_json: bool

    def show(self, addresses: dict[str, str]) -> None:
        known, count = self.known, self.logins
        if self.as_json:
            sys.stdout.write(
                json_text(
                    addresses
                    | {"db": str(self.path), "users": None if known is None else str(known.path)}
                )
                + "\n"
            )
        else:
            who = (
                f"{count} login{'' if count == 1 else 's'} in {known.path}" if known else "no login"
            )
            several = len(addresses) > 1
            sys.stdout.write(
                f"{' and '.join(addresses.values())} serve{'' if several else 's'} {self.path}"
                f" ({who}); interrupt to stop\n"
            )
        sys.stdout.flush()
        if known and not count:
            sys.stderr.write(
                f"doxa: nobody can log in yet: doxa users add NAME; the file is {known.path}\n"
            )
