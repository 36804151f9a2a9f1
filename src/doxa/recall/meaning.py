"""The lane of meaning: an index names candidates, their stored vectors say how near they are, and
the index what their neighbours lend.

A memory has several vectors: of its whole text as far as the model reads; of the passages of a long
text or the fields of a belief; of the sentences of a short one. A turn also has its neighbours. See
`maintenance/embedding.py` for the numbers of the parts.

The cosines of one model crowd between 0.7 and 0.9, those of another between 0 and 0.5, and memories
of one subject lie nearer to each other than those of many. So a cosine is told in standard
deviations of the cosines between memories of the project. A remark is compared without what all
memories have in common, their mean (after Mu & Viswanath, "All-but-the-Top", ICLR 2018): it shares
that with every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall.fusion import (
    FIELD,
    NEIGHBOUR_LENGTH_MEANING,
    NEXT_MEANING,
    PREVIOUS,
    SENTENCE,
    passages,
    share,
)
from doxa.recall.shelf import Shelf
from doxa.store import (
    FIELDS_FROM,
    INDEXED_PARTS,
    PARTS,
    Reader,
    SearchRule,
    entries_of,
    int64_array,
    unpack_parts,
    unpack_vectors,
    vector_id,
)

CALIBRATED_ROWS_MAX = 2_048
# memories' worth of "no common direction": a handful of memories says little about what all have in
# common
_CENTRE_WEIGHT = 50
_SPREAD_FIRST = 0.15  # until there are memories enough to measure it
_ROWS_ENOUGH = 20
_SHIFTS = 4
_TOGETHER = "entities"  # the field whose entries are one text

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Calibration(NamedTuple):
    """What the cosines of a project are measured by: their standard deviation and mean between
    memories, and the mean of its vectors. Where the index keeps codes, `shift` is what the mean of
    these lacks: codes cut off what is great in a number."""

    spread: float
    centre: Floats | None
    mean: float = 0.0
    shift: Floats | None = None


class Vectors(NamedTuple):
    """What the wanted rows hold: for each the cosine of its whole (nan: none) and that vector, its
    best passage, field and sentence (-1: none), and which part the best field is."""

    whole: Floats
    direction: Floats
    passage: Floats
    passages: Floats
    field: Floats
    sentence: Floats
    part: Rows


def field_texts(rule: SearchRule, props: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the fields of a belief say, in the order of their parts from FIELDS_FROM on: a text for
    each of their entries, with the field's name. The first of every field comes before the second
    of any, so that where there are more than get vectors no field goes without. Names say something
    together: alone each would be near to everything about it."""
    facts = props.get("facts")
    held = {
        "facts": [text for text in facts if isinstance(text, str)]
        if isinstance(facts, list)
        else []
    }
    for name, text in entries_of(rule, props):
        held.setdefault(name, []).append(text)
    if _TOGETHER in held:
        held[_TOGETHER] = [", ".join(held[_TOGETHER])]
    return [
        (name, text)
        for row in zip_longest(*held.values())
        for name, text in zip(held, row, strict=True)
        if text and text.strip()
    ]


