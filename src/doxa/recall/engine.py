"""The whole path of a question, in one function: candidates of each project, fusion over all, hits with reasons, budget.

    scopes -> shelves -> what is asked -> eligible rows -> words + meaning -> candidates -> fuse -> updates -> read the hits from the store -> budget

What may be believed is decided before anything is ranked: a row that is not eligible has no score in any lane and no part in a statistic,
and every hit is read again from the store on the same snapshot.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.models.contract import Embedder
from doxa.recall import fusion
from doxa.recall.hits import Ranked, fit_budget, read_hits, without_echoes
from doxa.recall.meaning import Calibrations, exact, narrowed, without
from doxa.recall.question import Question, read_question
from doxa.recall.scope import Eligible, check_filters, check_project, eligible_rows, find_scopes, unseen
from doxa.recall.shelf import Shelf, Shelves, believed
from doxa.recall.types import HITS_DEFAULT, Ask, Hit, Recall, check_ask
from doxa.recall.updates import CHANGED, POOL, Said, asks_how_it_stands, reordered
from doxa.recall.words import Posting, Words, asked_terms, gather, weigh
from doxa.store import Reader, Store, int64_array

WORDED, MEANT = 60, 100  # candidates of each project by either lane, more if more hits are asked for
CODED = 1_000  # by sign codes, of which the MEANT nearest stay
_QUERY_CACHE = 256
_SPARE_FOR_ECHOES = 5
_TURNS = """
SELECT id, props ->> '$.kref', props ->> '$.text' FROM node
WHERE id IN carray(?) AND props ->> '$.kind' = 'exchange' AND props ->> '$.role' IN ('user', 'person')
"""  # what somebody said of their own matters: an assistant's answer states nothing for them
_ROLE_NAMES = frozenset(("user", "assistant", "system", "tool", "human"))
_WORD = re.compile(r"\w+")
Floats = NDArray[np.float32]


class Asked(NamedTuple):
    """A question as the lanes take it: what it asks, its index terms, its vector (None: no meaning), and whom it names (tokens of speakers)."""

    question: Question
    terms: list[str]
    vector: Floats | None
    speakers: frozenset[int]


class Pool(NamedTuple):
    """The candidates of one project and what their lanes said. `meaning` is in standard deviations (nan: no vector yet), `cosine` as it is."""

    shelf: Shelf
    rows: NDArray[np.int64]
    words: Floats
    cosine: Floats
    meaning: Floats
    spoken: Floats
    side: Floats
    postings: list[Posting]
    population: int
    searched: int


class Recaller:
    """Answers questions over one store. Keeps the shelves and recent question vectors; safe to share between threads."""

    def __init__(self, store: Store, embedder: Callable[[], Embedder | None]) -> None:
        """`embedder` is asked for the model only when a question needs it, so that opening a memory loads none."""
        self._store = store
        self._embedder = embedder
        self._shelves = Shelves()
        self._calibrations = Calibrations()
        self._vectors: OrderedDict[str, Floats] = OrderedDict()
        self._lock = threading.Lock()  # held while arrays of a shelf are read: another thread's question must not make them grow meanwhile

    def recall(self, ask: Ask, *, context: Mapping[str, Any] | None = None) -> Recall:
        """The best hits for a question, within its filters and budget. Raises InputError, LimitError, or NotFoundError for a
        project, space, thread or tag that is not there; a failing embedder is a warning."""
        check_ask(ask)
        warnings: list[str] = []
        with self._store.read() as reader:
            scopes = find_scopes(reader, ask.project)
            if ask.project and not scopes:
                check_project(reader, ask.project)
            with self._lock:
                shelves = [self._shelves.get(reader, scope) for scope in scopes]
                plain, speakers = _name_speakers(reader, shelves, ask.text)
            question = read_question(plain)
            vector = self._vector(question.text, ask, held=reader.embedder_name(), warnings=warnings)
            asked = Asked(question, asked_terms(question.text) if "words" in ask.lanes else [], vector, speakers)
            with self._lock:
                pools = [self._collect(reader, shelf, ask, asked) for shelf in shelves]
                pending = sum(shelf.pending for shelf in shelves)
            searched = sum(pool.searched for pool in pools)
            if not searched:
                warnings += check_filters(reader, ask)
            pools = [pool for pool in pools if len(pool.rows)]
            ranked, meant = _rank(pools, remark=question.remark, limit=max(ask.limit + _SPARE_FOR_ECHOES, POOL))
            if not ask.history and asks_how_it_stands(plain):
                ranked = _updated(reader, pools, ranked, question.text)
            ranked = ranked[: ask.limit + _SPARE_FOR_ECHOES]
            hits, tokens = fit_budget(without_echoes(read_hits(reader, ranked, ask=ask), ask.limit), ask.tokens_max)
            if ask.as_of is None:
                self._store.returned(reader, [hit.kref for hit in hits], context)
        if not hits:
            warnings.append(f"Nothing found among {searched} memories that the filters let through.")
        mode = "hybrid" if meant and asked.terms else "vector" if meant else "fulltext"
        return Recall(ask.text, tuple(hits), mode, searched, pending, tokens, tuple(warnings), _filters(ask))  # type: ignore[arg-type]

    def recent(self, *, project: str = "", kinds: tuple[str, ...] = (), limit: int = HITS_DEFAULT, context: Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """What was last said or stated, newest first: no question, the same belief filter."""
        ask = Ask("", project=project, kinds=kinds, limit=limit)
        check_ask(ask)
        with self._store.read() as reader, self._lock:
            found: list[tuple[int, int, Shelf]] = []
            scopes = find_scopes(reader, project)
            if project and not scopes:
                check_project(reader, project)
            for scope in scopes:
                shelf = self._shelves.get(reader, scope)
                newest = _newest(reader, shelf, eligible_rows(reader, shelf, ask).allowed.copy(), limit)
                found += [(int(shelf["time"][row]), int(row), shelf) for row in newest]
            found.sort(key=lambda item: (-item[0], item[1]))
            ranked = [Ranked(shelf, row, 0.0, 0.0, None, False, []) for _, row, shelf in found[:limit]]
            hits = read_hits(reader, ranked, ask=ask)
            self._store.returned(reader, [hit.kref for hit in hits], context)
            return hits

    def _vector(self, text: str, ask: Ask, *, held: str | None, warnings: list[str]) -> Floats | None:
        if "meaning" not in ask.lanes:
            return None
        embedder = self._embedder()
        if embedder is None:
            warnings.append("Meaning search is off: no embedding model is installed; this answer is by words alone.")
            return None
        if held is not None and held != embedder.name:
            warnings.append(f"Meaning search is off: the vectors of this file are of {held}, not of {embedder.name}; see `doxa embed --anew`.")
            return None
        known = self._vectors.get(text)
        if known is not None:
            return known
        try:
            vector: Floats = embedder.embed([text])[0]
        except ModelError as error:
            warnings.append(f"Meaning search failed, this answer is by words alone: {error.message}")
            return None
        self._vectors[text] = vector
        if len(self._vectors) > _QUERY_CACHE:
            self._vectors.popitem(last=False)
        return vector

    def _collect(self, reader: Reader, shelf: Shelf, ask: Ask, asked: Asked) -> Pool:
        """The candidates of one project. What a policy hides though no window says so is found among them, and then nothing of it has counted."""
        eligible = eligible_rows(reader, shelf, ask)
        while True:
            pool = self._pool(reader, shelf, eligible, asked, wanted=ask.limit + _SPARE_FOR_ECHOES)
            hidden = unseen(reader, shelf, pool.rows) if ask.as_of is None else pool.rows[:0]
            if not len(hidden):
                return pool
            eligible = _without(eligible, shelf, hidden)

    def _pool(self, reader: Reader, shelf: Shelf, eligible: Eligible, asked: Asked, *, wanted: int) -> Pool:
        population, allowed = eligible
        postings = gather(reader, shelf.scope, asked.terms, eligible=population.mask)
        words = Words(shelf, postings, population)
        rows = words.best(allowed, max(WORDED, wanted))
        cosine: Floats = np.full(len(rows), np.nan, dtype=np.float32)
        meaning = cosine
        if asked.vector is not None and shelf.index.count:
            fitted = self._calibrations.of(reader, shelf, eligible.population.mask)
            centre = fitted.centre if asked.question.remark else None
            vector, depth = without(centre, asked.vector), max(MEANT, 2 * wanted)
            near = shelf.index.nearest(vector, allowed=allowed, depth=depth if shelf.index.exact else max(CODED, depth))
            close = near.rows if shelf.index.exact else narrowed(reader, shelf, near.rows, vector=vector, centre=centre, depth=depth)
            rows = np.union1d(rows, close)
            cosine = exact(reader, shelf, rows, vector=vector, centre=centre, spread=near.spread, believed=population.mask)
            meaning = (np.where(np.isnan(cosine), near.mean, cosine) / fitted.spread).astype(np.float32)
        side = frozenset(token for token, name in shelf.speakers(reader) if name and name.casefold() == asked.question.side)
        return Pool(
            shelf, rows, words.of(rows), cosine, meaning, _said_by(shelf, rows, asked.speakers), _said_by(shelf, rows, side), postings,
            population.total, int(np.count_nonzero(allowed)),
        )  # fmt: skip


def _newest(reader: Reader, shelf: Shelf, allowed: NDArray[np.bool_], limit: int) -> NDArray[np.int64]:
    """The latest rows of a mask that are not hidden."""
    while True:
        rows = np.flatnonzero(allowed)
        newest = rows[np.argsort(-shelf["time"][rows], kind="stable")[:limit]]
        hidden = unseen(reader, shelf, newest)
        if not len(hidden):
            return newest
        allowed[hidden] = False


def _without(eligible: Eligible, shelf: Shelf, hidden: NDArray[np.int64]) -> Eligible:
    population, allowed = eligible.population.mask.copy(), eligible.allowed.copy()
    population[hidden] = allowed[hidden] = False
    return Eligible(believed(shelf["length"], population), allowed)


def _said_by(shelf: Shelf, rows: NDArray[np.int64], tokens: frozenset[int]) -> Floats:
    if not tokens:
        return np.zeros(len(rows), dtype=np.float32)
    return np.isin(shelf["speaker"][rows], list(tokens)).astype(np.float32)


def _fused(pools: list[Pool], *, remark: bool) -> Floats:
    """The score of every candidate, all projects on one scale. One without a vector yet counts as average in meaning."""
    words, meaning, spoken, side = (np.concatenate([getattr(pool, lane) for pool in pools]) for lane in ("words", "meaning", "spoken", "side"))
    best = float(words.max(initial=0))
    covered = words / np.float32(best) if best > 0 else words
    said = fusion.SPEAKER * spoken + fusion.SIDE * side
    if np.isnan(meaning).all():
        return np.asarray(words + said * best * (words > 0), dtype=np.float32)
    return np.asarray(fusion.MEANING * meaning + fusion.WORDS * fusion.gate(best, remark=remark) * covered + said, dtype=np.float32)


def _rank(pools: list[Pool], *, remark: bool, limit: int) -> tuple[list[Ranked], bool]:
    """Fuse the candidates of all projects; the best first, ties by age. Also whether meaning had a say."""
    if not pools:
        return [], False
    scores = _fused(pools, remark=remark)
    words, cosine, spoken = (np.concatenate([getattr(pool, lane) for pool in pools]) for lane in ("words", "cosine", "spoken"))
    order = np.argsort(-scores, kind="stable")[:limit]
    owner = np.repeat(np.arange(len(pools)), [len(pool.rows) for pool in pools])
    row = np.concatenate([pool.rows for pool in pools])
    ranked = []
    for i in order.tolist():
        pool = pools[owner[i]]
        value = None if np.isnan(cosine[i]) else float(cosine[i])
        ranked.append(Ranked(pool.shelf, int(row[i]), float(scores[i]), float(words[i]), value, bool(spoken[i]), pool.postings))
    return ranked, not bool(np.isnan(cosine).all())


def _updated(reader: Reader, pools: list[Pool], ranked: list[Ranked], question: str) -> list[Ranked]:
    """The ranking with each turn that restates another as it is now above that one, whose score it takes over."""
    weights = weigh([(pool.postings, pool.population) for pool in pools])
    best = ranked[:POOL]
    nodes = [int(item.shelf["node"][item.row]) for item in best]
    asked = _asked_weight(pools, best, weights)
    able = [node for node, weight in zip(nodes, asked.tolist(), strict=True) if weight >= CHANGED * sum(weights.values()) > 0]
    if len(able) < 2:
        return ranked
    turns = {node: (kref, text) for node, kref, text in reader.rows(_TURNS, (int64_array(able),))}
    said = []
    for item, node in zip(best, nodes, strict=True):
        by = (item.shelf.scope, int(item.shelf["speaker"][item.row])) if node in turns else None
        said.append(Said(by, (int(item.shelf["time"][item.row]), item.row), turns.get(node, ("", ""))[1]))
    moved = [
        best[place] if above is None else best[place]._replace(score=best[above].score, restates=turns[nodes[above]][0])
        for place, above in reordered(question, weights, said)
    ]
    return moved + ranked[POOL:]


def _asked_weight(pools: list[Pool], items: list[Ranked], weights: dict[str, float]) -> NDArray[np.float64]:
    """How much of the question each row says itself."""
    found = np.zeros(len(items))
    for pool in pools:
        own = [place for place, item in enumerate(items) if item.shelf is pool.shelf]
        rows = np.array([items[place].row for place in own], dtype=np.int64)
        says = np.zeros(pool.shelf.count, dtype=bool)
        for posting in pool.postings if own else ():
            says[posting.docs] = True
            found[own] += weights.get(posting.term, 0.0) * says[rows]
            says[posting.docs] = False
    return found


def _name_speakers(reader: Reader, shelves: list[Shelf], text: str) -> tuple[str, frozenset[int]]:
    """A question that names a speaker asks about what that person said: the name becomes a preference and leaves the question's words."""
    named: set[int] = set()
    remove: set[str] = set()
    asked = {word.casefold() for word in _WORD.findall(text[:4_000])}
    for shelf in shelves:
        for token, name in shelf.speakers(reader):
            parts = {part.casefold() for part in _WORD.findall(name)} - _ROLE_NAMES
            if parts & asked:
                named.add(token)
                remove |= parts & asked
    if not named:
        return text, frozenset()
    plain = re.sub(r"\b(?:" + "|".join(map(re.escape, sorted(remove))) + r")\b(?:['’]s\b)?", " ", text, flags=re.IGNORECASE)
    plain = " ".join(plain.split())
    return plain if _WORD.search(plain) else text, frozenset(named)


def _filters(ask: Ask) -> dict[str, object]:
    names = ("project", "space", "kinds", "trust", "speaker", "thread", "since", "until", "valid_at", "as_of", "history")
    found: dict[str, object] = {name: getattr(ask, name) for name in names if getattr(ask, name) not in ("", (), None, False)}
    if ask.tag != "current":
        found["tag"] = ask.tag
    return found
