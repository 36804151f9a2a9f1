"""The number of rows that SKIP or LIMIT asks for."""

from __future__ import annotations

from doxa.query.core.errors import fail, shown
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate


def row_count(evaluate: Evaluate, run: Run, what: str) -> int:
    value = evaluate((), run)
    if type(value) is not int:
        fail(
            f"{what} takes a whole number, not {shown(value)}.",
            kind="SyntaxError",
            detail="InvalidArgumentType",
        )
    if value < 0:
        fail(f"{what} cannot be negative.", kind="SyntaxError", detail="NegativeIntegerArgument")
    return value
