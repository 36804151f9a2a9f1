"""The lane of words: coverage by BM25 over the postings of one project, with statistics of exactly
the rows that a question may find.

The formulas are in `base/bm25.py`. N, n and the mean length count only eligible rows, so neither
another project nor a retired belief changes a ranking. A score is divided by the question's whole
idf mass, words that occur nowhere included: it is the share of the question that a memory covers.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from doxa.base.bm25 import inverse_document_frequency, length_norm, term_frequency, term_score
from doxa.base.limits import FUZZY_TERM_CHARS_MIN, QUERY_CHARS_READ, QUERY_TERMS_MAX
from doxa.base.words import is_character, stem, stems_of, terms
from doxa.recall import constants
from doxa.recall.indexes.project_index import Believed, ProjectIndex
from doxa.recall.lanes.frequent_words import is_frequent
from doxa.recall.lanes.neighbours import borrowed_share
from doxa.store import Reader

_RECORD = np.dtype([("doc", "<u4"), ("count", "u1")])
# How the best rows are found sooner; none of these changes which rows they are.
_REST_MAX = 0.25  # share of the idf mass that may remain before it is tried whether rows suffice
_ROUNDED = 1 - 1e-5  # sums of 32-bit floats in another order
_ABOVE_ZERO = 1e-9
# For each row that is wanted so many are scored first, to know what the best reach; at most, where
# many are alike.
_TRIED, _TRIED_MAX = 4, 16
_GROUPS = 32  # of rows, for each row that is scored so
_PROMISING, _MANY = 1_000, 16_000  # of many rows that are left, so many are scored for that
# One row of so many is few enough to look around each: of those that hold a word, and of those that
# score much
_FEW_OF, _HIGH_OF = 16, 6
# A term held by more than so many times the wanted rows is looked up row by row: that takes some 85
# ns a row, and to write and read an array of all rows some 1.7 ns for each that holds the term.
_LOOKUPS = 50
_NEXT = "SELECT term FROM posting WHERE scope = ? AND term >= ? ORDER BY term LIMIT 1"
_CORRECTIONS_MAX = 16  # words of one question that are corrected
_CORRECTED_CHARS_MAX = 32  # the edits of a word grow with its length, and so does stemming each
_WORD = re.compile(r"[^\W_]+")
_LETTERS = (  # Latin and its accents, Greek, Cyrillic
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "àáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿßčďěłńœřšťůźžő",
    "αβγδεζηθικλμνξοπρσςτυφχψω",
    "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґ",
)

Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
Counts = NDArray[Any]  # uint8 as they are stored, float32 where they are sums
Occurrences = tuple[Rows, Counts]


class Posting(NamedTuple):
    """The eligible rows, ascending, in which one term of the question occurs, and how often. `term`
    differs from `asked` where a spelling was corrected."""

    asked: str
    term: str
    docs: Rows
    counts: Counts

    @property
    def held(self) -> int:
        return len(self.docs)

    def holds(self, row: int) -> bool:
        place = int(self.docs.searchsorted(row))
        return place < len(self.docs) and int(self.docs[place]) == row

    def held_by(self, rows: Rows) -> Mask:
        """Return which of these rows hold the term."""
        if not len(self.docs):
            return np.zeros(len(rows), dtype=bool)
        found: Mask = self.docs.take(self.docs.searchsorted(rows), mode="clip") == rows
        return found


def asked_terms(text: str) -> dict[str, str]:
    """Return the distinct index terms of a question, in order, each with the word that it is the
    stem of."""
    text = text[:QUERY_CHARS_READ]
    asked = list(dict.fromkeys(terms(text)))[:QUERY_TERMS_MAX]
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    word_of = {stem(word): word for word in reversed(words)}
    return {term: word_of.get(term, term) for term in asked}


def read_postings(
    reader: Reader, scope: int, asked: Mapping[str, str], *, eligible: Mask
) -> list[Posting]:
    """Return the postings of each term of the question, of which `asked` gives the word. A term
    that no eligible row holds is tried with its word at edit distance 1, and keeps its spelling if
    that fails too."""
    only = None if eligible.all() else eligible
    found = {
        term: _eligible(parts, only) for term, parts in _records(reader, scope, list(asked)).items()
    }
    found |= {
        term: _sum_by_row(_eligible(_prefix_records(reader, scope, term), only))
        for term in asked
        if is_character(term)
    }
    none = _eligible([], only)
    missing = {term: word for term, word in asked.items() if not len(found.get(term, none)[0])}
    corrected = _corrections(reader, scope, missing, only=only)
    postings = []
    for term in asked:
        actual, (docs, counts) = corrected.get(term) or (term, found.get(term, none))
        postings.append(Posting(term, actual, docs, counts))
    return postings


def _records(reader: Reader, scope: int, wanted: list[str]) -> dict[str, list[bytes]]:
    """The stored records of each term that occurs: the long rows by term, and one pass over the
    short new ones."""
    found: dict[str, list[bytes]] = {}
    terms_bound = apsw.carray(tuple(wanted)) if wanted else None
    if terms_bound is None:
        return found
    for term, data in reader.rows(
        "SELECT p.term, p.data FROM carray(?1) f CROSS JOIN posting p ON p.scope = ?2 AND p.term ="
        " f.value UNION ALL SELECT term, data FROM posting_new WHERE scope = ?2 AND term IN (SELECT"
        " value FROM carray(?1))",
        (terms_bound, scope),
    ):
        found.setdefault(term, []).append(data)
    return found


def _prefix_records(reader: Reader, scope: int, character: str) -> list[bytes]:
    """The stored records of every term that begins with a character: all its occurrences."""
    last = character + chr(0x10FFFF)
    sql = "SELECT data FROM {} WHERE scope = ? AND term >= ? AND term < ?"
    return [
        row[0]
        for table in ("posting", "posting_new")
        for row in reader.rows(sql.format(table), (scope, character, last))
    ]


def _sum_by_row(held: Occurrences) -> Occurrences:
    """One entry for each row: how often it holds any of the terms."""
    counts = np.bincount(held[0], weights=held[1])
    docs = np.flatnonzero(counts)
    return docs, counts[docs].astype(np.float32)


def _eligible(parts: list[bytes], only: Mask | None) -> Occurrences:
    """The eligible rows in stored records, ascending, and how often each holds the term. `only`:
    which rows are eligible; None: all."""
    records = np.frombuffer(b"".join(parts), dtype=_RECORD)
    docs, counts = records["doc"].astype(np.int64), records["count"]
    if only is None:
        return docs, counts
    keep = only.take(docs)
    return (docs, counts) if keep.all() else (docs[keep], counts[keep])


def _corrections(
    reader: Reader, scope: int, missing: Mapping[str, str], *, only: Mask | None
) -> dict[str, tuple[str, Occurrences]]:
    """For each term, the best stem of a word one edit away from its own, where there is one that
    eligible rows hold. All are read in one statement."""
    words = [item for item in missing.items() if _is_correctable(item[1])][:_CORRECTIONS_MAX]
    edits = {term: _stems_near(word) - {term} for term, word in words}
    occurring = _occurring(reader, scope, sorted(set().union(*edits.values())))
    near = {
        word: _eligible(parts, only) for word, parts in _records(reader, scope, occurring).items()
    }
    found = {}
    for term, stems in edits.items():
        # the first letter is seldom wrong
        known = [word for word in stems & near.keys() if len(near[word][0])]
        best = min(
            known, key=lambda word: (word[0] != term[0], -len(near[word][0]), word), default=""
        )
        if best:
            found[term] = best, near[best]
    return found


def _occurring(reader: Reader, scope: int, sought: list[str]) -> list[str]:
    """Return those of very many terms, in order, that a project has. Most are not there: each look
    at the index gives the next term that is, and all before it are passed over."""
    found, at = list[str](), 0
    while at < len(sought):
        rows = reader.rows(_NEXT, (scope, sought[at]))
        if not rows:
            break
        at = bisect_left(sought, rows[0][0], at)
        if at < len(sought) and sought[at] == rows[0][0]:
            found.append(sought[at])
            at += 1
    sql = "SELECT 1 FROM posting_new WHERE scope = ? LIMIT 1"
    if not sought or not reader.rows(sql, (scope,)):
        return found
    new = reader.rows(
        "SELECT DISTINCT term FROM posting_new WHERE scope = ? AND term IN (SELECT value FROM"
        " carray(?))",
        (scope, apsw.carray(tuple(sought))),
    )
    return sorted({*found, *(row[0] for row in new)})


def _is_correctable(word: str) -> bool:
    """Return whether a word that nothing holds may be a misspelling. Short words are not: too many
    others are near them. A frequent word is taken as it is written."""
    return (
        FUZZY_TERM_CHARS_MIN <= len(word) <= _CORRECTED_CHARS_MAX
        and not word.isdigit()
        and any(letter in part for part in _LETTERS for letter in word)
        and not is_frequent(word)
    )


@lru_cache(maxsize=256)
def _stems_near(word: str) -> frozenset[str]:
    """The stems of all words one edit away: an edit of a stem would miss `runing` for `running`."""
    return stems_of([edit for edit in _edits(word) if len(edit) >= FUZZY_TERM_CHARS_MIN])


def _edits(word: str) -> Iterable[str]:
    """All strings with one letter inserted, deleted or replaced, or two transposed. The letters are
    those of the word's script, Latin with its accents."""
    latin, accents, *scripts = _LETTERS
    letters = next(
        (script for script in scripts if any(letter in script for letter in word)), latin + accents
    )
    for i in range(len(word) + 1):
        head, tail = word[:i], word[i:]
        if tail:
            yield head + tail[1:]
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        for letter in letters:
            yield head + letter + tail
            if tail:
                yield head + letter + tail[1:]


