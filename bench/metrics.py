"""What is counted, as pure functions, because most published retrieval figures differ in just these lines.

A ranking is a list of ids, the best first, without repetition; gold is the set of ids that hold the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

CHARS_PER_TOKEN = 4
_ID_SEPARATOR = re.compile(r"[;,\s]+")


class Interval(NamedTuple):
    """A mean difference with its 95 % bootstrap interval, in the unit of the values."""

    mean: float
    low: float
    high: float


def evidence_ids(labels: Iterable[str], known: Collection[str]) -> frozenset[str]:
    """The ids that labels such as "D8:6; D9:17" name; what no unit carries is dropped, since nothing could find it."""
    return frozenset(part for label in labels for part in _ID_SEPARATOR.split(label) if part in known)


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
    """A token for every four characters, rounded up, at least one: the estimate that doxa's own budget uses, applied to every system."""
    return max(1, -(-len(text) // CHARS_PER_TOKEN))


def within_budget(ranking: Iterable[str], texts: Mapping[str, str], tokens_max: int) -> list[str]:
    """The ids whose whole texts fit the budget, in order; the first that does not fit ends the list."""
    kept: list[str] = []
    left = tokens_max
    for name in ranking:
        left -= tokens_of(texts[name])
        if left < 0:
            break
        kept.append(name)
    return kept


def paired_bootstrap(differences: Sequence[float], groups: Sequence[str], *, seed: int, rounds: int = 10_000) -> Interval:
    """The mean of paired differences, with whole groups drawn again: questions of one conversation are not independent.

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


def mean(values: Collection[float]) -> float:
    """The mean, or nan of nothing."""
    return float(np.mean(list(values))) if values else float("nan")
