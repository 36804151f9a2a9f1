"""What the store hands out: immutable rows of nodes, edges, receipts and log entries."""

from __future__ import annotations

from typing import NamedTuple

from doxa.base.ids import EdgeId, NodeId, Role, TxId
from doxa.base.values import Properties


class Identity(NamedTuple):
    """Who acts: a name for the record, and a role that guards check."""

    actor: str = "local"
    role: Role = "agent"


class Node(NamedTuple):
    """A version of a node, live if `until` is None. `since` starts the version, `born` the node."""

    id: NodeId
    labels: tuple[str, ...]
    props: Properties
    since: int
    born: int
    until: int | None = None


class Edge(NamedTuple):
    """A version of an edge from `src` to `dst`."""

    id: EdgeId
    type: str
    src: NodeId
    dst: NodeId
    props: Properties
    since: int
    born: int
    until: int | None = None


class Receipt(NamedTuple):
    """Proof of one transaction: who, when, which log entries, and the hashes that chain it to all
    before it."""

    tx: TxId
    time: int
    actor: str
    role: str
    op: str
    note: str
    first_seq: int
    last_seq: int
    head: bytes
    hash: bytes


class LogEntry(NamedTuple):
    """One logged write. `payload` is None after its content was erased."""

    seq: int
    tx: TxId
    op: str
    element: int
    payload: dict[str, object] | None
