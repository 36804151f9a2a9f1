"""What recall keeps in memory of one project: the attributes it filters by and the 1-bit codes of its vectors, as arrays.

Row i of every column is search row i of the store, so a posting's number indexes the arrays directly. The store counts changes; a shelf
that is behind reads only the rows changed since, so that several processes on one file stay in step at the cost of one lookup.
Derived, never the truth: hits are read again from the store before anyone sees them.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from doxa.store import Reader, int64_array

_COLUMNS: tuple[tuple[str, str], ...] = (
    ("node", "i8"), ("live", "?"), ("kind", "i4"), ("space", "i4"), ("speaker", "i4"), ("thread", "i4"), ("time", "i8"), ("valid_from", "i8"),
    ("valid_until", "i8"), ("trust", "i1"), ("prev", "i4"), ("length", "f4"), ("vectors", "i4"), ("vis_from", "i8"), ("vis_until", "i8"),
)  # fmt: skip
_SELECT = ", ".join(name for name, _ in _COLUMNS)
_ROOM_FIRST = 1_024
_CODE_BYTES = 48  # of the default model; a wider code makes its own room


class Shelf:
    """The arrays of one scope. `count` rows of each column are in use; `codes[:code_count]` belong to rows `code_doc[:code_count]`."""

    def __init__(self, scope: int) -> None:
        self.scope = scope
        self.count = 0
        self.code_count = 0
        self.change = -1
        self._lock = threading.Lock()
        self._columns: dict[str, NDArray[Any]] = {name: np.zeros(_ROOM_FIRST, dtype=kind) for name, kind in _COLUMNS}
        self._codes = np.zeros((_ROOM_FIRST, _CODE_BYTES), dtype=np.uint8)
        self._code_doc = np.zeros(_ROOM_FIRST, dtype=np.int32)
        self._coded = np.zeros(_ROOM_FIRST, dtype=bool)
        self._following = np.full(_ROOM_FIRST, -1, dtype=np.int32)
        self._speaker_tokens: set[int] = set()
        self._speakers: dict[int, str] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.count]

    @property
    def pending(self) -> int:
        """How many rows await their vectors."""
        return int(np.count_nonzero((self["vectors"] == 0) & (self["node"] > 0)))

    @property
    def following(self) -> NDArray[np.int32]:
        """The row that comes after each in its conversation, or -1."""
        return self._following[: self.count]

    @property
    def codes(self) -> NDArray[np.uint8]:
        return self._codes[: self.code_count]

    @property
    def code_doc(self) -> NDArray[np.int32]:
        return self._code_doc[: self.code_count]

    def speakers(self, reader: Reader) -> list[tuple[int, str]]:
        """The tokens and names of everyone who speaks here; of whom nothing is left, no name is kept."""
        unnamed = self._speaker_tokens - self._speakers.keys()
        if unnamed:
            for token, text in reader.rows("SELECT id, text FROM token WHERE id IN carray(?)", (int64_array(sorted(unnamed)),)):
                self._speakers[token] = text.removeprefix("speaker:")
        return sorted(self._speakers.items())

    def sync(self, reader: Reader, change: int) -> None:
        """Bring the arrays to the given change number of the store."""
        with self._lock:
            if self.change >= change:
                return
            rows = reader.rows(f"SELECT doc, {_SELECT} FROM doc WHERE scope = ? AND changed > ? ORDER BY doc", (self.scope, self.change))
            if rows:
                self._store_rows(rows)
                self._store_codes(reader, rows)
            self.change = change

    def _store_rows(self, rows: list[tuple[Any, ...]]) -> None:
        numbers = np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))
        needed = int(numbers[-1]) + 1
        if needed > len(self._columns["node"]):
            room = max(needed, 2 * len(self._columns["node"]))
            self._columns = {name: _grown(column, room) for name, column in self._columns.items()}
            self._coded = _grown(self._coded, room)
            following = np.full(room, -1, dtype=np.int32)
            following[: self.count] = self._following[: self.count]
            self._following = following
        for index, (name, kind) in enumerate(_COLUMNS, 1):
            self._columns[name][numbers] = np.fromiter((row[index] for row in rows), dtype=kind, count=len(rows))
        self._speaker_tokens.update({row[5] for row in rows})
        if any(row[1] <= 0 for row in rows):
            self._speaker_tokens = set(np.unique(self._columns["speaker"][: max(self.count, needed)]).tolist())
            self._speakers = {token: name for token, name in self._speakers.items() if token in self._speaker_tokens}
        previous = self._columns["prev"][numbers]
        linked = previous >= 0
        self._following[previous[linked]] = numbers[linked]
        self.count = max(self.count, needed)

    def _store_codes(self, reader: Reader, rows: list[tuple[Any, ...]]) -> None:
        due = [row[0] for row in rows if row[13] > 0]
        dropped = [row[0] for row in rows if row[13] == 0 and self._coded[row[0]]]
        if not due and not dropped:
            return
        due += dropped
        if self._coded[due].any() and self.code_count:  # a doc was embedded anew or erased: its old codes must go, so start over
            self.code_count = 0
            self._coded[:] = False
            found = self._read_codes(reader, None)
        elif len(due) > 500:
            found = [row for row in self._read_codes(reader, None) if not self._coded[row[0]]]
        else:
            found = [row for number in due for row in self._read_codes(reader, number)]
        self._append_codes(found)

    def _read_codes(self, reader: Reader, number: int | None) -> list[tuple[Any, ...]]:
        if number is None:
            return reader.rows("SELECT doc, code FROM vector_code WHERE scope = ? ORDER BY doc, part", (self.scope,))
        return reader.rows("SELECT doc, code FROM vector_code WHERE scope = ? AND doc = ? ORDER BY part", (self.scope, number))

    def _append_codes(self, found: list[tuple[Any, ...]]) -> None:
        if not found:
            return
        needed = self.code_count + len(found)
        if needed > len(self._code_doc):
            room = max(needed, 2 * len(self._code_doc))
            self._codes, self._code_doc = _grown(self._codes, room), _grown(self._code_doc, room)
        numbers = np.fromiter((row[0] for row in found), dtype=np.int32, count=len(found))
        data = np.frombuffer(b"".join(row[1] for row in found), dtype=np.uint8).reshape(len(found), -1)
        if self._codes.shape[1] != data.shape[1]:
            self._codes = np.zeros((len(self._codes), data.shape[1]), dtype=np.uint8)
        self._codes[self.code_count : needed] = data
        self._code_doc[self.code_count : needed] = numbers
        self._coded[numbers] = True
        self.code_count = needed


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
        shelf.sync(reader, change)
        return shelf


def _grown(column: NDArray[Any], room: int) -> NDArray[Any]:
    bigger = np.zeros((room, *column.shape[1:]), dtype=column.dtype)
    bigger[: len(column)] = column
    return bigger
