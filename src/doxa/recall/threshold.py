"""Evidence: how much speaks for a hit, on a scale that is the same in every memory; and the
threshold of `strict` on that scale.

    evidence    noise-relative meaning (`lanes/noise.py`), in standard deviations
                + STRICT_WORDS * words + STRICT_ENTITIES * entities + STRICT_TIME * time
                + STRICT_LINK * graph
    threshold   the larger of STRICT_FLOOR
                and STRICT_SHARE * the best evidence of this question + log(n / STRICT_MEMORIES)

where STRICT_WORDS_UNFAMILIAR takes the place of STRICT_WORDS in a language that the embedder does
not know, and n is the number of memories searched, within STRICT_MEMORIES_LEAST and
STRICT_MEMORIES_MOST: the more there are, the nearer lies the nearest that is unrelated. A hit far
below the best one does not stand out, however near it would be to another question. Recency and
policies do not count; a link adds to what a hit has of its own, and carries no unrelated one.

What names a namesake instead (`namesakes.py`), or only asks the same, has no evidence, however near
it is. What leads a hit
by trust (`trust.py`) stands out with it.

A hit without a vector stands out by words alone: if it covers STRICT_COVERAGE of the question, and
STRICT_SHARE of what the best hit covers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants
from doxa.recall.candidates import CandidateSet, Scale
from doxa.recall.hits import Ranked
from doxa.recall.lanes.noise import Noise

Floats = NDArray[np.float32]


def weigh(
    ranked: Sequence[Ranked], candidates: Sequence[CandidateSet], scale: Scale
) -> list[Ranked]:
    """Return the hits with their evidence, None where a hit has no vector. `candidates` are those
    of the question by which the hits were found."""
    weighed = list(ranked)
    for one in candidates:
        places = [
            place
            for place, item in enumerate(ranked)
            if item.project is one.project and item.lanes["meaning"] is not None
        ]
        if places:
            noise = one.query.noise
            meaning = _deviations([ranked[place] for place in places], one, scale)
            for place, value in zip(places, meaning.tolist(), strict=True):
                own = value + _other_evidence(ranked[place], noise)
                weighed[place] = ranked[place]._replace(evidence=own)
    return weighed


def _deviations(items: list[Ranked], candidates: CandidateSet, scale: Scale) -> Floats:
    """How far the cosines lie above those of unrelated texts; above those of this question with all
    memories where the noise of its language is not known."""
    cosines = np.array([item.lanes["meaning"] for item in items], dtype=np.float32)
    query = candidates.query
    if query.noise is None or query.vector is None:
        return (cosines - np.float32(scale.average)) / np.float32(scale.spread)
    if candidates.centred:  # what unrelated texts have in common is not in these cosines
        return cosines / np.float32(query.noise.spread)
    rows = np.array([item.row for item in items], dtype=np.int64)
    known, vectors = candidates.project.vector_index.wholes(rows, len(query.vector))
    if candidates.calibration.shift is not None:
        vectors = vectors + candidates.calibration.shift
    memories = np.zeros((len(items), len(query.vector)), dtype=np.float32)
    memories[np.isin(rows, known)] = vectors
    return query.noise.deviations(cosines, query.vector, memories)


def _other_evidence(item: Ranked, noise: Noise | None) -> float:
    lane = item.lanes
    familiar = noise is None or noise.familiar
    words = constants.STRICT_WORDS if familiar else constants.STRICT_WORDS_UNFAMILIAR
    return (
        words * (lane["words"] or 0.0)
        + constants.STRICT_ENTITIES * (lane["entities"] or 0.0)
        + constants.STRICT_TIME * (lane["time"] or 0.0)
        + constants.STRICT_LINK * (lane["graph"] or 0.0)
    )


def above_threshold(ranked: Sequence[Ranked], *, searched: int) -> list[Ranked]:
    """Keep the hits that stand out, in order. `searched` is how many memories were searched. What
    may update a hit that stands out stands out with it."""
    ranked = [item for item in ranked if not (item.namesake or item.echo)]
    evidence = [item.evidence for item in ranked if item.evidence is not None]
    covered = max((item.lanes["words"] or 0.0 for item in ranked), default=0.0)
    by_words = max(constants.STRICT_COVERAGE, constants.STRICT_SHARE * covered)
    least = threshold(max(evidence, default=0.0), searched=searched)
    kept: list[Ranked] = []
    above = False  # whether the hit below stands out
    for item in reversed(ranked):
        own = (
            (item.lanes["words"] or 0.0) >= by_words
            if item.evidence is None
            else item.evidence >= least
        )
        above = own or bool(item.leads) or (bool(item.updates) and above)
        if above:
            kept.append(item)
    return kept[::-1]


def threshold(best: float, *, searched: int) -> float:
    """Return the evidence that a hit needs to stand out, given that of the best hit."""
    memories = min(max(searched, constants.STRICT_MEMORIES_LEAST), constants.STRICT_MEMORIES_MOST)
    relative = constants.STRICT_SHARE * best + math.log(memories / constants.STRICT_MEMORIES)
    return max(constants.STRICT_FLOOR, relative)
