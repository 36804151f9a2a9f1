"""What a query returns and passes through, noted for the access metadata: whole elements by their
values, single properties by where they came from.

A projection that computes something from an element carries the element along in a hidden column,
so that the rows which leave the query, after every DISTINCT, ORDER BY and LIMIT, still know it:

    MATCH (n)-[r]->(m) WITH n.text AS x, m RETURN x        columns x and, hidden, the elements that
    x came from

A statistic, an aggregation without collect(), returns no element. What its pattern matched is
passed through, unless it is returned.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from doxa.base.limits import ACCESS_QUERY_ITEMS_MAX
from doxa.cypher import tree as t
from doxa.cypher.infer import has_aggregate, is_aggregate
from doxa.query.values import HOLDING, Edge, Node, Path, detach
from doxa.store import AccessRecord, Reader

if TYPE_CHECKING:
    from doxa.query.evaluate import Evaluate, Layout, Row

SEEN, WALKED = "  seen", "  walked"
IDENTITY, PASSED = (
    "  id ",
    "  passed ",
)  # columns of ids: of one variable, of all that a region passed through
_ASKED_ABOUT = frozenset(
    ("decayscore", "decay", "policy", "id", "elementid")
)  # functions that tell of an element without returning any of it


class Origins(list[Any]):
    """Several elements and ids in one hidden column."""


HIDING = HOLDING | {Origins}


@dataclass(frozen=True, slots=True)
class Origin(t.Expression):
    """A value for hidden columns only: what these columns hold. `sure`: that are elements, or ids
    fetched to be noted, and no value of a user."""

    names: tuple[str, ...]
    sure: bool


def compile_origin(origin: Origin, layout: Layout) -> Evaluate | int:
    """A function, or the slot that is to be read."""
    slots = [layout[name] for name in origin.names if layout.get(name, -1) >= 0]
    if origin.sure and len(slots) == 1:
        return slots[0]
    bare = frozenset(
        layout[name] for name in origin.names if name.startswith("  ") and name in layout
    )
    return lambda row, run: Origins(
        [value for slot in slots if type(value := row[slot]) in HIDING or slot in bare]
    )


def is_hidden(name: str) -> bool:
    return name.startswith((SEEN, WALKED))


class Noting:
    """What a planner knows of the elements to note. `passing`: whether nodes, and edges, that are
    passed through are wanted."""

    def __init__(self, query: t.Query, passing: tuple[bool, bool]) -> None:
        self.passing = passing
        self.matched: set[str] = set()  # what patterns bind
        self._other = _bound_otherwise(query)

    def matches(self, nodes: Iterable[str], edges: Iterable[str]) -> None:
        self.matched |= {*(nodes if self.passing[0] else ()), *(edges if self.passing[1] else ())}

    def _origin(self, names: Iterable[str]) -> Origin:
        kept = tuple(names)
        return Origin(
            kept,
            all(
                name.startswith("  ") or (name in self.matched and name not in self._other)
                for name in kept
            ),
        )

    def origin_of(self, source: t.Expression, layout: Mapping[str, int]) -> int | None:
        """The slot of what a list's items came from, if it is one column that knows."""
        names = [
            name
            for name in _names(t.Item(source, "", False), layout)
            if layout[name] >= 0 and self._origin((name,)).sure
        ]
        return layout[names[0]] if len(names) == 1 else None

    def with_origins(
        self, projection: t.Projection, layout: Mapping[str, int], *, last: bool
    ) -> t.Projection:
        """A projection with hidden columns: of each column where it came from; `last`: one for each
        thing to note."""
        items = list(projection.items)
        if projection.star:
            items += [
                t.Item(t.Variable(name), name, True) for name in layout if not name.startswith("  ")
            ]
        grouped = any(has_aggregate(item.expression) for item in items)
        if grouped and not any(_collects(item.expression) for item in items):
            return projection
        found = [(item.name, _names(item, layout)) for item in items]
        seen = dict.fromkeys(name for _, names in found for name in names)
        whole = (
            {item.expression.name for item in items if isinstance(item.expression, t.Variable)}
            if last
            else set()
        )
        passed = [
            name
            for name in layout
            if name in self.matched or name.startswith((WALKED, PASSED, IDENTITY))
        ]
        walked = [name for name in passed if not (last and (name in seen or name in whole))]
        if grouped:
            columns = (
                [(SEEN, tuple(seen))]
                if last
                else [(f"{SEEN} {name}", names) for name, names in found if names]
            )
            added = [
                t.Item(t.Call("collect", (Origin(names, False),)), name, True)
                for name, names in columns
            ]
        elif last:
            hidden = [(f"{SEEN} {index}", self._origin((name,))) for index, name in enumerate(seen)]
            hidden += [
                (f"{WALKED} {index}", self._origin((name,))) for index, name in enumerate(walked)
            ]
            added = [t.Item(origin, name, True) for name, origin in hidden]
        else:
            hidden = [(f"{SEEN} {name}", self._origin(names)) for name, names in found if names]
            added = [
                t.Item(origin, name, True)
                for name, origin in (*hidden, (WALKED, self._origin(walked)))
            ]
        return replace(projection, items=(*projection.items, *added))


def _bound_otherwise(query: t.Query) -> frozenset[str]:
    """The names that something else than a pattern gives a value."""
    found: set[str] = set()
    for part in t.walk(query):
        if isinstance(part, t.Item) and part.expression != t.Variable(part.name):
            found.add(part.name)
        elif isinstance(part, (t.Unwind, t.LoadCsv, t.Foreach)):
            found.add(part.variable)
        elif isinstance(part, t.CallProcedure):
            found |= {name for _, name in part.yields or ()}
    return frozenset(found)


