"""Compare two English sentences that need not have the same form: does a new one report a change of
the only quantity, time or state of a held one, and name everything else that the held one names?

    held  "I take 20 mg of atorvastatin."     new  "my atorvastatin is 40 mg now"
    held  "The support team has 12 people."   new  "support team is down to 10 people"
    held  "The flag is off in production."    new  "turned the flag on in production"

Both must have exactly one value of the same kind and unit. The held words may occur in any order;
the new sentence adds only words about change in general. A word that could name another subject, a
scope or a person prevents the comparison.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doxa.base.words import stem
from doxa.language.comparison.differences import Difference
from doxa.language.sentences import says_besides, without_times
from doxa.language.tables.reader import language_of

_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_NUMBERS = (
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
).split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
)
_NUMBER = rf"(?:\d[\d.,]*\d|\d|\b(?:{'|'.join(_NUMBERS)})\b)"
_QUANTITY = re.compile(
    rf"(?P<date>\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}"
    r"(?!\w))|(?P<time>\b\d{1,2}(?::\d\d)? ?[ap]\.?m\b\.?|\b\d{1,2}:\d\d\b)"
    rf"|(?P<weekday>\b{_WEEKDAY}\b)|(?P<money>[$€£]\d[\d.,]*[km]?\b)|(?P<share>\d[\d.,]*\s?%)"
    rf"|(?P<number>{_NUMBER})[ -]?(?P<unit>[a-z]+)"
    rf"|\b(?P<ordinal>{'|'.join(_ORDINALS)}|\d+(?:st|nd|rd|th)) (?P<noun>[a-z]+)"
    r"|\b(?P<switch>on|off)\b(?= in | for |$)|\b(?P<running>up|down)\b(?! to\b| from\b)"
    r"|\b(?P<access>open|closed)\b|\b(?P<use>enabled|disabled)\b",
    re.IGNORECASE,
)
_CHANGING = re.compile(
    r"\b(?:chang|mov|switch|turn|went|rais|lower|increas|reduc|decreas|postpon|reschedul|push)\w*"
    r"|\b(?:down|up) (?:to|from)\b|\bback (?:up|down|on|off|open)\b",
    re.IGNORECASE,
)
_UNSUITABLE = re.compile(
    r"\b(?:not|no|never|neither|without|was|were|had|used to|will|would|last|until|or|if)\b|n't\b",
    re.IGNORECASE,
)
_LIGHT = frozenset(
    stem(word)
    for word in (
        "a an the of in on at for to by with is are am be has have had do does it its i we my our"
        " me us s re m takes take using use uses get gets so and that this there from"
    ).split()
)
_GENERAL = frozenset(
    stem(word)
    for word in (
        "change changed moved switched turned went date time day number new back up down again"
        " now raised lowered increased reduced decreased postponed rescheduled pushed go goes"
        " update updated actually finally"
    ).split()
)
_OTHERS = re.compile(r"\b(?:he|she|they|his|her|hers|their|theirs|you|your)\b", re.IGNORECASE)
_FIRST = re.compile(r"\b(?:I|[Mm]y|[Mm]e|[Mm]ine)\b")
_WORD = re.compile(r"[^\W_]+(?:[.:@/+-][^\W_]+)*")


class _Covered(NamedTuple):
    """A sentence with one quantity: the kind and text of the quantity, the content words, and
    whether the sentence speaks in the first person singular."""

    kind: str
    value: str
    content: frozenset[str]
    first: bool
    change: bool


def changed_quantity(new: str, held: str) -> Difference | None:
    """Return how a new sentence changes the only quantity of a held one; None if it does not."""
    if language_of(new) is not None or language_of(held) is not None:
        return None
    one, other = _covered(new), _covered(held)
    if one is None or other is None or not one.change or one.kind != other.kind:
        return None
    if _normal(one.value) == _normal(other.value) or one.first != other.first:
        return None
    if not other.content or not other.content <= one.content:
        return None
    if not one.content - other.content <= _GENERAL:
        return None
    frame = held.replace(other.value, "").strip(" .!")
    return Difference(
        frame, other.value, one.value, measured=True, change=True, denied=False, besides=False
    )


def _covered(sentence: str) -> _Covered | None:
    if _UNSUITABLE.search(sentence) or _OTHERS.search(sentence) or says_besides(sentence):
        return None
    text, change = without_times(sentence.strip(" .!"))
    found = list(_QUANTITY.finditer(text))
    if len(found) != 1:
        return None
    match = found[0]
    rest = f"{text[: match.start()]} {text[match.end() :]}".replace("'", " ")
    content = frozenset(stem(word.casefold()) for word in _WORD.findall(rest)) - _LIGHT
    return _Covered(
        _kind(match),
        match[0],
        content,
        first=_FIRST.search(sentence) is not None,
        change=change or _CHANGING.search(sentence) is not None,
    )


def _kind(match: re.Match[str]) -> str:
    if match["number"]:
        return f"number {stem(match['unit'].casefold())}"
    if match["ordinal"]:
        return f"ordinal {stem(match['noun'].casefold())}"
    return str(match.lastgroup)


def _normal(value: str) -> str:
    """Return a value with its number words as digits and without spaces."""
    words = (
        str(_NUMBERS.index(word) + 1) if word in _NUMBERS else word
        for word in value.casefold().split()
    )
    return "".join(words).replace(",", "")
