"""Names of which memory does not know whom or what they mean, and what a person answers."""

from __future__ import annotations

from collections.abc import Iterable

from doxa.base.errors import ConflictError, InputError, NotFoundError, RoleError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.lookalikes import has_lookalike
from doxa.belief import parse_target
from doxa.belief.graph import CANDIDATE, MENTIONS, PENDING_ENTITY, resolve
from doxa.entities.mentioning import ANSWERED, ASK, Mentioner, WrittenName
from doxa.entities.merging import is_verified, refused
from doxa.entities.reading import View, root_at
from doxa.entities.types import CandidateEntity, PendingMention
from doxa.store import Node, Reader, Transaction

NEW, NONE = "new", "none"

_PENDING = (
    "SELECT n.id FROM node_label l JOIN node n ON n.id = l.node WHERE l.label = ? AND n.kref >= ?"
    " AND n.kref < ? AND (? OR n.props ->> '$.state' <> 'answered') ORDER BY n.props ->> '$.state',"
    " n.id LIMIT ?"
)


def list_pending(
    reader: Reader, project: str, *, answered: bool = False, limit: int = 50
) -> list[PendingMention]:
    """List the pending mentions of a project, or of all where it is empty; those that ask for a
    person first."""
    first = f"kref://{project}/" if project else "kref://"
    last = first[:-1] + "0"
    rows = reader.rows(_PENDING, (PENDING_ENTITY, first, last, answered, limit))
    return [read_pending(reader, node) for node in reader.nodes([row[0] for row in rows])]


def read_pending(reader: Reader, node: Node) -> PendingMention:
    """Return a pending mention as data, the likeliest candidate first."""
    view = View(reader)
    candidates = []
    for edge in reader.edges_out(node.id, CANDIDATE):
        found = reader.node(edge.dst)
        if found is None:
            continue
        root, score = view.root(found), edge.props.get("score")
        candidates.append(
            CandidateEntity(
                str(root.props["kref"]),
                str(root.props["name"]),
                float(score) if isinstance(score, (int, float)) else 0.0,
                str(edge.props.get("why", "")),
            )
        )
    mentions = reader.edges_in(node.id, MENTIONS)
    types = sorted({str(edge.props["type"]) for edge in mentions if edge.props.get("type")})
    sources = reader.nodes([edge.src for edge in mentions])
    return PendingMention(
        str(node.props["kref"]),
        str(node.props["name"]),
        types[0] if len(types) == 1 else "",
        str(node.props["state"]),
        str(node.props.get("reason", "")),
        tuple(str(source.props["kref"]) for source in sources),
        tuple(sorted(candidates, key=lambda one: (-one.score, one.kref))),
        str(node.props.get("answer", "")),
    )


def resolve_pending(
    tx: Transaction, pending: str, answer: str, *, sources: Iterable[str] = ()
) -> Node | None:
    """Answer whom or what a pending name means: the address of an entity, `new` for one of its own,
    `none` for what is not an entity in any source. With `sources`, an entity is the answer for
    these alone, and the name stays pending. Returns the entity.

    What is answered for a name holds for its later mentions. A name that only looks like another is
    an operator's to answer."""
    node = _require_open(tx, pending)
    if is_below_operator(tx.rights) and _is_hostile(node):
        raise RoleError(
            f"{node.props['kref']} only looks like another name: an operator decides what it"
            " means.",
            next_step="Ask the operator.",
            role="agent",
            needed="operator",
        )
    given = [resolve(tx, parse_target(source)).id for source in sources]
    edges = [e for e in tx.edges_in(node.id, MENTIONS) if not given or e.src in given]
    if given and not edges:
        raise InputError(
            "None of these sources is among those of the pending mention.",
            next_step="Leave the sources out, or give some of its own.",
            field="sources",
        )
    mentioner = Mentioner(tx, str(node.props["project"]))
    by = f"{tx.identity.role}:{tx.identity.actor}"
    if answer == NONE:
        mentioner.close(node, None, by)
        return None
    first = tx.node(edges[0].src) if edges else None
    entity = _entity(tx, mentioner, node, answer, first, by, whole=not given)
    target = tx.node(NodeId(entity))
    assert target is not None
    for edge in edges:
        said = WrittenName(
            str(edge.props["folded"]),
            str(edge.props["as"]),
            tx.node(edge.src),
            str(edge.props.get("type", "")),
            by,
            1.0,
        )
        mentioner.connect(said, entity, 1.0, "answered by a person")
    if not given:
        mentioner.close(node, entity, by)
    return View(tx).root(target)


def _entity(
    tx: Transaction,
    mentioner: Mentioner,
    node: Node,
    answer: str,
    first: Node | None,
    by: str,
    *,
    whole: bool,
) -> int:
    """The name that the mentions are of from now on. For a whole answer that is a name of its own,
    joined with the entity, so that later mentions find it."""
    key, name = str(node.props["folded"]), str(node.props["name"])
    if answer == NEW:
        return mentioner.create(key, name, first)
    root, target = root_at(tx, answer, project=str(node.props["project"]))
    if root.props.get("project") != node.props.get("project"):
        raise ConflictError(
            "The entity is of another project.",
            next_step="Give one of the project of the mention.",
            kref=str(root.props["kref"]),
        )
    if is_below_operator(tx.rights) and is_verified(root):
        raise refused(root)
    if not whole or mentioner.has(key):
        return target.id
    made = mentioner.create(key, name, first)
    mentioner.join(made, root.id, why="answered by a person", rule=by, source=None)
    return made


def _require_open(tx: Transaction, pending: str) -> Node:
    kref = parse_target(pending)
    node = tx.node_by_kref(str(kref))
    if node is None or PENDING_ENTITY not in node.labels:
        raise NotFoundError(
            f"There is no pending mention at {kref}.",
            next_step="List what is pending.",
            kref=str(kref),
        )
    if node.props.get("state") == ANSWERED:
        raise ConflictError(
            f"{kref} was answered: {node.props.get('answer')!s}.",
            next_step="Merge or split the entity, or undo the answer.",
            kref=str(kref),
        )
    return node


def _is_hostile(node: Node) -> bool:
    look = str(node.props.get("reason", "")).startswith("the name only looks")
    return (node.props.get("state") == ASK and look) or has_lookalike(str(node.props["name"]))
