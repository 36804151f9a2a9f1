"""Detect where a statement might evaluate a value differently from Cypher.

SQL knows fewer types than Cypher. Statements that group or sort therefore count the values that SQL
cannot evaluate (a date among numbers, say). If there are any, `UndecidedInSQL` discards the result
and the ordinary steps run, so that only the speed differs, never the answer.
"""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.query.sql.pattern_sql import StatementBuilder
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.store.sql_values import pushable_name


class UndecidedInSQL(Exception):
    """The statement met a value that SQL cannot evaluate."""


def require_plain_tables(builder: StatementBuilder) -> None:
    """Raise as of a past time, where each table is a union: SQLite joins those by index only in a
    statement that neither groups nor sorts."""
    if builder.past and (builder.pushed.edges or builder.seeks):
        raise UndecidedInSQL


def pushed_element(expression: t.Expression, pushed: PushedDownPattern) -> str | None:
    """Return the node or edge of the pattern that an expression is, or is a property of."""
    if isinstance(expression, t.Property) and pushable_name(expression.name):
        expression = expression.of
    if isinstance(expression, t.Variable) and expression.name not in pushed.bound:
        name = expression.name
        return (
            name if name in pushed.nodes or any(edge.key == name for edge in pushed.edges) else None
        )
    return None
