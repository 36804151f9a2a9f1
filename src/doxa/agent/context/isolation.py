"""What a mode may read. What was said in a conversation stays in its mode, and so does what derives
from it: beliefs, claims, states and files. The table of modes is `continuity/data/modes.json`.

    a turn, a handoff   may be read as its conversation may
    what derives from   if all of its turns may be read, or one that may says the same; what derives
    turns               from none, by however many steps, is of no mode, and neither is what derives
                        from a conversation that no agent opened, such as an imported one

Identity is of no mode: a person approved each of its lines for the agent as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from doxa.agent.context.saying import says
from doxa.agent.context.stages import Situation
from doxa.agent.context.vouching import vouched
from doxa.agent.continuity.exchanges import agents_of, channel_of, session_records
from doxa.agent.continuity.modes import may_read
from doxa.agent.continuity.types import HANDOFF
from doxa.base.ids import NodeId
from doxa.base.values import decode
from doxa.belief import parse_kref, place_of
from doxa.ingestion.threads import CONVERSATIONS, thread_kref
from doxa.recall import Hit
from doxa.store import Node, Reader

_STEPS_MAX = 8  # from a belief to its turns; what is farther may not be read
_GROUNDS = (
    "SELECT src, dst FROM edge WHERE src IN ({}) AND type IN ('DERIVED_FROM', 'CREATED_FROM',"
    " 'CONCERNS')"
)

Channel = tuple[str, str]  # the address of a thread, and a session


def injectable(situation: Situation, reader: Reader, hits: Iterable[Hit]) -> list[Hit]:
    """Return the beliefs that a person stands for and that the mode may read, in their order."""
    found = vouched(reader, hits)
    seen = readable_krefs(situation, reader, [hit.kref for hit in found])
    return [hit for hit in found if hit.kref in seen]


def readable_krefs(situation: Situation, reader: Reader, krefs: Sequence[str]) -> set[str]:
    """Return the addresses of those beliefs, records and turns that the mode may read."""
    nodes = reader.nodes_by_kref(list(krefs))
    seen = readable(situation, reader, nodes)
    return {str(node.props["kref"]) for node in nodes if node.id in seen}


def readable(situation: Situation, reader: Reader, nodes: Sequence[Node]) -> set[NodeId]:
    """Return the nodes of those beliefs, records and turns that the mode may read. What they derive
    from is read level by level, for all together."""
    known = {node.id: node for node in nodes}
    grounds: dict[NodeId, set[NodeId]] = {}
    level = [node.id for node in nodes if not _is_said(node)]
    for _ in range(_STEPS_MAX):
        if not level:
            break
        rows = reader.rows(_GROUNDS.format(", ".join("?" * len(level))), level)
        for source, ground in rows:
            grounds.setdefault(source, set()).add(ground)
        found = reader.nodes(sorted({ground for _, ground in rows} - known.keys()))
        known |= {node.id: node for node in found}
        level = [node.id for node in found if not _is_said(node)]
    seen, unopened = _readable_said(
        situation, reader, [one for one in known.values() if _is_said(one)]
    )
    far, either = set(level), seen | unopened
    return {
        node.id
        for node in nodes
        if _is_readable(node, known, grounds, seen if _is_said(node) else either, far)
    }


def _is_readable(
    node: Node,
    known: dict[NodeId, Node],
    grounds: dict[NodeId, set[NodeId]],
    seen: set[NodeId],
    far: set[NodeId],
) -> bool:
    reached, left = {node.id}, [node.id]
    while left:
        new = grounds.get(left.pop(), set()) - reached
        reached |= new
        left += new
    said = [known[one] for one in reached if one in known and _is_said(known[one])]
    may = [one for one in said if one.id in seen]
    if len(may) == len(said):
        return not reached & far
    text = str(node.props.get("summary") or node.props.get("text") or "")
    return any(says(str(one.props.get("text", "")), text) for one in may)


def _is_said(node: Node) -> bool:
    """Whether a node is of a conversation: a turn or a handoff."""
    return "Exchange" in node.labels or _is_handoff(node)


def _is_handoff(node: Node) -> bool:
    return "Record" in node.labels and node.props.get("type") == HANDOFF


def _readable_said(
    situation: Situation, reader: Reader, said: Iterable[Node]
) -> tuple[set[NodeId], set[NodeId]]:
    """Return the turns and handoffs that the mode may read, and the turns of conversations that no
    agent opened."""
    by_project: dict[str, list[Node]] = {}
    seen: set[NodeId] = set()
    unopened: set[NodeId] = set()
    for node in said:
        if not _is_handoff(node):
            by_project.setdefault(str(node.props.get("project", "")), []).append(node)
        elif may_read(situation.mode, (str(decode(str(node.props["data"]))["mode"]),)):
            seen.add(node.id)
    for project, held in by_project.items():
        may = readable_channels(situation, reader, map(channel_of, held), project=project)
        seen |= {turn.id for turn in held if channel_of(turn) in may}
        modes = _modes(situation, project)
        unopened |= {turn.id for turn in held if not modes[channel_of(turn)]}
    return seen, unopened


def _modes(situation: Situation, project: str) -> dict[Channel, set[str]]:
    held: dict[Channel, set[str]] = situation.once(f"modes in {project}", dict)
    return held


def readable_channels(
    situation: Situation, reader: Reader, channels: Iterable[Channel], *, project: str = ""
) -> set[Channel]:
    """Return the conversations that the mode may read. What agents noted of each is read once in an
    assembly."""
    project = project or situation.project
    wanted = set(channels)
    modes = _modes(situation, project)
    new = sorted(wanted - modes.keys())
    if new:
        agents = situation.once(f"agents in {project}", lambda: agents_of(reader, project))
        records = session_records(reader, project, new, agents=agents)
        for one in new:
            modes[one] = {str(record.data["mode"]) for record in records.get(one, ())}
    return {one for one in wanted if may_read(situation.mode, modes[one])}


def channel(situation: Situation, thread: str, session: str) -> Channel:
    """Return the conversation of a thread, by its name or address, and a session; a session without
    a thread has one of its own."""
    return thread_of(situation.project, thread or session), session


def thread_of(project: str, thread: str) -> str:
    """Return the address of a thread that is given by its name or address."""
    if "://" in thread:
        return str(parse_kref(thread).item())
    return str(thread_kref(place_of(project, CONVERSATIONS), thread))
