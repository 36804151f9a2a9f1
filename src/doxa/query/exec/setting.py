"""SET of properties for many rows: the nodes are loaded together, every change is logged in the
order of the rows, and each node is written once.

    MATCH (n:Person) SET n.seen = true
    UNWIND $rows AS r MERGE (n:Person {id: r.id}) SET n.name = r.name, n += r.more

What an item reads must be what it would be if each change had been written at once: values of the
row, and properties of the node that is set. Whatever else it reads is preceded by writing what
waits; a statement that sets two variables, or edges, does so row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from doxa.cypher import tree as t
from doxa.query.core.elements import HOLDING, LOADED_BYTES_MAX, Node
from doxa.query.core.row import Layout, Row
from doxa.query.core.run import Run

_LEAST = 8
_ROWS_AT_ONCE = 1_000
_PURE = (
    t.Literal,
    t.ParameterRef,
    t.Variable,
    t.Property,
    t.Arithmetic,
    t.Sign,
    t.MapOf,
    t.ListOf,
    t.Call,
)
_FUNCTIONS = frozenset(
    "coalesce tostring tointeger tofloat toboolean toupper tolower trim size abs round timestamp"
    " date datetime".split()
)


class RowChange(Protocol):
    def change(self, row: Row, run: Run) -> None:
        """Apply an item of SET to a row."""


class OneTarget(NamedTuple):
    """The slot of the node that is set, and the slots of what the values are made of."""

    slot: int
    reads: tuple[int, ...]


def one_target(changes: Sequence[t.UpdateItem], layout: Layout) -> OneTarget | None:
    """Return what the items of a SET are about, if all set properties of one variable to values of
    the row."""
    targets: set[str] = set()
    reads: set[str] = set()
    for change in changes:
        match change:
            case t.SetProperty(t.Property(t.Variable(name)), value):
                targets.add(name)
            case t.SetAll(t.Variable(name), value, _):
                targets.add(name)
            case _:
                return None
        if not is_pure(value):
            return None
        reads |= {part.name for part in t.walk(value) if isinstance(part, t.Variable)}
    if len(targets) != 1 or not (targets | reads) <= layout.keys():
        return None
    (target,) = targets
    return OneTarget(layout[target], tuple(sorted(layout[name] for name in reads - targets)))


def is_pure(value: t.Expression) -> bool:
    """Return whether a value is made of values of the row alone, not of what a pattern finds."""
    return all(
        isinstance(part, _PURE)
        and (not isinstance(part, t.Call) or part.name.lower() in _FUNCTIONS)
        for part in t.walk(value)
    )


def set_together(
    changers: Sequence[RowChange], about: OneTarget, rows: list[Row], run: Run
) -> bool:
    """Apply the items to all rows, if these are many and set nodes; whether it did."""
    if len(rows) < _LEAST or not all(
        row[about.slot] is None or type(row[about.slot]) is Node for row in rows
    ):
        return False
    graph = run.graph
    with graph.setting_later():
        at = 0
        while at < len(rows):
            part = _loaded(rows[at : at + _ROWS_AT_ONCE], about.slot, run)
            at += len(part)
            seen: dict[int, Node] = {}
            for row in part:
                node = row[about.slot]
                if node is not None:
                    held = seen.setdefault(node.id, node)
                    if held is not node:  # another row's: as that row left it
                        node.fill(held.labels, held.properties)
                        seen[node.id] = node
                if any([may_hold_elements(row[slot]) for slot in about.reads]):
                    graph.write_later()
                for changer in changers:
                    run.tick()
                    changer.change(row, run)
            graph.write_later()
    return True


def _loaded(rows: list[Row], slot: int, run: Run) -> list[Row]:
    """Load the nodes of the rows together. Returns the first rows, whose nodes do not hold much."""
    places: dict[int, int] = {}  # the first row of each node
    for place, row in enumerate(rows):
        if row[slot] is not None:
            places.setdefault(row[slot].id, place)
    firsts = [rows[place][slot] for place in places.values()]
    stopped = run.graph.load_nodes(firsts, bytes_max=LOADED_BYTES_MAX)
    return rows if stopped is None else rows[: max(1, places[stopped.id])]


def may_hold_elements(value: Any) -> bool:
    """Return whether a value is, or may contain, a node or a relationship."""
    kind = type(value)
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return kind in HOLDING
    return any(
        [
            type(item) in HOLDING
            and (type(item) is not list or not HOLDING.isdisjoint(map(type, item)))
            for item in value
        ]
    )
