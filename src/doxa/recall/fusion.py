"""How lanes become one score. Pure: arrays in, arrays out.

    words     coverage in [0, 1): the share of the question's idf mass that a memory covers, saturated and length-normalised as in BM25; a
              memory also counts, at a discount, what the turns before and after it say, the more so the shorter it is itself
    meaning   the cosine of the question with the memory and, at a discount, its neighbours, its best sentence, its best passage or field,
              in standard deviations of the cosines between memories of this project: one scale for every embedder and every store

    fused     MEANING * meaning + WORDS * gate * words / best words + SPEAKER * (the question names its speaker) + SIDE * (its side is asked for)
    gate      cover^2 / (cover^2 + C^2), cover = the best coverage of any memory: words count as far as the question's words occur at all

So every lane is on a scale that does not depend on the other candidates but for the best coverage, and no pass over the whole project is
needed. docs/benchmarks gives the sensitivity of each constant; it was chosen on the developers' parts of LoCoMo, LoCoMo-Plus and BEAM.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
B = 0.5
PREVIOUS = 0.5
NEXT = 0.2  # of words
NEXT_MEANING = 0.1
NEIGHBOUR_LENGTH = 30.0  # terms; a memory of this length gives its neighbours half their share of words
NEIGHBOUR_LENGTH_MEANING = 45.0
SENTENCE = 0.3
PASSAGE = 0.5
FIELD = 0.95
MEANING = 0.27
WORDS = 0.6
C = 0.15
C_REMARK = 0.5  # a remark that shares most of its words with a memory is about it; one that shares a few is not
SPEAKER = 1 / 3
SIDE = 0.2

Floats = NDArray[np.float32]


def share(length: Floats, half: float) -> Floats:
    """How much a memory borrows from its neighbours, by its own length in terms: half of it at the length `half`."""
    return (half / (half + length)).astype(np.float32)


def passages(whole: Floats, best: Floats, *, count: Floats, spread: float) -> Floats:
    """A long memory's meaning: between its whole and its best passage, less what the best of so many reaches by chance."""
    chance = spread * np.sqrt(2 * np.log(np.maximum(count, 1)))
    return np.where(count > 1, (1 - PASSAGE) * whole + PASSAGE * (best - chance), whole).astype(np.float32)


def gate(cover: float, *, remark: bool) -> float:
    """How far words are to be believed, in [0, 1)."""
    half = C_REMARK if remark else C
    return cover * cover / (cover * cover + half * half) if cover > 0 else 0.0
