"""Words in quotation marks: a memory that holds them one after the other is more than one that
holds them somewhere.

Postings tell no places. So the texts of the rows that hold all words of a phrase are read, and what
holds it becomes a posting of its own, weighed by its rarity as any term is. A phrase that nothing
holds is no term: its words still count one by one.
"""

from __future__ import annotations

import re

import numpy as np

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.words import has_phrase, terms
from doxa.recall.shelf import Shelf
from doxa.recall.words import Posting, Rows
from doxa.store import Reader, rule_of

PHRASES_MAX = 4  # of one question
PHRASE_TERMS_MAX = 16  # the first of a longer one
PHRASE_ROWS_MAX = 500  # texts read for one phrase, the latest
PHRASE_CHARS_MAX = 200_000  # of those texts, for all phrases of a question together: some 20 ms
QUOTED = r'"[^"]+"|“[^“”]+”|„[^„“”]+[“”]|«[^«»]+»|「[^「」]+」'
_QUOTED = re.compile(QUOTED)


def phrases_of(text: str) -> list[tuple[str, ...]]:
    """The index terms of each quoted part of two terms or more, as they stand."""
    found = (
        tuple(terms(match.group())[:PHRASE_TERMS_MAX])
        for match in _QUOTED.finditer(text[:QUERY_CHARS_READ])
    )
    return list(dict.fromkeys(phrase for phrase in found if len(phrase) > 1))[:PHRASES_MAX]


def phrase_postings(
    reader: Reader, shelf: Shelf, phrases: list[tuple[str, ...]], postings: list[Posting]
) -> list[Posting]:
    """A posting for each phrase that eligible rows hold, as far as texts are read. `postings` are
    those of the question's terms."""
    budget = [PHRASE_CHARS_MAX]
    by_term = {posting.term: posting for posting in postings if posting.term == posting.asked}
    found = []
    for phrase in phrases:
        rows = _holding(
            reader,
            shelf,
            phrase,
            budget,
            _with_all([by_term[term].docs for term in set(phrase) & by_term.keys()]),
        )
        if len(rows):
            name = f'"{" ".join(phrase)}"'
            found.append(Posting(name, name, rows, np.ones(len(rows), dtype=np.float32)))
    return found


def _with_all(held: list[Rows]) -> Rows:
    rows, *others = sorted(held, key=len) or [np.zeros(0, dtype=np.int64)]
    for other in others:
        rows = np.intersect1d(rows, other, assume_unique=True)
    return rows[-PHRASE_ROWS_MAX:]


def _holding(
    reader: Reader, shelf: Shelf, phrase: tuple[str, ...], budget: list[int], rows: Rows
) -> Rows:
    """The rows that hold the phrase, the latest read first and no more than the budget of
    characters."""
    rules = reader.declared().search
    row_of = dict(zip(shelf["node"][rows].tolist(), rows.tolist(), strict=True))
    found = []
    for node in reversed(reader.nodes(list(row_of))):
        rule = rule_of(node.labels, rules)
        values = [node.props.get(name) for name in rule.read] if rule else []
        texts = [
            text
            for value in values
            for text in (value if isinstance(value, list) else [value])
            if isinstance(text, str)
        ]
        budget[0] -= sum(map(len, texts))
        if budget[0] < 0:
            break
        if any(has_phrase(terms(text), phrase) for text in texts):
            found.append(row_of[node.id])
    return np.array(sorted(found), dtype=np.int64)
