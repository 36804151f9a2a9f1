"""List what is directly in a project, space or thread, as `ls` does for a folder.

Spaces and threads come first, then items; turns of a thread in the order they were said. What a
persistence policy hides is left out.
"""

from __future__ import annotations

from doxa.base.errors import InputError
from doxa.base.ids import NodeId
from doxa.belief.graph import CURRENT, parse_target, require
from doxa.belief.kref import Kref
from doxa.belief.reading.views import all_shown
from doxa.belief.types import Entry, Listing
from doxa.store import Node, Reader

_BELOW = ("HAS_SPACE", "HAS_THREAD", "HAS_ITEM", "HAS_EXCHANGE")
_PLACES = frozenset(("Project", "Space", "Thread"))


def list_contents(reader: Reader, kref: str | Kref, *, limit: int, after: str = "") -> Listing:
    """List what is directly below an address, or all projects for an empty one.

    `after` is the last address of the page before. Raises NotFoundError, or InputError for an
    address of something that contains nothing.
    """
    if kref:
        target = parse_target(kref).item()
        place = require(reader, target)
        if not _PLACES & set(place.labels):
            raise InputError(
                f"{target} is not a project, space or thread.",
                next_step="Give the address of one; `get` reads anything else.",
                kref=str(target),
            )
        address, found = str(target), _below(reader, place)
    else:
        address, found = "", sorted(reader.labelled("Project"), key=_address)
    krefs = [_address(node) for node in found]
    if after and after not in krefs:
        raise InputError(
            f"{after[:80]!r} is not in {address or 'the list of projects'}.",
            next_step="Give `next` of the page before.",
            field="after",
        )
    start = krefs.index(after) + 1 if after else 0
    page = found[start : start + limit]
    following = krefs[start + limit - 1] if start + limit < len(found) else ""
    return Listing(address, len(found), tuple(_entry(reader, node) for node in page), following)


def _below(reader: Reader, place: Node) -> list[Node]:
    found: list[Node] = []
    for kind in _BELOW:
        ids = [edge.dst for edge in reader.edges_out(place.id, kind)]
        nodes = all_shown(reader, reader.nodes(ids))
        spoken = kind == "HAS_EXCHANGE"
        found += sorted(nodes, key=_when_said if spoken else _address)
    return found


def _entry(reader: Reader, node: Node) -> Entry:
    kref, label = _address(node), node.labels[0] if node.labels else ""
    if "Item" not in node.labels:
        return Entry(kref, label, str(node.props.get("text", "")))
    current = reader.edges_out(node.id, CURRENT)
    if not current:
        return Entry(kref, label, "", "bundle" if "Bundle" in node.labels else "retired")
    belief = reader.node(NodeId(current[0].dst))
    text = "" if belief is None else str(belief.props.get("summary", ""))
    return Entry(kref, label, text, "current")


def _address(node: Node) -> str:
    return str(node.props.get("kref", ""))


def _when_said(node: Node) -> tuple[int, int]:
    time = node.props.get("time")
    return (time if isinstance(time, int) else 0, node.id)
