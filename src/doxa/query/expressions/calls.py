"""Compile function calls: arguments, and null for a null argument where the function says so."""

from __future__ import annotations

from typing import Any

from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.functions.registry import Function


def compile_call(function: Function, args: list[Evaluate]) -> Evaluate:
    """Compile a call; unless the function accepts nulls, a null argument gives null."""
    call = function.call
    if function.context:
        if function.nulls:
            return lambda row, run: call(run, *[arg(row, run) for arg in args])

        def with_context(row: Row, run: Run) -> Any:
            values = [arg(row, run) for arg in args]
            return (
                None
                if None in values and any(value is None for value in values)
                else call(run, *values)
            )

        return with_context
    if function.nulls:
        return lambda row, run: call(*[arg(row, run) for arg in args])
    if len(args) == 1:
        only = args[0]

        def one(row: Row, run: Run) -> Any:
            value = only(row, run)
            return None if value is None else call(value)

        return one

    def several(row: Row, run: Run) -> Any:
        values = [arg(row, run) for arg in args]
        return None if any(value is None for value in values) else call(*values)

    return several
