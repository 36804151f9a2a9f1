"""Erase what has no address: nodes and edges that Cypher wrote, single properties of them, and
every occurrence of a text.

A preview counts what would go and gives a token; the erasure needs the token. The token is bound to
the exact set. What is erased of a text is the smallest part that holds it: the property in all
versions, the label, the edge of that type, the payload of the log. A belief is erased with its
revision, exchange or item, because what it states is immutable.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from doxa.base.errors import ConfirmationError, ConflictError, InputError, NotFoundError
from doxa.base.ids import EdgeId, NodeId
from doxa.base.limits import PREVIEW_ITEMS_MAX
from doxa.base.values import canonical, check_text, decode, decode_properties
from doxa.belief import HAS_REVISION, Kref, Ledger, parse_kref, slug
from doxa.belief.graph import ENTITY, PENDING_ENTITY
from doxa.belief.removal.conclusions import conclusions_at, conclusions_from
from doxa.belief.removal.erasure import (
    clear_reports,
    edges_drawn_from,
    nodes_at,
    structural_edge,
)
from doxa.belief.support import Erasure
from doxa.maintenance.forget import Forgotten
from doxa.store import Identity, Reader, Store, Transaction
from doxa.store.retention.horizon import forget_names
from doxa.store.retention.occurrences import Needle, Occurrence, Occurrences, find
from doxa.store.retention.rewriting import destroy_payloads, erase_parts, require_operator

_ELEMENT = re.compile(r"([nr]):(0|[1-9][0-9]{0,17})")
_BELIEF = frozenset(
    (
        "Item",
        "Revision",
        "Exchange",
        "Artifact",
        "Project",
        "Space",
        "Thread",
        ENTITY,
        PENDING_ENTITY,
    )
)
_SHORT = 3  # characters: a shorter text is in too much to be meant


@dataclass(slots=True)
class ErasurePlan:
    """What an erasure takes: beliefs by address, whole nodes and edges, and parts of elements."""

    krefs: list[str] = field(default_factory=list)
    nodes: set[int] = field(default_factory=set)
    edges: set[int] = field(default_factory=set)
    parts: dict[tuple[bool, int], Occurrence] = field(default_factory=dict)
    payloads: list[int] = field(default_factory=list)
    receipts: list[int] = field(default_factory=list)
    text: str = ""

    def lines(self) -> list[str]:
        """Return one line for each thing that goes."""
        found = [*self.krefs]
        found += [f"n:{identity}" for identity in sorted(self.nodes)]
        found += [f"r:{identity}" for identity in sorted(self.edges)]
        for (edge, identity), hit in sorted(self.parts.items()):
            names = [f".{name}" for name in sorted(hit.properties)]
            names += [f":{name}" for name in sorted(hit.names)]
            names += ["[accesses]"] if hit.access else []
            names += ["[log]"] if not names else []
            found.append(f"{'r' if edge else 'n'}:{identity}{' '.join(names)}")
        return found + (["[catalogue log]"] if self.payloads else [])

    @property
    def is_empty(self) -> bool:
        return not (self.krefs or self.nodes or self.edges or self.parts or self.payloads)


def erase(
    store: Store,
    identity: Identity,
    elements: Sequence[str],
    *,
    properties: Sequence[str] = (),
    text: str = "",
    confirm: str = "",
    preview: bool = False,
) -> Forgotten:
    """Erase elements by their ids, or every occurrence of a text."""
    if bool(elements) is bool(text):
        raise InputError(
            "An erasure is of elements or of a text.",
            next_step="Give ids such as n:7, or a text.",
            field="elements",
        )
    if text:
        if properties:
            raise InputError(
                "A text is erased from all properties.",
                next_step="Give ids to erase single properties.",
                field="properties",
            )
        return erase_text(store, identity, text, confirm=confirm, preview=preview)
    return erase_elements(
        store, identity, elements, properties=properties, confirm=confirm, preview=preview
    )


def erase_elements(
    store: Store,
    identity: Identity,
    elements: Sequence[str],
    *,
    properties: Sequence[str] = (),
    confirm: str = "",
    preview: bool = False,
) -> Forgotten:
    """Erase nodes and edges by their ids (`n:7`, `r:7`), present or past, or only these properties
    of them in every version. Beliefs are erased by address. Operators only."""
    with store.read() as snapshot:
        plan = _plan_elements(snapshot, elements, properties)
        token = token_of(snapshot, plan)
    return carry_out(store, identity, plan, token, confirm=confirm, preview=preview)


def erase_text(
    store: Store, identity: Identity, text: str, *, confirm: str = "", preview: bool = False
) -> Forgotten:
    """Erase every occurrence of a text, in upper or lower case: in beliefs, in properties, labels
    and types of elements, present and past, in the log. Operators only.

    Raises ConflictError if the schema or a policy in force holds it."""
    check_text(text, field="text")
    if len(text.strip()) < _SHORT:
        raise InputError(
            f"A text to erase has at least {_SHORT} characters.",
            next_step="Give more of it.",
            field="text",
        )
    with store.read() as snapshot:
        plan = _plan_text(snapshot, find(snapshot._db, text), text)
        token = token_of(snapshot, plan)
    return carry_out(store, identity, plan, token, confirm=confirm, preview=preview)


def carry_out(
    store: Store,
    identity: Identity,
    plan: ErasurePlan,
    token: str,
    *,
    confirm: str,
    preview: bool,
    note: str = "",
    op: str = "erase",
) -> Forgotten:
    """Return the preview of a plan, or erase it if `confirm` is its token."""
    lines = plan.lines()
    kept = " ".join(part for part in (note, _kept(plan)) if part)
    shown = tuple(lines[:PREVIEW_ITEMS_MAX])
    if preview:
        return Forgotten(False, "erase", len(lines), shown, token, (), kept)
    if plan.is_empty:
        raise InputError("There is nothing to erase.", next_step="Check the text or the ids.")
    if not isinstance(confirm, str) or not hmac.compare_digest(
        confirm.encode("utf-8", "replace"), token.encode()
    ):
        raise ConfirmationError(
            "The confirmation does not match: the set changed since the preview."
            if confirm
            else f"This would erase {len(lines)} elements.",
            next_step="Request a new preview and give its token as confirmation.",
            count=len(lines),
            mode="erase",
        )
    with Ledger(store, identity).write(op) as work:
        _erase(work.tx, plan)
    made = work.tx.receipt_made
    note = " ".join(part for part in (store.scrub(), kept) if part)
    changes = (made.tx,) if made is not None else ()
    return Forgotten(True, "erase", len(lines), shown, "", changes, note)


def _kept(plan: ErasurePlan) -> str:
    """Say what of a text an erasure cannot take."""
    if not plan.receipts:
        return ""
    numbers = ", ".join(map(str, plan.receipts[:5]))
    return (
        f"{len(plan.receipts)} receipts hold it in their actor or note (changes {numbers}):"
        " receipts are chained and stay."
    )


def _erase(tx: Transaction, plan: ErasurePlan) -> None:
    require_operator(tx)
    nodes = nodes_at(tx, map(parse_kref, plan.krefs))
    gone = {node.id for node in nodes} | {NodeId(identity) for identity in plan.nodes}
    clear_reports(tx, nodes)
    drawn = edges_drawn_from(tx, nodes)
    edges = sorted({*drawn, *(EdgeId(identity) for identity in plan.edges)})
    if gone or edges:
        erasure = Erasure(tx, gone)
        tx.erase(sorted(gone), edges=edges)
        erasure.tag(tx)
    for (edge, identity), hit in sorted(plan.parts.items()):
        erase_parts(
            tx,
            identity,
            edge=edge,
            properties=hit.properties,
            labels=hit.names,
            access=hit.access,
            payloads=hit.logged,
        )
    destroy_payloads(tx, plan.payloads)
    if plan.text:
        forget_names(tx._db, Needle(plan.text).in_text)


# Planning


def _plan_elements(
    reader: Reader, elements: Sequence[str], properties: Sequence[str]
) -> ErasurePlan:
    plan = ErasurePlan()
    for element in elements:
        match = _ELEMENT.fullmatch(element)
        if match is None:
            raise InputError(
                f"{element!r:.60} is not the id of an element.",
                next_step="Give ids as elementId() returns them: n:7 for a node, r:7 for a"
                " relationship. A belief is forgotten by its address.",
                field="elements",
            )
        edge, identity = match[1] == "r", int(match[2])
        logged = _logged(reader, edge, identity)
        if not logged and _version(reader, edge, identity) is None:
            raise NotFoundError(
                f"There is nothing of {element}.", next_step="Check the id.", element=element
            )
        _require_free_element(reader, edge, identity)
        if properties:
            plan.parts[edge, identity] = Occurrence(set(properties), logged=logged)
        else:
            (plan.edges if edge else plan.nodes).add(identity)
    plan.krefs = conclusions_from(reader, plan.nodes)
    return plan


def _logged(reader: Reader, edge: bool, identity: int) -> list[int]:
    """Return the log entries of an element that still have a payload."""
    return [
        row[0]
        for row in reader.rows(
            "SELECT l.seq FROM log l JOIN log_payload p ON p.seq = l.seq WHERE l.element = ? AND"
            " substr(l.op, 1, 5) = ? ORDER BY l.seq",
            (identity, "edge." if edge else "node."),
        )
    ]


def _version(reader: Reader, edge: bool, identity: int) -> tuple[str, dict[str, Any]] | None:
    """Return the labels or type, in JSON, and properties of the latest version of an element."""
    kind, names = ("edge", "json_array(type)") if edge else ("node", "labels")
    rows = reader.rows(
        f"SELECT {names}, json(props), 9223372036854775807 AS until FROM {kind} WHERE id = ?1 UNION"
        f" ALL SELECT {names}, json(props), until FROM {kind}_past WHERE id = ?1 ORDER BY until"
        " DESC LIMIT 1",
        (identity,),
    )
    return (rows[0][0], decode_properties(rows[0][1])) if rows else None


def _require_free_element(reader: Reader, edge: bool, identity: int) -> None:
    if edge:
        found = reader.edge(EdgeId(identity))
        if found is not None and structural_edge(reader, found):
            raise ConflictError(
                f"r:{identity} is a relationship {found.type} of a belief.",
                next_step="Forget the belief by its address.",
                element=f"r:{identity}",
            )
        return
    address = _address(reader, identity)
    if address:
        raise ConflictError(
            f"n:{identity} has the address {address}.",
            next_step="Forget it by its address.",
            element=f"n:{identity}",
            kref=address,
        )


def _address(reader: Reader, identity: int) -> str:
    """Return the address of a node that belongs to a belief, or an empty text."""
    version = _version(reader, False, identity)
    kref = None if version is None else version[1].get("kref")
    if version is None or not isinstance(kref, str):
        return ""
    return kref if is_belief(decode(version[0])) else ""


def is_belief(labels: Iterable[str]) -> bool:
    """Return whether a node with an address and these labels is a part of the ledger."""
    return not _BELIEF.isdisjoint(labels)


def _plan_text(reader: Reader, found: Occurrences, text: str) -> ErasurePlan:
    if found.catalogue:
        raise ConflictError(
            f"The text is part of the schema or of a policy in force:"
            f" {', '.join(found.catalogue[:5])}.",
            next_step="Replace these by others of another name first, then ask for a new preview.",
            names=found.catalogue[:20],
        )
    plan = ErasurePlan(payloads=found.catalogue_log, receipts=found.receipts, text=text)
    krefs: set[str] = set()
    for identity, hit in found.nodes.items():
        address = _address(reader, identity)
        live = reader.node(NodeId(identity)) is not None
        if address and live:
            krefs.add(address)
        elif "kref" in hit.properties or address or _is_proposal(reader, identity):
            plan.nodes.add(identity)
        else:
            plan.parts[False, identity] = hit
    for identity, hit in found.edges.items():
        if hit.names:
            plan.edges.add(identity)
        else:
            plan.parts[True, identity] = hit
    krefs = set(outermost(reader, krefs, slug(text)))
    krefs |= {*conclusions_at(reader, krefs), *conclusions_from(reader, plan.nodes)}
    plan.krefs = outermost(reader, krefs, slug(text))
    return plan


_WHOLE = frozenset(("Proposal", "Record"))


def _is_proposal(reader: Reader, identity: int) -> bool:
    """Whether a node is a proposal of a job or a record of the runtime, which do not change once
    written: it goes as one."""
    version = _version(reader, False, identity)
    return version is not None and not _WHOLE.isdisjoint(decode(version[0]))


def _items_left_empty(reader: Reader, krefs: Iterable[str], words: str) -> set[str]:
    """Return the items that lose all their revisions, or whose name was made of the text."""
    taken: dict[str, int] = {}
    for kref in krefs:
        parsed = parse_kref(kref)
        if parsed.is_item and parsed.revision is not None and parsed.artifact is None:
            taken[str(parsed.item())] = taken.get(str(parsed.item()), 0) + 1
    found = set()
    for address, count in taken.items():
        item = reader.node_by_kref(address)
        if item is None:
            continue
        name = str(item.props.get("name", ""))
        if count == len(reader.edges_out(item.id, HAS_REVISION)) or (words and words in name):
            found.add(address)
    return found


def outermost(reader: Reader, krefs: Iterable[str], words: str = "") -> list[str]:
    """Add the items that are left without a revision, or whose name was made of `words`, and leave
    out what goes with something else: the revisions of an item that goes."""
    given = set(krefs)
    given |= _items_left_empty(reader, given, words)
    found = []
    for kref in sorted(given):
        parsed = parse_kref(kref)
        if parsed.is_item and parsed != parsed.item() and str(parsed.item()) in given:
            continue
        if parsed.artifact is not None and str(_without_artifact(parsed)) in given:
            continue
        found.append(kref)
    return found


def _without_artifact(kref: Kref) -> Kref:
    return replace(kref, artifact=None)


def token_of(reader: Reader, plan: ErasurePlan) -> str:
    """Compute the token, keyed with the first receipt so that it cannot be forged without the
    file."""
    first = reader.receipts(limit=1)
    key = first[0].hash if first else b"empty"
    return hashlib.blake2b(
        canonical(["elements", plan.lines()]), key=key[:32], digest_size=8
    ).hexdigest()
