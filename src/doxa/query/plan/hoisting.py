"""Evaluate the subqueries in an updating clause before the clause writes.

    MATCH (m:A) CREATE (:B {c: COUNT { MATCH (x:B) }})
    Project m, COUNT { … } AS <before>  ·  Create (:B {c: <before>})

A clause does not read what it writes itself: CREATE evaluates them for all rows before the first
row is created, SET for each row before its first item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TypeVar

from doxa.cypher import tree as t
from doxa.cypher.semantics.projection import substitute
from doxa.query.core.names import InternalName, Kind

_READS_GRAPH = (t.Subquery, t.PatternComprehension, t.PatternTest, t.PathValue)
_BRINGS_NAMES = (t.ListComprehension, t.Quantifier, t.Reduce)
Update = TypeVar("Update", bound=t.Tree)


def subqueries_of(tree: t.Tree, made: Collection[str] = ()) -> list[t.Expression]:
    """Return the largest parts that read the graph, except those about what the clause makes."""
    return [part for part in dict.fromkeys(_parts(tree)) if not _named(part) & set(made)]


def _named(expression: t.Tree) -> set[str]:
    return {part.name for part in t.walk(expression) if isinstance(part, t.Variable)} | {
        part.variable
        for part in t.walk(expression)
        if isinstance(part, (t.NodePattern, t.EdgePattern)) and part.variable
    }


def _parts(tree: t.Tree) -> Iterator[t.Expression]:
    called = isinstance(tree, t.Call) and any(isinstance(one, t.PatternTest) for one in tree.args)
    if isinstance(tree, t.Expression) and (
        called
        or isinstance(tree, _READS_GRAPH)
        or (
            isinstance(tree, _BRINGS_NAMES)
            and any(isinstance(one, _READS_GRAPH) for one in t.walk(tree))
        )
    ):
        yield tree
        return
    for part in t.children(tree):
        yield from _parts(part)


def slots_of(tree: t.Tree, width: int, made: Collection[str] = ()) -> dict[t.Expression, str]:
    """Name the slots of these parts, which follow a row of this width."""
    parts = subqueries_of(tree, made)
    return {part: InternalName(Kind.BEFORE, width + index) for index, part in enumerate(parts)}


def read_before(update: Update, names: dict[t.Expression, str]) -> Update:
    """Return the part of the clause with these expressions replaced by the slots of their
    values."""
    if not isinstance(update, t.PathPattern):
        replaced: Update = substitute(update, names)
        return replaced
    elements = tuple(
        replace(one, properties=substitute(one.properties, names))
        if isinstance(one, (t.NodePattern, t.EdgePattern)) and one.properties is not None
        else one
        for one in update.elements
    )
    return replace(update, elements=elements)
