"""Claims: proposed with their sources, previewed, decided by an operator, reversed the same way.

    propose   a record `candidate`, with the hash of each source's passage as it is now
    preview   what every source says now, and a recommendation; nothing is written
    decide    accept, reject, defer or reverse, bound to the hashes of a preview: if the claim or a
              source differs from what was previewed, nothing is decided
    accept    in one transaction: the belief (trust verified), its DERIVED_FROM edges to the claim
              and to the sources that are in the graph, the decision, the state
    reverse   in one transaction: the belief is retired unless a newer revision stands in its
              place, the reversal with its hashes, the state is `reversed`

Candidates are records, so neither recall nor a prompt reads them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from doxa.agent.claims.handles import ResolvedHandle, parse_handle, resolve_handle
from doxa.agent.claims.modes import Mode, mode_of
from doxa.agent.claims.types import CLAIM, DECISION, REVERSAL, SPACE
from doxa.agent.claims.verdicts import Verified, verify
from doxa.agent.records.records import (
    list_records,
    move_record,
    note_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, ConstraintError, InputError, LimitError, NotFoundError
from doxa.base.limits import CLAIM_CHARS_MAX, CLAIM_SOURCES_ITEMS_MAX, CLAIMS_REPORT_ITEMS_MAX
from doxa.base.values import canonical
from doxa.belief import Draft, Ledger
from doxa.belief.graph import parse_target
from doxa.belief.removal.retiring import set_deprecated
from doxa.redaction.redact import redact
from doxa.store import Reader, Transaction

ClaimKind = Literal[
    "project_state",
    "user_preference",
    "identity",
    "commitment",
    "runtime",
    "interpretation",
    "summary",
    "configuration",
]
ClaimPolicy = Literal[
    "evergreen",
    "session_bound",
    "verify_before_asserting",
    "expires_after",
    "user_correction_wins",
    "runtime_check_required",
]
ClaimDecision = Literal["accept", "reject", "defer", "reverse"]
CLAIM_KINDS: tuple[str, ...] = get_args(ClaimKind)
CLAIM_POLICIES: tuple[str, ...] = get_args(ClaimPolicy)
CLAIM_DECISIONS: tuple[str, ...] = get_args(ClaimDecision)
# Policies under which an accepted claim needs no check before it is said.
SETTLED = frozenset(("evergreen", "expires_after", "user_correction_wins"))
_STATES = {"accept": "accepted", "reject": "rejected", "defer": "deferred", "reverse": "reversed"}
_AGAINST = frozenset(("denial", "number", "date", "name"))
_EXCERPT_CHARS = 400


@dataclass(frozen=True, slots=True)
class SourceCheck:
    """What one source says of a claim now. `hash` is the SHA-256 of the passage, "" where there is
    none; `hash_then` that of when the claim was made."""

    handle: str
    verdict: str
    supports: bool
    reason: str
    excerpt: str
    hash: str
    hash_then: str
    kref: str


@dataclass(frozen=True, slots=True)
class ClaimPreview:
    """What a decision about a claim is bound to: `claim_hash` and `source_hash`. Recommendations
    are accept, narrow, reject, verify and reverse; they decide nothing."""

    kref: str
    text: str
    kind: str
    policy: str
    state: str
    mode: Mode
    claim_hash: str
    source_hash: str
    recommendation: str
    sources: tuple[SourceCheck, ...]


def propose(
    tx: Transaction,
    text: str,
    *,
    project: str,
    agent: str,
    kind: str,
    sources: Sequence[str],
    policy: str,
    expires_s: int = 0,
) -> Record:
    """Keep a claim as a candidate. The same claim with the same sources is found again."""
    text = _checked(redact(text).text.strip(), kind, sources, policy, expires_s)
    handles = sorted(dict.fromkeys(str(parse_handle(one)) for one in sources))
    found = [resolve_handle(tx, one, project=project, agent=agent) for one in handles]
    said = canonical([text, kind, handles])
    name = f"claim-{hashlib.sha256(said).hexdigest()[:16]}"
    held = tx.node_by_kref(f"kref://{project}/agents/{agent}/{CLAIM}/{name}.record")
    if held is not None:  # its sources may say something else by now; that is the preview's to tell
        return read_record(held)
    return write_record(
        tx,
        project=project,
        agent=agent,
        kind=CLAIM,
        name=name,
        state="candidate",
        text=text,
        data={
            "kind": kind,
            "policy": policy,
            "expires_s": expires_s,
            "sources": [
                {"handle": one.handle, "hash": one.hash, "excerpt": _excerpt(one)} for one in found
            ],
        },
        about=[one.kref for one in found if one.kref],
    )


def preview(reader: Reader, kref: str) -> ClaimPreview:
    """Return what the sources of a claim say now. Raises NotFoundError."""
    claim = require_claim(reader, kref)
    checks = tuple(checks_of(reader, claim))
    return ClaimPreview(
        claim.kref,
        claim.text,
        str(claim.data["kind"]),
        str(claim.data["policy"]),
        claim.state,
        mode_of(reader),
        claim.content_hash,
        hash_of_sources(checks),
        _recommendation(claim, checks),
        checks,
    )


def decide(
    ledger: Ledger,
    kref: str,
    decision: str,
    *,
    claim_hash: str,
    source_hash: str,
    reason: str,
) -> Record:
    """Decide about a claim, in one transaction. Raises ConflictError unless both hashes are those
    of what the claim and its sources say now."""
    if decision not in CLAIM_DECISIONS:
        raise InputError(
            f"{decision[:40]!r} is not a decision.",
            next_step=f"Use {', '.join(CLAIM_DECISIONS)}.",
            field="decision",
        )
    if not reason.strip():
        raise InputError(
            "A decision has a reason.", next_step="Say why, in a few words.", field="reason"
        )
    with ledger.write(f"claim.{decision}") as work:
        tx = work.tx
        seen = preview(tx, kref)
        if (seen.claim_hash, seen.source_hash) != (claim_hash, source_hash):
            raise ConflictError(
                f"{kref} or its sources differ from what was previewed.",
                next_step="Preview it again, and decide about what it says now.",
                kref=kref,
            )
        claim = require_claim(tx, kref)
        if decision == "accept":
            _note(tx, claim, seen, DECISION, _state(ledger, tx, claim, seen))
        elif decision == "reverse" and claim.state == "accepted":
            belief = str(claim.notes[DECISION]["belief"])
            _retire(tx, belief)
            _note(tx, claim, seen, REVERSAL, belief)
        return move_record(tx, claim.kref, _STATES[decision], said=reason)


def _state(ledger: Ledger, tx: Transaction, claim: Record, seen: ClaimPreview) -> str:
    """State the belief of an accepted claim, and return the address of its revision."""
    against = next((one for one in seen.sources if one.reason in _AGAINST), None)
    if against is not None or not any(one.supports for one in seen.sources):
        why = f"{against.handle}: {against.reason}" if against else "none supports it"
        raise ConstraintError(
            f"The sources of {claim.kref} do not bear it out: {why}.",
            next_step="Propose what the sources say, with these sources.",
            kref=claim.kref,
        )
    draft = Draft(
        summary=claim.text,
        project=claim.project,
        space=SPACE,
        name=claim.name,
        kind="preference" if claim.data["kind"] == "user_preference" else "fact",
        trust="verified",
        metadata={"claim": claim.kref, "sources": [one.handle for one in seen.sources]},
    )
    grounds = [
        ("DERIVED_FROM", one.kref)
        for one in seen.sources
        if one.supports and one.kref and not one.kref.endswith(".record")
    ]
    address = parse_target(f"kref://{claim.project}/{SPACE}/{claim.name}.{draft.kind}")
    change = ledger.upsert(tx, address, ledger.check(draft), links=dict.fromkeys(grounds))
    belief = tx.node_by_kref(change.kref)
    assert belief is not None
    tx.create_edge("DERIVED_FROM", belief.id, dst=require_record(tx, claim.kref).id)
    return change.kref


def _retire(tx: Transaction, belief: str) -> None:
    """Retire the belief of a claim, if it is held still: a newer revision is somebody else's
    statement, and stays. One that was erased is gone already."""
    revision = tx.node_by_kref(belief)
    item = tx.node_by_kref(str(parse_target(belief).item()))
    if revision is not None and item is not None and tx.edges_in(revision.id, "CURRENT"):
        set_deprecated(tx, item, True)


def _note(tx: Transaction, claim: Record, seen: ClaimPreview, name: str, belief: str) -> None:
    note_record(
        tx,
        claim.kref,
        {
            name: {
                "belief": belief,
                "by": tx.identity.actor,
                "claim": seen.claim_hash,
                "sources": seen.source_hash,
                "time": tx.now,
                "verdicts": [f"{one.handle} {one.verdict}" for one in seen.sources],
            }
        },
    )


def require_claim(reader: Reader, kref: str) -> Record:
    """Return a claim. Raises NotFoundError."""
    found = read_record(require_record(reader, kref))
    if found.type != CLAIM:
        raise NotFoundError(f"{found.kref} is not a claim.", next_step="List them.", kref=kref)
    return found


def hash_of_sources(checks: Sequence[SourceCheck]) -> str:
    """Return the SHA-256 of what all sources say now, in hexadecimal."""
    said = [[one.handle, one.hash, one.verdict] for one in checks]
    return hashlib.sha256(canonical(said)).hexdigest()


def is_borne_out(checks: Iterable[SourceCheck]) -> bool:
    """Return whether sources bear a claim out: one supports it, and none speaks against it."""
    found = list(checks)
    return any(one.supports for one in found) and not any(one.reason in _AGAINST for one in found)


def checks_of(reader: Reader, claim: Record) -> Iterator[SourceCheck]:
    """Yield what each source of a claim says of it now."""
    for held in claim.data["sources"]:
        handle, then = str(held["handle"]), str(held["hash"])
        now = resolve_handle(reader, handle, project=claim.project, agent=claim.agent)
        found: Verified = verify(claim.text, now, hash_then=then)
        yield SourceCheck(
            handle,
            found.verdict,
            found.supports,
            found.reason,
            _excerpt(now),
            now.hash,
            then,
            now.kref,
        )


def _recommendation(claim: Record, checks: Sequence[SourceCheck]) -> str:
    verdicts = {one.verdict for one in checks}
    if claim.state == "accepted":
        if verdicts <= {"missing"}:
            return "reverse"
        return "verify" if verdicts & {"drifted", "missing"} else "keep"
    if not verdicts or verdicts <= {"missing"}:
        return "reject"
    if any(one.reason in _AGAINST for one in checks):
        return "narrow"
    if "drifted" in verdicts:
        return "verify"
    return "accept" if any(one.supports for one in checks) else "narrow"


def _checked(text: str, kind: str, sources: Sequence[str], policy: str, expires_s: int) -> str:
    if not text or len(text) > CLAIM_CHARS_MAX:
        raise LimitError(
            f"A claim has from 1 to {CLAIM_CHARS_MAX:,} characters, not {len(text):,}.",
            next_step="State one thing.",
            field="text",
        )
    if not 1 <= len(sources) <= CLAIM_SOURCES_ITEMS_MAX:
        raise InputError(
            f"A claim has from 1 to {CLAIM_SOURCES_ITEMS_MAX} sources, not {len(sources)}.",
            next_step="Give the handles of where it is from.",
            field="sources",
        )
    for value, known, field in ((kind, CLAIM_KINDS, "kind"), (policy, CLAIM_POLICIES, "policy")):
        if value not in known:
            raise InputError(
                f"{value[:40]!r} is not a {field} of claims.",
                next_step=f"Use {', '.join(known)}.",
                field=field,
            )
    if (policy == "expires_after") != (expires_s > 0):
        raise InputError(
            "A claim that expires has a time in seconds, and no other has.",
            next_step="Give policy='expires_after' with expires_s.",
            field="expires_s",
        )
    return text


def _excerpt(found: ResolvedHandle) -> str:
    return " ".join(found.text.split())[:_EXCERPT_CHARS]


def held_claims(
    reader: Reader, *, project: str, agent: str, state: str, limit: int
) -> list[Record]:
    """Return the claims of an agent, of one state or of any, the newest first."""
    found = list_records(
        reader,
        project=project,
        agent=agent,
        kind=CLAIM,
        states=(state,) if state else (),
        limit=CLAIMS_REPORT_ITEMS_MAX,
    )
    found.sort(key=lambda one: (-one.made, one.kref))
    return found[: max(0, limit)]
