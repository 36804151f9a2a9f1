"""Applying proposals: each by itself, so that one that fails does not stop the others.

The action of a proposal is a mapping with `do`; what each value of it does is a function of the
table that the caller gives, called inside a transaction of the proposal's run:

    {"do": "retire", "kref": address}              the item is retired
    {"do": "relate", "from": a, "edge": TYPE, "to": b, "why": text}

What is done by jobs with runs of their own, such as consolidation, is in a second table, `apart`:
it is called outside a transaction and says what it did. That is undone by its own runs.

A proposal is blocked if a law of background work refuses it, failed if anything else does. It stays
open if only time or a later call is needed: an action raises `TooEarly` for what is too young, the
store LimitError for what is beyond the limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from doxa.base.errors import ConflictError, ConstraintError, DoxaError, LimitError, RoleError
from doxa.base.ids import NodeId
from doxa.belief.graph import parse_target, require
from doxa.belief.removal.retiring import set_deprecated
from doxa.belief.writes import check_link_type, link_end
from doxa.jobs.proposals import (
    JobProposal,
    ProposalState,
    decide,
    read_proposal,
    require_proposal,
    wait,
)
from doxa.jobs.runs import JobRun, open_run
from doxa.store import Identity, Node, Reader, Store, Transaction

Action = Callable[[Transaction, Mapping[str, Any]], None]
ActionApart = Callable[[Mapping[str, Any]], str]  # returns what it did, in words


class TooEarly(ConstraintError):
    """What a proposal would change is only too young: time lifts it, and the proposal waits."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a proposal: its state, the change that it made, and why not. It is open if it
    waits for a later call."""

    proposal: str
    state: ProposalState
    change: int | None = None
    said: str = ""


def apply(
    store: Store,
    identity: Identity,
    proposals: Iterable[str],
    *,
    actions: Mapping[str, Action] | None = None,
    apart: Mapping[str, ActionApart] | None = None,
    run: str = "",
) -> list[Applied]:
    """Apply proposals by their addresses, in the name and with the rights of `identity`.

    It is done in the runs that made them, or in `run`, which goes on. The limits of a run that has
    ended count for each call from zero; what is beyond them stays open, for a later call. Raises
    ConflictError before anything is applied if one of them was rejected.
    """
    known = ACTIONS | dict(actions or {})
    given = list(proposals)
    with store.read() as reader:
        found = [read_proposal(reader, _not_rejected(reader, kref)) for kref in given]
    runs = {one: open_run(store, one, identity=identity) for one in _runs_of(found, run)}
    for one in runs.values():
        one.count_from_here()
    return [
        _apply_one(store, runs.get(run or proposal.run), kref, known, apart or {})
        for kref, proposal in zip(given, found, strict=True)
    ]


def _runs_of(proposals: Iterable[JobProposal], run: str) -> list[str]:
    pending = (run or one.run for one in proposals if one.state != "applied")
    return list(dict.fromkeys(pending))


def _not_rejected(reader: Reader, kref: str) -> Node:
    node = require_proposal(reader, kref)
    if node.props["state"] != "rejected":
        return node
    said = node.props.get("said") or "no reason was given"
    raise ConflictError(
        f"{kref} was rejected by {node.props.get('decided_by')!s}: {said!s}.",
        next_step="If it is right after all, make the change yourself.",
        kref=kref,
    )


def _apply_one(
    store: Store,
    run: JobRun | None,
    kref: str,
    actions: Mapping[str, Action],
    apart: Mapping[str, ActionApart],
) -> Applied:
    with store.read() as reader:
        proposal = read_proposal(reader, _not_rejected(reader, kref))
    if run is None or proposal.state == "applied":
        return Applied(kref, "applied", said="it was applied before")
    do = str(proposal.action.get("do", ""))
    said = ""
    try:
        act = actions.get(do)
        if do in apart:
            said = apart[do](proposal.action)
        elif act is None:
            raise ConflictError(
                "It has no action: a person acts on it.", next_step="Reject it when it is done."
            )
        with run.write(f"apply.{proposal.kind}") as tx:
            node = _not_rejected(tx, kref)
            if act is not None and do not in apart:
                act(tx, proposal.action)
            decide(tx, node, "applied", said, run=run.kref)
        receipt = tx.receipt_made
        return Applied(kref, "applied", receipt.tx if receipt else None, said)
    except (TooEarly, LimitError) as error:
        if (proposal.state, proposal.said) != ("open", error.message):
            with run.write(f"apply.{proposal.kind}", counted=False) as tx:
                wait(tx, _not_rejected(tx, kref), error.message)
        return Applied(kref, "open", said=error.message)
    except DoxaError as error:
        lawful = isinstance(error, (RoleError, ConstraintError))
        state: ProposalState = "blocked" if lawful else "failed"
        with run.write(f"apply.{proposal.kind}") as tx:
            decide(tx, _not_rejected(tx, kref), state, error.message, run=run.kref)
        return Applied(kref, state, said=error.message)


def reject(store: Store, identity: Identity, kref: str, why: str = "") -> Applied:
    """Decide against a proposal. Raises ConflictError if it was applied."""
    with store.write(identity, op="reject") as tx:
        node = require_proposal(tx, kref)
        if node.props["state"] == "applied":
            raise ConflictError(
                f"{kref} was applied.", next_step="Undo that change, or the run.", kref=kref
            )
        decide(tx, node, "rejected", why)
    return Applied(kref, "rejected", said=why)


def _retire(tx: Transaction, action: Mapping[str, Any]) -> None:
    set_deprecated(tx, require(tx, parse_target(action["kref"]).item()), True)


def _relate(tx: Transaction, action: Mapping[str, Any]) -> None:
    src: NodeId = link_end(tx, action["from"]).id
    dst = link_end(tx, action["to"]).id
    tx.create_edge(
        check_link_type(action["edge"]), src, dst=dst, props={"why": str(action.get("why", ""))}
    )


ACTIONS: dict[str, Action] = {"retire": _retire, "relate": _relate}
