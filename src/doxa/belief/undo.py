"""How one change is reversed from the log: its entries in reverse order, each by its inverse.

The ledger itself is kept: revisions, exchanges and places that the change made stay (their numbers
must never mean something else), items and exchanges are deprecated instead, conflicts are closed,
and structural edges to them stay, as does what jobs note of their runs. Everything else goes back
exactly, edges under their own ids. If anything that the change touched is not as it left it, undo
refuses and names the later change: changes are undone one after another, the last one first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from doxa.base.clock import TIME_MAX
from doxa.base.errors import ConflictError, NotFoundError, RoleError
from doxa.base.ids import EdgeId, NodeId, TxId, is_below_operator
from doxa.base.values import canonical, decode, decode_properties, encode_properties
from doxa.belief.conflicts import close_conflict
from doxa.belief.graph import CHALLENGER, HELD, TAG, UNSUPPORTED
from doxa.belief.removal.retiring import set_deprecated
from doxa.store import SUPPRESSING, LogEntry, Receipt, Transaction
from doxa.store.retention.horizon import dropped_before

_KEPT_EDGES = frozenset(
    (
        "HAS_SPACE",
        "HAS_ITEM",
        "HAS_REVISION",
        "HAS_THREAD",
        "HAS_EXCHANGE",
        "NEXT",
        CHALLENGER,
        HELD,
        "HAS_PROPOSAL",
        "CONCERNS",
    )
)
_RECORDS = frozenset(("Run", "Proposal", "Record"))  # what jobs note of themselves
_KEPT_LABELS = (
    frozenset(("Project", "Space", "Item", "Revision", "Exchange", "Thread", "Conflict")) | _RECORDS
)
_FINAL = frozenset(
    ("erase", "past.drop", "node.rewrite", "edge.rewrite", "node.usage", "edge.usage")
)
_RETIRED_LABELS = frozenset(("Item", "Exchange"))


def undo(tx: Transaction, change: int) -> str:
    """Reverse a change inside the given transaction; returns the address it was most about. Raises
    NotFoundError, ConflictError, or RoleError for an agent and an operator's change."""
    numbered = isinstance(change, int) and not isinstance(change, bool) and 0 < change <= TIME_MAX
    receipt = tx.receipt(TxId(change)) if numbered else None
    if receipt is None:
        raise NotFoundError(
            f"There is no change {change!s:.60}.",
            next_step="List changes with `doxa log`.",
            change=change,
        )
    if receipt.role == "operator" and is_below_operator(tx.rights):
        raise RoleError(
            f"Change {change} ({receipt.op}) was made by an operator: only an operator may undo"
            " it.",
            next_step="Ask the operator.",
            role="agent",
            needed="operator",
        )
    entries = tx.log_of(TxId(change))
    if any(entry.op.endswith(".import") for entry in entries):
        raise ConflictError(
            f"Change {change} cannot be undone: it imported a whole file into an empty one.",
            next_step="Start a new file, and import there what you want.",
            change=change,
        )
    ended, logged = dropped_before(tx._db)
    if change <= logged and any(entry.payload is None for entry in entries):
        raise _retained(change)
    if any(
        entry.payload is None or entry.op in _FINAL or _sets_a_rule(entry.op, entry.payload)
        for entry in entries
    ):
        raise ConflictError(
            f"Change {change} ({receipt.op}) cannot be undone: it erased content, set rules, or its"
            " own content was erased.",
            next_step="State the belief again.",
            change=change,
        )
    gone_versions = receipt.time <= ended
    created = _elements(entries, "node.create")
    about = ""
    for entry in _net(entries):
        made_here = entry.op == "node.delete" and entry.element in created
        if gone_versions and not made_here and not _has_version(tx, entry, receipt):
            raise _retained(change)
        about = _reverse(tx, entry, receipt) or about
    return about


def _elements(entries: Iterable[LogEntry], op: str) -> set[int]:
    return {entry.element for entry in entries if entry.op == op}


