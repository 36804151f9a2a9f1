"""What recall keeps in memory of one project: the attributes it filters by, which rows are believed
now, and the index of its vectors.

Row i of every column is search row i of the store, so a posting's number indexes the arrays
directly. The store counts changes; a shelf that is behind reads only the rows changed since, so
that several processes on one file stay in step at the cost of one lookup. Derived, never the truth:
hits are read again from the store before anyone sees them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall.index import EXACT_VECTORS_MAX, VectorIndex
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
_ROOM_FIRST = 1_024
_ROWS_BY_ONE = 500  # more changed rows than these are read in one pass,
_ROWS_TOGETHER = 8_192  # of so many at a time

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class Believed(NamedTuple):
    """The rows that are believed now, how many, and their mean length in terms. The mask is shared:
    never write to it."""

    mask: Mask
    total: int
    length_mean: float


class Shelf:
    """The arrays of one scope. `count` rows of each column are in use."""

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self.count = 0
        self.change = -1
        self.index = VectorIndex(exact=True)
        self.oldest_changed = 0  # the lowest row that changed since somebody set this to `count`
        self._lock = threading.Lock()
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(_ROOM_FIRST, dtype=kind) for name, kind in _COLUMNS
        }
        self._indexed = np.zeros(_ROOM_FIRST, dtype=bool)
        self._following = np.full(_ROOM_FIRST, -1, dtype=np.int32)
        self._speaker_tokens: set[int] = set()
        self._speakers: dict[int, str] = {}
        self._pending = 0
        self._set: object = None
        self._mask = np.zeros(_ROOM_FIRST, dtype=bool)
        self._mask_rows: list[Rows] | None = None  # changed since the mask was made; None: all
        self._mask_key: object = None
        self._mask_from, self._mask_until = 0, 0
        self._believed: Believed | None = None

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.count]

    @property
    def pending(self) -> int:
        """How many rows await their vectors."""
        return self._pending

    @property
    def following(self) -> NDArray[np.int32]:
        """The row that comes after each in its conversation, or -1."""
        return self._following[: self.count]

    def speakers(self, reader: Reader) -> list[tuple[int, str]]:
        """The tokens and names of everyone who speaks here; of whom nothing is left, no name is
        kept."""
        unnamed = self._speaker_tokens - self._speakers.keys()
        if unnamed:
            for token, text in reader.rows(
                "SELECT id, text FROM token WHERE id IN carray(?)", (int64_array(sorted(unnamed)),)
            ):
                self._speakers[token] = text.removeprefix("speaker:")
        return sorted(self._speakers.items())

    def believed(self, now: int, key: object, judge: Callable[[Any], Mask]) -> Believed:
        """What `judge` says of every row (a slice or an array of rows), kept until rows change,
        `key` does, or `now` enters or leaves a window.

        A question costs the rows that changed since the last one, not all of them.
        """
        if (
            self._believed is None
            or self._mask_rows is None
            or key != self._mask_key
            or not now < self._mask_until
            or now < self._mask_from
        ):
            self._mask[: self.count] = judge(slice(0, self.count))
            self._mask_key = key
            self._until(now, slice(0, self.count), fresh=True)
        elif self._mask_rows:
            rows = np.concatenate(self._mask_rows)
            self._mask[rows] = judge(rows)
            self._until(now, rows, fresh=False)
        elif len(self._believed.mask) == self.count:
            return self._believed
        self._mask_rows = []
        self._believed = believed(self["length"], self._mask[: self.count].copy())
        return self._believed

    def _until(self, now: int, rows: Any, *, fresh: bool) -> None:
        """The span of time in which no window of these rows opens or closes."""
        until, since = (2**63 - 1, -(2**63)) if fresh else (self._mask_until, self._mask_from)
        for name in _WINDOWS:
            edges = self._columns[name][rows]
            later, before = edges[edges > now], edges[edges <= now]
            until = min(until, int(later.min())) if len(later) else until
            since = max(since, int(before.max())) if len(before) else since
        self._mask_until, self._mask_from = until, since

    def sync(self, reader: Reader, change: int, vector_set: object) -> None:
        """Bring the arrays to the given change number of the store, whose vectors in use are this
        set."""
        with self._lock:
            if self.change >= change:
                return
            if (
                vector_set != self._set
                # its vectors are not comparable with the ones held, and rows need not have changed
                # for it
            ):
                self.index, self._set, self.change = VectorIndex(exact=True), vector_set, -1
                self._indexed[:] = False
            rows = reader.rows(
                f"SELECT doc, {_SELECT} FROM doc WHERE scope = ? AND changed > ? ORDER BY doc",
                (self.scope, self.change),
            )
            if rows:
                numbers = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
                before = self._vectors_before(numbers)
                self._store_rows(rows, numbers)
                try:
                    self._store_vectors(reader, rows, before)
                except BaseException:
                    self.change = -1  # what the index lacks is asked for again
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

    def _store_rows(self, rows: list[tuple[Any, ...]], numbers: Rows) -> None:
        needed = int(numbers[-1]) + 1
        if needed > len(self._columns["node"]):
            room = max(needed, 2 * len(self._columns["node"]))
            self._columns = {name: _grown(column, room) for name, column in self._columns.items()}
            self._indexed, self._mask = _grown(self._indexed, room), _grown(self._mask, room)
            following = np.full(room, -1, dtype=np.int32)
            following[: self.count] = self._following[: self.count]
            self._following = following
        for index, (name, kind) in enumerate(_COLUMNS, 1):
            self._columns[name][numbers] = np.fromiter(
                (row[index] for row in rows), dtype=kind, count=len(rows)
            )
        self._speaker_tokens.update({row[5] for row in rows})
        if any(row[1] <= 0 for row in rows):
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

    def _store_vectors(
        self, reader: Reader, rows: list[tuple[Any, ...]], before: NDArray[np.int32]
    ) -> None:
        """`before` is how many vectors each row had. Entries of rows that are gone stay: no mask
        lets them through."""
        here = [
            (row[0], row[13], int(count))
            for row, count in zip(rows, before, strict=True)
            if row[1] > 0
        ]
        due = [number for number, count, _ in here if count > 0 and not self._indexed[number]]
        anew = any(
            self._indexed[number] and count != had for number, count, had in here
        )  # other vectors than the ones held
        if not due and not anew:
            return
        if self.index.exact and self.index.count + len(due) > EXACT_VECTORS_MAX:
            self.index, anew = VectorIndex(exact=False), True
        if anew:
            self.index = VectorIndex(exact=self.index.exact)
            self._indexed[:] = False
        table, column = ("vector", "data") if self.index.exact else ("vector_code", "code")
        sql = (
            f"SELECT doc, {column} FROM {table} WHERE id BETWEEN ? AND ? AND part < {INDEXED_PARTS}"
            " ORDER BY id"
        )
        spans = [(number, number) for number in due]
        if anew or len(due) > _ROWS_BY_ONE:
            spans = [
                (first, first + _ROWS_TOGETHER - 1)
                for first in range(0, self.count, _ROWS_TOGETHER)
            ]
        for first, last in spans:
            span = vector_id(self.scope, first), vector_id(self.scope, last + 1) - 1
            found = [row for row in reader.rows(sql, span) if not self._indexed[row[0]]]
            self.index.add([row[0] for row in found], [row[1] for row in found])
            self._indexed[[row[0] for row in found]] = True


class Shelves:
    """The shelves of one store, one for each project that was asked about."""

    def __init__(self) -> None:
        self._shelves: dict[int, Shelf] = {}
        self._lock = threading.Lock()

    def get(self, reader: Reader, scope: int) -> Shelf:
        with self._lock:
            shelf = self._shelves.get(scope)
            if shelf is None:
                shelf = self._shelves[scope] = Shelf(scope)
        change = int(reader.rows("SELECT value FROM meta WHERE key = 'change'")[0][0])
        shelf.sync(reader, change, reader.vector_set())
        return shelf


def believed(lengths: NDArray[np.float32], mask: Mask) -> Believed:
    total = int(np.count_nonzero(mask))
    return Believed(mask, total, float(lengths @ mask.astype(np.float32)) / total if total else 0.0)


def _grown(column: NDArray[Any], room: int) -> NDArray[Any]:
    bigger = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
    bigger[: len(column)] = column
    return bigger
