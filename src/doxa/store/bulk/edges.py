"""Many edges of one type in a transaction.

What is asked for each edge and is the same for all of them, is asked once: guards, constraints,
indexes, policies, which nodes exist and in what project they lie. Log entries and rows are the same
as those of single edges, in the same order, and each is bound into the chain; they are written some
at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat

from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import Properties, canonical
from doxa.store.bulk.log import add_entries
from doxa.store.bulk.properties import encode_all
from doxa.store.intake.names import usable_name
from doxa.store.sql_values import int64_array
from doxa.store.transaction import Transaction

NewEdge = tuple[int, int, Properties]  # from which node, to which, with what properties

_LEAST = 8  # fewer are made one by one
_AT_ONCE = 500
_NODES_AT_ONCE = 10_000
_NODES = "SELECT id, project FROM node WHERE id IN carray(?)"
_INSERT = (
    "INSERT INTO main.edge(id, type, src, dst, props, since, born, project)"
    " VALUES(?, ?, ?, ?, {}, ?, ?, ?)"
)
_INSERT_GIVEN, _INSERT_BARE = _INSERT.format("jsonb(?)"), _INSERT.format("x'0c'")  # that of {}


def create_edges(
    tx: Transaction,
    kind: str,
    edges: Sequence[NewEdge],
    *,
    projects: Mapping[int, str | None] | None = None,
) -> list[EdgeId]:
    """Create edges of a type and return their ids, in order. Raises as `create_edge` does, after
    which the transaction has to be undone. `projects`: those of the ends, if the caller knows them
    in the state that the transaction is in."""
    if len(edges) < _LEAST or not tx.is_plain(kind):
        return [
            tx.create_edge(kind, NodeId(src), dst=NodeId(dst), props=props)
            for src, dst, props in edges
        ]
    usable_name(kind, "edge type")
    if projects is None:
        projects = _projects(tx, edges)
    one = set(projects.values())
    shared = repeat(one.pop()) if len(one) == 1 else None
    made: list[EdgeId] = []
    for start in range(0, len(edges), _AT_ONCE):
        part = edges[start : start + _AT_ONCE]
        made += _insert(tx, kind, part, shared or _lying(part, projects))
    tx._cache.clear()
    return made


def _projects(tx: Transaction, edges: Sequence[NewEdge]) -> dict[int, str | None]:
    """Return the project of each end. Raises NotFoundError for one that does not exist."""
    ends = sorted({src for src, _, _ in edges} | {dst for _, dst, _ in edges})
    found: dict[int, str | None] = {}
    for start in range(0, len(ends), _NODES_AT_ONCE):
        part = ends[start : start + _NODES_AT_ONCE]
        found.update(tx._db.execute(_NODES, (int64_array(part),)))
    if len(found) < len(ends):
        for end in ends:
            if end not in found:
                tx._require_live(NodeId(end))
    return found


def _lying(edges: Sequence[NewEdge], projects: Mapping[int, str | None]) -> Iterator[str | None]:
    """The project of each edge: that of both ends, if it is one."""
    for src, dst, _ in edges:
        project = projects[src]
        yield project if projects[dst] == project else None


def _insert(
    tx: Transaction, kind: str, edges: Sequence[NewEdge], lying: Iterable[str | None]
) -> list[EdgeId]:
    ids = list(map(EdgeId, range(tx._edge + 1, tx._edge + 1 + len(edges))))
    starts, ends, given = zip(*edges, strict=True)
    bare = not any(given)
    encoded = (
        repeat(b"{}", len(given))
        if bare
        else [data for _, data in encode_all(given, owner=kind, left_out=tx.left_out)]
    )
    tail = b',"type":%b}' % canonical(kind)
    payloads = [
        b'{"dst":%d,"id":%d,"props":%b,"src":%d%b' % (dst, identity, data, src, tail)
        for src, dst, identity, data in zip(starts, ends, ids, encoded, strict=True)
    ]
    tx._require_room(len(ids))
    add_entries(tx.entries, "edge.create", ids, payloads)
    now = repeat(tx.now)
    if bare:
        rows = list(zip(ids, repeat(kind), starts, ends, now, now, lying))
        tx._db.executemany(_INSERT_BARE, rows)
    else:
        texts = map(bytes.decode, encoded)
        rows = list(zip(ids, repeat(kind), starts, ends, texts, now, now, lying))
        tx._db.executemany(_INSERT_GIVEN, rows)
    tx._edge = ids[-1]
    return ids
