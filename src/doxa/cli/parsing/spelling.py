"""A verb's parameters as a command line spells them: which are positional, the names of options,
the types and the defaults. typer's commands and the plain parser are both made from this."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from doxa.app.verbs import REPEATED, REQUIRED, Kind, Parameter, Verb

_TYPES: dict[Kind, type] = {"integer": int, "change": int, "number": float, "path": Path}


def parameters_of(verb: Verb, *, old: str = "") -> list[Parameter]:
    """Return the parameters of a verb's command, positional ones first."""
    assert verb.cli is not None
    replaced = {one.name for one in verb.cli.extra}
    taken = [
        replace(one, positional=False)
        if (old == "believe" and one.name == "text") or one.name == "project"
        else one
        for one in verb.of("cli")
        if one.name not in replaced and not (verb.name == "constrain" and one.positional)
    ]
    order = verb.cli.order
    placed = [one for one in taken if is_argument(one)]
    placed.sort(key=lambda one: order.index(one.name) if one.name in order else -1)
    extra = list(verb.cli.extra)
    return [
        *placed,
        *(one for one in extra if is_argument(one)),
        *(one for one in taken if not is_argument(one)),
        *(one for one in extra if not is_argument(one)),
    ]


def is_argument(parameter: Parameter) -> bool:
    """Return whether a parameter is positional: typed without the name of an option."""
    return parameter.positional or parameter.cli.isupper()


def option_names(parameter: Parameter) -> tuple[str, ...]:
    """Return the spellings of an option: `--name`, or what the table says, and a letter."""
    name = parameter.cli or f"--{parameter.name.replace('_', '-')}"
    if parameter.kind == "flag" and parameter.default is True and "/" not in name:
        name = f"{name}/--no-{name.removeprefix('--')}"
    return (name, parameter.short) if parameter.short else (name,)


def type_of(parameter: Parameter) -> Any:
    """Return the type of an option's value."""
    if parameter.kind == "flag":
        return bool
    if parameter.kind in REPEATED:
        return list[str] | None
    kind = _TYPES.get(parameter.kind, Path if parameter.kind == "source" else str)
    return kind if parameter.required or default_of(parameter) is not None else kind | None


def default_of(parameter: Parameter) -> Any:
    """Return what an option is where it is not given; REQUIRED if it must be."""
    if parameter.default is REQUIRED:
        return REQUIRED
    plain = isinstance(parameter.default, (bool, int, float, str))
    return parameter.default if plain and parameter.kind not in REPEATED else None
