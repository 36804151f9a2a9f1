"""The lane of meaning: 1-bit codes in memory name candidates, the stored vectors rescore them exactly.

A sign code keeps one bit for each of D dimensions; the Hamming distance h of two codes estimates their angle as pi * h / D
(Charikar, "Similarity Estimation Techniques from Rounding Algorithms", 2002). The estimate only selects; what ranks is the cosine of the
stored half-precision vectors. Part 0 of a memory is its whole text as far as the model reads; a long text has further parts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall.fusion import PREVIOUS, best_part, share, with_previous
from doxa.recall.shelf import Shelf
from doxa.store import Reader, int64_array

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Estimate(NamedTuple):
    """Estimated meaning of every row, dense (rows without a vector: nan), and the spread of single parts."""

    values: Floats
    spread: float


def pack_vector(vector: Floats) -> tuple[bytes, bytes]:
    """A unit vector as it is stored: half precision, and its sign code."""
    return vector.astype("<f2").tobytes(), sign_code(vector).tobytes()


def sign_code(vector: Floats) -> NDArray[np.uint8]:
    """One bit for each dimension, and zeros up to whole words of 64 bits: codes are compared by words, and equal bits count for nothing."""
    code = np.packbits(vector > 0)
    return np.pad(code, (0, -len(code) % 8))


def estimate(shelf: Shelf, vector: Floats, *, eligible: Mask) -> Estimate:
    """Every row from the codes alone, its previous turn included. What is not eligible lends nothing and has no part in the spread."""
    own = np.full(shelf.count, np.nan, dtype=np.float32)
    if not shelf.code_count:
        return Estimate(own, 0.0)
    code = sign_code(vector).view(np.uint64)
    distance = np.bitwise_count(shelf.codes.view(np.uint64) ^ code).sum(axis=1, dtype=np.uint16)
    table = np.cos(np.pi * np.arange(len(vector) + 1) / len(vector)).astype(np.float32)
    cosines = table[distance]
    rows = shelf.code_doc
    if rows[-1] >= shelf.count or len(cosines) != len(rows):
        known = rows < shelf.count
        rows, cosines = rows[known], cosines[known]
    best = np.full(shelf.count, -1.0, dtype=np.float32)
    if len(rows) > shelf.count or shelf["vectors"].max(initial=0) > 1:
        np.maximum.at(best, rows, cosines)
    else:
        best[rows] = cosines
    own[rows] = best[rows]
    previous = shelf["prev"]
    linked = (previous >= 0) & ~np.isnan(own[previous]) & eligible[previous]
    lent = np.where(linked, own[previous], 0)
    weight = np.where(linked, PREVIOUS * share(shelf["length"]), 0).astype(np.float32)
    mixed = (own + weight * lent) / (1 + weight)  # selects only: the dot product of the two is not known here
    counted = cosines[eligible[rows]]
    return Estimate(mixed.astype(np.float32), float(counted.std()) if len(counted) else 0.0)


def exact(reader: Reader, shelf: Shelf, rows: Rows, *, vector: Floats, spread: float, eligible: Mask) -> Floats:
    """The meaning of the given rows from their stored vectors; nan where a row has none."""
    previous = shelf["prev"][rows].astype(np.int64)
    wanted = np.union1d(rows, previous[previous >= 0])
    whole, wholes, part, parts = _load(reader, shelf.scope, wanted, vector=vector)
    at = np.searchsorted(wanted, rows)
    before = np.searchsorted(wanted, np.maximum(previous, 0))
    before = np.minimum(before, len(wanted) - 1)
    own = best_part(whole, part, parts=parts, spread=spread)
    linked = (previous >= 0) & ~np.isnan(own[before]) & eligible[np.maximum(previous, 0)]
    weight = np.where(linked, PREVIOUS * share(shelf["length"][rows]), 0).astype(np.float32)
    dot = np.einsum("ij,ij->i", wholes[at], wholes[before])
    return with_previous(own[at], np.where(linked, own[before], 0).astype(np.float32), weight=weight, dot=dot)


def _load(reader: Reader, scope: int, wanted: Rows, *, vector: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """For each wanted row: cosine of part 0 (nan if absent), its vector, the best further part's cosine, the number of further parts."""
    found = reader.rows(
        "SELECT v.doc, v.part, v.data FROM carray(?) f CROSS JOIN vector v ON v.scope = ? AND v.doc = f.value",
        (int64_array(wanted.tolist()), scope),
    )
    whole = np.full(len(wanted), np.nan, dtype=np.float32)
    wholes = np.zeros((len(wanted), len(vector)), dtype=np.float32)
    part = np.full(len(wanted), -1.0, dtype=np.float32)
    parts = np.zeros(len(wanted), dtype=np.float32)
    if found:
        data = np.frombuffer(b"".join([row[2] for row in found]), dtype="<f2").reshape(len(found), len(vector)).astype(np.float32)
        cosines = data @ vector
        position = np.searchsorted(wanted, np.fromiter((row[0] for row in found), dtype=np.int64, count=len(found)))
        first = np.fromiter((row[1] == 0 for row in found), dtype=bool, count=len(found))
        whole[position[first]] = cosines[first]
        wholes[position[first]] = data[first]
        np.maximum.at(part, position[~first], cosines[~first])
        np.add.at(parts, position[~first], 1)
    return whole, wholes, part, parts
