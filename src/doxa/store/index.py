"""Declared indexes over properties of nodes and edges, kept in the same transaction as what they
index.

Catalogue entry   index:<name>  {"id": n, "kind":
"range"|"text"|"fulltext"|"vector"|"point"|"window", "edge": bool, "names": [labels or types],
                                 "properties": [...], "options": {...}, "owner": constraint name or
                                 null}
Tables            entry(idx, key, element)        the present
                  entry_past(idx, key, element)   closed versions that the past keeps, at the latest
                  when the key leaves `entry`: who asks for the past reads both; without times: who
                  asks looks at the version itself

    range, text, point   key = `keys.key_of` the properties, in order; an element without all of
    them has no entry
    window               of a temporal constraint, (key…, from, to): the key of the key properties,
    then the instants of start and end, 16 bytes
                         each, an open end as FF…; an element without a key, a start or such an end
                         has no entry
    fulltext             for each term 01 term 00 count (u8) length (u16 BE), and once 00 length
    (u16 BE); count and length of all properties together
    vector               the vector, f32 LE, of options["indexConfig"]["vector.dimensions"] numbers

Entries are a function of the graph: `check` recomputes them. Full-text and vector indexes have none
of the past.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from doxa.base.errors import InputError
from doxa.base.temporal_instant import instant_key, instant_of
from doxa.base.values import Properties, decode, decode_properties
from doxa.base.words import term_counts
from doxa.store.indexing.keys import after_key, key_of

_serials = itertools.count(1)
State = tuple[Iterable[str], Properties]  # labels and properties
_LENGTH_MAX, _COUNT_MAX = 65_535, 255
_OF_THE_PAST = frozenset(("range", "text", "point"))
FLOAT_MAX = 3.4028234663852886e38  # of 32 bits
_ENTER = "INSERT OR IGNORE INTO main.entry VALUES(?, ?, ?)"
_LEAVE = "DELETE FROM main.entry WHERE idx = ? AND key = ? AND element = ?"
_ENTER_PAST = "INSERT OR IGNORE INTO main.entry_past VALUES(?, ?, ?)"
OPEN_END = b"\xff" * 16
SIMILARITIES = ("cosine", "euclidean")


class IndexRule(NamedTuple):
    id: int
    name: str
    kind: str
    edge: bool
    names: tuple[str, ...]
    properties: tuple[str, ...]
    options: dict[str, Any]
    owner: str | None
    # shown as a range index, but its keys are windows: no way in for comparisons of properties
    window: bool = False

    def keys(self, props: Properties) -> frozenset[bytes]:
        """Return the keys of an element with these properties."""
        if self.kind == "fulltext":
            return _term_keys([props.get(name) for name in self.properties])
        if self.kind == "vector":
            return _vector_keys(props.get(self.properties[0]), self.dimensions)
        values = [props.get(name) for name in self.properties]
        key = window_key(values) if self.window else key_of(values)
        return frozenset() if key is None else frozenset((key,))

    @property
    def dimensions(self) -> int | None:
        """Of a vector index: how many numbers its vectors have, or None if any."""
        found = self.config.get("vector.dimensions")
        return found if type(found) is int else None

    @property
    def config(self) -> Mapping[str, Any]:
        found = self.options.get("indexConfig") if isinstance(self.options, Mapping) else None
        return found if isinstance(found, Mapping) else {}


_Indexed = tuple[Sequence[IndexRule], Properties | None]  # by which an element is indexed
_Entry = tuple[int, bytes, bool]  # index, key, whether it may be of the past


class Indexes:
    """The declared indexes, by what they are about."""

    def __init__(self, catalogue: Mapping[str, Any]) -> None:
        self.rules = [
            _rule(name, value)
            for name, value in sorted(catalogue.items())
            if name.startswith("index:")
        ]
        self.by_name = {rule.name: rule for rule in self.rules}
        self.serial = next(_serials)  # tells these declarations from all others of the process
        self._labels: dict[str, list[IndexRule]] = {}
        self._types: dict[str, list[IndexRule]] = {}
        for rule in self.rules:
            for name in rule.names:
                (self._types if rule.edge else self._labels).setdefault(name, []).append(rule)

    def of_labels(self, labels: Iterable[str]) -> list[IndexRule]:
        """Return the indexes that lead to nodes of the labels by their properties."""
        return [rule for rule in self.kept_for(labels) if not rule.window]

    def of_type(self, kind: str) -> list[IndexRule]:
        """Return the indexes that lead to edges of the type by their properties."""
        return [rule for rule in self.kept_for_type(kind) if not rule.window]

    def kept_for(self, labels: Iterable[str]) -> list[IndexRule]:
        """Return all indexes with entries of nodes with the labels."""
        if not self._labels:
            return []
        found = {rule.id: rule for label in labels for rule in self._labels.get(label, ())}
        return list(found.values())

    def kept_for_type(self, kind: str) -> list[IndexRule]:
        return self._types.get(kind, [])


def window_key(values: list[Any]) -> bytes | None:
    """Return the key of (key…, start, end), or None if these are not the window of a key."""
    *keys, start, end = values
    prefix, low, high = key_of(keys), instant_of(start), instant_of(end)
    if prefix is None or low is None or (high is None and end is not None):
        return None
    return prefix + instant_key(low) + (OPEN_END if high is None else instant_key(high))


def window_neighbours(
    prefix: bytes, instant: int
) -> tuple[tuple[str, bytes, bytes], tuple[str, bytes, bytes]]:
    """Return where the windows of a key lie that begin at an instant or before, the latest first,
    and those that begin after it, the earliest first: (order, least key, first key beyond)."""
    beyond = after_key(prefix + instant_key(instant))
    return ("DESC", prefix, beyond), ("ASC", beyond, after_key(prefix))


def _term_keys(values: list[Any]) -> frozenset[bytes]:
    texts = [
        item
        for value in values
        for item in (value if isinstance(value, list) else [value])
        if isinstance(item, str)
    ]
    if not texts:
        return frozenset()
    counts = term_counts("\n".join(texts))
    length = min(_LENGTH_MAX, sum(counts.values())).to_bytes(2, "big")
    found = {
        b"\x01" + term.encode() + b"\x00" + bytes((min(_COUNT_MAX, count),)) + length
        for term, count in counts.items()
    }
    return frozenset(found | {b"\x00" + length})


def _vector_keys(value: Any, dimensions: int | None) -> frozenset[bytes]:
    if (
        not isinstance(value, list)
        or not value
        or not all(type(item) in (int, float) for item in value)
    ):
        return frozenset()
    if dimensions is not None and len(value) != dimensions:
        return frozenset()
    if not all(abs(item) <= FLOAT_MAX for item in value):  # NaN is refused too
        return frozenset()
    return frozenset((struct.pack(f"<{len(value)}f", *value),))


def _rule(name: str, value: Mapping[str, Any]) -> IndexRule:
    window = value["kind"] == "window"
    kind, names, properties = (
        "range" if window else value["kind"],
        tuple(value["names"]),
        tuple(value["properties"]),
    )
    return IndexRule(
        value["id"],
        name[6:],
        kind,
        value["edge"],
        names,
        properties,
        value["options"],
        value["owner"],
        window,
    )


class IndexWriter:
    """Keeps the entries of one transaction's elements."""

    def __init__(self, db: apsw.Connection, indexes: Indexes) -> None:
        self._db = db
        self.indexes = indexes

    def node_changed(
        self,
        identity: int,
        before: State | None,
        after: State | None,
        *,
        kept: bool = False,
        older: bool = False,
    ) -> None:
        """Update the index rows of a node; None is absence. `kept`: `before` is now a past version.
        `older`: there may be past versions older than `before`."""
        if not self.indexes.rules:
            return
        left = () if before is None else self.indexes.kept_for(before[0])
        if after is None:
            come: Sequence[IndexRule] = ()
        else:
            same = before is not None and before[0] == after[0]
            come = left if same else self.indexes.kept_for(after[0])
        if left or come:
            self._changed(
                identity,
                (left, before and before[1]),
                (come, after and after[1]),
                edge=False,
                kept=kept,
                older=older,
            )

    def nodes_made(self, labels: Iterable[str], nodes: Iterable[tuple[int, Properties]]) -> None:
        """Enter new nodes with the same labels, in the order of the index."""
        for rule in self.indexes.kept_for(labels):
            entries = [(rule.id, key, one) for one, props in nodes for key in rule.keys(props)]
            entries.sort()
            self._db.executemany(_ENTER, entries)

    def edge_changed(
        self,
        identity: int,
        kind: str,
        *,
        before: Properties | None,
        after: Properties | None,
        kept: bool = False,
        older: bool = False,
    ) -> None:
        """Update the index rows of an edge, as `node_changed` does."""
        rules = self.indexes.kept_for_type(kind)
        if rules:
            left, come = () if before is None else rules, () if after is None else rules
            self._changed(
                identity, (left, before), (come, after), edge=True, kept=kept, older=older
            )

    def _changed(
        self,
        identity: int,
        before: _Indexed,
        after: _Indexed,
        *,
        edge: bool,
        kept: bool,
        older: bool,
    ) -> None:
        gone, come = _entries_changed(before, after)
        if gone:
            past = [(index, key, identity) for index, key, of_past in gone if of_past]
            if kept and past:
                self._db.executemany(_ENTER_PAST, past)
            elif older and past:
                self.enter_past(identity, edge=edge, among=past)
            self._db.executemany(_LEAVE, [(index, key, identity) for index, key, _ in gone])
        if come:
            self._db.executemany(_ENTER, [(index, key, identity) for index, key, _ in come])

    def enter_past(
        self,
        identity: int,
        *,
        edge: bool,
        among: Container[tuple[int, bytes, int]] | None = None,
    ) -> None:
        """Enter the keys of all past versions of an element; or of the last one, those `among`
        these entries: older versions have the same keys, or entered theirs when they were left."""
        if not self.indexes.rules:
            return
        names, table = ("json_array(type)", "edge_past") if edge else ("labels", "node_past")
        last = "" if among is None else " ORDER BY since DESC LIMIT 1"
        rows: list[Any] = self._db.execute(
            f"SELECT {names}, json(props) FROM main.{table} WHERE id = ?{last}", (identity,)
        ).fetchall()
        for held, text in rows:
            kinds, props = decode(held), decode_properties(text)
            found = self.indexes.kept_for_type(kinds[0]) if edge else self.indexes.kept_for(kinds)
            self._db.executemany(
                _ENTER_PAST,
                [
                    (rule.id, key, identity)
                    for rule in found
                    if rule.kind in _OF_THE_PAST
                    for key in rule.keys(props)
                    if among is None or (rule.id, key, identity) in among
                ],
            )

    def erased(self, nodes: Iterable[int], edges: Iterable[int]) -> None:
        """Forget what elements were. A scan of each index: erasing is rare."""
        gone = {False: list(nodes), True: list(edges)}
        for rule in self.indexes.rules:
            for identity in gone[rule.edge]:
                self._db.execute(
                    "DELETE FROM main.entry_past WHERE idx = ? AND element = ?", (rule.id, identity)
                )


