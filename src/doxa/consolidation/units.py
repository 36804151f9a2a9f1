"""What is consolidated at a time: a part of a session, with its turns as sources of now.

Turns of a thread that name no session are taken by their day. A session of more than
`CONSOLIDATED_TURNS_ITEMS_MAX` turns is several parts, counted from its beginning, so that a part
that is full stays what it is while the session grows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from doxa.base.clock import format_time
from doxa.base.errors import NotFoundError
from doxa.base.ids import NodeId
from doxa.base.limits import CONSOLIDATED_TURNS_ITEMS_MAX
from doxa.belief import EXCHANGE_KIND, Kref, name_from, parse_kref
from doxa.belief.background.sources import Sources
from doxa.consolidation.transcript import SourceTurn, Transcript
from doxa.store import Node, Reader

SPACE = "consolidated"
SUMMARIZES = "SUMMARIZES"  # from a summary to what it sums up
_NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a session: which turns it has, by node, in their order."""

    project: str
    thread: str  # address
    session: str
    part: int
    turns: tuple[NodeId, ...]

    @property
    def base(self) -> str:
        """The beginning of the names of all that is made of its thread."""
        return base_of(self.thread)

    @property
    def kref(self) -> Kref:
        """The address of its summary."""
        name = f"{self.base}-session-{_named(self.session)}-{self.part}"
        return Kref(self.project, (SPACE,), name, "summary")


def base_of(thread: str) -> str:
    """Return the beginning of the names of all that is made of a thread."""
    return _named(parse_kref(thread).name, of=thread)


def _named(text: str, of: str = "") -> str:
    digest = blake2b((of or text).encode("utf-8", "replace"), digest_size=4).hexdigest()
    return "-".join(filter(None, (name_from(text)[:_NAME_CHARS].strip("-"), digest)))


def threads_of(reader: Reader, project: str) -> list[str]:
    """Return the addresses of the threads of a project, in their order."""
    rows = reader.rows(
        "SELECT n.kref FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Thread' AND"
        " n.props ->> '$.project' = ? AND n.kref IS NOT NULL ORDER BY n.id",
        (project,),
    )
    return [str(kref) for (kref,) in rows]


def find_thread(reader: Reader, project: str, target: str) -> str | None:
    """Return the address of a thread by its address or its name; None if there is none."""
    if "://" in target:
        kref = str(parse_kref(target).item())
        node = reader.node_by_kref(kref)
        if node is None or "Thread" not in node.labels:
            raise NotFoundError(
                f"There is no thread at {kref}.",
                next_step="List threads with contents.",
                kref=kref,
            )
        return kref
    rows = reader.rows(
        "SELECT n.kref FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Thread' AND"
        " n.props ->> '$.project' = ? AND n.props ->> '$.name' = ? ORDER BY n.id LIMIT 1",
        (project, target),
    )
    return str(rows[0][0]) if rows else None


def units_of(reader: Reader, thread: str, *, session: str = "") -> Iterator[Unit]:
    """Yield the units of a thread in the order of their time; of one session only if it is
    named."""
    node = reader.node_by_kref(thread)
    if node is None:
        return
    held: dict[str, list[NodeId]] = {}
    for identity, name, time in reader.rows(_TURNS, (node.id,)):
        named = name or format_time(time)[:10]
        if session in ("", named):
            held.setdefault(named, []).append(NodeId(identity))
    project = parse_kref(thread).project
    most = CONSOLIDATED_TURNS_ITEMS_MAX
    for named, turns in held.items():
        for part, first in enumerate(range(0, len(turns), most), start=1):
            yield Unit(project, thread, named, part, tuple(turns[first : first + most]))


_TURNS = (
    "SELECT n.id, n.props ->> '$.session', n.props ->> '$.time' FROM edge e JOIN node n ON n.id ="
    " e.dst WHERE e.src = ? AND e.type = 'HAS_EXCHANGE' ORDER BY n.props ->> '$.time', n.id"
)


def transcript_of(reader: Reader, unit: Unit) -> Transcript:
    """Return the turns of a unit that are sources now; the others are counted."""
    nodes = list(Sources(reader).eligible(unit.turns))
    turns = tuple(map(_turn, nodes))
    left_out = len(unit.turns) - len(turns)
    return Transcript(unit.project, unit.thread, unit.session, turns, left_out)


def _turn(node: Node) -> SourceTurn:
    kref = parse_kref(str(node.props["kref"]))
    assert kref.kind == EXCHANGE_KIND
    time = node.props.get("time")
    return SourceTurn(
        kref.name,
        str(node.props.get("speaker", "")),
        str(node.props.get("role", "")),
        str(node.props.get("text", "")),
        time if isinstance(time, int) else 0,
        str(kref),
        str(node.props.get("session", "")),
    )
