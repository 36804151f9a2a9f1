"""A reader without a language model: the best sentence of what was recalled, made short, and dates
worked out from when it was said.

    when             the date that the best sentence mentions, resolved against its turn's time
    ("last week" -> "The week before 9 June 2023");
                     else the day on which it was said
    how many, much   the first number of the best sentence, with the word behind it
    a list           "what books", "which places", ...: the best clause of each of the best
    sentences, with commas between
    anything else    the best clause of the best sentence, without what the question says already
    and without words that say nothing

A sentence is good as far as it holds the question's rare words, stands in a turn that was recalled
early, and was said by whom the question names. The form of a date is that of LoCoMo's gold answers;
forms and weights were chosen on its first three conversations. It cannot infer, count or compare:
its figure says how near the recalled words are to an answer, and a language model that reads the
same turns does better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import NamedTuple

from bench.baselines import STOP_WORDS, words_of
from bench.corpora import DAY_NS, SECOND_NS
from doxa.base.calendar_names import WEEKDAYS
from doxa.base.dates import DateMention, find_dates
from doxa.language.turns import Turn

NO_ANSWER = "No information available"
TURNS_READ = 10
_RANK_WEIGHT = 0.05
_SPEAKER_BONUS = 0.5
_DATE_BONUS = 0.35
_NUMBER_BONUS = 0.3
_LISTED = 3
_CLAUSE_WORDS_MAX = 12
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_CLAUSE = re.compile(
    r"\s*(?:[,;:()–—]|\s-\s|\.\.\.|\b(?:but|because|so|which|while|although|though)\b)\s*"
)
_WORD = re.compile(r"[\w'’&+-]+")
_NUMBER = re.compile(
    r"\b(?:\d[\d,.]*\d|\d|a couple|once|twice"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"^\W*(?:when|(?:on |in |since )?(?:what|which) (?:date|day|month|year|time))\b", re.IGNORECASE
)
_HOW_MANY = re.compile(r"\bhow (?:many|much|long|old|often)\b", re.IGNORECASE)
_LIST = re.compile(
    r"^\W*(?:in |at |with |from )?(?:what|which)(?: \w+)?"
    r" (?!does\b|is\b|was\b|has\b|class\b)\w{3,}s\b",
    re.IGNORECASE,
)
_YES_NO = re.compile(
    r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|would|will|should|might)\b",
    re.IGNORECASE,
)
_EMPTY = STOP_WORDS | frozenset(
    "also really very well oh hey hi yeah yes yep wow thanks thank like got get going gonna went"
    " been even still ive im its dont here us".split()
)


class Sentence(NamedTuple):
    """A sentence of a recalled turn and how well it fits the question."""

    text: str
    turn: Turn
    score: float


def read_answer(question: str, turns: Sequence[Turn], *, answerable: float | None = None) -> str:
    """A short answer from recalled turns, the best first; `NO_ANSWER` where nothing was recalled or
    recall says that memory has no answer."""
    if not turns or (answerable is not None and answerable < 0.5):
        return NO_ANSWER
    ranked = _ranked(question, turns[:TURNS_READ])
    if not ranked:
        return NO_ANSWER
    best = ranked[0]
    if _WHEN.search(question):
        return _date_of(best)
    if _HOW_MANY.search(question) and (number := _number_of(best.text)):
        return number
    if _YES_NO.search(question):
        return "Yes"
    asked = set(words_of(question))
    if _LIST.search(question):
        return ", ".join(dict.fromkeys(_short(one.text, asked) for one in ranked[:_LISTED]))
    return _short(best.text, asked)


def _ranked(question: str, turns: Sequence[Turn]) -> list[Sentence]:
    """Every sentence of the turns, the best first, earlier recalled ones first among equals."""
    names = {name for turn in turns for name in words_of(turn.speaker)}
    named = {
        turn.speaker for turn in turns if set(words_of(turn.speaker)) & set(words_of(question))
    }
    asked = set(words_of(question)) - names
    split = [
        (place, turn, text)
        for place, turn in enumerate(turns)
        for text in _SENTENCE.split(turn.text)
        if _WORD.search(text)
    ]
    held = [set(words_of(text)) for _, _, text in split]
    weights = {
        word: math.log1p(len(held) / (1 + sum(word in one for one in held))) for word in asked
    }
    mass = sum(weights.values()) or 1.0
    wants_date, wants_number = _WHEN.search(question), _HOW_MANY.search(question)
    found = []
    for (place, turn, text), words in zip(split, held, strict=True):
        score = sum(weights[word] for word in asked & words) / mass - _RANK_WEIGHT * place
        score += _SPEAKER_BONUS * (turn.speaker in named)
        score += _DATE_BONUS * bool(wants_date and find_dates(text, turn.time_ns))
        score += _NUMBER_BONUS * bool(wants_number and _NUMBER.search(text))
        score -= 0.5 * text.rstrip().endswith("?")
        found.append(Sentence(text, turn, score))
    return sorted(found, key=lambda one: -one.score)


def _date_of(sentence: Sentence) -> str:
    mentions = find_dates(sentence.text, sentence.turn.time_ns)
    if mentions:
        return _written(mentions[0], sentence.turn.time_ns)
    return _day(sentence.turn.time_ns) if sentence.turn.time_ns is not None else NO_ANSWER


def _written(mention: DateMention, said_ns: int | None) -> str:
    """A resolved mention as LoCoMo writes it: what is a week or a weekday away is named by the day
    on which it was said."""
    text = mention.text.lower()
    weekday = next((name for name in WEEKDAYS if name in text), "")
    span_days = (mention.end_ns - mention.start_ns) // DAY_NS
    if said_ns is not None and ("week" in text or weekday):
        unit = weekday or ("weekend" if "weekend" in text else "week")
        if "ago" not in text and not text.startswith("this"):
            side = "before" if mention.start_ns < said_ns else "after"
            return f"The {unit} {side} {_day(said_ns)}"
    start = _date(mention.start_ns)
    if mention.precision == "year":
        return str(start.year)
    if mention.precision == "month" and span_days > 7:
        return f"{start:%B} {start.year}"
    return _day(mention.start_ns)


def _date(time_ns: int) -> date:
    return datetime.fromtimestamp(time_ns // SECOND_NS, UTC).date()


def _day(time_ns: int) -> str:
    day = _date(time_ns)
    return f"{day.day} {day:%B} {day.year}"


def _number_of(text: str) -> str:
    found = _NUMBER.search(text)
    if not found:
        return ""
    following = _WORD.match(text[found.end() :].lstrip())
    return (
        f"{found.group()} {following.group()}"
        if following and following.group().lower() not in STOP_WORDS
        else found.group()
    )


def _short(sentence: str, asked: set[str]) -> str:
    """The clause that says most that is new and of what was asked, without empty words."""
    clauses = [clause for clause in _CLAUSE.split(sentence) if _WORD.search(clause)]

    def worth(clause: str) -> float:
        words = set(words_of(clause))
        return len(words & asked) + 0.5 * min(4, len(words - asked)) if words - asked else 0.0

    words = _WORD.findall(max(clauses, key=worth, default=sentence))
    kept = [
        word
        for word in words
        if not (set(words_of(word)) & asked and len(words) > 3) and _plain(word) not in _EMPTY
    ]
    return " ".join((kept or words)[:_CLAUSE_WORDS_MAX])


def _plain(word: str) -> str:
    return word.lower().replace("'", "").replace("’", "")
