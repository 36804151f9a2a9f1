"""Exchanges as pairs, sessions and threads, derived from the stored turns. A turn is stored once,
verbatim (docs/decisions/0003); nothing here copies its words.

    pair     what a person said, and what followed until a person speaks again
    id       blake2b-64 of "pair" and the id of its first turn, which is derived from its content:
             it stays the same when the answer comes, and in a file that is rebuilt
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256

from doxa.agent.continuity.modes import check_mode, may_read
from doxa.agent.continuity.types import SESSION
from doxa.agent.records.records import read_record, record_kref
from doxa.agent.records.types import Record
from doxa.base.clock import NS
from doxa.base.limits import CONTINUITY_TURNS_ITEMS_MAX, REPEATED_TURN_S
from doxa.belief.kref import parse_kref
from doxa.store import Node, Reader

_OPENS = frozenset(("user", "person"))
_TITLE_CHARS = 60


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn of a pair. `time` is when it was said, in ns UTC."""

    kref: str
    role: str
    speaker: str
    text: str
    time: int


@dataclass(frozen=True, slots=True)
class ExchangePair:
    """What a person said and what followed. `content_hash` is the SHA-256 of the ids of its turns,
    `time` when the first was said, `repeats` how many turns of other channels said the same."""

    id: str
    thread: str
    session: str
    time: int
    turns: tuple[TurnView, ...]
    content_hash: str
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One conversation. `title` is given, or the beginning of what a person said first; `modes` are
    those that agents opened it with."""

    thread: str
    session: str
    title: str
    modes: tuple[str, ...]
    state: str
    began: int
    last: int
    turns: int
    compactions: int = 0


def digest_name(*parts: str) -> str:
    """Return 16 hexadecimal digits that stand for these texts: a name of a record."""
    digest = blake2b(digest_size=8)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def time_of(node: Node) -> int:
    """Return when a turn was said."""
    time = node.props.get("time")
    return time if isinstance(time, int) else 0


def turns_of(
    reader: Reader,
    thread: str,
    *,
    session: str | None = None,
    until: int | None = None,
    limit: int = CONTINUITY_TURNS_ITEMS_MAX,
) -> list[Node]:
    """Return the turns of a thread that were stored last, in the order of their time; of one
    session if it is named, and those that were stored until a time in ns."""
    node = reader.node_by_kref(thread)
    if node is None:
        return []
    test, given = "", list[object]((node.id,))
    if until is not None:
        test += " AND e.born <= ?"
        given.append(until)
    if session is not None:
        test += " AND n.props ->> '$.session' = ?"
        given.append(session)
    rows = reader.rows(
        "SELECT e.dst FROM edge e JOIN node n ON n.id = e.dst WHERE e.src = ? AND e.type ="
        f" 'HAS_EXCHANGE'{test} ORDER BY e.dst DESC LIMIT ?",
        (*given, limit),
    )
    return in_order(reader.nodes([row[0] for row in rows]))


def turns_of_project(
    reader: Reader, project: str, *, limit: int = CONTINUITY_TURNS_ITEMS_MAX
) -> list[Node]:
    """Return the turns of a project that were stored last, in the order of their time."""
    rows = reader.rows(
        "SELECT l.node FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = 'Exchange'"
        " AND n.props ->> '$.project' = ? ORDER BY l.node DESC LIMIT ?",
        (project, limit),
    )
    return in_order(reader.nodes([row[0] for row in rows]))


def in_order(nodes: Iterable[Node]) -> list[Node]:
    """Return turns in the order of their time, without those that say nothing or are retired."""
    kept = (n for n in nodes if n.props.get("text") and not n.props.get("deprecated"))
    return sorted(kept, key=lambda node: (time_of(node), node.id))


def without_repeats(turns: Sequence[Node]) -> tuple[list[Node], dict[int, int]]:
    """Leave out what another channel said within a minute in the same words; also returns how many
    repeats a turn that stays had, by its node. Two equal messages of one conversation stay."""
    kept: list[Node] = []
    repeats: dict[int, int] = {}
    seen: dict[tuple[str, str], Node] = {}
    for node in turns:
        key = (str(node.props.get("role")), sha256(str(node.props["text"]).encode()).hexdigest())
        first = seen.get(key)
        if (
            first is not None
            and channel_of(first) != channel_of(node)
            and time_of(node) - time_of(first) <= REPEATED_TURN_S * NS
        ):
            repeats[first.id] = repeats.get(first.id, 0) + 1
            continue
        seen[key] = node
        kept.append(node)
    return kept, repeats


def channel_of(node: Node) -> tuple[str, str]:
    """Return the conversation of a turn: its thread and its session."""
    return str(node.props.get("thread")), str(node.props.get("session"))


def pairs_of(turns: Sequence[Node]) -> list[ExchangePair]:
    """Return the pairs of turns, by the time of their first turn."""
    kept, repeats = without_repeats(turns)
    held: dict[tuple[str, str], list[list[Node]]] = {}
    for node in kept:
        groups = held.setdefault(channel_of(node), [])
        if not groups or node.props.get("role") in _OPENS:
            groups.append([])
        groups[-1].append(node)
    found = [_pair(group, repeats) for groups in held.values() for group in groups]
    return sorted(found, key=lambda pair: (pair.time, pair.id))


def _pair(turns: Sequence[Node], repeats: dict[int, int]) -> ExchangePair:
    names = [parse_kref(str(node.props["kref"])).name for node in turns]
    first = turns[0]
    return ExchangePair(
        digest_name("pair", names[0]),
        str(first.props["thread"]),
        str(first.props.get("session", "")),
        time_of(first),
        tuple(map(view_of, turns)),
        sha256("\n".join(names).encode()).hexdigest(),
        sum(repeats.get(node.id, 0) for node in turns),
    )


def view_of(node: Node) -> TurnView:
    """Return a turn as it is shown."""
    return TurnView(
        str(node.props["kref"]),
        str(node.props.get("role", "")),
        str(node.props.get("speaker", "")),
        str(node.props["text"]),
        time_of(node),
    )


# Sessions


def agents_of(reader: Reader, project: str) -> list[str]:
    """Return the agents that have records in a project."""
    prefix = f"kref://{project}/agents/"
    found, after = list[str](), prefix
    while True:
        rows = reader.rows(
            "SELECT kref FROM node WHERE kref > ? AND kref < ? ORDER BY kref LIMIT 1",
            (after, prefix + "\U0010ffff"),
        )
        if not rows:
            return found
        agent = str(rows[0][0]).removeprefix(prefix).partition("/")[0]
        found.append(agent)
        after = f"{prefix}{agent}/\U0010ffff"


def session_records(
    reader: Reader,
    project: str,
    keys: Iterable[tuple[str, str]],
    *,
    agents: Sequence[str] | None = None,
) -> dict[tuple[str, str], list[Record]]:
    """Return what agents noted of conversations, by thread and session. `agents` are those of the
    project, if they are known already."""
    known = agents_of(reader, project) if agents is None else agents
    names = {
        record_kref(project, agent, SESSION, digest_name(*key)): key
        for key in dict.fromkeys(keys)
        for agent in known
    }
    found: dict[tuple[str, str], list[Record]] = {}
    for node in reader.nodes_by_kref(list(names)):
        if "Record" in node.labels:
            found.setdefault(names[str(node.props["kref"])], []).append(read_record(node))
    return found


def readable_turns(reader: Reader, project: str, turns: Sequence[Node], mode: str) -> list[Node]:
    """Return the turns that a conversation of a mode may read."""
    reads = check_mode(mode)
    records = session_records(reader, project, map(channel_of, turns))
    modes = {key: {str(one.data["mode"]) for one in held} for key, held in records.items()}
    return [node for node in turns if may_read(reads, modes.get(channel_of(node), ()))]


def sessions_of(reader: Reader, project: str, turns: Sequence[Node]) -> list[SessionInfo]:
    """Return the sessions that turns belong to, the one used last first."""
    held: dict[tuple[str, str], list[Node]] = {}
    for node in turns:
        held.setdefault(channel_of(node), []).append(node)
    records = session_records(reader, project, held)
    found = []
    for key, nodes in held.items():
        known = records.get(key, [])
        given = next((str(one.data["title"]) for one in known if one.data.get("title")), "")
        found.append(
            SessionInfo(
                *key,
                given or _title(nodes),
                tuple(sorted({str(one.data["mode"]) for one in known})) or (check_mode(""),),
                next((one.state for one in known if one.state == "open"), "ended" if known else ""),
                min(map(time_of, nodes)),
                max(map(time_of, nodes)),
                len(nodes),
                max((int(one.notes.get("compactions", 0)) for one in known), default=0),
            )
        )
    return sorted(found, key=lambda one: (-one.last, one.thread, one.session))


def _title(turns: Sequence[Node]) -> str:
    """The beginning of what a person said first, cut at the end of a word."""
    spoken = next((n for n in turns if n.props.get("role") in _OPENS), turns[0])
    text = " ".join(str(spoken.props["text"]).split())
    if len(text) <= _TITLE_CHARS:
        return text
    return text[:_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",.;: ") + " …"