def _net(entries: Sequence[LogEntry]) -> Iterator[LogEntry]:
    """Yield the entries to reverse, the last one first. An element that was set twice in the change
    goes back once, to before the change; a node that the change made has no version before it, and
    is retired; an edge that it made is compared with what the change left of it."""
    made, gone = _elements(entries, "edge.create"), _elements(entries, "edge.delete")
    nodes = _elements(entries, "node.create")
    edges: set[int] = set()  # that are back
    left: dict[int, Any] = {}  # the last properties of an edge
    for entry in reversed(entries):
        if entry.op == "node.set":
            if entry.element in nodes:
                continue
            nodes.add(entry.element)
        elif entry.op == "edge.set":
            left.setdefault(entry.element, cast("dict[str, Any]", entry.payload)["props"])
            if entry.element in edges | made:
                continue
            edges.add(entry.element)
        elif entry.op in ("edge.create", "edge.delete"):
            if entry.element in made & gone:
                continue
            edges.add(entry.element)
            if entry.element in left and entry.op == "edge.create":
                body = cast("dict[str, Any]", entry.payload)
                entry = entry._replace(payload=body | {"props": left[entry.element]})
        yield entry


def _has_version(tx: Transaction, entry: LogEntry, receipt: Receipt) -> bool:
    """Return whether the version that an entry closed is there, if the entry closed one."""
    table, _, op = entry.op.partition(".")
    if table not in ("node", "edge") or op not in ("set", "delete"):
        return True
    sql = f"SELECT 1 FROM {table}_past WHERE id = ? AND until = ?"
    return bool(tx.rows(sql, (entry.element, receipt.time)))


def _retained(change: int) -> ConflictError:
    return ConflictError(
        f"Change {change} cannot be undone: what it changed was dropped by a retention policy.",
        next_step="State the belief again.",
        change=change,
    )


def _sets_a_rule(op: str, payload: Mapping[str, Any]) -> bool:
    """A first suppression notes in the catalogue that there may be some: that is not a rule."""
    return op == "catalogue.set" and payload.get("name") != SUPPRESSING


def _reverse(tx: Transaction, entry: LogEntry, receipt: Receipt) -> str:
    body = cast("dict[str, Any]", entry.payload)
    match entry.op:
        case "edge.create":
            if body["type"] not in _KEPT_EDGES and not _is_derived(body["type"], body["props"]):
                _remove_edge(tx, body, receipt)
                return _address(tx, body["src"])
        case "edge.delete":
            return _restore_edge(tx, EdgeId(entry.element), receipt)
        case "edge.set":
            past = _past(tx, "edge_past", entry.element, receipt=receipt)
            _require_as_made(tx, "edge", entry.element, body["props"], receipt=receipt)
            tx.set_edge(EdgeId(entry.element), decode_properties(past[0]))
        case "node.create":
            return _remove_node(tx, body, receipt)
        case "node.set":
            if not _RECORDS.isdisjoint(body["labels"]):
                return ""
            past = _past(tx, "node_past", entry.element, receipt=receipt)
            _require_as_made(tx, "node", entry.element, body["props"], receipt=receipt)
            tx.set_node(NodeId(entry.element), decode_properties(past[0]))
            return str(body["props"].get("kref", ""))
        case "node.suppress" | "edge.suppress":
            tx.restore(entry.element, edge=entry.op[0] == "e")
        case "node.restore" | "edge.restore":
            tx.suppress(entry.element, edge=entry.op[0] == "e")
        case "node.access" | "edge.access":
            raise ConflictError(
                f"Change {receipt.tx} notes accesses, which have happened.",
                next_step="Undo what was decided by them.",
                change=receipt.tx,
            )
        case "node.delete":
            return _restore_node(tx, NodeId(entry.element), receipt)
    return ""


def _is_derived(kind: str, props: Mapping[str, Any]) -> bool:
    """Whether an edge follows from others: the tag of lost support is recomputed, not undone."""
    return kind == TAG and props.get("name") == UNSUPPORTED


def _remove_edge(tx: Transaction, body: dict[str, Any], receipt: Receipt) -> None:
    edge = tx.edge(EdgeId(body["id"]))
    if edge is None or encode_properties(edge.props, owner=edge.type) != canonical(body["props"]):
        raise _later(tx, f"an edge {body['type']}", receipt=receipt, src=body["src"])
    tx.delete_edge(edge.id)


def _address(tx: Transaction, identity: int) -> str:
    node = tx.node(NodeId(identity))
    return str(node.props.get("kref", "")) if node else ""


