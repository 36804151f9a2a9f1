"""Command lines that leave nothing to decide, parsed without typer.

    doxa [--db FILE] [--project NAME] [--json] VERB WORD... [--option VALUE | --flag]...

Importing typer and building a command takes longer than opening a memory and asking it. Where every
word is plainly an option of the verb, its value or an argument, `plain_call` returns the values
that typer would pass; everything else, including every mistake and every request for help, is left
to typer by returning None. tests/cli compares the two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doxa.app.verbs import ALL, REPEATED, REQUIRED, Parameter, Verb
from doxa.cli.parsing.spelling import (
    default_of,
    is_argument,
    option_names,
    parameters_of,
    type_of,
)

_ASKING = frozenset(("ingest",))  # asks back on a terminal, which typer does
_WHOLE = re.compile(r"[0-9]{1,18}")
_DECIMAL = re.compile(r"[0-9]{1,15}(\.[0-9]{1,15})?")
_COMMON = {"--db": "db", "--project": "project", "-p": "project", "--config": "config"}
_COMPLETION = "_DOXA_COMPLETE"


class _NotPlain(Exception):
    """The words need typer."""


@dataclass
class _Options:
    """The options of a command by their spelling: those that take a value, and flags."""

    valued: dict[str, Parameter] = field(default_factory=dict)
    flags: dict[str, tuple[str, bool]] = field(default_factory=dict)


def plain_call(words: Sequence[str]) -> tuple[Verb, dict[str, Any]] | None:
    """Return the verb and the values of its options and arguments, or None if typer must parse.

    A configuration file that is named before the command is set in the environment, as typer's
    callback does.
    """
    if _COMPLETION in os.environ or "--" in words:
        return None
    try:
        common, rest = _before_command(words)
        verb = next(
            (one for one in ALL if rest and one.cli is not None and one.command == rest[0]),
            None,
        )
        if verb is None or verb.name in _ASKING:
            return None
        values = _values_of(verb, rest[1:], common)
    except _NotPlain:
        return None
    if "config" in common:
        os.environ["DOXA_CONFIG"] = str(Path(common["config"]).absolute())
    return verb, values


def _before_command(words: Sequence[str]) -> tuple[dict[str, Any], Sequence[str]]:
    """Split off the options that stand before the command."""
    found: dict[str, Any] = {}
    at = 0
    while at < len(words) and words[at].startswith("-"):
        name, equal, value = words[at].partition("=")
        if words[at] == "--json":
            key, at = "as_json", at + 1
            taken: Any = True
        elif name in _COMMON and name.startswith("--") and equal:
            key, at, taken = _COMMON[name], at + 1, value
        elif words[at] in _COMMON and at + 1 < len(words):
            key, taken, at = _COMMON[words[at]], words[at + 1], at + 2
        else:
            raise _NotPlain
        if key in found or (taken is not True and not _is_value(taken)):
            raise _NotPlain
        found[key] = taken
    return found, words[at:]


def _is_value(word: str) -> bool:
    """Return whether a word cannot be taken for an option or for nothing."""
    return bool(word) and (word == "-" or not word.startswith("-"))


def _values_of(verb: Verb, words: Sequence[str], common: Mapping[str, Any]) -> dict[str, Any]:
    parameters = parameters_of(verb)
    options = _options_of(parameters)
    given: dict[str, Any] = {}
    placed: list[str] = []
    at = 0
    while at < len(words):
        word, at = words[at], at + 1
        if _is_value(word) or not word:
            placed.append(word)
            continue
        name, equal, value = word.partition("=")
        if word in options.flags:
            key, taken = options.flags[word]
            _set(given, key, taken)
        elif name in options.valued and name.startswith("--") and equal:
            _add(given, options.valued[name], value)
        elif word in options.valued and at < len(words):
            _add(given, options.valued[word], words[at])
            at += 1
        else:
            raise _NotPlain
    _place([one for one in parameters if is_argument(one)], placed, given)
    return _completed(parameters, given, common)


def _options_of(parameters: Sequence[Parameter]) -> _Options:
    found = _Options()
    own = (*parameters, Parameter("", None, kind="path", name="db"))
    for one in own:
        if is_argument(one):
            continue
        for name in option_names(one):
            on, _, off = name.partition("/")
            if one.kind == "flag":
                found.flags[on] = (one.name, True)
                if off:
                    found.flags[off] = (one.name, False)
            else:
                found.valued[name] = one
    found.flags["--json"] = ("as_json", True)
    return found


def _set(given: dict[str, Any], name: str, value: Any) -> None:
    if name in given:
        raise _NotPlain
    given[name] = value


def _add(given: dict[str, Any], parameter: Parameter, word: str) -> None:
    if not _is_value(word):
        raise _NotPlain
    if parameter.kind in REPEATED:
        given.setdefault(parameter.name, []).append(word)
    else:
        _set(given, parameter.name, _converted(parameter, word))


def _place(arguments: Sequence[Parameter], words: list[str], given: dict[str, Any]) -> None:
    """Give the words to the positional parameters in order; a repeated one takes all that is
    left."""
    rest = list(words)
    for one in arguments:
        if one.kind in REPEATED:
            if one is not arguments[-1]:
                raise _NotPlain
            taken, rest = rest, []
            if taken:
                given[one.name] = taken
        elif rest:
            given[one.name] = _converted(one, rest.pop(0))
    if rest:
        raise _NotPlain


def _completed(
    parameters: Sequence[Parameter], given: dict[str, Any], common: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the values of all parameters: given, given before the command, or preset."""
    found: dict[str, Any] = {}
    for one in parameters:
        if one.name in given:
            found[one.name] = given[one.name]
        elif one.name in common:
            if one.kind != "text":
                raise _NotPlain
            found[one.name] = common[one.name]
        else:
            found[one.name] = default_of(one)
        if found[one.name] is REQUIRED:
            raise _NotPlain
    db = given.get("db", common.get("db"))
    found["db"] = None if db is None else Path(db)
    found["as_json"] = bool(given.get("as_json", common.get("as_json", False)))
    return found


def _converted(parameter: Parameter, word: str) -> Any:
    kind = type_of(parameter)
    kinds = getattr(kind, "__args__", (kind,))
    if int in kinds:
        return int(_matched(_WHOLE, word))
    if float in kinds:
        return float(_matched(_DECIMAL, word))
    if Path in kinds:
        return Path(_matched(_ANY, word))
    if str not in kinds:
        raise _NotPlain
    return word


_ANY = re.compile(r".+", re.DOTALL)


def _matched(pattern: re.Pattern[str], word: str) -> str:
    if pattern.fullmatch(word) is None:
        raise _NotPlain
    return word
