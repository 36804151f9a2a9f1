"""How the lanes are fused into one score. Pure: arrays in, arrays out.

    words     coverage in [0, 1): the share of the question's idf mass that a memory covers, by
              BM25; a memory also counts, at a discount, the words of the turns before and after
              it, the more so the shorter it is itself
    meaning   the cosine of the question with the memory and, at a discount, its neighbours, its
              best sentence, its best passage or field, above the question's mean cosine, in
              standard deviations of the cosines between memories of the projects that are asked:
              one scale for every embedder and every store
    entities  1 if the question names who said it or what it is about, SIDE if it asks for that
              side of a chat
    time      1 if it lies, or mentions something that lies, in a time that the question names;
              less the farther away
    graph     how much of the best hits' score reaches it along edges, halved by each
    mentions  the same by way of the entities that both mention; not in use unless it is named
    recency   2^(-age / RECENCY_DAYS), age in whole minutes
    policy    what a decay policy leaves of it: 1 where none applies

    auto      MEANING * meaning + WORDS * gate * words / best words + ENTITIES * entities
              + TIME * time + GRAPH * graph + MENTIONS * mentions + RECENCY * recency
              - POLICY * (1 - policy)
    gate      cover^2 / (cover^2 + C^2), cover = the best coverage of any memory: words count as
              far as the question's words occur at all

So every lane is on a scale that does not depend on the other candidates, except for the best
coverage, and needs no pass over the whole project. The other modes serve comparison: `max` (Kumiho,
section 8: weight * max(words, BETA * cosine)), `rrf` (Cormack et al., 2009), `convex` (Bruch et
al., 2023). The constants and their sources are in `constants.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from doxa.recall import constants

Floats = NDArray[np.float32]


def gate(cover: float, *, statement: bool) -> float:
    """Return how much weight words get, in [0, 1), given the best coverage of any memory."""
    half = constants.C_STATEMENT if statement else constants.C
    return cover * cover / (cover * cover + half * half) if cover > 0 else 0.0


def fuse(
    lanes: Mapping[str, Floats],
    *,
    average: float,
    spread: float,
    belief: Floats,
    mode: str,
    statement: bool,
) -> Floats:
    """Return the score of every candidate. `lanes` holds one array for each lane, `meaning` as
    cosines (nan: no vectors at all); `average` and `spread` scale these; `belief` is 1 for a belief
    and 0 for a turn. A lane that is switched off is all zero, policy all one."""
    words, cosine = lanes["words"], lanes["meaning"]
    best = float(words.max(initial=0))
    has_vectors = not np.isnan(cosine).all()
    if mode == "max":
        weight = constants.TURN + (constants.BELIEF - constants.TURN) * belief
        meaning = constants.BETA * cosine if has_vectors else words
        return np.asarray(weight * np.fmax(words, meaning), dtype=np.float32)
    if mode == "rrf":
        ranked = [
            _reciprocal(lanes[name]) for name in ("words", "entities", "time", "graph", "mentions")
        ] + ([_reciprocal(cosine, low=-np.inf)] if has_vectors else [])
        return np.asarray(sum(ranked), dtype=np.float32)
    others = (
        constants.ENTITIES * lanes["entities"]
        + constants.TIME * lanes["time"]
        + constants.GRAPH * lanes["graph"]
        + constants.MENTIONS * lanes["mentions"]
        + constants.RECENCY * lanes["recency"]
        - constants.POLICY * (1 - lanes["policy"])
    )
    if not has_vectors:  # on the scale of coverage
        found = (words > 0) | (lanes["graph"] > 0) | (lanes["mentions"] > 0)
        return np.asarray(words + others * best * found, dtype=np.float32)
    if mode == "convex":
        share = constants.ALPHA * _unit(cosine) + (1 - constants.ALPHA) * _unit(words)
        return np.asarray(share + others, dtype=np.float32)
    covered = words / np.float32(best) if best > 0 else words
    return np.asarray(
        constants.MEANING * (cosine - average) / spread
        + constants.WORDS * gate(best, statement=statement) * covered
        + others,
        dtype=np.float32,
    )


def _unit(values: Floats) -> Floats:
    """Scale values from 0 to 1, the lowest counting as at most 0."""
    span = float(values.max(initial=0) - values.min(initial=0))
    return (
        (values - values.min(initial=0)) / span if span > 1e-9 else np.zeros_like(values)
    ).astype(np.float32)


def _reciprocal(values: Floats, low: float = 0.0) -> Floats:
    """1 / (RANKS + rank) of each value above `low`, the best of rank 1; ties by place."""
    result = np.zeros(len(values), dtype=np.float32)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > low]
    result[order] = 1 / (constants.RANKS + 1 + np.arange(len(order)))
    return result
