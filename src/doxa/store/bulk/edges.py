"""Many edges of one type in a transaction.

What is asked for each edge and is the same for all of them, is asked once: guards, constraints,
indexes, policies, which nodes exist and in what project they lie. Log entries and rows are the same
as those of single edges, in the same order, and each is bound into the chain; they are written some
at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import Properties, canonical
from doxa.store.bulk.log import add_entries
from doxa.store.bulk.properties import Encoded, encode_all
from doxa.store.elements import usable_name
from doxa.store.reader import int64_array
from doxa.store.transaction import Transaction

NewEdge = tuple[int, int, Properties]  # from which node, to which, with what properties

_LEAST = 8  # fewer are made one by one
_AT_ONCE = 500
_NODES_AT_ONCE = 10_000
_NODES = "SELECT id, project FROM node WHERE id IN carray(?)"
_INSERT = (
    "INSERT INTO main.edge(id, type, src, dst, props, since, born, project)"
    " VALUES(?, ?, ?, ?, jsonb(?), ?, ?, ?)"
)


def create_edges(tx: Transaction, kind: str, edges: Sequence[NewEdge]) -> list[EdgeId]:
    """Create edges of a type and return their ids, in order. Raises as `create_edge` does, after
    which the transaction has to be undone."""
    if len(edges) < _LEAST or not tx.is_plain(kind):
        return [
            tx.create_edge(kind, NodeId(src), dst=NodeId(dst), props=props)
            for src, dst, props in edges
        ]
    usable_name(kind, "edge type")
    projects = _projects(tx, edges)
    made: list[EdgeId] = []
    for start in range(0, len(edges), _AT_ONCE):
        made += _insert(tx, kind, edges[start : start + _AT_ONCE], projects)
    tx._cache.clear()
    return made


def _projects(tx: Transaction, edges: Sequence[NewEdge]) -> dict[int, str | None]:
    """Return the project of each end. Raises NotFoundError for one that does not exist."""
    ends = sorted({end for edge in edges for end in edge[:2]})
    found: dict[int, str | None] = {}
    for start in range(0, len(ends), _NODES_AT_ONCE):
        part = ends[start : start + _NODES_AT_ONCE]
        found.update(tx._db.execute(_NODES, (int64_array(part),)))
    for end in ends:
        if end not in found:
            tx._require_live(NodeId(end))
    return found


def _encoded(tx: Transaction, kind: str, edges: Sequence[NewEdge]) -> Sequence[Encoded]:
    given = [props for _, _, props in edges]
    if any(given):
        return encode_all(given, owner=kind, left_out=tx.left_out)
    return [({}, b"{}")] * len(given)


def _insert(
    tx: Transaction, kind: str, edges: Sequence[NewEdge], projects: dict[int, str | None]
) -> list[EdgeId]:
    name, now, identity = canonical(kind), tx.now, tx._edge
    tail = b',"type":%b}' % name
    rows: list[tuple[Any, ...]] = []
    entries: list[tuple[int, bytes]] = []
    for (src, dst, _), (_, data) in zip(edges, _encoded(tx, kind, edges), strict=True):
        identity += 1
        body = b'{"dst":%d,"id":%d,"props":%b,"src":%d%b' % (dst, identity, data, src, tail)
        entries.append((identity, body))
        project = projects[src]
        rows.append(
            (
                identity,
                kind,
                src,
                dst,
                data.decode(),
                now,
                now,
                project if project == projects[dst] else None,
            )
        )
    tx._require_room(len(entries))
    add_entries(tx.entries, "edge.create", entries)
    tx._db.executemany(_INSERT, rows)
    tx._edge = identity
    return [row[0] for row in rows]
