"""Invariants that hold after every transaction, whichever interface wrote it. Operations maintain
them themselves, so only what a query wrote by hand is checked here.

A retired item has no current revision; what becomes current contradicts nothing and waits for no
decision; a conflict is decided by `resolve`. A new revision retires nothing that is trusted more,
nor, among what rules read from turns, what another speaker stated (removal/retiring.py). Beliefs
that an operator verified are kept (verified.py), and support is settled (support.py). What a run
of a job wrote keeps its laws (background/laws.py), and does not rise by repetition
(background/repetition.py). A record of the runtime changes as its type allows (agent/records).
"""

from __future__ import annotations

from collections.abc import Callable

from doxa.base.errors import ConflictError, ConstraintError
from doxa.belief.background.laws import Promotion, check_run
from doxa.belief.background.repetition import keep_inferred
from doxa.belief.graph import CURRENT, RETIRED_REVISION, status_of
from doxa.belief.removal.retiring import keep_ranks
from doxa.belief.revising import judge_revision
from doxa.belief.support import propagate_support
from doxa.belief.verified import keep_verified
from doxa.store import Node, Transaction

RecordLaw = Callable[[Transaction, Node], None]


def check_before_commit(
    tx: Transaction, promotion: Promotion | None = None, records: RecordLaw | None = None
) -> None:
    """Check what a transaction wrote. The store calls it at the end of each one that touched
    beliefs. `promotion` is asked about what a run of a job concludes, `records` about each record
    of the agent's runtime."""
    dirty = tx.nodes_to_check
    keep_verified(tx, dirty)
    keep_ranks(tx, dirty)
    keep_inferred(tx, dirty)
    for node in tx.nodes(dirty):
        if node.props.get("kref") is None:
            continue
        if "Item" in node.labels:
            _check_item(tx, node)
        elif "Record" in node.labels:
            if records is not None:
                records(tx, node)
        elif "Conflict" in node.labels:
            kref = str(node.props["kref"])
            raise ConstraintError(
                "A conflict is decided by resolve alone.",
                next_step="Call doxa.resolve with its address.",
                kref=kref,
            )
        elif "Revision" in node.labels and tx.edges_in(node.id, CURRENT):
            _check_current(tx, node)
    propagate_support(tx)
    check_run(tx, promotion)


def _check_item(tx: Transaction, item: Node) -> None:
    retired = bool(item.props.get("deprecated"))
    if (retired and tx.edges_out(item.id, CURRENT)) or (
        not retired and item.props.get(RETIRED_REVISION) is not None
    ):
        kref = str(item.props["kref"])
        raise ConstraintError(
            f"{kref} would be retired and believed at once.",
            next_step="Call doxa.deprecate or doxa.restore; they keep both in step.",
            kref=kref,
        )


def _check_current(tx: Transaction, node: Node) -> None:
    kref = str(node.props["kref"])
    if status_of(tx, node) == "contested":
        raise ConflictError(
            f"{kref} waits for a decision.",
            next_step="Decide its conflict with doxa.resolve.",
            kref=kref,
        )
    verdict = judge_revision(tx, node)
    if verdict is not None and verdict.lost:
        beside = verdict.losses()[0].kref
        raise ConflictError(
            f"{kref} would be believed although {beside} contradicts it.",
            next_step="State it with doxa.revise.",
            kref=kref,
        )
