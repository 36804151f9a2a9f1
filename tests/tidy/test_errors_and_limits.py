"""Errors and limits: the tree is as drawn, each error says what to do next and suggests nothing
destructive, and each limit names its unit."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import pytest

from doxa.base import errors, limits
from tests.tidy.test_house import trees

UNITS = frozenset(
    (
        "BYTES",
        "CHARS",
        "ITEMS",
        "MS",
        "S",
        "DEPTH",
        "SEGMENTS",
        "NODES",
        "MEMBERS",
        "ENTRIES",
        "TERMS",
        "HITS",
        "TOKENS",
        "TURNS",
        "DOCS",
        "ATOMS",
        "CALLS",
        "STEPS",
        "ATTEMPTS",
        "REVISION",
        "DOC",
        "TURN",
        "WORDS",
        "DAYS",
        "LINES",
        "FILES",
        "RANK",
        "THREADS",
        "ROWS",
        "PLANS",
    )
)
BOUNDS = frozenset(("MAX", "MIN", "DEFAULT", "READ"))
DESTRUCTIVE = re.compile(
    r"\brm\b|--force|\bdrop\b|\btruncate\b|\bunlink\b|\bkill\b|\b(?:delete|remove|overwrite|wipe|discard)\b[^.;]*\b(?:file|folder|database|log|wal|disk)\b",
    re.IGNORECASE,
)


# Errors


@cache
def drawn() -> dict[str, str]:
    """Class to parent, as the docstring of errors.py draws them."""
    stack: list[tuple[int, str]] = []
    parents: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        found = re.search(r"\b(\w+Error)\b", line)
        if found and (line[: found.start()].strip(" │├└─") == ""):
            while stack and stack[-1][0] >= found.start():
                stack.pop()
            parents[found.group(1)] = stack[-1][1] if stack else "Exception"
            stack.append((found.start(), found.group(1)))
    return parents


def test_the_error_tree_is_as_drawn() -> None:
    classes = {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.DoxaError)
    }
    assert drawn() == {name: value.__bases__[0].__name__ for name, value in classes.items()}
    codes = [value.code for value in classes.values()]
    assert len(set(codes)) == len(codes)


def test_an_error_carries_what_a_door_sends() -> None:
    error = errors.LimitError("Too long.", next_step="Split it.", size_bytes=5)
    assert str(error) == "Too long. Split it."
    assert error.as_dict() == {
        "code": "limit",
        "message": "Too long.",
        "next_step": "Split it.",
        "fields": {"size_bytes": 5},
    }
    assert isinstance(error, errors.InputError)


def raised() -> Iterator[tuple[str, ast.Call]]:
    """Every place in src that makes one of our errors."""
    for name, tree in trees():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in drawn()
            ):
                yield f"{name}:{node.lineno}", node


def words(node: ast.AST) -> str:
    return " ".join(
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def test_every_error_says_what_to_do_next() -> None:
    sites = list(raised())
    assert len(sites) > 60
    for where, call in sites:
        steps = [keyword.value for keyword in call.keywords if keyword.arg == "next_step"]
        assert len(call.args) == 1, where
        assert len(steps) == 1, where
        assert not isinstance(steps[0], ast.Constant) or steps[0].value, where


def test_no_error_suggests_destruction() -> None:
    for where, call in raised():
        found = DESTRUCTIVE.search(words(call))
        assert not found, f"{where}: {found.group()!r}"


@pytest.mark.parametrize(
    "text",
    [
        "run rm -rf",
        "delete the file",
        "Remove the old database",
        "DROP TABLE",
        "use --force",
        "overwrite your log",
    ],
)
def test_the_watch_for_destructive_words_works(text: str) -> None:
    assert DESTRUCTIVE.search(text)


# Limits


@pytest.mark.parametrize("name", [name for name in vars(limits) if name.isupper()])
def test_a_limit_names_its_unit_last_and_is_positive(name: str) -> None:
    parts = name.split("_")
    bound = parts.pop() if parts[-1] in BOUNDS else ""
    assert parts[-1] in UNITS, f"{name}: {parts[-1]} is no unit"
    value = getattr(limits, name)
    assert type(value) is int
    assert value > 0
    assert bound in BOUNDS or parts[-1] in ("MS", "S", "TURNS", "DOCS")