def _confidence(posting: Posting) -> float:
    """A corrected word counts the less the shorter it is: one edit makes another word of `ship`,
    hardly of `postgresqk`."""
    if posting.term == posting.asked:
        return 1.0
    return 1 - constants.CORRECTION_LOSS / len(posting.asked)


def term_weights(asked: list[tuple[list[Posting], int]]) -> dict[str, float]:
    """Return the idf, over all projects together, of each term of the question that an eligible row
    holds. `asked` has each project's postings and the number of its eligible rows."""
    total = sum(rows for _, rows in asked)
    held: dict[str, int] = {}
    for postings, _ in asked:
        for posting in postings:
            held[posting.term] = held.get(posting.term, 0) + posting.held
    return {term: inverse_document_frequency(total, count) for term, count in held.items() if count}


class Coverage:
    """The coverage of one question over one project: which rows cover most of it, and how much any
    row does."""

    def __init__(self, project: ProjectIndex, postings: list[Posting], believed: Believed) -> None:
        self._project = project
        self._terms: list[_Term] = []
        self._mass = 0.0
        if not believed.total:
            return
        self._mean = np.float32(max(1.0, believed.length_mean))
        for posting in postings:
            idf = inverse_document_frequency(believed.total, posting.held)
            self._mass += idf
            if posting.held:
                weight = np.float32(idf * _confidence(posting))
                self._terms.append(_Term(weight, posting.docs, posting.counts))
        self._terms.sort(key=lambda term: -term.weight)

    def _norm(self, lengths: Floats) -> Floats:
        """How long texts count as; never 0, as an empty one would where length alone counts."""
        norm: Floats = length_norm(lengths, mean=self._mean, b=constants.B)
        return norm if constants.B < 1 else np.maximum(norm, _ABOVE_ZERO)

    def best(self, allowed: Mask, depth: int) -> Rows:
        """Return the `depth` allowed rows of the highest coverage, in row order; exact. Of rows
        that cover as much as the last of them, the newest.

        The rare terms name rows first. A row that holds only the other terms covers at most their
        share of the mass, so once the last of the best covers more, the common terms need not name
        rows (Turtle & Flood, "Query Evaluation: Strategies and Optimizations", 1995).
        """
        # what rows score by themselves; the last entry stands for a neighbour that does not exist
        own = np.zeros(self._project.count + 1, dtype=np.float32)
        weights = [float(term.weight) for term in self._terms]
        wanted = sum(weights) * _REST_MAX
        for number, term in enumerate(self._terms, 1):
            norm = self._norm(self._project["length"].take(term.docs))
            frequency = term_frequency(term.counts, norm)
            own[term.docs] += term_score(term.weight, frequency, k1=constants.K1)
            rest, last = sum(weights[number:]), number == len(weights)
            if rest > wanted and not last:
                continue
            rows = self._possible(own, allowed, depth, rest=rest, named=self._terms[:number])
            scores = self.of(rows)
            best = _highest(scores, depth)
            if last or (len(rows) > depth and rest <= float(scores[best].min()) * self._mass):
                return rows[best[scores[best] > 0]]
            wanted = rest * _REST_MAX
        return np.zeros(0, dtype=np.int64)

    def _reached(self, base: Floats, depth: int) -> float:
        """A sum of weights that at least `depth` allowed rows reach: rows that score much by
        themselves are scored whole. `base` is 0 where a row is not allowed."""
        high = _high(base, _TRIED * depth)
        tried = np.flatnonzero(base >= max(high, _ABOVE_ZERO))[: _TRIED_MAX * depth]
        return self._reached_by(tried, depth)

    def _reached_by(self, rows: Rows, depth: int) -> float:
        if len(rows) < depth:
            return 0.0
        place = len(rows) - depth
        return float(np.partition(self.of(rows), place)[place] * self._mass)

    def _around(self, rows: Rows) -> Rows:
        """These rows and all that borrow from one of them, ascending; it may name some others."""
        touched = np.zeros(self._project.count + 1, dtype=bool)
        touched[self._project.branches] = True
        touched[rows] = True
        for near in (self._project["prev"], self._project.following):
            # -1, where there is none, is the last entry
            touched[near.take(rows).astype(np.int64)] = True
        return np.flatnonzero(touched[:-1])

    def _promising(
        self,
        base: Floats,
        allowed: Mask,
        depth: int,
        *,
        rest: float,
        share: float,
        named: list[_Term],
    ) -> tuple[Any, float]:
        """Where to look for the best, as an index of rows: around those that hold one of few, or
        that score a `share` of what the best reach by themselves, or everywhere. And a sum of
        weights that `depth` allowed rows reach."""
        held = sum(len(term.docs) for term in named) + len(self._project.branches)
        if held * _FEW_OF <= len(base):
            here = self._around(np.concatenate([term.docs for term in named]))
            return here, _high(base[here] * allowed[here], depth)
        reached = self._reached(base if allowed.all() else base * allowed, depth)
        high = np.flatnonzero(base >= _least(reached, rest) * np.float32(_ROUNDED * share))
        few = len(high) * _HIGH_OF <= len(base)
        return self._around(high) if few else slice(None), reached

    def _possible(
        self, own: Floats, allowed: Mask, depth: int, *, rest: float, named: list[_Term]
    ) -> Rows:
        """The allowed rows that can be among the `depth` best, given what rows score by themselves
        from the terms `named`, and that other terms add at most `rest`.

        With k = K1, g(f) = f / (f + k) is concave, so g(own + c * other) <= g(own) + g(c * other),
        and g(c * f) <= c (F + k) / (c F + k) * g(f) for f <= F. So a row and its neighbours
        together give at most 1 plus both factors, times what the highest of them scores by itself:
        that tells around which rows to look. The first bound of these rows assumes that every row
        is short and borrows as much as possible, which needs no lengths; the second uses the length
        of each remaining row. Of many rows some of the most promising are scored: rows that cannot
        reach the best of these are dropped too.
        """
        k1 = constants.K1
        most_often = max(int(term.counts.max()) for term in self._terms)
        top = float(term_frequency(most_often, self._norm(self._project["length"].min())))
        lending = [
            (other, part, part * (top + k1) / (part * top + k1))
            for other, part in (
                (self._project["prev"], constants.PREVIOUS),
                (self._project.following, constants.NEXT),
            )
        ]
        share = 1 / (1 + sum(factor for _, _, factor in lending))
        base = own[:-1]
        here, reached = self._promising(base, allowed, depth, rest=rest, share=share, named=named)
        least = _least(reached, rest)
        most = base[here].copy()
        neighbours = []
        for other, part, factor in lending:
            lent = own.take(
                other[here] if isinstance(here, slice) else other.take(here), mode="wrap"
            )
            neighbours.append((lent, part))
            most += lent * np.float32(factor)
        kept = np.flatnonzero(allowed[here] & (most >= least))
        rows = kept if isinstance(here, slice) else here[kept]
        near = borrowed_share(self._project["length"].take(rows), constants.NEIGHBOUR_LENGTH)
        most = base.take(rows)
        for lent, part in neighbours:
            most += lent.take(kept) * (
                part
                * near
                * np.float32(top + k1)
                / (part * near * np.float32(top) + np.float32(k1))
            )
        if len(rows) > max(_PROMISING, _MANY):
            tried = rows[np.argpartition(-most, _PROMISING - 1)[:_PROMISING]]
            reached = self._reached_by(tried, depth)
            least = max(least, _least(reached, rest))
        found: Rows = rows[most >= least]
        return found

    def of(self, rows: Rows) -> Floats:
        """Return how much of the question each row covers, in [0, 1)."""
        scores = np.zeros(len(rows), dtype=np.float32)
        if not self._terms or not len(rows):
            return scores
        previous = self._project["prev"]
        before, after = previous.take(rows), self._project.following.take(rows)
        wanted = np.concatenate((rows, before, after))
        lengths = self._project["length"].take(wanted)
        near = borrowed_share(lengths[: len(rows)], constants.NEIGHBOUR_LENGTH)
        from_before = np.where(before >= 0, constants.PREVIOUS * near, 0).astype(np.float32)
        from_after = np.where(  # of a branch to one only
            (after >= 0) & (previous.take(after) == rows), constants.NEXT * near, 0
        ).astype(np.float32)
        norm = self._norm(lengths)
        spreads: dict[np.dtype[Any], Counts] = {}  # for one term at a time
        for weight, docs, counts in self._terms:
            if len(docs) > _LOOKUPS * len(wanted):
                places = np.minimum(docs.searchsorted(wanted), len(docs) - 1)
                held = np.where(docs.take(places) == wanted, counts[places], 0)
            else:
                spread = spreads.get(counts.dtype)
                if spread is None:
                    spread = np.zeros(self._project.count, dtype=counts.dtype)
                    spreads[counts.dtype] = spread
                spread[docs] = counts
                held = spread.take(wanted)
                # few are cleared one by one, and of many the whole array at once
                spread[docs if len(docs) * _FEW_OF <= len(spread) else slice(None)] = 0
            here, previous, following = term_frequency(held, norm).reshape(3, len(rows))
            frequency = here + from_before * previous + from_after * following
            scores += term_score(weight, frequency, k1=constants.K1)
        return scores / np.float32(self._mass)


def _least(reached: float, rest: float) -> np.float32:
    """What a row has to have of some terms if others add `rest` and the best reach so much."""
    return np.float32(max(_ROUNDED * reached - rest, _ABOVE_ZERO))


def _highest(values: Floats, count: int) -> Rows:
    """The places of the highest values, ascending, at most `count`: of those that are equal the
    last."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    above, equal = np.flatnonzero(values > least), np.flatnonzero(values == least)
    return np.sort(np.concatenate((above, equal[len(equal) + len(above) - count :])))


def _high(values: Floats, count: int) -> float:
    """A value that at least `count` of the values reach, and few more: the highest of groups, of
    which many are equal, stand for all. 0 if there are too few."""
    groups = min(_GROUPS * count, len(values))
    if groups <= count:
        return 0.0
    each = len(values) // groups
    most = values[: groups * each].reshape(each, groups).max(axis=0)
    return float(np.partition(most, groups - count)[groups - count])


class _Term(NamedTuple):
    weight: np.float32
    docs: Rows
    counts: Counts
