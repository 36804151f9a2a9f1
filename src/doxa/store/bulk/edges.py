"""Many edges of one type in a transaction.

What is asked for each edge and is the same for all of them, is asked once: guards, constraints,
indexes, policies, which nodes exist and in what project they lie. Log entries and rows are the same
as those of single edges, in the same order, and each is bound into the chain; they are written some
at a time.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import Properties, canonical, check_properties, encode_properties
from doxa.store.elements import usable_name
from doxa.store.intake.secrets import cleaned
from doxa.store.log_writer import RUN_BYTES_MAX, RUN_ENTRIES_MAX, SALT_BYTES, LogWriter
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


def _insert(
    tx: Transaction, kind: str, edges: Sequence[NewEdge], projects: dict[int, str | None]
) -> list[EdgeId]:
    name, now, identity = canonical(kind), tx.now, tx._edge
    tail = b',"type":%b}' % name
    rows: list[tuple[Any, ...]] = []
    entries: list[tuple[int, bytes]] = []
    for src, dst, given in edges:
        identity += 1
        data, text = b"{}", "{}"
        if given:
            clean = cleaned(check_properties(given, owner=kind), tx.left_out)
            data = encode_properties(clean, owner=kind)
            text = data.decode()
        body = b'{"dst":%d,"id":%d,"props":%b,"src":%d%b' % (dst, identity, data, src, tail)
        entries.append((identity, body))
        project = projects[src]
        rows.append(
            (
                identity,
                kind,
                src,
                dst,
                text,
                now,
                now,
                project if project == projects[dst] else None,
            )
        )
    tx._require_room(len(entries))
    _log(tx.entries, "edge.create", entries)
    tx._db.executemany(_INSERT, rows)
    tx._edge = identity
    return [row[0] for row in rows]


def _log(log: LogWriter, op: str, entries: Sequence[tuple[int, bytes]]) -> None:
    """Add entries of one operation: (element, payload) each. The hashes are those of `add`."""
    seq, head, tx, middle = log.seq, log.head, log._tx, f"|{log._tx}|{op}|"
    salts = os.urandom(SALT_BYTES * len(entries))
    for at, (element, payload) in enumerate(entries):
        seq += 1
        salt = salts[at * SALT_BYTES : (at + 1) * SALT_BYTES]
        hashed = sha256(salt + payload).digest()
        head = sha256(head + f"{seq}{middle}{element}".encode() + hashed).digest()
        log._entries.append((seq, tx, op, element, hashed, head))
        log._payloads.append((seq, salt, payload))
        log._bytes += len(payload)
    log.seq, log.head = seq, head
    if len(log._entries) >= RUN_ENTRIES_MAX or log._bytes >= RUN_BYTES_MAX:
        log.flush()
