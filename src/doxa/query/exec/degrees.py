"""How many relationships a node has, without reading them.

    MATCH (n:Person) RETURN n.id, count { (n)-[:KNOWS]-() } AS degree ORDER BY degree DESC LIMIT 10

The number is the length of the node's rows in the resident arrays; a relationship from a node to
itself is counted once, as a pattern finds it once. Without arrays the pattern is searched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from doxa.cypher import tree as t
from doxa.query.core.elements import Node
from doxa.query.core.pattern import plain_types
from doxa.query.core.row import Layout, Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.exec.bfs import AdjacencyScan

Search = Callable[[Row, Run], Any]


def degree_of(query: t.Query, layout: Layout, search: Search) -> Evaluate | None:
    """Return the evaluation of COUNT { (n)--() } for a bound n; None if the query is another."""
    match query.branches:
        case (
            (
                t.Match(
                    patterns=(
                        t.PathPattern(
                            elements=(
                                t.NodePattern(near, None, None, None),
                                t.EdgePattern(None, types, direction, None, None, None),
                                t.NodePattern(None, None, None, None),
                            ),
                            variable=None,
                            shortest=None,
                        ),
                    ),
                    where=None,
                    optional=False,
                ),
            ),
        ) if near is not None and layout.get(near, -1) >= 0:
            named = plain_types(types)
            if named is not None:
                return _Degree(layout[near], named or None, direction, search)
    return None


class _Degree:
    """Of the node in a slot."""

    def __init__(
        self, slot: int, types: tuple[str, ...] | None, direction: str, search: Search
    ) -> None:
        self.slot, self.search = slot, search
        self._links = types, direction

    def __call__(self, row: Row, run: Run) -> int:
        node = row[self.slot]
        if type(node) is not Node or run.graph.image is None:
            return self._searched(row, run)
        links = run.graph.links.get(self._links)
        if links is None:
            types, direction = self._links
            links = AdjacencyScan(run, types=types, direction=direction)
            run.graph.links[self._links] = links
        found = links.degree(node.id)
        if found is None:
            found = self._searched(row, run)
            links.spend(found)
        return found

    def _searched(self, row: Row, run: Run) -> int:
        return sum(1 for _ in self.search(row, run))
