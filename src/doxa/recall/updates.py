"""Which turns restate, with another value, what an earlier turn states: the later is placed just
above. Pure: texts and weights in, an order out.

Turns supersede nothing: "the deadline is April 1" and "the new deadline is April 5" both answer
when the deadline is, and the first often in better words. Among the best UPDATE_HITS hits of a
question that asks for the current state of something:

    value       a value (number, share, date, time of day, money, version) with the question's terms
                around it in its sentence; or a word of replacement (moved, instead, no longer),
                which has no value
    restates    the same speaker says it later; its value has the type of the earlier one and is
                not among those of the earlier turn, unless as a goal; and the terms around both
                weigh at least UPDATE_OVERLAP of the question, UPDATE_OVERLAP_CHANGED if a word of
                change stands near the later value, UPDATE_OVERLAP_REPLACED where there is no value
                to compare. If the question writes a name that only the earlier turn contains,
                UPDATE_OVERLAP is not enough: the later turn may be about something else
    placed      just above the best turn that it restates, so that of several values the latest
                comes first; at most UPDATE_MOVES_MAX in an answer

Only the question's own terms are weighed, by the idf of the index, so the price is one pass over a
few texts. A value in code states nothing, and an assistant's words state nothing for the user.
A question about the past, or about a course of events, moves nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from doxa.base.calendar_names import MONTH_ABBREVIATIONS, MONTHS, WEEKDAYS
from doxa.base.limits import QUERY_CHARS_READ, RESTATED_CHARS_READ
from doxa.base.words import STOP_WORDS, stem, terms
from doxa.recall import constants

_MONTHS = frozenset((*MONTHS, *MONTH_ABBREVIATIONS))
_DAY_SUFFIXES = frozenset("st nd rd th of".split())  # April 5th, 5th of April
_MONEY = frozenset("dollar dollars euro euros pound pounds usd eur gbp".split())
_SPELT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "dozen": "12"}
_NUMBERS = {word: str(number) for number, word in enumerate(_SPELT.split())} | _TENS
_TOKEN = re.compile(
    r"[^\W\d_]+|[$€£¥]?\d(?:[\d.,:/-]*\d)?%?|[.!?](?=\s|$)|[\n,;:()]"
)  # words, numbers, ends of sentences, pauses
_ENDS = ".!?\n"
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_REPLACEMENT = (
    r"instead|longer|anymore|moved|resched\w+|postpon\w+|delayed|switch(?:ed|ing)|replac(?:ed|ing)"
    r"|migrat(?:ed|ing)|chang(?:ed|ing)|renamed|upgrad(?:ed|ing)"
)
_REPLACEMENTS = re.compile(_REPLACEMENT)
_CHANGES = re.compile(
    r"now|new|newly|newest|recent(?:ly)?|latest|lately|current(?:ly)?|already|actually|extra"
    r"|additional|total|reach\w*|updat\w+|chang\w+|mov(?:e|ing)|extend\w*|extension|shorten\w*"
    r"|switch\w*|replac\w+|migrat\w+|delay\w*|increas\w+|rais\w+|rose|risen|gr[eo]wn?|growth"
    r"|grow\w+|jump\w*|climb\w*|doubl\w+|decreas\w+|reduc\w+|drop\w*|fell|fallen|shr[au]nk|cut"
    r"|lower\w*|improv\w+|boost\w*|bump\w*|adjust\w*|revis\w+|expand\w*|upgrad\w+|add(?:ed|ing)?"
    r"|correct\w*|" + _REPLACEMENT
)
_GOALS = frozenset(
    "goal goals target targets aim aims aiming want wants hope hopes hoping achieve wish".split()
)
# "how do I": no value is asked for
_MANNER = (
    "do|does|did|can|could|should|would|will|shall|to|about|has|have|had|is|are|am|was|were|come"
    "|not"
)
_ASKS = re.compile(rf"\b(what|which|when|where|who|whose|still|how (?!(?:{_MANNER})\b)[a-z]+)\b")
# where nothing else is asked
_KINDS = {"when": frozenset(("date", "clock")), "how many": frozenset(("number",))}
_PAST = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at"
    r" first|previous(?:ly)?|earlier|formerly|(?:i|we|you|he|she|they|it|that|who|what) used"
    r" to|back then"
    r"|in the beginning|history|over time|between|in order(?! to)|order in which|summar\w+"
    r"|how (?:did|has|have) .{0,80}?(?:chang|evolv|develop|progress|improv)\w*)\b|\bbefore\W*$"
)
_NAME = re.compile(r"(?<=[^\s.!?] )[A-Z]\w+")


class RankedTurn(NamedTuple):
    """A hit as the rule sees it. Hits of equal `by` have one speaker; a hit of None stays where it
    is."""

    by: Hashable | None
    time: tuple[int, int]
    text: str


class ComparedValue(NamedTuple):
    """One value of a text. `terms` are those of the question around it, `units` what a number
    counts."""

    kind: str
    value: str
    units: frozenset[str]
    terms: frozenset[str]
    changed: bool
    goal: bool


class Topic(NamedTuple):
    """What a question asks about: the weights of its terms and their sum, the terms that are names,
    and the kinds of value asked for (none: all)."""

    weights: Mapping[str, float]
    mass: float
    names: frozenset[str]
    kinds: frozenset[str]


def asks_current_state(question: str) -> bool:
    """Return whether a question asks for something as it is, not as it was or came to be."""
    text = question[:QUERY_CHARS_READ].casefold()
    return bool(_ASKS.search(text)) and not _PAST.search(text)


def reorder(
    question: str, weights: Mapping[str, float], turns: Sequence[RankedTurn]
) -> list[tuple[int, int | None]]:
    """Return the places of the hits in their new order, each with the place of the hit above which
    it was moved because it restates it, or None."""
    topic = _topic(question, weights)
    order: list[tuple[int, int | None]] = []
    read: dict[int, list[ComparedValue]] = {}
    left = constants.UPDATE_MOVES_MAX

    def stated(place: int) -> list[ComparedValue]:
        if place not in read:
            read[place] = stated_values(turns[place].text, topic)
        return read[place]

    for place, turn in enumerate(turns):
        above = None
        if left and turn.by is not None:
            before = (
                (at, other)
                for at, (other, _) in enumerate(order)
                if turns[other].by == turn.by and turns[other].time < turn.time
            )
            above = next(
                (at for at, other in before if restates(stated(place), stated(other), topic)), None
            )
        if above is None:
            order.append((place, None))
        else:
            order.insert(above, (place, order[above][0]))
            left -= 1
    return order


def _topic(question: str, weights: Mapping[str, float]) -> Topic:
    text = question[:QUERY_CHARS_READ]
    asked = set(_ASKS.findall(text.casefold()))
    names = frozenset(term for name in _NAME.findall(text) for term in terms(name))
    kinds = _KINDS.get(asked.pop(), frozenset()) if len(asked) == 1 else frozenset()
    return Topic(weights, sum(weights.values()), names & weights.keys(), kinds)


def stated_values(text: str, topic: Topic) -> list[ComparedValue]:
    """Return what a text states near the question's terms, in order; last, as the kind `text`, the
    terms that it contains anywhere."""
    scan = _scan(text, topic.weights)
    found = []
    for place, kind, value in scan.values:
        if topic.kinds and kind not in topic.kinds and kind != "replacement":
            continue
        sentence = bisect_left(scan.ends, place)
        low = max(scan.ends[sentence - 1] if sentence else 0, place - constants.VALUE_WORDS_BEFORE)
        high = min(
            scan.ends[sentence] if sentence < len(scan.ends) else len(scan.tokens),
            place + constants.VALUE_WORDS_AFTER + 1,
        )
        near = frozenset(term for at, term in scan.terms if low <= at < high)
        units = _units(scan.tokens[place + 1 : high]) if kind == "number" else frozenset()
        if not near or (units and "number" in topic.kinds and not units & topic.weights.keys()):
            continue  # about something else, or a count of something else
        changed = any(
            max(low, place - constants.CHANGE_WORDS_BEFORE)
            <= at
            <= min(high, place + constants.CHANGE_WORDS_AFTER)
            for at in scan.changes
        )
        goals_from = max(low, place - constants.GOAL_WORDS_BEFORE)
        goal = any(goals_from <= at < place for at in scan.goals)
        found.append(ComparedValue(kind, value, units, near, changed, goal))
    anywhere = frozenset(term for _, term in scan.terms)
    found.append(ComparedValue("text", "", frozenset(), anywhere, False, False))
    return found


class _Scan(NamedTuple):
    """One pass over a text: its tokens, and the places of those that the rule needs."""

    tokens: list[str]
    values: list[tuple[int, str, str]]  # place, kind, value
    terms: list[tuple[int, str]]
    changes: list[int]
    goals: list[int]
    ends: list[int]


def _scan(text: str, weights: Mapping[str, float]) -> _Scan:
    prose = (
        _CODE.sub("\n", text[:RESTATED_CHARS_READ]) if "```" in text else text[:RESTATED_CHARS_READ]
    )
    scan = _Scan(_TOKEN.findall(prose.casefold()), [], [], [], [], [])
    for place, token in enumerate(scan.tokens):
        first = token[0]
        if first.isalpha():
            cut, number, role = _read(token)
            if cut in weights:
                scan.terms.append((place, cut))
            if number:
                scan.values.append((place, "number", number))
            elif role == "goal":
                scan.goals.append(place)
            elif role == "date":
                scan.values.extend(_date(scan.tokens, place))
            elif role:
                scan.changes.append(place)
                if role == "replacement":
                    scan.values.append((place, role, ""))
        elif first in _ENDS:
            scan.ends.append(place)
        elif len(token) > 1 or first.isdigit():
            scan.values.extend(_number(scan.tokens, place))
            scan.terms.extend((place, term) for term in terms(token) if term in weights)
    return scan


@lru_cache(maxsize=16_384)
def _read(word: str) -> tuple[str, str, str]:
    """A word's stem, the number that it spells, and its role: a date, a goal, a replacement, a
    change or none."""
    if word in _MONTHS or word.removesuffix("s") in WEEKDAYS:
        return stem(word), "", "date"
    role = (
        "goal"
        if word in _GOALS
        else "replacement"
        if _REPLACEMENTS.fullmatch(word)
        else "change"
        if _CHANGES.fullmatch(word)
        else ""
    )
    return stem(word), _NUMBERS.get(word, ""), role


def _number(tokens: Sequence[str], place: int) -> list[tuple[int, str, str]]:
    """The kind and value of a number, by its form and the words next to it; nothing where it
    belongs to a date."""
    text = tokens[place]
    before = tokens[place - 1] if place else ""
    after = tokens[place + 1 : place + 4]
    value = text.strip("$€£¥%").replace(",", "")
    if (
        before in _MONTHS
        or _month_after(after)
        or not _MONTHS.isdisjoint(tokens[max(0, place - 3) : place])
    ):
        return []  # the day or the year of a date, which is read at its month
    if text[-1] == "%" or after[:1] == ["percent"]:
        kind = "share"
    elif not text[0].isdigit() or (after and after[0] in _MONEY):
        kind = "money"
    elif (
        ":" in text or (after and after[0] in ("am", "pm")) or after[:2] in (["a", "m"], ["p", "m"])
    ):
        kind = "clock"
        value = value.removesuffix(":00") + (
            after[0][0]
            if after and after[0][0] in "ap" and after[0] in ("am", "pm", "a", "p")
            else ""
        )
    elif value.count("-") == 2 or value.count("/") == 2:
        kind = "date"
    elif value.count(".") > 1 or before == "v":
        kind = "version"
    else:
        kind = "number"
    return [(place, kind, value)]


def _month_after(after: Sequence[str]) -> bool:
    return next((token for token in after if token not in _DAY_SUFFIXES), "") in _MONTHS


def _date(tokens: Sequence[str], place: int) -> list[tuple[int, str, str]]:
    """A weekday; or a month with the day before or after it, or alone as in `by May`. The year is
    ignored: few repeat it."""
    word = tokens[place]
    if word not in _MONTHS:
        return [(place, "date", word.removesuffix("s"))]
    neighbours = [
        tokens[place + 1 : place + 2],
        [token for token in tokens[max(0, place - 3) : place] if token not in _DAY_SUFFIXES][-1:],
    ]
    day = next(
        (token for near in neighbours for token in near if token.isdigit() and len(token) < 3), ""
    )
    if day or tokens[max(0, place - 1) : place] in (["in"], ["by"], ["until"]):
        return [(place, "date", f"{word[:3]} {int(day)}" if day else word[:3])]
    return []


def _units(tokens: Sequence[str]) -> frozenset[str]:
    """The unit of a number: the stems of the words after it, up to a pause or a stop word."""
    units = []
    for token in tokens[: constants.UNIT_WORDS]:
        if not token.isalpha() or token in STOP_WORDS:
            break
        units.append(stem(token))
    return frozenset(units)


def restates(
    later: Sequence[ComparedValue], earlier: Sequence[ComparedValue], topic: Topic
) -> bool:
    """Return whether the later turn states another value for something that the earlier states."""
    missing = topic.names & earlier[-1].terms - later[-1].terms
    for new in later[:-1]:
        old = [stated for stated in earlier if _of_one_type(stated, new)]
        if any(new.value == stated.value != "" and not stated.goal for stated in old):
            continue
        if missing and not new.changed:
            continue
        least = (
            constants.UPDATE_OVERLAP_REPLACED
            if new.kind == "replacement"
            else constants.UPDATE_OVERLAP_CHANGED
            if new.changed
            else constants.UPDATE_OVERLAP
        )
        if any(
            sum(topic.weights[term] for term in stated.terms & new.terms) >= least * topic.mass
            for stated in old
        ):
            return True
    return False


def _of_one_type(old: ComparedValue, new: ComparedValue) -> bool:
    """Whether two values could answer the same question. A number without a unit takes the other's
    if that occurs near it."""
    if new.kind == "replacement":
        return old.kind == "text"
    if old.kind != new.kind:
        return False
    if old.kind != "number" or old.units & new.units or not (old.units or new.units):
        return True
    return bool(
        (not old.units and new.units & old.terms) or (not new.units and old.units & new.terms)
    )
