"""What the catalogue forbids, checked inside the transaction so that no interface, query or
procedure can bypass it.

Catalogue entries:
    guard:label:<Label>   {"role": least role that may write it, "immutable": bool, "mutable":
    [property names that may still change],
                           "fixed": [property names that never change, where the others may],
                           "removable": bool (it may be deleted all the same),
                           "holds": {property: "text" | "integer" |
                           "number" | "list", with "?" at its end where it may be absent},
                           "addressed": bool (only nodes with a kref are meant),
                           "by_hand": {property: least role that may change it in a query},
                           "within": type of an edge that comes in if it has a kref; judged at
                           the end of a transaction,
                           "reserved": {property: {"role": least role, "names": [values that, and
                           whatever looks like them, take that role]}},
                           "judged": bool (a new node is shown to the check before the commit; one
                           that is set is anyway),
                           "edges": [types; whom a changed edge of them leaves is checked too],
                           "owned": {property: the same; a node that has such a value is changed
                           and deleted by that role alone}}
    guard:address         {"labels": [of which a node with a kref has one]}; no query gives a kref
    guard:edge:<TYPE>     {"role": ..., "names": [values of the edge property `name` it is about;
    empty = all; what looks like one is meant too],
                           "by_hand": least role that may write it in a query, "derived": [values
                           of `name` that no query writes],
                           "single": bool (at most one such edge leaves a node), "single_in": bool
                           (at most one comes in),
                           "single_name": bool (of each value of `name` at most one leaves a node),
                           "kept": bool (never removed),
                           "along": type of an edge that must join the same two nodes, "ends":
                           [[labels it leaves], [labels it reaches]],
                           "into": [labels]; instead of `ends`: it is about edges that reach a node
                           with an address and such a label, "from": [labels that these leave],
                           "needs": [properties that it has, as text that is not empty],
                           "chain": {property: as in `owned`}; see intake/chains.py}
An edge guard with `ends` is about nodes that have an address and a label which some `ends` names,
at either end: between other nodes the type is anybody's, so that a graph of other things may have a
CURRENT or TAG of its own. Role order: background <
agent < operator < system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConstraintError, RoleError
from doxa.base.ids import ROLES, Role
from doxa.base.lookalikes import reads_as
from doxa.base.values import Properties, same_value
from doxa.store.rows import Edge

_HELD_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "integer": (int,),
    "number": (int, float),
    "list": (list,),
}


class End(NamedTuple):
    """One end of an edge, as far as guards look at it."""

    labels: tuple[str, ...]
    addressed: bool


def rank(role: str) -> int:
    return ROLES.index(role) if role in ROLES else len(ROLES)


class Guards:
    """The catalogue's guards, parsed once per catalogue change."""

    def __init__(self, catalogue: dict[str, Any]) -> None:
        self.labels = {
            name[12:]: rule for name, rule in catalogue.items() if name.startswith("guard:label:")
        }
        self.edges = {
            name[11:]: rule for name, rule in catalogue.items() if name.startswith("guard:edge:")
        }
        self._addressed = frozenset(catalogue.get("guard:address", {}).get("labels", ()))
        self._into = {
            kind: frozenset(rule["into"]) for kind, rule in self.edges.items() if rule.get("into")
        }
        self.judged_last = frozenset(
            kind
            for kind, rule in self.edges.items()
            if any(rule.get(key) for key in ("single", "single_in", "single_name", "along"))
        )
        self.shown_by = {kind for rule in self.labels.values() for kind in rule.get("edges", ())}
        self.judged = frozenset(label for label, rule in self.labels.items() if rule.get("judged"))
        self.within = {
            label: rule["within"] for label, rule in self.labels.items() if rule.get("within")
        }
        self.held_by: dict[str, list[str]] = {}  # the labels of what edges of a type hold
        for label, kind in self.within.items():
            self.held_by.setdefault(kind, []).append(label)
        self._bound = frozenset(
            label for rule in self.edges.values() for side in rule.get("ends", ()) for label in side
        )
        self._sides = {
            kind: tuple(map(frozenset, rule["ends"]))
            for kind, rule in self.edges.items()
            if rule.get("ends")
        }

    def node_write(
        self, role: Role, labels: tuple[str, ...], props: Properties | None = None
    ) -> None:
        """Check a node that is written with `props`, or deleted (None)."""
        for label in labels:
            rule = self.labels.get(label)
            if rule and rank(role) < rank(rule.get("role", ROLES[0])):
                raise _refused(role, f"nodes labelled {label}", rule["role"])
            if rule and props is not None and _is_about(rule, props):
                for name, kind in rule.get("holds", {}).items():
                    _check_held(label, name, kind, props.get(name))

    def node_values(
        self,
        role: Role,
        labels: tuple[str, ...],
        *,
        before: Properties,
        after: Properties,
        by_hand: bool,
    ) -> None:
        """Check the values of a node that is made (`before` is empty) or set. `by_hand`: a query
        writes them, and no operation."""
        kref = after.get("kref")
        if self._addressed and kref is not None:
            given = kref != before.get("kref")
            if given or self._addressed.isdisjoint(labels):
                self._check_address(labels, kref, by_hand=by_hand and given)
        for label in labels:
            rule = self.labels.get(label)
            if rule is None or not (_is_about(rule, after) or _is_about(rule, before)):
                continue
            for name, kept in rule.get("reserved", {}).items():
                value = after.get(name)
                if rank(role) < rank(kept["role"]) and value != before.get(name):
                    like = reads_as(value, kept["names"])
                    if like:
                        what = f"the {name} {str(value)[:40]!r}{_reads_as(value, like)}"
                        raise _refused(role, what, kept["role"])
            for name, needed in rule.get("by_hand", {}).items() if by_hand else ():
                if rank(role) < rank(needed) and not same_value(before.get(name), after.get(name)):
                    raise _by_hand(f"{name} of a {label} is", needed)

    def _check_address(self, labels: tuple[str, ...], kref: object, *, by_hand: bool) -> None:
        """Refuse an address that a query gives, and one of what is not doxa's: it would be taken
        for everybody."""
        if by_hand:
            raise ConstraintError(
                "No query gives an address: the property kref is written by doxa alone.",
                next_step="Call doxa.remember, or give the property another name.",
                property="kref",
            )
        if self._addressed.isdisjoint(labels) or not isinstance(kref, str):
            raise ConstraintError(
                "The property kref is the address of a belief, turn or place;"
                f" {':'.join(labels) or 'a node without a label'} has none.",
                next_step="Give the property another name.",
                property="kref",
            )

    def node_change(
        self,
        role: Role,
        labels: tuple[str, ...],
        *,
        before: Properties,
        after: Properties | None,
        labels_after: tuple[str, ...] | None = None,
    ) -> None:
        """Check a change of a node: `after` None deletes it, `labels_after` None keeps them."""
        later = labels if labels_after is None else labels_after
        for label in dict.fromkeys((*labels, *later)):
            rule = self.labels.get(label)
            for name, kept in rule.get("owned", {}).items() if rule and label in labels else ():
                like = reads_as(before.get(name), kept["names"])
                if like and rank(role) < rank(kept["role"]):
                    raise _refused(role, f"a {label} whose {name} is {like}", kept["role"])
            if not rule or not (rule.get("immutable") or rule.get("fixed")) or role == "system":
                continue
            was = label in labels and _is_about(rule, before)
            if after is not None and was != (label in later and _is_about(rule, after)):
                raise _relabelled(label, was)
            if not was:
                continue
            if after is None and rule.get("removable"):
                continue
            if after is None:
                changed = {"(the node itself)"}
            else:
                names = before.keys() | after.keys()
                changed = {
                    name for name in names if not same_value(before.get(name), after.get(name))
                }
                changed = (
                    changed & set(rule["fixed"])
                    if rule.get("fixed")
                    else changed - set(rule.get("mutable", ()))
                )
            if changed:
                raise ConstraintError(
                    f"A {label} does not change once written; this would change"
                    f" {', '.join(sorted(changed))}.",
                    next_step="Write a new revision instead; the old one stays in history.",
                    label=label,
                    properties=sorted(changed),
                )

    def has_ends(self, kind: str) -> bool:
        return kind in self._sides or kind in self._into

    def edge_write(
        self,
        role: Role,
        kind: str,
        props: Properties,
        *,
        ends: tuple[End, End] | None = None,
        by_hand: bool = False,
    ) -> bool:
        """Return whether a guard is about this edge at all. `ends` are given where the guard asks
        for them. Raises RoleError or ConstraintError."""
        rule = self.edges.get(kind)
        if not rule:
            return False
        sides = self._sides.get(kind)
        if ends is not None and sides is not None:
            (src, dst), (allowed_src, allowed_dst) = ends, sides
            if not (self._is_bound(src) or self._is_bound(dst)):
                return False
            if (
                not (src.addressed and dst.addressed)
                or allowed_src.isdisjoint(src.labels)
                or allowed_dst.isdisjoint(dst.labels)
            ):
                raise _misplaced(kind, rule["ends"], ends)
        if ends is not None and kind in self._into:
            if not ends[1].addressed or self._into[kind].isdisjoint(ends[1].labels):
                return False
            if not ends[0].addressed or frozenset(rule["from"]).isdisjoint(ends[0].labels):
                raise _misplaced(kind, [rule["from"], rule["into"]], ends)
        needed = rule.get("role", ROLES[0])
        if rank(role) < rank(needed):
            names, name = rule.get("names") or (), props.get("name")
            like = reads_as(name, names)
            if not names or like:
                what = (
                    f"the tag {name!r}{_reads_as(name, like)}" if names else f"edges of type {kind}"
                )
                raise _refused(role, what, needed)
        if by_hand:
            if props.get("name") in rule.get("derived", ()):
                raise _by_hand(f"the tag {props['name']!r} is", "system")
            if rank(role) < rank(rule.get("by_hand", ROLES[0])):
                raise _by_hand(f"edges {kind} of beliefs are", rule["by_hand"])
        return True

    def check_needs(self, kind: str, props: Properties) -> None:
        """Check that an edge that a guard applies to says what it has to."""
        for name in self.edges[kind].get("needs", ()):
            value = props.get(name)
            if not isinstance(value, str) or not value.strip():
                raise ConstraintError(
                    f"An edge {kind} needs the property {name}.",
                    next_step="Say why the edge exists and what made it.",
                    edge_type=kind,
                    property=name,
                )

    def edge_removal(self, role: Role, kind: str) -> None:
        """Check the removal of an edge that a guard applies to."""
        if self.edges[kind].get("kept") and role != "system":
            raise ConstraintError(
                f"An edge of type {kind} is part of what a belief is and is not removed.",
                next_step="Deprecate the belief, or take its tags off; it stays in history.",
                edge_type=kind,
            )

    def misplaced(self, kind: str, ends: tuple[End, End]) -> str | None:
        """Return why an edge that is there should not be; None if it may be, empty if no guard is
        about it."""
        try:
            return None if self.edge_write("system", kind, {}, ends=ends) else ""
        except ConstraintError as error:
            return error.message

    def _is_bound(self, end: End) -> bool:
        return end.addressed and not self._bound.isdisjoint(end.labels)


