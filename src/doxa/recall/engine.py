"""The whole path of a question, in one function: candidates of each project, fusion over all, hits
with reasons, budget.

    scopes -> shelves -> what is asked -> eligible rows -> candidates by every lane -> fuse ->
    links, events, policies -> fuse
    -> updates -> strict, diversity -> read the hits from the store -> echoes, siblings -> rerank ->
    order, budget

What may be believed is decided before anything is ranked: a row that is not eligible has no score
in any lane and no part in a statistic, and every hit is read again from the store on the same
snapshot.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.base.limits import QUERY_CHARS_READ
from doxa.models.contract import Completer, Embedder, Reranker
from doxa.recall import lanes
from doxa.recall.answer import answerable
from doxa.recall.arrange import diverse, in_order, outstanding, without_echoes, without_far_siblings
from doxa.recall.fusion import LANES, THREAD
from doxa.recall.hits import Ranked, fit_budget, read_hits
from doxa.recall.meaning import Calibrations
from doxa.recall.phrases import QUOTED, phrases_of
from doxa.recall.pool import Asked, Pool, collect, fused, scale_of
from doxa.recall.question import read_question
from doxa.recall.rerank import ANOTHER, CLIENT_HITS, RERANKED, by_reranker, wordings
from doxa.recall.scope import (
    check_filters,
    check_project,
    eligible_rows,
    find_scopes,
    is_thread,
    unseen,
)
from doxa.recall.shelf import Shelf, Shelves
from doxa.recall.types import HITS_DEFAULT, Ask, Hit, Recall, check_ask
from doxa.recall.updates import CHANGED, POOL, Said, asks_how_it_stands, reordered
from doxa.recall.words import asked_terms, weigh
from doxa.store import Reader, Store, int64_array

_QUERY_CACHE = 256
_SPARE = 5  # hits read beyond the limit, since echoes and far siblings fall out
_TURNS = """
SELECT id, props ->> '$.kref', props ->> '$.text' FROM node
WHERE id IN carray(?) AND props ->> '$.kind' = 'exchange' AND props ->> '$.role' IN ('user', 'person')
"""  # what somebody said of their own matters: an assistant's answer states nothing for them
_ROLE_NAMES = frozenset(("user", "assistant", "system", "tool", "human"))
_WORD = re.compile(r"\w+")
Floats = NDArray[np.float32]


class Recaller:
    """Answers questions over one store. Keeps the shelves and recent question vectors; safe to
    share between threads."""

    def __init__(
        self,
        store: Store,
        embedder: Callable[[str | None, str | None], tuple[Embedder | None, str]],
        *,
        reranker: Callable[[], Reranker | None] = lambda: None,
        model: Callable[[], Completer | None] = lambda: None,
    ) -> None:
        """The models are asked for only when a question needs them, so that opening a memory loads
        none. `embedder` is told the model of the vectors in use and that of a set which will take
        their place (None: there is none), and gives who reads the question, and what is to be said
        of it."""
        self._store = store
        self._embedder, self._reranker, self._model = embedder, reranker, model
        self._shelves = Shelves()
        self._calibrations = Calibrations()
        self._vectors: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        # held while arrays of a shelf are read: another thread's question must not make them grow
        # meanwhile
        self._lock = threading.Lock()

    def recall(self, ask: Ask, *, context: Mapping[str, Any] | None = None) -> Recall:
        """The best hits for a question, within its filters and budget. Raises InputError,
        LimitError, or NotFoundError for a project, space, thread or tag that is not there; a
        failing embedder is a warning."""
        check_ask(ask)
        warnings: list[str] = []
        reworded = (
            wordings(read_question(ask.text).text, ask.reword, self._model, warnings)
            if ask.reword != "none"
            else []
        )
        with self._store.read() as reader:
            scopes = find_scopes(reader, ask.project)
            if ask.project and not scopes:
                check_project(reader, ask.project)
            if ask.from_thread and not is_thread(reader, ask.from_thread):
                warnings.append(
                    f"There is no thread {ask.from_thread[:100]!r} yet, so none is preferred."
                )
            with self._lock:
                shelves = [self._shelves.get(reader, scope) for scope in scopes]
                plain, speakers = _name_speakers(reader, shelves, ask.text)
                reworded = [_name_speakers(reader, shelves, text)[0] for text in reworded]
            asked = self._asked(reader, ask, plain, speakers, warnings)
            others = [self._asked(reader, ask, text, speakers, warnings) for text in reworded]
            with self._lock:
                pools = [self._collect(reader, shelf, ask, asked) for shelf in shelves]
                pending = sum(shelf.pending for shelf in shelves)
                searched = sum(pool.searched for pool in pools)
                if not searched:
                    warnings += check_filters(reader, ask)
                pools = [pool for pool in pools if len(pool.rows)]
                ranked = _rank(reader, pools, ask)
                for other in others:
                    ranked = _merged(
                        ranked,
                        _rank(
                            reader,
                            [self._collect(reader, shelf, ask, other) for shelf in shelves],
                            ask,
                        ),
                    )
            if not ask.history and asks_how_it_stands(plain):
                ranked = _updated(reader, pools, ranked, asked.question.text)
            scale = scale_of(pools)
            likely = answerable(pools, ranked, scale, searched=searched)
            ranked = (
                outstanding(ranked, scale, names=asked.question.names, few=searched)
                if ask.strict
                else ranked
            )
            if ask.diversity:
                ranked = diverse(reader, ranked, strength=ask.diversity, wanted=_wanted(ask))
            hits = without_far_siblings(
                without_echoes(read_hits(reader, ranked[: _wanted(ask)], ask=ask))
            )
        reranker = self._reranker() if ask.rerank in ("dedicated", "auto") else None
        hits = by_reranker(hits, ask.text, reranker, ask.rerank, warnings)
        for_client = ask.rerank == "client" or (ask.rerank == "auto" and reranker is None)
        hits = in_order(hits[: CLIENT_HITS * ask.limit if for_client else ask.limit], ask.order)
        hits, tokens = fit_budget(hits, ask.tokens_max)
        if ask.as_of is None:
            with self._store.read() as reader:
                self._store.returned(reader, [hit.kref for hit in hits], context)
        if not hits:
            warnings.append(
                f"Nothing found among {searched} memories that the filters let through."
            )
        meant = any(not np.isnan(pool.lanes["meaning"]).all() for pool in pools)
        mode = "hybrid" if meant and asked.terms else "vector" if meant else "fulltext"
        return Recall(
            ask.text,
            tuple(hits),
            mode,  # type: ignore[arg-type]
            searched,
            pending,
            tokens,
            tuple(warnings),
            _filters(ask),
            likely,
        )

    def recent(
        self,
        *,
        project: str = "",
        kinds: tuple[str, ...] = (),
        limit: int = HITS_DEFAULT,
        context: Mapping[str, Any] | None = None,
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
                newest = _newest(
                    reader, shelf, eligible_rows(reader, shelf, ask).allowed.copy(), limit
                )
                found += [(int(shelf["time"][row]), int(row), shelf) for row in newest]
            found.sort(key=lambda item: (-item[0], item[1]))
            nothing = dict.fromkeys(LANES, 0.0) | {"meaning": None, "policy": 1.0}
            ranked = [Ranked(shelf, row, 0.0, nothing, []) for _, row, shelf in found[:limit]]
            hits = read_hits(reader, ranked, ask=ask)
            self._store.returned(reader, [hit.kref for hit in hits], context)
            return hits

    def _asked(
        self, reader: Reader, ask: Ask, plain: str, speakers: frozenset[int], warnings: list[str]
    ) -> Asked:
        question = read_question(plain)
        vector = self._vector(reader, question.text, ask, warnings=warnings)
        terms = asked_terms(question.text) if "words" in ask.lanes else []
        spans = lanes.spans_of(question.text, reader.now) if "time" in ask.lanes else ()
        phrases = phrases_of(question.text) if terms else []
        return Asked(question, terms, phrases, vector, speakers, spans, frozenset(ask.lanes))

    def _vector(self, reader: Reader, text: str, ask: Ask, *, warnings: list[str]) -> Floats | None:
        if "meaning" not in ask.lanes:
            return None
        embedder, said = self._embedder(reader.embedder_name(), reader.embedder_next())
        if said:
            warnings.append(said)
        if embedder is None:
            return None
        key = embedder.name, text
        known = self._vectors.get(key)
        if known is not None:
            return known
        try:
            vector: Floats = embedder.embed([text])[0]
        except ModelError as error:
            warnings.append(
                f"Meaning search failed, this answer is by words alone: {error.message}"
            )
            return None
        self._vectors[key] = vector
        if len(self._vectors) > _QUERY_CACHE:
            self._vectors.popitem(last=False)
        return vector

    def _collect(self, reader: Reader, shelf: Shelf, ask: Ask, asked: Asked) -> Pool:
        eligible = eligible_rows(reader, shelf, ask)
        fitted = self._calibrations.of(reader, shelf, eligible.population.mask)
        return collect(
            reader,
            shelf,
            eligible,
            asked,
            calibration=fitted,
            wanted=_wanted(ask),
            judged=ask.as_of is None,
        )


def _wanted(ask: Ask) -> int:
    """How many hits are read: some fall out as echoes and far siblings, and a second opinion
    chooses from more than are wanted."""
    more = max(RERANKED, CLIENT_HITS * ask.limit) if ask.rerank != "none" else 0
    return max(ask.limit, more) + _SPARE


def _merged(ranked: list[Ranked], others: list[Ranked]) -> list[Ranked]:
    """Two rankings as one: a score of another wording counts ANOTHER of its share of that one's
    best."""
    if not ranked or not others or min(ranked[0].score, others[0].score) <= 0:
        return ranked or others
    scale = ANOTHER * ranked[0].score / others[0].score
    held = {(item.shelf.scope, item.row): item for item in ranked}
    for item in others:
        key, score = (item.shelf.scope, item.row), item.score * scale
        if key not in held or held[key].score < score:
            held[key] = item._replace(score=score)
    return sorted(held.values(), key=lambda item: -item.score)


def _newest(
    reader: Reader, shelf: Shelf, allowed: NDArray[np.bool_], limit: int
) -> NDArray[np.int64]:
    """The latest rows of a mask that are not hidden."""
    while True:
        rows = np.flatnonzero(allowed)
        newest = rows[np.argsort(-shelf["time"][rows], kind="stable")[:limit]]
        hidden = unseen(reader, shelf, newest)
        if not len(hidden):
            return newest
        allowed[hidden] = False


def _rank(reader: Reader, pools: list[Pool], ask: Ask) -> list[Ranked]:
    """Fuse the candidates of all projects; the best first, ties by age."""
    if not pools:
        return []
    token = next(
        (row[0] for row in reader.rows("SELECT id FROM token WHERE text = 'kind:exchange'")), 0
    )
    thread = (
        next(
            (
                row[0]
                for row in reader.rows(
                    "SELECT id FROM token WHERE text = ?", ("thread:" + ask.from_thread,)
                )
            ),
            0,
        )
        if ask.from_thread
        else 0
    )

    def scored() -> Floats:
        scores = fused(
            pools, mode=ask.mode, beliefs=[pool.shelf["kind"][pool.rows] != token for pool in pools]
        )
        if thread:
            scores[
                np.concatenate([pool.shelf["thread"][pool.rows] == thread for pool in pools])
                & (scores > 0)
            ] *= THREAD
        return scores

    scores = scored()
    if "graph" in ask.lanes and ask.as_of is None and (reached := _linked(reader, pools, scores)):
        for pool in pools:
            pool.link(reader, reached)
        scores = scored()
    if _events(reader, pools, scores) | _policies(reader, pools, scores, ask):
        scores = scored()
    order = np.argsort(-scores, kind="stable")[: max(_wanted(ask), POOL)]
    owner, row = _owners(pools)
    fields = np.concatenate([pool.fields for pool in pools])
    held = {name: np.concatenate([pool.lanes[name] for pool in pools]) for name in LANES}
    ranked = []
    for i in order.tolist():
        values = {
            name: None if np.isnan(values[i]) else float(values[i]) for name, values in held.items()
        }
        ranked.append(
            Ranked(
                pools[owner[i]].shelf,
                int(row[i]),
                float(scores[i]),
                values,
                pools[owner[i]].postings,
                field=int(fields[i]),
            )
        )
    return ranked


def _owners(pools: list[Pool]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.repeat(np.arange(len(pools)), [len(pool.rows) for pool in pools]), np.concatenate(
        [pool.rows for pool in pools]
    )


def _linked(reader: Reader, pools: list[Pool], scores: Floats) -> dict[int, float]:
    """What is linked with the best hits, by node."""
    best = np.argsort(-scores, kind="stable")[: lanes.GRAPH_SEEDS]
    top = float(scores[best[0]]) if len(best) else 0.0
    if top <= 0:
        return {}
    owner, row = _owners(pools)
    seeds = {
        int(pools[owner[i]].shelf["node"][row[i]]): float(scores[i]) / top
        for i in best.tolist()
        if scores[i] > 0
    }
    return lanes.spread(reader, seeds)


def _events(reader: Reader, pools: list[Pool], scores: Floats) -> bool:
    """Whether texts of candidates tell of a time that the question names; their lane of time says
    so then."""
    start, found = 0, False
    for pool in pools:
        own = scores[start : start + len(pool.rows)]
        start += len(pool.rows)
        if pool.asked.spans:
            told = lanes.event_times(
                reader, pool.shelf, pool.rows, np.argsort(-own, kind="stable"), pool.asked.spans
            )
            pool.lanes["time"] = np.maximum(pool.lanes["time"], told)
            found = True
    return found


def _policies(reader: Reader, pools: list[Pool], scores: Floats, ask: Ask) -> bool:
    """Whether policies are declared; the lane of policy of the best candidates says then what they
    leave of each."""
    if "policy" not in ask.lanes or ask.as_of is not None or not reader.sight().tests:
        return False
    owner, row = _owners(pools)
    starts = np.concatenate(([0], np.cumsum([len(pool.rows) for pool in pools])))
    for i in np.argsort(-scores, kind="stable")[: 2 * _wanted(ask)].tolist():
        pool = pools[owner[i]]
        pool.lanes["policy"][i - starts[owner[i]]] = reader.score_of(
            int(pool.shelf["node"][row[i]])
        )
    return True


def _updated(
    reader: Reader, pools: list[Pool], ranked: list[Ranked], question: str
) -> list[Ranked]:
    """The ranking with each turn that restates another as it is now above that one, whose score it
    takes over."""
    weights = weigh([(pool.postings, pool.population) for pool in pools])
    best = ranked[:POOL]
    nodes = [int(item.shelf["node"][item.row]) for item in best]
    asked = _asked_weight(pools, best, weights)
    able = [
        node
        for node, weight in zip(nodes, asked.tolist(), strict=True)
        if weight >= CHANGED * sum(weights.values()) > 0
    ]
    if len(able) < 2:
        return ranked
    turns = {node: (kref, text) for node, kref, text in reader.rows(_TURNS, (int64_array(able),))}
    said = []
    for item, node in zip(best, nodes, strict=True):
        by = (item.shelf.scope, int(item.shelf["speaker"][item.row])) if node in turns else None
        said.append(
            Said(by, (int(item.shelf["time"][item.row]), item.row), turns.get(node, ("", ""))[1])
        )
    moved = [
        best[place]
        if above is None
        else best[place]._replace(score=best[above].score, restates=turns[nodes[above]][0])
        for place, above in reordered(question, weights, said)
    ]
    return moved + ranked[POOL:]


def _asked_weight(
    pools: list[Pool], items: list[Ranked], weights: dict[str, float]
) -> NDArray[np.float64]:
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
    """A question that names a speaker asks about what that person said: the name becomes a
    preference and leaves the question's words."""
    text = text[:QUERY_CHARS_READ]
    named: set[int] = set()
    remove: set[str] = set()
    asked = {word.casefold() for word in _WORD.findall(text)}
    for shelf in shelves:
        for token, name in shelf.speakers(reader):
            parts = {part.casefold() for part in _WORD.findall(name)} - _ROLE_NAMES
            if parts & asked:
                named.add(token)
                remove |= parts & asked
    if not named:
        return text, frozenset()
    names = "|".join(map(re.escape, sorted(remove)))
    plain = re.sub(
        rf"({QUOTED})|\b(?:{names})\b(?:['’]s\b)?",
        lambda match: match[1] or " ",
        text,
        flags=re.IGNORECASE,
    )
    plain = " ".join(plain.split())
    return plain if _WORD.search(plain) else text, frozenset(named)


def _filters(ask: Ask) -> dict[str, object]:
    names = (
        "project",
        "space",
        "kinds",
        "trust",
        "speaker",
        "thread",
        "since",
        "until",
        "valid_at",
        "as_of",
        "history",
    )
    found: dict[str, object] = {
        name: getattr(ask, name)
        for name in names
        if getattr(ask, name) not in ("", (), None, False)
    }
    if ask.tag != "current":
        found["tag"] = ask.tag
    return found
