"""The value of an expression without variables."""

from __future__ import annotations

from typing import Any

from doxa.cypher import tree as t
from doxa.query.core.run import Run
from doxa.query.expressions.compiler import Compiler, Nested


def evaluate_constant(expression: t.Expression, run: Run) -> Any:
    """Evaluate an expression without variables."""
    if isinstance(expression, t.ParameterRef):
        return run.parameter(expression.name)
    return Compiler(Nested()).compile(expression, {})((), run)
