"""Erase parts of elements in a transaction: properties, labels, access metadata, and payloads of
the log. What stays of an element is stated again in the log, so that a replay gives the state.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from doxa.base.errors import RoleError
from doxa.base.ids import EdgeId, NodeId
from doxa.base.values import canonical, decode
from doxa.store.file.scrub import mark
from doxa.store.guard import rank
from doxa.store.retention.holds import require_free
from doxa.store.retention.state import put_usage, state_of
from doxa.store.sql_values import int64_array
from doxa.store.transaction import Transaction
from doxa.store.visibility.window_writer import load


def erase_parts(
    tx: Transaction,
    identity: int,
    *,
    edge: bool,
    properties: Collection[str] = (),
    labels: Collection[str] = (),
    access: bool = False,
    payloads: Sequence[int] | None = None,
) -> int:
    """Destroy properties and labels of an element in its live and all past versions, and the log
    payloads `payloads` (None: all of the element). Returns how many payloads. Operators only.
    """
    require_operator(tx)
    require_free(
        tx._db,
        tx.catalogue_all("hold:"),
        nodes=[] if edge else [identity],
        edges=[identity] if edge else [],
    )
    before = tx.entries.seq
    if edge:
        _strip_edge(tx, identity, properties)
    else:
        _strip_node(tx, identity, properties, labels)
    _strip_past(tx, identity, edge, properties, labels)
    if access:
        set_usage(tx, identity, {}, edge=edge)
    mark(tx._db, tx.tx)
    tx._search.erased()
    return restate(tx, identity, edge=edge, payloads=payloads, until=before)


def set_usage(tx: Transaction, identity: int, data: dict[str, Any], *, edge: bool) -> None:
    """Set the access metadata of an element, and its window by them. Not logged here."""
    put_usage(tx._db, identity, edge=edge, data=data)
    found = load(tx._db, identity, edge=edge)
    if found is not None:
        subject, access, before = found
        evaluator = tx._windows.evaluator
        decision = evaluator.decide(subject, access, evaluator.rule(subject))
        tx._windows.write(subject, decision, before=before, docs=True)


def require_operator(tx: Transaction) -> None:
    if rank(tx.identity.role) < rank("operator"):
        raise RoleError(
            "Only an operator may erase content.",
            next_step="Retire it instead, or ask the operator.",
        )


def restate(
    tx: Transaction, identity: int, *, edge: bool, payloads: Sequence[int] | None, until: int
) -> int:
    """State an element again in the log and destroy earlier payloads of it: those given, or all up
    to the entry `until`. Returns how many."""
    kind = "edge" if edge else "node"
    tx._log(
        f"{kind}.rewrite",
        identity,
        payload=canonical(state_of(tx._db, identity, edge=edge)),
    )
    tx.entries.flush()
    if payloads is None:
        tx._db.execute(
            "DELETE FROM log_payload WHERE seq IN (SELECT seq FROM log WHERE element = ? AND"
            " substr(op, 1, 5) = ? AND seq <= ?)",
            (identity, kind + ".", until),
        )
        return int(tx._db.changes())
    return destroy_payloads(tx, payloads)


def destroy_payloads(tx: Transaction, entries: Sequence[int]) -> int:
    """Destroy the payloads of log entries; the entries and their hashes stay. Returns how many."""
    if not entries:
        return 0
    tx.entries.flush()
    tx._db.execute("DELETE FROM log_payload WHERE seq IN carray(?)", (int64_array(entries),))
    return int(tx._db.changes())


def _strip_node(
    tx: Transaction, identity: int, properties: Collection[str], labels: Collection[str]
) -> None:
    node = tx.node(NodeId(identity))
    if node is not None:
        kept = {name: value for name, value in node.props.items() if name not in properties}
        tx.set_node(node.id, kept, labels=[label for label in node.labels if label not in labels])


def _strip_edge(tx: Transaction, identity: int, properties: Collection[str]) -> None:
    found = tx.edge(EdgeId(identity))
    if found is not None:
        kept = {name: value for name, value in found.props.items() if name not in properties}
        tx.set_edge(found.id, kept)


def _strip_past(
    tx: Transaction,
    identity: int,
    edge: bool,
    properties: Collection[str],
    labels: Collection[str],
) -> None:
    db, table = tx._db, "edge_past" if edge else "node_past"
    names = "json_array(type)" if edge else "labels"
    rows: list[Any] = db.execute(
        f"SELECT since, {names}, json(props) FROM {table} WHERE id = ?", (identity,)
    ).fetchall()
    for since, held, text in rows:
        props = {name: value for name, value in decode(text).items() if name not in properties}
        db.execute(
            f"UPDATE {table} SET props = jsonb(?) WHERE id = ? AND since = ?",
            (canonical(props).decode(), identity, since),
        )
        if not edge and labels:
            left = [label for label in decode(held) if label not in labels]
            db.execute(
                "UPDATE node_past SET labels = ? WHERE id = ? AND since = ?",
                (canonical(left).decode(), identity, since),
            )
    reindex_past(tx, identity, edge=edge)


def reindex_past(tx: Transaction, identity: int, *, edge: bool) -> None:
    """Make the index entries of an element's past those of the versions that there are."""
    index = tx._index
    if not index.indexes.rules:
        return
    index.erased([] if edge else [identity], [identity] if edge else [])
    index.enter_past(identity, edge=edge)
