"""Entities as data, now or as of a system time. Counts, aliases, kinds and co-occurrence are read
from the edges, never stored apart, so that no merge, undo or erasure leaves them wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from doxa.base.errors import InputError, NotFoundError
from doxa.base.ids import NodeId
from doxa.base.values import decode_properties
from doxa.belief import facts_of, parse_target
from doxa.belief.graph import CURRENT, ENTITY, MENTIONS, SAME_AS, missing
from doxa.entities.names import key_of
from doxa.entities.types import Alias, EntityInfo, EntityPage, Mention, RelatedEntity, Triple
from doxa.store import Edge, Node, Reader, int64_array
from doxa.store.retention.horizon import require_believed

SOURCES_READ = (
    5_000  # of an entity's sources, the latest that co-occurrence and facts are read from
)

_NODES = "SELECT id FROM node WHERE kref >= ?1 AND kref < ?2 AND since <= ?3"
_NODES_PAST = "SELECT id FROM node_past WHERE props ->> '$.kref' >= ?1 AND props ->> '$.kref' < ?2"
_LIVE = """
SELECT e.src, e.dst, json(e.props), n.kref, n.props ->> '$.time', d.live IS NULL OR d.live
FROM edge e JOIN {nodes} n ON n.id = e.src LEFT JOIN doc d ON d.node = n.id
WHERE e.dst IN carray(?) AND e.type = 'MENTIONS' AND coalesce(d.live, 1)
  AND NOT coalesce(n.props ->> '$.deprecated', 0)
