"""LoCoMo's own score of an answer: the overlap of stemmed words, by rules that differ between its
five categories.

Kept apart from the other metrics because it is somebody else's definition, to be followed to the
letter, its oddities included: a comma in a gold answer splits it only in category 1, a semicolon
ends it only in category 3, and category 5 asks for one of two phrases.

The stemmer is Porter's of 1980, which is nltk's in its mode ORIGINAL_ALGORITHM. The official code
takes nltk's default, which adds rules of its own (it keeps the y of "day" and the e of "one"); they
change what a stem looks like, and seldom which words share one: docs/benchmarks/method.md has
the count.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable
from functools import cache

import Stemmer

from bench.metrics import mean

MULTI_HOP, OPEN_DOMAIN, ADVERSARIAL = "1", "3", "5"
ABSTENTIONS = ("no information available", "not mentioned")
_ARTICLES = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_stemmer = Stemmer.Stemmer("porter")


@cache
def stem(word: str) -> str:
    result: str = _stemmer.stemWord(word)
    return result


def normalised(text: str) -> str:
    """Without commas, punctuation and articles, in small letters, with single blanks."""
    return " ".join(
        _ARTICLES.sub(" ", text.replace(",", "").lower().translate(_PUNCTUATION)).split()
    )


def f1(prediction: str, gold: str, *, stem: Callable[[str], str] = stem) -> float:
    """2PR / (P + R) over the multisets of stems; 0 where they share none."""
    said, wanted = (
        Counter(stem(word) for word in normalised(text).split()) for text in (prediction, gold)
    )
    shared = sum((said & wanted).values())
    if not shared:
        return 0.0
    precision, recall = shared / said.total(), shared / wanted.total()
    return 2 * precision * recall / (precision + recall)


def score(category: str, prediction: str, gold: str, *, stem: Callable[[str], str] = stem) -> float:
    """One question's score, in [0, 1], by the rule of its category."""
    if category == ADVERSARIAL:
        return float(any(phrase in prediction.lower() for phrase in ABSTENTIONS))
    if category == MULTI_HOP:
        said = prediction.split(",")
        return mean(
            [max(f1(part, wanted, stem=stem) for part in said) for wanted in gold.split(",")]
        )
    return f1(prediction, gold.split(";")[0] if category == OPEN_DOMAIN else gold, stem=stem)
