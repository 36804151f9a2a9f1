"""What recall keeps in memory of one project: the attributes it filters by, which rows are believed
now, and the index of its vectors.

Row i of every column is search row i of the store, so a row number in a posting indexes the arrays
directly. The store counts changes; an index that is behind reads only the rows changed since, so
several processes on one file stay in step at the cost of one lookup. The index is derived, never
the source: hits are read again from the store before they are returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import chain, compress, islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.indexes.vector_index import VectorIndex
from doxa.store import INDEXED_PARTS, Reader, int64_array, vector_id

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("node", "i8"),
    ("live", "?"),
    ("kind", "i4"),
    ("space", "i4"),
    ("speaker", "i4"),
    ("thread", "i4"),
    ("time", "i8"),
    ("valid_from", "i8"),
    ("valid_until", "i8"),
    ("trust", "i1"),
    ("prev", "i4"),
    ("length", "f4"),
    ("vectors", "i4"),
    ("vis_from", "i8"),
    ("vis_until", "i8"),
)
_SELECT = ", ".join(name for name, _ in _COLUMNS)
_WINDOWS = ("valid_from", "valid_until", "vis_from", "vis_until")
# How rows are read; none of these changes what is read.
_CAPACITY_MIN = 1_024
_SINGLE_ROWS_MAX = 500  # more changed rows are read in one pass over the project,
_ROWS_AT_ONCE = 8_192  # so many at a time

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class Believed(NamedTuple):
    """The rows that are believed, how many, and their mean length in terms. The mask is shared:
    never write to it."""

    mask: Mask
    total: int
    length_mean: float


class ProjectIndex:
    """The arrays of one scope. `count` rows of each column are in use."""

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self.count = 0
        self.change = -1
        self.vector_index = VectorIndex(exact=True)
        self.oldest_changed = 0  # the lowest row that changed since this was last set to `count`
        self._lock = threading.Lock()
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(_CAPACITY_MIN, dtype=kind) for name, kind in _COLUMNS
        }
        self._indexed = np.zeros(_CAPACITY_MIN, dtype=bool)
        self._following = np.full(_CAPACITY_MIN, -1, dtype=np.int32)
        self._speaker_tokens: set[int] = set()
        self._speakers: dict[int, str] = {}
        self._pending = 0
        self._vector_set: object = None
        self._mask = np.zeros(_CAPACITY_MIN, dtype=bool)
        self._mask_rows: list[Rows] | None = None  # changed since the mask was built; None: all
        self._mask_key: object = None
        self._mask_from, self._mask_until = 0, 0
        self._believed: Believed | None = None

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.count]

    @property
    def pending(self) -> int:
        """How many rows have no vectors yet."""
        return self._pending

    @property
    def following(self) -> NDArray[np.int32]:
        """The row that comes after each in its conversation, or -1."""
        return self._following[: self.count]

    def speakers(self, reader: Reader) -> list[tuple[int, str]]:
        """List the tokens and names of all speakers. The name of a speaker of whom no row is left
        is not kept."""
        unnamed = self._speaker_tokens - self._speakers.keys()
        if unnamed:
            for token, text in reader.rows(
                "SELECT id, text FROM token WHERE id IN carray(?)", (int64_array(sorted(unnamed)),)
            ):
                self._speakers[token] = text.removeprefix("speaker:")
        return sorted(self._speakers.items())

    def believed(self, now: int, key: object, test: Callable[[Any], Mask]) -> Believed:
        """Return the rows that pass `test`, which takes a slice or an array of rows. The result is
        kept until rows change, `key` does, or `now` enters or leaves a window.

        A question tests the rows that changed since the last one, not all of them.
        """
        if (
            self._believed is None
            or self._mask_rows is None
            or key != self._mask_key
            or not now < self._mask_until
            or now < self._mask_from
        ):
            self._mask[: self.count] = test(slice(0, self.count))
            self._mask_key = key
            self._narrow_window(now, slice(0, self.count), fresh=True)
        elif self._mask_rows:
            rows = np.concatenate(self._mask_rows)
            self._mask[rows] = test(rows)
            self._narrow_window(now, rows, fresh=False)
        elif len(self._believed.mask) == self.count:
            return self._believed
        self._mask_rows = []
        self._believed = believed(self["length"], self._mask[: self.count].copy())
        return self._believed

    def _narrow_window(self, now: int, rows: Any, *, fresh: bool) -> None:
        """Narrow the time during which no window of these rows opens or closes."""
        until, since = (2**63 - 1, -(2**63)) if fresh else (self._mask_until, self._mask_from)
        for name in _WINDOWS:
            edges = self._columns[name][rows]
            later, before = edges[edges > now], edges[edges <= now]
            until = min(until, int(later.min())) if len(later) else until
            since = max(since, int(before.max())) if len(before) else since
        self._mask_until, self._mask_from = until, since

    def sync(self, reader: Reader, change: int, vector_set: object) -> None:
        """Bring the arrays to the given change number of the store; `vector_set` is the set of
        vectors in use."""
        with self._lock:
            if self.change >= change:
                return
            if vector_set != self._vector_set:
                # the new vectors are not comparable with the old, and rows need not have changed
                self.vector_index = VectorIndex(exact=True)
                self._vector_set, self.change = vector_set, -1
                self._indexed[:] = False
            sql, args = f"SELECT doc, {_SELECT} FROM doc WHERE scope = ?", [self.scope]
            if self.change >= 0:  # else all rows, which lie in their order
                sql, args = f"{sql} AND changed > ?", [self.scope, self.change]
            columns = _columns_of(reader.stream(f"{sql} ORDER BY doc", args))
            if columns:
                numbers = columns[0]
                before = self._vectors_before(numbers)
                self._store_rows(columns, numbers)
                try:
                    self._store_vectors(reader, numbers, before)
                except BaseException:
                    self.change = -1  # read all rows again: the index lacks some
                    raise
                if self._mask_rows is not None:
                    self._mask_rows.append(numbers)
                self.oldest_changed = min(self.oldest_changed, int(numbers[0]))
                self._pending = int(np.count_nonzero((self["vectors"] == 0) & (self["node"] > 0)))
            self.change = change

    def _vectors_before(self, numbers: Rows) -> NDArray[np.int32]:
        known = numbers < self.count
        held = np.zeros(len(numbers), dtype=np.int32)
        held[known] = self._columns["vectors"][numbers[known]]
        return held

    def _store_rows(self, columns: list[NDArray[Any]], numbers: Rows) -> None:
        needed = int(numbers[-1]) + 1
        if needed > len(self._columns["node"]):
            capacity = max(needed, 2 * len(self._columns["node"]))
            self._columns = {
                name: _resized(column, capacity) for name, column in self._columns.items()
            }
            self._indexed = _resized(self._indexed, capacity)
            self._mask = _resized(self._mask, capacity)
            following = np.full(capacity, -1, dtype=np.int32)
            following[: self.count] = self._following[: self.count]
            self._following = following
        for (name, _), values in zip(_COLUMNS, columns[1:], strict=True):
            self._columns[name][numbers] = values
        self._speaker_tokens.update(np.unique(self._columns["speaker"][numbers]).tolist())
        if (self._columns["node"][numbers] <= 0).any():
            self._speaker_tokens = set(
                np.unique(self._columns["speaker"][: max(self.count, needed)]).tolist()
            )
            self._speakers = {
                token: name
                for token, name in self._speakers.items()
                if token in self._speaker_tokens
            }
        previous = self._columns["prev"][numbers]
        linked = previous >= 0
        self._following[previous[linked]] = numbers[linked]
        self.count = max(self.count, needed)

    def _store_vectors(self, reader: Reader, numbers: Rows, before: NDArray[np.int32]) -> None:
        """Add vectors to the index. `before` is how many each row had. Entries of deleted rows
        stay: no mask includes them."""
        counts, indexed = self._columns["vectors"][numbers], self._indexed[numbers]
        live = self._columns["node"][numbers] > 0
        missing = numbers[live & (counts > 0) & ~indexed]
        # other vectors than the index holds
        rebuild = bool(np.any(live & indexed & (counts != before)))
        if not len(missing) and not rebuild:
            return
        total = self.vector_index.count + len(missing)
        if self.vector_index.exact and total > constants.EXACT_VECTORS_MAX:
            self.vector_index, rebuild = VectorIndex(exact=False), True
        if rebuild:
            self.vector_index = VectorIndex(exact=self.vector_index.exact)
            self._indexed[:] = False
        table, column = ("vector", "data") if self.vector_index.exact else ("vector_code", "code")
        sql = (
            f"SELECT doc, {column} FROM {table} WHERE id BETWEEN ? AND ? AND part < {INDEXED_PARTS}"
            " ORDER BY id"
        )
        if rebuild or len(missing) > _SINGLE_ROWS_MAX:
            starts = range(0, self.count, _ROWS_AT_ONCE)
            spans = [(first, first + _ROWS_AT_ONCE - 1) for first in starts]
        else:
            spans = [(number, number) for number in missing.tolist()]
        for first, last in spans:
            span = vector_id(self.scope, first), vector_id(self.scope, last + 1) - 1
            found = reader.rows(sql, span)
            if not found:
                continue
            docs, data = zip(*found, strict=True)
            numbers = np.array(docs, dtype=np.int64)
            new = ~self._indexed[numbers]
            self.vector_index.add(numbers[new], data if new.all() else list(compress(data, new)))
            self._indexed[numbers] = True


class IndexCache:
    """The project indexes of one store, one for each project that was asked about."""

    def __init__(self) -> None:
        self._projects: dict[int, ProjectIndex] = {}
        self._lock = threading.Lock()

    def get(self, reader: Reader, scope: int) -> ProjectIndex:
        """Return the index of a scope, up to date with the snapshot."""
        with self._lock:
            project = self._projects.get(scope)
            if project is None:
                project = self._projects[scope] = ProjectIndex(scope)
        change = int(reader.rows("SELECT value FROM meta WHERE key = 'change'")[0][0])
        project.sync(reader, change, reader.vector_set())
        return project


def believed(lengths: NDArray[np.float32], mask: Mask) -> Believed:
    """Count the rows of a mask and their mean length."""
    total = int(np.count_nonzero(mask))
    return Believed(mask, total, float(lengths @ mask.astype(np.float32)) / total if total else 0.0)


def _columns_of(rows: Iterator[tuple[int, ...]]) -> list[NDArray[Any]]:
    """The columns of rows of whole numbers, those of the rows first; an empty list if there is no
    row. Values go straight into arrays: hundreds of thousands of tuples would be visited again and
    again by the collector of garbage."""
    kinds = ("i8", *(kind for _, kind in _COLUMNS))
    values, size = chain.from_iterable(rows), len(kinds) * _ROWS_AT_ONCE
    blocks = []
    while len(block := np.fromiter(islice(values, size), np.int64)):
        table = block.reshape(-1, len(kinds))
        blocks.append([table[:, place].astype(kind) for place, kind in enumerate(kinds)])
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _resized(column: NDArray[Any], capacity: int) -> NDArray[Any]:
    bigger = np.zeros((capacity, *column.shape[1:]), dtype=column.dtype)
    bigger[: len(column)] = column
    return bigger
