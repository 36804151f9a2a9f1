"""An item with what an operation on it needs, read in one statement.

The transaction keeps what was read, so the functions that ask for it one by one find it there.
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.base.ids import NodeId
from doxa.belief.graph import CURRENT, HAS_REVISION, TAG
from doxa.belief.kref import Kref
from doxa.store import Node, Transaction

_NODE = "SELECT 0, n.id, n.labels, NULL, NULL, json(n.props), n.since, n.born FROM node n WHERE"
_EDGE = "SELECT {}, e.id, e.type, e.src, e.dst, json(e.props), e.since, e.born FROM edge e WHERE"
_ITEM = "(SELECT id FROM node WHERE kref = ?1)"
_NOW = f"(SELECT dst FROM edge WHERE src = {_ITEM} AND type = '{CURRENT}')"
_LAST = f"(SELECT max(dst) FROM edge WHERE src = {_ITEM} AND type = '{HAS_REVISION}')"
_LOAD = " UNION ALL ".join(
    (
        f"{_NODE} n.kref = ?1",
        f"{_NODE} n.id IN {_NOW}",
        f"{_NODE} n.id = {_LAST} AND n.id NOT IN {_NOW}",
        f"{_EDGE.format(1)} e.src = {_ITEM} AND e.type IN ('{CURRENT}', '{TAG}')",
        f"{_EDGE.format(2)} e.dst IN {_NOW} AND e.type = '{CURRENT}'",
        f"{_EDGE.format(3)} e.src IN {_NOW}",
    )
)


class LoadedItem(NamedTuple):
    """The node at an item's address, the revision that is believed, and the one written last."""

    node: Node
    current: Node | None
    last: NodeId | None


def load_item(tx: Transaction, kref: Kref) -> LoadedItem | None:
    """Read the node at an address with its tags, its current revision, the edges that leave that,
    and its last revision. None if there is nothing."""
    address = str(kref)
    nodes, edges = tx.load(_LOAD, (address,), address=address)
    if not nodes:
        return None
    item, held = nodes[0], {node.id: node for node in nodes[1:]}
    tags = edges.get(1, [])
    tx.keep_edges(tags, leaving=item.id, kinds=(CURRENT, TAG))
    current = next((held.get(edge.dst) for edge in tags if edge.type == CURRENT), None)
    if current is not None:
        tx.keep_edges(edges.get(2, []), reaching=current.id, kinds=(CURRENT,))
        tx.keep_edges(edges.get(3, []), leaving=current.id)
    return LoadedItem(item, current, max(held, default=None))
