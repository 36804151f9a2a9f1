"""Find the variables that reveal() applies to, so that their patterns read hidden elements."""

from __future__ import annotations

from collections.abc import Iterable

from doxa.cypher import tree as t


def revealed_names(clauses: Iterable[t.Clause]) -> frozenset[str]:
    """Return the variables of one branch that are passed to reveal(), and those that became them by
    WITH … AS. Variables that belong to a CALL { } do not count."""
    found: set[str] = set()
    sources: dict[str, set[str]] = {}
    todo: list[t.Tree] = list(clauses)
    while todo:
        part = todo.pop()
        if isinstance(part, t.CallSubquery):
            found |= _revealed_inside(part)
            continue
        if isinstance(part, t.Call) and part.name.lower() == "reveal":
            found |= {
                one.name for arg in part.args for one in t.walk(arg) if isinstance(one, t.Variable)
            }
        if isinstance(part, t.Item) and isinstance(part.expression, t.Variable):
            sources.setdefault(part.name, set()).add(part.expression.name)
        todo.extend(t.children(part))
    added = list(found)
    while added:
        for source in sources.get(added.pop(), set()) - found:
            found.add(source)
            added.append(source)
    return frozenset(found)


def _revealed_inside(call: t.CallSubquery) -> set[str]:
    """The imported variables that a subquery reveals."""
    found: set[str] = set()
    for clauses in call.query.branches:
        inner = revealed_names(clauses)
        first = clauses[0]
        imported = set(call.imports or ())
        if call.imports is None and isinstance(first, t.With):
            imported = {
                item.expression.name
                for item in first.projection.items
                if isinstance(item.expression, t.Variable)
            }
        found |= inner if "*" in imported else inner & imported
    return found
