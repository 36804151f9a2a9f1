"""Where SQL judges values exactly as Cypher does."""

from __future__ import annotations

from doxa.cypher import tree as t
from doxa.query.core.json_paths import pushable_name
from doxa.query.sql.pushed_pattern import PushedDownPattern
from doxa.query.sql.statement import Builder


class UndecidedInSQL(Exception):
    """The statement met a value that SQL cannot judge."""


def require_plain_tables(builder: Builder) -> None:
    """As of a past time each table is a union, which SQLite joins by its indexes only in a
    statement that neither groups nor sorts."""
    if builder.past and (builder.pushed.edges or builder.seeks):
        raise UndecidedInSQL


def pushed_element(expression: t.Expression, pushed: PushedDownPattern) -> str | None:
    """The region's node or edge that an expression is, or is a property of."""
    if isinstance(expression, t.Property) and pushable_name(expression.name):
        expression = expression.of
    if isinstance(expression, t.Variable) and expression.name not in pushed.known:
        name = expression.name
        return (
            name if name in pushed.nodes or any(edge.key == name for edge in pushed.edges) else None
        )
    return None
