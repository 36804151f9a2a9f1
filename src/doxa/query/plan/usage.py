"""Find the variables that a query uses whole and the single properties that it reads of others."""

from __future__ import annotations

from collections import Counter

from doxa.cypher import tree as t
from doxa.store.sql_values import pushable_name


def variable_usage(query: t.Query) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """Return the variables that some expression uses whole, and the single properties that are read
    of others."""
    whole: set[str] = set()
    single: dict[str, dict[str, None]] = {}
    todo: list[t.Tree] = [query]
    while todo:
        part = todo.pop()
        if (
            isinstance(part, t.Property)
            and isinstance(part.of, t.Variable)
            and pushable_name(part.name)
        ):
            single.setdefault(part.of.name, {})[part.name] = None
            continue
        if isinstance(part, t.Variable):
            whole.add(part.name)
        if isinstance(part, t.Projection) and part.star:
            whole.update(_pattern_names(query))
        todo.extend(t.children(part))
    return frozenset(whole), {name: tuple(names) for name, names in single.items()}


def property_only_variables(query: t.Query, loaded: frozenset[str]) -> frozenset[str]:
    """Return the variables of which at most single properties are needed: named in one pattern and
    nowhere else."""
    imported = {
        name
        for part in t.walk(query)
        if isinstance(part, t.CallSubquery)
        for name in part.imports or ("*",)
    }
    if "*" in imported:
        return frozenset()
    places = Counter(_pattern_names(query))
    return frozenset(
        name
        for name, count in places.items()
        if count == 1 and name not in loaded and name not in imported
    )


def names_read(clauses: tuple[t.Clause, ...]) -> frozenset[str] | None:
    """Return all names that these clauses may read; None if they read whatever there is."""
    found: set[str] = set()
    for clause in clauses:
        for part in t.walk(clause):
            if (isinstance(part, t.Projection) and part.star) or isinstance(part, t.CallSubquery):
                return None
            if isinstance(part, t.CallProcedure) and part.args is None:
                return None
            if isinstance(part, t.Variable):
                found.add(part.name)
            if isinstance(part, (t.NodePattern, t.EdgePattern, t.PathPattern)) and part.variable:
                found.add(part.variable)
    return frozenset(found)


def _pattern_names(query: t.Query) -> list[str]:
    return [
        part.variable
        for part in t.walk(query)
        if isinstance(part, (t.NodePattern, t.EdgePattern)) and part.variable
    ]
