"""Plain retrieval in a few lines each, because a memory that does not beat it is not worth its
weight.

    bm25            BM25 (k1 1.2, b 0.75), Porter stems, stop words left out, over "Speaker: text
    [shares caption]"
    minilm          cosine of the same embedding model over the same text, brute force
    rrf             reciprocal rank fusion of the two (k = 60, first 100 of each, only BM25 scores
    above 0)
    minmax          the sum of the two, each scaled to [0, 1] over all units
    window_bm25     BM25 with the previous turn of the session written before each turn;
    window_minilm likewise
    minmax_of_four  the min-max sum over turn and window, each by words and by meaning: the
    strongest plain setting known to us
    unusual         (LoCoMo-Plus only) the least typical message first, whatever the question: a
    control, not a method

Ties are broken at random under the seed, so that no order of the file can help.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import Stemmer
from numpy.typing import NDArray

from doxa.language.turns import Turn
from doxa.models import Embedder

Scores = NDArray[np.float64]
K1 = 1.2
B = 0.75
RRF_K = 60
RRF_DEPTH = 100
STOP_WORDS = frozenset(
    """a about after again all am an and any are as at be been before being but by can could d did
    do does doing for from had has have he her hers him his how i if in into is it its just ll m
    me might my no not of on or our out re s she should so some t than that the their them then
    there these they this those to up us ve was we were what when where which while who whom
    whose why will with would you your yours""".split()
)
_WORD = re.compile(r"[a-z0-9]+")
_stemmer = Stemmer.Stemmer("porter")


@cache
def _stem(word: str) -> str:
    result: str = _stemmer.stemWord(word)
    return result


def words_of(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in STOP_WORDS]


def spoken(turn: Turn) -> str:
    """A turn as a baseline reads it. A person's name is content; `user` and `assistant` are not."""
    name = f"{turn.speaker}: " if turn.role == "person" else ""
    return f"{name}{turn.text}{f' [shares {turn.caption}]' if turn.caption else ''}"


def windows(turns: Sequence[Turn]) -> list[str]:
    """Each turn with the one before it in its session."""
    last: dict[tuple[str, str], str] = {}
    texts = []
    for turn in turns:
        key, text = (turn.thread, turn.session), spoken(turn)
        texts.append(f"{last[key]} {text}" if key in last else text)
        last[key] = text
    return texts


class Bm25:
    """BM25 after Robertson and Zaragoza, with idf = ln(1 + (N - n + 1/2) / (n + 1/2))."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._count = len(texts)
        lengths = np.zeros(self._count)
        found: dict[str, list[tuple[int, int]]] = {}
        for row, text in enumerate(texts):
            counts = Counter(words_of(text))
            lengths[row] = sum(counts.values())
            for word, count in counts.items():
                found.setdefault(word, []).append((row, count))
        self._norm = K1 * (
            1 - B + B * lengths / max(1.0, float(lengths.mean()) if self._count else 1.0)
        )
        self._postings = {word: np.array(rows).T for word, rows in found.items()}

    def scores(self, question: str) -> Scores:
        result = np.zeros(self._count)
        for word, times in Counter(words_of(question)).items():
            if word in self._postings:
                rows, counts = self._postings[word]
                idf = np.log1p((self._count - len(rows) + 0.5) / (len(rows) + 0.5))
                result[rows] += times * idf * counts * (K1 + 1) / (counts + self._norm[rows])
        return result

    def most(self, question: str) -> float:
        """What no score of a question can reach: the idf mass of its words, those included that
        occur nowhere, times k1 + 1."""
        held = (
            len(self._postings[word][0]) if word in self._postings else 0
            for word in words_of(question)
        )
        return (K1 + 1) * float(
            sum(np.log1p((self._count - n + 0.5) / (n + 0.5)) for n in held)
        ) or 1.0


def unit_range(scores: Scores) -> Scores:
    """Scaled to [0, 1]; all zero where nothing differs."""
    room = scores.max() - scores.min() if len(scores) else 0.0
    return (scores - scores.min()) / room if room > 0 else np.zeros_like(scores)


def min_max(lanes: Sequence[Scores]) -> Scores:
    return np.asarray(sum(unit_range(lane) for lane in lanes))


def reciprocal_ranks(
    lanes: Sequence[Scores], *, above_zero: Sequence[bool], rng: np.random.Generator
) -> Scores:
    """The sum of 1 / (60 + rank) over the lanes; rows of a lane marked `above_zero` that score
    nothing have no rank in it."""
    total = np.zeros_like(lanes[0])
    for lane, positive in zip(lanes, above_zero, strict=True):
        order = ordered(lane, rng)[:RRF_DEPTH]
        if positive:
            order = order[lane[order] > 0]
        total[order] += 1 / (RRF_K + 1 + np.arange(len(order)))
    return total


def ordered(scores: Scores, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows, the best first, ties in random order."""
    return np.lexsort((rng.random(len(scores)), -scores)).astype(np.int64)


class Plain:
    """The baselines over one set of turns. Without an embedder, the two of words alone."""

    def __init__(
        self, turns: Sequence[Turn], embedder: Embedder | None, *, seed: int, unusual: bool = False
    ) -> None:
        self._ids = [turn.source_id for turn in turns]
        self._rng = np.random.default_rng(seed)
        self._embedder = embedder
        texts, wide = [spoken(turn) for turn in turns], windows(turns)
        self._words = [Bm25(texts), Bm25(wide)]
        self._vectors = (
            [embedder.embed(texts).astype(float), embedder.embed(wide).astype(float)]
            if embedder
            else []
        )
        self._unusual = (
            self._rank(-(self._vectors[0] @ self._vectors[0].sum(axis=0)))
            if unusual and self._vectors
            else None
        )

    def rankings(self, question: str) -> dict[str, list[str]]:
        """Every baseline's whole ranking."""
        turn, window = (words.scores(question) for words in self._words)
        found = {"bm25": self._rank(turn), "window_bm25": self._rank(window)}
        if self._embedder is not None:
            asked = self._embedder.embed([question])[0].astype(float)
            cosine, wide_cosine = (vectors @ asked for vectors in self._vectors)
            found["minilm"] = self._rank(cosine)
            found["window_minilm"] = self._rank(wide_cosine)
            found["rrf"] = self._rank(
                reciprocal_ranks((turn, cosine), above_zero=(True, False), rng=self._rng)
            )
            found["minmax"] = self._rank(min_max((turn, cosine)))
            found["minmax_of_four"] = self._rank(min_max((turn, cosine, window, wide_cosine)))
        if self._unusual is not None:
            found["unusual"] = self._unusual
        return found

    def signals(self, question: str) -> dict[str, float]:
        """What the best unit scores: by BM25 as a share of what the question's words could give, by
        cosine as it is."""
        found = {
            "bm25": float(self._words[0].scores(question).max(initial=0))
            / self._words[0].most(question)
        }
        if self._embedder is not None:
            found["minilm"] = float(
                (self._vectors[0] @ self._embedder.embed([question])[0].astype(float)).max(
                    initial=-1
                )
            )
        return found

    def _rank(self, scores: Scores) -> list[str]:
        return [self._ids[row] for row in ordered(scores, self._rng)]
