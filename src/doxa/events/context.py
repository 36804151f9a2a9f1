"""What an entry does not say itself and its event needs: the ends of an edge, their addresses, and
what was so before. Read in bulk for a batch of entries; every answer is that of the moment at which
the entry's transaction committed, so that it does not depend on where a consumer began."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from doxa.base.values import decode
from doxa.belief import CURRENT
from doxa.store import LogEntry, Reader, Receipt, int64_array

State = tuple[bool, str | None]  # whether it is retired, and how it was decided
Ends = tuple[str, int, int, str | None]  # type, source, target, name


class NodeFacts(NamedTuple):
    """What an event says of a node. A node that is not to be found has no facts."""

    labels: tuple[str, ...] = ()
    kref: str | None = None
    project: str | None = None


EMPTY = NodeFacts()
_NEVER = 2**63
_NO_EDGE: Ends = ("", 0, 0, None)
_TRACKED = frozenset(("item", "exchange", "conflict"))
_NODES = "SELECT id, labels, kref, project, since FROM node WHERE id IN carray(?)"
_NODE_AT = (
    "SELECT labels, kref, project FROM node_past WHERE id = ? AND since <= ? ORDER BY since DESC"
    " LIMIT 1"
)
_EDGES = (
    "SELECT id, type, src, dst, props ->> '$.name', since FROM edge WHERE id IN carray(?1)"
    " UNION ALL SELECT id, type, src, dst, props ->> '$.name', since FROM edge_past WHERE id IN"
    " carray(?1) ORDER BY since"
)
_STATE_BEFORE = (
    "SELECT props ->> '$.deprecated', props ->> '$.decision' FROM node_past WHERE id = ? AND"
    " until = ?"
)
_TAGGED_BEFORE = (
    "SELECT dst FROM edge_past WHERE src = ?1 AND type = ?2 AND until = ?3 AND (?4 OR props ->>"
    " '$.name' = ?5)"
)
_WRITTEN = (
    "SELECT p.payload FROM log l JOIN log_payload p ON p.seq = l.seq WHERE l.seq BETWEEN ? AND ?"
    " AND l.element = ? AND l.op IN ('{0}.create', '{0}.set') ORDER BY l.seq DESC LIMIT 1"
)


class Context:
    """Of one consumer, which reads entries in order. `begin` gives it the next batch."""

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._nodes: dict[int, tuple[NodeFacts, int]] = {}
        self._edges: dict[int, list[tuple[Ends, int]]] = {}
        self._change, self._whole = 0, False  # the transaction read last, and whether all of it
        self._states: dict[int, State] = {}  # what it wrote so far

    def begin(self, reader: Reader, entries: Sequence[LogEntry]) -> None:
        """Take the snapshot of a batch, and read what most of its entries need."""
        self._reader = reader
        self._nodes, self._edges = {}, {}
        ended = {
            e.element for e in entries if e.op[:5] == "edge." and "src" not in (e.payload or ())
        }
        if ended:
            for identity, kind, src, dst, name, since in reader.rows(_EDGES, (_array(ended),)):
                self._edges.setdefault(identity, []).append(((kind, src, dst, name), since))
        nodes = {
            end
            for held in self._edges.values()
            for (_, src, dst, _), _ in held
            for end in (src, dst)
        }
        for entry in entries:
            body: Any = entry.payload or {}
            if entry.op[:5] == "edge." and "src" in body:
                nodes |= {body["src"], body["dst"]}
            elif entry.op[:5] == "node." and "labels" not in body:
                nodes.add(entry.element)
        if nodes:
            self._nodes = dict.fromkeys(nodes, (EMPTY, _NEVER))
            self._read_nodes(nodes)

    def _read_nodes(self, nodes: Iterable[int]) -> None:
        for identity, labels, kref, project, since in self._rows(_NODES, (_array(nodes),)):
            facts = NodeFacts(tuple(decode(labels)), kref, project)
            self._nodes[identity] = (facts, since)

    def enter(self, receipt: Receipt, entry: LogEntry) -> None:
        """Note to which transaction the next entries belong."""
        if receipt.tx != self._change:
            self._change, self._states = receipt.tx, {}
            self._whole = entry.seq == receipt.first_seq

    def node(self, identity: int, time: int) -> NodeFacts:
        """Return a node as it was at a time. An address and what has it do not change."""
        held = self._nodes.get(identity)
        if held is None:
            self._read_nodes((identity,))
            held = self._nodes.setdefault(identity, (EMPTY, _NEVER))
        facts, since = held
        if since <= time or facts.kref is not None:
            return facts
        rows = self._rows(_NODE_AT, (identity, time))
        if not rows:
            return EMPTY
        labels, kref, project = rows[0]
        return NodeFacts(tuple(decode(labels)), kref, project)

    def edge(self, entry: LogEntry, receipt: Receipt) -> Ends:
        """Return an edge that an entry names by its number alone."""
        found = [
            ends for ends, since in self._edges.get(entry.element, ()) if since <= receipt.time
        ]
        if found:
            return found[-1]
        body = self._written(entry, receipt, "edge")  # made and removed in one transaction
        if "src" not in body:
            return _NO_EDGE
        return body["type"], body["src"], body["dst"], body["props"].get("name")

    def note(self, element: int, noun: str, props: dict[str, Any]) -> None:
        """Remember what the transaction made of an element."""
        if noun in _TRACKED:
            self._states[element] = bool(props.get("deprecated")), props.get("decision")

    def state_before(self, entry: LogEntry, receipt: Receipt) -> State:
        """Return what was so of an element before this entry."""
        held = self._states.get(entry.element)
        if held is not None:
            return held
        if not self._whole:
            props = self._written(entry, receipt, "node").get("props")
            if props is not None:
                return bool(props.get("deprecated")), props.get("decision")
        rows = self._rows(_STATE_BEFORE, (entry.element, receipt.time))
        return (bool(rows[0][0]), rows[0][1]) if rows else (False, None)

    def tagged_before(self, item: int, kind: str, name: object, receipt: Receipt) -> str | None:
        """Return the revision that a tag pointed to until this transaction."""
        args = (item, kind, receipt.time, kind == CURRENT, name)
        rows = self._rows(_TAGGED_BEFORE, args)
        return self.node(rows[0][0], receipt.time).kref if rows else None

    def _written(self, entry: LogEntry, receipt: Receipt, kind: str) -> dict[str, Any]:
        """Return what the same transaction wrote of an element before this entry."""
        args = (receipt.first_seq, entry.seq - 1, entry.element)
        rows = self._rows(_WRITTEN.format(kind), args)
        found: dict[str, Any] = decode(rows[0][0]) if rows else {}
        return found

    def _rows(self, sql: str, args: Sequence[Any]) -> list[tuple[Any, ...]]:
        assert self._reader is not None
        return self._reader.rows(sql, args)


def _array(values: Iterable[int]) -> Any:
    return int64_array(list(values))
