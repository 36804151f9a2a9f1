"""Which beliefs may be injected: what a hook injects reaches the model with the authority of a
system or developer message, so only what a person stands for goes there.

    verified                                    a person checked it; what was accepted as a claim
                                                comes through the live gate of claims alone
    stated by an operator                       a person stated it
    a candidate from a message of the user      the user's own words, found by a rule
    stated by an agent, traced to such a        the user's words, in the agent's: the message is
    message                                     compared again each time

Everything else reaches the model through the results of tools, quoted and labelled.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence

from doxa.agent.claims.types import CLAIM, SPACE
from doxa.agent.context.saying import says
from doxa.base.ids import NodeId
from doxa.recall import Hit
from doxa.store import Node, Reader

BELIEF_KINDS = tuple(
    "decision preference fact correction commitment task goal rule constraint question event"
    " note".split()
)
_CLAIMED = f"/{SPACE}/{CLAIM}-"  # in the address of the belief of an accepted claim
_RECEIPT_FROM = "SELECT tx, time, role, op FROM receipt WHERE tx >= ? ORDER BY tx LIMIT 1"
_RECEIPTS_IN = "SELECT time, role, op FROM receipt WHERE tx BETWEEN ? AND ?"
_READ_AT_ONCE = 64  # receipts; below that, reading all is cheaper than halving once more


def vouched(reader: Reader, hits: Iterable[Hit]) -> list[Hit]:
    """Return the beliefs that may be injected, in their order."""
    found = [
        hit
        for hit in hits
        if hit.type == "revision"
        and hit.status == "current"
        and not hit.unsupported
        and not hit.contested
        and hit.trust in ("verified", "stated", "candidate")
    ]
    nodes = {
        str(node.props["kref"]): node for node in reader.nodes_by_kref([h.kref for h in found])
    }
    known = [(hit, nodes[hit.kref]) for hit in found if hit.kref in nodes]
    stated = _stated_by_operators(reader, [node for hit, node in known if hit.trust == "stated"])
    asked = [node for hit, node in known if _is_traced(hit, node, node.id in stated)]
    sources = _sources_of(reader, asked)
    return [hit for hit, node in known if _is_vouched(hit, node, node.id in stated, sources)]


def _is_traced(hit: Hit, node: Node, by_operator: bool) -> bool:
    """Whether what a belief is derived from decides about it."""
    return _CLAIMED in str(node.props["kref"]) if hit.trust == "verified" else not by_operator


def _is_vouched(
    hit: Hit, node: Node, by_operator: bool, sources: Mapping[NodeId, Sequence[Node]]
) -> bool:
    grounds = sources.get(node.id, ())
    if hit.trust == "verified":
        return not _is_of_claim(node, grounds)
    if by_operator:
        return True
    if hit.trust == "candidate" and node.props.get("speaker_role") != "user":
        return False
    return _say_it(grounds, node)


def _is_of_claim(node: Node, grounds: Iterable[Node]) -> bool:
    """Whether a revision is what an operator accepted as a claim: the live gate of claims decides
    whether a prompt is given it, with its limits, the switch and the sources of now."""
    return _CLAIMED in str(node.props["kref"]) and any(
        one.props.get("type") == CLAIM for one in grounds
    )


def _sources_of(reader: Reader, nodes: Sequence[Node]) -> dict[NodeId, list[Node]]:
    """Return what each of these revisions is derived from, read for all together."""
    if not nodes:
        return {}
    marks = ", ".join("?" * len(nodes))
    rows = reader.rows(
        f"SELECT src, dst FROM edge WHERE src IN ({marks}) AND type = 'DERIVED_FROM' ORDER BY id",
        [node.id for node in nodes],
    )
    known = {node.id: node for node in reader.nodes(sorted({row[1] for row in rows}))}
    found: dict[NodeId, list[Node]] = {}
    for revision, source in rows:
        if source in known:
            found.setdefault(revision, []).append(known[source])
    return found


def _stated_by_operators(reader: Reader, nodes: Sequence[Node]) -> set[NodeId]:
    """Return those nodes that an operator's own statement made."""
    made = _receipts_of(reader, sorted({node.born for node in nodes}), 1, reader.last_change())
    return {
        node.id
        for node in nodes
        if node.born in made
        and made[node.born][0] == "operator"
        and made[node.born][1] not in ("import", "ingest")
    }


def _receipts_of(
    reader: Reader, times: Sequence[int], low: int, high: int
) -> dict[int, tuple[str, str]]:
    """Return role and operation of the receipts of these times, which rise, among the receipts with
    numbers from `low` to `high`. Times of receipts rise with their numbers, so that all are found
    by halving together."""
    if not times:
        return {}
    if high - low < _READ_AT_ONCE:
        rows = reader.rows(_RECEIPTS_IN, (low, high))
        wanted = set(times)
        return {int(time): (str(role), str(op)) for time, role, op in rows if time in wanted}
    middle = (low + high) // 2
    number, time, role, op = reader.rows(_RECEIPT_FROM, (middle,))[0]
    before, after = bisect_left(times, time), bisect_right(times, time)
    found = {int(time): (str(role), str(op))} if before < after else {}
    found |= _receipts_of(reader, times[:before], low, middle - 1)
    return found | _receipts_of(reader, times[after:], int(number) + 1, high)


def said_by_user(reader: Reader, node: Node) -> bool:
    """Return whether a message of the user that a revision is derived from says what it says."""
    return _say_it(_sources_of(reader, [node]).get(node.id, ()), node)


def _say_it(sources: Iterable[Node], node: Node) -> bool:
    """Whether a message of the user among sources says what a revision says."""
    return any(
        "Exchange" in source.labels
        and source.props.get("role") == "user"
        and not source.props.get("deprecated")
        and says(str(source.props.get("text", "")), str(node.props.get("summary", "")))
        for source in sources
    )


def without_repeats(hits: Sequence[Hit]) -> list[Hit]:
    """Keep the first of the beliefs in the same words."""
    seen: set[str] = set()
    kept = []
    for hit in hits:
        key = plain(hit.text)
        if key not in seen:
            seen.add(key)
            kept.append(hit)
    return kept


def plain(text: str) -> str:
    """Return the words of a text, for comparison."""
    return " ".join(re.findall(r"\w+", text.casefold()))
