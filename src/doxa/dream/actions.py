"""What applying a finding does. Each is guarded again: much may have changed since it was found.

{"do": "merge", "keep": a, "retire": b}      b is retired, and a SUPERSEDES it
{"do": "retire", "kref": a}
{"do": "contest", "kref": a, "held": [b]}    a is not believed until its conflict is decided
{"do": "relate", "from": a, "edge": TYPE, "to": b, "why": text}
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from doxa.base.errors import ConflictError, ConstraintError
from doxa.belief.conflicts import write_conflict
from doxa.belief.graph import CURRENT, item_of, parse_target, resolve
from doxa.belief.removal.retiring import may_replace, retire_for, set_deprecated
from doxa.belief.writes import set_current
from doxa.dream.guards import is_only_young, why_kept
from doxa.jobs.applying import ACTIONS, Action, TooEarly
from doxa.store import Node, Transaction


def actions(*, age_days: float) -> dict[str, Action]:
    """Return the actions of a dream, under its guards."""
    return {
        "relate": ACTIONS["relate"],
        "merge": partial(_merge, age_days),
        "retire": partial(_retire, age_days),
        "contest": partial(_contest, age_days),
    }


def _current(tx: Transaction, kref: str) -> Node:
    """Return the revision that the finding was about, which must still be believed."""
    node = resolve(tx, parse_target(kref))
    if not tx.edges_in(node.id, CURRENT):
        raise ConflictError(
            f"{kref} is not current any more.", next_step="Let the next run look again.", kref=kref
        )
    return node


def _endable(tx: Transaction, kref: str, age_days: float) -> Node:
    node = _current(tx, kref)
    why = why_kept(tx, node, age_days=age_days)
    if why:
        early = is_only_young(why)
        raise (TooEarly if early else ConstraintError)(
            f"{kref} is kept: {why}.", next_step="Decide it by hand, or wait.", kref=kref
        )
    return node


def _merge(age_days: float, tx: Transaction, action: Mapping[str, Any]) -> None:
    kept, gone = _current(tx, action["keep"]), _endable(tx, action["retire"], age_days)
    if not may_replace(kept.props.get("trust"), kept.props, gone):
        raise ConstraintError(
            f"{action['keep']} is trusted less than {action['retire']}.",
            next_step="Merge them the other way around.",
        )
    retire_for(tx, gone.id, by=kept.id)


def _retire(age_days: float, tx: Transaction, action: Mapping[str, Any]) -> None:
    set_deprecated(tx, item_of(tx, _endable(tx, action["kref"], age_days).id), True)


def _contest(age_days: float, tx: Transaction, action: Mapping[str, Any]) -> None:
    challenger = _endable(tx, action["kref"], age_days)
    held = [_current(tx, kref) for kref in action["held"]]
    set_current(tx, item_of(tx, challenger.id).id, None)
    write_conflict(tx, parse_target(str(challenger.props["kref"])).item(), challenger, held)
