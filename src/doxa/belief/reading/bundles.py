"""Bundles as data: what a bundle holds now or held at a system time, since membership is versioned
like everything else.

A bundle is an item without revisions; its content is its MEMBER edges. An item of kind `bundle`
that has revisions (an older file may hold one) is read as a belief.
"""

from __future__ import annotations

from doxa.base.errors import NotFoundError
from doxa.belief.types import Bundle, Member
from doxa.store import Edge, Node, Reader

BUNDLE_KIND = "bundle"
MEMBER = "MEMBER"


def is_bundle(reader: Reader, node: Node) -> bool:
    """Return whether a node is read as a bundle: made as one, or an item of that kind which never
    stated anything."""
    if "Item" not in node.labels:
        return False
    return "Bundle" in node.labels or (
        node.props.get("kind") == BUNDLE_KIND and not reader.edges_out(node.id, "HAS_REVISION")
    )


def read_bundle(reader: Reader, node: Node, *, at: int | None = None) -> Bundle:
    """Read a bundle with its members now, or as of a system time. Raises NotFoundError for a time
    before there was one."""
    version = node if at is None else reader.node_as_of(node.id, at)
    kref = str(node.props["kref"])
    if version is None:
        raise NotFoundError(
            f"{kref} was not there yet at that time.", next_step="Ask for a later time.", kref=kref
        )
    edges = (
        reader.edges_out(node.id, MEMBER)
        if at is None
        else reader.edges_as_of(node.id, at, kind=MEMBER)
    )
    moves = reader.edge_history(node.id, MEMBER)
    known: dict[int, str] = {
        item.id: str(item.props["kref"])
        for item in reader.nodes(list(dict.fromkeys(edge.dst for edge in (*edges, *moves))))
    }
    props = version.props
    return Bundle(
        kref=kref,
        project=str(props["project"]),
        space=str(props["space"]),
        name=str(props.get("name", "")),
        deprecated=bool(props.get("deprecated")),
        members=_members(edges, known),
        moves=_members(moves, known),
        created=node.born,
        at=at,
    )


def _members(edges: list[Edge], known: dict[int, str]) -> tuple[Member, ...]:
    """An erased item leaves its name nowhere, so an edge to it says nothing."""
    return tuple(
        Member(known[edge.dst], edge.born, edge.until) for edge in edges if edge.dst in known
    )
