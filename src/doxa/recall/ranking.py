"""The ranking of the candidates of all projects: fused, linked, dated; updates moved up."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from doxa.base.words import terms
from doxa.recall import constants
from doxa.recall.candidates import CandidateSet, fuse_candidates
from doxa.recall.hits import Linked, Ranked, Said
from doxa.recall.lane_names import LANES
from doxa.recall.lanes import graph, time
from doxa.recall.lanes.words import term_weights
from doxa.recall.namesakes import name_others, names_in, other_names
from doxa.recall.slots import states_nothing
from doxa.recall.types import Ask
from doxa.recall.updates import RankedTurn, reorder
from doxa.store import (
    TRUSTS,
    UNTRUSTED,
    Reader,
    int64_array,
    pair_products,
    trust_of,
    unpack_vectors,
    vector_id,
)

_SAID = """
SELECT id, props ->> '$.kref', coalesce(props ->> '$.text', props ->> '$.summary', ''),
  props ->> '$.kind' = 'exchange', props ->> '$.role',
  coalesce(props ->> '$.speaker', props ->> '$.author'), props ->> '$.trust'
FROM node WHERE id IN carray(?)
"""
# Turns (later, earlier) from which beliefs were derived, where the belief of the one superseded
# that of the other, directly or not. A summary says what was said: its next revision replaces
# nothing of that.
_REVISED = """
WITH RECURSIVE made(turn, revision) AS (
  SELECT e.dst, e.src FROM edge e JOIN node n ON n.id = e.src
  WHERE e.dst IN carray(?) AND e.type = 'DERIVED_FROM' AND n.props ->> '$.kind' IS NOT 'summary'
), reached(turn, revision) AS (
  SELECT made.turn, s.dst FROM made
  JOIN edge s ON s.src = made.revision AND s.type = 'SUPERSEDES'
  UNION
  SELECT reached.turn, s.dst FROM reached
  JOIN edge s ON s.src = reached.revision AND s.type = 'SUPERSEDES'
)
SELECT DISTINCT reached.turn, made.turn FROM reached
JOIN made ON made.revision = reached.revision AND made.turn != reached.turn
"""

# who speaks of their own affairs: an assistant's answer states nothing for them
_PEOPLE = ("user", "person")

_UNTRUSTED, _VERIFIED = TRUSTS.index(UNTRUSTED), TRUSTS.index("verified")

Floats = NDArray[np.float32]


def hits_to_read(ask: Ask) -> int:
    """Return how many hits to read at least: some are duplicates, and reranking chooses from more
    than are asked for."""
    more = 0
    if ask.rerank != "none":
        more = max(constants.RERANKED_HITS, constants.CLIENT_HITS * ask.limit)
    return max(ask.limit, more) + constants.SPARE_HITS


def rank(reader: Reader, candidates: list[CandidateSet], ask: Ask, *, wanted: int) -> list[Ranked]:
    """Fuse the candidates of all projects; the best first, of equal scores the newest. Returns
    RANKED_HITS, or `wanted` if that is more."""
    count = max(wanted, constants.RANKED_HITS)
    if not candidates:
        return []
    exchange = _token(reader, "kind:exchange")
    thread = _token(reader, "thread:" + ask.from_thread) if ask.from_thread else 0

    def fused() -> Floats:
        beliefs = [one.project["kind"][one.rows] != exchange for one in candidates]
        scores = fuse_candidates(candidates, mode=ask.mode, beliefs=beliefs)
        if thread:
            of_thread = [one.project["thread"][one.rows] == thread for one in candidates]
            scores[np.concatenate(of_thread) & (scores > 0)] *= constants.THREAD
        return scores

    scores = fused()
    links: dict[int, graph.Link] = {}
    if ask.as_of is None:
        seeds = _seeds(candidates, scores)
        links = graph.spread(reader, seeds) if seeds and "graph" in ask.lanes else {}
        reached = {"graph": {node: link.value for node, link in links.items()}}
        if seeds and "mentions" in ask.lanes:
            reached["mentions"] = graph.mentioned_with(reader, seeds)
        for lane, found in reached.items():
            for one in candidates if found else ():
                one.link(reader, found, lane)
        scores = fused() if any(reached.values()) else scores
    dated = _add_mentioned_times(reader, candidates, scores)
    if _add_policy_scores(reader, candidates, scores, ask, count=2 * count) or dated:
        scores = fused()
    ranked = _with_links(read_said(reader, _ranked(candidates, scores, count)), links)
    return ranked if candidates[0].query.question.statement else _lower_idle(ranked)


def _with_links(ranked: list[Ranked], links: dict[int, graph.Link]) -> list[Ranked]:
    """Note of each what links it with which of the best hits."""
    if not links:
        return ranked
    nodes = [int(item.project["node"][item.row]) for item in ranked]
    kref_of = {node: item.said.kref for node, item in zip(nodes, ranked, strict=True)}
    return [
        item._replace(linked=Linked(kref_of.get(link.seed, ""), link.path))
        if (link := links.get(node)) is not None
        else item
        for node, item in zip(nodes, ranked, strict=True)
    ]


def mark_namesakes(ranked: list[Ranked], question: str) -> list[Ranked]:
    """Mark what names another of a like name than the question does."""
    texts = [item.said.text for item in ranked]
    marks = name_others(question, texts)
    return [item._replace(namesake=mark) for item, mark in zip(ranked, marks, strict=True)]


def questions_by_alias(ranked: list[Ranked], question: str) -> list[str]:
    """Return the question by the other names that the trusted hits give to what it names."""
    if not names_in(question):
        return []
    trusted = [item.said.text for item in ranked if item.said.trust != UNTRUSTED]
    return other_names(question, trusted)


def append_deeper(ranked: list[Ranked], deeper: list[Ranked]) -> list[Ranked]:
    """Append what only a ranking of more candidates has: the first hits stay the same."""
    if not ranked:
        return deeper
    held = {(item.project.scope, item.row) for item in ranked}
    least = ranked[-1].score
    return ranked + [
        item._replace(score=min(item.score, least))
        for item in deeper
        if (item.project.scope, item.row) not in held
    ]


def _lower_idle(ranked: list[Ranked]) -> list[Ranked]:
    """Take IDLE_LOSS of their score from turns that only ask or acknowledge."""
    lowered = [
        item._replace(score=item.score * (1 - constants.IDLE_LOSS), idle=True)
        if item.score > 0 and item.said.turn and states_nothing(item.said.text)
        else item
        for item in ranked
    ]
    return sorted(lowered, key=lambda item: -item.score)


def put_echoes_last(ranked: list[Ranked], question: str) -> list[Ranked]:
    """Place below all others the turns that only ask, in words that the question has too: a stored
    copy of the question is nearest to it, and answers nothing."""
    if not any(item.idle for item in ranked):
        return ranked
    asked = set(terms(question))
    echoes = [item.idle and asked.issuperset(terms(item.said.text)) for item in ranked]
    others = [item for item, echo in zip(ranked, echoes, strict=True) if not echo]
    least = min((item.score for item in others), default=0.0)
    return others + [
        item._replace(echo=True, score=min(item.score, least) if others else item.score)
        for item, echo in zip(ranked, echoes, strict=True)
        if echo
    ]


def merge_expansion(ranked: list[Ranked], others: list[Ranked]) -> list[Ranked]:
    """Merge the ranking of an expansion into that of the question: a score counts EXPANSION_WEIGHT
    of its share of the expansion's best."""
    if not ranked or not others or min(ranked[0].score, others[0].score) <= 0:
        return ranked or others
    scale = constants.EXPANSION_WEIGHT * ranked[0].score / others[0].score
    merged = {(item.project.scope, item.row): item for item in ranked}
    for item in others:
        key, score = (item.project.scope, item.row), item.score * scale
        held = merged.get(key)
        if held is None or held.score < score:
            merged[key] = held = item._replace(score=score)
        if item.evidence is not None and item.evidence > (held.evidence or 0.0):
            merged[key] = held._replace(evidence=item.evidence)
    return sorted(merged.values(), key=lambda item: -item.score)


