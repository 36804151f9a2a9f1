"""Many nodes with the same labels in a transaction.

What is asked for each node and is the same for all of them, is asked once: names, guards, policies.
Log entries and rows are the same as those of single nodes, in the same order, and each is bound
into the chain. Entries of declared indexes follow after all nodes, sorted, so that an index grows
in order and not from all ends at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doxa.base.ids import NodeId
from doxa.base.values import Properties, canonical
from doxa.store.bulk.log import add_entries
from doxa.store.bulk.properties import encode_all
from doxa.store.intake.names import node_labels
from doxa.store.scope.binding import project_stated
from doxa.store.transaction import Transaction

_LEAST = 8  # fewer are made one by one
_AT_ONCE = 500
_INSERT = (
    "INSERT INTO main.node(id, labels, props, since, born, project) VALUES(?, ?, jsonb(?), ?, ?, ?)"
)
_LABEL = "INSERT INTO main.node_label VALUES(?, ?)"


def create_nodes(
    tx: Transaction, labels: Sequence[str], nodes: Sequence[Mapping[str, object]]
) -> list[NodeId]:
    """Create nodes with these labels and the properties of each; return their ids, in order. Raises
    as `create_node` does, after which the transaction has to be undone."""
    if len(nodes) < _LEAST or not tx.is_plain_node(names := node_labels(labels)):
        return [tx.create_node(labels, props) for props in nodes]
    made: list[NodeId] = []
    indexed: list[tuple[int, Properties]] = []
    for start in range(0, len(nodes), _AT_ONCE):
        part = nodes[start : start + _AT_ONCE]
        if not tx.has_room(len(part)) or any("kref" in props for props in part):
            tx.index_nodes(names, indexed)
            indexed = []
            made += [tx.create_node(labels, props) for props in part]
            continue
        rows = _insert(tx, names, part)
        indexed += rows
        made += [NodeId(identity) for identity, _ in rows]
    tx.index_nodes(names, indexed)
    return made


def _insert(
    tx: Transaction, names: tuple[str, ...], nodes: Sequence[Mapping[str, object]]
) -> list[tuple[int, Properties]]:
    """Write nodes without the entries of indexes. Returns them with their properties."""
    encoded = encode_all(nodes, owner=":".join(names) or "node", left_out=tx.left_out)
    binding, searched = tx.binding, tx._search.rules
    text, now, identity = canonical(names), tx.now, tx._node
    label_text = text.decode()
    rows, payloads, made = [], [], []
    for props, data in encoded:
        identity += 1
        project = None
        if binding is not None or "project" in props:
            project = project_stated(binding, names, props, searched)
            if binding is not None:
                binding.check(names, props, searched)
        stated = b"" if project is None else b',"project":%b' % canonical(project)
        payloads.append(b'{"id":%d,"labels":%b%b,"props":%b}' % (identity, text, stated, data))
        rows.append((identity, label_text, data.decode(), now, now, project))
        made.append((identity, props))
    add_entries(tx.entries, "node.create", [row[0] for row in rows], payloads)
    tx._db.executemany(_INSERT, rows)
    for label in names:
        tx._db.executemany(_LABEL, [(label, one) for one, _ in made])
    tx.nodes_made(names, [(one, data) for (one, _), (_, data) in zip(made, encoded, strict=True)])
    return made
