"""How probably a name means an entity. Pure.

One generative model. A memory mentions entities one after the other, an entity the more often the
more often it was mentioned before, and a new one now and then (the Chinese restaurant process,
Aldous 1985, with a concentration of the number of entities so far). A mention writes the name of
its entity in one of five forms (`FORMS`). The name of a new entity is drawn word by word from the
words of the names so far (`WORD_UNSEEN` of them unseen), or, with the probability `BORROWED`, it
shares words with the name of an entity that exists (New York, New York Times).

    p(c)   ~ n_c (n_c + 1) ... (n_c + k - 1) * form(c)^k * context(c) * kind(c)
    p(new) ~ entities * (k - 1)! * EXACT^(k - 1) * (BORROWED * n_c / n + product of p(word))

for a name in k sources, n_c mentions of the candidate and n of all. The words' probability leaves
the candidate itself out. The context is that of naive Bayes with Dirichlet smoothing: each name and
thread that the mention is found with counts as often as the candidate was found with it before,
against how often it is found anywhere, the whole between 1 / `CONTEXT_MOST` and `CONTEXT_MOST`.
Linkage by such ratios is that of Fellegi and Sunter (1969).

The constants are judged, not fitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, lgamma, log

from doxa.entities.names import Level

EXACT = 0.6  # share of the mentions of an entity that write its name in full
FORMS: Mapping[Level, float] = {
    "exact": EXACT,
    "variant": 0.1,
    "short": 0.3,
    "long": 0.05,
    "initials": 0.05,
}
BORROWED = 0.1  # share of the new entities whose name shares words with one that exists
WORD_UNSEEN = 0.01  # weight of a word that no name has yet, against one that one name has
CONTEXT_MOST = 100.0
CONTEXT_PRIOR = 1.0  # sources that the general frequency of a context counts for
KIND_RIGHT = 0.95  # how often the kind of an entity is given right
ASSUME = 0.95  # from this probability on a mention is taken for an entity without being asked about
ASK_SOURCES = 3  # from so many sources on, a name that stays uncertain is worth a question


@dataclass(frozen=True, slots=True)
class NameEvidence:
    """What is known of one candidate: how its best name compares, its mentions, in how many names
    of other entities each word of the mention occurs, for each context of the mention how often
    it was that of the candidate and its share of all mentions, and whether the kinds agree (None:
    one is not known) with the share of that kind."""

    level: Level
    mentions: int
    words: Sequence[int] = ()
    context: Sequence[tuple[int, float]] = ()
    same_kind: bool | None = None
    kind_share: float = 0.5
    notes: tuple[str, ...] = field(default=())


def posterior(
    candidates: Sequence[NameEvidence], *, sources: int, entities: int, mentions: int
) -> list[float]:
    """Return the probability of each candidate; what is left to 1 is that of a new entity.
    `sources` is in how many the name stands, `entities` and `mentions` count all of the project."""
    if not candidates:
        return []
    k, total = max(1, sources), max(1, mentions)
    scores = [_of_candidate(one, k) for one in candidates]
    held = sum(max(1, one.mentions) for one in candidates)
    words = max(_of_words(one, entities) for one in candidates)
    fresh = BORROWED * min(1.0, held / max(total, held)) + words
    scores.append(log(max(1, entities)) + lgamma(k) + (k - 1) * log(EXACT) + log(fresh))
    top = max(scores)
    weights = [exp(score - top) for score in scores]
    return [weight / sum(weights) for weight in weights[:-1]]


def _of_candidate(one: NameEvidence, k: int) -> float:
    n = max(1, one.mentions)
    score = lgamma(n + k) - lgamma(n) + k * log(FORMS[one.level])
    context = sum(
        log((count + CONTEXT_PRIOR * share) / ((n + CONTEXT_PRIOR) * share))
        for count, share in one.context
        if share > 0
    )
    most = log(CONTEXT_MOST)
    score += min(most, max(-most, context))
    if one.same_kind is not None:
        share = min(0.95, max(0.05, one.kind_share))
        score += log(KIND_RIGHT / share if one.same_kind else (1 - KIND_RIGHT) / (1 - share))
    return score


def _of_words(one: NameEvidence, entities: int) -> float:
    found = 1.0
    for count in one.words:
        found *= (count + WORD_UNSEEN) / (entities + 1)
    return found
