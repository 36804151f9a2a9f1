"""Correct a misspelt verb or property: "Ana lvies in Bonn", "the API prot", "postponned to Friday".

Only words in lower case are corrected, and only into a word of the tables: by swapping two
neighbouring letters, or in longer words by dropping or doubling one. Names are left to the caller,
who knows which ones are stored.
"""

from __future__ import annotations

import re
from functools import lru_cache

from doxa.base.patterns import lazy_re
from doxa.base.words import STOP_WORDS
from doxa.language.clause_parser import SETTERS
from doxa.language.not_names import NOT_NAMES
from doxa.language.predicates import NOUNS, PREDICATES
from doxa.language.subjects import PROPERTY_WORDS

_SWAPPED_CHARS_MIN = 4
_DROPPED_CHARS_MIN = 7
_WORD = lazy_re(r"(?<![\w'/.-])[a-z]{4,20}(?![\w'/-])")
_SUFFIXED = lazy_re(r"[a-z]+\??")
# English words that are one letter away from a word of the tables
_REAL = frozenset(
    "stated states changes changed charged chared resorts ported sported started stared starred"
    " waged parts ports sorts diver dive divers dived rived drives owned owner owners studied"
    " form from sign sing trail trial quite quiet angle angel being begin salary celery untied"
    " united reported retried married marred varied carried curried learned leaned leaner earned"
    " earns yearned relied replied tiring required acquired inquired delivered livered moved"
    " moves loved loves lives lived lies left felt works words world sword swords tried tired east"
    " acme paying leaning salted slated eats lots lost diving".split()
)


def _known() -> frozenset[str]:
    words: set[str] = set()
    for predicate in PREDICATES:
        text = "|".join(
            (predicate.verbs, predicate.changes, predicate.ends, predicate.inverse, predicate.nouns)
        )
        for word in _SUFFIXED.findall(re.sub(r"\\[bw]", " ", text)):
            words.add(word.removesuffix("?"))
            if word.endswith("?"):
                words.add(word[:-2])
    words.update(re.findall("[a-z]+", SETTERS))
    words.update(PROPERTY_WORDS)
    words.update(part for noun in NOUNS for part in noun.split())
    return frozenset(word for word in words if len(word) >= _SWAPPED_CHARS_MIN)


def _shortened() -> dict[str, set[str]]:
    """Map each long word with one letter dropped to the words that it may be."""
    found: dict[str, set[str]] = {}
    for word in _KNOWN:
        for i in range(1, len(word) - 1) if len(word) >= _DROPPED_CHARS_MIN else ():
            found.setdefault(word[:i] + word[i + 1 :], set()).add(word)
    return found


_KNOWN = _known()
_SHORTENED = _shortened()


def corrected(clause: str) -> str:
    """Return a clause with the words corrected that are misspelt words of the tables."""
    return _WORD.sub(lambda match: _meant(match[0]), clause)


@lru_cache(maxsize=8_192)
def _meant(word: str) -> str:
    if word in _KNOWN or word in _REAL or word in STOP_WORDS or word in NOT_NAMES:
        return word
    found = {
        swapped
        for i in range(len(word) - 1)
        if (swapped := word[:i] + word[i + 1] + word[i] + word[i + 2 :]) in _KNOWN
    }
    if not found:
        found = set(_SHORTENED.get(word, ()))
        found |= {
            shorter
            for i in range(1, len(word))
            if word[i] == word[i - 1]
            and (shorter := word[:i] + word[i + 1 :]) in _KNOWN
            and len(shorter) >= _DROPPED_CHARS_MIN - 1
        }
    return next(iter(found)) if len(found) == 1 else word
