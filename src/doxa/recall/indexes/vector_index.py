"""The vectors of one project in memory, which name candidates: exact up to EXACT_VECTORS_MAX, as
codes beyond.

A code has four bits for each of D dimensions, the first of them its sign. The Hamming distance h of
the signs of two codes estimates their angle as pi * h / D (Charikar, "Similarity Estimation
Techniques from Rounding Algorithms", 2002). Signs are stored by 64-bit words, one array a word, so
that a scan reads memory in order: a million in 6 ms on one core. The entries nearest by signs are
then ranked by the products of their whole codes with the question. Vectors that share a direction
have their signs taken from their mean. The stored vectors rank; an index only selects, and is
rebuilt from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.indexes.arrays import distinct
from doxa.store import (
    code_levels,
    code_products,
    code_signs,
    code_vectors,
    codes_of,
    row_products,
    unpack_codes,
    unpack_vectors,
    wrong_length,
)

_CAPACITY_MIN = 256
_CHUNK = 98_304  # rows whose intermediate results stay in the cache of a processor
_FEW_OF = 16  # one of so many is few enough to be copied
_GUESSED_FROM, _GUESSED_MIN = 16_384, 32  # entries, and places among them

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Near(NamedTuple):
    """The rows of the nearest entries, each once and in order, and mean and standard deviation of
    the cosines of all allowed entries; if the index holds codes, estimated from some of them at
    even distances."""

    rows: Rows
    mean: float
    spread: float


class VectorIndex:
    """Entries of (row, vector), in the order of their arrival; a row may have several. An `exact`
    index holds vectors, another one codes."""

    def __init__(self, *, exact: bool) -> None:
        self.exact = exact
        self.count = 0
        self._reserved = 0
        self._rows = np.zeros(_CAPACITY_MIN, dtype=np.int32)
        self._wholes = np.full(_CAPACITY_MIN, -1, dtype=np.int32)  # by row: its first entry
        # exact: float32 [capacity, D]; otherwise codes, uint8 [capacity, bytes]
        self._data: NDArray[Any] | None = None
        self._signs = np.zeros((0, 0), dtype=np.uint64)  # of codes, [words, capacity]
        self._levels = np.zeros(0, dtype=np.uint8)  # from which signs are taken
        self._sample: tuple[int, Floats] | None = None  # the step of `_sampled`, and what it gives

    def reserve(self, capacity: int) -> None:
        """Make room for so many entries in all when the next are added, so that arrays need not
        grow step by step."""
        self._reserved = max(self._reserved, capacity)

    def add(self, rows: Rows, data: Sequence[bytes] | NDArray[Any]) -> None:
        """Add entries. `data` are half-precision vectors if the index is exact, codes if not,
        packed or unpacked; all entries of an index have one length, and those of a row arrive
        together, its whole text first. Raises CorruptError for other lengths."""
        if not len(rows):
            return
        new = self._unpacked(data)
        start, needed = self.count, self.count + len(rows)
        held = self._room(needed, new)
        self._rows[start:needed] = rows
        first, places = _firsts(rows)
        if (last := int(first.max())) >= len(self._wholes):
            size = max(last + 1, 2 * len(self._wholes))
            wholes = np.full(size, -1, dtype=np.int32)
            wholes[: len(self._wholes)] = self._wholes
            self._wholes = wholes
        held[start:needed] = new
        if not self.exact:
            if not start:
                self._levels = code_levels(new)
            self._signs[:, start:needed] = code_signs(new, self._levels).T
        self._wholes[first] = start + places
        self.count = needed  # last, so that a concurrent question sees whole entries only

    def _unpacked(self, data: Sequence[bytes] | NDArray[Any]) -> NDArray[Any]:
        width = None if self._data is None else self._data.shape[1]
        if not isinstance(data, np.ndarray):
            return unpack_vectors(data, width) if self.exact else unpack_codes(data, width)
        if width is not None and data.shape[1] != width:
            scale = 2 if self.exact else 1
            raise wrong_length(scale * data.shape[1], scale * width, of="bytes")
        return data

    def _room(self, needed: int, like: NDArray[Any]) -> NDArray[Any]:
        """The array of the data, with capacity for so many of such entries."""
        width, capacity = like.shape[1], len(self._rows)
        if self._data is None:
            self._data = np.zeros((0, width), dtype=like.dtype)
        elif needed <= capacity:
            return self._data
        capacity = max(needed, 2 * self.count, self._reserved, _CAPACITY_MIN)
        self._rows = _resized(self._rows, (capacity,))
        self._data = _resized(self._data, (capacity, width))
        if not self.exact:
            self._signs = _resized(self._signs, (width // 8 // 4, capacity))
        return self._data

    def wholes(self, rows: Rows, dimensions: int) -> tuple[Rows, Floats]:
        """Return those of the rows that have entries, and the vectors of their whole texts,
        approximate if the index holds codes. Raises CorruptError where these have another number of
        dimensions."""
        rows = rows[rows < len(self._wholes)]
        rows = rows[self._wholes[rows] >= 0]
        if self._data is None:
            return rows, np.zeros((0, dimensions), dtype=np.float32)
        self._require(dimensions)
        held = self._data[self._wholes[rows]]
        return rows, held if self.exact else code_vectors(held, dimensions)

    def nearest(self, vector: Floats, *, allowed: Mask, depth: int, centred: bool = False) -> Near:
        """Return the rows of the `depth` nearest allowed entries, by cosine or by code. `centred`:
        the mean of all vectors was subtracted from the question's. Raises CorruptError where it has
        another number of dimensions."""
        count = self.count  # another thread may add entries
        if not count or self._data is None:
            return Near(np.zeros(0, dtype=np.int64), 0.0, 0.0)
        self._require(len(vector))
        rows = self._rows[:count]
        if int(rows.max()) >= len(allowed):
            keep = _within(rows, allowed)
        else:
            keep = np.ones(count, dtype=bool) if allowed.all() else allowed.take(rows)
        if int(np.count_nonzero(keep)) * _FEW_OF < count:  # a few are gathered, the rest not read
            places = np.flatnonzero(keep)
            found, mean, spread = self._among(places, vector, depth, centred=centred, of=count)
        elif self.exact:
            found, mean, spread = self._by_cosine(vector, keep, depth)
        else:
            found, mean, spread = self._by_code(vector, keep, depth, centred=centred)
        return Near(distinct(rows[found]).astype(np.int64), mean, spread)

    def _require(self, dimensions: int) -> None:
        assert self._data is not None
        asked, held = dimensions if self.exact else -(-dimensions // 64) * 32, self._data.shape[1]
        if asked != held:
            raise wrong_length(held, asked, of="numbers" if self.exact else "bytes of a code")

    def _among(
        self, places: Rows, vector: Floats, depth: int, *, centred: bool, of: int
    ) -> tuple[Rows, float, float]:
        """The same as the two below, of an index that held the entries at these places alone."""
        assert self._data is not None
        part = VectorIndex(exact=self.exact)
        part.count, part._data = len(places), self._data[places]
        if not self.exact:
            part._signs, part._levels = self._signs[:, places], self._levels
        every = np.ones(len(places), dtype=bool)
        found, mean, spread = (
            part._by_cosine(vector, every, depth)
            if self.exact
            else part._by_code(vector, every, depth, centred=centred, of=of)
        )
        return places[found], mean, spread

    def _by_cosine(self, vector: Floats, keep: Mask, depth: int) -> tuple[Rows, float, float]:
        assert self._data is not None
        cosines = row_products(self._data[: len(keep)], vector)
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

    def _by_code(
        self, vector: Floats, keep: Mask, depth: int, *, centred: bool, of: int = 0
    ) -> tuple[Rows, float, float]:
        assert self._data is not None
        words = code_signs(
            codes_of(vector[np.newaxis]), np.full_like(self._levels, 8) if centred else self._levels
        )[0]
        kept = int(np.count_nonzero(keep))
        if not kept:
            return np.zeros(0, dtype=np.int64), 0.0, 0.0
        distance = _differing(words, self._signs, len(keep))
        wanted = min(
            max(
                constants.SIGN_CANDIDATES_MIN,
                (of or len(keep)) // constants.SIGN_CANDIDATES_OF,
                depth,
            ),
            kept,
        )
        found = _lowest(distance, keep, wanted)
        if len(found) > depth:
            found = found[
                np.argpartition(-code_products(self._data[found], vector), depth - 1)[:depth]
            ]
        step = -(-kept // constants.CODE_SAMPLE)
        cosines = (
            code_products(self._data[np.flatnonzero(keep)[::step]], vector)
            if kept < len(keep)
            else row_products(self._sampled(step, kept, len(vector)), vector)
        )
        return found, float(cosines.mean()), float(cosines.std())

    def _sampled(self, step: int, count: int, dimensions: int) -> Floats:
        """Return each `step`th of the first `count` vectors, as far as codes tell. They are kept:
        of many entries that are added one is among them."""
        assert self._data is not None
        size = -(-count // step)
        sample = self._sample
        if sample is None or sample[0] != step or sample[1].shape != (size, dimensions):
            sample = self._sample = step, code_vectors(self._data[:count:step], dimensions)
        return sample[1]


def _lowest(distance: NDArray[np.uint16], keep: Mask, wanted: int) -> Rows:
    """Return the places of the `wanted` lowest distances that are kept, at most as many as there
    are; of the very many that may lie at the limit, the first. A bound that more than these are
    likely to be below is guessed from some of them, so that only what lies below it is sorted."""
    step = max(1, len(distance) // _GUESSED_FROM)
    some = distance[::step]
    place = min(len(some) - 1, 2 * wanted // step + _GUESSED_MIN)
    found = np.flatnonzero(distance <= np.partition(some, place)[place])
    found = found[keep.take(found)]
    if len(found) < wanted:  # what is kept is far away
        found = np.flatnonzero(keep)
    held = distance.take(found)
    limit = np.partition(held, wanted - 1)[wanted - 1]
    below = np.flatnonzero(held <= limit)
    if len(below) > wanted:
        at = np.flatnonzero(held[below] == limit)
        below = np.delete(below, at[wanted - len(below) :])
    return np.asarray(found[below], dtype=np.int64)


def _differing(
    words: NDArray[np.uint64], signs: NDArray[np.uint64], count: int
) -> NDArray[np.uint16]:
    """In how many bits each of the first `count` columns of signs differs from these words. Bits
    are summed in bytes, three words at a time: 192 are the most that a byte holds."""
    distance = np.zeros(count, dtype=np.uint16)
    size = min(_CHUNK, count)
    differs, bits, three = np.empty(size, np.uint64), np.empty(size, np.uint8), np.empty(size, "u1")
    for start in range(0, count, _CHUNK):
        part = distance[start : start + _CHUNK]
        differ, bit, summed = differs[: len(part)], bits[: len(part)], three[: len(part)]
        for number, word in enumerate(words):
            np.bitwise_xor(signs[number, start : start + len(part)], word, out=differ)
            if number % 3:
                np.add(summed, np.bitwise_count(differ, out=bit), out=summed)
            else:
                np.bitwise_count(differ, out=summed)
            if number % 3 == 2 or number == len(words) - 1:
                np.add(part, summed, out=part)
    return distance


def _firsts(rows: Rows) -> tuple[Rows, Rows]:
    """Return each row once, and where it is first."""
    rows = np.asarray(rows, dtype=np.int64)
    steps = np.diff(rows)
    if (steps < 0).any():
        return np.unique(rows, return_index=True)
    places = np.flatnonzero(np.concatenate(([True], steps > 0)))
    return rows[places], places


def _within(rows: NDArray[np.int32], allowed: Mask) -> Mask:
    keep = np.zeros(len(rows), dtype=bool)
    known = rows < len(allowed)
    keep[known] = allowed[rows[known]]
    return keep


def _resized(held: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    bigger = np.zeros(shape, dtype=held.dtype)
    bigger[tuple(slice(0, size) for size in held.shape)] = held
    return bigger
