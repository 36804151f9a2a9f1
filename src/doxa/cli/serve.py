"""Doors for other programs: `doxa serve`, and `doxa users`, which says who may come in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from doxa.cli.frame import Db, Json, Project, app, decay_enabled, errors_told, given_of, user
from doxa.cli.text import json_text, show

if TYPE_CHECKING:
    from doxa.servers.bolt import BoltServer
    from doxa.servers.credentials import Credentials
    from doxa.servers.http import HttpServer

Users = Annotated[
    Path | None,
    typer.Option(
        "--users",
        help="The file of users (default: the memory file's path with .users.json).",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Argument(help="The name to log in with.", show_default=False)]
RoleOption = Annotated[str, typer.Option("--role", help="agent or operator")]

users = typer.Typer(
    name="users",
    no_args_is_help=True,
    help="Who may log in to the servers: names with passwords, and tokens.",
    rich_markup_mode=None,
)
app.add_typer(users)


@app.command()
def serve(
    bolt: Annotated[
        bool, typer.Option("--bolt", help="Serve Neo4j's drivers and tools by the Bolt protocol.")
    ] = False,
    http: Annotated[
        bool,
        typer.Option("--http", help="Serve queries as JSON over HTTP, as Neo4j's Query API does."),
    ] = False,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help="The port of --bolt, 7687 unless given; 0 takes a free one.",
            show_default=False,
        ),
    ] = None,
    http_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65_535,
            help="The port of --http, 7474 unless given; 0 takes a free one.",
            show_default=False,
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="TLS: the certificate chain, PEM.", show_default=False)
    ] = None,
    key: Annotated[
        Path | None, typer.Option(help="TLS: the key of the certificate, PEM.", show_default=False)
    ] = None,
    plaintext: Annotated[
        bool,
        typer.Option(
            "--plaintext", help="Let others connect without TLS: something else encrypts the line."
        ),
    ] = False,
    advertise: Annotated[
        str,
        typer.Option(
            help="The host:port that Bolt's routing tables name, where clients see another one."
        ),
    ] = "",
    no_login: Annotated[
        bool, typer.Option("--no-login", help="Let every program on this machine in, as operator.")
    ] = False,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds that one statement may take.")
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="The folder that LOAD CSV may read.", show_default=False),
    ] = None,
    project: Project = "default",
    users: Users = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Serve the memory to other programs until interrupted."""
    with errors_told(as_json):
        from doxa import __version__
        from doxa.app import open_memory
        from doxa.cli.given import check_folder, milliseconds
        from doxa.servers.credentials import throttled
        from doxa.servers.listening import serve as serve_doors
        from doxa.servers.memory import MemoryDatabase

        given = {
            "port": ("bolt", port),
            "advertise": ("bolt", advertise or None),
            "http-port": ("http", http_port),
        }
        _check_doors({"bolt": bolt, "http": http}, given)
        kinds = _kinds(
            bolt=bolt, http=http
        )  # before anything is opened, as all that can be told at once
        shared = {
            "host": host,
            "certificate": certificate,
            "key": key,
            "plaintext": plaintext,
            "timeout_ms": milliseconds(timeout),
        }
        own = {
            "bolt": {"port": port, "advertised": advertise},
            "http": {"port": http_port, "version": __version__},
        }
        folder = check_folder(csv)
        known = None if no_login else _credentials(users, db)
        count = len(known.users()) if known else 0
        throttle = throttled(known)  # one for all doors: wrong passwords count together
        with open_memory(
            db,
            role="operator",
            actor=user(),
            project=project,
            csv_folder=folder,
            decay_enabled=decay_enabled(),
        ) as memory:
            database = MemoryDatabase(memory)
            made = {
                name: kind(database, throttle, **given_of(**shared, **own[name]))
                for name, kind in kinds.items()
            }
            told = _Told(memory.config.path, known, count, as_json)
            serve_doors(
                *made.values(),
                ready=lambda: told.show({name: server.uri for name, server in made.items()}),
            )


def _check_doors(doors: dict[str, bool], options: Mapping[str, tuple[str, object]]) -> None:
    """Some door is to be opened, and no option is for one that stays shut."""
    from doxa.base.errors import InputError

    if not any(doors.values()):
        raise InputError(
            "No door was named to serve.",
            next_step="Give --bolt, --http or both.",
            field="command line",
        )
    for option, (door, value) in options.items():
        if value is not None and not doors[door]:
            raise InputError(
                f"--{option} is for --{door}, which is not served.",
                next_step=f"Give --{door} too, or leave --{option} out.",
                field="command line",
            )


def _kinds(*, bolt: bool, http: bool) -> dict[str, type[BoltServer] | type[HttpServer]]:
    from doxa.base.errors import InputError

    found: dict[str, type[BoltServer] | type[HttpServer]] = {}
    if bolt:
        from doxa.servers.bolt import BoltServer

        found["bolt"] = BoltServer
    if http:
        try:
            from doxa.servers.http import HttpServer
        except ImportError:
            step = "Install it where doxa is: pip install 'starlette>=1' 'uvicorn>=0.54'"
            raise InputError(
                "The HTTP door needs the extra http.", next_step=step, extra="http"
            ) from None
        found["http"] = HttpServer
    return found


class _Told(NamedTuple):
    """Where it listens, on standard output, so that a program that started it can connect."""

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


@users.command("add")
def add_user(
    name: Name,
    role: RoleOption = "agent",
    users: Users = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """A new user. The password is asked for, or read as one line of standard input."""
    with errors_told(as_json):
        known = _credentials(users, db)
        made = known.add(name, _password(), role=role)  # type: ignore[arg-type]  # checked there
        show(
            {"name": made.name, "role": made.role, "users": str(known.path)},
            as_json,
            lambda _: f"{made.name} may log in as {made.role}",
        )


@users.command("token")
def add_token(
    name: Name,
    role: RoleOption = "agent",
    label: Annotated[str, typer.Option(help="What it is for, by which it can be removed.")] = "",
    users: Users = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """A new token for bearer authentication, printed this once."""
    with errors_told(as_json):
        token = _credentials(users, db).add_token(name, role=role, label=label)  # type: ignore[arg-type]  # checked there
        show({"name": name, "role": role, "label": label, "token": token}, as_json, lambda _: token)


@users.command("list")
def list_users(users: Users = None, db: Db = None, as_json: Json = False) -> None:
    """Who may log in, as what and with what; no secrets."""
    with errors_told(as_json):
        found = [
            {"name": name, "role": role, "with": how}
            for name, role, how in _credentials(users, db).users()
        ]
        show(found, as_json, _users_text)


@users.command("remove")
def remove_user(
    name: Name,
    label: Annotated[
        str | None, typer.Option(help="Only the tokens of this label.", show_default=False)
    ] = None,
    users: Users = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Take a user with all its tokens away, or only the tokens of a label."""
    with errors_told(as_json):
        count = _credentials(users, db).remove(name, label=label)
        show({"name": name, "removed": count}, as_json, lambda _: f"removed: {count}")


def _credentials(path: Path | None, db: Path | None) -> Credentials:
    from doxa.app import default_path
    from doxa.servers.credentials import Credentials

    if path is None:
        memory = db or default_path()
        if db is None:  # the user's own folder, as opening the memory would make it
            memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = memory.with_name(memory.name + ".users.json")
    return Credentials(path)


def _users_text(found: list[dict[str, str]]) -> str:
    return "\n".join(f"{one['name']}  {one['role']}  {one['with']}" for one in found) or "nobody"


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