def _entries_changed(before: _Indexed, after: _Indexed) -> tuple[list[_Entry], list[_Entry]]:
    """Return the entries that an element leaves, and those that it comes to."""
    (left, old), (come, new) = before, after
    if left is come and old is not None and new is not None:
        left = come = [
            rule
            for rule in left
            if any([old.get(name) is not new.get(name) for name in rule.properties])
        ]
        if not left:
            return [], []
    held, wanted = _entries(left, old), _entries(come, new)
    return sorted(held - wanted), sorted(wanted - held)


def _entries(rules: Sequence[IndexRule], props: Properties | None) -> set[_Entry]:
    if props is None:
        return set()
    return {(rule.id, key, rule.kind in _OF_THE_PAST) for rule in rules for key in rule.keys(props)}


def build(db: apsw.Connection, rule: IndexRule) -> None:
    """Enter every element that a new index is about. Raises InputError for options that a vector
    index cannot have."""
    if rule.kind == "vector":
        _require_options(rule)
    for identity, props in elements(db, edge=rule.edge, names=rule.names):
        for key in rule.keys(props):
            db.execute(_ENTER, (rule.id, key, identity))
    build_past(db, rule)


def _require_options(rule: IndexRule) -> None:
    dimensions, function = (
        rule.config.get("vector.dimensions"),
        rule.config.get("vector.similarity_function", SIMILARITIES[0]),
    )
    if dimensions is not None and (type(dimensions) is not int or dimensions < 1):
        raise InputError(
            f"vector.dimensions of the index {rule.name} is a whole number from 1, not"
            f" {dimensions!r:.40}.",
            next_step="Give the number of dimensions of the model.",
            field="vector.dimensions",
        )
    if not isinstance(function, str) or function.lower() not in SIMILARITIES:
        raise InputError(
            f"vector.similarity_function of the index {rule.name} is {' or '.join(SIMILARITIES)},"
            f" not {function!r:.40}.",
            next_step="Choose one of them.",
            field="vector.similarity_function",
        )


