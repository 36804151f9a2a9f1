"""Quoted phrases: a memory that holds quoted words one after the other covers more than one that
holds them anywhere.

Postings hold no positions. So the texts of the rows that hold all words of a phrase are read, and a
phrase that is found becomes a posting of its own, weighted by its rarity as any term is. A phrase
that nothing holds is not a term: its words still count one by one.
"""

from __future__ import annotations

import numpy as np

from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import has_phrase, terms
from doxa.recall import constants
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.recall.lanes.words import Posting, Rows
from doxa.store import Reader, rule_of

QUOTED = r'"[^"]+"|“[^“”]+”|„[^„“”]+[“”]|«[^«»]+»|「[^「」]+」'
_QUOTED = lazy_re(QUOTED)


def phrases_of(text: str) -> list[tuple[str, ...]]:
    """Return the index terms of each quoted part of two terms or more, in order."""
    found = (
        tuple(terms(match.group())[: constants.PHRASE_TERMS_MAX])
        for match in _QUOTED.finditer(text[:QUERY_CHARS_READ])
    )
    phrases = dict.fromkeys(phrase for phrase in found if len(phrase) > 1)
    return list(phrases)[: constants.PHRASES_MAX]


def phrase_postings(
    reader: Reader, project: ProjectIndex, phrases: list[tuple[str, ...]], postings: list[Posting]
) -> list[Posting]:
    """Return a posting for each phrase that eligible rows hold, within the limits of what is read.
    `postings` are those of the question's terms."""
    budget = [constants.PHRASE_CHARS_MAX]
    by_term = {posting.term: posting for posting in postings if posting.term == posting.asked}
    found = []
    for phrase in phrases:
        candidates = _holding_all([by_term[term].docs for term in set(phrase) & by_term.keys()])
        rows = _holding_phrase(reader, project, phrase, budget, candidates)
        if len(rows):
            name = f'"{" ".join(phrase)}"'
            found.append(Posting(name, name, rows, np.ones(len(rows), dtype=np.uint8)))
    return found


def _holding_all(held: list[Rows]) -> Rows:
    rows, *others = sorted(held, key=len) or [np.zeros(0, dtype=np.int64)]
    for other in others:
        rows = np.intersect1d(rows, other, assume_unique=True)
    return rows[-constants.PHRASE_ROWS_MAX :]


def _holding_phrase(
    reader: Reader, project: ProjectIndex, phrase: tuple[str, ...], budget: list[int], rows: Rows
) -> Rows:
    """The rows that hold the phrase. Reads the latest first, and no more characters than the
    budget."""
    rules = reader.declared().search
    row_of = dict(zip(project["node"][rows].tolist(), rows.tolist(), strict=True))
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
