"""A script cut into its statements, for doors that take several: at each semicolon outside of texts, quoted names and comments.

The cut reads no more of the grammar than where these begin and end, as `tokens.py` has it. So a script may be longer than one statement, what
is wrong in one statement does not move the cuts of the others, and a shell can tell a text that goes on from one that is wrong.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doxa.cypher.errors import Problem, QueryError, explained

_PART = re.compile(
    r"'[^'\\]*(?:\\.[^'\\]*)*'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|`[^`]*`"  # a doubled backtick is two quoted names that touch: the cut is the same
    r"|(?P<comment>//[^\n\r]*|/\*.*?\*/)|(?P<open>['\"`]|/\*)|(?P<end>;)",
    re.DOTALL,
)
_BLANKS = re.compile(r"[\s\u0085\u180e\ufeff]*")


class Piece(NamedTuple):
    """One statement without its semicolon, and where it begins in the script. `ended`: a semicolon followed."""

    text: str
    at: int
    ended: bool


def statements(script: str) -> list[Piece]:
    """The statements of a script in order. Blanks and comments alone are none; the last one may lack its semicolon."""
    found: list[Piece] = []
    start = seen = 0  # up to `seen` there were only blanks and comments since the last cut
    said = False
    for part in _PART.finditer(script):
        said = said or not _BLANKS.fullmatch(script, seen, part.start()) or part.lastgroup not in ("comment", "end")
        seen = part.end()
        if part.lastgroup == "open":
            break
        if part.lastgroup == "end":
            found += [_piece(script, start, part.start(), ended=True)] if said else []
            start, said = part.end(), False
    if said or not _BLANKS.fullmatch(script, seen):
        found.append(_piece(script, start, len(script), ended=False))
    return found


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
    return explained(Problem(message, at=piece.at + at, detail=error.detail, kind=error.kind, hint=error.next_step), script)
