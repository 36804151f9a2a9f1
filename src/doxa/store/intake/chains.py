"""Edges of one type that form chains: of each node at most one leaves, and they end in a root.

A guard of an edge type with `chain` is about such a type. Two nodes of one chain are of one
project, no chain is a circle, and one whose root carries a protected value is changed by the role
of that value alone. A node with such a value leads only to one that has it too, so that the root
tells for all. A name that looks like what it is not is joined by an operator. It is checked where
the edge is written or removed, by whatever interface.
"""

from __future__ import annotations

from typing import Any

from doxa.base.errors import ConstraintError, RoleError
from doxa.base.ids import ROLES, NodeId, Role, is_below_operator
from doxa.base.lookalikes import has_lookalike, reads_as
from doxa.store.reader import Reader
from doxa.store.rows import Node


def root_of(reader: Reader, node: Node, kind: str) -> Node:
    """Follow the edges of a type from a node to the last one."""
    seen = {node.id}
    while edges := reader.edges_out(node.id, kind):
        following = reader.node(edges[0].dst)
        if following is None or following.id in seen:
            break
        seen.add(following.id)
        node = following
    return node


def check_chain(
    reader: Reader,
    rule: dict[str, Any],
    kind: str,
    src: NodeId,
    dst: NodeId,
    role: Role,
    *,
    adding: bool,
) -> None:
    """Check an edge of a chain that is written (`adding`) or removed. Raises ConstraintError or
    RoleError."""
    source, target = reader.node(src), reader.node(dst)
    if source is None or target is None:
        return
    root = root_of(reader, target, kind)
    if adding:
        _check_new(rule, kind, source, target, root)
        _check_look(source, target, root, role)
    for name, kept in rule["chain"].items():
        held = [
            node for node in (source, target, root) if reads_as(node.props.get(name), kept["names"])
        ]
        if held and ROLES.index(role) < ROLES.index(kept["role"]):
            like = reads_as(held[0].props.get(name), kept["names"])
            kref = str(held[0].props.get("kref", ""))
            raise RoleError(
                f"{kref} is {like}: only an {kept['role']} may join it with another or part it.",
                next_step=f"Ask the {kept['role']}.",
                role=role,
                needed=kept["role"],
                kref=kref,
            )


def _check_look(source: Node, target: Node, root: Node, role: Role) -> None:
    """A name with letters of another alphabet that look like Latin ones is joined with others by an
    operator alone: it may be there to be taken for one of them."""
    for node in (source, target, root):
        name = node.props.get("name")
        if isinstance(name, str) and has_lookalike(name) and is_below_operator(role):
            raise RoleError(
                f"{node.props.get('kref')!s} has letters that only look like others: only an"
                " operator may join it with another.",
                next_step="Ask the operator.",
                role=role,
                needed="operator",
            )


def _check_new(rule: dict[str, Any], kind: str, source: Node, target: Node, root: Node) -> None:
    kref = str(source.props.get("kref", ""))
    if source.id in (target.id, root.id):
        raise ConstraintError(
            f"An edge {kind} from {kref} would lead back to it.",
            next_step="Part what leads to it first.",
            kref=kref,
        )
    if source.props.get("project") != target.props.get("project"):
        raise ConstraintError(
            f"An edge {kind} joins nodes of one project.",
            next_step="Keep them apart.",
            kref=kref,
        )
    for name, kept in rule["chain"].items():
        if reads_as(source.props.get(name), kept["names"]) and not reads_as(
            target.props.get(name), kept["names"]
        ):
            raise ConstraintError(
                f"{kref} is {source.props[name]}, and what it would lead to is not.",
                next_step="Join them the other way round.",
                kref=kref,
            )
