"""Digests of what background work must not change: the sources, and, once a run is undone, what is
believed. Each reads the whole store; they are for checks, not for jobs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from doxa.base.values import canonical
from doxa.store import Reader

_SOURCES = (
    "SELECT n.id, n.labels, json(n.props), n.since FROM node_label l JOIN node n ON n.id = l.node"
    " WHERE l.label IN ('Exchange', 'Thread') AND n.kref IS NOT NULL ORDER BY n.id",
    "SELECT id, type, src, dst, json(props), since FROM edge WHERE type IN ('HAS_EXCHANGE',"
    " 'HAS_THREAD', 'NEXT') ORDER BY id",
)
_STRUCTURE = (
    "('HAS_SPACE', 'HAS_ITEM', 'HAS_REVISION', 'HAS_THREAD', 'HAS_EXCHANGE', 'NEXT', 'CHALLENGER',"
    " 'HELD', 'HAS_PROPOSAL', 'CONCERNS')"
)
_BELIEVED = (
    "SELECT i.kref, r.kref, json(r.props) FROM edge e JOIN node i ON i.id = e.src JOIN node r ON"
    " r.id = e.dst WHERE e.type = 'CURRENT' ORDER BY i.kref",
    f"SELECT id, type, src, dst, json(props) FROM edge WHERE type NOT IN {_STRUCTURE} ORDER BY id",
    "SELECT id, labels, json(props) FROM node WHERE kref IS NULL ORDER BY id",
    "SELECT n.kref FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Conflict' AND"
    " n.props ->> '$.decision' IS NULL ORDER BY 1",
    "SELECT edge, element FROM access WHERE data ->> '$.suppressed' ORDER BY 1, 2",
)


def sources_digest(reader: Reader) -> str:
    """Return a digest of all turns and threads, with what joins them."""
    return _digest(reader, _SOURCES)


def beliefs_digest(reader: Reader) -> str:
    """Return a digest of what is believed: current revisions, tags and other edges, nodes of other
    graphs, open conflicts, what is hidden by hand. Revisions that were retired stay out of it, and
    so do the records of jobs."""
    return _digest(reader, _BELIEVED)


def _digest(reader: Reader, statements: Iterable[str]) -> str:
    found = hashlib.sha256()
    for sql in statements:
        row: Any
        for row in reader.stream(sql):
            found.update(canonical(list(row)) + b"\n")
    return found.hexdigest()
