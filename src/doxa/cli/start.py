"""Commands to begin with: the file, and the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from doxa.cli.context import Db, Json, ProjectOfAll, errors_reported, opened
from doxa.cli.output import show


def init(db: Db = None, as_json: Json = False) -> None:
    with opened(db, as_json) as memory:
        show(memory.stats(), as_json, lambda s: f"memory is at {s['path']}")


def config(
    print_template: Annotated[
        bool,
        typer.Option("--template", help="Print a doxa.toml with every setting as a comment."),
    ] = False,
    project: ProjectOfAll = None,
    db: Db = None,
    as_json: Json = False,
) -> None:
    from doxa.settings import configuration, template

    if print_template:
        typer.echo(template(), nl=False)
        return
    with errors_reported(as_json):
        found = configuration()
        given = {"database": str(db) if db else "", "project": project or ""}
        show(_configured(found, given), as_json, _configured_text)


def _configured(found: Any, given: Mapping[str, str]) -> dict[str, Any]:
    """Every setting with its value and where it was set. `given` is what the command line says."""
    from doxa.settings import memory_path, shown, unread_here

    defaults = {"database": str(memory_path())}
    rows = []
    for setting, held in found.items():
        said = given.get(setting.key)
        source = "command line" if said else held.source if held else "default"
        text = said or (held.text if held else "")
        rows.append(
            {
                "setting": setting.name,
                "value": shown(setting, text)
                if text
                else defaults.get(setting.key, setting.default),
                "source": source,
                "variable": setting.variable,
                "about": setting.about,
            }
        )
    unread = unread_here(Path.cwd())
    own = found.path and unread and found.path.resolve() == unread.resolve()
    return {
        "file": str(found.path) if found.path else None,
        "unread": None if own or unread is None else str(unread),
        "settings": rows,
    }


def _configured_text(found: Mapping[str, Any]) -> str:
    rows = found["settings"]
    width = max(len(row["setting"]) for row in rows)
    lines = [f"configuration file: {found['file'] or 'none'}"]
    lines += [
        f"{row['setting']:<{width}}  {row['value']}  ({_where(row, found['file'])})" for row in rows
    ]
    if found["unread"]:
        lines.append(
            f"note: {found['unread']} is not read, since a file in a working folder may be"
            " anybody's; if you trust it, name it with --config or DOXA_CONFIG"
        )
    return "\n".join(lines)


def _where(row: Mapping[str, Any], file: str | None) -> str:
    source = row["source"]
    if source == "environment":
        return f"environment: {row['variable']}"
    return f"file: {file}" if source == "file" else str(source)
