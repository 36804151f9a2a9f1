"""Declared constraints, tested on what a transaction touched: at the end of each statement, and
again before the commit.

Catalogue entry   constraint:<name>  {"kind": …, "edge": bool, "name": label or type, "properties":
[...], "detail": [...], "index": id or null}

    unique       no two elements of a project with the same properties (those that have them all)
    key          the same, and all present
    exists       the property is present                                                  type
    it is of a type
    values       it is one of a list                                                      temporal
    (key…, from, to): windows of one key
    cardinality  at most n such edges out of (into) a node
    do not overlap
    endpoints    edges of the type join only the labels of ALLOWED pairs, and no DISALLOWED one

Temporal windows are half-open, a missing end is open, from < to; their ends are compared as
instants, whatever types say them. The index of a temporal constraint orders each key's windows by
their start, so an overlap can only be with the neighbour before or after: two steps in a B-tree,
however many windows there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import ConstraintError
from doxa.base.temporal_instant import INSTANT_FORMS, instant_of
from doxa.base.value_types import conforms
from doxa.base.values import Properties, canonical, decode_properties
from doxa.store.index import elements, window_key, window_neighbours
from doxa.store.indexing.keys import key_of


class ConstraintRule(NamedTuple):
    name: str
    kind: str
    edge: bool
    about: str
    properties: tuple[str, ...]
    detail: tuple[Any, ...]
    entries: int | None  # the index whose entries it reads


class Constraints:
    """The declared constraints, by label and by type."""

    def __init__(self, catalogue: Mapping[str, Any]) -> None:
        self.rules = [
            _rule(name, value)
            for name, value in sorted(catalogue.items())
            if name.startswith("constraint:")
        ]
        self.by_name = {rule.name: rule for rule in self.rules}
        self.labels: dict[str, list[ConstraintRule]] = {}
        self.types: dict[str, list[ConstraintRule]] = {}
        for rule in self.rules:
            (self.types if rule.edge else self.labels).setdefault(rule.about, []).append(rule)


def _rule(name: str, value: Mapping[str, Any]) -> ConstraintRule:
    return ConstraintRule(
        name[11:],
        value["kind"],
        value["edge"],
        value["name"],
        tuple(value["properties"]),
        tuple(value["detail"]),
        value["index"],
    )


class ConstraintChecker:
    """What one transaction has touched, and the tests of it."""

    def __init__(self, db: apsw.Connection, constraints: Constraints) -> None:
        self._db = db
        self.constraints = constraints
        self._nodes: set[int] = set()
        self._edges: set[int] = set()
        self._ends: set[tuple[str, int, str]] = set()  # (type, node, side)

    def node_touched(self, identity: int, labels: Iterable[str]) -> None:
        held = self.constraints.labels
        if (held and any(label in held for label in labels)) or self.constraints.types:
            self._nodes.add(identity)

    def nodes_touched(self, identities: Iterable[int], labels: Iterable[str]) -> None:
        """Note nodes that have the same labels."""
        if self.constraints.types or not self.constraints.labels.keys().isdisjoint(labels):
            self._nodes.update(identities)

    def edge_touched(self, identity: int, kind: str, *, src: int, dst: int) -> None:
        if kind in self.constraints.types:
            self._edges.add(identity)
            self._ends.update(((kind, src, "out"), (kind, dst, "in")))

    def verify(self) -> None:
        """Raise ConstraintError for the first violation among what was touched since the last
        call."""
        nodes, edges, ends = self._nodes, self._edges, self._ends
        self._nodes, self._edges, self._ends = set(), set(), set()
        for identity in nodes:
            self._verify_node(identity)
        for identity in edges:
            self._verify_edge(identity)
        for kind, node, side in ends:
            self._verify_count(kind, node, side)

    def _verify_node(self, identity: int) -> None:
        row = self._db.execute(
            "SELECT labels, json(props) FROM node WHERE id = ?", (identity,)
        ).fetchone()
        if row is None:
            return
        labels = decode_properties(row[0])
        for label in labels:
            for rule in self.constraints.labels.get(label, ()):
                self.verify_element(rule, identity, decode_properties(row[1]))
        if any(
            rule.kind == "endpoints" for rules in self.constraints.types.values() for rule in rules
        ):
            for row in self._db.execute(
                "SELECT id FROM edge WHERE src = ? OR dst = ?", (identity, identity)
            ).fetchall():
                self._verify_edge(int(str(row[0])))

    def _verify_edge(self, identity: int) -> None:
        row = self._db.execute(
            "SELECT type, json(props), src, dst FROM edge WHERE id = ?", (identity,)
        ).fetchone()
        if row is None:
            return
        rules = self.constraints.types.get(row[0], [])
        for rule in rules:
            if rule.kind not in ("cardinality", "endpoints"):
                self.verify_element(rule, identity, decode_properties(row[1]))
        self._verify_endpoints(rules, identity, src=row[2], dst=row[3])

    def verify_element(self, rule: ConstraintRule, identity: int, props: Properties) -> None:
        """Test one element against one constraint on properties."""
        if rule.kind in ("exists", "key"):
            for name in rule.properties:
                if name not in props:
                    raise _violated(
                        rule,
                        identity,
                        f"it must have the property {name}",
                        "Give it a value in the same statement.",
                    )
        if rule.kind in ("unique", "key"):
            self._verify_unique(rule, identity, props)
        elif rule.kind == "type":
            value = props.get(rule.properties[0])
            if value is not None and not conforms(value, rule.detail[0]):
                raise _violated(
                    rule,
                    identity,
                    f"it needs {rule.properties[0]} of type {rule.detail[0]}",
                    "Convert the value first.",
                )
        elif rule.kind == "values":
            value = props.get(rule.properties[0])
            if value is not None and canonical(value) not in [
                canonical(one) for one in rule.detail
            ]:
                raise _violated(
                    rule,
                    identity,
                    f"it needs {rule.properties[0]} from its list of values",
                    "Use one of the values of the constraint.",
                )
        elif rule.kind == "temporal":
            self._verify_window(rule, identity, props)

    def _verify_unique(self, rule: ConstraintRule, identity: int, props: Properties) -> None:
        key = key_of([props.get(name) for name in rule.properties])
        if key is None:
            return
        other = self._db.execute(
            "SELECT element FROM entry WHERE idx = ?1 AND key = ?2 AND element <> ?3 AND"
            f" {_of_one_project(rule)} LIMIT 1",
            (rule.entries, key, identity),
        ).get
        if other is not None:
            names, kind = (
                ", ".join(rule.properties),
                "type" if rule.edge else "label",
            )  # in words that Neo4j's object mappers look for
            how = (
                f"{_what(rule)} {other} already exists with {kind} {rule.about} and the same"
                f" {names}"
            )
            raise _violated(rule, identity, how, "Change one of them, or MERGE.", other=other)

    def _verify_window(self, rule: ConstraintRule, identity: int, props: Properties) -> None:
        *keys, start_name, end_name = rule.properties
        values = [props.get(name) for name in rule.properties]
        if any(value is None for value in values[:-1]):
            raise _violated(
                rule,
                identity,
                f"it must have {', '.join([*keys, start_name])}",
                "Give them values in the same statement.",
            )
        for name in (start_name, end_name):
            if name in props and instant_of(props[name]) is None:
                raise _violated(
                    rule,
                    identity,
                    f"its {name} is not a time: {props[name]!r:.40}",
                    f"Give {INSTANT_FORMS}.",
                )
        own, prefix, low = window_key(values), key_of(values[:-2]), instant_of(values[-2])
        assert own is not None and prefix is not None and low is not None
        start, end = own[-32:-16], own[-16:]
        if not start < end:
            raise _violated(
                rule,
                identity,
                f"it must begin before it ends: {start_name} < {end_name}",
                "Exchange or correct the times.",
            )
        before, after = (
            self._first(rule, identity, place) for place in window_neighbours(prefix, low)
        )
        if before is not None and before[1][-16:] > start:
            raise _overlap(rule, identity, before[0])
        if after is not None and after[1][-32:-16] < end:
            raise _overlap(rule, identity, after[0])

    def _first(
        self, rule: ConstraintRule, identity: int, place: tuple[str, bytes, bytes]
    ) -> tuple[int, bytes] | None:
        """The first other element of a part of the constraint's index, with its key."""
        order, least, beyond = place
        sql = (
            "SELECT element, key FROM entry WHERE idx = ?1 AND key >= ?2 AND key < ?4 AND element"
            f" <> ?3 AND {_of_one_project(rule)} ORDER BY key {order} LIMIT 1"
        )
        found: Any = self._db.execute(sql, (rule.entries, least, identity, beyond)).fetchone()
        return None if found is None else (found[0], found[1])

    def _verify_count(self, kind: str, node: int, side: str) -> None:
        for rule in self.constraints.types.get(kind, ()):
            if rule.kind == "cardinality" and rule.detail[0] == side:
                end = "src" if side == "out" else "dst"
                limit = int(rule.detail[1])
                count = self._db.execute(
                    f"SELECT count(*) FROM (SELECT 1 FROM edge WHERE {end} = ? AND type = ?"
                    " LIMIT ?)",
                    (node, kind, limit + 1),
                ).get
                if count > limit:
                    way = "out of" if side == "out" else "into"
                    raise ConstraintError(
                        f"The constraint {rule.name} allows {limit} {kind} edges {way} a node; node"
                        f" {node} would have more.",
                        next_step="Delete one of them in the same statement.",
                        constraint=rule.name,
                        node=node,
                    )

    def _verify_endpoints(
        self, rules: list[ConstraintRule], identity: int, *, src: int, dst: int
    ) -> None:
        pairs = [rule for rule in rules if rule.kind == "endpoints"]
        if not pairs:
            return
        ends = [frozenset(self._labels(node)) for node in (src, dst)]
        allowed = [rule for rule in pairs if rule.detail[0]]
        fits = [rule for rule in pairs if rule.detail[1] in ends[0] and rule.detail[2] in ends[1]]
        refusing = next((rule for rule in fits if not rule.detail[0]), None)
        if refusing is None and allowed and not any(rule.detail[0] for rule in fits):
            refusing = allowed[0]
        if refusing is not None:
            raise _violated(
                refusing,
                identity,
                f"it joins {sorted(ends[0])} to {sorted(ends[1])}",
                "Connect nodes of the labels that are allowed.",
            )

    def _labels(self, node: int) -> list[str]:
        found = self._db.execute("SELECT labels FROM node WHERE id = ?", (node,)).get
        return [] if found is None else list(decode_properties(found))

    def verify_all(self, rule: ConstraintRule) -> None:
        """Test everything that a new constraint is about."""
        for identity, props in elements(self._db, edge=rule.edge, names=(rule.about,)):
            ends = (
                self._db.execute("SELECT src, dst FROM edge WHERE id = ?", (identity,)).fetchone()
                if rule.edge
                else None
            )
            if rule.kind == "endpoints":
                self._verify_edge(identity)
            elif rule.kind == "cardinality" and ends is not None:
                self._verify_count(
                    rule.about, ends[0] if rule.detail[0] == "out" else ends[1], rule.detail[0]
                )
            else:
                self.verify_element(rule, identity, props)


def _of_one_project(rule: ConstraintRule) -> str:
    """Return the test that another element lies in the project of the one that is tested (?3), or
    both in none: what is taken in one project must tell nobody of it in another."""
    of = f"(SELECT project FROM main.{_what(rule)} WHERE id = "
    return f"{of} entry.element) IS {of} ?3)"


def _what(rule: ConstraintRule) -> str:
    return "edge" if rule.edge else "node"


def _violated(
    rule: ConstraintRule, identity: int, how: str, next_step: str, **fields: object
) -> ConstraintError:
    return ConstraintError(
        f"{_what(rule).capitalize()} {identity} breaks the constraint {rule.name} on {rule.about}:"
        f" {how}.",
        next_step=next_step,
        constraint=rule.name,
        element=identity,
        **fields,
    )


def _overlap(rule: ConstraintRule, identity: int, other: int) -> ConstraintError:
    return _violated(
        rule,
        identity,
        f"it overlaps the window of {_what(rule)} {other}",
        "End the other window first, or begin later.",
        other=other,
    )
