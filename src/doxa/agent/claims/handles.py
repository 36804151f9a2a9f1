"""Source handles: where a claim comes from, and what is there now.

    transcript:SESSION#m3         the third turn of a session; #ID: the turn with this name
    tool:SESSION#m3               the same, of a turn of a tool
    archive:ROOT@2026-05-04#17    line 17 of that day's archive, in a declared folder
    handoff:NAME#L2-L4            lines of a handoff of the agent
    file:ROOT/path/to/file#L2-L4  lines of a file in a declared folder; without #: all of it
    commit:ROOT@SHA#path          a file at a commit of the repository in a declared folder
    kref:PROJECT/notes/a.fact     a belief: what its current revision says, or the one of ?r=2

Resolving reads, and writes nothing. What cannot be read is missing, with the reason in words.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Literal, get_args

from doxa.agent.claims.modes import roots_of
from doxa.agent.claims.reading import Unreadable, read_below, read_object
from doxa.agent.records.records import find_record, record_kref
from doxa.agent.records.types import Record
from doxa.base.errors import DoxaError, InputError
from doxa.base.limits import CLAIM_PASSAGE_CHARS_MAX
from doxa.belief.graph import parse_target, resolve
from doxa.consolidation.transcript import SourceTurn
from doxa.redaction.redact import redact
from doxa.store import Node, Reader

SourceType = Literal["transcript", "archive", "handoff", "file", "tool", "commit", "kref"]
SOURCE_TYPES: tuple[SourceType, ...] = get_args(SourceType)
# How near to what happened a source is, 1 to 5: what was run or recorded, what was said, copies of
# it, and what was made of it. Source: the description of source-addressable memory.
RANKS: dict[str, int] = {
    "tool": 5,
    "commit": 5,
    "file": 4,
    "transcript": 4,
    "archive": 3,
    "kref": 3,
    "handoff": 2,
}
_LINES = re.compile(r"L(\d{1,7})(?:-L?(\d{1,7}))?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_IN_SESSION = (
    "SELECT n.id FROM node n JOIN node_label l ON l.node = n.id AND l.label = 'Exchange' WHERE"
    " n.project = ? AND n.props ->> '$.session' = ? AND coalesce(n.props ->> '$.deprecated', 0) = 0"
    " ORDER BY n.props ->> '$.time', n.id LIMIT 100000"
)


@dataclass(frozen=True, slots=True)
class Handle:
    """A source handle, taken apart: `place` before the #, `part` after it."""

    type: SourceType
    place: str
    part: str = ""

    def __str__(self) -> str:
        return f"{self.type}:{self.place}{'#' * bool(self.part)}{self.part}"


@dataclass(frozen=True, slots=True)
class ResolvedHandle:
    """What a handle leads to now. `problem` says why it leads to nothing; then the rest is empty.
    `kref` is the address of what it is in the graph, "" for what is elsewhere; `hash` is the
    SHA-256 of the passage, in hexadecimal."""

    handle: str
    text: str = ""
    hash: str = ""
    kref: str = ""
    speaker: str = ""
    role: str = ""
    time_ns: int = 0
    problem: str = ""

    @property
    def is_missing(self) -> bool:
        return bool(self.problem)


def parse_handle(text: str) -> Handle:
    """Take a handle apart. Raises InputError."""
    kind, colon, rest = text.partition(":")
    if text.startswith("kref://"):
        kind, rest = "kref", text.removeprefix("kref://")
    known = next((one for one in SOURCE_TYPES if one == kind), None)
    place, _, part = rest.removeprefix("//").partition("#")
    if known is None or not colon or not place or len(text) > 2_000:
        raise InputError(
            f"{text[:200]!r} is not a source handle.",
            next_step=f"Begin with {', '.join(f'{one}:' for one in SOURCE_TYPES)}.",
            field="sources",
        )
    return Handle(known, place, part)


def resolve_handle(reader: Reader, handle: str, *, project: str, agent: str) -> ResolvedHandle:
    """Return what a handle leads to now."""
    found = parse_handle(handle)
    try:
        made = _RESOLVERS[found.type](reader, found, project, agent)
    except Unreadable as error:
        return ResolvedHandle(handle, problem=str(error))
    except DoxaError as error:
        return ResolvedHandle(handle, problem=error.message)
    if not made.text.strip():
        return ResolvedHandle(handle, problem="there is nothing at that place")
    digest = hashlib.sha256(made.text.encode("utf-8", "surrogatepass")).hexdigest()
    shown = redact(made.text[:CLAIM_PASSAGE_CHARS_MAX]).text
    return ResolvedHandle(handle, shown, digest, made.kref, made.speaker, made.role, made.time_ns)


def turns_of_session(reader: Reader, project: str, session: str) -> list[SourceTurn]:
    """Return the turns of a session that people and assistants said, in the order of their
    time."""
    nodes = reader.nodes([row[0] for row in reader.rows(_IN_SESSION, (project, session))])
    return [
        SourceTurn(
            str(node.props["kref"]).rpartition("/")[2].removesuffix(".exchange"),
            str(node.props.get("speaker", "")),
            str(node.props.get("role", "")),
            str(node.props.get("text", "")),
            int(str(node.props.get("time") or 0)),
            session=session,
        )
        for node in nodes
        if node.props.get("role") != "tool"
    ]


