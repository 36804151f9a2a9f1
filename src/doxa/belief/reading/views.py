"""Beliefs as data: what is at an address now, at a time or behind a tag, as callers get it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from doxa.base.clock import format_time
from doxa.base.errors import NotFoundError
from doxa.base.ids import NodeId
from doxa.base.values import decode_properties
from doxa.belief.graph import (
    CHALLENGER,
    CURRENT,
    HAS_REVISION,
    HELD,
    TAG,
    UNSUPPORTED,
    enrichments_of,
    facts_of,
    is_open,
    metadata_of,
    nothing_then,
    require,
    resolve,
    status_among,
    tagged_at,
)
from doxa.belief.kref import Kref, check_name
from doxa.belief.reading.bundles import is_bundle, read_bundle
from doxa.belief.types import Bundle, Conflict, Exchange, Place, Revision, Status
from doxa.store import Edge, Node, Reader
from doxa.store.retention.horizon import require_believed

# what a belief or a turn is not read without: no policy hides it
ALWAYS_SHOWN = frozenset(
    (
        "kref",
        "number",
        "kind",
        "project",
        "space",
        "confidence",
        "trust",
        "time",
        "thread",
        "session",
        "speaker",
        "role",
        "name",
    )
)


def _cause(reader: Reader, tag: Edge) -> str:
    ground = tag.props.get("ground")
    node = reader.node(NodeId(ground)) if isinstance(ground, int) else None
    cause = str(tag.props.get("cause", ""))
    return f"{cause}: {node.props['kref']!s}" if node is not None else cause


def read_revision(reader: Reader, node: Node) -> Revision:
    """Read a revision node as data, with its present status and tags."""
    edges = reader.edges_in_of(node.id, (CURRENT, HAS_REVISION, TAG, CHALLENGER))
    status = status_among(reader, node, edges)
    tags = [str(edge.props.get("name")) for edge in edges if edge.type == TAG]
    cause = next(
        (
            _cause(reader, edge)
            for edge in edges
            if edge.type == TAG and edge.props.get("name") == UNSUPPORTED
        ),
        "",
    )
    if any(edge.type == CURRENT for edge in edges):
        tags.append("current")
    if node.props["number"] == 1:
        tags.append("initial")
    return build_revision(node, status=status, tags=tuple(sorted(tags)), unsupported=cause)


def build_revision(
    node: Node, *, status: Status, tags: tuple[str, ...] = (), unsupported: str = ""
) -> Revision:
    p = cast("dict[str, Any]", node.props)
    kref = p["kref"]
    return Revision(
        kref=kref,
        item=kref.partition("?")[0],
        number=p["number"],
        status=status,
        summary=p.get("summary", ""),
        kind=p["kind"],
        project=p["project"],
        space=p["space"],
        title=p.get("title", ""),
        topics=tuple(p.get("topics", ())),
        keywords=tuple(p.get("keywords", ())),
        facts=facts_of(node),
        valid_from=p.get("valid_from"),
        valid_until=p.get("valid_until"),
        confidence=p["confidence"],
        trust=p["trust"],
        author=p.get("author", ""),
        time=p["time"],
        created=node.born,
        tags=tags,
        metadata=metadata_of(node),
        sentences=tuple(p.get("sentences", ())),
        unsupported=unsupported,
        **enrichments_of(node),
    )


def read_exchange(node: Node) -> Exchange:
    p = cast("dict[str, Any]", node.props)
    return Exchange(
        kref=p["kref"],
        thread=p["thread"],
        session=p["session"],
        speaker=p["speaker"],
        role=p["role"],
        text=p.get("text", ""),
        time=p["time"],
        project=p["project"],
        space=p["space"],
        source_id=p.get("source_id", ""),
        deprecated=bool(p.get("deprecated")),
        entities=tuple(p.get("entities", ())),
        dates=tuple(p.get("dates", ())),
    )


def read_at(
    reader: Reader, kref: Kref, *, reveal: bool = False
) -> Revision | Exchange | Place | Bundle | Conflict:
    """Return what an address means, pins and artifacts included, as data: what was fetched is what
    the address says. What a policy hides is not found, unless `reveal`; as of a time it is what was
    there."""
    if kref.artifact is not None:
        number = resolve(reader, replace(kref, artifact=None)).props.get("number")
        pinned = kref.pinned(number) if isinstance(number, int) else kref
        return read_any(reader, require(reader, replace(pinned, artifact=kref.artifact)))
    if kref.at is not None:
        time = kref.at_ns
        assert time is not None
        return read_as_of(reader, kref, time=time)
    node = resolve(reader, kref)
    return read_any(reader, node if reveal else shown(reader, node))


def all_shown(reader: Reader, nodes: Sequence[Node]) -> list[Node]:
    """Return those of the nodes that no policy hides, without what has faded of them."""
    if reader.sight().table(edge=False) == "node":
        return list(nodes)
    found = []
    for node in nodes:
        with suppress(NotFoundError):
            found.append(shown(reader, node))
    return found


def shown(reader: Reader, node: Node) -> Node:
    """Return the node without what has faded of it. Raises NotFoundError if a policy hides it."""
    table = reader.sight().table(edge=False)
    if table == "node":
        return node
    rows = reader.rows(f"SELECT json(props) FROM {table} WHERE id = ?", (node.id,))
    if not rows:
        kref = str(node.props["kref"])
        raise NotFoundError(
            f"{kref} is there, but a persistence policy hides it.",
            next_step="Ask for it with reveal.",
            kref=kref,
        )
    standing = {
        name: value for name, value in node.props.items() if name in ALWAYS_SHOWN
    }  # without its address a belief is none
    return node._replace(props={**standing, **decode_properties(rows[0][0])})


def read_as_of(
    reader: Reader, kref: Kref, *, time: int, tag: str = "current"
) -> Revision | Exchange | Place | Bundle | Conflict:
    """Return what a tag of an item pointed to at a system time; a bundle with its members of that
    time; of what was said, what was there then."""
    check_name(tag, what="tag")
    require_believed(reader, time)
    node = require(reader, kref.item())
    if is_bundle(reader, node):
        if tag != "current":
            raise nothing_then(kref, tag=tag, time=time)
        return read_bundle(reader, node, at=time)
    if "Item" in node.labels:
        return read_any(reader, tagged_at(reader, kref, tag=tag, time=time))
    version = reader.node_as_of(node.id, time)
    if version is None or tag != "current":
        raise NotFoundError(
            f"There was nothing tagged {tag[:40]!r} at {kref.item()} at {format_time(time)}.",
            next_step="Ask for a later time.",
            kref=str(kref),
        )
    return read_any(reader, version)


def read_any(reader: Reader, node: Node) -> Revision | Exchange | Place | Bundle | Conflict:
    """Return the node at any kind of address, as data."""
    if is_bundle(reader, node):
        return read_bundle(reader, node)
    if "Revision" in node.labels:
        return read_revision(reader, node)
    if "Exchange" in node.labels:
        return read_exchange(node)
    if "Conflict" in node.labels:
        return read_conflict(reader, node)
    return Place(
        str(node.props.get("kref")), node.labels[0] if node.labels else "", dict(node.props)
    )


def sides(reader: Reader, conflict: Node) -> tuple[Node, list[Node]]:
    """Return the challenger and the beliefs that it challenges. Raises NotFoundError if the
    challenger was erased."""
    challengers = reader.nodes([edge.dst for edge in reader.edges_out(conflict.id, CHALLENGER)])
    if not challengers:
        kref = str(conflict.props["kref"])
        raise NotFoundError(
            f"What {kref} was about has been erased.",
            next_step="There is nothing left to decide.",
            kref=kref,
        )
    return challengers[0], reader.nodes([edge.dst for edge in reader.edges_out(conflict.id, HELD)])


def read_conflict(reader: Reader, conflict: Node) -> Conflict:
    """Read a conflict as data, with both sides as they stand now."""
    p = cast("dict[str, Any]", conflict.props)
    challenger, held = sides(reader, conflict)
    return Conflict(
        p["kref"],
        read_revision(reader, challenger),
        tuple(read_revision(reader, node) for node in held),
        p["opened"],
        p["opened_by"],
        p.get("decision", ""),
        p.get("decided"),
        p.get("decided_by", ""),
    )


def list_conflicts(reader: Reader, project: str, *, decided: bool, limit: int) -> list[Conflict]:
    """Return the open conflicts of a project ("": of all), newest first; with `decided` also those
    that were decided."""
    found: list[Conflict] = []
    for node in sorted(reader.labelled("Conflict"), key=lambda node: node.id, reverse=True):
        if (project and node.props.get("project") != project) or (
            node.props.get("decision") and not decided
        ):
            continue
        if reader.edges_out(node.id, CHALLENGER):
            found.append(read_conflict(reader, node))
        if len(found) >= limit:
            break
    return found


def conflicts_about(reader: Reader, revision: NodeId) -> list[Node]:
    """Return the open conflicts in which a revision is on either side."""
    found = {edge.src for edge in reader.edges_in_of(revision, (CHALLENGER, HELD))}
    return [node for node in reader.nodes(sorted(found)) if is_open(reader, node.id)]
