"""Every command and option that a text of the source names, such as the next step of an error,
exists on the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from doxa.cli import app
from tests.tidy.test_house import trees

NAMED = re.compile(r"`doxa ([^`]+)`")
FILLED_IN = "VALUE"  # what a text has in its braces; a word in capitals stands for anything
ROOT = get_command(app)


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module, with its line; adjacent literals are one."""
    parts = {
        id(part)
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in ast.walk(tree):
        if id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            yield (
                node.lineno,
                "".join(
                    str(one.value) if isinstance(one, ast.Constant) else FILLED_IN
                    for one in node.values
                ),
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def named() -> list[tuple[str, str]]:
    return [
        (f"{name}:{line}", found)
        for name, tree in trees()
        for line, text in texts(tree)
        for found in NAMED.findall(text)
    ]


def fault(text: str) -> str:
    """What of a command line, without `doxa`, does not exist; empty if all of it does."""
    command: Any = ROOT
    for word in text.split():
        if word == "--":
            break
        if word.startswith("-"):
            if word.partition("=")[0] not in (*options(command), "--help"):
                return f"{command.name} has no option {word}"
        elif hasattr(command, "commands") and not word.isupper():
            inner = command.commands.get(word)
            if inner is None:
                return f"there is no command {word} of {command.name}"
            command = inner
        elif hasattr(command, "commands"):
            break
    return ""


def options(command: Any) -> set[str]:
    return {
        name
        for one in command.params
        for name in (*one.opts, *one.secondary_opts)
        if name[0] == "-"
    }


def test_every_command_that_a_text_names_exists() -> None:
    found = named()
    assert len(found) > 100
    assert [f"{where}: `doxa {text}`: {why}" for where, text in found if (why := fault(text))] == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("hold --list", "no option --list"),
        ("holdings", "no command holdings"),
        ("tenants lost", "no command lost"),
        ("on EVENT -- ls --long", ""),
        ("VALUE --anything", ""),
        ("setup HOST --print", ""),
        ("--version", ""),
    ],
)
def test_what_does_not_exist_is_found(text: str, why: str) -> None:
    assert why in fault(text) and bool(why) == bool(fault(text))


def test_the_parts_of_a_text_are_read_together() -> None:
    tree = ast.parse('a = f"run `doxa {name}" " --x` " f"{b}" "`"\nb = "`doxa " "c`"')
    assert [text for _, text in texts(tree)] == ["run `doxa VALUE --x` VALUE`", "`doxa c`"]
