"""A log entry becomes an event, or none. The one place that says which.

    entry                              event
    node.create                        <noun>.created, exchange.added, conflict.opened
    node.set                           item|exchange.deprecated|restored, conflict.decided|reopened,
                                       else <noun>.changed
    node.delete, node.import           <noun>.deleted, <noun>.imported
    edge.create, edge.delete           revision.tagged|untagged (CURRENT and TAG of an item),
                                       bundle.added|removed (MEMBER), none for an edge that only
                                       gives an element its place, else edge.created|deleted
    edge.set, edge.import              edge.changed, edge.imported
    node|edge.suppress, .restore       memory.hidden|restored, edge.hidden|restored
    node|edge.access                   none: to read is not to write, and a consumer that reads
                                       would cause its own events
    catalogue.set, erase               catalogue.changed, element.erased

A noun is what an addressed node is (project, item, revision, …), else `node`. An entry whose
payload was erased becomes `node.…` or `edge.…` with `erased` set. What an event says depends on the
log and on what was so when the transaction committed, not on what happened later, except for an
erasure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from doxa.belief import CURRENT, HAS_REVISION, TAG
from doxa.belief.graph import ENTITY, PENDING_ENTITY
from doxa.events.context import EMPTY, Context, NodeFacts
from doxa.events.event import Event, kind_of, made_name
from doxa.store import LogEntry, Receipt

_LABELS = (
    ("Conflict", "conflict"),
    ("Revision", "revision"),
    ("Item", "item"),
    ("Exchange", "exchange"),
    ("Artifact", "artifact"),
    ("Thread", "thread"),
    ("Space", "space"),
    ("Project", "project"),
    (ENTITY, "entity"),
    (PENDING_ENTITY, "mention"),
)
# Edges that give an addressed element its place: the element's own event says as much.
_PLACING = frozenset(
    (
        "HAS_SPACE",
        "HAS_ITEM",
        HAS_REVISION,
        "HAS_ARTIFACT",
        "HAS_THREAD",
        "HAS_EXCHANGE",
        "NEXT",
        "CHALLENGER",
        "HELD",
    )
)
_NODE_VERBS = {"delete": "deleted", "import": "imported", "create": "created", "set": "changed"}
_HIDING = {"suppress": "hidden", "restore": "restored"}


def noun_of(labels: Sequence[str], kref: object) -> str:
    """Return what a node is to a consumer."""
    if kref is not None:
        for label, noun in _LABELS:
            if label in labels:
                return noun
    return "node"


def derive(entry: LogEntry, receipt: Receipt, context: Context) -> Event | None:
    """Return the event of a log entry; None for one that tells a consumer nothing."""
    kind, _, verb = entry.op.partition(".")
    if entry.op == "catalogue.set":
        body: Any = entry.payload or {}
        return _event(entry, receipt, "catalogue.changed", rule=body.get("name"))
    if entry.op == "epoch":
        return None
    if entry.op == "erase":
        return _event(entry, receipt, "element.erased")
    if verb == "access":
        return None
    if entry.payload is None:
        name = f"{kind}.{_NODE_VERBS.get(verb) or _HIDING[verb]}"
        if kind == "node" and verb in _HIDING:
            name = f"memory.{_HIDING[verb]}"
        return _event(entry, receipt, name, erased=True)
    if kind == "node":
        return _of_node(entry, receipt, verb, context)
    return _of_edge(entry, receipt, verb, context)


def _of_node(entry: LogEntry, receipt: Receipt, verb: str, context: Context) -> Event:
    body: Any = entry.payload
    if verb in ("create", "set", "import"):
        props = body["props"]
        facts = NodeFacts(tuple(body["labels"]), props.get("kref"), body.get("project"))
    else:
        props = {}
        facts = context.node(entry.element, receipt.time)
    noun = noun_of(facts.labels, facts.kref)
    if facts.kref is None and facts.project is None and verb == "set":
        facts = facts._replace(project=context.node(entry.element, receipt.time).project)
    rest: dict[str, Any] = {}
    if verb in _HIDING:
        name = f"memory.{_HIDING[verb]}"
    elif verb == "create":
        name = made_name(noun)
        context.note(entry.element, noun, props)
        if noun == "revision":
            rest["previous"] = _revision_before(facts.kref, props.get("number"))
    elif verb == "set":
        name, rest = _change(entry, receipt, noun, props, context)
    else:
        name = f"{noun}.{_NODE_VERBS[verb]}"
    return _event(entry, receipt, name, facts, **rest)


def _change(
    entry: LogEntry, receipt: Receipt, noun: str, props: dict[str, Any], context: Context
) -> tuple[str, dict[str, Any]]:
    """Return the name of what a new version of a node means, and what belongs to it."""
    if noun not in ("item", "exchange", "conflict"):
        return f"{noun}.changed", {}
    deprecated, decision = context.state_before(entry, receipt)
    context.note(entry.element, noun, props)
    if noun == "conflict":
        if props.get("decision") and not decision:
            return "conflict.decided", {"decision": props["decision"]}
        if decision and not props.get("decision"):
            return "conflict.reopened", {"decision": decision}
    elif bool(props.get("deprecated")) is not deprecated:
        return f"{noun}.{'restored' if deprecated else 'deprecated'}", {}
    return f"{noun}.changed", {}


def _of_edge(entry: LogEntry, receipt: Receipt, verb: str, context: Context) -> Event | None:
    body: Any = entry.payload
    if verb in ("create", "import"):
        kind, src, dst, name = body["type"], body["src"], body["dst"], body["props"].get("name")
    else:
        kind, src, dst, name = context.edge(entry, receipt)
    source, target = context.node(src, receipt.time), context.node(dst, receipt.time)
    ends = {"source": source.kref, "target": target.kref, "type": kind or None}
    addressed = source.kref is not None and target.kref is not None
    if verb in ("create", "delete") and addressed:
        made = verb == "create"
        if kind in _PLACING:
            return None
        if kind in (CURRENT, TAG) and "Item" in source.labels:
            before = context.tagged_before(src, kind, name, receipt) if made else None
            return _event(
                entry,
                receipt,
                "revision.tagged" if made else "revision.untagged",
                target,
                previous=before,
                tag=str(name) if kind == TAG else "current",
                **ends,
            )
        if kind == "MEMBER":
            return _event(
                entry, receipt, "bundle.added" if made else "bundle.removed", source, **ends
            )
    word = _HIDING.get(verb) or _NODE_VERBS[verb]
    return _event(entry, receipt, f"edge.{word}", source._replace(labels=()), **ends)


def _revision_before(kref: str | None, number: object) -> str | None:
    if kref is None or type(number) is not int or number < 2:
        return None
    return f"{kref.partition('?')[0]}?r={number - 1}"


def _event(
    entry: LogEntry, receipt: Receipt, name: str, facts: NodeFacts = EMPTY, **rest: Any
) -> Event:
    project = facts.project
    if facts.kref is not None:
        project = facts.kref[7:].replace("?", "/").partition("/")[0]
    return Event(
        f"{entry.tx}:{entry.seq}",
        entry.seq,
        entry.tx,
        name,
        receipt.time,
        receipt.actor,
        receipt.role,
        receipt.op,
        entry.element,
        facts.kref,
        project,
        kind_of(facts.kref),
        facts.labels,
        **rest,
    )