ORDER BY n.props ->> '$.time' DESC, e.id DESC
"""


class MentionEdge(NamedTuple):
    """One edge MENTIONS with what it comes from."""

    source: int
    entity: int
    props: dict[str, Any]
    kref: str
    time: int


class View:
    """The edges of entities at one time: now (None) or as of a system time in ns."""

    def __init__(self, reader: Reader, as_of: int | None = None) -> None:
        if as_of is not None:
            require_believed(reader, as_of)
        self.reader, self.as_of = reader, as_of

    def node(self, identity: int) -> Node | None:
        if self.as_of is None:
            return self.reader.node(NodeId(identity))
        return self.reader.node_as_of(NodeId(identity), self.as_of)

    def edges(self, node: int, kind: str, *, incoming: bool = False) -> list[Edge]:
        found = NodeId(node)
        if self.as_of is not None:
            return self.reader.edges_as_of(found, self.as_of, kind=kind, incoming=incoming)
        read = self.reader.edges_in if incoming else self.reader.edges_out
        return read(found, kind)

    def root(self, node: Node) -> Node:
        """Return the entity that a name belongs to."""
        seen = {node.id}
        while edges := self.edges(node.id, SAME_AS):
            following = self.node(edges[0].dst)
            if following is None or following.id in seen:
                break
            seen.add(following.id)
            node = following
        return node

    def members(self, root: Node) -> list[Node]:
        """Return the names of an entity as nodes: the root first, then those that lead to it."""
        found, front = [root], [root]
        while front:
            below = [e.src for node in front for e in self.edges(node.id, SAME_AS, incoming=True)]
            front = [node for node in map(self.node, below) if node is not None]
            found += front
        return found

    def written(self, members: Sequence[Node]) -> list[MentionEdge]:
        """Return what mentions an entity and is believed, or said and not retired; latest first."""
        ids = [node.id for node in members]
        if self.as_of is None:
            sql = _LIVE.format(nodes=self.reader.sight().table(edge=False))
            rows = self.reader.rows(sql, (int64_array(ids),))
            return [
                MentionEdge(src, dst, decode_properties(props), str(kref), int(time or 0))
                for src, dst, props, kref, time, _ in rows
            ]
        found = []
        for identity in ids:
            for edge in self.edges(identity, MENTIONS, incoming=True):
                node = self.node(edge.src)
                if node is None or node.props.get("deprecated"):
                    continue
                if "Revision" in node.labels and not self.edges(node.id, CURRENT, incoming=True):
                    continue
                kref, time = str(node.props.get("kref")), node.props.get("time")
                at = time if isinstance(time, int) else 0
                found.append(MentionEdge(edge.src, identity, dict(edge.props), kref, at))
        return sorted(found, key=lambda one: (-one.time, -one.source))


def entity_nodes(reader: Reader, project: str, *, as_of: int | None = None) -> list[Node]:
    """Return the names of a project as nodes, by id; of all projects where it is empty."""
    first = f"kref://{project}/" if project else "kref://"
    last = first[:-1] + "0"
    if as_of is None:
        rows = reader.rows(
            "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = ? AND"
            " n.kref >= ? AND n.kref < ? ORDER BY n.id",
            (ENTITY, first, last),
        )
        return reader.nodes([row[0] for row in rows])
    require_believed(reader, as_of)
    ids = {row[0] for row in reader.rows(_NODES, (first, last, as_of))}
    ids |= {row[0] for row in reader.rows(_NODES_PAST, (first, last))}
    found = (reader.node_as_of(NodeId(one), as_of) for one in sorted(ids))
    return [node for node in found if node is not None and ENTITY in node.labels]


def root_at(
    reader: Reader, what: str, *, project: str = "", as_of: int | None = None
) -> tuple[Node, Node]:
    """Return the entity at an address, or of a name in a project, and the node that was named.
    Raises NotFoundError, and InputError for a name that several entities have."""
    view = View(reader, as_of)
    if not isinstance(what, str) or not what.strip():
        raise InputError(
            "An entity is given by its address or its name.",
            next_step="List entities to see what there is.",
            field="entity",
        )
    if what.startswith("kref://"):
        kref = parse_target(what)
        node = reader.node_by_kref(str(kref))
        if as_of is not None:
            nodes = entity_nodes(reader, kref.project, as_of=as_of)
            node = next((one for one in nodes if one.props.get("kref") == str(kref)), None)
        if node is None or ENTITY not in node.labels:
            raise missing(reader, kref)
        return view.root(node), node
    key = key_of(what)
    named = [
        one for one in entity_nodes(reader, project, as_of=as_of) if one.props.get("folded") == key
    ]
    roots = {root.id: (root, node) for node in named for root in (view.root(node),)}
    if not roots:
        raise NotFoundError(
            f"No entity is called {what[:80]!r}.",
            next_step="List entities, or record the mentions of this project first.",
            name=what[:80],
        )
    if len(roots) > 1:
        krefs = [str(root.props["kref"]) for root, _ in roots.values()]
        raise InputError(
            f"{len(roots)} entities are called {what[:80]!r}: {', '.join(krefs[:5])}.",
            next_step="Give the address of one.",
            krefs=krefs[:20],
        )
    return next(iter(roots.values()))


def class_of(reader: Reader, root: Node, *, as_of: int | None = None) -> list[Node]:
    """Return the nodes of all names of an entity, the root first."""
    return View(reader, as_of).members(root)


def list_entities(
    reader: Reader,
    project: str,
    *,
    kind: str = "",
    text: str = "",
    limit: int = 50,
    as_of: int | None = None,
) -> list[EntityInfo]:
    """List entities, the most mentioned first; `text` is a part of one of their names."""
    view = View(reader, as_of)
    wanted = key_of(text)
    found = []
    for root, members in _classes(view, project).values():
        if wanted and not any(wanted in str(node.props.get("folded")) for node in members):
            continue
        written = view.written(members)
        entity = _entity(root, members, written)
        if not kind or entity.kind == kind:
            found.append(entity)
    found.sort(key=lambda one: (-one.mentions, one.kref))
    return found[:limit]


def _classes(view: View, project: str) -> dict[int, tuple[Node, list[Node]]]:
    found: dict[int, tuple[Node, list[Node]]] = {}
    for node in entity_nodes(view.reader, project, as_of=view.as_of):
        root = view.root(node)
        members = found.setdefault(root.id, (root, [root]))[1]
        if node.id != root.id:
            members.append(node)
    return found


def kind_of(members: Iterable[Node], written: Iterable[MentionEdge]) -> str:
    """Return what most mentions say it is; without any, what was stated."""
    votes = Counter(str(one.props["type"]) for one in written if one.props.get("type"))
    votes.update(str(node.props["type"]) for node in members if node.props.get("type"))
    return min(votes, key=lambda one: (-votes[one], one)) if votes else ""


def _entity(root: Node, members: Sequence[Node], written: Sequence[MentionEdge]) -> EntityInfo:
    times = [one.time for one in written]
    return EntityInfo(
        str(root.props["kref"]),
        str(root.props["name"]),
        kind_of(members, written),
        str(root.props.get("trust", "")),
        _other_names(root, members, written),
        len({one.source for one in written}),
        min(times, default=None),
        max(times, default=None),
    )


def _other_names(
    root: Node, members: Sequence[Node], written: Sequence[MentionEdge]
) -> tuple[str, ...]:
    own = str(root.props.get("folded"))
    names = {str(node.props["folded"]): str(node.props["name"]) for node in members}
    for one in reversed(written):
        names.setdefault(str(one.props.get("folded")), str(one.props.get("as")))
    return tuple(sorted(name for key, name in names.items() if key != own))


def read_entity(
    reader: Reader, what: str, *, project: str = "", limit: int = 20, as_of: int | None = None
) -> EntityPage:
    """Return the page of an entity, given by address or name, with its latest `limit` mentions."""
    root, asked = root_at(reader, what, project=project, as_of=as_of)
    view = View(reader, as_of)
    members = view.members(root)
    written = view.written(members)
    head = _entity(root, members, written)
    mentions = tuple(
        Mention(
            one.kref,
            str(one.props.get("as", "")),
            str(one.props.get("why", "")),
            str(one.props.get("rule", "")),
            _number(one.props.get("confidence")),
            one.time,
        )
        for one in written[:limit]
    )
    return EntityPage(
        head.kref,
        str(asked.props["kref"]),
        head.name,
        head.kind,
        head.trust,
        _aliases(view, root, members, written),
        head.mentions,
        head.first,
        head.last,
        mentions,
        _related(view, members, written, limit),
        _facts(view, members, written, limit),
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 1.0


def _aliases(
    view: View, root: Node, members: Sequence[Node], written: Sequence[MentionEdge]
) -> tuple[Alias, ...]:
    """The other names: nodes that lead here, and other spellings in mentions."""
    found: dict[str, Alias] = {}
    for node in members[1:]:
        edge = next(iter(view.edges(node.id, SAME_AS)), None)
        props: dict[str, Any] = dict(edge.props) if edge else {}
        name, kref = str(node.props["name"]), str(node.props["kref"])
        found[kref] = Alias(
            name,
            kref,
            str(props.get("why", "")),
            str(props.get("source", "")),
            str(props.get("rule", "")),
        )
    known = {str(node.props["folded"]) for node in members}
    for one in reversed(written):
        if (key := str(one.props.get("folded"))) not in known:
            known.add(key)
            name, why = str(one.props.get("as")), str(one.props.get("why", ""))
            found[key] = Alias(name, "", why, one.kref, str(one.props.get("rule", "")))
    return tuple(sorted(found.values(), key=lambda one: (one.name, one.kref)))


def _related(
    view: View, members: Sequence[Node], written: Sequence[MentionEdge], limit: int
) -> tuple[RelatedEntity, ...]:
    own = {node.id for node in members}
    together: dict[int, set[int]] = {}
    roots: dict[int, Node | None] = {}
    for source, other in _named_in(view, [one.source for one in written[:SOURCES_READ]]):
        if other in own:
            continue
        if other not in roots:
            node = view.node(other)
            roots[other] = view.root(node) if node is not None and ENTITY in node.labels else None
        root = roots[other]
        if root is not None:
            roots[root.id] = root
            together.setdefault(root.id, set()).add(source)
    found = [
        RelatedEntity(str(node.props["kref"]), str(node.props["name"]), len(sources))
        for identity, sources in together.items()
        if (node := roots[identity]) is not None
    ]
    return tuple(sorted(found, key=lambda one: (-one.count, one.kref))[:limit])


def _named_in(view: View, sources: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return (source, entity) of all that these sources mention."""
    if view.as_of is None:
        sql = "SELECT src, dst FROM edge WHERE src IN carray(?) AND type = 'MENTIONS'"
        return [(src, dst) for src, dst in view.reader.rows(sql, (int64_array(list(sources)),))]
    return [(one, edge.dst) for one in sources for edge in view.edges(one, MENTIONS)]


def _facts(
    view: View, members: Sequence[Node], written: Sequence[MentionEdge], limit: int
) -> tuple[Triple, ...]:
    """The facts of current beliefs that mention the entity and are about one of its names."""
    keys = {str(node.props["folded"]) for node in members}
    keys |= {str(one.props.get("folded")) for one in written}
    found: dict[tuple[str, str], Triple] = {}
    for source in dict.fromkeys(one.source for one in written[:SOURCES_READ]):
        node = view.node(source)
        if node is None or "Revision" not in node.labels:
            continue
        grounds = view.edges(node.id, "DERIVED_FROM")
        ground = view.node(grounds[0].dst) if grounds else None
        for fact in facts_of(node):
            if key_of(fact.subject) in keys or key_of(str(fact.value)) in keys:
                kref = str(node.props["kref"])
                found[kref, repr(fact)] = Triple(
                    fact.subject,
                    fact.predicate,
                    str(fact.value),
                    _number(node.props.get("confidence")),
                    str(node.props.get("trust", "")),
                    kref,
                    "" if ground is None else str(ground.props.get("kref", "")),
                )
        if len(found) >= limit:
            break
    return tuple(found.values())[:limit]
