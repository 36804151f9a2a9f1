"""Which turns restate, with another value, what an earlier turn says: the later is placed just
above. Pure: texts and weights in, an order out.

Turns supersede nothing: "the deadline is April 1" and "the new deadline is April 5" both answer
when the deadline is, and the first often in better words. Among the best POOL hits of a question
that asks how something stands:

    statement   a value (number, share, date, time of day, money, version) with the question's terms
    around it in its sentence; or a word
                that says that something is otherwise than before (moved, instead, no longer), which
                has no value
    restates    the same speaker says it later; its value has the type of the earlier one and is
    none that the earlier turn holds, unless as a
                goal; and the terms around both weigh at least ALIKE of the question, CHANGED if a
                word of change stands near the later
                value, TURNED where there is no value to compare. If the question writes a name that
                only the earlier says, ALIKE is
                not enough: that may be another matter
    placed      just above the best turn that it restates, so that of several values the latest
    comes first; at most MOVES in an answer

Only the question's own terms are weighed, by the idf of the index, so that the price is one pass
over a few texts. A value in code is no statement, and what an assistant says is none of the user's.
A question about how things were, or about their course, moves nothing.
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

POOL = 20
MOVES = 3
ALIKE = 0.4
CHANGED = 0.2
TURNED = 0.4
_BEFORE, _AFTER = 20, 20  # words around a value that belong to it
_CHANGE_BEFORE, _CHANGE_AFTER, _GOAL_BEFORE = 12, 6, 8
_UNIT_WORDS = 3

_MONTHS = frozenset((*MONTHS, *MONTH_ABBREVIATIONS))
_BESIDE_DAY = frozenset("st nd rd th of".split())  # April 5th, 5th of April
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
_TURN = (
    "instead|longer|anymore|moved|resched\\w+|postpon\\w+|delayed|switch(?:ed|ing)|replac(?:ed|ing)|migrat(?:ed|ing)|chang(?:ed|ing)"
    "|renamed|upgrad(?:ed|ing)"
)
_TURNS = re.compile(_TURN)
_CHANGES = re.compile(
    r"now|new|newly|newest|recent(?:ly)?|latest|lately|current(?:ly)?|already|actually|extra|additional|total|reach\w*|updat\w+|chang\w+"
    r"|mov(?:e|ing)|extend\w*|extension|shorten\w*|switch\w*|replac\w+|migrat\w+|delay\w*|increas\w+|rais\w+|rose|risen|gr[eo]wn?|growth"
    r"|grow\w+|jump\w*|climb\w*|doubl\w+|decreas\w+|reduc\w+|drop\w*|fell|fallen|shr[au]nk|cut|lower\w*|improv\w+|boost\w*|bump\w*|adjust\w*|revis\w+|expand\w*|upgrad\w+|add(?:ed|ing)?"
    r"|correct\w*|" + _TURN
)
_GOALS = frozenset(
    "goal goals target targets aim aims aiming want wants hope hopes hoping achieve wish".split()
)
_MANNER = "do|does|did|can|could|should|would|will|shall|to|about|has|have|had|is|are|am|was|were|come|not"  # "how do I": no value is asked for
_ASKS = re.compile(rf"\b(what|which|when|where|who|whose|still|how (?!(?:{_MANNER})\b)[a-z]+)\b")
_KINDS = {
    "when": frozenset(("date", "clock")),
    "how many": frozenset(("number",)),
}  # where nothing else is asked
_PAST = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at"
    r" first|previous(?:ly)?|earlier|formerly|(?:i|we|you|he|she|they|it|that|who|what) used"
    r" to|back then"
    r"|in the beginning|history|over time|between|in order(?! to)|order in which|summar\w+"
    r"|how (?:did|has|have) .{0,80}?(?:chang|evolv|develop|progress|improv)\w*)\b|\bbefore\W*$"
)
_NAME = re.compile(r"(?<=[^\s.!?] )[A-Z]\w+")


class Said(NamedTuple):
    """A hit as the rule sees it. Hits of equal `by` have one speaker; None: this one is left as it
    is."""

    by: Hashable | None
    time: tuple[int, int]
    text: str


class Statement(NamedTuple):
    """One value of a text. `terms` are those of the question around it, `units` what a number
    counts."""

    kind: str
    value: str
    units: frozenset[str]
    terms: frozenset[str]
    changed: bool
    goal: bool


class Matter(NamedTuple):
    """What a question asks about: its terms and their weights, those that are names, and the kinds
    of value asked for (none: all)."""

    weights: Mapping[str, float]
    mass: float
    names: frozenset[str]
    kinds: frozenset[str]


def asks_how_it_stands(question: str) -> bool:
    """Whether a question asks for something as it is, not as it was or came to be."""
    text = question[:QUERY_CHARS_READ].casefold()
    return bool(_ASKS.search(text)) and not _PAST.search(text)


def reordered(
    question: str, weights: Mapping[str, float], said: Sequence[Said]
) -> list[tuple[int, int | None]]:
    """The places of the hits in their new order, each with the place of the hit that it was put
    above for restating it, or None."""
    matter = _matter(question, weights)
    order: list[tuple[int, int | None]] = []
    read: dict[int, list[Statement]] = {}
    left = MOVES

    def stated(place: int) -> list[Statement]:
        if place not in read:
            read[place] = statements(said[place].text, matter)
        return read[place]

    for place, turn in enumerate(said):
        above = None
        if left and turn.by is not None:
            before = (
                (at, other)
                for at, (other, _) in enumerate(order)
                if said[other].by == turn.by and said[other].time < turn.time
            )
            above = next(
                (at for at, other in before if restates(stated(place), stated(other), matter)), None
            )
        if above is None:
            order.append((place, None))
        else:
            order.insert(above, (place, order[above][0]))
            left -= 1
    return order


def _matter(question: str, weights: Mapping[str, float]) -> Matter:
    text = question[:QUERY_CHARS_READ]
    asked = set(_ASKS.findall(text.casefold()))
    names = frozenset(term for name in _NAME.findall(text) for term in terms(name))
    kinds = _KINDS.get(asked.pop(), frozenset()) if len(asked) == 1 else frozenset()
    return Matter(weights, sum(weights.values()), names & weights.keys(), kinds)


def statements(text: str, matter: Matter) -> list[Statement]:
    """What a text states near the question's terms, in order; last what it says anywhere, as the
    kind `said`."""
    scan = _scan(text, matter.weights)
    found = []
    for place, kind, value in scan.values:
        if matter.kinds and kind not in matter.kinds and kind != "turn":
            continue
        sentence = bisect_left(scan.ends, place)
        low = max(scan.ends[sentence - 1] if sentence else 0, place - _BEFORE)
        high = min(
            scan.ends[sentence] if sentence < len(scan.ends) else len(scan.tokens),
            place + _AFTER + 1,
        )
        near = frozenset(term for at, term in scan.terms if low <= at < high)
        units = _units(scan.tokens[place + 1 : high]) if kind == "number" else frozenset()
        if not near or (units and "number" in matter.kinds and not units & matter.weights.keys()):
            continue  # of another matter, or how many of something else
        changed = any(
            max(low, place - _CHANGE_BEFORE) <= at <= min(high, place + _CHANGE_AFTER)
            for at in scan.changes
        )
        goal = any(max(low, place - _GOAL_BEFORE) <= at < place for at in scan.goals)
        found.append(Statement(kind, value, units, near, changed, goal))
    found.append(
        Statement("said", "", frozenset(), frozenset(term for _, term in scan.terms), False, False)
    )
    return found


class _Scan(NamedTuple):
    """One pass over a text: its tokens, and the places among them of what counts here."""

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
                if role == "turn":
                    scan.values.append((place, role, ""))
        elif first in _ENDS:
            scan.ends.append(place)
        elif len(token) > 1 or first.isdigit():
            scan.values.extend(_number(scan.tokens, place))
            scan.terms.extend((place, term) for term in terms(token) if term in weights)
    return scan


@lru_cache(maxsize=16_384)
def _read(word: str) -> tuple[str, str, str]:
    """A word's stem, the number that it spells, and whether it speaks of a goal, a change, a turn
    or a date."""
    if word in _MONTHS or word.removesuffix("s") in WEEKDAYS:
        return stem(word), "", "date"
    role = (
        "goal"
        if word in _GOALS
        else "turn"
        if _TURNS.fullmatch(word)
        else "change"
        if _CHANGES.fullmatch(word)
        else ""
    )
    return stem(word), _NUMBERS.get(word, ""), role


def _number(tokens: Sequence[str], place: int) -> list[tuple[int, str, str]]:
    """The kind and value of a number by how it is written and what stands beside it; nothing where
    it belongs to a date."""
    text = tokens[place]
    before = tokens[place - 1] if place else ""
    after = tokens[place + 1 : place + 4]
    value = text.strip("$€£¥%").replace(",", "")
    if (
        before in _MONTHS
        or _month_after(after)
        or not _MONTHS.isdisjoint(tokens[max(0, place - 3) : place])
    ):
        return []  # the day or the year of a date that its month tells
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
    return next((token for token in after if token not in _BESIDE_DAY), "") in _MONTHS


def _date(tokens: Sequence[str], place: int) -> list[tuple[int, str, str]]:
    """A weekday; or a month with the day before or after it, or as in `by May`. The year is left
    out: few say it twice."""
    word = tokens[place]
    if word not in _MONTHS:
        return [(place, "date", word.removesuffix("s"))]
    beside = [
        tokens[place + 1 : place + 2],
        [token for token in tokens[max(0, place - 3) : place] if token not in _BESIDE_DAY][-1:],
    ]
    day = next(
        (token for near in beside for token in near if token.isdigit() and len(token) < 3), ""
    )
    if day or tokens[max(0, place - 1) : place] in (["in"], ["by"], ["until"]):
        return [(place, "date", f"{word[:3]} {int(day)}" if day else word[:3])]
    return []


def _units(tokens: Sequence[str]) -> frozenset[str]:
    """What is counted: the stems of the words after a number, up to a pause or a stop word."""
    units = []
    for token in tokens[:_UNIT_WORDS]:
        if not token.isalpha() or token in STOP_WORDS:
            break
        units.append(stem(token))
    return frozenset(units)


def restates(later: Sequence[Statement], earlier: Sequence[Statement], matter: Matter) -> bool:
    """Whether the one says anew, with another value, what the other says."""
    missing = matter.names & earlier[-1].terms - later[-1].terms
    for new in later[:-1]:
        old = [statement for statement in earlier if _of_one_type(statement, new)]
        if any(new.value == statement.value != "" and not statement.goal for statement in old):
            continue
        if missing and not new.changed:
            continue
        least = TURNED if new.kind == "turn" else CHANGED if new.changed else ALIKE
        if any(
            sum(matter.weights[term] for term in statement.terms & new.terms) >= least * matter.mass
            for statement in old
        ):
            return True
    return False


def _of_one_type(old: Statement, new: Statement) -> bool:
    """Values that could answer the same question. A number that does not say what it counts takes
    the other's unit if that is said near it."""
    if new.kind == "turn":
        return old.kind == "said"
    if old.kind != new.kind:
        return False
    if old.kind != "number" or old.units & new.units or not (old.units or new.units):
        return True
    return bool(
        (not old.units and new.units & old.terms) or (not new.units and old.units & new.terms)
    )
