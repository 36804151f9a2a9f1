"""Whether memory holds the answer, so that an agent can say that it does not know.

    x = BIAS + EVIDENCE * (the best evidence of a hit, `threshold.py`)
             + DENSITY * (the tenth best evidence)
             - UNKNOWN * (terms of the question that no memory holds)
             + NAMED * (best coverage by a speaker whom the question names, less the best by others)

A question about something that was never discussed has words that occur nowhere, and little is
near it: the best hit may be near by chance, the tenth is not. Among fewer than 400 memories an
earlier hit is read, among forty the second, among fewer the first. A question that attributes
words to the wrong person is covered by another speaker. Without vectors, COVERED times the best
coverage of the question replaces the evidence; that weight was set by judgement.

The signals were weighed by logistic regression over several sets, each left out in turn. The order
of two answers is meaningful, the value is not a probability: how many questions have an answer
differs between memories more than anything that can be read from one question. So recall reports
a level only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from doxa.recall import constants
from doxa.recall.candidates import CandidateSet
from doxa.recall.hits import Ranked

Level = Literal["low", "medium", "high"]


class Signals(NamedTuple):
    """What speaks for and against an answer. `best` and `density` are the best evidence of a hit
    and that at the rank that is read, nan without vectors; `covered` is the best coverage."""

    best: float
    density: float
    covered: float
    unknown: int
    named: float


def signals_of(
    candidates: Sequence[CandidateSet], ranked: Sequence[Ranked], *, searched: int
) -> Signals | None:
    """Read the signals of a ranking; None where nothing was found. `searched` is how many memories
    were searched."""
    if not ranked:
        return None
    asked = {posting.asked for one in candidates for posting in one.postings}
    held = {
        posting.asked
        for one in candidates
        for posting in one.postings
        if posting.held and posting.term == posting.asked
    }
    first = ranked[: constants.ANSWER_RANK]
    evidence = sorted((item.evidence for item in first if item.evidence is not None), reverse=True)
    rank = min(constants.ANSWER_RANK, 1 + searched // constants.ANSWER_MEMORIES)
    return Signals(
        evidence[0] if evidence else math.nan,
        evidence[:rank][-1] if evidence else math.nan,
        max(item.lanes["words"] or 0.0 for item in ranked),
        len(asked - held),
        _named(candidates),
    )


def score_of(signals: Signals | None) -> float:
    """Return a score in [0, 1] that orders questions by whether memory holds their answer; 0 where
    nothing was found."""
    if signals is None:
        return 0.0
    x = constants.ANSWER_BIAS - constants.ANSWER_UNKNOWN * signals.unknown
    x += constants.ANSWER_NAMED * signals.named
    if math.isnan(signals.best):
        x += constants.ANSWER_COVERED * signals.covered
    else:
        x += constants.ANSWER_EVIDENCE * signals.best + constants.ANSWER_DENSITY * signals.density
    return 1 / (1 + math.exp(-x)) if x > 0 else 1 - 1 / (1 + math.exp(x))


def level_of(score: float) -> Level:
    """Return the level of a score."""
    if score >= constants.ANSWER_HIGH:
        return "high"
    return "medium" if score >= constants.ANSWER_MEDIUM else "low"


def _named(candidates: Sequence[CandidateSet]) -> float:
    """By how much the best coverage of the speakers whom the question names exceeds the others'."""
    if not any(one.query.speakers and "entities" in one.query.lanes for one in candidates):
        return 0.0
    words = np.concatenate([one.lanes["words"] for one in candidates])
    named = np.concatenate(
        [np.isin(one.project["speaker"][one.rows], list(one.query.speakers)) for one in candidates]
    )
    return float(words[named].max(initial=0) - words[~named].max(initial=0))