_SINGLE = "SELECT count(*) FROM (SELECT 1 FROM edge WHERE src = ? AND type = ? LIMIT 2)"
_SINGLE_IN = "SELECT count(*) FROM (SELECT 1 FROM edge WHERE dst = ? AND type = ? LIMIT 2)"
_SINGLE_NAME = (
    "SELECT props ->> '$.name' FROM edge WHERE src = ? AND type = ? GROUP BY 1 HAVING count(*) > 1"
    " LIMIT 1"
)
_JOINED = "SELECT EXISTS (SELECT 1 FROM edge WHERE src = ?1 AND type = ?2 AND dst = ?3)"


Known = Callable[[bool, int, str], list[Edge] | None]


def misfits(
    db: apsw.Connection,
    rule: dict[str, Any],
    *,
    kind: str,
    src: int,
    dst: int,
    known: Known = lambda *_: None,
) -> Iterator[str]:
    """Return what only the whole transaction can show: how the edges of a type at two nodes break
    its guard, in words. `known` gives the edges into (True) or out of a node where they need not be
    read."""
    out, into = known(False, src, kind), known(True, dst, kind)
    if rule.get("single") and _count(db, _SINGLE, (src, kind), out) > 1:
        yield f"two {kind} edges leave node {src}"
    if rule.get("single_in") and _count(db, _SINGLE_IN, (dst, kind), into) > 1:
        yield f"two {kind} edges reach node {dst}"
    if rule.get("single_name"):
        twice = db.execute(_SINGLE_NAME, (src, kind)).fetchone()
        if twice:
            yield f"two {kind} edges named {str(twice[0])[:40]!r} leave node {src}"
    along = rule.get("along")
    if (
        along
        and _joined(db, (src, kind, dst), into)
        and not _joined(db, (src, along, dst), known(True, dst, along))
    ):
        yield f"the edge {kind} from node {src} to node {dst} has no edge {along} next to it"


