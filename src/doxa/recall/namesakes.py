"""Namesakes and other names: whom or what a question names, which texts name another of a like
name instead, and by which other name memory knows it. Pure.

    name       a run of words with a capital, or an identifier such as atlas-2, split into words
    same       the words of one name are among those of the other (Ana, Ana Ferreira)
    namesake   two names that share a word and are not the same (Martin Osei, Martin Kowalski;
               atlas-1, atlas-2). A text about a namesake is near in words and in meaning, and
               answers nothing.
    alias      two names that a text declares to be of one ("Katharina goes by Kit")

Names are read by their capitals, and aliases by English wordings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from doxa.base.calendar_names import MONTH_ABBREVIATIONS, MONTHS, WEEKDAYS
from doxa.base.limits import QUERY_CHARS_READ
from doxa.base.patterns import PatternSet, lazy_re
from doxa.base.words import STOP_WORDS
from doxa.recall.lanes.frequent_words import is_frequent

NameWords = frozenset[str]
_TOKEN = lazy_re(r"[^\W\d_]\w*(?:-\w+)*")
_PIECE = lazy_re(r"[^\W\d_]+|\d+")
_SENTENCE_START = lazy_re(r"(?:^|[.!?:;]\s|\n)\W*$")
_TITLE_END = lazy_re(r"\b(?:Mrs?|Ms|Dr|Prof|[A-Z])$")
_TITLES = frozenset("mr mrs ms miss dr prof".split())
_CALENDAR = frozenset((*MONTHS, *MONTH_ABBREVIATIONS, *WEEKDAYS))
_SENTENCE_END = lazy_re(r"(?<=[.!?])\s+(?=[A-Z])|\n")
_ALIAS = lazy_re(
    r"\b(?:go(?:es)? by|a\.?k\.?a|known (?:\w+ )?as|nick\s?name|alias|short for|stands for"
    r"|formerly|renamed|(?:everybody|everyone|we|people|they|friends|family|colleagues|all)"
    r" (?:just )?calls?|(?:old|other|former|earlier|real|full|maiden|new|second) name"
    r"|same (?:person|man|woman|thing|project|product|company)|(?:is|are) the same as"
    r"|one and the same)\b|\b(?:also (?:known|called|named)|code\s?name)"
    r"|(?:\b(?:is|was|are|were|be|been|usually|often|just) |, )(?:called|named|nicknamed)\b",
    re.IGNORECASE,
)
_MAY_DECLARE = PatternSet({"alias": _ALIAS})
_OF_ANOTHER = lazy_re(
    r"['’]s?\s+(?!(?:\w+\s+)?(?:nick\s?name|alias|name|code\s?name|short form|handle)\b)\w"
)


class Name(NamedTuple):
    """A name as it is written, its words folded, and where it lies in its text."""

    text: str
    words: NameWords
    start: int
    end: int


def names_in(text: str, known: NameWords = frozenset()) -> list[Name]:
    """Return the names of a text in order. A frequent word at the start of a sentence counts only
    if it is among the `known` words of names."""
    found: list[Name] = []
    text = text[:QUERY_CHARS_READ]
    run: list[re.Match[str]] = []

    def close() -> None:
        if run:
            start, end = run[0].start(), run[-1].end()
            words = frozenset(_PIECE.findall(text[start:end].casefold()))
            found.append(Name(text[start:end], words, start, end))
            run.clear()

    for match in _TOKEN.finditer(text):
        if run:
            between = text[run[-1].end() : match.start()]
            short = between == ". " and _TITLE_END.search(run[-1].group())
            if between != " " and not short:
                close()
        if _is_name(text, match, known):
            run.append(match)
        else:
            close()
    close()
    return found


def _is_name(text: str, match: re.Match[str], known: NameWords) -> bool:
    word, folded = match.group(), match.group().casefold()
    if any(letter.isdigit() for letter in word):
        return True
    if not word[0].isupper() or folded in _CALENDAR or folded in STOP_WORDS:
        return False
    return (
        folded in known
        or folded in _TITLES
        or not is_frequent(folded)
        or not _SENTENCE_START.search(text[: match.start()])
    )


def other_names(question: str, texts: Sequence[str]) -> list[str]:
    """Return the question with a name replaced by another one that a text declares to be of the
    same; one question for each."""
    asked = names_in(question)
    found: dict[str, None] = {}
    known = frozenset(_words_of(name.words for name in asked))
    for one, other in _aliases(texts, known) if asked else ():
        for name in asked:
            for first, second in ((one, other), (other, one)):
                if _same(name.words, first.words) and not _same(name.words, second.words):
                    found[question[: name.start] + second.text + question[name.end :]] = None
    return list(found)


def name_others(question: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether it names a namesake of what the question names, and neither
    that nor an alias of it."""
    asked = [name.words for name in names_in(question)]
    if not asked:
        return [False] * len(texts)
    known = frozenset(_words_of(asked))
    held = [[name.words for name in names_in(text, known)] for text in texts]
    everything = {words for names in held for words in names}
    same = set(asked)
    for one, other in _aliases(texts, known):
        for first, second in ((one.words, other.words), (other.words, one.words)):
            if any(_same(name, first) for name in asked):
                same |= {first, second}
    full = same | {words for words in everything if any(name <= words for name in same)}
    # not what a fuller name adds: it may be a greeting ("Hi Ana")
    telling = {word for word in _words_of(same) if not word.isdigit()}
    return [
        not any(_same(name, words) for words in names for name in full)
        and any(words & telling for words in names)
        for names in held
    ]


def _words_of(names: Iterable[NameWords]) -> set[str]:
    return {word for name in names for word in name}


def _same(one: NameWords, other: NameWords) -> bool:
    return one <= other or other <= one


def _aliases(texts: Sequence[str], known: NameWords) -> list[tuple[Name, Name]]:
    """The pairs of names that a sentence of a text declares to be of one: the first before the
    wording and the first after it. Texts without any of the `known` words are not read: no pair of
    theirs has one."""
    found = []
    for text in texts:
        read = text[:QUERY_CHARS_READ]
        folded = read.casefold()
        if not any(word in folded for word in known):
            continue
        if not _MAY_DECLARE.candidates(read.replace("\n", " ")):  # no wording goes over two lines
            continue
        for sentence in _SENTENCE_END.split(read):
            match = _ALIAS.search(sentence)
            first = _TOKEN.search(sentence)  # a name, however frequent: its alias follows
            opening = {first.group().casefold()} if first else set()
            names = names_in(sentence, known | opening) if match else []
            if match is None or len(names) < 2:
                continue
            before, after = names[0], names[1]
            if not _OF_ANOTHER.match(sentence[before.end : match.end()]):
                found.append((before, after))
    return found
