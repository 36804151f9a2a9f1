"""Where a snapshot stands in the log, and which elements the entries after a position changed.

    Position(seq, hash, catalogue)     two snapshots with one position have the same nodes and edges
    read_tail(db, position)            nodes that may differ, edges that came or went since

The present changes by logged operations alone, except for windows of visibility, which the image
does not hold. An operation that is not listed here makes the tail unknown: what was derived before
it is dropped.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import apsw

_TAIL_MAX = 20_000  # entries; beyond them the arrays are cheaper to derive again
_READS = 1  # SQLITE_TXN_READ
_POSITION = (
    "SELECT l.seq, l.hash, m.value FROM main.meta m LEFT JOIN main.log l ON l.seq ="
    " (SELECT max(seq) FROM main.log) WHERE m.key = 'catalogue'"
)
# Operations after which nodes and edges are the same, labels, types and properties included.
_HARMLESS = frozenset(
    (
        "node.access",
        "edge.access",
        "node.suppress",
        "edge.suppress",
        "node.restore",
        "edge.restore",
        "edge.set",  # neither its type nor its ends
        "catalogue.set",  # `Position.catalogue` tells
    )
)
_NODES = frozenset(("node.create", "node.set", "node.delete"))


class Position(NamedTuple):
    """The last entry of the log that a snapshot sees, and the version of its catalogue."""

    seq: int
    hash: bytes
    catalogue: int


class Tail(NamedTuple):
    """What the entries between two positions changed."""

    nodes: frozenset[int]
    edges_made: frozenset[int]
    edges_gone: frozenset[int]


def position_of(db: apsw.Connection) -> Position | None:
    """Return the position of a snapshot; None in a transaction that writes, which has none."""
    seq, chained, catalogue = db.execute(_POSITION).fetchone() or (None, b"", 0)
    if db.txn_state("main") != _READS:
        return None
    return Position(seq or 0, chained or b"", int(catalogue))


def read_tail(db: apsw.Connection, since: Position) -> Tail | None:
    """Return what changed after `since`; None if that is unknown or too much, or if the log of this
    file has another entry there."""
    if since.seq:
        held = db.execute("SELECT hash FROM main.log WHERE seq = ?", (since.seq,)).get
        if held != since.hash:
            return None
    nodes: set[int] = set()
    made: set[int] = set()
    gone: set[int] = set()
    entries = db.execute(
        "SELECT op, element FROM main.log WHERE seq > ? LIMIT ?", (since.seq, _TAIL_MAX + 1)
    ).fetchall()
    if len(entries) > _TAIL_MAX:
        return None
    for op, changed in entries:
        element = int(cast(int, changed))
        if op in _NODES:
            nodes.add(element)
        elif op == "edge.create":
            made.add(element)
        elif op == "edge.delete":
            gone.add(element)
        elif op not in _HARMLESS:
            return None
    return Tail(frozenset(nodes), frozenset(made), frozenset(gone))
