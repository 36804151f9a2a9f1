"""From a question to an answer; `Recaller.recall` shows the whole path.

    find the projects -> bring their indexes up to date -> prepare the query (and its expansions)
    -> filter rows -> collect candidates by every lane -> fuse; add links, mentioned times and
    policies; fuse -> promote updates -> merge repeats, lead by trust -> threshold, diversity
    -> untrusted hits after trusted -> read the hits from the store -> remove duplicates
    -> rerank -> order, budget

Eligibility is decided before anything is ranked: a row that is not eligible has no value in any
lane and no part in a statistic, and every hit is read again from the store on the same snapshot.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import ModelError
from doxa.models.contract import Completer, Embedder, Reranker
from doxa.recall import constants
from doxa.recall.answerability import Signals, level_of, score_of, signals_of
from doxa.recall.budget import fit_budget
from doxa.recall.candidates import (
    CandidateSet,
    Embedded,
    PreparedQuery,
    collect,
    is_large,
    scale_of,
)
from doxa.recall.diversity import deduplicate_sources, diversify, filter_siblings
from doxa.recall.expansion import expand_query
from doxa.recall.filters import (
    check_filters,
    check_project,
    eligible_rows,
    find_scopes,
    hidden_rows,
    is_thread,
)
from doxa.recall.hits import Ranked, read_hits
from doxa.recall.indexes.project_index import IndexCache, ProjectIndex
from doxa.recall.lane_names import LANES
from doxa.recall.lanes.calibration import Calibrations
from doxa.recall.lanes.meaning import with_request
from doxa.recall.lanes.names import extract_names
from doxa.recall.lanes.noise import Noises
from doxa.recall.lanes.phrases import phrases_of
from doxa.recall.lanes.time import named_times
from doxa.recall.lanes.words import asked_terms
from doxa.recall.meanwhile import Meanwhile
from doxa.recall.question import read_question
from doxa.recall.ranking import (
    append_deeper,
    hits_to_read,
    mark_namesakes,
    merge_expansion,
    promote_updates,
    put_echoes_last,
    questions_by_alias,
    rank,
)
from doxa.recall.request import quoted_request
from doxa.recall.rerank import apply_reranker
from doxa.recall.result import Recall
from doxa.recall.threshold import weigh
from doxa.recall.trust import (
    merge_repeats,
    order_by_lane,
    put_leaders_first,
    standing_out,
    untrusted_last,
)
from doxa.recall.types import HITS_DEFAULT, Ask, Hit, check_ask
from doxa.recall.updates import asks_current_state
from doxa.store import TRUSTS, UNTRUSTED, Reader, Store
from doxa.store.retention.horizon import require_believed

_QUERY_CACHE = 256  # vectors of recent questions
_BRIEF_S = 0.005  # for so long another question may wait for the model of this one
_FILTERS = (
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
Floats = NDArray[np.float32]


class _Found(NamedTuple):
    """What one snapshot holds for a question, before reranking and budget."""

    hits: list[Hit]
    mode: Literal["fulltext", "vector", "hybrid"]
    searched: int
    pending: int
    signals: Signals | None
    faded: int  # memories that pass the filters and that a policy hides


class Recaller:
    """Answers questions over one store. Keeps the indexes of projects and recent question vectors;
    safe to share between threads."""

    def __init__(
        self,
        store: Store,
        embedder: Callable[[str | None, str | None], tuple[Embedder | None, str]],
        *,
        reranker: Callable[[], Reranker | None] = lambda: None,
        model: Callable[[], Completer | None] = lambda: None,
    ) -> None:
        """Models are requested when a question needs them, so that opening a memory loads none.
        `embedder` takes the model of the vectors in use and that of a set that will replace them
        (None: there is none), and returns the embedder of questions and a warning."""
        self._store = store
        self._embedder, self._reranker, self._model = embedder, reranker, model
        self._indexes = IndexCache()
        self._calibrations = Calibrations()
        self._noises = Noises()
        self._vectors: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        # held while the arrays of an index are read: a question in another thread must not resize
        # them meanwhile
        self._lock = threading.Lock()
        self._asking: set[int] = set()  # the threads that search now
        self._brief: set[str] = set()  # the embedders that took at most _BRIEF_S for a question

    def recall(self, ask: Ask, *, context: Mapping[str, Any] | None = None) -> Recall:
        """Return the best hits for a question, within its filters and budget. Raises InputError,
        LimitError, or NotFoundError for a project, space, thread or tag that does not exist; a
        failing embedder is a warning."""
        check_ask(ask)
        warnings: list[str] = []
        expansions: list[str] = []
        if ask.reword != "none":
            text = read_question(ask.text).text
            expansions = expand_query(text, ask.reword, self._model, warnings)
        self._asking.add(threading.get_ident())
        try:
            with self._store.read() as reader:
                if ask.as_of is not None:
                    require_believed(reader, ask.as_of)
                found = self._search(reader, ask, expansions, warnings)
        finally:
            self._asking.discard(threading.get_ident())
        reranker = self._reranker() if ask.rerank in ("dedicated", "auto") else None
        hits = apply_reranker(found.hits, ask.text, reranker, ask.rerank, warnings)
        if reranker is not None:
            hits = untrusted_last(hits)
        for_client = ask.rerank == "client" or (ask.rerank == "auto" and reranker is None)
        hits = hits[: constants.CLIENT_HITS * ask.limit if for_client else ask.limit]
        if ask.order == "time":
            hits = sorted(hits, key=lambda hit: hit.time)
        hits, tokens = fit_budget(hits, ask.tokens_max)
        if ask.as_of is None:
            with self._store.read() as reader:
                self._store.returned(reader, [hit.kref for hit in hits], context)
        if found.faded:
            warnings.append(_left_out(found.faded))
        if not hits:
            warnings.append(_nothing(ask, found.searched))
        return Recall(
            ask.text,
            tuple(hits),
            found.mode,
            found.searched,
            found.pending,
            tokens,
            tuple(warnings),
            _filters(ask),
            level_of(score_of(found.signals)),
            found.signals,
            found.faded,
        )

    def _search(
        self, reader: Reader, ask: Ask, expansions: list[str], warnings: list[str]
    ) -> _Found:
        """Search one snapshot: from a question to hits read from the store."""
        scopes = find_scopes(reader, ask.project)
        if ask.project and not scopes:
            check_project(reader, ask.project)
        if ask.from_thread and not is_thread(reader, ask.from_thread):
            warnings.append(
                f"There is no thread {ask.from_thread[:100]!r} yet, so none is preferred."
            )
        with self._lock:
            projects = [self._indexes.get(reader, scope) for scope in scopes]
            places = "entities" in ask.lanes and ask.mode != "max"
            plain, speakers = extract_names(reader, projects, ask.text, places=places)
            expansions = [
                extract_names(reader, projects, text, places=places)[0] for text in expansions
            ]
        # several questions need every processor anyway
        aside = len(self._asking) == 1 and any(map(is_large, projects))
        prepare = partial(
            self._prepare, reader, ask, speakers=speakers, aside=aside, warnings=warnings
        )
        query = prepare(plain)
        others = [prepare(text) for text in expansions]
        with self._lock:
            pending = sum(project.pending for project in projects)
            sets, ranked = self._rank(reader, projects, ask, [query, *others], wanted=0)
        aliases = questions_by_alias(ranked, plain)[: constants.ALIASES_MAX]
        if aliases:
            others += [prepare(text) for text in aliases]
        with self._lock:
            if aliases:
                sets, ranked = self._rank(reader, projects, ask, [query, *others], wanted=0)
            warnings += [said for one in (query, *others) if (said := one.embedded.get().warning)]
            ranked = put_echoes_last(ranked, ask.text)
            if hits_to_read(ask) > constants.RANKED_HITS:
                wanted = hits_to_read(ask)
                deeper = self._rank(reader, projects, ask, [query, *others], wanted=wanted)[1]
                ranked = append_deeper(ranked, put_echoes_last(deeper, ask.text))
            searched = sum(one.searched for one in sets)
            trusted = sum(one.trusted for one in sets)
            faded = sum(one.faded for one in sets)
            if not searched:
                warnings += check_filters(reader, ask)
            candidates = [one for one in sets if len(one.rows)]
        signals = signals_of(candidates, ranked, searched=searched)
        if not ask.history and asks_current_state(plain):
            ranked = promote_updates(reader, candidates, ranked, ask.text)
        if not ask.history:
            ranked = merge_repeats(ranked)
        ranked = put_leaders_first(reader, candidates, ranked, side=query.question.side)
        if ask.strict:
            ranked = mark_namesakes(ranked, plain)
            ranked = standing_out(ranked, searched=searched, trusted=trusted)
        if ask.diversity:
            ranked = diversify(reader, ranked, strength=ask.diversity, wanted=hits_to_read(ask))
        ranked = order_by_lane(ranked, searched=trusted)
        hits = _read_enough(reader, ranked, ask)
        return _Found(hits, _mode(candidates, query), searched, pending, signals, faded)

    def _rank(
        self,
        reader: Reader,
        projects: list[ProjectIndex],
        ask: Ask,
        queries: list[PreparedQuery],
        *,
        wanted: int,
    ) -> tuple[list[CandidateSet], list[Ranked]]:
        """The candidates of the question in each project, and their ranking merged with those of
        its expansions."""

        def collected(query: PreparedQuery) -> list[CandidateSet]:
            return [self._collect(reader, one, ask, query, wanted=wanted) for one in projects]

        def ranked(sets: list[CandidateSet]) -> list[Ranked]:
            filled = [one for one in sets if len(one.rows)]
            return weigh(rank(reader, filled, ask, wanted=wanted), filled, scale_of(filled))

        sets = collected(queries[0])
        found = ranked(sets)
        for query in queries[1:]:
            found = merge_expansion(found, ranked(collected(query)))
        return sets, found

    def recent(
        self,
        *,
        project: str = "",
        kinds: tuple[str, ...] = (),
        trust: str = "",
        limit: int = HITS_DEFAULT,
        context: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """Return what was last said or stated, newest first, by the same belief filter. Untrusted
        sources take no part."""
        ask = Ask("", project=project, kinds=kinds, trust=trust, limit=limit)
        check_ask(ask)
        with self._store.read() as reader, self._lock:
            found: list[tuple[int, int, ProjectIndex]] = []
            scopes = find_scopes(reader, project)
            if project and not scopes:
                check_project(reader, project)
            for scope in scopes:
                index = self._indexes.get(reader, scope)
                allowed = eligible_rows(reader, index, ask).allowed.copy()
                allowed &= index["trust"] > TRUSTS.index(UNTRUSTED)
                newest = _newest(reader, index, allowed, limit)
                found += [(int(index["time"][row]), int(row), index) for row in newest]
            found.sort(key=lambda item: (-item[0], item[1]))
            lanes = dict.fromkeys(LANES, 0.0) | {"meaning": None, "policy": 1.0}
            ranked = [Ranked(index, row, 0.0, lanes, []) for _, row, index in found[:limit]]
            hits = read_hits(reader, ranked, ask=ask)
            self._store.returned(reader, [hit.kref for hit in hits], context)
            return hits

    def _prepare(
        self,
        reader: Reader,
        ask: Ask,
        text: str,
        *,
        speakers: frozenset[int],
        aside: bool,
        warnings: list[str],
    ) -> PreparedQuery:
        question = read_question(text)
        request = quoted_request(question.text)
        embedded, aside = self._embedded(
            reader, question.text, request, ask, aside=aside, warnings=warnings
        )
        terms = asked_terms(question.text) if "words" in ask.lanes else {}
        times = named_times(question.text, reader.now) if "time" in ask.lanes else ()
        phrases = phrases_of(question.text) if terms else []
        return PreparedQuery(
            question,
            request,
            terms,
            phrases,
            embedded,
            speakers,
            times,
            frozenset(ask.lanes),
            aside,
        )

    def _embedded(
        self,
        reader: Reader,
        text: str,
        request: str,
        ask: Ask,
        *,
        aside: bool,
        warnings: list[str],
    ) -> tuple[Meanwhile[Embedded], bool]:
        """The vector of a question, of which a request that it quotes is half, and the noise of its
        language; and whether there is a vector that another thread may compare, if one may.

        The vector is made at once, before a lock is taken; by another thread, while this one goes
        on and holds the lock, only if the model is known to be brief."""
        embedder = None
        if "meaning" in ask.lanes:
            embedder, warning = self._embedder(reader.embedder_name(), reader.embedder_next())
            if warning:
                warnings.append(warning)
        if embedder is None:
            return Meanwhile(Embedded), False
        made = Meanwhile(partial(self._embed, embedder, text, request))
        if aside and self._is_brief(embedder, text) and made.begin():
            return made, True
        vector = made.get().vector
        return made, aside and vector is not None

    def _is_brief(self, embedder: Embedder, text: str) -> bool:
        """Whether it is about to compute in this process, and took a few milliseconds before."""
        return (
            embedder.name in self._brief
            and getattr(embedder, "local", False)
            and (embedder.name, text) not in self._vectors
            and self._noises.is_measured(embedder, text)
        )

    def _embed(self, embedder: Embedder, text: str, request: str) -> Embedded:
        vector, noise, warning = None, None, ""
        try:
            vector = self._vector(embedder, text)
            noise = self._noises.of(embedder, text, vector)
            if request:
                vector = with_request(vector, self._vector(embedder, request))
        except ModelError as error:
            warning = f"Meaning search failed, this answer is by words alone: {error.message}"
        return Embedded(vector, noise, warning)

    def _vector(self, embedder: Embedder, text: str) -> Floats:
        key = embedder.name, text
        known = self._vectors.get(key)
        if known is not None:
            return known
        began = time.monotonic()
        vector: Floats = embedder.embed([text])[0]
        took = time.monotonic() - began
        (self._brief.add if took <= _BRIEF_S else self._brief.discard)(embedder.name)
        self._vectors[key] = vector
        if len(self._vectors) > _QUERY_CACHE:
            self._vectors.popitem(last=False)
        return vector

    def _collect(
        self,
        reader: Reader,
        project: ProjectIndex,
        ask: Ask,
        query: PreparedQuery,
        *,
        wanted: int = 0,
    ) -> CandidateSet:
        eligible = eligible_rows(reader, project, ask)
        measured = _measured(project, eligible.population.mask)
        return collect(
            reader,
            project,
            eligible,
            query,
            calibration=self._calibrations.of(reader, project, measured),
            wanted=wanted,
            apply_policies=ask.as_of is None,
        )


def _left_out(faded: int) -> str:
    what = (
        "1 memory has faded by policy and is"
        if faded == 1
        else (f"{faded:,} memories have faded by policy and are")
    )
    return f"{what} left out; as_of='now' includes what has faded."


def _nothing(ask: Ask, searched: int) -> str:
    if ask.strict and searched:
        return (
            f"Nothing stands out among {searched} memories that the filters let through; without"
            " strict the nearest are returned."
        )
    return f"Nothing found among {searched} memories that the filters let through."


def _read_enough(reader: Reader, ranked: list[Ranked], ask: Ask) -> list[Hit]:
    """Read hits, without duplicates, until there are as many as are asked for."""
    wanted, read = hits_to_read(ask), []
    hits: list[Hit] = []
    for start in range(0, len(ranked), wanted):
        read += _trusted_enough(read_hits(reader, ranked[start : start + wanted], ask=ask), ask)
        hits = filter_siblings(deduplicate_sources(read))
        if len(hits) >= wanted - constants.SPARE_HITS:
            break
    return hits


def _measured(project: ProjectIndex, believed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The rows on which the scale of cosines is measured: those that are trusted, if any are. Many
    planted turns must not make everything else look alike."""
    trusted: NDArray[np.bool_] = believed & (project["trust"] > TRUSTS.index(UNTRUSTED))
    return trusted if trusted.any() else believed


