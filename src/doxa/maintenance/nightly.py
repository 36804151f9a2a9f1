"""What the night shift does for the file itself: index care, and the check of its backups."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doxa.base.clock import NS
from doxa.base.errors import DoxaError, StoreError
from doxa.base.limits import BACKUP_AGE_DAYS_MAX
from doxa.store import Store, verify_log
from doxa.store.retention.copies import Copy, copies_of

_DAY_NS = 86_400 * NS


def care_for_indexes(store: Store) -> Mapping[str, Any]:
    """Merge the rows of the word index that are new, and finish what an erasure left to scrub.
    Returns how many rows were new and how many are left. Raises RoleError if the store is bound to
    projects, StoreError if an erasure cannot be finished."""
    before = _new_rows(store)
    store.compact()
    left = store.scrub() if store.left_to_scrub() else ""
    if left:
        raise StoreError(f"An erasure is not finished: {left}", next_step="Run doxa doctor.")
    return {"merged": before, "left": _new_rows(store)}


def check_backups(store: Store) -> tuple[Mapping[str, Any], str]:
    """Open the newest backup that doxa wrote, and verify its log. Returns counts, and what a person
    should know, or "". Raises StoreError if the newest one cannot be used, RoleError if the store
    is bound to projects."""
    store.require_whole("check backups")
    now = store.clock.now_ns()
    with store.read() as reader:
        held = [one for one in copies_of(reader._db) if one.kind == "backup"]
    missing = [one for one in held if not Path(one.path).exists()]
    counts: dict[str, Any] = {"backups": len(held), "missing": len(missing)}
    there = [one for one in held if one not in missing]
    if not there:
        said = "none that doxa wrote is at its path" if held else "none was ever made"
        return counts, f"{said}; `doxa backup PATH` writes one"
    newest = max(there, key=lambda one: one.time)
    counts["receipts"] = _verified(newest)
    counts["days"] = days = max(0, now - newest.time) // _DAY_NS
    late = days >= BACKUP_AGE_DAYS_MAX
    return counts, f"the newest one is {days} days old" if late else ""


def _verified(copy: Copy) -> int:
    try:
        with Store(copy.path, read_only=True) as opened:
            return verify_log(opened).receipts
    except (DoxaError, OSError) as error:
        said = error.message if isinstance(error, DoxaError) else str(error)
        raise StoreError(
            f"The newest backup {copy.path} cannot be used: {said}",
            next_step="Keep it, and make another one with doxa backup.",
            path=copy.path,
        ) from error


def _new_rows(store: Store) -> int:
    with store.read() as reader:
        return int(reader.rows("SELECT count(*) FROM main.posting_new")[0][0])
