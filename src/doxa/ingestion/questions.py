"""Decide which held belief a text raises a question about, where nothing says that it replaces,
restates or adds to one.

Grammar reads a part of what people say. What it misses must not be missed in silence: a belief that
the text is probably about is reported, and never retired. The score is the probability that the
text replaces the belief, by the evidence of `language/comparison/likeness.py`. The weights are
literals, fitted by `python -m bench updates --fit`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from doxa.language.comparison.likeness import LIKENESS

ASKED_BIAS = -3.75
ASKED_WEIGHTS: dict[str, float] = {
    "change": 1.55,
    "covers_held": 0.88,
    "covers_new": 1.22,
    "change_covered": 2.22,
    "besides": -1.09,
    "owner_only": -1.4,
    "two_differ": -1.5,
    "apart": -2.18,
}
ASK_AT = 0.27
ASKED_MAX = 0.6  # a question retires nothing
_ASKED_BELIEFS_MAX, _AS_LIKELY = 2, 0.05


def likely_replaced(evidence: Mapping[str, float]) -> float:
    """Return the probability that a text replaces a belief, at most ASKED_MAX."""
    total = ASKED_BIAS + sum(ASKED_WEIGHTS[name] * evidence.get(name, 0.0) for name in LIKENESS)
    return min(ASKED_MAX, 1 / (1 + math.exp(-total)))


def asked_about(scores: Iterable[float], least: float = ASK_AT) -> list[int]:
    """Return the places of the beliefs to ask about: the likeliest, and one that is as likely. A
    `least` of 0 returns all."""
    if not least:
        return list(range(len(list(scores))))
    ordered = sorted(enumerate(scores), key=lambda one: -one[1])
    return [
        place
        for place, score in ordered[:_ASKED_BELIEFS_MAX]
        if score >= least and score >= ordered[0][1] - _AS_LIKELY
    ]