def promote_updates(
    reader: Reader, candidates: list[CandidateSet], ranked: list[Ranked], question: str
) -> list[Ranked]:
    """Place each turn that may update another just above it, with that turn's score; of hits that
    differ in a value only, the newest first."""
    best = ranked[: constants.UPDATE_HITS]
    if len(best) < 2:
        return ranked
    weights = term_weights([(one.postings, one.population) for one in candidates])
    nodes = [int(item.project["node"][item.row]) for item in best]
    read = [item.said for item in best]
    least = constants.UPDATE_TOPIC * sum(weights.values())
    held = _shared_weights(candidates, best, weights)
    turns = []
    for item, text, weight in zip(best, read, held, strict=True):
        project, row = item.project, item.row
        by = project.scope, int(project["speaker"][row])
        time = int(project["time"][row]), row
        states = text.person and weight >= least
        turns.append(RankedTurn(by, time, text.text, item.score, states))
    place_of = {node: place for place, node in enumerate(nodes)}
    revised = frozenset(
        (place_of[later], place_of[earlier])
        for later, earlier in reader.rows(_REVISED, (int64_array(nodes),))
    )
    alike = _likeness(reader, candidates, best)
    placed = []
    for one in reorder(question, weights, turns, alike, revised):
        item = best[one.place]._replace(score=best[one.level].score)
        if one.updates is not None:
            item = item._replace(
                updates=read[one.updates].kref, revised=(one.place, one.updates) in revised
            )
        placed.append(item)
    return placed + ranked[constants.UPDATE_HITS :]


