"""Changes of the properties of many nodes in a transaction.

Each change is checked and logged when it is made, as `set_node` does; the rows of nodes, and what
depends on them, are written once for each node by `flush`, before anything reads them. A node that
changes twice has two entries in the log and one row: a version made in the same instant is
replaced, nobody could see it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.base.values import (
    Properties,
    canonical,
    check_properties,
    decode_properties,
    encode_properties,
    same_value,
)
from doxa.store.intake.secrets import cleaned
from doxa.store.sql_values import int64_array
from doxa.store.transaction import Transaction

_SINCE = "SELECT id, since, born FROM node WHERE id IN carray(?)"
_CLOSE = (
    "INSERT INTO main.node_past(id, since, until, labels, props, born, project) SELECT id, since,"
    " ?, labels, props, born, project FROM main.node WHERE id = ?"
)
_SET = "UPDATE main.node SET props = jsonb(?), since = ? WHERE id = ?"
Change = tuple[tuple[str, ...], Properties, Properties, bytes]  # labels, before, after, encoded


class NodeSets:
    """The changes that are logged and not written yet."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._changes: dict[int, Change] = {}

    def takes(self, labels: tuple[str, ...], before: Mapping[str, Any]) -> bool:
        """Return whether a change of such a node is about nothing but itself."""
        return "kref" not in before and self._tx.is_plain_node(labels)

    def set(
        self, node: int, labels: tuple[str, ...], before: Properties, props: Mapping[str, object]
    ) -> Properties:
        """Log a change of a node that has these labels and properties now, and return what it is
        set to. Raises as `set_node` does."""
        tx, owner = self._tx, ":".join(labels) or "node"
        clean = cleaned(check_properties(props, owner=owner), tx.left_out)
        data = encode_properties(clean, owner=owner)
        after: Properties = decode_properties(data.decode())  # as it will be read
        if same_value(clean, before):
            return after
        body = b'{"id":%d,"labels":%b,"props":%b}' % (node, canonical(labels), data)
        tx._log("node.set", node, payload=body)
        if tx.binding is not None:
            tx.binding.check(labels, clean, tx._search.rules)
        held = self._changes.get(node)
        self._changes[node] = labels, before if held is None else held[1], clean, data
        return after

    def flush(self) -> None:
        """Write the changed nodes."""
        changes, self._changes = self._changes, {}
        if not changes:
            return
        tx, now = self._tx, self._tx.now
        times: dict[Any, tuple[Any, Any]] = {
            node: (since, born)
            for node, since, born in tx._db.execute(_SINCE, (int64_array(list(changes)),))
        }
        tx._db.executemany(_CLOSE, [(now, node) for node in changes if times[node][0] < now])
        tx._db.executemany(
            _SET, [(data.decode(), now, node) for node, (_, _, _, data) in changes.items()]
        )
        for node, (labels, before, after, data) in changes.items():
            since, born = times[node]
            tx.node_was_set(
                (node, labels, data, now, born), (labels, before), after, kept=since < now
            )
