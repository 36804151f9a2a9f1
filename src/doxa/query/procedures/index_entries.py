"""Read the entries of a declared index, and the elements that a search may return."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from doxa.base.values import decode_properties
from doxa.query.core.elements import Edge, Node
from doxa.query.core.errors import fail
from doxa.query.core.memory_budget import MemoryBudget
from doxa.query.sql.visible_edges import ALL, edge_source, edge_tests
from doxa.store import IndexRule, int64_array

# in a larger index the number of visible elements is estimated from those that contain a searched
# word
COUNTED_MAX = 100
_LOOKED_FOR = 1_000  # nodes in one statement


class Entries(Protocol):
    """The keys of one index in order, each with its element."""

    def between(self, low: bytes, high: bytes | None) -> Iterable[tuple[bytes, int]]: ...

    def middle(self, low: bytes, high: bytes) -> tuple[int, bytes | None]:
        """Return the number of keys in the range and the middle one."""


def index_entries(run: Any, rule: IndexRule) -> Entries:
    """Return the stored entries. As of a past time, those that the elements of that time would
    have, computed from each of them."""
    return _Stored(run.graph, rule) if run.graph.as_of is None else _Past(run, rule)


class _Stored:
    def __init__(self, graph: Any, rule: IndexRule) -> None:
        self._graph, self._id = graph, rule.id
        self._seen = (
            graph.sight.table(edge=rule.edge)
            if graph.sight is not None and graph.sight.test("n", edge=rule.edge)
            else ""
        )

    def between(self, low: bytes, high: bytes | None) -> Iterable[tuple[bytes, int]]:
        until, given = ("", ()) if high is None else (" AND key < ?", (high,))
        sql = f"SELECT key, element FROM entry WHERE idx = ? AND key >= ?{until}"
        found: Iterable[tuple[bytes, int]] = self._graph.rows(sql, (self._id, low, *given))
        return found

    def middle(self, low: bytes, high: bytes) -> tuple[int, bytes | None]:
        sql = "SELECT {what} FROM entry WHERE idx = ? AND key >= ? AND key < ?"
        bounds = (self._id, low, high)
        count = next(iter(self._graph.rows(sql.format(what="count(*)"), bounds)))[0]
        if self._seen and count <= COUNTED_MAX:
            sql += f" AND element IN (SELECT id FROM {self._seen})"
            count = next(iter(self._graph.rows(sql.format(what="count(*)"), bounds)))[0]
        keys = self._graph.rows(
            f"{sql.format(what='key')} ORDER BY key LIMIT 1 OFFSET ?", (*bounds, count // 2)
        )
        return count, next((key for (key,) in keys), None)


class _Past:
    def __init__(self, run: Any, rule: IndexRule) -> None:
        budget = MemoryBudget("keys of a past index")
        self._rows: list[tuple[bytes, int]] = []
        for identity, props in _members(run.graph, rule):
            for key in rule.keys(props):
                run.tick()
                budget.add_row((key, identity))
                self._rows.append((key, identity))
        self._rows.sort()

    def between(self, low: bytes, high: bytes | None) -> Iterable[tuple[bytes, int]]:
        return self._rows[
            bisect_left(self._rows, (low,)) : len(self._rows)
            if high is None
            else bisect_left(self._rows, (high,))
        ]

    def middle(self, low: bytes, high: bytes) -> tuple[int, bytes | None]:
        rows = list(self.between(low, high))
        return len(rows), rows[len(rows) // 2][0] if rows else None


def _members(graph: Any, rule: IndexRule) -> Iterator[tuple[int, dict[str, Any]]]:
    """The elements that a rule covers, each once, with their properties."""
    marks = ", ".join("?" * len(rule.names))
    if rule.edge:
        sql = f"SELECT id, json(props) FROM {graph.edge_table()} WHERE type IN ({marks})"
    else:
        about = f"SELECT node FROM {graph.label_table()} WHERE label IN ({marks})"
        sql = f"SELECT id, json(props) FROM {graph.node_table()} WHERE id IN ({about})"
    for identity, props in graph.rows(sql, tuple(rule.names)):
        yield identity, decode_properties(props)


def declared_index(run: Any, name: str, kind: str, *, edge: bool) -> IndexRule:
    rule: IndexRule | None = run.graph.reader.declared().indexes.by_name.get(name)
    if rule is None or rule.kind != kind or rule.edge != edge:
        what = f"{kind} index on {'relationships' if edge else 'nodes'}"
        fail(
            f"Unknown {what} {name!r:.40}.",
            kind="ProcedureError",
            detail="IndexNotFound",
            hint="SHOW INDEXES lists them.",
            name=name,
        )
    return rule


def visible_element(
    run: Any, rule: IndexRule, identity: int, *, history: bool = False
) -> Node | Edge | None:
    """Return the element if the query may see it. Retracted beliefs, which recall omits, are not
    search results either."""
    graph = run.graph
    if rule.edge:
        tests = "".join(
            dict.fromkeys(
                edge_tests(run, None, end, revealed=ALL if run.revealing else 0)
                for end in ("src", "dst")
            )
        )
        sql = (
            "SELECT id, type, src, dst, json(props) FROM"
            f" {edge_source(run, revealed=ALL if run.revealing else 0)} e WHERE id = ?{tests}"
        )
        return next((graph.edge_of(*row) for row in graph.rows(sql, (identity,))), None)
    table, tests = _visible_nodes(run, history=history)
    sql = f"SELECT id, labels, json(props) FROM {table} n WHERE id = ?{tests}"
    return next((graph.node_of(*row) for row in graph.rows(sql, (identity,))), None)


def visible_elements(
    run: Any, rule: IndexRule, identities: Iterable[int], *, most: int | None, history: bool = False
) -> Iterator[Node | Edge]:
    """Yield those of the elements that the query may see, in order. Of nodes, twice as many as are
    wanted `most` are looked for by one statement, then more, and each is read when it is asked
    for."""
    graph = run.graph
    if rule.edge or graph.as_of is not None:
        for identity in identities:
            run.tick()
            element = visible_element(run, rule, identity, history=history)
            if element is not None:
                yield element
        return
    table, tests = _visible_nodes(run, history=history)
    sql = (
        f"SELECT n.id, n.labels, json(n.props) FROM carray(?) c CROSS JOIN {table} n"
        f" WHERE n.id = c.value{tests}"
    )
    rest, size = iter(identities), _LOOKED_FOR if most is None else min(2 * most, _LOOKED_FOR)
    while part := list(islice(rest, size)):
        for row in graph.rows(sql, (int64_array(part),)):
            run.tick()
            yield graph.node_of(*row)
        size = min(2 * size, _LOOKED_FOR)


def _visible_nodes(run: Any, *, history: bool) -> tuple[str, str]:
    """Return the table of nodes, and the tests of its rows `n`, behind another."""
    graph = run.graph
    test = graph.valid.node("n") if graph.valid is not None else ""
    live = (
        ""
        if history or graph.as_of is not None
        else " AND NOT EXISTS (SELECT 1 FROM doc d WHERE d.node = n.id AND d.live = 0)"
    )
    table = graph.raw_table(edge=False) if run.revealing else graph.node_table()
    return table, f"{' AND ' + test if test else ''}{live}"
