"""Compare two sentences by their words, without grammar: do they say the same of the same thing
except for one value?

    "Der Drucker steht im Flur."          both:   Drucker steht im
    "Der Drucker steht jetzt im Keller."  differ: Flur, Keller; a change

Words of change and of time, articles and openings are set aside first. The rest must agree in
everything but one run of words, whose values are of one type. Values come late in a sentence: a
difference before a verb, or after too few words, is a difference of the subject. Chinese is
compared by characters. The other way round, sentences that differ only in a negation contradict
each other.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import lru_cache

from doxa.base.patterns import lazy_re
from doxa.base.words import stem
from doxa.language.languages import Language
from doxa.language.sentences import says_besides, without_times
from doxa.language.stated_values import StatedValue, read_value
from doxa.language.tables.reader import (
    english_value,
    language_of,
    likely_language,
    plain_clause,
    read_marks,
    table_stem,
    tables_of,
    verbs_of,
)
from doxa.language.verbs import find_verb

_TOKENS_MAX = 60
_INVERTING = ("de", "es")
_CHANGED_MAX = 6  # words on each side
_ADJECTIVES_AFTER = ("es", "fr")
_NOUN_CHARS_MIN = 5  # a shorter word between two differences is a preposition
_BETWEEN_MAX = 1  # a common word within a value: "media jornada", "jornada completa"
_BEFORE_MIN = 2  # words of the subject and the verb before a value
_AFTER_TYPED_MAX, _AFTER_MAX = 3, 1  # words after a number or time, and after another value
_CHINESE_FACTOR = 2  # characters for a word
_TOKEN = lazy_re(
    "[\u3400-\u4dbf\u4e00-\u9fff]|[^\\W_\u3400-\u4dbf\u4e00-\u9fff]+(?:[.:@/+-][^\\W_\u3400-\u9fff]+)*"
)
_ENGLISH_NOT = lazy_re(r"\b(?:not|no longer|never|no)\b|n['’]t\b|\bany ?more\b", re.IGNORECASE)
_ENGLISH_DROPPED = frozenset("a an the do does did".split())
_ENGLISH_I = lazy_re(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine)\b")
_ENGLISH_OF = frozenset(("of", "from", "for"))


@dataclass(frozen=True, slots=True)
class Difference:
    """How a new sentence differs from a held one. `frame` are the words before the value; `old` and
    `new` are the values, empty if it only denies or repeats; `measured` values are amounts with a
    unit; `change` means that the new sentence reports a change, `denied` that one of the two denies
    the other; `besides` that the new one adds to it."""

    frame: str
    old: str
    new: str
    measured: bool
    change: bool
    denied: bool
    besides: bool


@dataclass(frozen=True, slots=True)
class Words:
    """The compared words of a sentence."""

    norms: tuple[str, ...]
    raw: tuple[str, ...]
    change: bool
    denied: bool
    besides: bool


def difference(new: str, held: str) -> Difference | None:
    """Compare two sentences; None if they differ in more than one value, or are not about the same
    subject."""
    language = likely_language(new, language_of(held))
    if language is not likely_language(held, language):
        return None
    code = language.code if language else ""
    one, other = compared_words(new, code), compared_words(held, code)
    if not 1 < len(one.norms) <= _TOKENS_MAX or not 1 < len(other.norms) <= _TOKENS_MAX:
        return None
    denied = one.denied != other.denied
    if one.norms == other.norms:
        frame = _text(other.raw, code)
        return Difference(frame, "", "", False, one.change, denied, one.besides)
    if denied:
        return None
    for words in _orders(one, other, code):
        runs = [
            run
            for run in SequenceMatcher(None, other.norms, words.norms, autojunk=False).get_opcodes()
            if run[0] != "equal"
        ]
        if not runs or (len(runs) > 1 and code not in _ADJECTIVES_AFTER):
            continue
        between = other.norms[runs[0][2] : runs[-1][1]]
        if len(between) > _BETWEEN_MAX or any(len(word) < _NOUN_CHARS_MIN for word in between):
            continue
        start, end, new_start, new_end = runs[0][1], runs[-1][2], runs[0][3], runs[-1][4]
        if start == end or new_start == new_end:
            continue
        if start == new_start and end - start <= _limit(code, _CHANGED_MAX):
            return _value_difference(
                words, other, start=start, end=end, new_end=new_end, code=code, language=language
            )
    return None


def _orders(one: Words, other: Words, code: str) -> Iterator[Words]:
    """Yield the words as they are and, where a phrase in front moves the verb before the subject,
    with the verb after a subject of up to three words."""
    yield one
    if code in _INVERTING and one.norms[0] != other.norms[0]:
        for count in range(1, min(3, len(one.norms) - 1) + 1):
            if one.norms[1 : count + 1] == other.norms[:count]:
                norms, raw = one.norms, one.raw
                yield replace(
                    one,
                    norms=(*norms[1 : count + 1], norms[0], *norms[count + 1 :]),
                    raw=(*raw[1 : count + 1], raw[0], *raw[count + 1 :]),
                )


def _value_difference(
    one: Words,
    other: Words,
    *,
    start: int,
    end: int,
    new_end: int,
    code: str,
    language: Language | None,
) -> Difference | None:
    start, end, new_end = _whole_word(one, other, start, end, new_end)
    old_text, new_text = _text(other.raw[start:end], code), _text(one.raw[start:new_end], code)
    old, new = _typed(old_text, language), _typed(new_text, language)
    typed = old.type != "text"
    after = other.norms[end:]
    if old.category != new.category or not old.words or not new.words:
        return None
    if start < _BEFORE_MIN or new_end - start > _limit(code, _CHANGED_MAX):
        return None
    if len(after) > _limit(code, _AFTER_TYPED_MAX if typed else _AFTER_MAX):
        return None
    if one.norms[start] in _verb_norms(code) or other.norms[start] in _verb_norms(code):
        return None
    if after and (_has_verb(after, other.raw[end:], code) or any(map(_has_digit, after))):
        return None
    if after and other.norms[start - 1] in _of_words(code):
        return None
    if not typed and not code and old_text[:1].isupper() != new_text[:1].isupper():
        return None
    measured = old.type == "amount" and old.dimension != "count"
    frame = _text(other.raw[:start], code)
    return Difference(frame, old_text, new_text, measured, one.change, False, one.besides)


def _whole_word(
    one: Words, other: Words, start: int, end: int, new_end: int
) -> tuple[int, int, int]:
    """Extend a run to whole numbers: 十五 and 二十五 differ in the number."""
    digits = "0123456789零一二三四五六七八九十百千万两半日天"
    if start and other.norms[start - 1] in "周期拜":
        start -= 1
    while start and other.norms[start - 1] in digits and len(other.norms[start - 1]) == 1:
        start -= 1
    while (
        end < len(other.norms)
        and new_end < len(one.norms)
        and other.norms[end] in digits
        and len(other.norms[end]) == 1
    ):
        end, new_end = end + 1, new_end + 1
    return start, end, new_end


def _limit(code: str, words: int) -> int:
    return words * _CHINESE_FACTOR if code == "zh" else words


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _text(raw: Sequence[str], code: str) -> str:
    return ("" if code == "zh" else " ").join(raw)


def _typed(text: str, language: Language | None) -> StatedValue:
    return read_value(english_value(text, language.code) if language else text, None)


def _has_verb(norms: Sequence[str], raw: Sequence[str], code: str) -> bool:
    if not code:
        return find_verb("it " + " ".join(raw)) is not None
    if code == "zh":
        return any(one in ("是", "有", "在") for one in norms)
    return any(word.casefold() in verbs_of(code) for word in raw)


@lru_cache(maxsize=8)
def _verb_norms(code: str) -> frozenset[str]:
    """Return words that begin a predicate and no value."""
    if code == "zh":
        return frozenset("是有在叫住会能把被用由给跟对向往从")
    return frozenset(_norm(word, code) for word in verbs_of(code)) if code else frozenset()


def _of_words(code: str) -> frozenset[str]:
    return frozenset(tables_of(code).language.of.split("|")) if code else _ENGLISH_OF


@lru_cache(maxsize=8_192)
def compared_words(sentence: str, code: str) -> Words:
    """Return the words of a sentence by which it is compared."""
    plain = unicodedata.normalize("NFKC", sentence)
    if not code:
        denied = _ENGLISH_NOT.search(plain) is not None
        text, change = without_times(_ENGLISH_NOT.sub(" ", plain).strip(" .!"))
        besides = says_besides(plain)
        dropped = _ENGLISH_DROPPED
    else:
        tables = tables_of(code)
        text, marks = read_marks(plain_clause(plain, code), tables)
        change, besides, denied = marks.change, marks.besides, marks.denied or marks.ends
        dropped = frozenset(tables.language.articles.split("|"))
    raw = [
        word for word in _TOKEN.findall(text)[: _TOKENS_MAX + 1] if word.casefold() not in dropped
    ]
    norms = tuple(_norm(word, code) for word in raw)
    return Words(norms, tuple(raw), change, denied, besides)


def _norm(word: str, code: str) -> str:
    low = word.casefold()
    if _has_digit(low) or code == "zh":
        return low
    return table_stem(low, code) if code else stem(low)


def says_i(sentence: str) -> bool:
    """Return whether a sentence speaks of its speaker."""
    language = language_of(sentence)
    if language is None:
        return _ENGLISH_I.search(sentence) is not None
    words = f"{language.me}|{language.my}|{language.own}".strip("|")
    if not language.spaced:
        return re.search(words, sentence) is not None
    return re.search(rf"\b(?:{words})\b", sentence, re.IGNORECASE) is not None
