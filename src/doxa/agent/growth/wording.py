"""What a line of identity may look like, and how two of them agree. By rules alone.

A line is one statement: one line of plain text, that ends as a sentence does. Two lines are about
the same if they share words; they oppose each other if they share most of them and one denies.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from doxa.agent.signals.patterns import denies, negations
from doxa.base.limits import IDENTITY_LINE_CHARS_MAX
from doxa.base.patterns import lazy_re
from doxa.base.words import terms

_MARKUP = lazy_re(r"</?[A-Za-z!?]|```|~~~|^\s*(?:#{1,6}\s|[-*+]\s|>|\|)")
_COMMAND = lazy_re(
    r"^\s*(?:\$|sudo\b|curl\b|wget\b|git\b|npm\b|pip\b|rm\b|cd\b|python3?\b|bash\b|sh\b)\s"
    r"|&&|\|\||\$\(|[;|]\s*(?:sh|bash|rm)\b"
)
_SCORE = lazy_re(r"\b(?:confidence|score|candidate)\s*[:=]\s*[\d.]", re.IGNORECASE)
_ENDS = (".", "!", "?", "…", "。", "！", "？", '"', "”", "»", ")", "」")
_LETTERS_MIN = 2
_OPPOSED_SHARE = 0.5  # of the words of the shorter line, that both have
_OPPOSED_WORDS_MIN = 2  # that both have, unless the shorter one has fewer


class WordingComparison(NamedTuple):
    """How a line compares with a principle: the words both have, and whether one denies what the
    other says."""

    shared: tuple[str, ...]
    opposed: bool


def form_problem(text: str) -> str:
    """Return why a text cannot be a line at all, or ""."""
    if not text.strip():
        return "it is empty"
    if len(text) > IDENTITY_LINE_CHARS_MAX:
        return f"it has {len(text):,} characters; a line has {IDENTITY_LINE_CHARS_MAX} at most"
    if text != text.strip():
        return "it begins or ends with a space"
    for char in text:
        category = unicodedata.category(char)
        if category in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            return f"it holds the invisible character U+{ord(char):04X}"
    if _MARKUP.search(text):
        return "it holds markup"
    return ""


def statement_problem(text: str) -> str:
    """Return why a text is not a complete statement, or ""."""
    said = form_problem(text)
    if said:
        return said
    if _COMMAND.search(text):
        return "it looks like a command line"
    if _SCORE.search(text):
        return "it holds a score"
    if not text.endswith(_ENDS):
        return "it does not end as a sentence does"
    words = terms(text)
    if sum(char.isalpha() for char in text) < _LETTERS_MIN or not words:
        return "it says nothing"
    return ""


def compare(text: str, principle: str) -> WordingComparison:
    """Compare a line with a principle."""
    own, other = content_words(text), content_words(principle)
    shared = own & other
    least = min(len(own), len(other))
    near = len(shared) >= max(_OPPOSED_SHARE * least, min(_OPPOSED_WORDS_MIN, least)) > 0
    return WordingComparison(tuple(sorted(shared)), near and denies(text) != denies(principle))


def content_words(text: str) -> frozenset[str]:
    """Return the index terms of a text without the words that deny."""
    return frozenset(terms(negations().sub(" ", text)))
