"""`doxa ui`: the page for people, in a browser. It starts a server, or uses the one that serves
this memory already, and prints a link that works once."""

from __future__ import annotations

import json
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import Db, Project, decay_enabled, errors_reported, project_named, user
from doxa.cli.users import Users, credentials_of

if TYPE_CHECKING:
    from doxa.servers.credentials import Credentials

Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        min=0,
        max=65_535,
        help="The port of the server, 7474 unless given or taken; 0 takes a free one.",
        show_default=False,
    ),
]
Role = Annotated[str, typer.Option("--role", help="What the page may do: operator or agent.")]
Bound = Annotated[
    list[str] | None,
    typer.Option(
        "--bound",
        help="See and write this project alone; repeated, these.",
        show_default=False,
    ),
]
Quiet = Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")]
_LABEL, _DAYS, _WAIT_S = "doxa ui", 1, 3


def ui(
    port: Port = None,
    role: Role = "operator",
    bound: Bound = None,
    no_open: Quiet = False,
    project: Project = None,
    users: Users = None,
    db: Db = None,
) -> None:
    with errors_reported(False):
        show_page(
            db,
            port=port,
            role=role,
            bound=bound or (),
            opens=not no_open,
            project=project_named(project),
            users=users,
        )


def show_page(
    db: Path | None,
    *,
    project: str,
    port: int | None = None,
    role: str = "operator",
    bound: Sequence[str] = (),
    opens: bool = True,
    users: Path | None = None,
) -> None:
    """Show the page of a memory: by the server that serves it, or by one that runs until it is
    interrupted."""
    from doxa.base.errors import InputError

    try:
        from doxa.servers.http import PORT
    except ImportError:
        step = "Install it where doxa is: pip install 'starlette>=1' 'uvicorn>=0.54'"
        raise InputError("The page needs the extra http.", next_step=step, extra="http") from None
    if role not in ("operator", "agent"):
        raise InputError(
            f"{role!r:.40} is not a role of a login.",
            next_step="Give operator or agent.",
            field="role",
        )
    known = credentials_of(users, db)
    asked = PORT if port is None else port
    link = _link_of_running(known, asked, role, bound) if asked else None
    if link is not None:
        _show(link, opens=opens)
        return
    _serve(db, known, asked, role, bound, project, opens=opens, exact=port is not None)


def _serve(
    db: Path | None,
    known: Credentials,
    port: int,
    role: str,
    bound: Sequence[str],
    project: str,
    *,
    opens: bool,
    exact: bool,
) -> None:
    from doxa import __version__
    from doxa.app import open_memory
    from doxa.servers.credentials import Principal
    from doxa.servers.http import HttpServer
    from doxa.servers.listening import serve as serve_all
    from doxa.servers.memory import MemoryDatabase

    options: dict[str, Any] = {"actor": user(), "project": project}
    with open_memory(db, role="operator", decay_enabled=decay_enabled(), **options) as memory:
        database = MemoryDatabase(memory, project=project)
        number = port if exact or _is_free(port) else 0
        server = HttpServer(database, known, port=number, version=__version__)
        principal = Principal(user(), role, tuple(bound))  # type: ignore[arg-type]  # checked above

        def ready() -> None:
            sys.stdout.write(f"{server.uri} serves {memory.config.path}; interrupt to stop\n")
            _show(server.session_link(principal), opens=opens)

        serve_all(server, ready=ready)


def _show(link: str, *, opens: bool) -> None:
    sys.stdout.write(f"Open this link, once, within two minutes: {link}\n")
    sys.stdout.flush()
    if opens:
        webbrowser.open(link)


def _is_free(port: int) -> bool:
    import socket

    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _link_of_running(known: Credentials, port: int, role: str, bound: Sequence[str]) -> str | None:
    """Return a link of the server that listens on a port, if it has the same file of users, and so
    the same memory: a token that is added to this file for a day opens it."""
    if _is_free(port):
        return None
    name = user()
    _forget_tokens(known, name)
    token = known.add_token(name, role=role, label=_LABEL, projects=bound, days=_DAYS)  # type: ignore[arg-type]  # checked by the caller
    path = _asked(port, token)
    if path is None:
        _forget_tokens(known, name)
        return None
    return f"http://127.0.0.1:{port}{path}"


def _forget_tokens(known: Credentials, name: str) -> None:
    from doxa.base.errors import NotFoundError

    try:
        known.remove(name, label=_LABEL)
    except NotFoundError:
        return


def _asked(port: int, token: str) -> str | None:
    """Ask a server for a link; None where it is another program, or serves another memory."""
    import http.client

    line = http.client.HTTPConnection("127.0.0.1", port, timeout=_WAIT_S)
    try:
        line.request("POST", "/v1/session/links", headers={"Authorization": f"Bearer {token}"})
        reply = line.getresponse()
        data = reply.read(4_096)
        if reply.status != 201:
            return None
        path = json.loads(data)["path"]
        return path if isinstance(path, str) and path.startswith("/v1/session/open?") else None
    except (OSError, http.client.HTTPException, ValueError, KeyError):
        return None
    finally:
        line.close()
