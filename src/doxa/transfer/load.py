"""Load a file of rows as nodes or edges of the graph, or as revisions of items.

    file ─► rows, some thousands at a time ─► ids by key ─► one transaction: elements, log, progress

Ids are found for whole batches: the keys of a label are read once and kept, and read again only if
somebody else wrote in between. Edges go in sorted by the nodes that they join, so that their
indexes grow in order. Each element is an entry of the log as if a query had created it, each batch
has a receipt, and in the same transaction it is noted how far the file is loaded: a load that was
interrupted goes on there, and an undone batch leaves nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from doxa.base.errors import InputError
from doxa.base.limits import LOAD_EDGES_AT_ONCE_ITEMS_MAX, LOAD_NODES_AT_ONCE_ITEMS_MAX
from doxa.base.values import canonical
from doxa.store import Identity, Reader, Store, Transaction
from doxa.store.bulk.collecting import many_objects
from doxa.store.bulk.edges import NewEdge, create_edges
from doxa.store.bulk.nodes import create_nodes
from doxa.store.bulk.progress import LoadProgress, note_progress, progress_of
from doxa.transfer.load_items import ItemRows
from doxa.transfer.row_files import RowFile

_KEYS = (
    "SELECT n.props ->> ?2, n.id, n.project FROM node_label l CROSS JOIN node n ON n.id = l.node"
    " WHERE l.label = ?1 AND json_type(n.props, ?2) IN ('integer', 'text') ORDER BY n.id"
)
_KEY_TYPES = frozenset((int, str))
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did: rows that it read, nodes, edges and items that it created, revisions that
    it wrote, rows whose node was `known` by its key or whose item says the same, rows that were
    loaded before (`continued`), redacted secrets, and the changes, one for each batch."""

    rows: int = 0
    nodes: int = 0
    edges: int = 0
    items: int = 0
    revisions: int = 0
    known: int = 0
    continued: int = 0
    redacted: int = 0
    changes: tuple[int, ...] = ()


class _Overtaken(Exception):
    """The first batch finds the load further on than it was when its file was read."""


