"""Every version of every element of one snapshot, in an order that depends on the state alone:
nodes by id, edges by id, the versions of an element oldest first.

Rows are read as they are needed: memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import NamedTuple, cast

from doxa.store.reader import Reader


class NodeVersion(NamedTuple):
    """One version of a node: labels and properties as canonical JSON, times in ns; `until` is None
    while it is live, `project` the one that it lies in."""

    id: int
    since: int
    until: int | None
    born: int
    labels: str
    props: str
    project: str | None


class EdgeVersion(NamedTuple):
    """One version of an edge, as of a node."""

    id: int
    since: int
    until: int | None
    born: int
    type: str
    src: int
    dst: int
    props: str
    project: str | None


_NODES = (
    "SELECT id, since, NULL, born, labels, json(props), project FROM node ORDER BY id",
    "SELECT id, since, until, born, labels, json(props), project FROM node_past ORDER BY id, since",
)
_EDGES = (
    "SELECT id, since, NULL, born, type, src, dst, json(props), project FROM edge ORDER BY id",
    "SELECT id, since, until, born, type, src, dst, json(props), project FROM edge_past"
    " ORDER BY id, since",
)
_LATEST = (
    "SELECT max(coalesce((SELECT max(max(since), max(born)) FROM node), 0),"
    " coalesce((SELECT max(max(since), max(born)) FROM edge), 0),"
    " coalesce((SELECT max(until) FROM node_past), 0),"
    " coalesce((SELECT max(until) FROM edge_past), 0))"
)
_LAST_IDS = "SELECT last_node, last_edge FROM receipt ORDER BY tx DESC LIMIT 1"
_ANY = (
    "SELECT EXISTS (SELECT 1 FROM node) OR EXISTS (SELECT 1 FROM node_past)"
    " OR EXISTS (SELECT 1 FROM edge) OR EXISTS (SELECT 1 FROM edge_past)"
)


def node_versions(reader: Reader) -> Iterator[NodeVersion]:
    """Yield every version of every node, live and past."""
    rows = merge(*map(reader._db.execute, _NODES), key=_order)
    return map(NodeVersion._make, rows)


def edge_versions(reader: Reader) -> Iterator[EdgeVersion]:
    """Yield every version of every edge, live and past."""
    rows = merge(*map(reader._db.execute, _EDGES), key=_order)
    return map(EdgeVersion._make, rows)


def access_records(reader: Reader) -> Iterator[tuple[bool, int, str]]:
    """Yield (whether of an edge, id, metadata as JSON) of every element that was accessed."""
    rows = reader._db.execute("SELECT edge, element, json(data) FROM access ORDER BY edge, element")
    return ((bool(row[0]), cast("int", row[1]), str(row[2])) for row in rows)


def latest_time(reader: Reader) -> int:
    """Return the latest system time of any version, in ns; 0 if there is none."""
    return int(reader._db.execute(_LATEST).get)


def last_ids(reader: Reader) -> tuple[int, int]:
    """Return the greatest ids of a node and an edge that were ever given."""
    row = reader._db.execute(_LAST_IDS).fetchone()
    return (0, 0) if row is None else (cast("int", row[0]), cast("int", row[1]))


def is_empty(reader: Reader) -> bool:
    """Return whether the file holds no element and never did, except what was erased."""
    return not reader._db.execute(_ANY).get


def _order(row: tuple[object, ...]) -> tuple[int, int]:
    return cast("tuple[int, int]", row[:2])
