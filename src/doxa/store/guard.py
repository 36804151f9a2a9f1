"""What the catalogue forbids, checked inside the transaction so that no door, query or procedure can go around it.

Catalogue entries:
    guard:label:<Label>   {"role": least role that may write it, "immutable": bool, "mutable": [property names that may still change]}
    guard:edge:<TYPE>     {"role": ..., "names": [values of the edge property `name` it is about; empty = all],
                           "single": bool (at most one such edge leaves a node)}
Role order: agent < operator < system.
"""

from __future__ import annotations

from typing import Any

from doxa.base.errors import ConstraintError, RoleError
from doxa.base.ids import ROLES, Role
from doxa.base.values import Properties, same_value


def rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)


class Guards:
    """The catalogue's guards, parsed once per catalogue change."""

    def __init__(self, catalogue: dict[str, Any]) -> None:
        self.labels = {name[12:]: rule for name, rule in catalogue.items() if name.startswith("guard:label:")}
        self.edges = {name[11:]: rule for name, rule in catalogue.items() if name.startswith("guard:edge:")}
        self.single = frozenset(kind for kind, rule in self.edges.items() if rule.get("single"))

    def node_write(self, role: Role, labels: tuple[str, ...]) -> None:
        for label in labels:
            rule = self.labels.get(label)
            if rule and rank(role) < rank(rule.get("role", "agent")):
                raise _refused(role, f"nodes labelled {label}", rule["role"])

    def node_change(self, role: Role, labels: tuple[str, ...], *, before: Properties, after: Properties | None) -> None:
        """`after` None means the node would go."""
        for label in labels:
            rule = self.labels.get(label)
            if not rule or not rule.get("immutable") or role == "system":
                continue
            if after is None:
                changed = {"(the node itself)"}
            else:
                names = before.keys() | after.keys()
                changed = {name for name in names if not same_value(before.get(name), after.get(name))} - set(rule.get("mutable", ()))
            if changed:
                raise ConstraintError(
                    f"A {label} does not change once written; this would change {', '.join(sorted(changed))}.",
                    next_step="Write a new revision instead; the old one stays in history.",
                    label=label,
                    properties=sorted(changed),
                )

    def edge_write(self, role: Role, kind: str, props: Properties) -> None:
        rule = self.edges.get(kind)
        if not rule:
            return
        names = rule.get("names") or ()
        if (not names or props.get("name") in names) and rank(role) < rank(rule.get("role", "agent")):
            what = f"the tag {props.get('name')!r}" if names else f"edges of type {kind}"
            raise _refused(role, what, rule["role"])


def _refused(role: str, what: str, needed: str) -> RoleError:
    return RoleError(
        f"The role {role} may not write {what}; it takes {needed}.",
        next_step=f"Ask the {needed} to make this change.",
        role=role,
        needed=needed,
    )
