"""How lanes become one score. Pure: arrays in, arrays out.

    words     coverage in [0, 1): the share of the question's idf mass that a memory covers,
    saturated and length-normalised as in BM25; a
              memory also counts, at a discount, what the turns before and after it say, the more so
              the shorter it is itself
    meaning   the cosine of the question with the memory and, at a discount, its neighbours, its
    best sentence, its best passage or field,
              above the question's mean cosine, in standard deviations of the cosines between
              memories of the projects that are asked: one scale
              for every embedder and every store
    entities  1 if the question names who said it or what it is about, SIDE if it asks for that side
    of a chat
    time      1 if it lies, or tells of something that lies, in a time that the question names; less
    the farther away
    graph     how much of the best hits' score reaches it along edges, halved with each
    recency   2^(-age / RECENCY_DAYS), age in whole days
    policy    what a persistence policy leaves of it: 1 where none is about it

    auto      MEANING * meaning + WORDS * gate * words / best words + ENTITIES * entities + TIME *
    time + GRAPH * graph + RECENCY * recency
              - POLICY * (1 - policy)
    gate      cover^2 / (cover^2 + C^2), cover = the best coverage of any memory: words count as far
    as the question's words occur at all

So every lane is on a scale that does not depend on the other candidates but for the best coverage,
and no pass over the whole project is needed. The other modes are there to compare: `max` (Kumiho,
section 8: weight * max(words, BETA * cosine)), `rrf` (Cormack et al., 2009), `convex` (Bruch et
al., 2023). docs/benchmarks gives the sensitivity of each constant and what the modes lose; the
constants of words, meaning and entities were chosen on the developers' parts of LoCoMo, LoCoMo-Plus
and BEAM, those of the other lanes by judgement: these sets do not ask for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Lane = Literal["words", "meaning", "entities", "time", "graph", "recency", "policy"]
LANES: tuple[str, ...] = get_args(Lane)
Mode = Literal["auto", "max", "rrf", "convex"]
MODES: tuple[str, ...] = get_args(Mode)

K1 = 0.9
B = 0.5
PREVIOUS = 0.5
NEXT = 0.2  # of words
NEXT_MEANING = 0.1
NEIGHBOUR_LENGTH = (
    30.0  # terms; a memory of this length gives its neighbours half their share of words
)
NEIGHBOUR_LENGTH_MEANING = 45.0
SENTENCE = 0.3
PASSAGE = 0.5
FIELD = 0.95
MEANING = 0.27
WORDS = 0.6
C = 0.15
# a remark that shares most of its words with a memory is about it; one that shares a few is not
C_REMARK = 0.5
ENTITIES = 1 / 3
SIDE = 0.6
TIME = 0.25
GRAPH = 0.4
RECENCY = 0.05
RECENCY_DAYS = 14.0
POLICY = 0.3
THREAD = 1.8  # times the score, for memories of the thread that the question comes from
BETA = 0.85  # of mode max
BELIEF, TURN = 1.0, 0.9  # weights of mode max
ALPHA = 0.6  # of mode convex: the share of meaning
RANKS = 60.0  # of mode rrf

Floats = NDArray[np.float32]


def share(length: Floats, half: float) -> Floats:
    """How much a memory borrows from its neighbours, by its own length in terms: half of it at the
    length `half`."""
    return (half / (half + length)).astype(np.float32)


def passages(whole: Floats, best: Floats, *, count: Floats, spread: float) -> Floats:
    """A long memory's meaning: between its whole and its best passage, less what the best of so
    many reaches by chance."""
    chance = spread * np.sqrt(2 * np.log(np.maximum(count, 1)))
    return np.where(count > 1, (1 - PASSAGE) * whole + PASSAGE * (best - chance), whole).astype(
        np.float32
    )


def gate(cover: float, *, remark: bool) -> float:
    """How far words are to be believed, in [0, 1)."""
    half = C_REMARK if remark else C
    return cover * cover / (cover * cover + half * half) if cover > 0 else 0.0


def fuse(
    lanes: Mapping[str, Floats],
    *,
    average: float,
    spread: float,
    belief: Floats,
    mode: str,
    remark: bool,
) -> Floats:
    """The score of every candidate. `lanes` holds one array for each lane, `meaning` as cosines
    (nan: no vectors at all), `average` and `spread` by which they are told, `belief` 1 for a belief
    and 0 for a turn. A lane that was switched off is all zero, policy all one."""
    words, cosine = lanes["words"], lanes["meaning"]
    best = float(words.max(initial=0))
    meant = not np.isnan(cosine).all()
    if mode == "max":
        weight = TURN + (BELIEF - TURN) * belief
        return np.asarray(
            weight * np.fmax(words, BETA * cosine if meant else words), dtype=np.float32
        )
    if mode == "rrf":
        ranked = [_reciprocal(lanes[name]) for name in ("words", "entities", "time", "graph")] + (
            [_reciprocal(cosine, low=-np.inf)] if meant else []
        )
        return np.asarray(sum(ranked), dtype=np.float32)
    said = (
        ENTITIES * lanes["entities"]
        + TIME * lanes["time"]
        + GRAPH * lanes["graph"]
        + RECENCY * lanes["recency"]
        - POLICY * (1 - lanes["policy"])
    )
    if not meant:
        return np.asarray(
            words + said * best * ((words > 0) | (lanes["graph"] > 0)), dtype=np.float32
        )  # on the scale of coverage
    if mode == "convex":
        return np.asarray(
            ALPHA * _unit(cosine) + (1 - ALPHA) * _unit(words) + said, dtype=np.float32
        )
    covered = words / np.float32(best) if best > 0 else words
    return np.asarray(
        MEANING * (cosine - average) / spread + WORDS * gate(best, remark=remark) * covered + said,
        dtype=np.float32,
    )


def _unit(values: Floats) -> Floats:
    room = float(values.max(initial=0) - values.min(initial=0))
    return (
        (values - values.min(initial=0)) / room if room > 1e-9 else np.zeros_like(values)
    ).astype(np.float32)


def _reciprocal(values: Floats, low: float = 0.0) -> Floats:
    """1 / (RANKS + rank) of each value above `low`, the best of rank 1; ties by place."""
    result = np.zeros(len(values), dtype=np.float32)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > low]
    result[order] = 1 / (RANKS + 1 + np.arange(len(order)))
    return result
