"""A script cut into its statements, for doors that take several: at each semicolon outside of
texts, quoted names and comments.

The cut reads no more of the grammar than where these begin and end, as `tokens.py` has it. So a
script may be longer than one statement, what is wrong in one statement does not move the cuts of
the others, and a shell can tell a text that goes on from one that is wrong.
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
    """One statement without its semicolon, and where it begins in the script. `ended`: a semicolon
    followed."""

    text: str
    at: int
    ended: bool


def statements(script: str) -> list[Piece]:
    """The statements of a script in order. Blanks and comments alone are none; the last one may
    lack its semicolon."""
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
    """Where the statement that begins here ends, and whether by a semicolon. In a policy command
    those within braces separate its parts."""
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
    """An error of one statement with its place in the whole script."""
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
