"""Plan hidden columns that carry the elements a query returns and traverses to the access log.

Whole elements are recognised in the result. A projection that computes a value from an element adds
a hidden column with that element, so that rows which leave the query, after every DISTINCT, ORDER
BY and LIMIT, still carry it:

    MATCH (n)-[r]->(m) WITH n.text AS x, m RETURN x
    the column x and a hidden column with n

An aggregation without collect() is a statistic and returns no element. Elements that its pattern
matched are traversed, unless they are returned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from doxa.cypher import tree as t
from doxa.cypher.semantics.infer import has_aggregate, is_aggregate
from doxa.query.core.names import InternalName, Kind, is_internal
from doxa.query.expressions.provenance import Provenance

_ASKED_ABOUT = frozenset(
    ("decayscore", "decay", "policy", "id", "elementid")
)  # functions that describe an element without returning any of its values


class AccessTracking:
    """Decides which elements a plan carries to the access log. `track_traversed`: whether traversed
    nodes, and edges, are recorded."""

    def __init__(self, query: t.Query, track_traversed: tuple[bool, bool]) -> None:
        self.track_traversed = track_traversed
        self.matched: set[str] = set()  # bound by patterns
        self._other = _bound_otherwise(query)

    def add_matched(self, nodes: Iterable[str], edges: Iterable[str]) -> None:
        self.matched |= {
            *(nodes if self.track_traversed[0] else ()),
            *(edges if self.track_traversed[1] else ()),
        }

    def _provenance(self, names: Iterable[str]) -> Provenance:
        kept = tuple(names)
        return Provenance(
            kept,
            all(
                is_internal(name) or (name in self.matched and name not in self._other)
                for name in kept
            ),
        )

    def provenance_of(self, source: t.Expression, layout: Mapping[str, int]) -> int | None:
        """Return the slot of the provenance of a list's items, if exactly one column has it."""
        names = [
            name
            for name in _names(t.Item(source, "", False), layout)
            if layout[name] >= 0 and self._provenance((name,)).certain
        ]
        return layout[names[0]] if len(names) == 1 else None

    def with_provenance(
        self, projection: t.Projection, layout: Mapping[str, int], *, last: bool
    ) -> t.Projection:
        """Add hidden columns to a projection: each column's provenance or, in the last projection,
        one for each element."""
        items = list(projection.items)
        if projection.star:
            items += [
                t.Item(t.Variable(name), name, True) for name in layout if not is_internal(name)
            ]
        grouped = any(has_aggregate(item.expression) for item in items)
        if grouped and not any(_collects(item.expression) for item in items):
            return projection
        found = [(item.name, _names(item, layout)) for item in items]
        returned = dict.fromkeys(name for _, names in found for name in names)
        whole = (
            {item.expression.name for item in items if isinstance(item.expression, t.Variable)}
            if last
            else set()
        )
        candidates = [
            name
            for name in layout
            if name in self.matched
            or is_internal(name, Kind.TRAVERSED, Kind.TRAVERSED_IDS, Kind.ELEMENT_ID)
        ]
        traversed = [
            name for name in candidates if not (last and (name in returned or name in whole))
        ]
        if grouped:
            columns = (
                [(InternalName(Kind.RETURNED), tuple(returned))]
                if last
                else [(InternalName(Kind.RETURNED, name), names) for name, names in found if names]
            )
            added = [
                t.Item(t.Call("collect", (Provenance(names, False),)), name, True)
                for name, names in columns
            ]
        elif last:
            hidden = [
                (InternalName(Kind.RETURNED, index), self._provenance((name,)))
                for index, name in enumerate(returned)
            ]
            hidden += [
                (InternalName(Kind.TRAVERSED, index), self._provenance((name,)))
                for index, name in enumerate(traversed)
            ]
            added = [t.Item(origin, name, True) for name, origin in hidden]
        else:
            hidden = [
                (InternalName(Kind.RETURNED, name), self._provenance(names))
                for name, names in found
                if names
            ]
            added = [
                t.Item(origin, name, True)
                for name, origin in (
                    *hidden,
                    (InternalName(Kind.TRAVERSED), self._provenance(traversed)),
                )
            ]
        return replace(projection, items=(*projection.items, *added))


def _bound_otherwise(query: t.Query) -> frozenset[str]:
    """The names that are bound by anything but a pattern."""
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
    """The columns that an item is computed from: variables, and the provenance of computed ones. An
    element that passes unchanged needs none."""
    found: dict[str, None] = {}
    if isinstance(item.expression, t.Variable):
        origin = InternalName(Kind.RETURNED, item.expression.name)
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
            found |= {
                name: None
                for name in (part.name, InternalName(Kind.ELEMENT_ID, part.name))
                if name in layout
            }
            found |= (
                {InternalName(Kind.RETURNED, part.name): None}
                if InternalName(Kind.RETURNED, part.name) in layout
                else {}
            )
        todo.extend(t.children(part))
    return tuple(found)


def _collects(expression: t.Expression) -> bool:
    return any(
        isinstance(part, t.Call) and part.name.lower() == "collect" for part in t.walk(expression)
    )