def _token(reader: Reader, text: str) -> int:
    rows = reader.rows("SELECT id FROM token WHERE text = ?", (text,))
    return int(rows[0][0]) if rows else 0


def _ranked(candidates: list[CandidateSet], scores: Floats, count: int) -> list[Ranked]:
    """The best `count` candidates with the values of their lanes."""
    chosen = _chosen(candidates, scores, count)
    fields = np.concatenate([one.fields for one in candidates])
    columns = [np.concatenate([one.lanes[name] for one in candidates]) for name in LANES]
    values = [
        [None if math.isnan(value) else value for value in column[chosen].tolist()]
        for column in columns
    ]
    kept = (found[chosen].tolist() for found in (*_owners(candidates), scores, fields))
    return [
        Ranked(
            candidates[owner].project,
            row,
            score,
            dict(zip(LANES, lanes, strict=True)),
            candidates[owner].postings,
            field=field,
        )
        for owner, row, score, field, *lanes in zip(*kept, *values, strict=True)
    ]


def _chosen(candidates: list[CandidateSet], scores: Floats, count: int) -> NDArray[np.intp]:
    """The places of the best `count` candidates, of the best `count` that are trusted and of the
    best verified ones, in order: nothing planted takes their places."""
    order = _best_first(candidates, scores)
    trust = np.concatenate([one.project["trust"][one.rows] for one in candidates])[order]
    chosen = np.arange(len(order)) < count
    for least, most in ((_UNTRUSTED + 1, count), (_VERIFIED, constants.VERIFIED_HITS)):
        chosen[np.flatnonzero(trust >= least)[:most]] = True
    return order[chosen]


def _best_first(candidates: list[CandidateSet], scores: Floats) -> NDArray[np.intp]:
    """The places of all candidates by score, the newest first where it is equal."""
    times = np.concatenate([one.project["time"][one.rows] for one in candidates])
    rows = np.concatenate([one.rows for one in candidates])
    return np.lexsort((-rows, -times, -scores))


