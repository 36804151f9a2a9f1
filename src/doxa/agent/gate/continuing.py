"""Continuations after a restart as records, so that their budgets outlive the process: the state is
the phase, the notes are the rest, and the commit asks that each change is one event of the state
machine (restart.py).

    an agent has one continuation that is not done; another one, or another try after a stop, takes
    an operator, who closes the one there is
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from doxa.agent.gate.restart import Phase, Restart, advance, begin_restart
from doxa.agent.records.records import list_records, move_record, note_record, write_record
from doxa.agent.records.types import Record, RecordType
from doxa.base.errors import ConflictError, ConstraintError, InputError, NotFoundError
from doxa.base.ids import is_below_operator
from doxa.base.limits import NOTE_CHARS_MAX
from doxa.base.values import decode
from doxa.redaction.redact import redact, refuse_secret
from doxa.store import Node, Reader, Transaction

RESTART = "restart"
_RUNNING: tuple[Phase, ...] = ("reach", "identify", "continue")
_OPEN = (*_RUNNING, "stopped")  # an agent begins no other one


@dataclass(frozen=True, slots=True)
class RestartInfo:
    """Where a continuation stands: its phase, the calls that were made and that the phase may have,
    whether another call and a write are allowed, and why it ended. `key` is that of before the
    restart, `found` the one after it."""

    kref: str
    agent: str
    phase: str
    key: str
    found: str
    declared: int
    used: int
    budget: int
    may_call: bool
    may_write: bool
    reason: str


def begin(tx: Transaction, *, project: str, agent: str, key: str, declared: int) -> Record:
    """Begin a continuation; an operator's closes the one before. Raises InputError for a key that
    looks like a secret: it would not be kept, so that no session could be compared with it."""
    held = begin_restart(refuse_secret(key, field="key"), declared)
    if not is_below_operator(tx.rights):
        for one in _open_ones(tx, project, agent):
            move_record(tx, one.kref, "closed", said="another one was begun")
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return write_record(
        tx,
        project=project,
        agent=agent,
        kind=RESTART,
        name=f"{tx.now:020d}-{digest}",
        state=held.phase,
        data={"key": key, "declared": declared},
        notes=_notes_of(held),
    )


def step(tx: Transaction, *, project: str, agent: str, event: Mapping[str, Any]) -> Record:
    """Enter a call that was made. Raises NotFoundError without a continuation, ConflictError for
    one that is stopped."""
    found = _open_ones(tx, project, agent)
    if not found:
        raise NotFoundError(
            f"{agent} has no continuation.", next_step="Begin one with restart_begin."
        )
    held = read_restart(found[0])
    if held.phase == "stopped":
        raise ConflictError(
            f"{found[0].kref} is stopped: {held.reason}.",
            next_step="Hand over to the operator, who may begin another one.",
            kref=found[0].kref,
        )
    if event["outcome"] not in ("succeeded", "failed"):
        raise InputError(
            f"{str(event['outcome'])[:40]!r} is not an outcome.",
            next_step="Use succeeded or failed.",
            field="outcome",
        )
    # as it will be kept, since the commit enters what was kept
    kept = {
        name: redact(value).text if isinstance(value, str) else value
        for name, value in event.items()
    }
    after = _advanced(held, kept)
    if after.phase != held.phase:
        move_record(tx, found[0].kref, after.phase, expected=(held.phase,), said=after.reason)
    return note_record(tx, found[0].kref, {**_notes_of(after), "event": kept})


def newest(reader: Reader, *, project: str, agent: str) -> Record | None:
    """Return the continuation of an agent that was begun last, or None."""
    found = list_records(reader, project=project, agent=agent, kind=RESTART, newest=True, limit=1)
    return found[0] if found else None


def read_restart(record: Record) -> Restart:
    """Return the state machine as a record holds it."""
    notes = record.notes
    return Restart(
        str(record.data["key"]),
        int(record.data["declared"]),
        _phase(record.state),
        int(notes["used"]),
        str(notes["found"]),
        frozenset((str(call), str(failure)) for call, failure in notes["failures"]),
        str(notes["reason"]),
    )


def restart_info(record: Record) -> RestartInfo:
    """Return what there is to know of a continuation."""
    held = read_restart(record)
    return RestartInfo(
        record.kref,
        record.agent,
        record.state,
        held.key,
        held.found,
        held.declared,
        held.used,
        held.budget,
        held.may_call,
        held.may_write,
        held.reason or record.said,
    )


def _phase(state: str) -> Phase:
    return next((one for one in (*_RUNNING, "done") if one == state), "stopped")


def _open_ones(reader: Reader, project: str, agent: str) -> list[Record]:
    return list_records(
        reader, project=project, agent=agent, kind=RESTART, states=_OPEN, newest=True, limit=10
    )


def _notes_of(held: Restart) -> dict[str, Any]:
    return {
        "used": held.used,
        "found": held.found,
        "failures": sorted(map(list, held.failures)),
        "reason": held.reason,
    }


def _advanced(held: Restart, event: Mapping[str, Any]) -> Restart:
    return advance(
        held,
        str(event["call"]),
        event["outcome"],
        failure=str(event["failure"]),
        key=str(event["key"]),
        last=bool(event["last"]),
    )


def _check(tx: Transaction, before: Node | None, node: Node) -> None:
    """Check that a continuation is new and the only one, or is one event further than before."""
    kref = str(node.props["kref"])
    notes: Any = decode(str(node.props.get("notes", "{}")))
    data: Any = decode(str(node.props["data"]))
    if before is None:
        project, agent = str(node.props["project"]), str(node.props["agent"])
        if any(one.kref != kref for one in _open_ones(tx, project, agent)):
            raise ConstraintError(
                f"{agent} has a continuation that is not done.",
                next_step="Go on with it, or hand over to the operator.",
                kref=kref,
            )
        if set(data) != {"key", "declared"} or notes != _notes_of(
            begin_restart(str(data["key"]), int(data["declared"]))
        ):
            raise _refused(kref, "does not begin at its beginning")
        return
    if node.props["state"] == "closed":
        return
    if len(str(node.props.get("notes", ""))) > NOTE_CHARS_MAX:
        raise _refused(kref, "says too much of its calls")
    was: Any = decode(str(before.props.get("notes", "{}")))
    event = notes.pop("event", None)
    names = {"call", "outcome", "failure", "key", "last"}
    if not isinstance(event, dict) or set(event) != names:
        raise _refused(kref, "goes on without a call")
    failures = frozenset((str(call), str(failure)) for call, failure in was["failures"])
    held = Restart(
        str(data["key"]),
        int(data["declared"]),
        _phase(str(before.props["state"])),
        int(was["used"]),
        str(was["found"]),
        failures,
        str(was["reason"]),
    )
    after = _advanced(held, event)
    if (after.phase, _notes_of(after)) != (node.props["state"], notes):
        raise _refused(kref, "is not where its calls lead to")


def _refused(kref: str, what: str) -> ConstraintError:
    return ConstraintError(
        f"The continuation {kref} {what}.",
        next_step="Enter each call with restart_step.",
        kref=kref,
    )


RESTARTS = RecordType(
    RESTART,
    states={"reach": "agent"},
    moves={
        "reach": {"identify": "agent", "stopped": "agent", "closed": "operator"},
        "identify": {
            "continue": "agent",
            "done": "agent",
            "stopped": "agent",
            "closed": "operator",
        },
        "continue": {"done": "agent", "stopped": "agent", "closed": "operator"},
        "stopped": {"closed": "operator"},
    },
    noted_by="agent",
    check=_check,
)
