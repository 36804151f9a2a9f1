"""The types of record that continuity keeps.

session    one conversation: its thread, its mode; notes say how far it was handed off
thread     what goes on over sessions; notes name its last handoff and count compactions
handoff    where a session stood, without words of it. Handed over once; its thread keeps it
root       a folder whose files an agent may read; an operator declares it
knowledge  a section of a file in such a folder
"""

from __future__ import annotations

from typing import Any

from doxa.agent.continuity.modes import modes
from doxa.agent.records.records import record_kref
from doxa.agent.records.types import RecordType
from doxa.base.errors import ConstraintError
from doxa.base.values import decode
from doxa.store import Node, Transaction

SESSION, THREAD, HANDOFF, ROOT, KNOWLEDGE = "session", "thread", "handoff", "root", "knowledge"
TAKEN_BY = "taken_by"


def _data(node: Node) -> Any:
    return decode(str(node.props["data"]))


def _notes(node: Node | None) -> dict[str, Any]:
    return decode(str(node.props.get("notes", "{}"))) if node is not None else {}


def _refuse(node: Node, text: str, next_step: str) -> ConstraintError:
    kref = str(node.props["kref"])
    return ConstraintError(f"{kref} {text}", next_step=next_step, kref=kref)


def _check_session(tx: Transaction, before: Node | None, node: Node) -> None:
    if before is None and _data(node).get("mode") not in modes():
        raise _refuse(node, "has no known mode.", f"Use one of {', '.join(modes())}.")


def _check_handoff(tx: Transaction, before: Node | None, node: Node) -> None:
    """A handoff is of a thread that is there. Who takes it is noted in the transaction that takes
    it, and nothing of it changes after that."""
    notes = _notes(node)
    taken = notes.get(TAKEN_BY)
    if before is None:
        said = _data(node)
        if said.get("mode") not in modes():
            raise _refuse(node, "has no known mode.", f"Use one of {', '.join(modes())}.")
        thread = tx.node_by_kref(str(said.get("thread", "")))
        if thread is None or "Thread" not in thread.labels:
            raise _refuse(node, "is of no stored thread.", "Store what was said first.")
        if taken:
            raise _refuse(node, "is new and taken already.", "Write it, then take it.")
        return
    if before.props["state"] != "ready" and notes != _notes(before):
        raise _refuse(node, f"is {before.props['state']} and stays as it is.", "Write another one.")
    if (node.props["state"] == "consumed") != bool(taken):
        raise _refuse(node, "is consumed by exactly one session.", "Take it with handoff_take.")


def _check_knowledge(tx: Transaction, before: Node | None, node: Node) -> None:
    """What is read from a file lies in a folder that an operator declared for the agent."""
    if before is not None and before.props["state"] == node.props["state"]:
        return
    if node.props["state"] != "current":
        return
    name = str(_data(node).get("root", ""))
    root = tx.node_by_kref(
        record_kref(str(node.props["project"]), str(node.props["agent"]), ROOT, name)
    )
    if root is None or root.props["state"] != "declared":
        raise _refuse(
            node,
            "is from a folder that is not declared.",
            "Ask the operator to declare it with knowledge_root.",
        )


TYPES = (
    RecordType(
        SESSION,
        states={"open": "agent", "ended": "agent"},
        moves={"open": {"ended": "agent"}, "ended": {"open": "agent"}},
        noted_by="agent",
        check=_check_session,
    ),
    RecordType(THREAD, states={"kept": "agent"}, noted_by="agent"),
    RecordType(
        HANDOFF,
        states={"ready": "agent"},
        moves={
            "ready": {"consumed": "agent", "superseded": "agent", "quarantined": "agent"},
            "quarantined": {"ready": "operator"},
        },
        noted_by="agent",
        check=_check_handoff,
    ),
    RecordType(
        ROOT,
        states={"declared": "operator"},
        moves={"declared": {"withdrawn": "operator"}, "withdrawn": {"declared": "operator"}},
    ),
    RecordType(
        KNOWLEDGE,
        states={"current": "agent"},
        moves={
            "current": {"superseded": "agent", "gone": "agent"},
            "superseded": {"current": "agent"},
            "gone": {"current": "agent"},
        },
        noted_by="agent",
        check=_check_knowledge,
    ),
)
