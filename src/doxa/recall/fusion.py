"""How words and meaning become one ranking. Pure: arrays in, arrays out.

    words     coverage in [0, 1): the share of the question's idf mass that a memory covers, saturated and length-normalised as in BM25; a
              memory also counts, at a discount, what the turn before and after it say, the more so the shorter it is itself
    meaning   the cosine of the question with the memory, and with the turn before it at the same discount
    fused     unit(meaning) + LAMBDA * gate * unit(words) + SPEAKER * (the question names its speaker)
    gate      cover^2 / (cover^2 + C^2), cover = the best coverage of any memory: words count as far as the question's words occur at all

unit(x) = (x - mean) / (max - mean) over the candidates' whole population, so that a lane in which nothing stands out cannot outvote one in
which something does. The constants lie on a plateau found on the developers' parts of LoCoMo, LoCoMo-Plus and BEAM together; docs/benchmarks
gives the sensitivity of each. Coverage and gate answer the finding that equal-weight rank fusion loses to its better lane.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

K1 = 0.9
B = 0.5
PREVIOUS = 0.5
NEXT = 0.2
NEIGHBOUR_LENGTH = 30.0  # terms; a memory of this length gives its neighbours half their share
LAMBDA = 0.6
C = 0.15
SPEAKER = 1 / 3

Floats = NDArray[np.float32]


class Population(NamedTuple):
    """What `unit` needs to know of a lane over everything eligible."""

    mean: float
    best: float


def share(length: Floats) -> Floats:
    """How much a memory borrows from its neighbours, by its own length in terms."""
    return (NEIGHBOUR_LENGTH / (NEIGHBOUR_LENGTH + length)).astype(np.float32)


def with_previous(own: Floats, previous: Floats, *, weight: Floats, dot: Floats) -> Floats:
    """The cosine with the direction own + weight * previous, from the cosines with both and the dot product of the two."""
    return ((own + weight * previous) / np.sqrt(1 + weight * weight + 2 * weight * dot)).astype(np.float32)


def best_part(whole: Floats, part: Floats, *, parts: Floats, spread: float) -> Floats:
    """A long memory's meaning: the mean of its whole and its best part, less what the best of so many parts reaches by chance."""
    chance = spread * np.sqrt(2 * np.log(np.maximum(parts, 1)))
    return np.where(parts > 1, (whole + part - chance) / 2, whole).astype(np.float32)


def unit(values: Floats, population: Population) -> Floats:
    room = population.best - population.mean
    return ((values - population.mean) / room if room > 1e-9 else np.zeros_like(values)).astype(np.float32)


def gate(cover: float) -> float:
    """How far words are to be believed, in [0, 1)."""
    return cover * cover / (cover * cover + C * C) if cover > 0 else 0.0


def fuse(words: Floats, meaning: Floats | None, *, spoken: Floats, word_population: Population, meaning_population: Population) -> Floats:
    """The final score of each candidate; without a lane of meaning, coverage alone, where a named speaker counts in the same proportion."""
    bonus = SPEAKER * spoken
    if meaning is None:
        score = words + bonus * (word_population.best - word_population.mean) * (words > 0)  # the bonus on the scale of unit()
    else:
        weight = LAMBDA * gate(word_population.best)
        score = unit(meaning, meaning_population) + weight * unit(words, word_population) + bonus
    return np.asarray(score, dtype=np.float32)
