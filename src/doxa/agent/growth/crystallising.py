"""Crystallisation: plan, approve, apply, reverse. A candidate becomes a line of identity by two
steps of a person, each in a transaction of its own: an approval, which names the candidate and the
hash of its text and has a nonce; and its use, which writes the item in the same transaction. The
gates are asked again at each commit (gates.py).
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from doxa.agent.growth.candidates import CANDIDATE, CRYSTALLISED, OPEN, TAKEN_BACK
from doxa.agent.growth.gates import (
    ISSUED,
    NS,
    USED,
    GateFinding,
    approval_name,
    gates,
    nonce_digest,
)
from doxa.agent.growth.identity import (
    APPROVAL,
    KIND,
    SPACE,
    TAG_NAME,
    assemble,
    file_texts,
    item_kref,
)
from doxa.agent.records.records import (
    CONCERNS,
    find_record,
    list_records,
    move_record,
    note_record,
    record_kref,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, ConstraintError, NotFoundError, RoleError
from doxa.base.ids import is_below_operator
from doxa.base.limits import CRYSTALLISE_APPROVAL_S, IDENTITY_LINES_ITEMS_MAX
from doxa.belief.kref import parse_kref
from doxa.belief.ledger import Ledger
from doxa.belief.types import Draft
from doxa.belief.verified import VERIFIED
from doxa.store import Identity, Reader, Store, Transaction

_NONCE_BYTES = 12
_SPEAKS = ("Revision", "Exchange")


@dataclass(frozen=True, slots=True)
class CrystallisePlan:
    """What crystallising a candidate would do. `content_hash` is what an approval has to name;
    `before` and `after` are the text of the file; `ready` says whether an approval is all that is
    missing."""

    candidate: str
    text: str
    file: str
    content_hash: str
    ready: bool
    gates: tuple[GateFinding, ...]
    before: str
    after: str
    item: str


@dataclass(frozen=True, slots=True)
class CrystalliseApproval:
    """An approval that was issued. The nonce is shown here and kept nowhere; `expires` is in ns
    UTC."""

    approval: str
    candidate: str
    content_hash: str
    nonce: str
    expires: int


@dataclass(frozen=True, slots=True)
class Crystallised:
    """What became of a candidate: its state, its item, the change, and the digest of the identity
    after it."""

    candidate: str
    state: str
    item: str
    change: int
    digest: str


def plan(reader: Reader, kref: str, *, principle: str = "") -> CrystallisePlan:
    """Return what crystallising a candidate would do."""
    record = require_candidate(reader, kref)
    identity = assemble(reader, record.project, record.agent)
    found = gates(reader, record, identity, now=reader.now, principle=principle)
    file = str(record.data["file"])
    lines = [(line.file, line.text) for line in identity.lines]
    return CrystallisePlan(
        record.kref,
        record.text,
        file,
        record.content_hash,
        record.state == OPEN and all(one.open for one in found),
        tuple(found),
        identity.files.get(file, ""),
        file_texts([*lines, (file, record.text)])[file],
        item_kref(record),
    )


def approve(
    store: Store, identity: Identity, kref: str, content_hash: str, *, principle: str = ""
) -> CrystalliseApproval:
    """Issue an approval of a candidate with this hash. Raises ConflictError for another hash or a
    candidate that is decided, ConstraintError where a gate is closed, RoleError."""
    if is_below_operator(identity.role):
        raise RoleError(
            f"The role {identity.role} may not approve a candidate; that is a person's.",
            next_step="Ask the operator to do it.",
            role=identity.role,
            needed="operator",
        )
    nonce = secrets.token_hex(_NONCE_BYTES)
    with store.write(identity, op="crystallise.approve") as tx:
        record = require_candidate(tx, kref)
        _require_hash(record, content_hash)
        _require_open(record)
        found = gates(
            tx,
            record,
            assemble(tx, record.project, record.agent),
            now=tx.now,
            principle=principle,
        )
        closed = [one for one in found if not one.open]
        if closed:
            raise ConstraintError(
                f"{record.kref} does not pass the gate {closed[0].gate}: {closed[0].reason}.",
                next_step="Look at crystallise_plan.",
                kref=record.kref,
                gate=closed[0].gate,
            )
        expires = tx.now + CRYSTALLISE_APPROVAL_S * NS
        made = write_record(
            tx,
            project=record.project,
            agent=record.agent,
            kind=APPROVAL,
            name=approval_name(nonce),
            state=ISSUED,
            data={
                "candidate": record.kref,
                "content_hash": record.content_hash,
                "nonce_sha256": nonce_digest(nonce),
                "expires_ns": expires,
                "issued_to": identity.actor,
                "principle": principle,
            },
            about=(record.kref,),
        )
    return CrystalliseApproval(made.kref, record.kref, record.content_hash, nonce, expires)


def apply(store: Store, identity: Identity, kref: str, nonce: str) -> Crystallised:
    """Use an approval: the candidate becomes a line of identity, and an item that is verified and
    tagged, in one transaction. Raises ConflictError, ConstraintError or RoleError."""
    with store.write(identity, op="crystallise.apply") as tx:
        record = require_candidate(tx, kref)
        approval = record_kref(record.project, record.agent, APPROVAL, approval_name(nonce))
        if find_record(tx, approval) is None:
            raise ConstraintError(
                f"No approval of {record.kref} has this nonce.",
                next_step="Issue one with crystallise_approve.",
                kref=record.kref,
                gate="human",
            )
        move_record(tx, approval, USED, expected=(ISSUED,), said=nonce)
        note_record(tx, approval, {"change": int(tx.tx)})
        move_record(tx, record.kref, CRYSTALLISED, expected=(OPEN,), said=nonce)
        with store.joined(tx):
            _write_item(store, identity, tx, record)
        change = int(tx.tx)
    return _done(store, record, change)


def reverse(store: Store, identity: Identity, kref: str, *, reason: str = "") -> Crystallised:
    """Take a line of identity back, or decide against a candidate; approvals of it that were not
    used are revoked. Raises ConflictError or RoleError."""
    with store.write(identity, op="crystallise.reverse") as tx:
        record = require_candidate(tx, kref)
        taken = record.state == CRYSTALLISED
        for approval in _issued(tx, record):
            move_record(tx, approval.kref, "revoked", said=reason)
        state = "withdrawn" if is_below_operator(identity.role) else "rejected"
        state = TAKEN_BACK if taken else state
        move_record(tx, record.kref, state, expected=(OPEN, CRYSTALLISED), said=reason)
        item = tx.node_by_kref(item_kref(record)) if taken else None
        if item is not None and not item.props.get("deprecated"):
            with store.joined(tx):
                Ledger(store, identity).deprecate(item_kref(record))
        change = int(tx.tx)
    return _done(store, record, change)


def require_candidate(reader: Reader, kref: str) -> Record:
    """Return the candidate at an address. Raises NotFoundError."""
    found = find_record(reader, str(parse_kref(kref)))
    if found is None or found.type != CANDIDATE:
        raise NotFoundError(
            f"There is no candidate at {kref[:200]}.",
            next_step="List them with growth_list.",
            kref=kref,
        )
    return found


def _write_item(store: Store, identity: Identity, tx: Transaction, record: Record) -> None:
    first, last = SPACE
    node = tx.node_by_kref(record.kref)
    assert node is not None
    sources = [tx.node(edge.dst) for edge in tx.edges_out(node.id, CONCERNS)]
    links = [
        ("DERIVED_FROM", str(source.props["kref"]))
        for source in sources
        if source is not None and {*source.labels} & {*_SPEAKS}
    ]
    draft = Draft(
        record.text,
        project=record.project,
        space=f"{first}/{record.agent}/{last}",
        name=record.name,
        kind=KIND,
        trust=VERIFIED,
    )
    ledger = Ledger(store, identity)
    item = tx.node_by_kref(item_kref(record))
    if item is not None and item.props.get("deprecated"):
        ledger.restore(item_kref(record))
    change = ledger.put(draft, links=links)
    ledger.tag(change.kref, TAG_NAME)


def _issued(reader: Reader, record: Record) -> list[Record]:
    found = list_records(
        reader,
        project=record.project,
        agent=record.agent,
        kind=APPROVAL,
        states=(ISSUED,),
        limit=IDENTITY_LINES_ITEMS_MAX,
    )
    return [one for one in found if one.data["candidate"] == record.kref]


def _done(store: Store, record: Record, change: int) -> Crystallised:
    with store.read() as reader:
        found = require_candidate(reader, record.kref)
        digest = assemble(reader, record.project, record.agent).digest
    return Crystallised(record.kref, found.state, item_kref(record), change, digest)


def _require_hash(record: Record, content_hash: str) -> None:
    if record.content_hash != content_hash:
        raise ConflictError(
            f"{record.kref} says something else than what the hash {content_hash[:16]!r} stands"
            " for.",
            next_step="Read crystallise_plan, and approve the hash that it shows.",
            kref=record.kref,
        )


def _require_open(record: Record) -> None:
    if record.state != OPEN:
        raise ConflictError(
            f"{record.kref} is {record.state}.",
            next_step="Propose the line again, as an operator.",
            kref=record.kref,
        )