def _count(
    db: apsw.Connection, sql: str, args: tuple[int, str], edges: Sequence[Edge] | None
) -> int:
    return int(db.execute(sql, args).get) if edges is None else len(edges)


def _joined(db: apsw.Connection, args: tuple[int, str, int], into: Sequence[Edge] | None) -> bool:
    if into is None:
        return bool(db.execute(_JOINED, args).get)
    return any(edge.src == args[0] for edge in into)


def _is_about(rule: dict[str, Any], props: Properties) -> bool:
    return not rule.get("addressed") or props.get("kref") is not None


def _check_held(label: str, name: str, kind: str, value: object) -> None:
    if value is None and kind.endswith("?"):
        return
    wanted = kind.removesuffix("?")
    if not isinstance(value, _HELD_TYPES[wanted]) or isinstance(value, bool):
        found = "is missing" if value is None else f"is {type(value).__name__} {str(value)[:40]!r}"
        raise ConstraintError(
            f"A node labelled {label} holds {name} as {wanted}; here it {found}.",
            next_step=(
                "State beliefs with remember and conversations with ingest, or give the node"
                " another label."
            ),
            label=label,
            property=name,
        )


def _relabelled(label: str, was: bool) -> ConstraintError:
    return ConstraintError(
        f"A node keeps its labels that make it a belief: it would {'lose' if was else 'gain'}"
        f" {label} after it was made.",
        next_step="Make a node of its own for it; the label can be chosen then.",
        label=label,
    )


def _misplaced(kind: str, sides: list[list[str]], ends: tuple[End, End]) -> ConstraintError:
    wanted, found = (
        (" or ".join(side) for side in sides),
        (":".join(end.labels) or "a node without a label" for end in ends),
    )
    return ConstraintError(
        f"An edge {kind} at a belief goes from {' to '.join(wanted)}; this would go from"
        f" {' to '.join(found)}.",
        next_step=(
            "Use a type of your own, such as DEPENDS_ON, or the operation that is for this: tag,"
            " revise, bundle, attach."
        ),
        edge_type=kind,
    )


def _reads_as(value: object, name: str | None) -> str:
    return "" if value == name else f", which reads as {name!r}"


def _by_hand(what: str, needed: str) -> RoleError:
    who = "by doxa alone" if needed == "system" else f"by an {needed} or by doxa itself"
    return RoleError(
        f"In a query, {what} written {who}.",
        next_step="Call the operation that is for this: doxa.tag, doxa.revise, doxa.bundle.",
        needed=needed,
    )


def _refused(role: str, what: str, needed: str) -> RoleError:
    return RoleError(
        f"The role {role} may not write {what}; it takes {needed}.",
        next_step=f"Ask the {needed} to make this change.",
        role=role,
        needed=needed,
    )
