"""`doxa projects`: which folder belongs to which project, for `--project auto`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from doxa.cli.context import Json, errors_reported, table
from doxa.cli.output import show

Folder = Annotated[
    Path,
    typer.Argument(help="The folder (default: the current one).", show_default=False),
]
Key = Annotated[
    str,
    typer.Argument(help="A folder, or a remote as host/owner/name.", show_default=False),
]

projects = typer.Typer(
    name="projects",
    no_args_is_help=True,
    add_completion=False,
    help="Which folder belongs to which project.",
    rich_markup_mode=None,
)


@projects.command("list")
def list_projects(as_json: Json = False) -> None:
    """List the table."""
    with errors_reported(as_json):
        known = table()
        found = [{"key": key, "project": name} for key, name in known.rows().items()]
        show(found, as_json, lambda rows: _rows_text(rows, known.path))


@projects.command("which")
def which_project(folder: Folder = Path(), as_json: Json = False) -> None:
    """Print the project of a folder and the rule that decided."""
    from doxa.hosts.projects import project_of

    with errors_reported(as_json):
        found = asdict(project_of(folder, table(), record=False))
        show(found, as_json, lambda one: f"{one['project']}  ({one['rule']}: {one['key']})")


@projects.command("set")
def set_project(
    key: Key,
    project: Annotated[str, typer.Argument(help="The project.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Name the project of a folder or remote."""
    with errors_reported(as_json):
        row = {"key": _key(key), "project": project}
        table().set(row["key"], project)
        show(row, as_json, lambda one: f"{one['key']} belongs to {one['project']}")


@projects.command("remove")
def remove_project(key: Key, as_json: Json = False) -> None:
    """Take a row out of the table; memory stays as it is."""
    from doxa.base.errors import NotFoundError

    with errors_reported(as_json):
        known = table()
        if not (known.remove(key) or known.remove(_key(key))):
            raise NotFoundError(
                f"{key} has no row in {known.path}.", next_step="See `doxa projects list`."
            )
        show({"key": key, "removed": True}, as_json, lambda one: f"{one['key']} has no row now")


def _key(text: str) -> str:
    """A folder becomes absolute; a remote stays as it is."""
    from doxa.hosts.projects import remote_key

    named = remote_key(text)
    if named:
        return named
    folder = Path(text).expanduser()
    is_remote = not folder.exists() and "." in text.partition("/")[0].strip(".") and "/" in text
    return text if is_remote else str(folder.resolve())


def _rows_text(rows: Sequence[Mapping[str, Any]], path: Path) -> str:
    lines = [f"{row['project']}  {row['key']}" for row in rows]
    return "\n".join([*lines, f"{len(rows)} rows in {path}"])
