"""The servers: `doxa mcp` for one agent over stdio, `doxa serve` for other programs over Bolt, HTTP
and MCP."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

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
from doxa.cli.serving import ServePlan, kinds_of, needs_mcp, serve_plan
from doxa.cli.users import Users, credentials_of

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
Workers = Annotated[
    int,
    typer.Option(help="How many processes serve the memory; limits are counted over all of them."),
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
        if find_spec("mcp") is None:
            raise needs_mcp()
        from doxa import __version__
        from doxa.hosts.tool import HookTool
        from doxa.servers.mcp.handshake import Handshake, first_lines
        from doxa.servers.mcp.tools import profile_of

        tools = [tool.listed for tool in profile_of(profile).tools]
        given, project = project_said(project), project_named(project)
        memory = open_memory(
            db, role="agent", actor=actor, project=project, decay_enabled=decay_enabled()
        )
        context = {"session": session or str(uuid.uuid4()), "agent": actor}
        own = project if not bound or project in bound else bound[0]
        made = memory.session(project=own, projects=bound or (), context=context)
        hooks = HookTool(made, project=own if bound else given, db=memory.config.path)
        first = first_lines(Handshake(tools, version=__version__))
        first.start()
        try:
            from doxa.servers.mcp.stdio import serve_stdio
        except ImportError:
            raise needs_mcp() from None
        serve_stdio(memory, made, first, version=__version__, profile=profile, hooks=hooks)


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
    workers: Workers = 1,
    db: Db = None,
    as_json: Json = False,
) -> None:
    with errors_reported(as_json):
        from doxa.cli.options import check_folder, milliseconds
        from doxa.servers.service.hangups import hold_hangups

        hold_hangups()
        given = {
            "port": ("bolt", port),
            "advertise": ("bolt", advertise or None),
            "http-port": ("http", http_port),
            "mcp-port": ("mcp", mcp_port),
            "profile": ("mcp", profile),
            "mem0": ("http", mem0 or None),
        }
        _check_processes(log, workers, data)
        _check_data(data, db, mcp=mcp, mem0=mem0)
        _check_interfaces({"bolt": bolt, "http": http, "mcp": mcp}, given)
        kinds = kinds_of(bolt=bolt, http=http, mcp=mcp)  # every error before anything is opened
        if mcp:
            _check_profile(profile or "core")
        tls = {"certificate": _text(certificate), "key": _text(key), "plaintext": plaintext}
        shared = _given(host=host, timeout_ms=milliseconds(timeout), **tls)
        own: dict[str, dict[str, Any]] = {
            "bolt": {"port": port, "advertised": advertise},
            "http": {"port": http_port, "mem0": mem0 or None},
            "mcp": {"port": mcp_port, "profile": profile},
        }
        options = {name: shared | _given(**own[name]) for name in kinds}
        options.get("mcp", {}).pop("timeout_ms", None)  # of statements, which agents only read with
        known = None if no_login else credentials_of(users or _users_in(data), db)
        plan = ServePlan(
            options=options,
            db=_text(db),
            data=_text(data),
            users=None if known is None else str(known.path),
            memory={
                "role": "operator",
                "actor": user(),
                "project": project_named(project),
                "csv_folder": _text(check_folder(csv)),
                "decay_enabled": decay_enabled(),
            },
            log=log,
            as_json=as_json,
        )
        _carry_out(plan, workers)


def _carry_out(plan: ServePlan, workers: int) -> None:
    if workers == 1:
        serve_plan(plan)
        return
    from doxa.cli.workers import serve_with_workers

    code = serve_with_workers(plan, workers)
    if code:
        raise SystemExit(code)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _check_processes(log: str, workers: int, data: Path | None) -> None:
    _check_log(log)
    _check_workers(workers, data)


def _check_log(form: str) -> None:
    from doxa.base.errors import InputError

    if form not in ("text", "json"):
        raise InputError(
            f"There is no log {form[:40]!r}.", next_step="Use text or json.", field="log"
        )


def _check_workers(workers: int, data: Path | None) -> None:
    from doxa.base.errors import InputError
    from doxa.base.limits import WORKERS_ITEMS_MAX

    if not 1 <= workers <= WORKERS_ITEMS_MAX:
        raise InputError(
            f"A server has 1 to {WORKERS_ITEMS_MAX} workers, not {workers}.",
            next_step="Give about as many as there are processors.",
            field="workers",
        )
    if workers > 1 and data is not None:
        raise InputError(
            "Several workers serve one memory file, not a folder of databases: each would have to"
            " know which databases the others use before one is dropped.",
            next_step="Give --db, or leave --workers out.",
            field="workers",
        )


def _check_profile(profile: str) -> None:
    from doxa.servers.mcp.tools import check_profile

    check_profile(profile)


def _given(**options: Any) -> dict[str, Any]:
    """The options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def _users_in(data: Path | None) -> Path | None:
    """The file of users of a folder of databases."""
    if data is None:
        return None
    from doxa.app.care.shared import TenantDirectory, is_shared

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