def calibrate(reader: Reader, shelf: Shelf, rows: Rows) -> Calibration:
    """Measured on at most CALIBRATED_ROWS_MAX of these rows, at even distances: a function of what
    is stored, the same in every process."""
    rows = rows[:: max(1, -(-len(rows) // CALIBRATED_ROWS_MAX))]
    sql = "SELECT v.data FROM carray(?) f CROSS JOIN vector v ON v.id = f.value"
    found = reader.rows(sql, (int64_array(vector_id(shelf.scope, rows).tolist()),))
    if not found:
        return Calibration(_SPREAD_FIRST, None)
    data = unpack_vectors([row[0] for row in found])
    centre, shift = data.sum(axis=0) / (len(data) + _CENTRE_WEIGHT), None
    if not shelf.index.exact:
        coded = shelf.index.wholes(rows, data.shape[1])[1]
        shift = data.mean(axis=0) - coded.mean(axis=0) if len(coded) else None
    if len(data) < _ROWS_ENOUGH:
        pairs = (data @ data.T)[np.triu_indices(len(data), 1)]
        return Calibration(_SPREAD_FIRST, centre, float(pairs.mean()) if len(pairs) else 0.0, shift)
    shifts = [1 + len(data) * number // (_SHIFTS + 1) for number in range(1, _SHIFTS + 1)]
    cosines = np.concatenate(
        [np.einsum("ij,ij->i", data, np.roll(data, places, axis=0)) for places in shifts]
    )
    return Calibration(max(float(cosines.std()), 1e-3), centre, float(cosines.mean()), shift)


def measured_rows(shelf: Shelf, believed: Mask) -> tuple[Rows, bool]:
    """The believed rows with vectors among the first P, P the highest power of two that fits: most
    writes leave them as they are. Superseded and erased rows count in P too, so a memory that
    revises much may have too few there: then all believed rows with vectors, and True."""
    known = believed & (shelf["vectors"] > 0)
    rows = np.flatnonzero(known[: calibrated_rows(shelf.count)])
    return (rows, False) if len(rows) >= _ROWS_ENOUGH else (np.flatnonzero(known), True)


class _Measured(NamedTuple):
    """A calibration, for which kind of index and among how many rows it was measured, whether these
    were all, and which of them were believed."""

    exact: bool
    among: int
    everywhere: bool
    believed: Mask
    calibration: Calibration


class Calibrations:
    """The calibration of each project, measured again when a row among those that it was measured
    on has changed, or is believed no more or again."""

    def __init__(self) -> None:
        self._held: dict[int, _Measured] = {}

    def of(self, reader: Reader, shelf: Shelf, believed: Mask) -> Calibration:
        first, held = calibrated_rows(shelf.count), self._held.get(shelf.scope)
        same = held is not None and held.exact == shelf.index.exact
        fits = (
            held is not None
            and same
            and held.among == (shelf.count if held.everywhere else first)
            and shelf.oldest_changed >= held.among
        )
        if held is not None and fits and np.array_equal(held.believed, believed[: held.among]):
            return held.calibration
        rows, everywhere = measured_rows(shelf, believed)
        among = shelf.count if everywhere else first
        made = calibrate(reader, shelf, rows)
        self._held[shelf.scope] = _Measured(
            shelf.index.exact, among, everywhere, believed[:among].copy(), made
        )
        shelf.oldest_changed = shelf.count
        return made


def calibrated_rows(count: int) -> int:
    return 1 << max(0, count.bit_length() - 1) if count else 0


def without(centre: Floats | None, vectors: Floats) -> Floats:
    """The directions of unit vectors from the centre; one that lies in it keeps its own."""
    if centre is None:
        return vectors
    rest = vectors - centre
    length = np.linalg.norm(rest, axis=-1, keepdims=True)
    return np.where(length > 1e-6, rest / np.maximum(length, 1e-6), vectors).astype(np.float32)


def exact(
    reader: Reader,
    shelf: Shelf,
    rows: Rows,
    *,
    vector: Floats,
    centre: Floats | None,
    shift: Floats | None,
    spread: float,
    believed: Mask,
) -> tuple[Floats, Rows]:
    """The likeness of the given rows to the question, as a cosine; nan where a row has no vector.
    And the part of the field that said most, 0 where none did. `spread` is that of the question's
    cosines. Neighbours lend the vectors that the index holds, whether they are among the rows or
    not."""
    held = _load(reader, shelf, rows, vector=vector, centre=centre)
    own = passages(held.whole, held.passage, count=held.passages, spread=spread)
    near = share(shelf["length"][rows], NEIGHBOUR_LENGTH_MEANING)
    total, square = own.copy(), np.ones(len(rows), dtype=np.float32)
    previous, following = (
        shelf["prev"][rows].astype(np.int64),
        shelf.following[rows].astype(np.int64),
    )
    known, lent = shelf.index.wholes(
        np.unique(np.concatenate((previous[previous >= 0], following[following >= 0]))), len(vector)
    )
    if shift is not None:
        lent = lent + shift
        lent /= np.maximum(np.linalg.norm(lent, axis=1, keepdims=True), np.float32(1e-6))
    lent = without(centre, lent)
    cosines = lent @ vector
    for other, part in ((previous, PREVIOUS), (following, NEXT_MEANING)) if len(known) else ():
        beside = np.minimum(np.searchsorted(known, other), len(known) - 1)
        linked = (known[beside] == other) & believed[np.maximum(other, 0)]
        weight = np.where(linked, part * near, 0).astype(np.float32)
        total += weight * cosines[beside]
        square += weight * (weight + 2 * np.einsum("ij,ij->i", held.direction, lent[beside]))
    value = total / np.sqrt(np.maximum(square, 1e-6))
    value = np.where(held.sentence > -1, (1 - SENTENCE) * value + SENTENCE * held.sentence, value)
    by_field = (held.field > -1) & ~(value >= FIELD * held.field)
    return np.where(by_field, FIELD * held.field, value).astype(np.float32), np.where(
        by_field, held.part, 0
    )


def _load(
    reader: Reader, shelf: Shelf, rows: Rows, *, vector: Floats, centre: Floats | None
) -> Vectors:
    """All parts of these rows from the store."""
    sql = (
        "SELECT v.doc, v.part, v.data FROM carray(?) f CROSS JOIN vector v ON v.id BETWEEN f.value "
    )
    asked = int64_array(vector_id(shelf.scope, rows).tolist())
    found = reader.rows(f"{sql} AND f.value + {INDEXED_PARTS - 1}", (asked,))
    sentences = reader.rows(f"{sql} + {INDEXED_PARTS} AND f.value + {PARTS - 1}", (asked,))
    size = len(rows)
    held = Vectors(
        np.full(size, np.nan, dtype=np.float32),
        np.zeros((size, len(vector)), dtype=np.float32),
        np.full(size, -1, dtype=np.float32),
        np.zeros(size, dtype=np.float32),
        np.full(size, -1, dtype=np.float32),
        np.full(size, -1, dtype=np.float32),
        np.zeros(size, dtype=np.int64),
    )
    if not found:
        return held
    data = unpack_vectors([row[2] for row in found], len(vector))
    if sentences:
        data = np.concatenate((data, unpack_parts([row[2] for row in sentences], len(vector))))
        found += sentences
    data = without(centre, data)
    cosines = data @ vector
    docs, numbers, _ = zip(*found, strict=True)
    position, part = (
        np.searchsorted(rows, np.array(docs, dtype=np.int64)),
        np.array(numbers, dtype=np.int64),
    )
    first = part == 0
    held.whole[position[first]] = cosines[first]
    held.direction[position[first]] = data[first]
    passage, field, sentence = (
        (part > 0) & (part < FIELDS_FROM),
        (part >= FIELDS_FROM) & (part < INDEXED_PARTS),
        part >= INDEXED_PARTS,
    )
    for highest, which in ((held.passage, passage), (held.field, field), (held.sentence, sentence)):
        np.maximum.at(highest, position[which], cosines[which])
    best = field & (cosines == held.field[position])
    held.part[position[best]] = part[best]
    np.add.at(held.passages, position[passage], 1)
    return held
