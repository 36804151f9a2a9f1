"""What recall keeps in memory of one project: the attributes it filters by, which rows are believed
now, and the index of its vectors.

Row i of every column is search row i of the store, so a row number in a posting indexes the arrays
directly. The store counts changes; an index that is behind reads only the rows changed since, so
several processes on one file stay in step at the cost of one lookup. The index is derived, never
the source: hits are read again from the store before they are returned.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.indexes.arrays import distinct
from doxa.recall.indexes.reading import (
    Columns,
    read_all,
    read_changed,
    read_entries,
)
from doxa.recall.indexes.vector_index import VectorIndex
from doxa.store import DOC_COLUMNS, INDEXED_PARTS, Reader, int64_array

_WINDOWS = ("valid_from", "valid_until", "vis_from", "vis_until")
# How rows are read; none of these changes what is read.
_CAPACITY_MIN = 1_024
_SINGLE_ROWS_MAX = 500  # of more changed rows entries are read in one pass over the project,
_ROWS_AT_ONCE = 8_192  # so many rows at a time
_SPARE = 9  # eighths: room for somewhat more entries than are expected

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
            name: np.zeros(_CAPACITY_MIN, dtype=kind) for name, kind in DOC_COLUMNS
        }
        self._indexed = np.zeros(_CAPACITY_MIN, dtype=bool)
        self._following = np.full(_CAPACITY_MIN, -1, dtype=np.int32)
        self._branches = np.zeros(0, dtype=np.int64)  # some more than once
        self._branches_apart = 0  # how many of them are known to differ
        self._speaker_tokens: set[int] = set()
        self._speakers: dict[int, str] = {}
        self._pending = 0
        self._vector_set: object = None
        self._mask = np.zeros(_CAPACITY_MIN, dtype=bool)
        self._mask_rows: list[Rows] | None = None  # changed since the mask was built; None: all
        self._mask_key: object = None
        self._mask_from, self._mask_until = 0, 0
        self._believed: Believed | None = None
        self._hidden: tuple[Believed, Mask | None] | None = None

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

    @property
    def branches(self) -> Rows:
        """The rows, and perhaps a few others, that are not `following` of the row before them:
        another row comes after it too. In no order, and some more than once."""
        return self._branches

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

    def hidden(self, believed: Believed, test: Callable[[], Mask | None]) -> Mask | None:
        """Return what `test` finds besides what is believed, or found before: it is kept as long as
        that is."""
        held = self._hidden
        if held is None or held[0] is not believed:
            held = self._hidden = believed, test()
        return held[1]

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
                self._vector_set, self.change = vector_set, -1
            if self.change < 0:
                rows, columns = read_all(reader, self.scope)
                self._replace_rows(rows, columns)
                before = self._columns["vectors"][rows]
            else:
                rows, columns = read_changed(reader, self.scope, self.change)
                before = self._vectors_before(rows)
                self._store_rows(rows, columns)
            if len(rows):
                self._follow(rows)
                try:
                    self._store_vectors(reader, rows, before)
                except BaseException:
                    self.change = -1  # read all rows again: the index lacks some
                    raise
                if self._mask_rows is not None:
                    self._mask_rows.append(rows)
                self.oldest_changed = min(self.oldest_changed, int(rows[0]))
                self._pending = int(np.count_nonzero((self["vectors"] == 0) & (self["node"] > 0)))
            self.change = change

    def _vectors_before(self, rows: Rows) -> NDArray[np.int32]:
        known = rows < self.count
        held = np.zeros(len(rows), dtype=np.int32)
        held[known] = self._columns["vectors"][rows[known]]
        return held

    def _replace_rows(self, rows: Rows, columns: Columns) -> None:
        """Take all rows of the project for those that are held, and begin another index."""
        count = int(rows[-1]) + 1 if len(rows) else 0
        if count > len(rows):
            sparse = {name: np.zeros(count, dtype=kind) for name, kind in DOC_COLUMNS}
            for name, column in columns.items():
                sparse[name][rows] = column
            columns = sparse
        self._columns, self.count = columns, count
        self.vector_index = VectorIndex(exact=True)
        self._indexed, self._mask = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
        self._following = np.full(count, -1, dtype=np.int32)
        self._branches, self._branches_apart = self._branches[:0], 0
        self._speaker_tokens, self._mask_rows = set(), None

    def _store_rows(self, rows: Rows, columns: Columns) -> None:
        needed = int(rows[-1]) + 1 if len(rows) else 0
        if needed > len(self._columns["node"]):
            capacity = max(needed, 2 * len(self._columns["node"]), _CAPACITY_MIN)
            self._columns = {
                name: _resized(column, capacity) for name, column in self._columns.items()
            }
            self._indexed = _resized(self._indexed, capacity)
            self._mask = _resized(self._mask, capacity)
            following = np.full(capacity, -1, dtype=np.int32)
            following[: self.count] = self._following[: self.count]
            self._following = following
        for name, values in columns.items():
            self._columns[name][rows] = values
        self.count = max(self.count, needed)

    def _follow(self, rows: Rows) -> None:
        """Note who speaks in these rows, and after which others they come."""
        speakers = self._columns["speaker"]
        self._speaker_tokens.update(distinct(speakers[rows]).tolist())
        if (self._columns["node"][rows] <= 0).any():
            self._speaker_tokens = set(distinct(speakers[: self.count]).tolist())
        self._speakers = {
            token: name for token, name in self._speakers.items() if token in self._speaker_tokens
        }
        rows = rows[self._columns["prev"][rows] >= 0]
        previous = self._columns["prev"][rows]
        before = self._following[previous]
        self._following[previous] = rows
        displaced = before[(before >= 0) & (before != rows)]
        branches = np.concatenate((displaced, rows[self._following[previous] != rows]))
        if len(branches):
            self._branches = np.concatenate((self._branches, branches))
            if len(self._branches) > 2 * self._branches_apart + _CAPACITY_MIN:
                self._branches = distinct(self._branches)
                self._branches_apart = len(self._branches)

    def _store_vectors(self, reader: Reader, rows: Rows, before: NDArray[np.int32]) -> None:
        """Add vectors to the index. `before` is how many each row had. Entries of deleted rows
        stay: no mask includes them."""
        counts, indexed = self._columns["vectors"][rows], self._indexed[rows]
        live = self._columns["node"][rows] > 0
        missing = rows[live & (counts > 0) & ~indexed]
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
        if rebuild or len(missing) > _SINGLE_ROWS_MAX:
            starts = range(0, self.count, _ROWS_AT_ONCE)
            spans = [(first, first + _ROWS_AT_ONCE - 1) for first in starts]
        else:
            spans = [(row, row) for row in missing.tolist()]
        for span in spans:
            for found, data in read_entries(
                reader, self.scope, span, exact=self.vector_index.exact
            ):
                new = ~self._indexed[found]
                if not new.all():
                    found, data = found[new], data[new]
                self.vector_index.add(found, data)
                self._indexed[found] = True
            if len(spans) > 1:
                self._reserve(min(span[1] + 1, self.count))

    def _reserve(self, done: int) -> None:
        """Make room for the entries of the rows that follow so many: about as many each as those
        have, and no more than they can have."""
        held = self.vector_index.count
        most = int(np.clip(self._columns["vectors"][done : self.count], 0, INDEXED_PARTS).sum())
        self.vector_index.reserve(min(held * self.count // done * _SPARE // 8, held + most))


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
    return Believed(mask, total, float(lengths[mask].mean(dtype=np.float64)) if total else 0.0)


def _resized(column: NDArray[Any], capacity: int) -> NDArray[Any]:
    bigger = np.zeros((capacity, *column.shape[1:]), dtype=column.dtype)
    bigger[: len(column)] = column
    return bigger
