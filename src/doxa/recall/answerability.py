"""How likely memory holds the answer, so that an agent can say that it does not know.

    1 / (1 + e^-x),  x = BIAS - UNKNOWN * (terms of the question that no memory holds)
                       + DENSITY * (meaning of the tenth best hit, in standard deviations above the
                       mean cosine between memories)
                       + NAMED * (best coverage by a speaker whom the question names, less the best
                       by anybody else)

A question about something that was never discussed has words that occur nowhere, and little is near
it: the first hit may be near by chance, the tenth is not. Among fewer than 200 memories an earlier
hit is read, among twenty the second, among fewer the first. A question that attributes words to the
wrong person is covered by another speaker. The signals were chosen by logistic regression and their
weights rounded by hand (`constants.py`): the order of two answers is meaningful, the value itself
is not a calibrated probability. Without vectors, COVERED times the best coverage of the question
replaces meaning; that weight was set by judgement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from doxa.recall import constants
from doxa.recall.candidates import CandidateSet, Scale
from doxa.recall.hits import Ranked


def answerable(
    candidates: Sequence[CandidateSet], ranked: Sequence[Ranked], scale: Scale, *, searched: int
) -> float:
    """Estimate how likely memory holds the answer, in [0, 1]; 0 where nothing was found."""
    if not ranked:
        return 0.0
    asked = {posting.asked for one in candidates for posting in one.postings}
    held = {
        posting.asked
        for one in candidates
        for posting in one.postings
        if posting.held and posting.term == posting.asked
    }
    x = constants.ANSWER_BIAS - constants.ANSWER_UNKNOWN * len(asked - held)
    rank = min(constants.ANSWER_RANK, 1 + searched // constants.ANSWER_MEMORIES)
    cosine = ranked[:rank][-1].lanes["meaning"]
    if cosine is not None:
        x += constants.ANSWER_DENSITY * (cosine - scale.between) / scale.spread
    elif all(item.lanes["meaning"] is None for item in ranked):
        x += constants.ANSWER_COVERED * max(item.lanes["words"] or 0.0 for item in ranked)
    return 1 / (1 + math.exp(-(x + constants.ANSWER_NAMED * _named(candidates))))


def _named(candidates: Sequence[CandidateSet]) -> float:
    """By how much the best coverage of the speakers whom the question names exceeds the others'."""
    if not any(one.query.speakers and "entities" in one.query.lanes for one in candidates):
        return 0.0
    words = np.concatenate([one.lanes["words"] for one in candidates])
    named = np.concatenate(
        [np.isin(one.project["speaker"][one.rows], list(one.query.speakers)) for one in candidates]
    )
    return float(words[named].max(initial=0) - words[~named].max(initial=0))
