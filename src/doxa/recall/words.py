"""The lane of words: BM25's parts over the postings of one project, with statistics of exactly what may be found now.

After Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3, with idf = ln(1 + (N - n + ½)/(n + ½)).
N, n and the mean length count only eligible rows, so neither another project nor a retired belief changes a ranking. A score is divided
by the question's whole idf mass, words that occur nowhere included: it says how much of the question a memory covers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from doxa.base.limits import FUZZY_TERM_CHARS_MIN, QUERY_CHARS_READ, QUERY_TERMS_MAX
from doxa.base.words import terms
from doxa.recall.fusion import K1, NEIGHBOUR_LENGTH, NEXT, PREVIOUS, B, share
from doxa.recall.shelf import Believed, Shelf
from doxa.store import Reader

_RECORD = np.dtype([("doc", "<u4"), ("count", "u1")])
_RARE = 0.25  # of the question's mass may be left to terms that name no rows, before it is tried whether that was enough
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class Posting(NamedTuple):
    """Where one asked term occurs, and in how many eligible rows. `term` differs from `asked` where a spelling was corrected."""

    asked: str
    term: str
    docs: NDArray[np.int64]
    counts: Floats
    held: int


def asked_terms(text: str) -> list[str]:
    """The distinct index terms of a question, in order."""
    return list(dict.fromkeys(terms(text[:QUERY_CHARS_READ])))[:QUERY_TERMS_MAX]


def gather(reader: Reader, scope: int, asked: list[str], *, eligible: Mask) -> list[Posting]:
    """The postings of each asked term; one that no eligible row holds is tried at edit distance 1, and stays as it is if that fails."""
    data = _data(reader, scope, asked)
    held = {term: _count(parts, eligible) for term, parts in data.items()}
    bent = {term: near for term in asked if not held.get(term) and (near := _fuzzy(reader, scope, term, eligible=eligible))}
    if bent:
        data |= _data(reader, scope, sorted(set(bent.values()) - data.keys()))
        held |= {term: _count(data.get(term, []), eligible) for term in bent.values()}
    found = []
    for term in asked:
        actual = bent.get(term, term)
        records = np.frombuffer(b"".join(data.get(actual, ())), dtype=_RECORD)
        found.append(Posting(term, actual, records["doc"].astype(np.int64), records["count"].astype(np.float32), held.get(actual, 0)))
    return found


def _data(reader: Reader, scope: int, wanted: list[str]) -> dict[str, list[bytes]]:
    """The stored records of each term that occurs: the long rows by term, and one pass over the short new ones."""
    found: dict[str, list[bytes]] = {}
    terms_bound = apsw.carray(tuple(wanted)) if wanted else None
    if terms_bound is None:
        return found
    for term, data in reader.rows(
        "SELECT p.term, p.data FROM carray(?1) f CROSS JOIN posting p ON p.scope = ?2 AND p.term = f.value UNION ALL "
        "SELECT term, data FROM posting_new WHERE scope = ?2 AND term IN (SELECT value FROM carray(?1))",
        (terms_bound, scope),
    ):
        found.setdefault(term, []).append(data)
    return found


def _count(parts: list[bytes], eligible: Mask) -> int:
    return sum(int(np.count_nonzero(eligible[np.frombuffer(part, dtype=_RECORD)["doc"]])) for part in parts)


def _fuzzy(reader: Reader, scope: int, term: str, *, eligible: Mask) -> str | None:
    """The term one edit away that most eligible rows hold, or None. Short terms are not bent: too much is near them."""
    if len(term) < FUZZY_TERM_CHARS_MIN or not term.isascii() or term.isdigit():
        return None
    near = _data(reader, scope, sorted(set(_edits(term))))
    best = min(((-_count(parts, eligible), word) for word, parts in near.items()), default=(0, ""))
    return best[1] if best[0] else None


def _edits(term: str) -> Iterable[str]:
    for i in range(len(term) + 1):
        head, tail = term[:i], term[i:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in _LETTERS:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def _trust_in(posting: Posting) -> float:
    """A corrected word counts the less the shorter it is: one edit makes another word of `ship`, hardly of `postgresqk`."""
    return 1.0 if posting.term == posting.asked else 1 - 2 / len(posting.asked)


def weigh(asked: list[tuple[list[Posting], int]]) -> dict[str, float]:
    """The idf of each asked term that an eligible row of any project holds, over all of them: each project's postings and its eligible rows."""
    total = sum(rows for _, rows in asked)
    held: dict[str, int] = {}
    for postings, _ in asked:
        for posting in postings:
            held[posting.term] = held.get(posting.term, 0) + posting.held
    return {term: _idf(total, count) for term, count in held.items() if count}


