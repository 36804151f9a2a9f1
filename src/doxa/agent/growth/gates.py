"""The gates between a candidate and the identity of an agent, asked at the commit of whatever
transaction moves one: a verb, a query, an undo, a transaction of a program.

    form        the text is one complete statement
    time        what a person did not state is at least CRYSTALLISE_AGE_S old
    alignment   it denies no principle in SOUL, and serves one: they share a word, or the approval
                names the principle. A line of SOUL is a principle itself
    human       an operator's approval, of an earlier transaction, that has not expired, names the
                candidate and the hash of its text and is used up by this very transaction, by the
                operator to whom it was issued, who gives its nonce
    size        all files together have at most IDENTITY_CHARS_MAX characters
    item        the transaction makes the item: believed, verified, tagged, in the same words

An operator here is a session with exactly that role: neither a job nor the system may approve.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from doxa.agent.growth.candidates import CANDIDATE, CRYSTALLISED, FILES, OPEN, ORIGINS, TAKEN_BACK
from doxa.agent.growth.identity import (
    APPROVAL,
    KIND,
    TAG_NAME,
    AgentIdentity,
    assemble,
    file_texts,
    item_kref,
)
from doxa.agent.growth.wording import compare, form_problem, statement_problem
from doxa.agent.records.records import find_record, read_record, record_kref
from doxa.agent.records.types import Record
from doxa.base.clock import format_time
from doxa.base.errors import ConstraintError, RoleError
from doxa.base.limits import CRYSTALLISE_AGE_S, CRYSTALLISE_APPROVAL_S, IDENTITY_CHARS_MAX
from doxa.belief.graph import CURRENT, TAG
from doxa.belief.verified import VERIFIED
from doxa.store import Node, Reader, Transaction

NS = 10**9
USED, ISSUED = "used", "issued"
_DIGEST_CHARS = 64


@dataclass(frozen=True, slots=True)
class GateFinding:
    """One gate: whether it is open, and why."""

    gate: str
    open: bool
    reason: str


def gates(
    reader: Reader, record: Record, identity: AgentIdentity, *, now: int, principle: str = ""
) -> list[GateFinding]:
    """Return the gates that a candidate meets before a person approves it."""
    problem = statement_problem(record.text)
    return [
        GateFinding("form", not problem, problem or "it is one complete statement"),
        _time(record, now),
        _alignment(record, identity, principle),
        _size(record, identity),
    ]


def _time(record: Record, now: int) -> GateFinding:
    if record.data.get("origin") == "operator":
        return GateFinding("time", True, "an operator stated it")
    due = record.made + CRYSTALLISE_AGE_S * NS
    if now >= due:
        return GateFinding("time", True, f"it was proposed on {format_time(record.made)[:10]}")
    return GateFinding("time", False, f"it has to wait until {format_time(due)[:19]}Z")


def _alignment(record: Record, identity: AgentIdentity, principle: str) -> GateFinding:
    principles = [line for line in identity.lines if line.file == "SOUL"]
    found = [(line, compare(record.text, line.text)) for line in principles]
    opposed = [line for line, one in found if one.opposed]
    if opposed:
        return GateFinding("alignment", False, f"it denies the principle {opposed[0].candidate}")
    if record.data.get("file") == "SOUL":
        return GateFinding("alignment", True, "it denies no principle")
    if not principles:
        return GateFinding("alignment", False, "there is no principle in SOUL that it could serve")
    if principle:
        named = [line for line in principles if line.candidate == principle]
        if named:
            return GateFinding("alignment", True, f"the approval names {principle}")
        return GateFinding("alignment", False, f"{principle[:200]} is not a principle in SOUL")
    served = [(line, one.shared) for line, one in found if one.shared]
    if not served:
        return GateFinding("alignment", False, "it shares no word with a principle in SOUL")
    line, shared = max(served, key=lambda one: len(one[1]))
    return GateFinding("alignment", True, f"it shares {', '.join(shared)} with {line.candidate}")


def _size(record: Record, identity: AgentIdentity) -> GateFinding:
    lines = [(line.file, line.text) for line in identity.lines if line.candidate != record.kref]
    texts = file_texts([*lines, (str(record.data.get("file")), record.text)])
    chars = sum(map(len, texts.values()))
    fits = chars <= IDENTITY_CHARS_MAX
    return GateFinding(
        "size", fits, f"the identity would have {chars:,} of {IDENTITY_CHARS_MAX:,} characters"
    )


# What the commit asks


def check_candidate(tx: Transaction, before: Node | None, node: Node) -> None:
    """Check a candidate that was made or moved. Raises ConstraintError or RoleError."""
    record = read_record(node)
    if before is None:
        _check_new(tx, record)
    elif before.props["state"] != record.state:
        if record.state == CRYSTALLISED:
            _check_crystallised(tx, record)
        elif record.state == TAKEN_BACK:
            _check_taken_back(tx, record)


def _check_new(tx: Transaction, record: Record) -> None:
    origin, file = record.data.get("origin"), record.data.get("file")
    if origin not in ORIGINS or file not in FILES or set(record.data) != {"origin", "file"}:
        raise _refused(record.kref, "says for which file it is and who proposes it, and no more")
    problem = form_problem(record.text)
    if problem:
        raise _refused(record.kref, f"is one line of plain text; of this one {problem}")
    if origin == "operator":
        _require_operator(tx, "propose a line as an operator's")


def _check_crystallised(tx: Transaction, record: Record) -> None:
    _require_operator(tx, "crystallise a candidate")
    approval = _approval_used(tx, record)
    for found in gates(
        tx,
        record,
        assemble(tx, record.project, record.agent),
        now=tx.now,
        principle=str(approval.data.get("principle", "")),
    ):
        if not found.open:
            raise ConstraintError(
                f"{record.kref} does not pass the gate {found.gate}: {found.reason}.",
                next_step="Look at crystallise_plan.",
                kref=record.kref,
                gate=found.gate,
            )
    _check_item(tx, record)


def _approval_used(tx: Transaction, record: Record) -> Record:
    kref = record_kref(record.project, record.agent, APPROVAL, approval_name(record.said))
    approval = find_record(tx, kref) if record.said else None
    if (
        approval is None
        or approval.type != APPROVAL
        or approval.state != USED
        or approval.moved != tx.now
        or approval.data.get("candidate") != record.kref
        or approval.data.get("content_hash") != record.content_hash
    ):
        raise ConstraintError(
            f"No approval of {record.kref} and of what it says is used by this change.",
            next_step="Issue one with crystallise_approve, and use its nonce.",
            kref=record.kref,
            gate="human",
        )
    return approval


def _check_item(tx: Transaction, record: Record) -> None:
    item = tx.node_by_kref(item_kref(record))
    current = [] if item is None else tx.edges_out(item.id, CURRENT)
    node = tx.node(current[0].dst) if current else None
    tagged = node is not None and any(
        edge.props.get("name") == TAG_NAME for edge in tx.edges_in(node.id, TAG)
    )
    if (
        node is None
        or not tagged
        or node.props.get("summary") != record.text
        or node.props.get("trust") != VERIFIED
        or node.props.get("kind") != KIND
    ):
        raise ConstraintError(
            f"{record.kref} would be crystallised without the item that says it.",
            next_step="Use crystallise_apply, which writes both.",
            kref=record.kref,
        )


def _check_taken_back(tx: Transaction, record: Record) -> None:
    _require_operator(tx, "take a line of identity back")
    item = tx.node_by_kref(item_kref(record))
    if item is not None and tx.edges_out(item.id, CURRENT):
        raise ConstraintError(
            f"{record.kref} would be taken back while its item is believed.",
            next_step="Use crystallise_reverse, which retires it.",
            kref=record.kref,
        )


def check_approval(tx: Transaction, before: Node | None, node: Node) -> None:
    """Check an approval that was issued, used or revoked. Raises ConstraintError or RoleError."""
    record = read_record(node)
    _require_operator(tx, "issue or use an approval")
    if before is None:
        _check_issued(tx, record)
    elif record.state == USED and before.props["state"] != USED:
        _check_use(tx, record)
    elif record.notes != read_record(before).notes:
        raise _refused(record.kref, "notes the change that uses it, and nothing else")


def _check_issued(tx: Transaction, record: Record) -> None:
    names = {"candidate", "content_hash", "nonce_sha256", "expires_ns", "issued_to", "principle"}
    expires = record.data.get("expires_ns")
    candidate = find_record(tx, str(record.data.get("candidate")))
    digest = str(record.data.get("nonce_sha256"))
    if set(record.data) != names or record.name != digest[:32] or len(digest) != _DIGEST_CHARS:
        raise _refused(record.kref, "names candidate, hash, nonce, expiry, principle and operator")
    if (
        candidate is None
        or candidate.type != CANDIDATE
        or candidate.agent != record.agent
        or candidate.state != OPEN
        or candidate.content_hash != record.data.get("content_hash")
    ):
        raise _refused(record.kref, "names an open candidate of the agent, and its hash")
    if record.data.get("issued_to") != tx.identity.actor:
        raise _refused(record.kref, "is issued to the operator who asks for it")
    if not isinstance(expires, int) or not (
        tx.now < expires <= tx.now + CRYSTALLISE_APPROVAL_S * NS
    ):
        raise _refused(record.kref, f"expires within {CRYSTALLISE_APPROVAL_S:,} seconds")


def _check_use(tx: Transaction, record: Record) -> None:
    candidate = find_record(tx, str(record.data["candidate"]))
    said = ""
    if nonce_digest(record.said) != record.data["nonce_sha256"]:
        said = "its nonce was not given"
    elif tx.now >= int(record.data["expires_ns"]):
        said = f"it expired at {format_time(int(record.data['expires_ns']))[:19]}Z"
    elif record.data["issued_to"] != tx.identity.actor:
        said = f"it was issued to {record.data['issued_to']}, not to {tx.identity.actor}"
    elif record.notes != {"change": int(tx.tx)}:
        said = "it does not note the change that uses it"
    elif candidate is None or candidate.state != CRYSTALLISED or candidate.moved != tx.now:
        said = "its candidate is not crystallised by the same change"
    if said:
        raise ConstraintError(
            f"The approval {record.kref} cannot be used: {said}.",
            next_step="Issue another one with crystallise_approve.",
            kref=record.kref,
            gate="human",
        )


def nonce_digest(nonce: str) -> str:
    """Return the SHA-256 of a nonce, which an approval keeps in its place."""
    return hashlib.sha256(nonce.encode()).hexdigest()


def approval_name(nonce: str) -> str:
    """Return the name of the approval with this nonce."""
    return nonce_digest(nonce)[:32]


def _require_operator(tx: Transaction, what: str) -> None:
    if tx.rights != "operator":
        raise RoleError(
            f"The role {tx.rights} may not {what}; that is a person's, in an operator's session.",
            next_step="Ask the operator to do it.",
            role=tx.rights,
            needed="operator",
        )


def _refused(kref: str, what: str) -> ConstraintError:
    kind = "An approval" if f"/{APPROVAL}/" in kref else "A candidate"
    return ConstraintError(
        f"{kind} {what}: {kref}.", next_step="Write it with the verb for it.", kref=kref
    )
