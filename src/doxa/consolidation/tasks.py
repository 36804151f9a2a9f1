"""What sessions left open: actions, commitments and questions, as they are believed now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from doxa.base.errors import InputError
from doxa.belief.graph import current_of
from doxa.consolidation.units import SPACE
from doxa.store import Node, Reader

KINDS = ("action", "commitment", "question")
STATES = ("open", "done", "cancelled")


@dataclass(frozen=True, slots=True)
class Task:
    """An action, commitment or open question: what, who is to do it (of a question, who asked), the
    day by which, in ISO 8601, and the addresses of the turns that say it."""

    kref: str
    kind: str
    text: str
    who: str
    due: str
    state: str
    thread: str
    sources: tuple[str, ...]


def list_tasks(
    reader: Reader,
    project: str,
    *,
    kind: str = "",
    who: str = "",
    state: str = "open",
    before: int | None = None,
    limit: int = 100,
) -> list[Task]:
    """Return tasks of a project: first those with a day, the earliest first."""
    if kind not in ("", *KINDS) or state not in ("", *STATES):
        raise InputError(
            f"{(kind if kind not in ('', *KINDS) else state)[:40]!r} is not a kind or state of a"
            " task.",
            next_step=f"Kinds are {', '.join(KINDS)}; states {', '.join(STATES)}.",
            field="kind" if kind not in ("", *KINDS) else "state",
        )
    prefix = f"kref://{project}/{SPACE}/"
    rows = reader.rows(
        "SELECT n.id FROM node n WHERE n.kref >= ? AND n.kref < ? AND n.props ->> '$.kind' IN"
        " ('action', 'commitment', 'question') AND n.props ->> '$.name' IS NOT NULL",
        (prefix, prefix[:-1] + "0"),
    )
    found = []
    for item in reader.nodes([row[0] for row in rows]):
        held = None if item.props.get("deprecated") else current_of(reader, item.id)
        if held is None:
            continue
        task = _task(reader, item, held)
        due_ns = held.props.get("due_ns")
        late = isinstance(due_ns, int) and before is not None and due_ns < before
        if (
            kind in ("", task.kind)
            and state in ("", task.state)
            and who.casefold() in ("", task.who.casefold())
            and (before is None or late)
        ):
            found.append((not task.due, task.due, item.id, task))
    return [task for *_, task in sorted(found)[:limit]]


def _task(reader: Reader, item: Node, held: Node) -> Task:
    props: dict[str, Any] = dict(held.props)
    grounds = reader.nodes([edge.dst for edge in reader.edges_out(held.id, "DERIVED_FROM")])
    return Task(
        str(item.props["kref"]),
        str(item.props["kind"]),
        props["summary"],
        str(props.get("who") or props.get("by") or ""),
        str(props.get("due") or ""),
        str(props.get("state") or "open"),
        str(props.get("thread") or ""),
        tuple(str(node.props["kref"]) for node in grounds),
    )
