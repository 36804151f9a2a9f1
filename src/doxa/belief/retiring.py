"""Retire an item or exchange, and restore it: a retired item has no current revision."""

from __future__ import annotations

from doxa.base.ids import NodeId
from doxa.belief.graph import RETIRED_REVISION, SUPERSEDES, current_of, item_of, last_of
from doxa.belief.writes import set_current
from doxa.store import Node, Transaction


def set_deprecated(tx: Transaction, node: Node, value: bool) -> None:
    """Retire an item or exchange, or restore it: an item with the revision that was current
    last."""
    props = dict(node.props)
    if bool(props.get("deprecated")) is value:
        return
    current = current_of(tx, node.id) if "Item" in node.labels else None
    if value:
        props["deprecated"] = True
        if current is not None:
            props[RETIRED_REVISION] = current.props["number"]
            set_current(tx, node.id, None)
    else:
        last = last_of(tx, node)
        props.pop("deprecated", None)
        props.pop(RETIRED_REVISION, None)
        if last is not None and current is None:
            set_current(tx, node.id, last.id)
    tx.set_node(node.id, props)


def retire_for(tx: Transaction, revision: NodeId, *, by: NodeId) -> None:
    """Retire an item because a revision of another one supersedes its own."""
    tx.create_edge(SUPERSEDES, by, dst=revision)
    set_deprecated(tx, item_of(tx, revision), True)
