"""The application: its commands in groups, its help, and the options before a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from doxa.app.verbs import ALL, GROUPS, SHELL
from doxa.cli.build import Commands
from doxa.cli.context import EXIT_CODES, Db, Json, ProjectOfAll
from doxa.cli.output import json_text

_USAGE_ERROR: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from doxa import __version__

        typer.echo(f"doxa {__version__}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option(
        "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
    ),
]


Settings = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="The configuration file (default: DOXA_CONFIG, or doxa.toml in the user's folder).",
        show_default=False,
    ),
]


class _Application(TyperGroup):
    """Commands in groups, built when they are asked for. With --json a wrong command line is one
    JSON error like any other; without, typer's usage text. Both end with 2."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The commands under the headings of their groups, without building them."""
        known: Any = self.commands
        for group, title in GROUPS.items():
            rows = [
                (name, known.summary_of(name)) for name in known if known.group_of(name) == group
            ]
            with formatter.section(title):
                formatter.write_dl(rows)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        if not standalone_mode or "--json" not in given:
            return super().main(
                args, prog_name, complete_var, standalone_mode, windows_expand_args, **extra
            )
        try:
            code = super().main(given, prog_name, complete_var, False, windows_expand_args, **extra)
        except _USAGE_ERROR as error:
            said = (
                str(getattr(error, "format_message", error.__str__)()).strip()
                or "No command was given."
            )
            sys.stderr.write(json_text({"error": _usage(said)}) + "\n")
            code = EXIT_CODES["input"]
        sys.exit(code if isinstance(code, int) else 0)


def _usage(message: str) -> dict[str, object]:
    from doxa.base.errors import InputError

    return InputError(
        message,
        next_step="See `doxa --help`, or `doxa COMMAND --help` for one command.",
        field="command line",
    ).as_dict()


app = typer.Typer(
    cls=_Application,
    name="doxa",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="One memory for AI agents that a person can trust.",
)


@app.callback()
def root(
    ctx: typer.Context,
    db: Db = None,
    project: ProjectOfAll = None,
    as_json: Json = False,
    config: Settings = None,
    version: Version = False,
) -> None:
    """One memory for AI agents that a person can trust."""
    if config is not None:  # what this process starts reads the same file
        os.environ["DOXA_CONFIG"] = str(config.absolute())
    given = {"db": db, "project": project, "as_json": as_json or None}
    found = {name: value for name, value in given.items() if value is not None}
    if found:  # what the command itself is given takes precedence
        ctx.default_map = defaults_of(found)


def defaults_of(found: dict[str, Any]) -> dict[str, Any]:
    """Return the same defaults for every command, also for those of a group and for former
    names."""
    names = [verb.command for verb in ALL] + [
        old for verb in ALL if verb.cli is not None for old in verb.cli.old
    ]
    defaults: dict[str, Any] = {name: found for name in names}
    for shell in SHELL:
        first, _, second = shell.name.partition(" ")
        if second:
            defaults.setdefault(first, {})[second] = found
        else:
            defaults[first] = found
    return defaults
