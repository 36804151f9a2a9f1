"""Convert rows of SQL to the nodes, edges, ids and properties of a query's row."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any

from doxa.base.values import decode_value
from doxa.query.core.elements import Edge, Node
from doxa.query.core.graph import Graph
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.sql.pushed_pattern import PushedDownPattern


def elements_of_slots(pushed: PushedDownPattern) -> list[list[str]]:
    """Return, for each slot of the rows, the keys of the elements that it holds."""
    keys = [[key] for key, _, _ in pushed.outputs]
    if pushed.traversed:
        keys.append([key for key, _ in pushed.traversed])
    return keys + [[] for _ in pushed.columns]


def id_columns(pushed: PushedDownPattern) -> dict[str, int]:
    """Return the columns of SQL that hold ids of nodes, and of edges with a minus, by their
    keys."""
    places: dict[str, int] = {}
    at = 0
    for key, kind, loaded in pushed.outputs:
        if kind != "edge" and key not in pushed.ends:
            places[key] = at
        at += _width(pushed, key, kind, loaded)
    places.update((key, place) for place, key in enumerate(_read_traversed(pushed), at))
    return places


def columns_before(pushed: PushedDownPattern) -> int:
    """Return how many columns of SQL stand before those of properties."""
    widths = [_width(pushed, *output) for output in pushed.outputs]
    return sum(widths) + len(_read_traversed(pushed))


def _read_traversed(pushed: PushedDownPattern) -> list[str]:
    return [key for key, _ in pushed.traversed if key not in pushed.ends]


def _width(pushed: PushedDownPattern, key: str, kind: str, loaded: bool) -> int:
    """The number of SQL columns of an output."""
    return (
        0
        if key in pushed.ends
        else 1
        if kind.endswith("id")
        else (5 if loaded else 4)
        if kind == "edge"
        else (3 if loaded else 1)
    )


def row_builder(pushed: PushedDownPattern, run: Run) -> Callable[[tuple[Any, ...]], Row]:
    parts = value_builders(pushed, run.graph)
    if len(parts) == 1:
        only = parts[0]
        return lambda found: (only(found),)
    return lambda found: tuple([part(found) for part in parts])


def value_builders(
    pushed: PushedDownPattern, graph: Graph
) -> list[Callable[[tuple[Any, ...]], Any]]:
    parts: list[Callable[[tuple[Any, ...]], Any]] = []
    at = 0
    for key, kind, loaded in pushed.outputs:
        parts.append(
            _unread if key in pushed.ends else _element_builder(graph, kind, loaded=loaded, at=at)
        )
        at += _width(pushed, key, kind, loaded)
    if pushed.traversed:
        count = len(_read_traversed(pushed))
        parts.append(_ids(at, count) if count else _unread)
        at += count
    parts.extend(_column(at + index) for index in range(len(pushed.columns)))
    return parts


def _unread(found: tuple[Any, ...]) -> None:
    """The value of an id that is not read."""


def _ids(at: int, count: int) -> Callable[[tuple[Any, ...]], Any]:
    """Return a getter for `count` ids as one value."""
    return itemgetter(at) if count == 1 else itemgetter(*range(at, at + count))


def _column(at: int) -> Callable[[tuple[Any, ...]], Any]:
    return lambda found: None if found[at] is None else decode_value(found[at])


def _element_builder(
    graph: Any, kind: str, *, loaded: bool, at: int
) -> Callable[[tuple[Any, ...]], Any]:

    if kind.endswith("id"):
        return itemgetter(at)
    if kind == "edge":
        if loaded:
            return lambda found: graph.edge_of(
                found[at], found[at + 1], found[at + 2], found[at + 3], found[at + 4]
            )
        return lambda found: Edge(
            found[at], graph, kind=found[at + 1], start=found[at + 2], end=found[at + 3]
        )
    if loaded:
        return lambda found: graph.node_of(found[at], found[at + 1], found[at + 2])
    return lambda found: Node(found[at], graph)
