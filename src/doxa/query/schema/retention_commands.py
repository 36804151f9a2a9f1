"""CREATE and DROP of retention policies. `store/retention/policies.py` documents the entry."""

from __future__ import annotations

from typing import Any

from doxa.base.limits import LABEL_CHARS_MAX
from doxa.cypher import tree as t
from doxa.query.core.errors import fail, shown
from doxa.query.schema.policy_commands import Evaluate
from doxa.store import Transaction
from doxa.store.retention.policies import PREFIX

RETENTION_COMMANDS = (t.CreateRetention, t.DropRetention)
_SECOND = 1_000_000_000


def run_retention(command: t.Clause, tx: Transaction, evaluate: Evaluate) -> dict[str, int]:
    """Execute one command; returns counters."""
    assert isinstance(command, RETENTION_COMMANDS)
    name = _text(command.name, evaluate, "A name")
    held = tx.catalogue(PREFIX + name)
    if isinstance(command, t.DropRetention):
        if held is None and not command.if_present:
            _refuse(f"Unknown retention policy {name!r}.", "NotFound")
        if held is None:
            return {}
        tx.set_catalogue(PREFIX + name, None)
        return {"policies_removed": 1}
    if held is not None and command.if_absent:
        return {}
    if held is not None and not command.replace:
        _refuse(f"There is a retention policy {name!r} already.", "AlreadyExists")
    value: dict[str, Any] = {
        "edge": command.target.edge,
        "names": sorted(set(command.target.names)),
        "project": None
        if command.project is None
        else _text(command.project, evaluate, "A project"),
        **dict.fromkeys(("past", "log", "accesses")),
        **{part: seconds * _SECOND for part, seconds in command.spans},
    }
    if value == held:
        return {}
    tx.set_catalogue(PREFIX + name, value)
    return {"policies_added": 1} if held is None else {"policies_changed": 1}


def _text(value: Any, evaluate: Evaluate, what: str) -> str:
    found = evaluate(value) if isinstance(value, t.ParameterRef) else value
    if not isinstance(found, str) or not found.strip() or len(found) > LABEL_CHARS_MAX:
        fail(
            f"{what} is text of 1 to {LABEL_CHARS_MAX} characters, not {shown(found)}.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    return found


def _refuse(message: str, detail: str) -> None:
    hint = (
        "Choose another name, or write CREATE OR REPLACE or IF NOT EXISTS."
        if detail == "AlreadyExists"
        else "SHOW RETENTION POLICIES lists them."
    )
    fail(message, kind="ArgumentError", detail=detail, hint=hint)
