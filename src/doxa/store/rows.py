"""What the store hands out: immutable rows of nodes, edges, receipts and log entries."""

from __future__ import annotations

from typing import NamedTuple

from doxa.base.ids import EdgeId, NodeId, Role, TxId
from doxa.base.values import Properties


class Identity(NamedTuple):
    """Who acts: a name for the record, and a role that guards check."""

    actor: str = "local"
    role: Role = "agent"


RUN_KREF, RUN_MODEL = "job_run", "job_model"


class RunStamp(NamedTuple):
    """The run of a job in whose name a transaction writes: its node, its address, and the model
    that it asks, if any. `marks` is what every node and every edge that the run makes bears."""

    node: NodeId
    kref: str
    model: str = ""

    def marks(self) -> Properties:
        return {RUN_KREF: self.kref, **({RUN_MODEL: self.model} if self.model else {})}


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
