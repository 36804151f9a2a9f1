"""The labels and types that a statement reads, for the question whether retention has dropped
versions that it may need."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from doxa.cypher import tree as t

Names = frozenset[str] | None


def names_read(statement: t.Statement) -> tuple[Names, Names]:
    """Return the labels of nodes and the types of relationships that a statement can read; None
    where it may read any. A procedure may read anything."""
    labels: set[str] = set()
    types: set[str] = set()
    every = [False, False]
    waiting: list[Any] = [statement.body]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (list, tuple)):
            waiting += part
            continue
        if not is_dataclass(part):
            continue
        if isinstance(part, t.CallProcedure):
            return None, None
        if isinstance(part, t.NodePattern):
            every[0] |= not _collect(part.labels, labels)
        elif isinstance(part, t.EdgePattern):
            every[1] |= not _collect(part.types, types)
        waiting += [getattr(part, field.name) for field in fields(part)]
    return (
        None if every[0] else frozenset(labels),
        None if every[1] else frozenset(types),
    )


def _collect(expression: t.LabelExpression | None, names: set[str]) -> bool:
    """Collect the names of an expression; False if others may fit it too."""
    match expression:
        case t.LabelName(name):
            names.add(name)
            return True
        case t.LabelAnd(items):
            return any([_collect(item, names) for item in items])
        case t.LabelOr(items):
            return all([_collect(item, names) for item in items])
    return False
