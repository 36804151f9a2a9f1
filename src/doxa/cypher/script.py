"""Split a script into statements at each semicolon outside of strings, quoted names and comments.

Splitting uses only the lexical rules of `tokens.py`, not the grammar. A script may therefore be
longer than one statement can be, an error in one statement does not affect the others, and a shell
can distinguish an unfinished text from a wrong one.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doxa.cypher.dash_comments import COMMENT, DASHES, OPEN, QUOTED, about_policies, lead
from doxa.cypher.errors import Problem, QueryError, explained

_PART = re.compile(rf"{QUOTED}|{COMMENT}|(?P<open>{OPEN})|(?P<end>;)", re.DOTALL)
_POLICY_PART = re.compile(
    rf"{QUOTED}|{COMMENT}|{DASHES}|(?P<open>{OPEN})|(?P<end>;)|(?P<brace>[{{}}])", re.DOTALL
)
_BLANKS = re.compile(r"[\s\u0085\u180e\ufeff]*")


class Piece(NamedTuple):
    """One statement without its semicolon, and its offset in the script. `ended`: a semicolon
    followed."""

    text: str
    at: int
    ended: bool


def statements(script: str) -> list[Piece]:
    """Return the statements of a script in order. Blanks and comments alone are not statements; the
    last one may lack its semicolon."""
    found: list[Piece] = []
    start, ended = 0, True
    while ended:
        first = lead(script, start)
        end, ended = _cut(script, first)
        if first < end:
            found.append(_piece(script, start, end, ended=ended))
        start = end + 1
    return found


def _cut(script: str, at: int) -> tuple[int, bool]:
    """Return the end of the statement that begins here, and whether a semicolon ended it.
    Semicolons within the braces of a policy command separate its parts."""
    depth = 0
    for part in (_POLICY_PART if about_policies(script, at) else _PART).finditer(script, at):
        if part.lastgroup == "open":
            break
        if part.lastgroup == "brace":
            depth = depth + 1 if part[0] == "{" else max(0, depth - 1)
        if part.lastgroup == "end" and not depth:
            return part.start(), True
    return len(script), False


def _piece(script: str, start: int, end: int, *, ended: bool) -> Piece:
    blank = _BLANKS.match(script, start, end)
    assert blank is not None
    return Piece(script[blank.end() : end].rstrip(), blank.end(), ended)


def placed(error: QueryError, piece: Piece, script: str) -> QueryError:
    """Convert the error of one statement to one with its position in the script."""
    at = error.fields.get("offset")
    if not isinstance(at, int) or piece.at == 0:
        return error
    message = error.message.rpartition(" (line ")[0] or error.message
    return explained(
        Problem(
            message, at=piece.at + at, detail=error.detail, kind=error.kind, hint=error.next_step
        ),
        script,
    )