def build_past(db: apsw.Connection, rule: IndexRule) -> None:
    """Enter every closed version that an index is about."""
    for identity, props in (
        past_elements(db, edge=rule.edge, names=rule.names) if rule.kind in _OF_THE_PAST else ()
    ):
        for key in rule.keys(props):
            db.execute(_ENTER_PAST, (rule.id, key, identity))


def drop(db: apsw.Connection, index: int) -> None:
    db.execute("DELETE FROM main.entry WHERE idx = ?", (index,))
    db.execute("DELETE FROM main.entry_past WHERE idx = ?", (index,))


def elements(
    db: apsw.Connection, *, edge: bool, names: Iterable[str]
) -> Iterable[tuple[int, Properties]]:
    """Return the live nodes of labels, or edges of types, with their properties, each once."""
    seen: set[int] = set()
    for name in names:
        if edge:
            rows = db.execute("SELECT id, json(props) FROM main.edge WHERE type = ?", (name,))
        else:
            rows = db.execute(
                "SELECT n.id, json(n.props) FROM main.node_label l CROSS JOIN main.node n ON"
                " n.id = l.node"
                " WHERE l.label = ?",
                (name,),
            )
        found: list[Any] = rows.fetchall()
        for identity, props in found:
            if identity not in seen:
                seen.add(identity)
                yield identity, decode_properties(props)


