"""Join two entities that are one, and part what was wrongly one.

A merge writes one edge SAME_AS from the one entity to the other and moves nothing: names and
mentions stay where their sources put them, the address of the one leads to the other, and as of a
time before it there are two. A split takes that edge away, or gives some of the sources of a name
to a new entity of the same name. Both are undone by undoing their change.
"""

from __future__ import annotations

from collections.abc import Iterable

from doxa.base.errors import ConflictError, InputError, RoleError
from doxa.base.ids import NodeId, is_below_operator
from doxa.base.lookalikes import reads_as
from doxa.belief import parse_target
from doxa.belief.graph import MENTIONS, SAME_AS, resolve
from doxa.belief.verified import VERIFIED
from doxa.entities.mentioning import Mentioner
from doxa.entities.reading import View, root_at
from doxa.store import Node, Transaction


def merge(
    tx: Transaction,
    one: str,
    other: str,
    *,
    project: str = "",
    why: str = "",
    rule: str = "",
    source: str = "",
) -> Node | None:
    """Join the entity `one` with `other`, whose address and name stand for both; return it, or None
    if they are one already. Raises RoleError, ConflictError or ConstraintError.

    What an operator verified keeps its address: a verified `one` stands for both if `other` is not
    verified."""
    first, _ = root_at(tx, one, project=project)
    second, _ = root_at(tx, other, project=project)
    if first.id == second.id:
        return None
    if first.props.get("project") != second.props.get("project"):
        raise ConflictError(
            "Entities of two projects are not merged.",
            next_step="Keep one in each project.",
            kref=str(first.props["kref"]),
        )
    if is_verified(first) and not is_verified(second):
        first, second = second, first
    props = {"why": why.strip() or "stated", "rule": rule or _by(tx)}
    if source:
        props["source"] = str(resolve(tx, parse_target(source)).props["kref"])
    tx.create_edge(SAME_AS, first.id, dst=second.id, props=props)
    return second


def is_verified(node: Node) -> bool:
    """Return whether an operator verified that these names are one entity."""
    return reads_as(node.props.get("trust"), (VERIFIED,)) is not None


def _by(tx: Transaction) -> str:
    return f"{tx.identity.role}:{tx.identity.actor}"


def split(
    tx: Transaction,
    what: str,
    *,
    sources: Iterable[str] = (),
    project: str = "",
    why: str = "",
) -> Node:
    """Part a name from the entity that it was merged into, and return it; or with `sources`, give
    what these turns and beliefs mention by the name to a new entity of that name.

    Raises ConflictError if there is nothing to part."""
    _, node = root_at(tx, what, project=project)
    given = list(sources)
    if given:
        return _give(tx, node, given, why)
    edges = tx.edges_out(node.id, SAME_AS)
    if not edges:
        raise ConflictError(
            f"{node.props['kref']} was not merged into another.",
            next_step="Name the entity that was, or the sources that mean another.",
            kref=str(node.props["kref"]),
        )
    tx.delete_edge(edges[0].id)
    return node


def _give(tx: Transaction, node: Node, sources: list[str], why: str) -> Node:
    """Move the mentions of some sources to a new entity of the same name."""
    kref = str(node.props["kref"])
    found = [resolve(tx, parse_target(source)) for source in sources]
    moved = [
        edge
        for source in dict.fromkeys(one.id for one in found)
        for edge in tx.edges_out(source, MENTIONS)
        if edge.dst == node.id
    ]
    if not moved:
        raise InputError(
            f"None of these sources mentions {kref}.",
            next_step="Give addresses of its mentions.",
            field="sources",
            kref=kref,
        )
    _require_free(tx, node)
    mentioner = Mentioner(tx, str(node.props["project"]))
    first = tx.node(moved[0].src)
    key, name = str(node.props["folded"]), str(node.props["name"])
    made = NodeId(mentioner.create(key, name, first, number=2))
    for edge in moved:
        tx.delete_edge(edge.id)
        props = dict(edge.props) | {
            "as": edge.props.get("as", name),
            "why": why.strip() or "split from another of this name",
            "rule": _by(tx),
        }
        tx.create_edge(MENTIONS, edge.src, dst=made, props=props)
    result = tx.node(made)
    assert result is not None
    return result


def _require_free(tx: Transaction, node: Node) -> None:
    """Raise RoleError if the mentions are an operator's to part."""
    root = View(tx).root(node)
    if is_below_operator(tx.rights) and (is_verified(root) or is_verified(node)):
        raise refused(node)


def refused(node: Node) -> RoleError:
    """Return the error for an agent that would change a verified entity."""
    kref = str(node.props["kref"])
    return RoleError(
        f"{kref} is verified: only an operator may join it with another or part it.",
        next_step="Ask the operator.",
        role="agent",
        needed="operator",
        kref=kref,
    )


def verify(tx: Transaction, what: str, *, project: str = "", remove: bool = False) -> Node | None:
    """Mark that the names of an entity are one, as an operator says; return it, or None if nothing
    changes. With `remove`, take the mark away. Raises RoleError for an agent."""
    root, _ = root_at(tx, what, project=project)
    if is_verified(root) is not remove:
        return None
    props = {name: value for name, value in root.props.items() if name != "trust"}
    tx.set_node(root.id, props if remove else props | {"trust": VERIFIED})
    return tx.node(root.id)
