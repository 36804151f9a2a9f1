"""What a query returns and passes through, noted for the access metadata: whole elements by their values, single properties by where they came from.

A projection that computes something from an element carries the element along in a hidden column, so that the rows which leave the query, after
every DISTINCT, ORDER BY and LIMIT, still know it:

    MATCH (n)-[r]->(m) WITH n.text AS x, m RETURN x        columns x and, hidden, the elements that x came from

A statistic, an aggregation without collect(), returns no element. What its pattern matched is passed through, unless it is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from doxa.base.limits import ACCESS_QUERY_ITEMS_MAX
from doxa.cypher import tree as t
from doxa.cypher.infer import has_aggregate, is_aggregate
from doxa.query.values import Edge, Element, Node, Path
from doxa.store import Noted, Reader

if TYPE_CHECKING:
    from doxa.query.evaluate import Evaluate, Layout, Row
    from doxa.query.run import Run

SEEN, WALKED = "  seen", "  walked"
_ASKED_ABOUT = frozenset(("decayscore", "decay", "policy", "id", "elementid"))  # functions that tell of an element without returning any of it


@dataclass(frozen=True, slots=True)
class Origin(t.Expression):
    """A value for hidden columns only: the elements in these columns, as a tuple."""

    names: tuple[str, ...]


def compile_origin(origin: Origin, layout: Layout) -> Evaluate:
    slots = [layout[name] for name in origin.names if layout.get(name, -1) >= 0]

    def elements(row: Row, run: Run) -> tuple[Any, ...]:
        return tuple([value for slot in slots if (value := row[slot]) is not None])

    return elements


def is_hidden(name: str) -> bool:
    return name.startswith((SEEN, WALKED))


def with_origins(projection: t.Projection, layout: Mapping[str, int], matched: Collection[str], *, last: bool) -> t.Projection:
    """A projection with hidden columns: of each column where it came from; `last`: of all of them together.
    `matched` is what patterns bound."""
    items = list(projection.items)
    if projection.star:
        items += [t.Item(t.Variable(name), name, True) for name in layout if not name.startswith("  ")]
    grouped = any(has_aggregate(item.expression) for item in items)
    if grouped and not any(_collects(item.expression) for item in items):
        return projection
    found = [(item.name, _names(item, layout)) for item in items]
    if last:
        hidden = [(SEEN, tuple(dict.fromkeys(name for _, names in found for name in names)))]
    else:
        hidden = [(f"{SEEN} {name}", names) for name, names in found if names]
    if not grouped:
        hidden.append((WALKED, tuple(name for name in layout if name in matched or name.startswith(WALKED))))
    added = [(name, Origin(names)) for name, names in hidden]
    collected = [t.Item(t.Call("collect", (origin,)) if grouped else origin, name, True) for name, origin in added]
    return replace(projection, items=(*projection.items, *collected))


def _names(item: t.Item, layout: Mapping[str, int]) -> tuple[str, ...]:
    """The columns that an item takes something from: variables, and where computed ones came from. One that passes on as it is needs no note."""
    found: dict[str, None] = {}
    if isinstance(item.expression, t.Variable):
        origin = f"{SEEN} {item.expression.name}"
        return (origin,) if origin in layout else ()
    todo: list[t.Tree] = [item.expression]
    while todo:
        part = todo.pop()
        if isinstance(part, t.Call) and (part.name.lower() in _ASKED_ABOUT or (is_aggregate(part) and part.name.lower() != "collect")):
            continue
        if isinstance(part, t.Variable) and part.name in layout:
            found[part.name] = None
            found |= {f"{SEEN} {part.name}": None} if f"{SEEN} {part.name}" in layout else {}
        todo.extend(t.children(part))
    return tuple(found)


def _collects(expression: t.Expression) -> bool:
    return any(isinstance(part, t.Call) and part.name.lower() == "collect" for part in t.walk(expression))


def revealed_names(query: t.Query) -> frozenset[str]:
    """The variables that `reveal` is asked of somewhere in a query, and those that became them by WITH … AS."""
    found: set[str] = set()
    for part in t.walk(query):
        if isinstance(part, t.Call) and part.name.lower() == "reveal":
            found |= {one.name for arg in part.args for one in t.walk(arg) if isinstance(one, t.Variable)}
    aliases = [
        (item.name, item.expression.name)
        for part in (t.walk(query) if found else ())
        if isinstance(part, (t.With, t.Return))
        for item in part.projection.items
        if isinstance(item.expression, t.Variable)
    ]
    while added := {source for name, source in aliases if name in found} - found:
        found |= added
    return frozenset(found)


class AccessLog:
    """The elements that one run returned and passed through, each once; noted when its rows have been taken."""

    def __init__(self, note: Callable[[Noted], None], parameters: Mapping[str, Any], names: frozenset[str]) -> None:
        self._note = note
        self._parameters = {name: value for name, value in parameters.items() if name in names and value is not None}
        self._returned: dict[tuple[bool, int], None] = {}
        self._walked: dict[tuple[bool, int], None] = {}

    def rows(self, rows: Iterable[Row], width: int, *, reader: Reader, revealed: set[tuple[bool, int]]) -> Iterator[Row]:
        """The rows without their hidden columns. What was taken is noted at the end, or when the taker stops."""
        try:
            for row in rows:
                if len(self._returned) < ACCESS_QUERY_ITEMS_MAX:
                    for value in row[: width + 1]:
                        self._take(value, self._returned)
                    for value in row[width + 1 :]:
                        self._take(value, self._walked)
                yield row[:width]
        finally:
            self._finish(reader, revealed)

    def returned(self, node: int) -> None:
        """A node that a procedure returned in parts."""
        self._returned[False, node] = None

    def _take(self, value: Any, into: dict[tuple[bool, int], None]) -> None:
        kind = type(value)
        if kind is Node or kind is Edge:
            into[kind is Edge, value.id] = None
        elif kind is Path:
            for element in value.elements():
                into[type(element) is Edge, element.id] = None
        elif kind is list or kind is tuple:
            for item in value:
                if isinstance(item, (Element, Path, list, tuple, dict)):
                    self._take(item, into)
        elif kind is dict:
            for item in value.values():
                self._take(item, into)

    def _finish(self, reader: Reader, revealed: set[tuple[bool, int]]) -> None:
        for key in [one for one in self._returned if one in revealed and not reader.is_seen(*one)]:
            del self._returned[key]
        walked = [one for one in self._walked if one not in self._returned and (one not in revealed or reader.is_seen(*one))]
        parts = [[identity for edge, identity in found if edge is kind] for found in (self._returned, walked) for kind in (False, True)]
        noted = Noted(reader.now, self._parameters, *map(tuple, parts))
        if noted.size:
            self._note(noted)
        self._returned, self._walked = {}, {}
