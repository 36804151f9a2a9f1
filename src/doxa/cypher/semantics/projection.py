"""Resolve WITH and RETURN without running them: columns, grouping keys, and ORDER BY by columns.

RETURN a.name, count(*) AS c ORDER BY a.name, count(*)
columns a.name, c; keys a.name; order `a.name`, c
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from doxa.cypher import tree as t
from doxa.cypher.errors import fail
from doxa.cypher.semantics.infer import has_aggregate, is_aggregate, refuse_aggregate_inside


@dataclass(frozen=True, slots=True)
class Resolved:
    """The resolved projection. With `grouped`, every column is a key or consists of aggregations
    and keys."""

    columns: tuple[t.Item, ...]
    grouped: bool
    narrow: bool  # after grouping or DISTINCT, ORDER BY and WHERE see only columns
    order: tuple[t.SortItem, ...]


def resolve(projection: t.Projection, scope: Mapping[str, str]) -> Resolved:
    """Resolve a projection; `scope` is the visible scope before it. Raises Problem for ambiguous
    grouping and misplaced aggregation."""
    columns = list(projection.items)
    if projection.star:
        named = {item.name for item in columns}
        stars = [
            t.Item(t.Variable(name, at=projection.at), name, True, at=projection.at)
            for name in sorted(scope)
            if name not in named
        ]
        columns = stars + columns
    grouped = any(has_aggregate(item.expression) for item in columns)
    keys = [item.expression for item in columns if not has_aggregate(item.expression)]
    if grouped:
        simple = frozenset(key for key in keys if _simple(key))
        for item in columns:
            if has_aggregate(item.expression):
                _unambiguous(item.expression, simple, frozenset())
    narrow = grouped or projection.distinct
    held = _held_by(columns)
    compound = frozenset(key for key in keys if not _simple(key)) if grouped else frozenset()
    order = tuple(
        _sort(item, held, grouped=grouped, compound=compound) for item in projection.order
    )
    return Resolved(tuple(columns), grouped, narrow, order)


def _sort(
    item: t.SortItem,
    held: Mapping[t.Expression, str],
    *,
    grouped: bool,
    compound: frozenset[t.Expression],
) -> t.SortItem:
    if has_aggregate(item.expression):
        if not grouped:
            fail(
                "ORDER BY aggregates, but the projection does not.",
                item.at,
                detail="InvalidAggregation",
                hint="Aggregate in WITH or RETURN.",
            )
        _no_compound_key(item.expression, compound)
    expression = substitute(item.expression, held)
    if has_aggregate(expression):
        fail(
            "ORDER BY aggregates what no column holds.",
            item.at,
            detail="UndefinedVariable",
            hint="Make the aggregation a column.",
        )
    return t.SortItem(expression, item.descending, at=item.at)


def in_columns(expression: t.Expression, columns: Iterable[t.Item]) -> t.Expression:
    """Replace every part that a column holds by that column."""
    found: t.Expression = substitute(expression, _held_by(columns))
    return found


def _held_by(columns: Iterable[t.Item]) -> dict[t.Expression, str]:
    return {item.expression: item.name for item in columns}


def _simple(key: t.Expression) -> bool:
    return isinstance(key, t.Variable) or (isinstance(key, t.Property) and _simple(key.of))


def _no_compound_key(expression: t.Tree, compound: frozenset[t.Expression]) -> None:
    if is_aggregate(expression):
        return
    if expression in compound:
        _ambiguous(expression)
    for part in t.children(expression):
        _no_compound_key(part, compound)


def _unambiguous(
    expression: t.Expression, simple: frozenset[t.Expression], local: frozenset[str]
) -> None:
    """Outside its aggregations, an expression may hold only constants and grouping keys that are
    variables or properties."""
    if is_aggregate(expression) or expression in simple:
        return
    refuse_aggregate_inside(expression)
    if isinstance(expression, t.Subquery) or (
        isinstance(expression, t.Variable) and expression.name not in local
    ):
        _ambiguous(expression)
    inner = local | _brings(expression)
    for part in t.children(expression):
        if isinstance(part, t.Expression):
            _unambiguous(part, simple, inner)


def _ambiguous(expression: t.Tree) -> None:
    fail(
        "This mixes an aggregation with a value that is not a grouping key.",
        expression.at,
        detail="AmbiguousAggregationExpression",
        hint="Project the value as a column of its own, or aggregate in WITH first.",
    )


def _brings(expression: t.Expression) -> frozenset[str]:
    match expression:
        case t.ListComprehension(variable=name) | t.Quantifier(variable=name):
            return frozenset({name})
        case t.Reduce(accumulator=accumulator, variable=name):
            return frozenset({accumulator, name})
    return frozenset()


def substitute(expression: Any, columns: Mapping[t.Expression, str]) -> Any:
    """Replace every part that equals a column's expression by the column."""
    if isinstance(expression, t.Expression):
        found = _lookup(expression, columns)
        if found is not None:
            return t.Variable(found, at=expression.at)
    if isinstance(expression, t.Tree):
        if isinstance(expression, (t.Query, t.PathPattern)):
            return expression
        changes = {}
        for item in fields(expression):
            before = getattr(expression, item.name)
            after = substitute(before, columns) if isinstance(before, (t.Tree, tuple)) else before
            if after is not before:
                changes[item.name] = after
        return replace(expression, **changes) if changes else expression
    if isinstance(expression, tuple):
        parts = tuple(substitute(item, columns) for item in expression)
        return (
            expression
            if all(one is other for one, other in zip(parts, expression, strict=True))
            else parts
        )
    return expression


def _lookup(expression: t.Expression, columns: Mapping[t.Expression, str]) -> str | None:
    if isinstance(expression, t.Literal):
        return None  # 1 equals True in Python, and a constant needs no column
    return columns.get(expression)
