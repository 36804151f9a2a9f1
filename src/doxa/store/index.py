"""Declared indexes over properties of nodes and edges, kept in the same transaction as what they index.

Catalogue entry   index:<name>  {"id": n, "kind": "range"|"text"|"fulltext"|"vector"|"point", "edge": bool, "names": [labels or types],
                                 "properties": [...], "options": {...}, "owner": constraint name or null}
Table             entry(idx, key, element)   key = `keys.key_of` the properties, in order; an element without all of them has no entry

Range, text and point indexes have entries. Full-text and vector indexes are read by the rooms that search; here they are only declared.
Entries are a function of the graph: `check` recomputes them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import apsw

from doxa.base.values import Properties, decode_properties
from doxa.store.keys import key_of

_serials = itertools.count(1)
State = tuple[Iterable[str], Properties]  # labels and properties
ENTRY_KINDS = frozenset({"range", "text", "point"})


class IndexRule(NamedTuple):
    id: int
    name: str
    kind: str
    edge: bool
    names: tuple[str, ...]
    properties: tuple[str, ...]
    options: dict[str, Any]
    owner: str | None

    def key(self, props: Properties) -> bytes | None:
        """The key of an element with these properties, or None if it has no entry."""
        return key_of([props.get(name) for name in self.properties])


class Indexes:
    """The declared indexes, by what they are about."""

    def __init__(self, catalogue: Mapping[str, Any]) -> None:
        self.rules = [_rule(name, value) for name, value in sorted(catalogue.items()) if name.startswith("index:")]
        self.by_name = {rule.name: rule for rule in self.rules}
        self.serial = next(_serials)  # tells these declarations from all others of the process
        self._labels: dict[str, list[IndexRule]] = {}
        self._types: dict[str, list[IndexRule]] = {}
        for rule in self.rules:
            if rule.kind in ENTRY_KINDS:
                for name in rule.names:
                    (self._types if rule.edge else self._labels).setdefault(name, []).append(rule)

    def of_labels(self, labels: Iterable[str]) -> list[IndexRule]:
        if not self._labels:
            return []
        found = {rule.id: rule for label in labels for rule in self._labels.get(label, ())}
        return list(found.values())

    def of_type(self, kind: str) -> list[IndexRule]:
        return self._types.get(kind, [])


def _rule(name: str, value: Mapping[str, Any]) -> IndexRule:
    return IndexRule(
        value["id"], name[6:], value["kind"], value["edge"], tuple(value["names"]), tuple(value["properties"]), value["options"], value["owner"]
    )


class IndexWriter:
    """Keeps the entries of one transaction's elements."""

    def __init__(self, db: apsw.Connection, indexes: Indexes) -> None:
        self._db = db
        self.indexes = indexes

    def node_changed(self, identity: int, before: State | None, after: State | None) -> None:
        """Before and after; None is absence."""
        if not self.indexes.rules:
            return
        old = {} if before is None else {rule.id: rule.key(before[1]) for rule in self.indexes.of_labels(before[0])}
        new = {} if after is None else {rule.id: rule.key(after[1]) for rule in self.indexes.of_labels(after[0])}
        self._replace(identity, old, new)

    def edge_changed(self, identity: int, kind: str, *, before: Properties | None, after: Properties | None) -> None:
        rules = self.indexes.of_type(kind)
        if rules:
            old = {} if before is None else {rule.id: rule.key(before) for rule in rules}
            new = {} if after is None else {rule.id: rule.key(after) for rule in rules}
            self._replace(identity, old, new)

    def _replace(self, identity: int, old: Mapping[int, bytes | None], new: Mapping[int, bytes | None]) -> None:
        for index in old.keys() | new.keys():
            one, other = old.get(index), new.get(index)
            if one == other:
                continue
            if one is not None:
                self._db.execute("DELETE FROM entry WHERE idx = ? AND key = ? AND element = ?", (index, one, identity))
            if other is not None:
                self._db.execute("INSERT OR IGNORE INTO entry VALUES(?, ?, ?)", (index, other, identity))


def build(db: apsw.Connection, rule: IndexRule) -> None:
    """Enter every element that a new index is about."""
    if rule.kind not in ENTRY_KINDS:
        return
    for identity, props in elements(db, edge=rule.edge, names=rule.names):
        key = rule.key(props)
        if key is not None:
            db.execute("INSERT OR IGNORE INTO entry VALUES(?, ?, ?)", (rule.id, key, identity))


def drop(db: apsw.Connection, index: int) -> None:
    db.execute("DELETE FROM entry WHERE idx = ?", (index,))


def elements(db: apsw.Connection, *, edge: bool, names: Iterable[str]) -> Iterable[tuple[int, Properties]]:
    """The live nodes of labels, or edges of types, with their properties, each once."""
    seen: set[int] = set()
    for name in names:
        if edge:
            rows = db.execute("SELECT id, json(props) FROM edge WHERE type = ?", (name,))
        else:
            rows = db.execute("SELECT n.id, json(n.props) FROM node_label l CROSS JOIN node n ON n.id = l.node WHERE l.label = ?", (name,))
        found: list[Any] = rows.fetchall()
        for identity, props in found:
            if identity not in seen:
                seen.add(identity)
                yield identity, decode_properties(props)


def problems(db: apsw.Connection, indexes: Indexes) -> Iterable[str]:
    """Where the entries are not what the graph says."""
    for rule in indexes.rules:
        if rule.kind not in ENTRY_KINDS:
            continue
        wanted = {(key, identity) for identity, props in elements(db, edge=rule.edge, names=rule.names) if (key := rule.key(props)) is not None}
        held = {(bytes(row[0]), row[1]) for row in db.execute("SELECT key, element FROM entry WHERE idx = ?", (rule.id,))}
        for _, identity in sorted(wanted - held):
            yield f"the index {rule.name} lacks {'edge' if rule.edge else 'node'} {identity}"
        for _, identity in sorted(held - wanted):
            yield f"the index {rule.name} holds {'edge' if rule.edge else 'node'} {identity} wrongly"
    known = {rule.id for rule in indexes.rules}
    for (index,) in db.execute("SELECT DISTINCT idx FROM entry"):
        if index not in known:
            yield f"entries of an index {index} that is not declared"
