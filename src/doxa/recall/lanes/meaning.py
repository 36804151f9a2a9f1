"""The lane of meaning: the vector index names candidates, their stored vectors give their cosines,
and the index supplies the vectors of their neighbours.

A memory has several vectors: of its whole text as far as the model reads; of the passages of a long
text or the fields of a belief; of the sentences of a short one. A turn also has its neighbours. See
`maintenance/embedding.py` for the numbering of the parts.

Cosines are scaled by the calibration of the project (`calibration.py`). A statement is compared
without what all memories have in common, their mean (after Mu & Viswanath, "All-but-the-Top", ICLR
2018): it shares that with every one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.indexes.arrays import distinct
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.recall.lanes.neighbours import borrowed_share
from doxa.store import (
    FIELDS_FROM,
    INDEXED_PARTS,
    PARTS,
    Reader,
    SearchRule,
    added_statements,
    entries_of,
    int64_array,
    row_products,
    unpack_parts,
    unpack_vectors,
    vector_id,
)

_TOGETHER = "entities"  # the field whose entries are one text

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
Part = tuple[Any, ...]  # the row, the number of the part, and its vector as it is stored


class Vectors(NamedTuple):
    """For each row the cosine of its whole text (nan: none) and that vector, the cosines of its
    best passage, field and sentence (-1: none), and which part the best field is."""

    whole: Floats
    direction: Floats
    passage: Floats
    passages: Floats
    field: Floats
    sentence: Floats
    part: Rows


class Common(NamedTuple):
    """The part of cosines that all memories of a project share: of the question with each of them,
    and of any two of them. It differs from model to model."""

    question: float
    memories: float


def field_texts(rule: SearchRule, props: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the texts of a belief's fields, in the order of their parts from FIELDS_FROM on: one
    for each entry, with the field's name. The first entry of every field comes before the second of
    any, so that no field goes without a vector where there are too many entries. The names of
    entities form one text: alone, each would be near everything about it."""
    held = {"facts": added_statements(rule, props, "facts")}
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


def without_centre(centre: Floats | None, vectors: Floats) -> Floats:
    """Return the directions of unit vectors from the centre; a vector at the centre stays as it
    is."""
    if centre is None:
        return vectors
    rest = vectors - centre
    length = np.linalg.norm(rest, axis=-1, keepdims=True)
    rest /= np.maximum(length, 1e-6)
    if not length.min(initial=1.0) > 1e-6:  # or NaN
        rest = np.where(length > 1e-6, rest, vectors)
    return rest.astype(np.float32, copy=False)


def with_request(question: Floats, request: Floats) -> Floats:
    """Return the vector of a narrated question in which the request that it quotes counts REQUEST:
    the scene alone would find what resembles the scene."""
    mixed = (1 - constants.REQUEST) * question + constants.REQUEST * request
    return np.asarray(mixed / max(float(np.linalg.norm(mixed)), 1e-6), dtype=np.float32)


def passage_cosine(whole: Floats, best: Floats, *, count: Floats, spread: float) -> Floats:
    """Return the cosine of a long memory: between its whole and its best passage, less what the
    best of so many passages reaches by chance."""
    chance = spread * np.sqrt(2 * np.log(np.maximum(count, 1)))
    share = constants.PASSAGE
    mixed = (1 - share) * whole + share * (best - chance)
    return np.where(count > 1, mixed, whole).astype(np.float32)


def cosines_of(
    parts: list[Part],
    project: ProjectIndex,
    rows: Rows,
    *,
    vector: Floats,
    centre: Floats | None,
    shift: Floats | None,
    spread: float,
    common: Common,
    believed: Mask,
) -> tuple[Floats, Rows]:
    """Return the cosine of each row, whose stored `parts` are given, with the question, nan where a
    row has no vector; and the part of the best field, 0 where no field decides. `spread` is that of
    the question's cosines, and `common` what all vectors share, which is neither lent nor counted
    as similarity. Neighbours lend the vectors that the index holds, whether or not they are among
    the rows."""
    held = _compared(parts, rows, vector=vector, centre=centre)
    own = passage_cosine(held.whole, held.passage, count=held.passages, spread=spread)
    near = borrowed_share(project["length"][rows], constants.NEIGHBOUR_LENGTH_MEANING)
    total, square = own - common.question, np.ones(len(rows), dtype=np.float32)
    previous, following = (
        project["prev"][rows].astype(np.int64),
        project.following[rows].astype(np.int64),
    )
    known, lent = project.vector_index.wholes(
        distinct(np.concatenate((previous[previous >= 0], following[following >= 0]))), len(vector)
    )
    if shift is not None:
        lent = lent + shift
        lent /= np.maximum(np.linalg.norm(lent, axis=1, keepdims=True), np.float32(1e-6))
    lent = without_centre(centre, lent)
    cosines = row_products(lent, vector)
    lending = ((previous, constants.PREVIOUS), (following, constants.NEXT_MEANING))
    for other, part in lending if len(known) else ():
        place = np.minimum(np.searchsorted(known, other), len(known) - 1)
        linked = (known[place] == other) & believed[np.maximum(other, 0)]
        weight = np.where(linked, part * near, 0).astype(np.float32)
        total += weight * (cosines[place] - common.question)
        alike = np.einsum("ij,ij->i", held.direction, lent[place]) - common.memories
        square += weight * (weight + 2 * alike / (1 - common.memories))
    value = common.question + total / np.sqrt(np.maximum(square, 1e-6))
    share = constants.SENTENCE
    value = np.where(held.sentence > -1, (1 - share) * value + share * held.sentence, value)
    field = common.question + constants.FIELD * (held.field - common.question)
    by_field = (held.field > -1) & ~(value >= field)
    return np.where(by_field, field, value).astype(np.float32), np.where(by_field, held.part, 0)


def read_parts(reader: Reader, project: ProjectIndex, rows: Rows) -> list[Part]:
    """Read all vectors of these rows from the store."""
    return reader.rows(
        "SELECT v.doc, v.part, v.data FROM carray(?) f"
        f" CROSS JOIN vector v ON v.id BETWEEN f.value AND f.value + {PARTS - 1}",
        (int64_array(vector_id(project.scope, rows).tolist()),),
    )


def _compared(parts: list[Part], rows: Rows, *, vector: Floats, centre: Floats | None) -> Vectors:
    """Compare all parts of these rows with the question."""
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
    if not parts:
        return held
    docs, numbers, packed = zip(*parts, strict=True)
    part = np.array(numbers, dtype=np.int64)
    of_sentence = part >= INDEXED_PARTS
    data = unpack_vectors(list(compress(packed, (~of_sentence).tolist())), len(vector))
    if of_sentence.any():
        sentences = unpack_parts(list(compress(packed, of_sentence.tolist())), len(vector))
        data = np.concatenate((data, sentences))
    order = np.argsort(of_sentence, kind="stable")  # as in the data
    position, part = np.searchsorted(rows, np.array(docs, dtype=np.int64)[order]), part[order]
    data = without_centre(centre, data)
    cosines = row_products(data, vector)
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
