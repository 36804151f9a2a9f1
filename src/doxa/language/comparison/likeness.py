"""Say how alike two sentences are in what they speak of, without grammar: the evidence by which a
new sentence may replace a held one.

    held  "My rent is 900 euros."       new  "they're charging me 980 euros rent since March"
    held  "Mats spielt Klavier."        new  "Mats hat mit dem Klavier aufgehört"

The evidence is what the two share (content words), what each says besides, and whether the new one
reports a change. It decides nothing: `ingestion/questions.py` weighs it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from doxa.base.calendar_names import MONTHS
from doxa.base.words import STOP_WORDS
from doxa.language.comparison.differences import compared_words
from doxa.language.stated_values import read_value
from doxa.language.tables.reader import english_value, language_of, likely_language, tables_of

LIKENESS = (
    "change",  # the new sentence reports a change
    "covers_held",  # the share of the held content words that the new sentence has too
    "covers_new",
    "change_covered",  # the product of `change` and `covers_held`
    "besides",
    "owner_only",  # they share the name of a person, and nothing else
    "two_differ",  # a name or code differs, and a measured value as well: another thing
    "apart",  # grammar reads another subject; filled by the caller
)

_ENGLISH_TURNS = (
    r"now|new|no longer|any ?more|instead|again|back|since|lately|these days|turns out|different"
    r"|no more|after all|finally|chang\w+|switch\w*|mov(?:ed|ing)|migrat\w+|(?:up|down)grad\w+"
    r"|bump\w*|rais\w+|lower\w*|increas\w+|reduc\w+|(?:went|go(?:es|ing)?) (?:up|down)|renam\w+"
    r"|replac\w+|swap\w*|trad(?:ed|ing)|renew\w*|extend\w*|shorten\w*|postpon\w+|delay\w*|push\w*"
    r"|slip\w*|resched\w+|cancel\w*|stop\w*|start\w*|quit|left|g[ai]ve up|drop\w*|sold|hired|fired"
    r"|joined|retired|graduated|married|divorced|engaged|broke up|split|t(?:oo|a)kes? over"
    r"|pick\w* up|upped|cut|decided|ended|finished|closed|fixed|repaired|expired|bec[oa]me|got"
)
_NEAR_CHARS_MIN, _STEM_CHARS = 4, 5  # "logging" and "logs", "Budget" and "Marketingbudget"
_DIGIT = re.compile(r"\d")
_TIME = re.compile(r"\d{1,2}[:h]\d{2}|\d{1,2}(?:am|pm|h|时|点)")
_CODE = re.compile(r"[a-z][\w-]*\d", re.IGNORECASE)
_CLOCK_UNITS = frozenset(("uhr", "am", "pm", "h"))
_CHINESE_VALUE = re.compile(
    r"(?P<latin>[A-Za-z][\w.]*)|(?:周|星期|礼拜)(?P<day>[一二三四五六日天])"
    r"|(?P<number>\d[\d.:]*|[零一二三四五六七八九十百千万两半]+(?=[点个月年岁元块天分秒只辆间张名位台]))"
    r"(?P<unit>.?)"
)
_CHINESE_LIGHT = re.compile(r"我们|咱们|[的了是在有我用把被和到个由]|[^\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class SentenceContent:
    """What a sentence is compared by: content words, values as (kind, word), the capitalised word
    that it begins with, and whether it reports a change or an addition."""

    words: frozenset[str]
    values: frozenset[tuple[str, str]]
    owner: str
    change: bool
    besides: bool


def likeness(new: str, held: str) -> dict[str, float] | None:
    """Return the evidence of two sentences by the names of `LIKENESS`; None if they share no
    content word, or are not of one language."""
    language = likely_language(new, language_of(held))
    if language is not likely_language(held, language):
        return None
    code = language.code if language else ""
    one, other = read_content(new, code), read_content(held, code)
    shared = {word for word in other.words if _contains(one.words, word, code)}
    if not shared:
        return None
    covered = len(shared) / len(other.words)
    returned = sum(_contains(other.words, word, code) for word in one.words)
    changed = float(one.change)
    return {
        "change": changed,
        "covers_held": covered,
        "covers_new": returned / len(one.words),
        "change_covered": changed * covered,
        "besides": float(one.besides),
        "owner_only": float(shared == {other.owner}),
        "two_differ": float(_two_differ(one.values, other.values)),
    }


def _contains(words: frozenset[str], word: str, code: str) -> bool:
    return word in words or (code != "zh" and any(_near(word, one) for one in words))


def _near(one: str, other: str) -> bool:
    """Return whether two words are forms or parts of one."""
    if min(len(one), len(other)) < _NEAR_CHARS_MIN:
        return False
    return (
        one in other
        or other in one
        or (min(len(one), len(other)) >= _STEM_CHARS and one[:_STEM_CHARS] == other[:_STEM_CHARS])
    )


def _two_differ(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> bool:
    """Return whether both a name or code and a measured value differ: "Flug LH456 geht um 9 Uhr" is
    another flight than LH123, at 8."""
    names = [{word for kind, word in values if kind == "name"} for values in (one, other)]
    if not (names[0] - names[1] and names[1] - names[0]) or one & other - _named(one):
        return False
    kinds = {kind for kind, _ in one} & {kind for kind, _ in other} - {"name"}
    return bool(kinds)


def _named(values: frozenset[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    return frozenset(value for value in values if value[0] == "name")


@lru_cache(maxsize=8_192)
def read_content(sentence: str, code: str) -> SentenceContent:
    """Return what a sentence of a language is compared by."""
    read = compared_words(sentence, code)
    change = read.change or _turns(code).search(sentence) is not None
    if code == "zh":
        words, values = _chinese("".join(read.raw))
        return SentenceContent(words, values, "", change, read.besides)
    light = _light_words(code)
    found: set[str] = set()
    stated: set[tuple[str, str]] = set()
    following = (*(word.casefold() for word in read.raw), "")[1:]
    for place, (raw, norm, after) in enumerate(zip(read.raw, read.norms, following, strict=True)):
        kind = _kind(raw.casefold(), code, after)
        if kind:
            stated.add((kind, norm))
        elif len(raw) > 1 and not {raw.casefold(), norm} & light:
            found.add(norm)
            if raw[:1].isupper() and place and code != "de":  # German writes every noun so
                stated.add(("name", norm))
    owner = read.norms[0] if read.raw and read.raw[0][:1].isupper() else ""
    return SentenceContent(frozenset(found), frozenset(stated), owner, change, read.besides)


def _kind(word: str, code: str, after: str) -> str:
    """Return the kind of value that a word is, or nothing."""
    if _DIGIT.search(word):
        if _CODE.match(word):
            return "name"
        return "time" if _TIME.fullmatch(word) or after in _CLOCK_UNITS else "number"
    english = english_value(word, code) if code else word
    if english.casefold() in MONTHS:
        return "month"
    read = read_value(english, None).type
    return {"weekday": "weekday", "amount": "number"}.get(read, "")


def _chinese(text: str) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
    """Return the pairs of characters, and the values, of a Chinese sentence."""
    values = {
        ("name", match["latin"].casefold())
        if match["latin"]
        else ("weekday", match["day"])
        if match["day"]
        else (f"number {match['unit']}", match["number"])
        for match in _CHINESE_VALUE.finditer(text)
    }
    runs = _CHINESE_LIGHT.sub(" ", _CHINESE_VALUE.sub(" ", text)).split()
    words = {run[i : i + 2] for run in runs for i in range(max(1, len(run) - 1))}
    latin = {word for kind, word in values if kind == "name"}
    return frozenset(words | latin), frozenset(values)


@lru_cache(maxsize=8)
def _turns(code: str) -> re.Pattern[str]:
    """Return what reports a change."""
    if code == "zh":
        return re.compile(tables_of(code).language.turns)
    listed = tables_of(code).language.turns if code else _ENGLISH_TURNS
    return re.compile(rf"\b(?:{listed})\b", re.IGNORECASE)


@lru_cache(maxsize=8)
def _light_words(code: str) -> frozenset[str]:
    """Return words that say little of what a sentence speaks of."""
    if not code:
        return STOP_WORDS
    return STOP_WORDS | frozenset(tables_of(code).language.common.split())
