"""The statements that concern databases, recognised before the query language sees a text.

    CREATE DATABASE name [IF NOT EXISTS] [WAIT | NOWAIT]
    DROP DATABASE name [IF EXISTS] [DUMP DATA | DESTROY DATA] [WAIT | NOWAIT]
    USE name <any statement>

SHOW DATABASES is a query and passes. Source: Neo4j's operations manual, "Standard databases".
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from doxa.base.errors import InputError

_SKIPPED = r"(?:\s|//[^\n]*(?:\n|$)|(?>/\*.*?\*/))"  # a comment ends at its first end
_NAME = r"(`[^`]*`|[^\s;`]+)"
_CREATE = re.compile(
    rf"{_SKIPPED}*CREATE\s+(OR\s+REPLACE\s+)?DATABASE\s+{_NAME}(\s+IF\s+NOT\s+EXISTS)?"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_DROP = re.compile(
    rf"{_SKIPPED}*DROP\s+DATABASE\s+{_NAME}(\s+IF\s+EXISTS)?(\s+(?:DUMP|DESTROY)\s+DATA)?"
    r"(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_USE = re.compile(rf"{_SKIPPED}*USE\s+(?:graph\.)?{_NAME}(?=\s)", re.IGNORECASE | re.DOTALL)
_END = re.compile(r"(?:\s+(?:NO)?WAIT)?\s*;?\s*", re.IGNORECASE)


class Administration(NamedTuple):
    """CREATE or DROP DATABASE. `lenient`: IF [NOT] EXISTS; `destroys`: DESTROY DATA."""

    action: Literal["create", "drop"]
    name: str
    lenient: bool
    destroys: bool = False


def administration(text: str) -> Administration | None:
    """Return what a statement does to databases as such; None for any other. Raises InputError for
    forms that are not offered."""
    found = _CREATE.fullmatch(text)
    if found is not None:
        if found[1]:
            raise InputError(
                "CREATE OR REPLACE DATABASE would destroy the database that is there.",
                next_step="Use CREATE DATABASE with another name.",
                field="text",
            )
        _check_end(found["rest"])
        return Administration("create", _bare(found[2]), bool(found[3]))
    found = _DROP.fullmatch(text)
    if found is not None:
        _check_end(found["rest"])
        destroys = (found[3] or "").split()[:1] == ["DESTROY"] or bool(
            re.match(r"\s+DESTROY", found[3] or "", re.IGNORECASE)
        )
        return Administration("drop", _bare(found[1]), bool(found[2]), destroys)
    return None


def used(text: str) -> tuple[str, str] | None:
    """Return the database that a leading USE names and the statement without it, with every
    character where it was; None without USE."""
    found = _USE.match(text)
    if found is None:
        return None
    blank = "".join(char if char == "\n" else " " for char in found[0])
    return _bare(found[1]), blank + text[found.end() :]


def _bare(name: str) -> str:
    return name[1:-1] if name.startswith("`") else name


def _check_end(rest: str) -> None:
    if _END.fullmatch(rest) is None:
        raise InputError(
            f"This statement has no {rest.strip()[:60]!r}.",
            next_step="Leave it out: databases have no options here.",
            field="text",
        )
