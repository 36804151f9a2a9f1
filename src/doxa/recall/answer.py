"""How likely memory holds the answer, so that an agent can say that it does not know.

    1 / (1 + e^-x),  x = BIAS - UNKNOWN * (terms of the question that no memory holds)
                       + DENSITY * (meaning of the tenth best hit, in standard deviations above what
                       memories are to each other)
                       + NAMED * (best coverage by a speaker whom the question names, less the best
                       by anybody else)

A question about what was never spoken of has words that occur nowhere, and nothing much is near it:
the first hit may be near by chance, the tenth is not; of fewer than 200 memories it is an earlier
one, of twenty the first. One that puts words into another's mouth is covered by the wrong speaker.
The signals were chosen by logistic regression, cross-validated by conversation, on the developers'
parts of BEAM (abstention) and LoCoMo (adversarial), and their weights rounded by hand: the order of
two answers means something, the value itself is no calibrated probability. Without vectors COVERED
times the best coverage of the question takes the place of meaning; that weight was set by
judgement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from doxa.recall.hits import Ranked
from doxa.recall.pool import Pool, Scale

BIAS = -0.1
UNKNOWN = 0.5
DENSITY = 0.5
NAMED = 2.0
COVERED = 3.0
_TENTH, _EACH = 10, 20


def answerable(
    pools: Sequence[Pool], ranked: Sequence[Ranked], scale: Scale, *, searched: int
) -> float:
    """In [0, 1]; 0 where nothing was found."""
    if not ranked:
        return 0.0
    asked = {posting.asked for pool in pools for posting in pool.postings}
    held = {
        posting.asked
        for pool in pools
        for posting in pool.postings
        if posting.held and posting.term == posting.asked
    }
    x = BIAS - UNKNOWN * len(asked - held)
    tenth = ranked[: min(_TENTH, 1 + searched // _EACH)][-1].lanes["meaning"]
    if tenth is not None:
        x += DENSITY * (tenth - scale.between) / scale.spread
    elif all(item.lanes["meaning"] is None for item in ranked):
        x += COVERED * max(item.lanes["words"] or 0.0 for item in ranked)
    return 1 / (1 + math.exp(-(x + NAMED * _named(pools))))


def _named(pools: Sequence[Pool]) -> float:
    """By how much those whom the question names cover more of it than the others."""
    if not any(pool.asked.speakers and "entities" in pool.asked.lanes for pool in pools):
        return 0.0
    words = np.concatenate([pool.lanes["words"] for pool in pools])
    named = np.concatenate(
        [np.isin(pool.shelf["speaker"][pool.rows], list(pool.asked.speakers)) for pool in pools]
    )
    return float(words[named].max(initial=0) - words[~named].max(initial=0))
