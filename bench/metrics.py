"""What is counted, as pure functions, because most published retrieval figures differ in just these
lines.

A ranking is a list of ids, the best first, without repetition; gold is the set of ids that hold the
evidence.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CHARS_PER_TOKEN = 4
_ID_SEPARATOR = re.compile(r"[;,\s]+")


class Interval(NamedTuple):
    """A mean difference with its 95 % bootstrap interval, in the unit of the values."""

    mean: float
    low: float
    high: float


def evidence_ids(labels: Iterable[str], known: Collection[str]) -> frozenset[str]:
    """The ids that labels such as "D8:6; D9:17" name; what no unit carries is dropped, since
    nothing could find it."""
    return frozenset(
        part for label in labels for part in _ID_SEPARATOR.split(label) if part in known
    )


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """The share of the gold in the first k."""
    assert gold, "a question without evidence is left out before it gets here"
    return len(set(ranking[:k]) & set(gold)) / len(set(gold))


def any_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(not set(gold).isdisjoint(ranking[:k]))


def all_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(set(gold) <= set(ranking[:k]))


def best_rank(ranking: Sequence[str], gold: Collection[str], *, units: int) -> int:
    """The place of the first gold id, from 1; one more than there are units if it is absent."""
    return next((place for place, name in enumerate(ranking, 1) if name in gold), units + 1)


def to_sessions(ranking: Iterable[str], session_of: Mapping[str, str]) -> list[str]:
    """The sessions in the order in which their first unit appears."""
    return list(dict.fromkeys(session_of[name] for name in ranking))


def tokens_of(text: str) -> int:
    """A token for every four characters, rounded up, at least one: the estimate that doxa's own
    budget uses, applied to every system."""
    return max(1, -(-len(text) // CHARS_PER_TOKEN))


def within_budget(ranking: Iterable[str], texts: Mapping[str, str], tokens_max: int) -> list[str]:
    """The ids whose whole texts fit the budget, in order; the first that does not fit ends the
    list."""
    kept: list[str] = []
    left = tokens_max
    for name in ranking:
        left -= tokens_of(texts[name])
        if left < 0:
            break
        kept.append(name)
    return kept


def paired_bootstrap(
    differences: Sequence[float], groups: Sequence[str], *, seed: int, rounds: int = 10_000
) -> Interval:
    """The mean of paired differences, with whole groups drawn again: questions of one conversation
    are not independent.

    With every question a group of its own this is the ordinary bootstrap by question.
    """
    assert len(differences) == len(groups) > 0
    names = {name: index for index, name in enumerate(dict.fromkeys(groups))}
    member = np.array([names[group] for group in groups])
    sums = np.bincount(member, weights=np.asarray(differences, dtype=float), minlength=len(names))
    sizes = np.bincount(member, minlength=len(names))
    drawn = np.random.default_rng(seed).integers(0, len(names), size=(rounds, len(names)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(np.mean(differences)), float(low), float(high))


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """The chance that one of the positive scores stands above one of the negative, a tie counting
    one half; nan where either is empty."""
    if not len(positive) or not len(negative):
        return float("nan")
    low = np.sort(np.asarray(negative, dtype=float))
    high = np.asarray(positive, dtype=float)
    below = np.searchsorted(low, high, side="left")
    tied = np.searchsorted(low, high, side="right") - below
    return float((below + tied / 2).sum() / (len(high) * len(low)))


def bootstrap(
    statistic: Callable[[NDArray[np.int64]], float],
    groups: Sequence[str],
    *,
    seed: int,
    rounds: int = 2_000,
) -> Interval:
    """A statistic of rows with whole groups drawn again. It takes row numbers, some of them
    repeated; where it is nan the draw is passed over."""
    assert groups, "there is something to draw from"
    members = [np.flatnonzero(np.array(groups) == name) for name in dict.fromkeys(groups)]
    rng = np.random.default_rng(seed)
    drawn = (
        statistic(
            np.concatenate([members[i] for i in rng.integers(0, len(members), size=len(members))])
        )
        for _ in range(rounds)
    )
    found = [value for value in drawn if value == value]
    low, high = np.percentile(found, [2.5, 97.5]) if found else (float("nan"), float("nan"))
    return Interval(statistic(np.arange(len(groups))), float(low), float(high))


def ndcg_at(gains: Sequence[float], ideal: Iterable[float], k: int) -> float:
    """Discounted gain of the first k as LongMemEval's code has it: the second place counts as much
    as the first. 0 where nothing can be gained."""
    best = discounted(sorted(ideal, reverse=True)[:k])
    return discounted(gains[:k]) / best if best else 0.0


def discounted(gains: Sequence[float]) -> float:
    """gain 1 + the sum of gain i / log2(i) from the second on."""
    return sum(gain / math.log2(max(2, place)) for place, gain in enumerate(gains, 1))


def mean(values: Collection[float]) -> float:
    """The mean, or nan of nothing."""
    return float(np.mean(list(values))) if values else float("nan")


def wilson(successes: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, 1927)."""
    z, share = 1.96, successes / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = (
        z
        / (1 + z * z / count)
        * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    )
    return max(0.0, middle - half), min(1.0, middle + half)
