"""Find the variables that a query uses whole and the single properties that it reads of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from doxa.cypher import tree as t
from doxa.cypher.tokens import Tick
from doxa.store.sql_values import pushable_name


def variable_usage(query: t.Query) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """Return the variables that some expression uses whole, and the single properties that are read
    of others."""
    whole: set[str] = set()
    single: dict[str, dict[str, None]] = {}
    star = False
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
        star = star or (isinstance(part, t.Projection) and part.star)
        todo.extend(t.children(part))
    if star:
        whole.update(_pattern_names(query))
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


class LaterReads:
    """The names that the rest of a branch reads, for each of its clauses."""

    def __init__(self, clauses: tuple[t.Clause, ...], tick: Tick) -> None:
        self._last: dict[str, int] = {}  # the last clause that reads a name
        self._last_of_all = -1  # the last that reads whatever there is
        if not any(isinstance(clause, t.With) for clause in clauses):
            return  # nobody asks
        for at, clause in enumerate(clauses):
            for part in t.walk(clause):
                tick()
                if _reads_everything(part):
                    self._last_of_all = at
                if isinstance(part, t.Variable):
                    self._last[part.name] = at
                if isinstance(part, (t.NodePattern, t.EdgePattern, t.PathPattern)):
                    self._last[part.variable or ""] = at

    def after(self, at: int) -> Callable[[str], bool] | None:
        """Return the test whether clauses after this one may read a name; None if they may read
        all. To ask of a WITH."""
        if self._last_of_all > at:
            return None
        return lambda name: self._last.get(name, -1) > at


def _reads_everything(part: t.Tree) -> bool:
    return (
        (isinstance(part, t.Projection) and part.star)
        or isinstance(part, t.CallSubquery)
        or (isinstance(part, t.CallProcedure) and part.args is None)
    )


def _pattern_names(query: t.Query) -> list[str]:
    return [
        part.variable
        for part in t.walk(query)
        if isinstance(part, (t.NodePattern, t.EdgePattern)) and part.variable
    ]
