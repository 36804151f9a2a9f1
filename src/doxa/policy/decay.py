"""Scores that decay or grow with age, their promotion, and the ages at which they reach a
threshold.

    base    = f(age), or 1 − f(age) for a negative half-life
    final   = max(floor, min(cap, max(promotion floor, base · multiplier)))
    visible   if final ≥ threshold

f is exponential, 2^(−age/h); linear, max(0, 1 − age/2h); step, 1 before h and 0 from h on; or none,
1. It is 1 at age 0 and 1/2 at h (0 for step). Every f is monotone, and so is the final score, in
floating point too. The ages of visibility are therefore one interval, found by bisection over
integers with the scoring formula itself. Ages are whole nanoseconds; an anchor in the future means
age 0.

Source: the paper "Persistence Semantics" (NornicDB, 2026), sections 4.2.1 and 4.2.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

FUNCTIONS = ("exponential", "linear", "step", "none")
ANCHORS = ("CREATED", "VERSION", "CUSTOM", "LAST_ACCESSED")
TIME_MIN, TIME_MAX = -(2**63), 2**63 - 1  # the store's range of times; the ends mean unbounded


class Decay(NamedTuple):
    """A curve with its floor and visibility threshold, both in [0, 1]. `half_life` is in ns; with a
    negative one the score grows with age."""

    function: str = "none"
    half_life: int = 0
    floor: float = 0.0
    threshold: float = 0.0


class Promotion(NamedTuple):
    """The effect of a matched promotion profile. The defaults have no effect."""

    multiplier: float = 1.0
    floor: float = 0.0
    cap: float = 1.0


class VisibilityInterval(NamedTuple):
    """A half-open interval of times [start, end)."""

    start: int
    end: int

    def holds(self, now: int) -> bool:
        """Return whether a time is in the interval."""
        return self.start <= now < self.end


ALWAYS, NEVER = VisibilityInterval(TIME_MIN, TIME_MAX), VisibilityInterval(TIME_MAX, TIME_MIN)
NO_DECAY, NO_PROMOTION = Decay(), Promotion()


def base(decay: Decay, age: int) -> float:
    """Evaluate the curve at an age of at least 0."""
    return _bases(decay, (age,))[0]


def score(decay: Decay, promotion: Promotion, age: int) -> float:
    """Return the final score at an age; negative ages count as 0."""
    return scores(decay, promotion, (age,))[0]


def scores(decay: Decay, promotion: Promotion, ages: Sequence[int]) -> list[float]:
    """Return the final scores at many ages."""
    found = _bases(decay, [max(0, age) for age in ages])
    multiplier, lowest, cap = promotion
    floor = decay.floor
    return [max(floor, min(cap, max(lowest, one * multiplier))) for one in found]


def _bases(decay: Decay, ages: Sequence[int]) -> list[float]:
    if decay.function == "none" or decay.half_life == 0:
        return [1.0] * len(ages)
    span = abs(decay.half_life)
    if decay.function == "exponential":
        found = [math.exp2(-age / span) for age in ages]
    elif decay.function == "linear":
        found = [max(0.0, 1.0 - age / (2 * span)) for age in ages]
    else:
        found = [1.0 if age < span else 0.0 for age in ages]
    return found if decay.half_life > 0 else [1.0 - one for one in found]


@lru_cache(maxsize=4_096)
def visible_ages(decay: Decay, promotion: Promotion) -> tuple[int, int]:
    """Return the ages [first, end) at which the score reaches the threshold. An end of TIME_MAX
    means from then on; equal ends mean never."""
    first, last = _passes(decay, promotion, 0), _passes(decay, promotion, TIME_MAX)
    if first and last:
        return 0, TIME_MAX
    if not first and not last:
        return 0, 0
    low, high = 0, TIME_MAX  # the results at both differ, with one change in between
    while high - low > 1:
        middle = (low + high) // 2
        if _passes(decay, promotion, middle) == first:
            low = middle
        else:
            high = middle
    return (0, high) if first else (high, TIME_MAX)


def window(decay: Decay, promotion: Promotion, anchor: int) -> VisibilityInterval:
    """Return the interval in which an element is visible whose age counts from `anchor`."""
    first, end = visible_ages(decay, promotion)
    if first == end:
        return NEVER
    start = TIME_MIN if first == 0 else min(TIME_MAX, anchor + first)
    stop = TIME_MAX if end == TIME_MAX else min(TIME_MAX, anchor + end)
    return VisibilityInterval(start, stop) if start < stop else NEVER


def _passes(decay: Decay, promotion: Promotion, age: int) -> bool:
    return score(decay, promotion, age) >= decay.threshold
