"""The vectors of one project in memory, in order to name candidates: exact to EXACT_VECTORS_MAX, by their signs beyond.

A sign code keeps one bit for each of D dimensions; the Hamming distance h of two codes estimates their angle as pi * h / D (Charikar,
"Similarity Estimation Techniques from Rounding Algorithms", 2002). Codes lie by 64-bit words, one array a word, so that a scan runs through
memory in order: a million in 6 ms on one core. Of WIDER times the wanted entries that lie nearest so, those stay whose codes the question's own
numbers agree with most, which tells more than its signs. What ranks are the stored vectors; an index only selects, and is made anew from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.store import sign_code, unpack_codes, unpack_vectors, wrong_length

EXACT_VECTORS_MAX = 100_000
WIDER = 3
_ROOM_FIRST = 256
_CHUNK = 65_536  # rows whose intermediate results stay in the processor's cache

_SIGNS = 2.0 * np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1).astype(np.float32) - 1  # of each byte, [256, 8]

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Near(NamedTuple):
    """Rows of the nearest entries, without repetition and in order, and mean and standard deviation of the cosines of all allowed entries."""

    rows: Rows
    mean: float
    spread: float


class VectorIndex:
    """Entries of (row, vector), in the order in which they came; a row may have several. `exact` says what is kept of each."""

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact
        self.count = 0
        self._rows = np.zeros(_ROOM_FIRST, dtype=np.int32)
        self._data: NDArray[Any] | None = None  # exact: float32 [room, D]; else uint64 [words, room]

    def add(self, rows: Sequence[int], data: Sequence[bytes]) -> None:
        """`data` are half-precision vectors if the index is exact, sign codes if not; all entries of an index have one length.
        Raises CorruptError for others."""
        if not rows:
            return
        if self.exact:
            new: NDArray[Any] = unpack_vectors(data, self._width)
        else:
            new = unpack_codes(data, self._width).T
        needed = self.count + len(rows)
        self._make_room(needed, width=new.shape[1] if self.exact else new.shape[0])
        assert self._data is not None
        self._rows[self.count : needed] = rows
        if self.exact:
            self._data[self.count : needed] = new
        else:
            self._data[:, self.count : needed] = new
        self.count = needed

    @property
    def _width(self) -> int | None:
        """How many numbers, or words of a code, each entry has; None before the first."""
        return None if self._data is None else self._data.shape[1 if self.exact else 0]

    def _make_room(self, needed: int, *, width: int) -> None:
        held = self._data
        if held is not None and needed <= len(self._rows):
            return
        room = max(needed, 2 * len(self._rows), _ROOM_FIRST)
        rows = np.zeros(room, dtype=np.int32)
        rows[: self.count] = self._rows[: self.count]
        made: NDArray[Any] = np.zeros((room, width), dtype=np.float32) if self.exact else np.zeros((width, room), dtype=np.uint64)
        if held is not None and self.exact:
            made[: self.count] = held[: self.count]
        elif held is not None:
            made[:, : self.count] = held[:, : self.count]
        self._rows, self._data = rows, made

    def nearest(self, vector: Floats, *, allowed: Mask, depth: int) -> Near:
        """The rows of the `depth` allowed entries that lie nearest, by cosine or as far as codes tell. Raises CorruptError
        where the question has another number of dimensions."""
        if not self.count or self._data is None:
            return Near(np.zeros(0, dtype=np.int64), 0.0, 0.0)
        asked = len(vector) if self.exact else -(-len(vector) // 64)
        if asked != self._width:
            raise wrong_length(self._width, asked, of="numbers" if self.exact else "words of signs")
        rows = self._rows[: self.count]
        keep = allowed[rows] if int(rows.max()) < len(allowed) else _within(rows, allowed)
        found, mean, spread = self._by_cosine(vector, keep, depth) if self.exact else self._by_code(vector, keep, depth)
        return Near(np.unique(rows[found]).astype(np.int64), mean, spread)

    def _by_cosine(self, vector: Floats, keep: Mask, depth: int) -> tuple[Rows, float, float]:
        assert self._data is not None
        cosines = self._data[: self.count] @ vector
        kept = int(np.count_nonzero(keep))
        if not kept:
            return np.zeros(0, dtype=np.int64), 0.0, 0.0
        known = cosines[keep] if kept < len(keep) else cosines
        mean, spread = float(known.mean()), float(known.std())
        if kept < len(keep):
            cosines[~keep] = -np.inf
        if kept > depth:
            return np.argpartition(-cosines, depth - 1)[:depth], mean, spread
        return np.flatnonzero(keep), mean, spread

    def _by_code(self, vector: Floats, keep: Mask, depth: int) -> tuple[Rows, float, float]:
        assert self._data is not None
        words = sign_code(vector).view(np.uint64)
        none = np.uint16(64 * len(words) + 1)
        distance = np.empty(self.count, dtype=np.uint16)
        differs = np.empty(min(_CHUNK, self.count), dtype=np.uint64)
        bits = np.empty(len(differs), dtype=np.uint8)
        for start in range(0, self.count, _CHUNK):
            part = distance[start : start + _CHUNK]
            size = len(part)
            part[:] = 0
            for word, held in zip(words, self._data, strict=True):
                np.bitwise_xor(held[start : start + size], word, out=differs[:size])
                np.bitwise_count(differs[:size], out=bits[:size])
                np.add(part, bits[:size], out=part)
        distance[~keep] = none
        counts = np.bincount(distance, minlength=int(none) + 1)[:none]
        total = int(counts.sum())
        if not total:
            return np.zeros(0, dtype=np.int64), 0.0, 0.0
        cosines = np.cos(np.pi * np.arange(len(counts)) / len(vector))
        limit = np.searchsorted(np.cumsum(counts), min(WIDER * depth, total))
        mean = float(counts @ cosines / total)
        found = self._by_signs(vector, np.flatnonzero(distance <= limit), depth)
        return found, mean, float(np.sqrt(counts @ (cosines - mean) ** 2 / total))

    def _by_signs(self, vector: Floats, found: Rows, depth: int) -> Rows:
        """The `depth` of these entries with the greatest sum of the question's numbers under their signs, byte by byte from a table."""
        assert self._data is not None
        if len(found) <= depth:
            return found
        codes = np.ascontiguousarray(self._data[:, found].T).view(np.uint8)
        numbers = np.zeros((codes.shape[1], 8), dtype=np.float32)
        numbers.reshape(-1)[: len(vector)] = vector
        table = numbers @ _SIGNS.T
        estimate = table[np.arange(len(table)), codes].sum(axis=1)
        return found[np.argpartition(-estimate, depth - 1)[:depth]]


def _within(rows: NDArray[np.int32], allowed: Mask) -> Mask:
    keep = np.zeros(len(rows), dtype=bool)
    known = rows < len(allowed)
    keep[known] = allowed[rows[known]]
    return keep