class _Kept:
    """The nodes of a label, as of the last transaction of the load: their ids by a property, and
    in what project each lies."""

    def __init__(self, label: str, name: str) -> None:
        self.label, self.name = label, name
        self.ids: dict[int | str, int] = {}
        self.projects: dict[int, str | None] = {}

    def read(self, reader: Reader) -> None:
        """Raises InputError if two nodes have one key."""
        path = f'$."{self.name}"'
        rows: list[Any] = reader._db.execute(_KEYS, (self.label, path)).fetchall()
        self.ids = {key: identity for key, identity, _ in rows}
        self.projects = {identity: project for _, identity, project in rows}
        if len(self.ids) < len(rows):
            seen: set[object] = set()
            twice = next(key for key, _, _ in rows if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError(
                f"Two nodes {self.label} have the {self.name} {twice!r:.80}.",
                next_step="Give a property that tells the nodes apart.",
                field="key",
            )


class EdgeEnd(NamedTuple):
    """Where an end of an edge stands: `column:Label.property`."""

    column: str
    label: str
    name: str


def _require_keys(file: RowFile, columns: Mapping[str, list[Any]]) -> None:
    """Raise InputError for the first of the rows read last that has no key in one of these
    columns."""
    if all(_KEY_TYPES.issuperset(map(type, keys)) for keys in columns.values()):
        return
    for number, keys in enumerate(zip(*columns.values(), strict=True)):
        for column, key in zip(columns, keys, strict=True):
            if type(key) not in _KEY_TYPES:
                left = len(columns[column]) - number - 1
                raise file.refuse(
                    f"its {column} is absent, or not an integer or a text", before=left
                )


class _Nodes:
    """Rows as nodes of one label, known by a property if one is given."""

    at_once = LOAD_NODES_AT_ONCE_ITEMS_MAX

    def __init__(self, label: str, key: str) -> None:
        self._label = label
        self._kept = _Kept(label, key) if key else None
        self.kept = () if self._kept is None else (self._kept,)
        self.spec = ["nodes", label, key]

    def read(self, file: RowFile) -> list[Row]:
        rows = file.rows_at_once(self.at_once)
        if self._kept is not None:
            _require_keys(file, {self._kept.name: [row.get(self._kept.name) for row in rows]})
        return rows

    def write(self, tx: Transaction, rows: Any) -> dict[str, int]:
        new = rows
        if self._kept is not None:
            name, ids, new = self._kept.name, self._kept.ids, []
            for row in rows:
                if row[name] not in ids:
                    ids[row[name]] = 0
                    new.append(row)
        create_nodes(tx, [self._label], new)
        return {"nodes": len(new), "known": len(rows) - len(new)}


class _Edges:
    """Rows as edges of one type between nodes that are known by a property."""

    at_once = LOAD_EDGES_AT_ONCE_ITEMS_MAX

    def __init__(self, kind: str, start: EdgeEnd, end: EdgeEnd) -> None:
        self._kind, self._start, self._end = kind, start, end
        self._from = _Kept(start.label, start.name)
        self._to = self._from if end[1:] == start[1:] else _Kept(end.label, end.name)
        self._joined = self._from.projects, self._to.projects, dict[int, str | None]()
        self.kept = tuple({id(one): one for one in (self._from, self._to)}.values())
        self.spec = ["edges", kind, *start, *end]

    def read(self, file: RowFile) -> tuple[list[Any], list[Any], list[Row]] | None:
        """The keys of both ends, and the rest of each row."""
        first, second = self._start.column, self._end.column
        ends = tuple(dict.fromkeys((first, second)))  # one column may name both
        keys, rest = file.columns_at_once(self.at_once, ends)
        _require_keys(file, keys)
        return (keys[first], keys[second], rest) if rest else None

    def write(self, tx: Transaction, rows: Any) -> dict[str, int]:
        starts, ends, rest = rows
        try:
            edges: list[NewEdge] = list(
                zip(
                    map(self._from.ids.__getitem__, starts),
                    map(self._to.ids.__getitem__, ends),
                    rest,
                    strict=True,
                )
            )
        except KeyError as error:
            raise InputError(
                f"There is no node with the key {error.args[0]!r:.80} for an edge {self._kind}.",
                next_step="Load the nodes first; then load this file again.",
                field="path",
            ) from None
        edges.sort(key=itemgetter(1))  # by both ends: a second sort leaves equals as they are
        edges.sort(key=itemgetter(0))
        create_edges(tx, self._kind, edges, projects=self._projects())
        return {"edges": len(edges)}

    def _projects(self) -> Mapping[int, str | None]:
        """Those of both labels, joined again only if they were read again."""
        if self._to is self._from:
            return self._from.projects
        before, after, joined = self._joined
        if before is not self._from.projects or after is not self._to.projects:
            before, after = self._from.projects, self._to.projects
            joined = before | after
            self._joined = before, after, joined
        return joined


_Target = _Nodes | _Edges | ItemRows


def load_rows(
    store: Store,
    identity: Identity,
    path: Path,
    *,
    label: str = "",
    key: str = "",
    edge: str = "",
    start: str = "",
    end: str = "",
    item: str = "",
    again: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Loaded:
    """Load a file as nodes of `label`, as edges of the type `edge` from `start` to `end`, or as
    revisions of the items whose addresses are in the column `item`. Raises InputError for a row
    that cannot be used; the batches before it stay, and another call goes on after them. Rows that
    were loaded are not loaded twice, unless `again`."""
    target: _Target
    if item and not (label or key or edge or start or end):
        target = ItemRows(store, identity, item)
    else:
        target = _target(label, key, edge, start, end, item)
    projects = () if store.binding is None else store.binding.projects
    named = canonical([str(path.resolve()), *target.spec, *projects])
    load = sha256(named).hexdigest()[:16]
    while True:
        file = RowFile(path)
        try:
            with store.read() as reader:
                before = None if again else progress_of(reader, load)
            with many_objects():
                return _load(store, identity, file, target, load, before, progress, again=again)
        except _Overtaken:  # another process, or server, has loaded it meanwhile
            continue
        finally:
            file.close()


def _load(
    store: Store,
    identity: Identity,
    file: RowFile,
    target: _Target,
    load: str,
    before: LoadProgress | None,
    progress: Callable[[int], None] | None,
    *,
    again: bool,
) -> Loaded:
    continued = 0 if before is None else _skip(file, before)
    counts: Counter[str] = Counter()
    changes: list[int] = []
    last = -1
    while batch := target.read(file):
        with store.write(identity, op="load", note=file.path.name, by_hand=True) as tx:
            if last < 0 and not again and progress_of(tx, load) != before:
                raise _Overtaken
            if tx.tx != last + 1:  # others wrote, or it is the first
                for kept in target.kept:
                    kept.read(tx)
            counts.update(target.write(tx, batch))
            note_progress(tx, load, LoadProgress(file.count, file.digest))
        last = tx.tx - 1
        if tx.receipt_made is not None:
            changes.append(last := tx.tx)
        counts["redacted"] += len(tx.left_out)
        if progress is not None:
            progress(file.count)
    return Loaded(
        file.count - continued,
        **counts,
        continued=continued,
        changes=tuple(changes),
    )


def _skip(file: RowFile, before: LoadProgress) -> int:
    """Read what an interrupted load had loaded. Raises InputError if it is not the same."""
    for _ in islice(file, before.rows):
        pass
    if (file.count, file.digest) != (before.rows, before.digest):
        raise InputError(
            f"{before.rows:,} rows of {file.path.name} are loaded, and the file no longer begins"
            " with these.",
            next_step="Put the former rows back, or load all of the file with `again`.",
            field="path",
        )
    return before.rows


def _target(label: str, key: str, edge: str, start: str, end: str, item: str) -> _Nodes | _Edges:
    if item or bool(label) == bool(edge) or (label and (start or end)) or (edge and key):
        raise InputError(
            "A file is loaded as nodes, with a label, as edges, with a type and both ends, or as"
            " revisions of items.",
            next_step="Give label and key, or edge, start and end, or item.",
            field="label",
        )
    return _Nodes(label, key) if label else _Edges(edge, _place(start), _place(end))


def _place(text: str) -> EdgeEnd:
    column, _, rest = text.partition(":")
    label, _, name = rest.partition(".")
    if not (column and label and name) or '"' in name:
        raise InputError(
            f"{text[:80]!r} does not say where an edge stands.",
            next_step="Give column:Label.property, such as src:Person.id.",
            field="start",
        )
    return EdgeEnd(column, label, name)