def _owners(candidates: list[CandidateSet]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The place of the set, and the row, of every candidate."""
    sizes = [len(one.rows) for one in candidates]
    rows = np.concatenate([one.rows for one in candidates])
    return np.repeat(np.arange(len(candidates)), sizes), rows


def _seeds(candidates: list[CandidateSet], scores: Floats) -> dict[int, float]:
    """The best hits that links are followed from, by node, with their share of the best score."""
    best = _best_first(candidates, scores)[: constants.GRAPH_SEEDS]
    top = float(scores[best[0]]) if len(best) else 0.0
    if top <= 0:
        return {}
    owner, row = _owners(candidates)
    return {
        int(candidates[owner[i]].project["node"][row[i]]): float(scores[i]) / top
        for i in best.tolist()
        if scores[i] > 0 and candidates[owner[i]].project["trust"][row[i]] > _UNTRUSTED
    }


def _add_mentioned_times(reader: Reader, candidates: list[CandidateSet], scores: Floats) -> bool:
    """Raise the lane of time of candidates whose text mentions a time that the question names.
    Returns whether the question names any."""
    start, found = 0, False
    for one in candidates:
        own = scores[start : start + len(one.rows)]
        start += len(one.rows)
        if one.query.times:
            order = np.argsort(-own, kind="stable")
            near = time.mentioned_times(reader, one.project, one.rows, order, one.query.times)
            one.lanes["time"] = np.maximum(one.lanes["time"], near)
            found = True
    return found


def _add_policy_scores(
    reader: Reader, candidates: list[CandidateSet], scores: Floats, ask: Ask, *, count: int
) -> bool:
    """Set the lane of policy of the best candidates. Returns whether any policy is declared."""
    if "policy" not in ask.lanes or ask.as_of is not None or not reader.sight().tests:
        return False
    owner, row = _owners(candidates)
    starts = np.concatenate(([0], np.cumsum([len(one.rows) for one in candidates])))
    best = np.argsort(-scores, kind="stable")[:count]
    of_each = [best[owner[best] == number] for number in range(len(candidates))]
    nodes = [
        one.project["node"][row[places]].tolist()
        for one, places in zip(candidates, of_each, strict=True)
    ]
    found = reader.scores_of([node for some in nodes for node in some])
    for one, places, some, start in zip(candidates, of_each, nodes, starts, strict=False):
        one.lanes["policy"][places - start] = [found.get(node, 1.0) for node in some]
    return True


def read_said(reader: Reader, items: list[Ranked]) -> list[Ranked]:
    """Return the items with what they say, read in one statement."""
    nodes = [int(item.project["node"][item.row]) for item in items]
    found = {
        node: Said(
            str(kref or ""),
            str(text),
            bool(turn),
            bool(turn) and role in _PEOPLE,
            (str(role or ""), str(by or "")),
            trust_of({"role": role, "speaker": by, "trust": trust}),
        )
        for node, kref, text, turn, role, by, trust in reader.rows(_SAID, (int64_array(nodes),))
    }
    return [
        item._replace(said=found.get(node, Said())) for item, node in zip(items, nodes, strict=True)
    ]


def _likeness(
    reader: Reader, candidates: list[CandidateSet], items: list[Ranked]
) -> list[list[float | None]]:
    """How much nearer each two items of one project are than its memories on average, in standard
    deviations of the cosines between them; None where one has no vector."""
    found: list[list[float | None]] = [[None] * len(items) for _ in items]
    for one in candidates:
        own = {item.row: place for place, item in enumerate(items) if item.project is one.project}
        asked = int64_array([vector_id(one.project.scope, row) for row in own])
        sql = "SELECT v.doc, v.data FROM carray(?) f CROSS JOIN vector v ON v.id = f.value"
        rows = reader.rows(sql, (asked,)) if own and one.average is not None else []
        if not rows:
            continue
        vectors = unpack_vectors([row[1] for row in rows])
        apart = (pair_products(vectors, vectors) - one.calibration.mean) / one.calibration.spread
        for i, (doc, _) in enumerate(rows):
            for j, (other, _) in enumerate(rows):
                found[own[doc]][own[other]] = float(apart[i, j])
    return found


def _shared_weights(
    candidates: list[CandidateSet], items: list[Ranked], weights: dict[str, float]
) -> list[float]:
    """The weight of the question's terms that each row contains itself."""
    found = np.zeros(len(items))
    for one in candidates:
        own = [place for place, item in enumerate(items) if item.project is one.project]
        rows = np.array([items[place].row for place in own], dtype=np.int64)
        for posting in one.postings if own else ():
            found[own] += weights.get(posting.term, 0.0) * posting.held_by(rows)
    return found.tolist()