def past_elements(
    db: apsw.Connection, *, edge: bool, names: Iterable[str]
) -> Iterable[tuple[int, Properties]]:
    """Return the closed versions of nodes that had one of the labels, or of edges of types."""
    wanted = set(names)
    sql = (
        "SELECT id, json_array(type), json(props) FROM main.edge_past"
        if edge
        else "SELECT id, labels, json(props) FROM main.node_past"
    )
    found: list[Any] = db.execute(sql).fetchall()
    for identity, labels, props in found:
        if not wanted.isdisjoint(decode(labels)):
            yield identity, decode_properties(props)


def problems(db: apsw.Connection, indexes: Indexes) -> Iterable[str]:
    """Return where the entries are not what the graph says."""
    for rule in indexes.rules:
        wanted = {
            (key, identity)
            for identity, props in elements(db, edge=rule.edge, names=rule.names)
            for key in rule.keys(props)
        }
        held = {
            (bytes(row[0]), row[1])
            for row in db.execute("SELECT key, element FROM main.entry WHERE idx = ?", (rule.id,))
        }
        for _, identity in sorted(wanted - held):
            yield f"the index {rule.name} lacks {'edge' if rule.edge else 'node'} {identity}"
        for _, identity in sorted(held - wanted):
            yield (
                f"the index {rule.name} holds {'edge' if rule.edge else 'node'} {identity} wrongly"
            )
        yield from _past_problems(db, rule)
    known = {rule.id for rule in indexes.rules}
    for (index,) in db.execute("SELECT idx FROM main.entry UNION SELECT idx FROM main.entry_past"):
        if index not in known:
            yield f"entries of an index {index} that is not declared"


def _past_problems(db: apsw.Connection, rule: IndexRule) -> Iterable[str]:
    past = past_elements(db, edge=rule.edge, names=rule.names) if rule.kind in _OF_THE_PAST else ()
    wanted = {(key, identity) for identity, props in past for key in rule.keys(props)}
    present, held = (
        {
            (bytes(row[0]), row[1])
            for row in db.execute(
                f"SELECT key, element FROM main.{table} WHERE idx = ?", (rule.id,)
            )
        }
        for table in ("entry", "entry_past")
    )
    for _, identity in sorted((wanted - held - present) | (held - wanted)):
        yield (
            f"the index {rule.name} does not say what {'edge' if rule.edge else 'node'}"
            f" {identity} was"
        )
