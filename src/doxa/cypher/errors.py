"""Errors in queries: one class with openCypher's type and detail and the position, raised by the
checks here and by execution.

Types and details are those of the openCypher TCK (for example SyntaxError / UndefinedVariable), so
that interfaces map them to Neo4j status codes in one table.
"""

from __future__ import annotations

from typing import NoReturn

from doxa.base.errors import DoxaError

_EXCERPT_CHARS = 60


class QueryError(DoxaError):
    """A query that is invalid or whose run failed. `kind` and `detail` are openCypher's; `line` and
    `column` count from 1."""

    code = "query"

    def __init__(
        self, message: str, *, kind: str, detail: str, next_step: str = "", **fields: object
    ) -> None:
        super().__init__(message, next_step=next_step, kind=kind, detail=detail, **fields)
        self.kind = kind
        self.detail = detail
        self.at: int | None = (
            # where in the text, of an error that arose while it ran; `placed` makes line and column
            # of it
            None
        )


def locate(text: str, at: int) -> tuple[int, int, str]:
    """Return line and column (from 1) of a character offset, and the line's surroundings with a
    caret below."""
    at = max(0, min(at, len(text)))
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    line = text[start : len(text) if end < 0 else end]
    column = at - start
    left = max(0, column - _EXCERPT_CHARS // 2)
    part = line[left : left + _EXCERPT_CHARS]
    return text.count("\n", 0, start) + 1, column + 1, f"{part}\n{' ' * (column - left)}^"


def placed(error: QueryError, text: str) -> None:
    """Add line and column to an error that knows its offset."""
    if error.at is None or "line" in error.fields:
        return
    line, column, excerpt = locate(text, error.at)
    error.message = f"{error.message} (line {line}, column {column})\n{excerpt}\n"
    error.fields |= {"line": line, "column": column, "offset": error.at, "excerpt": excerpt}


class Problem(Exception):
    """Raised where the text is not available; `explained` adds the position."""

    def __init__(
        self, message: str, *, at: int, detail: str, kind: str = "SyntaxError", hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message, self.at, self.detail, self.kind, self.hint = message, at, detail, kind, hint


def too_deep(text: str) -> QueryError:
    """Return the error for a query within the limits that is still too deep for the caller's
    stack."""
    return explained(
        Problem(
            "The query nests too deep.", at=0, detail="NestingTooDeep", hint="Split it with WITH."
        ),
        text,
    )


def explained(problem: Problem, text: str) -> QueryError:
    line, column, excerpt = locate(text, problem.at)
    return QueryError(
        f"{problem.message} (line {line}, column {column})\n{excerpt}\n",
        kind=problem.kind,
        detail=problem.detail,
        next_step=problem.hint or "Correct the query at the place marked.",
        phase="compile",
        line=line,
        column=column,
        offset=problem.at,
        excerpt=excerpt,
    )


def fail(
    message: str,
    at: int,
    *,
    detail: str = "UnexpectedSyntax",
    kind: str = "SyntaxError",
    hint: str = "",
) -> NoReturn:
    raise Problem(message, at=at, detail=detail, kind=kind, hint=hint)
