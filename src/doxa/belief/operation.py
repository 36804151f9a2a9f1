"""One belief operation while it is written, and the Change that it returns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from doxa.belief.removal.retiring import keep_ranks
from doxa.belief.support import propagate_support
from doxa.belief.types import Action, Change, Fact, Retracted, SupportLost
from doxa.belief.verified import keep_verified
from doxa.store import Transaction


class Operation:
    """One operation while it is written: its transaction and, when it has ended, whether it wrote
    and what it did to support."""

    def __init__(self, tx: Transaction, *, dry: bool) -> None:
        self.tx, self.dry = tx, dry
        self._begun = tx.entries.seq
        tx.owe_dirty()  # what a query or another caller wrote in this transaction before
        self.settled: tuple[tuple[SupportLost, ...], tuple[SupportLost, ...]] = ((), ())
        self.wrote = False

    def end(self) -> None:
        keep_verified(self.tx, self.tx.dirty_nodes)
        keep_ranks(self.tx, self.tx.dirty_nodes)
        self.settled = propagate_support(self.tx)
        self.wrote = self.tx.entries.seq > self._begun


class DryRunRollback(Exception):
    """Ends a dry run: nothing of it is kept."""


def with_receipt(change: Change, work: Operation) -> Change:
    """Complete a Change made inside an operation, once that has ended, with its receipt, and what
    became of support."""
    fields: dict[str, Any] = {}
    fallen, risen = work.settled
    if fallen or risen:
        fields["unsupported"] = (*change.unsupported, *fallen)
        fields["supported"] = (*change.supported, *risen)
    if work.dry:
        fields |= {"change": None, "reason": _dry(change.reason)}
    elif change.change is not None:
        receipt = work.tx.receipt_made
        assert receipt is not None, "a change was written, so there is a receipt"
        fields["receipt"] = receipt.hash.hex()
    return replace(change, **fields) if fields else change


def _dry(reason: str) -> str:
    return f"{reason}. Dry run: nothing was written" if reason else "dry run: nothing was written"


def change_of(
    work: Operation,
    action: Action,
    *,
    kref: str,
    previous: str = "",
    gained: tuple[Fact, ...] = (),
    lost: tuple[Fact, ...] = (),
    reason: str = "",
    losses: tuple[Retracted, ...] = (),
    conflict: str = "",
) -> Change:
    receipt = work.tx.receipt_made
    if work.dry:
        reason, receipt = _dry(reason), None
    return Change(
        action,
        kref,
        receipt.tx if receipt else None,
        work.tx.now,
        receipt.hash.hex() if receipt else "",
        previous,
        gained,
        lost,
        reason,
        losses,
        conflict,
        *work.settled,
    )
