"""Turn text into index terms. Documents and queries share this analyser, because both must be
tokenised the same way.

Terms are stems (Snowball English) of case-folded words. Runs of Chinese, Japanese and Korean
characters become overlapping bigrams, since such text has no spaces. An emoji is a term. Stop words
are dropped from index and query. The index also stores the last character of each run with RUN_END
appended, so that every character starts some term and a query of one character finds it.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import Stemmer

from doxa.base.limits import INDEX_TOKENS_MAX, TERM_CHARS_MAX
from doxa.base.patterns import lazy_re

# Stored with the index. Raise the number when a rule changes, here or in what is indexed of a node:
# files are then reindexed when opened.
ANALYSER = "snowball-english-3"

STOP_WORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being but by can
    could did do does doing done down for from get had has have having he her here hers him his how
    i if in into is it its itself just me more most my myself no nor not now of off on once only or
    other our ours out over own same she should so some such than that the their theirs them then
    there these they this those through to too under until up us very was we were what when where
    which while who whom whose why will with would you your yours d ll m re s t ve don didn doesn
    isn aren wasn weren won couldn wouldn shouldn hasn haven hadn im ive id
    """.split()
)

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
RUN_END = "$"
_EMOJI = "\u2600-\u27bf\U0001f300-\U0001faff"
_TOKEN = lazy_re(f"[{_CJK}]+|[^\\W_{_CJK}]+|[{_EMOJI}]")
_CJK_RUN = lazy_re(f"[{_CJK}]+")
_ASCII_WORD = lazy_re("[a-z0-9]+")
_RUN = lazy_re(r"\w+")
_BREAKS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
# What may stand around a word in a sentence, and signs that mean something by themselves.
_OPENING, _CLOSING = "\"'`(“„‘«¿¡…", "\"'`)”’».,;:!?…。、，！？；："
_ASCII_SIGNS = frozenset("*/\\&%#@^")  # besides those of mathematics and money
_BULLETS = ("", "*", ">", "+", "-", "•", "–")  # "": a heading
_UNIT = lazy_re(r"(?![AP]M\Z)(?=.*[A-Z])[^\W\d_]{1,3}")  # in whose symbol capitals mean something
_EMPHASIS = lazy_re(r"(?<![^\s(\"“])(\*{1,3}|`{1,3}|~~)(?=\S)([^\n]{1,200}?)(?<=\S)\1(?!\w)")
_PLAIN_WORD = lazy_re(r"[^\W\d_]+(?:[-'’‑][^\W\d_]+)*")
_THOUSANDS = lazy_re(r"(?<=\d),(?=\d{3}(?!\d))")
_stemmer = Stemmer.Stemmer("english")
_many_stemmer = Stemmer.Stemmer("english", 0)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of one case-folded word."""
    result: str = _stemmer.stemWord(word)
    return result[:TERM_CHARS_MAX]


def stems_of(words: Sequence[str]) -> frozenset[str]:
    """Return the stems of very many case-folded words, none of which is kept for later."""
    return frozenset([result[:TERM_CHARS_MAX] for result in _many_stemmer.stemWords(words)])


def terms(text: str) -> list[str]:
    """Return the index terms of any text in order, at most INDEX_TOKENS_MAX."""
    if text.isascii():
        words = [word for word in _ASCII_WORD.findall(text.lower()) if word not in STOP_WORDS]
        return [stem(word) for word in words[:INDEX_TOKENS_MAX]]
    text = unicodedata.normalize("NFKC", text)
    result: list[str] = []
    for match in _TOKEN.finditer(text.casefold()):
        token = match.group()
        if token in STOP_WORDS:
            continue
        if not token.isascii() and _CJK_RUN.match(token):
            result.extend([token[i : i + 2] for i in range(len(token) - 1)] or [token])
        else:
            result.append(stem(token))
        if len(result) >= INDEX_TOKENS_MAX:
            return result[:INDEX_TOKENS_MAX]
    return result


def words_of(text: str) -> list[str]:
    """Return the words of any text as they are written, case-folded, at most INDEX_TOKENS_MAX."""
    found = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    return found[:INDEX_TOKENS_MAX]


def written_marks(text: str) -> list[str]:
    """Return, in order, what a text has besides words that means something as it is written:
    numbers, options, paths, versions and signs, as in -20, C++, 5€, >= and etc/Foo.

    Index terms leave signs and cases out, so two texts with the same terms may say different
    things: nothing is taken for said already unless these agree too. Quotes, emphasis, bullets and
    the punctuation of sentences are none of them.
    """
    found = []
    for line in _EMPHASIS.sub(r"\2", unicodedata.normalize("NFC", text)).splitlines():
        tokens = line.split()
        while len(tokens) > 1 and tokens[0].strip("#") in _BULLETS:
            del tokens[0]
        measured = False
        for token in tokens:
            bare = token.lstrip(_OPENING).rstrip(_CLOSING)
            if any(map(str.isalnum, bare)):
                if not _PLAIN_WORD.fullmatch(bare):
                    found.append(_THOUSANDS.sub("", bare))
                elif measured and _UNIT.fullmatch(bare):  # MW is not mW
                    found.append(bare)
                measured = bare[-1].isdigit()
            elif any(_is_sign(char) for char in token):
                found.append(token)
    return found


def _is_sign(char: str) -> bool:
    return char in _ASCII_SIGNS or unicodedata.category(char) in ("Sm", "Sc")


def runs_of(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores of any text, as they are written."""
    return text.translate(_BREAKS).split() if text.isascii() else _RUN.findall(text)


def may_be_stem(term: str, beginning: str) -> bool:
    """Return whether a term may be the stem of a word that begins so. A stem is a beginning of its
    word, except for its last letter ("happy", "happi"); endings such as "-ing" are cut off."""
    return term.startswith(beginning[:-1]) or beginning.startswith(term[:-1])


def term_counts(text: str) -> Counter[str]:
    """Count the terms of a text."""
    return Counter(terms(text))


def run_ends(text: str) -> Counter[str]:
    """Count the extra entries that the index stores for a text: the last character of each CJK run
    with RUN_END appended. A run of one character is already a term."""
    if text.isascii():
        return Counter()
    runs = _CJK_RUN.findall(unicodedata.normalize("NFKC", text).casefold())
    return Counter(run[-1] + RUN_END for run in runs[:INDEX_TOKENS_MAX] if len(run) > 1)


def is_character(term: str) -> bool:
    """Return whether a term is one character of a script without spaces."""
    return len(term) == 1 and _CJK_RUN.match(term) is not None


def has_phrase(held: Sequence[str], phrase: Sequence[str]) -> bool:
    """Return whether the phrase occurs in the terms, with nothing but stop words in between."""
    wanted = list(phrase)
    return any(
        held[start] == wanted[0] and list(held[start : start + len(wanted)]) == wanted
        for start in range(len(held) - len(wanted) + 1)
    )