def handoff_text(reader: Reader, handoff: Record) -> str:
    """Return a handoff as lines under headings. It holds no words: they are those of its turns."""
    from doxa.agent.continuity.view import view_of_handoff

    if handoff.text or "until_ns" not in handoff.data:
        return handoff.text
    shown = view_of_handoff(reader, handoff, now=handoff.made)
    sections = (
        ("Key Points", [one.text for one in shown.points]),
        ("Open Threads", [one.text for one in shown.open]),
    )
    return "\n".join(
        line
        for title, texts in sections
        if texts
        for line in (f"## {title}", *(f"- {' '.join(one.split())}" for one in texts))
    )


def _turn(reader: Reader, handle: Handle, project: str, agent: str) -> ResolvedHandle:
    nodes = reader.nodes([row[0] for row in reader.rows(_IN_SESSION, (project, handle.place))])
    if handle.type == "tool":
        nodes = [node for node in nodes if node.props.get("role") == "tool"]
    number = re.fullmatch(r"m(\d{1,6})", handle.part)
    if number:
        at = int(number[1]) - 1
        found = nodes[at] if 0 <= at < len(nodes) else None
    else:
        named = f"/{handle.part}.exchange"
        found = next((one for one in nodes if str(one.props["kref"]).endswith(named)), None)
    if found is None or not handle.part:
        raise Unreadable(f"the session {handle.place[:80]} has no such turn")
    return _of_node(handle, found, str(found.props.get("text", "")))


def _of_node(handle: Handle, node: Node, text: str) -> ResolvedHandle:
    time = node.props.get("time")
    return ResolvedHandle(
        str(handle),
        text,
        kref=str(node.props["kref"]),
        speaker=str(node.props.get("speaker", "")),
        role=str(node.props.get("role", "")),
        time_ns=time if isinstance(time, int) else 0,
    )


def _belief(reader: Reader, handle: Handle, project: str, agent: str) -> ResolvedHandle:
    node = resolve(reader, parse_target(f"kref://{handle.place}"))
    if "Revision" not in node.labels and "Exchange" not in node.labels:
        raise Unreadable("it is neither a belief nor a turn")
    if node.props.get("project") != project:
        raise Unreadable("it is of another project")
    return _of_node(handle, node, str(node.props.get("summary") or node.props.get("text") or ""))


def _handoff(reader: Reader, handle: Handle, project: str, agent: str) -> ResolvedHandle:
    kref = record_kref(project, agent, "handoff", handle.place)
    found = find_record(reader, kref)
    if found is None:
        raise Unreadable("there is no such handoff of this agent")
    text = handoff_text(reader, found)
    return ResolvedHandle(str(handle), _part(text, handle.part), kref=kref, time_ns=found.made)


def _file(reader: Reader, handle: Handle, project: str, agent: str) -> ResolvedHandle:
    root, _, path = handle.place.partition("/")
    text = read_below(_root(reader, root), path)
    return ResolvedHandle(str(handle), _part(text, handle.part))


def _archive(reader: Reader, handle: Handle, project: str, agent: str) -> ResolvedHandle:
    own = f"kref://{project}/"
    root, _, day = handle.place.partition("@")
    if not _DAY.fullmatch(day) or not handle.part.isdecimal():
        raise Unreadable("an archive is named archive:ROOT@YYYY-MM-DD#LINE")
    for line in read_below(_root(reader, root), f"{day}.jsonl").splitlines():
        try:
            held = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(held, dict) and held.get("n") == int(handle.part):
            payload = held.get("payload")
            props = payload.get("props", payload) if isinstance(payload, dict) else None
            if not isinstance(props, dict):
                raise Unreadable("that line of the archive holds no turn")
            if not str(props.get("kref", own)).startswith(own):
                raise Unreadable("it is of another project")
            return ResolvedHandle(
                str(handle),
                str(props.get("text", "")),
                speaker=str(props.get("speaker", "")),
                role=str(props.get("role", "")),
            )
    raise Unreadable("the archive has no such line")


def _commit(reader: Reader, handle: Handle, project: str, agent: str) -> ResolvedHandle:
    root, _, commit = handle.place.partition("@")
    path, _, lines = handle.part.partition("#")
    text = read_object(_root(reader, root), commit, path)
    return ResolvedHandle(str(handle), _part(text, lines))


def _root(reader: Reader, name: str) -> str:
    found = roots_of(reader).get(name)
    if found is None:
        raise Unreadable(f"no folder {name[:80]!r} is declared")
    return found


def _part(text: str, part: str) -> str:
    if not part:
        return text
    found = _LINES.fullmatch(part)
    if found is None:
        raise Unreadable("lines are named #L2 or #L2-L4")
    first, last = int(found[1]), int(found[2] or found[1])
    lines = text.splitlines()
    if not 1 <= first <= last or first > len(lines):
        raise Unreadable("it has no such lines")
    return "\n".join(lines[first - 1 : last])


_RESOLVERS = {
    "transcript": _turn,
    "tool": _turn,
    "archive": _archive,
    "handoff": _handoff,
    "file": _file,
    "commit": _commit,
    "kref": _belief,
}
