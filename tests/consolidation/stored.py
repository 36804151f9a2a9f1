"""What a memory holds after a consolidation."""

from __future__ import annotations

import json
from typing import Any

from doxa import Memory


def items(memory: Memory, kind: str = "") -> dict[str, Any]:
    """Return current items by address, with what they say."""
    with memory.store.read() as reader:
        found = {}
        for item in reader.labelled("Item"):
            if item.props.get("kind") == kind or not kind:
                for edge in reader.edges_out(item.id, "CURRENT"):
                    node = reader.node(edge.dst)
                    assert node is not None
                    found[str(item.props["kref"])] = node
        return found


def state(memory: Memory) -> list[tuple[str, str]]:
    return sorted(
        (kref, json.dumps({**node.props, "kref": ""}, default=str, sort_keys=True))
        for kref, node in items(memory).items()
    )


def retired(memory: Memory, kref: str) -> bool:
    with memory.store.read() as reader:
        item = reader.node_by_kref(kref)
        return item is not None and bool(item.props.get("deprecated"))