def _trusted_enough(hits: list[Hit], ask: Ask) -> list[Hit]:
    """Filter by trust again: rows of files from before turns had labels know less than nodes."""
    if not ask.trust:
        return hits
    return [hit for hit in hits if TRUSTS.index(hit.trust) >= TRUSTS.index(ask.trust)]


def _newest(
    reader: Reader, project: ProjectIndex, allowed: NDArray[np.bool_], limit: int
) -> NDArray[np.int64]:
    """The latest rows of a mask that are not hidden."""
    while True:
        rows = np.flatnonzero(allowed)
        times = project["time"][rows]
        if len(rows) > limit:  # only those as late as the last that is wanted are sorted
            late = times >= np.partition(times, len(rows) - limit)[len(rows) - limit]
            rows, times = rows[late], times[late]
        newest = rows[np.argsort(-times, kind="stable")[:limit]]
        hidden = hidden_rows(reader, project, newest)
        if not len(hidden):
            return newest
        allowed[hidden] = False


def _mode(
    candidates: list[CandidateSet], query: PreparedQuery
) -> Literal["fulltext", "vector", "hybrid"]:
    by_meaning = any(not np.isnan(one.lanes["meaning"]).all() for one in candidates)
    if not by_meaning:
        return "fulltext"
    return "hybrid" if query.terms else "vector"


def _filters(ask: Ask) -> dict[str, object]:
    found: dict[str, object] = {
        name: getattr(ask, name)
        for name in _FILTERS
        if getattr(ask, name) not in ("", (), None, False)
    }
    if ask.tag != "current":
        found["tag"] = ask.tag
    return found