def _restore_edge(tx: Transaction, identity: EdgeId, receipt: Receipt) -> str:
    sql = "SELECT type, src, dst, json(props) FROM edge_past WHERE id = ? AND until = ?"
    rows = tx.rows(sql, (identity, receipt.time))
    if not rows:
        return ""  # made and removed within the change itself
    kind, src, dst, props = rows[0]
    if _is_derived(kind, decode_properties(props)):
        return ""
    if tx.edge(identity) is not None:
        raise _later(tx, f"an edge {kind}", receipt=receipt, src=src)
    name = decode_properties(props).get("name")
    if kind in ("CURRENT", "TAG") and any(
        edge.props.get("name") == name for edge in tx.edges_out(src, kind)
    ):
        raise _later(
            tx,
            "what is current" if kind == "CURRENT" else f"the tag {name}",
            receipt=receipt,
            src=src,
        )
    tx.restore_edge(identity, kind, src=src, dst=dst, props=decode_properties(props))
    _suppress_again(tx, "edge", identity)
    return _address(tx, src)


def _restore_node(tx: Transaction, identity: NodeId, receipt: Receipt) -> str:
    rows = tx.rows(
        "SELECT labels, json(props) FROM node_past WHERE id = ? AND until = ?",
        (identity, receipt.time),
    )
    if not rows:
        return ""  # made and removed within the change itself
    labels, props = decode(rows[0][0]), decode_properties(rows[0][1])
    kref = str(props.get("kref", ""))
    if tx.node(identity) is not None or tx.node_by_kref(kref) is not None:
        raise ConflictError(
            f"Change {receipt.tx} cannot be undone: {kref or f'node {identity}'}, which it removed,"
            " is there again.",
            next_step="Undo the later change first, or leave what is there.",
            change=receipt.tx,
            kref=kref,
        )
    tx.restore_node(identity, labels, props=props)
    _suppress_again(tx, "node", identity)
    return kref


def _suppress_again(tx: Transaction, kind: str, identity: int) -> None:
    """What was hidden by hand when it was removed is hidden again: that was a decision, other than
    how often it was used."""
    sql = "SELECT op FROM log WHERE element = ? AND op IN (?, ?) ORDER BY seq DESC LIMIT 1"
    if tx.rows(sql, (identity, f"{kind}.suppress", f"{kind}.restore")) == [(f"{kind}.suppress",)]:
        tx.suppress(identity, edge=kind == "edge")


def _remove_node(tx: Transaction, body: dict[str, Any], receipt: Receipt) -> str:
    node = tx.node(NodeId(body["id"]))
    if node is None:
        return ""
    if not _KEPT_LABELS & set(node.labels):
        if tx.edges_in(node.id) or tx.edges_out(node.id):
            what = str(node.props.get("kref", "")) or f"node {node.id}"
            raise _later(tx, what, receipt=receipt, src=node.id)
        tx.delete_node(node.id)
    elif _RETIRED_LABELS & set(node.labels):
        set_deprecated(tx, node, True)
    elif "Conflict" in node.labels and not node.props.get("decision"):
        close_conflict(tx, node, "undone")
    return str(node.props.get("kref", ""))


def _past(tx: Transaction, table: str, element: int, *, receipt: Receipt) -> Any:
    rows = tx.rows(
        f"SELECT json(props) FROM {table} WHERE id = ? AND until = ?", (element, receipt.time)
    )
    if not rows:
        raise ConflictError(
            f"The version before change {receipt.tx} is gone.",
            next_step="State the belief again.",
            change=receipt.tx,
        )
    return rows[0]


def _require_as_made(
    tx: Transaction, table: str, element: int, props: Mapping[str, Any], *, receipt: Receipt
) -> None:
    """Raise ConflictError unless an element is as the change left it: never touched again, or
    brought back by undoing what came later."""
    held = tx.node(NodeId(element)) if table == "node" else tx.edge(EdgeId(element))
    if held is None or encode_properties(held.props, owner=table) != canonical(props):
        raise _later(tx, f"{table} {element}", receipt=receipt, src=element)


def _later(tx: Transaction, what: str, *, receipt: Receipt, src: int) -> ConflictError:
    rows = tx.rows(
        "SELECT max(l.tx) FROM edge e JOIN log l ON l.element = e.id AND l.op = 'edge.create' WHERE"
        " e.src = ?",
        (src,),
    )
    later = rows[0][0] if rows else None
    hint = f" by change {later}" if later and later != receipt.tx else ""
    return ConflictError(
        f"Change {receipt.tx} cannot be undone: {what} that it made was changed again{hint}.",
        next_step="Undo the later change first, or revise the belief.",
        change=receipt.tx,
        later=later,
    )
