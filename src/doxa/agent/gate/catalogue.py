"""Changes of what the catalogue of a memory holds for the runtime: modes, roots and policies.

plan      the entries as they are and as a change would leave them, found by making the change
          in a transaction that is rolled back
apply     only the plan with this id, in one transaction with its receipt, which holds the
          entries before and after
rollback  the entries before, only if they still are what the change left
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from doxa.agent.gate.changes import ChangePlan, require_change
from doxa.agent.gate.types import CHANGE
from doxa.agent.records.records import move_record, write_record
from doxa.agent.records.types import Record
from doxa.base.errors import ConflictError, InputError
from doxa.base.values import canonical
from doxa.store import Identity, Reader, Store, Transaction

# surface -> what the names of its entries begin with
SURFACES: Mapping[str, str] = {"modes": "claims:", "policies": "policy:"}
Make = Callable[[Transaction], None]


class _Planned(Exception):
    """Ends the transaction of a plan: nothing of it is kept."""


def plan_entries(store: Store, identity: Identity, surface: str, make: Make) -> ChangePlan:
    """Return what a change would do to the entries of a surface. Nothing is written."""
    found: list[ChangePlan] = []
    try:
        with store.write(identity, op="operator.plan") as tx, store.joined(tx):
            found.append(_made(tx, surface, make)[0])
            raise _Planned
    except _Planned:
        return found[0]


def apply_entries(
    store: Store, identity: Identity, *, project: str, surface: str, make: Make, plan: str
) -> Record:
    """Apply the plan with this id, and return its receipt. Raises ConflictError if the entries or
    the change are others than the plan's."""
    with store.write(identity, op="operator.apply") as tx, store.joined(tx):
        made, before, after = _made(tx, surface, make)
        if made.id != plan:
            raise ConflictError(
                f"The plan {plan[:40]} is not that of this change: what holds or what was asked"
                " differs.",
                next_step="Plan it again, and read the diff.",
            )
        if made.is_noop:
            raise InputError("That holds already.", next_step="There is nothing to apply.")
        data = {
            "after": made.after,
            "before": made.before,
            "entries_after": after,
            "entries_before": before,
            "path": made.path,
            "plan": plan,
            "surface": surface,
        }
        write_record(
            tx,
            project=project,
            agent=identity.actor,
            kind=CHANGE,
            name=f"{tx.now:020d}-{plan}",
            state="applied",
            text=made.diff,
            data=data,
        )
        kref = f"kref://{project}/agents/{identity.actor}/{CHANGE}/{tx.now:020d}-{plan}.record"
    return require_change(store, kref)


def roll_back_entries(store: Store, identity: Identity, kref: str) -> Record:
    """Give a surface back the entries of before a change, and return the receipt."""
    change = require_change(store, kref)
    surface = str(change.data["surface"])
    with store.write(identity, op="operator.rollback") as tx:
        held = _entries(tx, surface)
        if change.state != "applied" or _hash(held) != change.data["after"]:
            raise ConflictError(
                f"{kref} is {change.state}, or {surface} changed since.",
                next_step="Plan a change of its own from what holds now.",
                kref=kref,
            )
        before: Mapping[str, Any] = change.data["entries_before"]
        for name in sorted({*held, *before}):
            if held.get(name) != before.get(name):
                tx.set_catalogue(name, before.get(name))
        return move_record(tx, kref, "rolled_back", expected=("applied",))


def _made(
    tx: Transaction, surface: str, make: Make
) -> tuple[ChangePlan, dict[str, Any], dict[str, Any]]:
    before = _entries(tx, surface)
    make(tx)
    after = _entries(tx, surface)
    old, new = (
        [f"{name} = {canonical(one).decode()}\n" for name, one in sorted(entries.items())]
        for entries in (before, after)
    )
    hashes = _hash(before), _hash(after)
    said = "\0".join((surface, *hashes))
    plan = ChangePlan(
        hashlib.sha256(said.encode()).hexdigest()[:16],
        surface,
        f"the catalogue: {SURFACES[surface]}",
        *hashes,
        "".join(difflib.unified_diff(old, new, "before", "after", n=0)),
        before == after,
    )
    return plan, before, after


def _entries(reader: Reader, surface: str) -> dict[str, Any]:
    return reader.catalogue_all(SURFACES[surface])


def _hash(entries: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(dict(entries))).hexdigest()
