"""Proposals to change how an agent works. A proposal is a record; nothing acts upon it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from doxa.agent.evolution.refiner import FailureSignature, Refined, refine
from doxa.agent.evolution.types import SCAFFOLD, ScaffoldBody
from doxa.agent.records.records import (
    list_records,
    move_record,
    read_record,
    require_record,
    write_record,
)
from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, ConstraintError, InputError
from doxa.base.limits import REFINER_OUTCOMES_ITEMS_READ
from doxa.base.values import canonical
from doxa.store import Reader, Transaction

OUTCOME = "outcome_event"
_DRAFTS: dict[str, tuple[str, str]] = {  # by signature: the type of change, and its words
    "repeated_failure": ("tool_hint", "Before the action, check what made it fail: {of}."),
    "correction_repair": ("workflow_sequence", "Preview the effect before the action is done."),
    "interrupted_work": ("workflow_sequence", "Divide the work into parts that end by themselves."),
    "unverified_work": ("workflow_sequence", "Verify the effect of each action when it is done."),
}
_DECISIONS = {"accept": "accepted", "reject": "rejected", "roll_back": "rolled_back"}


@dataclass(frozen=True, slots=True)
class Scaffold:
    """A proposal as it is shown. Accepting it changes its state and nothing else."""

    kref: str
    agent: str
    state: str
    change: str
    change_type: str
    target: str
    evidence: tuple[str, ...]
    expected_effect: str
    verification: str
    rollback: str
    risk: str
    content_hash: str
    said: str = ""


def propose(
    tx: Transaction, *, project: str, agent: str, change: str, said: ScaffoldBody
) -> Scaffold:
    """Write a proposal. The same proposal again is found, not written twice."""
    data = msgspec.to_builtins(said)
    name = hashlib.sha256(canonical([change, data])).hexdigest()[:24]
    record = write_record(
        tx,
        project=project,
        agent=agent,
        kind=SCAFFOLD,
        name=name,
        state="proposed",
        text=change,
        data=data,
        about=said.evidence,
    )
    return scaffold_of(record)


def list_scaffolds(
    reader: Reader, *, project: str, agent: str, states: Sequence[str], limit: int
) -> list[Scaffold]:
    """Return the proposals of an agent."""
    found = list_records(
        reader, project=project, agent=agent, kind=SCAFFOLD, states=states, limit=limit
    )
    return [scaffold_of(one) for one in found]


def decide_scaffold(
    tx: Transaction, kref: str, decision: str, *, content_hash: str, why: str
) -> Scaffold:
    """Accept, reject or roll back a proposal; accepting takes its content hash."""
    record = read_record(require_record(tx, kref))
    if record.type != SCAFFOLD or decision not in (*_DECISIONS, "withdraw"):
        raise InputError(
            f"{kref} is not a proposal, or {decision[:40]!r} not a decision.",
            next_step="Decide one of scaffolds with accept, reject, roll_back or withdraw.",
            field="decision",
        )
    if content_hash and content_hash != record.content_hash:
        raise ConflictError(
            f"The content hash of {kref} is another one.", next_step="Read it again.", kref=kref
        )
    state = _DECISIONS.get(decision, "withdrawn")
    return scaffold_of(move_record(tx, kref, state, said=f"{content_hash} {why}".strip()))


def refine_outcomes(reader: Reader, *, project: str, agent: str) -> Refined:
    """Score the newest outcomes of an agent."""
    found = list_records(
        reader,
        project=project,
        agent=agent,
        kind=OUTCOME,
        newest=True,
        limit=REFINER_OUTCOMES_ITEMS_READ,
    )
    return refine(found[::-1])


def draft(tx: Transaction, *, project: str, agent: str, refined: Refined) -> Refined:
    """Write a proposal for each signature, and return what was found with their addresses."""
    made = []
    for one in refined.signatures:
        kind, words = _DRAFTS[one.name]
        said = msgspec.convert(_body(one, kind), ScaffoldBody)
        change = words.format(of=one.of)
        try:
            made.append(propose(tx, project=project, agent=agent, change=change, said=said).kref)
        except ConstraintError:  # its evidence was erased meanwhile
            continue
    return replace(refined, proposals=tuple(made))


def _body(one: FailureSignature, kind: str) -> dict[str, object]:
    return {
        "change_type": kind,
        "target": one.of or one.name,
        "evidence": one.evidence[:100],
        "expected_effect": f"Fewer outcomes like these {len(one.evidence)}.",
        "verification": f"Compare the share of {one.name} before and after.",
        "rollback": "Take the hint out again.",
        "risk": "low",
        "signature": one.name,
    }


def scaffold_of(record: Record) -> Scaffold:
    """Return a proposal as it is shown."""
    said = msgspec.convert(dict(record.data), ScaffoldBody)
    return Scaffold(
        record.kref,
        record.agent,
        record.state,
        record.text,
        said.change_type,
        said.target,
        said.evidence,
        said.expected_effect,
        said.verification,
        said.rollback,
        said.risk,
        record.content_hash,
        record.said,
    )
