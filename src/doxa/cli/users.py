"""`doxa users`: the logins to the servers."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doxa.cli.context import Db, Json, errors_reported
from doxa.cli.output import show

if TYPE_CHECKING:
    from doxa.servers.credentials import Credentials

Users = Annotated[
    Path | None,
    typer.Option(
        "--users",
        help="The file of users (default: the memory file's path with .users.json).",
        show_default=False,
    ),
]
Name = Annotated[str, typer.Argument(help="The name to log in with.", show_default=False)]
Projects = Annotated[
    list[str] | None,
    typer.Option(
        "--project",
        "-p",
        help="Bind the login to this project; repeated, to several.",
        show_default=False,
    ),
]
Databases = Annotated[
    list[str] | None,
    typer.Option(
        "--database",
        help="Bind the login to this database; repeated, to several.",
        show_default=False,
    ),
]
Days = Annotated[
    float | None,
    typer.Option("--days", help="It expires after so many days.", show_default=False),
]
Rotate = Annotated[
    bool,
    typer.Option("--rotate", help="Replace the tokens of this label, with the same rights."),
]
Grace = Annotated[
    float,
    typer.Option("--grace", help="With --rotate: minutes that the former tokens stay good."),
]
RoleOption = Annotated[str, typer.Option("--role", help="agent or operator")]

users = typer.Typer(
    name="users",
    no_args_is_help=True,
    add_completion=False,
    help="Who may log in to the servers: names with passwords, and tokens.",
    rich_markup_mode=None,
)


@users.command("add")
def add_user(
    name: Name,
    role: RoleOption = "agent",
    projects: Projects = None,
    databases: Databases = None,
    users: Users = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Add a user. The password is asked for, or read as one line of standard input."""
    with errors_reported(as_json):
        known = credentials_of(users, db)
        bounds = {"projects": projects or (), "databases": databases or ()}
        made = known.add(name, _password(), role=role, **bounds)  # type: ignore[arg-type]  # checked there
        limits = _limits(made.projects, made.databases)
        show(
            {"name": made.name, "role": made.role, "users": str(known.path), **limits},
            as_json,
            lambda _: f"{made.name} may log in as {made.role}{_limits_text(limits)}",
        )


@users.command("token")
def add_token(
    name: Name,
    role: Annotated[
        str | None,
        typer.Option("--role", help="agent (default) or operator", show_default=False),
    ] = None,
    label: Annotated[str, typer.Option(help="What it is for, by which it can be removed.")] = "",
    projects: Projects = None,
    databases: Databases = None,
    days: Days = None,
    rotate: Rotate = False,
    grace: Grace = 0,
    users: Users = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Add a token for bearer authentication, which is printed only once."""
    with errors_reported(as_json):
        known = credentials_of(users, db)
        if rotate:
            _check_rotation(role, projects, databases)
            token = known.rotate(name, label=label, grace_s=grace * 60, days=days)
        else:
            bounds = {"projects": projects or (), "databases": databases or ()}
            token = known.add_token(name, role=role or "agent", label=label, days=days, **bounds)  # type: ignore[arg-type]  # checked there
        made = {"name": name, "label": label, "token": token}
        show(made if rotate else made | {"role": role or "agent"}, as_json, lambda _: token)


@users.command("list")
def list_users(users: Users = None, db: Db = None, as_json: Json = False) -> None:
    """List who may log in, with role and credentials; no secrets."""
    with errors_reported(as_json):
        found = [
            dict[str, Any](name=one.name, role=one.role)
            | {"with": one.how}
            | _limits(one.projects, one.databases)
            | _expiry(one.expires)
            for one in credentials_of(users, db).logins()
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
    with errors_reported(as_json):
        count = credentials_of(users, db).remove(name, label=label)
        show({"name": name, "removed": count}, as_json, lambda _: f"removed: {count}")


def _check_rotation(role: object, projects: object, databases: object) -> None:
    from doxa.base.errors import InputError

    if role is not None or projects or databases:
        raise InputError(
            "A new token in place of another has the rights of that one.",
            next_step="Leave --role, --project and --database out, or --rotate.",
            field="command line",
        )


def credentials_of(path: Path | None, db: Path | None) -> Credentials:
    """Open the file of users: the one given, or the one next to the memory file."""
    from doxa.app import default_path
    from doxa.servers.credentials import Credentials

    if path is None:
        memory = db or default_path()
        if db is None:  # the user's own folder, as opening the memory would make it
            memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = memory.with_name(memory.name + ".users.json")
    return Credentials(path)


def _users_text(found: list[dict[str, Any]]) -> str:
    lines = [
        f"{one['name']}  {one['role']}  {one['with']}{_limits_text(one)}"
        + (f"  until {one['expires']}" if "expires" in one else "")
        for one in found
    ]
    return "\n".join(lines) or "nobody"


def _limits(projects: Sequence[str], databases: Sequence[str]) -> dict[str, list[str]]:
    """What a login is bound to, if it is."""
    given = {"projects": list(projects), "databases": list(databases)}
    return {name: value for name, value in given.items() if value}


def _expiry(seconds: int | None) -> dict[str, str]:
    from doxa.base.clock import format_time

    return {} if seconds is None else {"expires": format_time(seconds * 10**9)}


def _limits_text(limits: Mapping[str, Any]) -> str:
    named = [
        f"{name} {', '.join(limits[name])}" for name in ("projects", "databases") if name in limits
    ]
    return f"  ({'; '.join(named)})" if named else ""


def _password() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
