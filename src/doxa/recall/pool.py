"""The candidates of one project: which rows the lanes name, and what every lane says of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.words import terms
from doxa.recall import lanes
from doxa.recall.fusion import fuse
from doxa.recall.index import Near
from doxa.recall.lanes import Span
from doxa.recall.meaning import Calibration, exact, without
from doxa.recall.phrases import phrase_postings
from doxa.recall.question import Question
from doxa.recall.scope import Eligible, unseen
from doxa.recall.shelf import Shelf, believed
from doxa.recall.words import Words, gather
from doxa.store import Reader, wrong_length

WORDED, MEANT, DATED = (
    50,
    80,
    30,
    # candidates of each project by words, meaning, and in a time that is named; more if more hits
    # are asked for
)

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


class Asked(NamedTuple):
    """A question as the lanes take it: what it asks, its index terms and quoted phrases of them,
    its vector (None: no meaning), the tokens of the speakers that it names, the times that it
    names, and the lanes that are switched on."""

    question: Question
    terms: list[str]
    phrases: list[tuple[str, ...]]
    vector: Floats | None
    speakers: frozenset[int]
    spans: tuple[Span, ...]
    lanes: frozenset[str]


class Pool:
    """`rows` are the candidates in order; each array of `lanes` has a value for each of them, as
    `fusion` describes; `fields` names the part of each by whose field its meaning was found (0:
    none)."""

    def __init__(
        self,
        reader: Reader,
        shelf: Shelf,
        eligible: Eligible,
        asked: Asked,
        *,
        calibration: Calibration,
        wanted: int,
    ) -> None:
        self.shelf = shelf
        self.asked = asked
        self.rows: Rows = np.zeros(0, dtype=np.int64)
        self.fields: Rows = self.rows
        self.lanes: dict[str, Floats] = {}
        self.population = eligible.population.total
        self.searched = int(np.count_nonzero(eligible.allowed))
        self.postings = gather(reader, shelf.scope, asked.terms, eligible=eligible.population.mask)
        self.postings += phrase_postings(reader, shelf, asked.phrases, self.postings)
        self._eligible = eligible
        self._words = Words(shelf, self.postings, eligible.population)
        self.fitted = calibration
        self._centre = calibration.centre if asked.question.remark else None
        self._near = Near(self.rows, 0.0, 0.0)
        self._fill(reader, self._named(wanted))

    def _named(self, wanted: int) -> Rows:
        """The best rows by words and by meaning, and of those in a time that the question names."""
        allowed, depth = self._eligible.allowed, max(MEANT, 2 * wanted)
        self._near = self._scan(depth, allowed)
        found = [self._near.rows, self._words.best(allowed, max(WORDED, wanted))]
        if self.asked.spans:
            times = self.shelf["time"]
            within = self._eligible.allowed & (lanes.in_spans(times, self.asked.spans) == 1)
            found.append(self._words.best(within, DATED))
            if self._direction is not None:
                found.append(self._scan(DATED, within).rows)
        return np.unique(np.concatenate(found))

    @property
    def _direction(self) -> Floats | None:
        vector = self.asked.vector if self.shelf.index.count else None
        return without(self._centre, vector) if vector is not None else None

    def _scan(self, depth: int, allowed: NDArray[np.bool_]) -> Near:
        vector = self._direction
        if vector is None:
            return Near(self.rows[:0], 0.0, 0.0)
        near = self.shelf.index.nearest(vector, allowed=allowed, depth=depth, centred=self.centred)
        shift = self.fitted.shift
        if shift is None:
            return near
        if len(shift) != len(vector):
            raise wrong_length(len(shift), len(vector), of="numbers")
        return near._replace(mean=near.mean + float(shift @ vector))

    def _fill(self, reader: Reader, rows: Rows) -> None:
        """Take these rows in as candidates, and ask every lane of them."""
        shelf, asked, on = self.shelf, self.asked, self.asked.lanes
        fields = np.zeros(len(rows), dtype=np.int64)
        zero = np.zeros(len(rows), dtype=np.float32)
        cosine, vector = np.full(len(rows), np.nan, dtype=np.float32), self._direction
        if vector is not None and len(rows):
            cosine, fields = exact(
                reader,
                shelf,
                rows,
                vector=vector,
                centre=self._centre,
                shift=self.fitted.shift,
                spread=self._near.spread,
                believed=self._eligible.population.mask,
            )
        new = {
            "words": self._words.of(rows),
            "meaning": cosine,
            "entities": self._about(reader, rows) if "entities" in on else zero,
            "time": lanes.in_spans(shelf["time"][rows], asked.spans) if asked.spans else zero,
            "graph": zero,
            "recency": lanes.recency(shelf, rows, reader.now) if "recency" in on else zero,
            "policy": np.ones(len(rows), dtype=np.float32),
        }
        rows = np.concatenate((self.rows, rows))
        order = np.argsort(rows, kind="stable")
        self.rows = rows[order]
        self.fields = np.concatenate((self.fields, fields))[order]
        self.lanes = {
            name: np.concatenate((self.lanes[name], said))[order] if self.lanes else said
            for name, said in new.items()
        }

    def _about(self, reader: Reader, rows: Rows) -> Floats:
        """Who said it, and whom and what it was said to be about."""
        asked, speakers = self.asked, self.shelf.speakers(reader)
        side = frozenset(
            token for token, name in speakers if name and name.casefold() == asked.question.side
        )
        named = frozenset(
            terms(
                " ".join(
                    [
                        asked.question.text,
                        *(name for token, name in speakers if token in asked.speakers),
                    ]
                )
            )
        )
        nobody = frozenset(token for token, name in speakers if not name)
        said = lanes.entities(self.shelf, rows, named=asked.speakers, side=side)
        return np.maximum(
            said, lanes.mentions(reader, self.shelf, rows, named=named, nobody=nobody)
        )

    def link(self, reader: Reader, reached: dict[int, float]) -> None:
        """Take in what is linked with the best hits of any project, as far as the filters let it
        through."""
        rows = lanes.rows_of(reader, self.shelf, reached)
        allowed = self._eligible.allowed
        linked = {
            row: min(1.0, reached[node])
            for node, row in rows.items()
            if row < len(allowed) and allowed[row]
        }
        if linked:
            found = np.array(sorted(linked), dtype=np.int64)
            self._fill(reader, np.setdiff1d(found, self.rows, assume_unique=True))
            self.lanes["graph"][np.searchsorted(self.rows, found)] = [
                linked[row] for row in found.tolist()
            ]

    @property
    def centred(self) -> bool:
        """Whether cosines are of directions from the mean of the project's vectors, so that those
        between memories are 0 on average."""
        return self._centre is not None

    @property
    def average(self) -> float | None:
        """The mean cosine of the question with the memories of the project, as far as the index
        tells; None without vectors."""
        return None if self._direction is None else self._near.mean


def collect(
    reader: Reader,
    shelf: Shelf,
    eligible: Eligible,
    asked: Asked,
    *,
    calibration: Calibration,
    wanted: int,
    judged: bool,
) -> Pool:
    """The candidates of one project. What a policy hides though no window says so is found among
    them, and then nothing of it has counted."""
    while True:
        pool = Pool(reader, shelf, eligible, asked, calibration=calibration, wanted=wanted)
        hidden = unseen(reader, shelf, pool.rows) if judged else pool.rows[:0]
        if not len(hidden):
            return pool
        population, allowed = eligible.population.mask.copy(), eligible.allowed.copy()
        population[hidden] = allowed[hidden] = False
        eligible = Eligible(believed(shelf["length"], population), allowed)


class Scale(NamedTuple):
    """By what the cosines of one question are told, in all its projects alike: their mean, and
    standard deviation and mean between memories."""

    average: float
    spread: float
    between: float


def scale_of(pools: Sequence[Pool]) -> Scale:
    """Over the projects that have vectors, by how many memories they have."""
    meant = [
        (pool.average, pool.fitted, pool.population) for pool in pools if pool.average is not None
    ]
    centred = any(pool.centred for pool in pools)
    total = sum(count for *_, count in meant)
    if not total:
        return Scale(0.0, 1.0, 0.0)
    average = sum(mean * count for mean, _, count in meant) / total
    between = 0.0 if centred else sum(fitted.mean * count for _, fitted, count in meant) / total
    return Scale(
        average,
        math.sqrt(sum(fitted.spread**2 * count for _, fitted, count in meant) / total),
        between,
    )


def fused(pools: list[Pool], *, mode: str, beliefs: list[NDArray[np.bool_]]) -> Floats:
    """The score of every candidate of all projects, on one scale. One without a vector yet counts
    as average in meaning."""
    held = {name: np.concatenate([pool.lanes[name] for pool in pools]) for name in pools[0].lanes}
    scale = scale_of(pools)
    if not np.isnan(held["meaning"]).all():
        held["meaning"] = np.where(
            np.isnan(held["meaning"]), np.float32(scale.average), held["meaning"]
        )
    belief = np.concatenate(beliefs).astype(np.float32)
    return fuse(
        held,
        average=scale.average,
        spread=scale.spread,
        belief=belief,
        mode=mode,
        remark=pools[0].asked.question.remark,
    )
