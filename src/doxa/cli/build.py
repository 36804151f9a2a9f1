"""Commands built from the verb table: each parameter becomes an option or an argument, each command
one call of `commands.run`.

A command is built when it is first asked for, so that starting costs the same however many there
are.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.main import get_command

from doxa.app.verbs import (
    ALL,
    GROUP_HELP,
    REPEATED,
    REQUIRED,
    SHELL,
    Kind,
    Parameter,
    Verb,
)
from doxa.cli.context import note_old_name
from doxa.cli.parsing.common import Db, Json
from doxa.cli.parsing.spelling import (
    default_of,
    is_argument,
    option_names,
    parameters_of,
    type_of,
)

COMMAND_MODULES = {
    "init": "doxa.cli.start:init",
    "demo": "doxa.cli.browser.demonstration:demo",
    "config": "doxa.cli.start:config",
    "cypher": "doxa.cli.cypher:cypher",
    "restore-backup": "doxa.cli.maintenance:restore_backup",
    "backups": "doxa.cli.copies:backups",
    "graph": "doxa.cli.pictures.commands:graph",
    "follow": "doxa.cli.copies:follow",
    "replicate": "doxa.cli.shared.commands:replicate",
    "pull": "doxa.cli.shared.commands:pull",
    "tenants": "doxa.cli.shared.commands:tenants",
    "operator": "doxa.cli.operator:operator",
    "policy": "doxa.cli.policies.commands:policy",
    "on": "doxa.cli.on_event:on_event",
    "mcp": "doxa.cli.servers:mcp",
    "brief": "doxa.cli.hosts:brief",
    "hook": "doxa.cli.hosts:hook",
    "setup": "doxa.cli.hosts:setup",
    "serve": "doxa.cli.servers:serve",
    "status": "doxa.cli.pictures.status:status",
    "ui": "doxa.cli.browser.page:ui",
    "users": "doxa.cli.users:users",
    "watch": "doxa.cli.imports:watch",
    "projects": "doxa.cli.projects:projects",
}
_JSON: tuple[Kind, ...] = ("sentences", "mapping")
_NOTES: dict[Kind, str] = {
    "time": "ISO 8601, or such as 'last week'",
    "facts": "'subject|predicate|value'",
    "fact": "'subject|predicate|value'",
}


class Commands(MutableMapping[str, Any]):
    """The commands by name, built when they are asked for. Former names are found, not listed."""

    def __init__(self) -> None:
        self._built: dict[str, Any] = {}
        verbs = {verb.command: verb for verb in ALL if verb.cli is not None}
        self._old = {
            old: verb for verb in verbs.values() if verb.cli is not None for old in verb.cli.old
        }
        self._verbs = verbs
        shells = {shell.name.partition(" ")[0]: shell.group for shell in SHELL}
        first = {name: group for name, group in shells.items() if group == "start"}
        self._groups: dict[str, str] = {
            **first,
            **{name: verb.group for name, verb in verbs.items()},
            **shells,
        }

    def group_of(self, name: str) -> str:
        return self._groups[name]

    def summary_of(self, name: str) -> str:
        if name in self._verbs:
            return self._verbs[name].summary
        if name in GROUP_HELP:
            return GROUP_HELP[name][1]
        return next(shell.summary for shell in SHELL if shell.name == name)

    def __getitem__(self, name: str) -> Any:
        if name not in self._built:
            if name in self._verbs:
                self._built[name] = command_of(self._verbs[name])
            elif name in self._old:
                self._built[name] = command_of(self._old[name], old=name)
            elif name in self._groups:
                self._built[name] = _written(name)
            else:
                raise KeyError(name)
        return self._built[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._built[name] = command

    def __delitem__(self, name: str) -> None:
        del self._built[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)


def _written(name: str) -> Any:
    """A command or a group of commands that is written by hand."""
    module, _, attribute = COMMAND_MODULES[name].partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer):
        for info in found.registered_commands:
            info.help = next(
                shell.summary for shell in SHELL if shell.name == f"{name} {info.name}"
            )
        command = get_command(found)
        command.help = GROUP_HELP[name][1]
        return command
    shell = next(shell for shell in SHELL if shell.name == name)
    return _command(name, found, shell.summary)


def _command(name: str, call: Callable[..., None], text: str, *, hidden: bool = False) -> Any:
    single = typer.Typer(add_completion=False, rich_markup_mode=None)
    single.command(name, help=text, hidden=hidden)(call)
    return get_command(single)


def command_of(verb: Verb, *, old: str = "") -> Any:
    """Build the command of a verb, under its own name or a former one."""
    found = parameters_of(verb, old=old)

    def call(**values: Any) -> None:
        from doxa.cli.commands import run

        if old and not values["as_json"]:  # with --json, standard error holds JSON alone
            note_old_name(old, verb.command)
        run(verb, values)

    annotations = {one.name: _annotation(one) for one in found} | {"db": Db, "as_json": Json}
    defaults = {one.name: _preset(one) for one in found} | {"db": None, "as_json": False}
    keyword = inspect.Parameter.KEYWORD_ONLY
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, keyword, default=defaults[name], annotation=annotation)
            for name, annotation in annotations.items()
        ]
    )
    call.__annotations__ = annotations
    return _command(old or verb.command, call, verb.text, hidden=bool(old))


def _annotation(parameter: Parameter) -> Any:
    kind = type_of(parameter)
    if is_argument(parameter):
        metavar = parameter.cli if parameter.cli.isupper() else parameter.name.upper()
        if parameter.kind == "belief":
            metavar = "KREF|STATEMENT"
        info = typer.Argument(
            help=parameter.doc, metavar=metavar, show_default=False, hidden=parameter.hidden
        )
    else:
        info = typer.Option(
            *option_names(parameter),
            help=_help(parameter),
            show_default=parameter.default not in (None, "", ()),
        )
    return Annotated[kind, info]


def _help(parameter: Parameter) -> str:
    notes = [_NOTES[parameter.kind]] if parameter.kind in _NOTES else []
    notes += ["JSON"] if parameter.kind in _JSON else []
    notes += ["repeatable"] if parameter.kind in REPEATED else []
    return f"{parameter.doc} ({'; '.join(notes)})" if notes else parameter.doc


def _preset(parameter: Parameter) -> Any:
    found = default_of(parameter)
    return inspect.Parameter.empty if found is REQUIRED else found
