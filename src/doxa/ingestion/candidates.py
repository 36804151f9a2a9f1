"""Find the beliefs that a sentence may be about: by the name of an item, and by words.

One pass over the postings of a project serves the text and the subjects of all its claims, with the
words that sentences of their predicates use. A belief about the same subject shares a word with one
of these, so meaning is asked only where words find nothing, or where a subject is only a pronoun.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from doxa.base.errors import NotFoundError
from doxa.base.limits import (
    CANDIDATE_QUERIES_ITEMS_MAX,
    MATCH_HITS_READ,
    MATCH_TERMS_MAX,
    STATEMENT_CHARS_READ,
)
from doxa.base.words import is_character, terms
from doxa.belief import EXCHANGE_KIND
from doxa.belief.graph import current_of
from doxa.belief.kref import name_problem, slug
from doxa.language.comparison.differences import compared_words
from doxa.language.predicates import cue_words
from doxa.language.statement import Claim
from doxa.language.subjects import split_joined
from doxa.language.tables.reader import language_of
from doxa.recall import Ask, Recaller
from doxa.store import Node, Reader, attributes_of

Rows = NDArray[np.int64]
_RECORD = np.dtype([("doc", "<u4"), ("count", "u1")])
_CUE_SHARE = 0.5  # of the weight of a word that the text itself contains
_MANY, _COMMON_SHARE = 50, 0.2  # a word that more rows than both hold says little of a subject
_FIRST_ROWS, _MORE, _ROWS_MAX = 64, 8, 32_768  # rows looked at: the best, then more
_KINDS = "SELECT id, substr(text, 6) FROM token WHERE text >= 'kind:' AND text < 'kind;'"
_SCOPES = "SELECT id FROM token WHERE text >= 'scope:' AND text < 'scope;' ORDER BY id"
_SPACES = "SELECT id FROM token WHERE text = ?1 OR (text >= ?1 || '/' AND text < ?1 || '0')"
_POSTINGS = (
    "SELECT p.term, p.data FROM carray(?1) f CROSS JOIN posting p ON p.scope = ?2 AND p.term ="
    " f.value UNION ALL SELECT term, data FROM posting_new WHERE scope = ?2 AND term IN (SELECT"
    " value FROM carray(?1))"
)
_LIVE = (
    "SELECT d.doc, d.node, d.kind, d.space, d.length FROM carray(?2) v CROSS JOIN doc d ON d.scope"
    " = ?1 AND d.doc = v.value WHERE d.live AND d.valid_from <= ?3 AND ?3 < d.valid_until"
)


class SearchedPlace(NamedTuple):
    """Where to look. Empty filters filter nothing but turns of conversations."""

    project: str
    space: str
    kinds: tuple[str, ...]


def find_candidates(
    reader: Reader, recaller: Recaller, text: str, claims: Sequence[Claim], place: SearchedPlace
) -> tuple[list[Node], frozenset[str]]:
    """Return the current revisions that a text may be about, the likeliest first, and those words
    of the text that beliefs contain."""
    known = {name: number for number, name in reader.rows(_KINDS)}
    kinds = place.kinds or _of_beliefs(known)
    if not kinds:
        return [], frozenset()
    place = place._replace(kinds=kinds)
    scopes = (
        reader.rows("SELECT id FROM token WHERE text = ?", ("scope:" + place.project,))
        if place.project
        else reader.rows(_SCOPES)
    )
    numbers = {known[kind] for kind in kinds if kind in known}
    found = {node.id: node for node in _named(reader, claims, place)}
    weighed = _asked_words(text, claims)
    scored: list[tuple[float, int, int]] = []
    words: set[str] = set()
    for (scope,) in scopes:
        postings = _postings(reader, scope, weighed)
        words |= postings.keys()
        scored += _by_words(reader, scope, weighed, postings, kinds=numbers, space=place.space)
    scored.sort(key=lambda one: (-one[0], one[1], one[2]))
    nodes = reader.nodes([node for *_, node in scored[:MATCH_HITS_READ]])
    hiding = reader.sight().tests_nodes
    for node in nodes:
        if "Revision" in node.labels and (not hiding or reader.is_seen(False, node.id)):
            found.setdefault(node.id, node)
    if scopes and (not found or any(not terms(claim.subject) for claim in claims)):
        found |= {node.id: node for node in _by_meaning(reader, recaller, text, place)}
    return list(found.values()), frozenset(words)


def kinds_of_beliefs(reader: Reader) -> tuple[str, ...]:
    """Return all kinds that are stored, but that of turns."""
    return _of_beliefs(kind for _, kind in reader.rows(_KINDS))


def _of_beliefs(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(kind for kind in kinds if kind and kind != EXCHANGE_KIND)


def _named(reader: Reader, claims: Sequence[Claim], place: SearchedPlace) -> Iterator[Node]:
    """Yield current revisions of items whose name is the subject of a claim, such as api-port for
    "the API port". Names are not part of the indexed text."""
    if not place.project:
        return
    folder = f"kref://{place.project}/{place.space}/" if place.space else f"kref://{place.project}/"
    krefs = [
        f"{folder}{name}.{kind}"
        for claim in claims[:CANDIDATE_QUERIES_ITEMS_MAX]
        for name in _names_of(claim.subject)
        for kind in place.kinds
    ]
    for item in reader.nodes_by_kref(list(dict.fromkeys(krefs))):
        revision = None if item.props.get("deprecated") else current_of(reader, item.id)
        if revision is not None and _holds(reader, revision):
            yield revision


def _names_of(subject: str) -> list[str]:
    """Return the names that an item about a subject may have."""
    words = [
        word
        for word in slug(split_joined(subject)).split("-")
        if word not in ("the", "a", "an", "my", "our", "")
    ]
    names = dict.fromkeys(("-".join(words), "_".join(words), "".join(words), subject.strip()))
    return [name for name in names if name and name_problem(name) is None]


def _holds(reader: Reader, revision: Node) -> bool:
    """Return whether a current revision is valid now and visible under its policy. The search rows
    check this for what words find."""
    said = attributes_of(revision.props, born=revision.born)
    return said.valid_from <= reader.now < said.valid_until and reader.is_seen(False, revision.id)


def _asked_words(text: str, claims: Sequence[Claim]) -> dict[str, float]:
    """Return the index terms to look for and their shares of the weight."""
    asked = [text[:STATEMENT_CHARS_READ]]
    cues: list[str] = []
    for claim in claims[:CANDIDATE_QUERIES_ITEMS_MAX]:
        given_up = claim.given_up.text if claim.positive else claim.value.text
        asked += [split_joined(claim.subject), _joined(claim.subject), given_up]
        cues += cue_words(claim.predicate)
    found = dict.fromkeys(terms(" ".join(cues)), _CUE_SHARE)
    language = language_of(text)
    if language is not None:
        asked += [language.cues] if any(not terms(claim.subject) for claim in claims) else []
        if not language.spaced:  # a word within the sentence changes the bigrams around it
            asked.append("".join(compared_words(asked[0], language.code).raw))
    found |= dict.fromkeys(terms("\n".join(asked)), 1.0)
    ranked = sorted(found, key=lambda term: -found[term])[:MATCH_TERMS_MAX]
    return {term: found[term] for term in ranked if not is_character(term)} or {
        term: found[term] for term in ranked
    }


def _joined(subject: str) -> str:
    """Join "max retries" to "maxretries", as it may be indexed."""
    words = split_joined(subject).split()
    return "".join(words) if 1 < len(words) <= 4 else ""


def _postings(reader: Reader, scope: int, asked: dict[str, float]) -> dict[str, Rows]:
    """Return the rows of a scope that hold each term."""
    held: dict[str, list[bytes]] = {}
    if asked:
        for term, data in reader.rows(_POSTINGS, (apsw.carray(tuple(asked)), scope)):
            held.setdefault(term, []).append(data)
    return {
        term: np.frombuffer(b"".join(parts), dtype=_RECORD)["doc"].astype(np.int64)
        for term, parts in held.items()
    }


def _by_words(
    reader: Reader,
    scope: int,
    asked: dict[str, float],
    docs: dict[str, Rows],
    *,
    kinds: set[int],
    space: str,
) -> list[tuple[float, int, int]]:
    """Return the best live rows of a scope: a score, the length of the text, and the node."""
    if not docs:
        return []
    total = 1 + max(int(rows.max()) for rows in docs.values())
    scores, about = np.zeros(total, dtype=np.float32), np.zeros(total, dtype=bool)
    for term, rows in docs.items():
        scores[rows] += asked[term] * np.log1p(total / len(rows))
        if asked[term] == 1.0 and len(rows) <= max(_MANY, total * _COMMON_SHARE):
            about[rows] = True
    scores *= about if about.any() else 1
    spaces = {row[0] for row in reader.rows(_SPACES, ("space:" + space,))} if space else None
    found: list[tuple[float, int, int]] = []
    for rows in _best_rows(scores):
        for doc, node, kind, place, length in _live(reader, scope, rows):
            if kind in kinds and (spaces is None or place in spaces):
                found.append((float(scores[doc]), length, node))
        if len(found) >= MATCH_HITS_READ:
            break
    return found


def _best_rows(scores: NDArray[np.float32]) -> Iterator[Rows]:
    """Yield the rows with a score in parts, the best first."""
    start, size = 0, _FIRST_ROWS
    rows = np.flatnonzero(scores)
    if len(rows) > _ROWS_MAX:
        rows = rows[np.argpartition(-scores[rows], _ROWS_MAX)[:_ROWS_MAX]]
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    while start < len(rows):
        yield rows[start : start + size]
        start, size = start + size, size * _MORE


def _live(reader: Reader, scope: int, rows: Rows) -> list[tuple[Any, ...]]:
    return list(reader.rows(_LIVE, (scope, apsw.carray(rows), reader.now)))


def _by_meaning(reader: Reader, recaller: Recaller, text: str, place: SearchedPlace) -> list[Node]:
    ask = Ask(
        text[:STATEMENT_CHARS_READ],
        project=place.project,
        space=place.space,
        kinds=place.kinds,
        limit=MATCH_HITS_READ,
        lanes=("meaning",),
    )
    try:
        hits = recaller.recall(ask).hits
    except NotFoundError:  # a new space is empty
        return []
    return reader.nodes_by_kref([hit.kref for hit in hits if hit.type == "revision"])