def _names(item: t.Item, layout: Mapping[str, int]) -> tuple[str, ...]:
    """The columns that an item takes something from: variables, and where computed ones came from.
    One that passes on as it is needs no note."""
    found: dict[str, None] = {}
    if isinstance(item.expression, t.Variable):
        origin = f"{SEEN} {item.expression.name}"
        return (origin,) if origin in layout else ()
    todo: list[t.Tree] = [item.expression]
    while todo:
        part = todo.pop()
        if isinstance(part, t.Call) and (
            part.name.lower() in _ASKED_ABOUT
            or (is_aggregate(part) and part.name.lower() != "collect")
        ):
            continue
        if isinstance(part, t.Variable):
            found |= {name: None for name in (part.name, IDENTITY + part.name) if name in layout}
            found |= {f"{SEEN} {part.name}": None} if f"{SEEN} {part.name}" in layout else {}
        todo.extend(t.children(part))
    return tuple(found)


def _collects(expression: t.Expression) -> bool:
    return any(
        isinstance(part, t.Call) and part.name.lower() == "collect" for part in t.walk(expression)
    )


def revealed_names(clauses: Iterable[t.Clause]) -> frozenset[str]:
    """The variables of one branch that `reveal` is asked of, and those that became them by WITH …
    AS. What a CALL { } asks of variables of its own is not about this branch's."""
    found: set[str] = set()
    aliases: list[tuple[str, str]] = []
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
            aliases.append((part.name, part.expression.name))
        todo.extend(t.children(part))
    while added := {source for name, source in aliases if name in found} - found:
        found |= added
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


class AccessLog:
    """The elements that one run returned and passed through, each once; noted when its rows have
    been taken."""

    def __init__(
        self,
        note: Callable[[AccessRecord], None],
        parameters: Mapping[str, Any],
        names: frozenset[str],
    ) -> None:
        self._note = note
        self._parameters, self._names = parameters, names
        self._returned: list[Any] = []
        self._walked: list[Any] = []
        self._direct: array[int] = array("q")
        self._width = self._first = 0
        self._seen: set[int] = set()  # what was gathered of many rows
        self._past: set[int] = set()
        self.full = False

    def rows(
        self,
        rows: Iterable[Row],
        width: int,
        seen: int,
        *,
        reader: Reader,
        revealed: set[tuple[bool, int]],
    ) -> Iterator[Row]:
        """The rows without their hidden columns, detached. Of these the first `seen` are what was
        returned. All is noted at the end, or when the taker stops."""
        returned, walked, most, middle = (
            self._returned,
            self._walked,
            ACCESS_QUERY_ITEMS_MAX,
            width + seen,
        )
        try:
            for row in rows:
                if len(returned) > most or len(walked) > most:
                    self.gather()
                if len(row) > width:
                    if not self.full:
                        returned += row[width:middle]
                        walked += row[middle:]
                    row = row[:width]
                for value in row:
                    if type(value) in HOLDING:
                        detach(value)
                        if not self.full:
                            returned.append(value)
                yield row
        finally:
            self._finish(reader, revealed)

    def gather(self) -> None:
        """Keep each element once; full when there are as many as one query notes."""
        rows = self._direct
        for place in range(self._width):
            (self._seen if place < self._first else self._past).update(rows[place :: self._width])
        collect_ids(self._returned, self._seen)
        collect_ids(self._walked, self._past)
        del rows[:]
        self._returned.clear()
        self._walked.clear()
        self.full = (
            len(self._seen) >= ACCESS_QUERY_ITEMS_MAX or len(self._past) >= ACCESS_QUERY_ITEMS_MAX
        )

    def directly(self, width: int, first: int) -> array[int]:
        """Where a region puts the ids of its own rows, `width` for each; the `first` of them were
        returned."""
        self._width, self._first = width, first
        return self._direct

    def returned(self, node: int) -> None:
        """A node that a procedure returned in parts."""
        self._returned.append(node)

    def _finish(self, reader: Reader, revealed: set[tuple[bool, int]]) -> None:
        rows = self._direct
        if not (rows or self._returned or self._walked or self._seen or self._past):
            return
        parameters, returned, walked = self._parameters, self._seen, self._past
        collect_ids(self._returned, returned)
        collect_ids(self._walked, walked)
        given = {name: parameters[name] for name in self._names if parameters.get(name) is not None}
        noted = AccessRecord(
            reader.now,
            given,
            array("q", returned),
            array("q", walked),
            rows,
            self._width,
            self._first,
        )
        self._returned, self._walked, self._direct, self._seen, self._past = (
            [],
            [],
            array("q"),
            set(),
            set(),
        )
        if revealed:
            hidden = {
                -identity if edge else identity
                for edge, identity in revealed
                if not reader.is_seen(edge, identity)
            }
            noted = noted.without(hidden)
        if noted.size:
            self._note(noted)


def collect_ids(values: Iterable[Any], into: set[int]) -> None:
    """The ids of the elements in values, of edges with a minus. Whole numbers, and tuples of them,
    are ids that were fetched to be noted."""
    for value in values:
        kind = type(value)
        if kind is int:
            into.add(value)
        elif kind is tuple:
            into.update(value)
        elif kind is Node:
            into.add(value.id)
        elif kind is Edge:
            into.add(-value.id)
        elif kind is Path:
            collect_ids(value.elements(), into)
        elif kind is list or kind is dict:
            collect_ids(
                [
                    item
                    for item in (value if kind is list else value.values())
                    if type(item) in HIDING
                ],
                into,
            )
        elif kind is Origins:
            collect_ids(value, into)
