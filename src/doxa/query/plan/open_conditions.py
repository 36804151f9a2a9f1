"""The conditions of a MATCH that no step tests yet, each found by the names that it waits for."""

from __future__ import annotations

from collections.abc import Container, Iterable, Set

from doxa.cypher import tree as t
from doxa.query.core.pattern import free_variables


class OpenConditions:
    """Conditions in the order of the text, by number."""

    def __init__(
        self, conditions: Iterable[t.Expression], own: Set[str], bound: Container[str]
    ) -> None:
        """`own`: the names of the MATCH, of which some are `bound` at first; whatever else a
        condition names is bound before it, or never."""
        self._open = dict(enumerate(conditions))
        self._needs = [free_variables(condition) & own for condition in self._open.values()]
        self._missing = [sum(name not in bound for name in names) for names in self._needs]
        self._about: dict[str, list[int]] = {}
        for number, names in enumerate(self._needs):
            for name in names:
                self._about.setdefault(name, []).append(number)
        self._ready = [number for number, missing in enumerate(self._missing) if not missing]

    def bind(self, names: Iterable[str]) -> None:
        """Note names that a step has bound, each once."""
        for name in names:
            for number in self._about.get(name, ()):
                self._missing[number] -= 1
                if not self._missing[number]:
                    self._ready.append(number)

    def take_ready(self) -> list[t.Expression]:
        """Remove and return the conditions whose names are all bound."""
        ready, self._ready = sorted(self._ready), []
        return [self._open.pop(number) for number in ready if number in self._open]

    def take_all(self) -> list[t.Expression]:
        found, self._open = list(self._open.values()), {}
        return found

    def about(self, names: Iterable[str]) -> list[tuple[int, t.Expression]]:
        """Return the conditions with any of these names."""
        numbers = {number for name in names for number in self._about.get(name, ())}
        return [(number, self._open[number]) for number in sorted(numbers) if number in self._open]

    def names_of(self, number: int) -> frozenset[str]:
        """Return the names of the MATCH that a condition needs."""
        return self._needs[number]

    def take(self, number: int) -> None:
        del self._open[number]
