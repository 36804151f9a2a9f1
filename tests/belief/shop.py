"""The belief that the tests of the ledger change, and what they read of it."""

from __future__ import annotations

from typing import Any

from doxa.belief import (
    Draft,
    Fact,
    Revision,
    TagMove,
    parse_kref,
    read_any,
    require,
    resolve,
    revisions_of,
    tag_moves,
)
from doxa.store import Store

K = "kref://shop/db.decision"
USES, PORT, HOST = (
    Fact("db", "is", "postgres"),
    Fact("db", "port", 5432),
    Fact("db", "remote", True),
)


def draft(summary: str = "we use postgres", *facts: Fact, name: str = "db", **more: Any) -> Draft:
    return Draft(summary, project="shop", name=name, kind="decision", facts=facts, **more)


def read(store: Store, kref: str) -> Revision:
    with store.read() as snapshot:
        found = read_any(snapshot, resolve(snapshot, parse_kref(kref)))
    assert isinstance(found, Revision)
    return found


def summaries(store: Store, kref: str = K) -> list[str]:
    with store.read() as snapshot:
        return [
            str(node.props["summary"])
            for node in revisions_of(snapshot, require(snapshot, parse_kref(kref)).id)
        ]


def moves(store: Store, kref: str = K) -> list[TagMove]:
    with store.read() as snapshot:
        return tag_moves(snapshot, require(snapshot, parse_kref(kref)))
