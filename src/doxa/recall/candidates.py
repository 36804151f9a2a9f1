"""The candidates of one project: which rows the lanes name, and the value of every lane for each.

Only candidates are scored: the best by words and the nearest by meaning, some within a time that
the question names, and memories linked with the best of them. No value depends on a row that is not
a candidate, so nothing passes over the whole project but the scan of its vector index.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.words import terms
from doxa.recall import constants
from doxa.recall.filters import Eligible, hidden_rows
from doxa.recall.fusion import fuse
from doxa.recall.indexes.arrays import distinct
from doxa.recall.indexes.project_index import ProjectIndex, believed
from doxa.recall.indexes.vector_index import Near
from doxa.recall.lanes import entities, graph, time
from doxa.recall.lanes.calibration import Calibration
from doxa.recall.lanes.meaning import Common, Part, cosines_of, read_parts, without_centre
from doxa.recall.lanes.noise import Noise
from doxa.recall.lanes.phrases import phrase_postings
from doxa.recall.lanes.time import TimeRange
from doxa.recall.lanes.words import Coverage, read_postings
from doxa.recall.meanwhile import Meanwhile
from doxa.recall.question import Question
from doxa.store import TRUSTS, UNTRUSTED, Reader, wrong_length

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
_LARGE = 8_192  # entries: to wake another thread takes a tenth of the time of scanning so many
_UNTRUSTED, _VERIFIED = TRUSTS.index(UNTRUSTED), TRUSTS.index("verified")


class Embedded(NamedTuple):
    """The vector of a question (None: no meaning) and the noise of its language (None: not known);
    the warning of a model that failed."""

    vector: Floats | None = None
    noise: Noise | None = None
    warning: str = ""


class PreparedQuery(NamedTuple):
    """A question as the lanes take it: the request that it quotes (empty: none), its index terms
    with their words, its quoted phrases, its vector, which may still be in the making, the tokens
    of the speakers and places and the times that it names, the lanes in use, and whether another
    thread may scan (`aside`): then there is a vector, or will be."""

    question: Question
    request: str
    terms: dict[str, str]
    phrases: list[tuple[str, ...]]
    embedded: Meanwhile[Embedded]
    speakers: frozenset[int]
    times: tuple[TimeRange, ...]
    lanes: frozenset[str]
    aside: bool = False

    @property
    def vector(self) -> Floats | None:
        return self.embedded.get().vector

    @property
    def noise(self) -> Noise | None:
        return self.embedded.get().noise


class CandidateSet:
    """`rows` are the candidates in order; each array of `lanes` has a value for each of them, as
    `fusion` describes; `fields` is the part of the field by which meaning found each (0: none)."""

    def __init__(
        self,
        reader: Reader,
        project: ProjectIndex,
        eligible: Eligible,
        query: PreparedQuery,
        *,
        calibration: Calibration,
        wanted: int,
    ) -> None:
        self.project = project
        self.query = query
        self.rows: Rows = np.zeros(0, dtype=np.int64)
        self.fields: Rows = self.rows
        self.lanes: dict[str, Floats] = {}
        population = eligible.population
        self.population = population.total
        self.searched = int(np.count_nonzero(eligible.allowed))
        trusted = eligible.allowed & (project["trust"] > _UNTRUSTED)
        self.trusted = int(np.count_nonzero(trusted))
        self.faded = eligible.faded
        self.calibration = calibration
        self._eligible = eligible
        self._centre = calibration.centre if query.question.statement else None
        self._near = Near(self.rows, 0.0, 0.0)
        self._by_meaning = max(constants.CANDIDATES_BY_MEANING, 2 * wanted)
        scanned = Meanwhile(lambda: self._scan(self._by_meaning, eligible.allowed))
        aside = query.aside and is_large(project) and scanned.begin()
        by_words, read = max(constants.CANDIDATES_BY_WORDS, wanted), list[Part]()
        try:
            mask = population.mask
            self.postings = read_postings(reader, project.scope, query.terms, eligible=mask)
            self.postings += phrase_postings(reader, project, query.phrases, self.postings)
            self._coverage = Coverage(project, self.postings, population)
            best = self._coverage.best(eligible.allowed, by_words)
            if aside:
                read = read_parts(reader, project, best)
            self._near = scanned.get()
        finally:
            scanned.drop()  # an index is scanned while its lock is held
        rows = self._named(best, by_words)
        self._add(reader, rows, read=read, unread=np.setdiff1d(rows, best) if aside else rows)

    def _named(self, best: Rows, by_words: int) -> Rows:
        """The best rows by words, which are given, and by meaning, and of those in a time that the
        question names."""
        allowed = self._eligible.allowed
        found = [self._near.rows, best]
        trust = self.project["trust"]
        planted = trust[np.concatenate(found)] == _UNTRUSTED
        if 2 * np.count_nonzero(planted) > len(planted):  # they take the places of others
            trusted = allowed & (trust > _UNTRUSTED)
            found += [
                self._scan(self._by_meaning, trusted).rows,
                self._coverage.best(trusted, by_words),
            ]
        verified = np.flatnonzero(allowed & (trust == _VERIFIED))
        if len(verified) > constants.VERIFIED_HITS:
            most, within = constants.VERIFIED_HITS, np.zeros(len(allowed), dtype=bool)
            within[verified] = True
            found += [self._scan(most, within).rows, self._coverage.best(within, most)]
        elif len(verified):
            found.append(verified)
        if self.query.times:
            within = allowed & (time.nearness(self.project["time"], self.query.times) == 1)
            found.append(self._coverage.best(within, constants.CANDIDATES_BY_TIME))
            if self._direction is not None:
                found.append(self._scan(constants.CANDIDATES_BY_TIME, within).rows)
        return distinct(np.concatenate(found))

    @property
    def _direction(self) -> Floats | None:
        vector = self.query.vector if self.project.vector_index.count else None
        return without_centre(self._centre, vector) if vector is not None else None

    def _scan(self, depth: int, allowed: NDArray[np.bool_]) -> Near:
        vector = self._direction
        if vector is None:
            return Near(self.rows[:0], 0.0, 0.0)
        near = self.project.vector_index.nearest(
            vector, allowed=allowed, depth=depth, centred=self.centred
        )
        shift = self.calibration.shift
        if shift is None:
            return near
        if len(shift) != len(vector):
            raise wrong_length(len(shift), len(vector), of="numbers")
        return near._replace(mean=near.mean + float(shift @ vector))

    def _add(
        self, reader: Reader, rows: Rows, *, read: Sequence[Part] = (), unread: Rows | None = None
    ) -> None:
        """Add these rows as candidates, with the values of every lane. `read` are the vectors of
        all but those `unread` (None: of none)."""
        project, query, on = self.project, self.query, self.query.lanes
        fields = np.zeros(len(rows), dtype=np.int64)
        zero = np.zeros(len(rows), dtype=np.float32)
        cosine, vector = np.full(len(rows), np.nan, dtype=np.float32), self._direction
        if vector is not None and len(rows):
            parts = read_parts(reader, project, rows if unread is None else unread)
            cosine, fields = cosines_of(
                sorted([*read, *parts]) if read else parts,  # as if they had been read together
                project,
                rows,
                vector=vector,
                centre=self._centre,
                shift=self.calibration.shift,
                spread=self._near.spread,
                common=self._common(),
                believed=self._eligible.population.mask,
            )
        new = {
            "words": self._coverage.of(rows),
            "meaning": cosine,
            "entities": self._entities(reader, rows) if "entities" in on else zero,
            "time": time.nearness(project["time"][rows], query.times) if query.times else zero,
            "graph": zero,
            "mentions": zero,
            "recency": time.recency(project, rows, reader.now) if "recency" in on else zero,
            "policy": np.ones(len(rows), dtype=np.float32),
        }
        rows = np.concatenate((self.rows, rows))
        order = np.argsort(rows, kind="stable")
        self.rows = rows[order]
        self.fields = np.concatenate((self.fields, fields))[order]
        self.lanes = {
            name: np.concatenate((self.lanes[name], values))[order] if self.lanes else values
            for name, values in new.items()
        }

    def _common(self) -> Common:
        """What all memories share, counting CENTRE_WEIGHT that share nothing: of a few memories
        what they share is also what they are about."""
        if self.centred:
            return Common(0.0, 0.0)
        share = self.population / (self.population + constants.CENTRE_WEIGHT)
        between = min(max(self.calibration.mean, 0.0), 0.9)
        return Common(share * self._near.mean, share * between)

    def _entities(self, reader: Reader, rows: Rows) -> Floats:
        """Who said each row, and whom and what it is about."""
        query, speakers = self.query, self.project.speakers(reader)
        side = frozenset(
            token for token, name in speakers if name and name.casefold() == query.question.side
        )
        names = [name for token, name in speakers if token in query.speakers]
        named = frozenset(terms(" ".join([query.question.text, *names])))
        nobody = frozenset(token for token, name in speakers if not name)
        spoken = entities.spoken_by(self.project, rows, named=query.speakers, side=side)
        return np.maximum(
            spoken, entities.mentions(reader, self.project, rows, named=named, nobody=nobody)
        )

    def link(self, reader: Reader, reached: dict[int, float], lane: str = "graph") -> None:
        """Add what is linked with the best hits of any project and passes the filters, with the
        value of a lane."""
        rows = graph.rows_of(reader, self.project, reached)
        allowed = self._eligible.allowed
        linked = {
            row: min(1.0, reached[node])
            for node, row in rows.items()
            if row < len(allowed) and allowed[row]
        }
        if linked:
            found = np.array(sorted(linked), dtype=np.int64)
            self._add(reader, np.setdiff1d(found, self.rows, assume_unique=True))
            self.lanes[lane][np.searchsorted(self.rows, found)] = [
                linked[row] for row in found.tolist()
            ]

    @property
    def centred(self) -> bool:
        """Whether cosines are of directions from the mean of the project's vectors, so that those
        between memories are 0 on average."""
        return self._centre is not None

    @property
    def average(self) -> float | None:
        """The mean cosine of the question with the memories of the project, as the index estimates
        it; None without vectors."""
        return None if self._direction is None else self._near.mean


def is_large(project: ProjectIndex) -> bool:
    """Whether the vectors of a project are so many that another thread may well scan them."""
    return project.vector_index.count >= _LARGE


def collect(
    reader: Reader,
    project: ProjectIndex,
    eligible: Eligible,
    query: PreparedQuery,
    *,
    calibration: Calibration,
    wanted: int,
    apply_policies: bool,
) -> CandidateSet:
    """Collect the candidates of one project. A row that a policy hides although no window says so
    is found among them; then they are collected again as if it did not exist."""
    while True:
        candidates = CandidateSet(
            reader, project, eligible, query, calibration=calibration, wanted=wanted
        )
        rows = candidates.rows
        hidden = hidden_rows(reader, project, rows) if apply_policies else rows[:0]
        if not len(hidden):
            return candidates
        population, allowed = eligible.population.mask.copy(), eligible.allowed.copy()
        population[hidden] = allowed[hidden] = False
        eligible = Eligible(
            believed(project["length"], population), allowed, eligible.faded + len(hidden)
        )


class Scale(NamedTuple):
    """The scale of the cosines of one question, the same in all its projects: their mean, and
    standard deviation and mean of the cosines between memories."""

    average: float
    spread: float
    between: float


def scale_of(candidates: Sequence[CandidateSet]) -> Scale:
    """Average over the projects that have vectors, weighted by how many memories they have."""
    measured = [
        (one.average, one.calibration, one.population)
        for one in candidates
        if one.average is not None
    ]
    centred = any(one.centred for one in candidates)
    total = sum(count for *_, count in measured)
    if not total:
        return Scale(0.0, 1.0, 0.0)
    average = sum(mean * count for mean, _, count in measured) / total
    between = 0.0 if centred else sum(fit.mean * count for _, fit, count in measured) / total
    return Scale(
        average,
        math.sqrt(sum(fit.spread**2 * count for _, fit, count in measured) / total),
        between,
    )


def fuse_candidates(
    candidates: list[CandidateSet], *, mode: str, beliefs: list[NDArray[np.bool_]]
) -> Floats:
    """Return the score of every candidate of all projects, on one scale. A candidate without a
    vector counts as average in meaning."""
    lanes = {
        name: np.concatenate([one.lanes[name] for one in candidates])
        for name in candidates[0].lanes
    }
    scale, query = scale_of(candidates), candidates[0].query
    if not np.isnan(lanes["meaning"]).all():
        lanes["meaning"] = np.where(
            np.isnan(lanes["meaning"]), np.float32(scale.average), lanes["meaning"]
        )
    return fuse(
        lanes,
        average=scale.average,
        spread=scale.spread,
        belief=np.concatenate(beliefs).astype(np.float32),
        mode=mode,
        statement=query.question.statement and not query.request,
    )