def _idf(total: int, held: int) -> float:
    return float(np.log1p((total - held + 0.5) / (held + 0.5)))


class Words:
    """The coverage of one question over one project: which rows cover most of it, and how much any row does."""

    def __init__(self, shelf: Shelf, postings: list[Posting], believed: Believed) -> None:
        self._shelf = shelf
        self._near = share(shelf["length"], NEIGHBOUR_LENGTH)
        self._held = np.zeros(shelf.count, dtype=np.float32)  # of one term at a time
        self._terms: list[_Term] = []
        self._mass = 0.0
        if not believed.total:
            return
        mean = np.float32(max(1.0, believed.length_mean))
        for posting in postings:
            keep = believed.mask[posting.docs]
            docs, counts = (posting.docs, posting.counts) if keep.all() else (posting.docs[keep], posting.counts[keep])
            idf = _idf(believed.total, len(docs))
            self._mass += idf
            if len(docs):
                own = (counts / (1 - B + B * shelf["length"][docs] / mean)).astype(np.float32)
                self._terms.append(_Term(np.float32(idf * _trust_in(posting)), docs, own))
        self._terms.sort(key=lambda term: -term.weight)

    def best(self, allowed: Mask, depth: int) -> Rows:
        """The `depth` allowed rows of the highest coverage, in their order in the project; exact.

        Rows are named by the rare terms first. A row that holds only the others covers at most their share of the mass, so once the last of
        the best covers more, the common terms need not name rows (Turtle & Flood, "Query Evaluation: Strategies and Optimizations", 1995).
        """
        named = np.zeros(self._shelf.count, dtype=bool)
        weights = [float(term.weight) for term in self._terms]
        wanted = sum(weights) * _RARE
        for number, term in enumerate(self._terms, 1):
            self._name(named, term.docs)
            rest, last = sum(weights[number:]), number == len(weights)
            if rest > wanted and not last:
                continue
            rows = np.flatnonzero(named & allowed)
            scores = self.of(rows)
            enough = len(rows) > depth
            order = np.argpartition(-scores, depth - 1)[:depth] if enough else np.arange(len(rows))
            if last or (enough and rest <= float(scores[order].min()) * self._mass):
                best = np.sort(order[scores[order] > 0])
                return rows[best]
            wanted = rest * _RARE
        return np.zeros(0, dtype=np.int64)

    def _name(self, named: Mask, docs: Rows) -> None:
        """A row is named with its neighbours: they borrow its words."""
        named[docs] = True
        for beside in (self._shelf.following, self._shelf["prev"]):
            rows = beside[docs]
            named[rows[rows >= 0]] = True

    def of(self, rows: Rows) -> Floats:
        """How much of the question each row covers, in [0, 1)."""
        scores = np.zeros(len(rows), dtype=np.float32)
        if not self._terms or not len(rows):
            return scores
        before, after = self._shelf["prev"][rows], self._shelf.following[rows]
        has_before, near = before >= 0, self._near[rows]
        has_after = (after >= 0) & (self._shelf["prev"][after] == rows)  # a branch's shared turn lends to one successor only
        held = self._held
        for weight, docs, own in self._terms:
            held[docs] = own
            frequency = held[rows] + near * (PREVIOUS * has_before * held[before] + NEXT * has_after * held[after])
            scores += weight * frequency / (frequency + K1)
            held[docs] = 0
        return scores / np.float32(self._mass)


class _Term(NamedTuple):
    weight: np.float32
    docs: Rows
    own: Floats
