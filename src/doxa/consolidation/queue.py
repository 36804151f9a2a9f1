"""Which sessions await consolidation: durable, so that no failure loses one.

    (:ConsolidationTask {project, thread, session, part, producer, state, attempts, queued_ns,
                         next_ns, error})

A task is written before a producer is asked, and removed after the structure is stored. A full file
refuses it. What fails or is killed in between stays, with what went wrong; it is tried again after
pauses that double from a minute to a day. state: queued | failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from doxa.base.limits import CONSOLIDATED_RETRY_S_MAX, CONSOLIDATED_RETRY_S_MIN
from doxa.belief.removal.erasure import CONSOLIDATION_TASK
from doxa.consolidation.units import Unit, units_of
from doxa.store import Identity, Node, Reader, Store

_ERROR_CHARS_MAX = 500
_ACTOR = Identity("job:consolidation", "system")
_SECOND_NS = 10**9


@dataclass(frozen=True, slots=True)
class Pending:
    """A session that awaits consolidation. `error` says why the last attempt failed, `due` (in ns)
    when the next one may be made."""

    project: str
    thread: str
    session: str
    part: int
    producer: str
    attempts: int
    queued: int
    due: int
    error: str = ""


def enqueue(store: Store, unit: Unit, producer: str) -> None:
    """Note that a unit awaits consolidation; one that does already keeps its attempts. Raises
    LimitError if the file is full."""
    with store.write(_ACTOR, op="consolidation.queue", counted=True) as tx:
        found = _node(tx, unit)
        if found is None:
            props = {
                "project": unit.project,
                "thread": unit.thread,
                "session": unit.session,
                "part": unit.part,
                "producer": producer,
                "state": "queued",
                "attempts": 0,
                "queued_ns": tx.now,
                "next_ns": tx.now,
            }
            tx.create_node((CONSOLIDATION_TASK,), props)
        elif found.props["producer"] != producer:
            tx.set_node(found.id, found.props | {"producer": producer})


def failed(store: Store, unit: Unit, error: str) -> Pending | None:
    """Note a failed attempt, and when the next one may be made."""
    with store.write(_ACTOR, op="consolidation.failed", counted=True) as tx:
        found = _node(tx, unit)
        if found is None:
            return None
        held: dict[str, Any] = dict(found.props)
        attempts = held["attempts"] + 1
        doubled_s = CONSOLIDATED_RETRY_S_MIN * 2 ** min(attempts - 1, 20)
        pause_s = min(doubled_s, CONSOLIDATED_RETRY_S_MAX)
        tx.set_node(
            found.id,
            held
            | {
                "state": "failed",
                "attempts": attempts,
                "next_ns": tx.now + pause_s * _SECOND_NS,
                "error": error[:_ERROR_CHARS_MAX],
            },
        )
        node = tx.node(found.id)
        assert node is not None
        return _pending(node)


def done(store: Store, unit: Unit) -> None:
    """Remove the task of a unit whose structure is stored."""
    with store.read() as reader:
        if _node(reader, unit) is None:
            return
    with store.write(_ACTOR, op="consolidation.done") as tx:
        found = _node(tx, unit)
        if found is not None:
            tx.delete_node(found.id)


def drop_gone(store: Store, project: str) -> int:
    """Remove the tasks of sessions that are gone, and return how many there were."""
    with store.read() as reader:
        if not _gone(reader, project):
            return 0
    with store.write(_ACTOR, op="consolidation.done") as tx:
        gone = _gone(tx, project)
        for node in gone:
            tx.delete_node(node.id)
    return len(gone)


def _gone(reader: Reader, project: str) -> list[Node]:
    units: dict[str, set[tuple[str, int]]] = {}
    found = []
    for node in reader.labelled(CONSOLIDATION_TASK):
        if node.props.get("project") == project:
            thread = str(node.props["thread"])
            if thread not in units:
                units[thread] = {(one.session, one.part) for one in units_of(reader, thread)}
            if (node.props["session"], node.props["part"]) not in units[thread]:
                found.append(node)
    return found


def pending(reader: Reader, *, project: str | None = None) -> list[Pending]:
    """Return the tasks in the order of their next attempt."""
    found = [
        _pending(node)
        for node in reader.labelled(CONSOLIDATION_TASK)
        if project is None or node.props.get("project") == project
    ]
    return sorted(found, key=lambda one: (one.due, one.queued))


def _node(reader: Reader, unit: Unit) -> Node | None:
    return next(_nodes(reader, unit), None)


def _nodes(reader: Reader, unit: Unit) -> Iterator[Node]:
    key = (unit.thread, unit.session, unit.part)
    for node in reader.labelled(CONSOLIDATION_TASK):
        if tuple(node.props.get(name) for name in ("thread", "session", "part")) == key:
            yield node


def _pending(node: Node) -> Pending:
    held: dict[str, Any] = dict(node.props)
    return Pending(
        held["project"],
        held["thread"],
        held["session"],
        held["part"],
        held["producer"],
        held["attempts"],
        held["queued_ns"],
        held["next_ns"],
        held.get("error", ""),
    )
