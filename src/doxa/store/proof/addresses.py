"""Addresses: what has one is what guards say, and lies in something.

A transaction is held to it at its commit. Files of older versions may break it; a query repairs
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import apsw

from doxa.base.values import canonical
from doxa.store.guard import Guards


class AddressProblem(str):
    """A finding that a query of an operator repairs, in a file that is sound otherwise. `next_step`
    is that query."""

    __slots__ = ("next_step",)
    next_step: str

    def __new__(cls, text: str, next_step: str) -> AddressProblem:
        made = super().__new__(cls, text)
        made.next_step = next_step
        return made


def address_problems(db: apsw.Connection, catalogue: dict[str, Any]) -> list[str]:
    """Describe the nodes that take an address and are not what is at one, and those that lie in
    nothing: older versions let a query make them. `catalogue` holds the guards."""
    labels = catalogue.get("guard:address", {}).get("labels", [])
    if not labels:
        return []
    problems: list[str] = [
        AddressProblem(
            f"node {identity} takes the address {kref} and is not a belief, turn or place: remove"
            " its property kref",
            f"Give the address another name, as an operator: MATCH (n) WHERE id(n) = {identity}"
            " SET n += {address: n.kref, kref: null}",
        )
        for identity, kref in db.execute(_STRAY_ADDRESSES, (canonical(labels).decode(),))
    ]
    for label, kind in Guards(catalogue).within.items():
        problems += lying_in_nothing(db, label, kind)
    return problems


def lying_in_nothing(
    db: apsw.Connection, label: str, kind: str, *, node: int | None = None
) -> Iterator[AddressProblem]:
    """Describe the nodes with a label and an address that no edge of the type leads to: all of
    them, or `node` alone."""
    first, last = (0, 2**63 - 1) if node is None else (node, node)
    for identity, kref in db.execute(_LYING_IN_NOTHING, (label, first, last, kind)):
        owner = _quoted(str(kref).rpartition("&a=")[0] or "the address that it lies in")
        ends = f"(o {{kref: {owner}}}), (n {{kref: {_quoted(str(kref))}}})"
        yield AddressProblem(
            f"the {label} at {kref} (node {identity}) lies in nothing: no edge {kind} leads to it",
            "If it is what was attached there, join it again, as an operator:"
            f" MATCH {ends} CREATE (o)-[:{kind}]->(n)",
        )


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_STRAY_ADDRESSES = (
    "SELECT id, kref FROM node WHERE kref IS NOT NULL AND NOT EXISTS (SELECT 1 FROM"
    " json_each(labels) WHERE value IN (SELECT value FROM json_each(?))) ORDER BY id LIMIT 100"
)
_LYING_IN_NOTHING = (
    "SELECT n.id, n.kref FROM node_label l CROSS JOIN node n ON n.id = l.node AND n.kref IS NOT"
    " NULL WHERE l.label = ? AND l.node BETWEEN ? AND ? AND NOT EXISTS (SELECT 1 FROM edge e WHERE"
    " e.dst = n.id AND e.type = ?) ORDER BY n.id LIMIT 100"
)
