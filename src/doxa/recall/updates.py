"""Which turns restate, with another value, what an earlier turn says: the later is placed just above. Pure: texts and weights in, an order out.

Turns supersede nothing: "the deadline is April 1" and "the new deadline is April 5" both answer when the deadline is, and the first often in
better words. Among the best POOL hits of a question that asks how something stands:

    statement   a value (number, share, date, time of day, money, version) with the question's terms around it in its sentence; or a word
                that says that something is otherwise than before (moved, instead, no longer), which has no value
    restates    the same speaker says it later; its value has the type of the earlier one and is none that the earlier turn holds, unless as a
                goal; and the terms around both weigh at least ALIKE of the question, CHANGED if a word of change stands near the later
                value, TURNED where there is no value to compare. If the question writes a name that only the earlier says, ALIKE is
                not enough: that may be another matter
    placed      just above the best turn that it restates, so that of several values the latest comes first; at most MOVES in an answer

Only the question's own terms are weighed, by the idf of the index, so that the price is one pass over a few texts. A value in code is no
statement, and what an assistant says is none of the user's. A question about how things were, or about their course, moves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from doxa.base.words import STOP_WORDS, stem, terms

POOL = 20
MOVES = 3
ALIKE = 0.4
CHANGED = 0.25
TURNED = 0.4
TEXT_CHARS_READ = 4_000
_BEFORE, _AFTER = 20, 16  # words around a value that belong to it
_CHANGE_BEFORE, _CHANGE_AFTER, _GOAL_BEFORE = 12, 6, 8
_UNIT_WORDS = 3

_MONTH = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_SPELT = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "dozen": "12"}
_NUMBERS = {word: str(number) for number, word in enumerate(_SPELT.split())} | _TENS
_TOKEN = re.compile(
    rf"""
    (?P<date> \b{_MONTH}\.?\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}}\b)? | \b\d{{1,2}}(?:st|nd|rd|th)?\ {_MONTH}\b(?:\ \d{{4}}\b)?
        | \b\d{{4}}-\d\d-\d\d\b | \b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b | (?:(?<=\bin\ )|(?<=\bby\ )){_MONTH}\b )
  | (?P<clock> \b\d{{1,2}}:\d\d(?:\ ?[ap]\.?m\b)? | \b\d{{1,2}}\ ?[ap]\.?m\b )
  | (?P<money> [$€£¥]\ ?\d(?:[\d,.]*\d)?(?:[km]\b)? | \b\d(?:[\d,.]*\d)?\ ?(?:dollars|euros|pounds|usd|eur|gbp)\b )
  | (?P<version> \bv\d+(?:\.\d+)*\b | \b\d+\.\d+\.\d+\b )
  | (?P<share> \b\d(?:[\d,.]*\d)?\ ?(?:%|percent\b) )
  | (?P<number> (?<![\w.])\d(?:[\d,]*\d)?(?:\.\d+)?(?:/\d+)? )
  | (?P<word> [^\W\d_]+ )
  | (?P<end> [.!?](?=\s|$) | \n )
  | (?P<pause> [,;:()] )
    """,
    re.VERBOSE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_TURN = (
    "instead|longer|anymore|moved|resched\\w+|postpon\\w+|delayed|switch(?:ed|ing)|replac(?:ed|ing)|migrat(?:ed|ing)|chang(?:ed|ing)"
    "|renamed|upgrad(?:ed|ing)"
)
_TURNS = re.compile(_TURN)
_CHANGES = re.compile(
    r"now|new|newly|newest|recent(?:ly)?|latest|lately|current(?:ly)?|already|actually|extra|additional|total|reach\w*|updat\w+|chang\w+"
    r"|mov(?:e|ing)|extend\w*|extension|shorten\w*|switch\w*|replac\w+|migrat\w+|delay\w*|increas\w+|rais\w+|rose|risen|gr[eo]wn?|growth"
    r"|grow\w+|decreas\w+|reduc\w+|drop\w*|cut|lower\w*|improv\w+|boost\w*|bump\w*|adjust\w*|revis\w+|expand\w*|upgrad\w+|add(?:ed|ing)?"
    r"|correct\w*|" + _TURN
)
_GOALS = frozenset("goal goals target targets aim aims aiming want wants hope hopes hoping achieve wish".split())
_ASKS = re.compile(r"\b(what|which|when|where|who|whose|how (?:many|much|long|often|old|far|large|big|fast|high|soon|late|early)|still)\b")
_KINDS = {"when": frozenset(("date", "clock")), "how many": frozenset(("number",))}  # where nothing else is asked
_PAST = re.compile(
    r"\b(?:original(?:ly)?|initial(?:ly)?|at first|previous(?:ly)?|earlier|formerly|(?:i|we|you|he|she|they|it|that|who|what) used to|back then"
    r"|in the beginning|history|over time|between|in order(?! to)|order in which|summar\w+"
    r"|how (?:did|has|have) .{0,80}?(?:chang|evolv|develop|progress|improv)\w*)\b|\bbefore\W*$"
)
_NAME = re.compile(r"(?<=[^\s.!?] )[A-Z]\w+")


class Said(NamedTuple):
    """A hit as the rule sees it. Hits of equal `by` have one speaker; None: this one is left as it is."""

    by: Hashable | None
    time: tuple[int, int]
    text: str


class Statement(NamedTuple):
    """One value of a text. `terms` are those of the question around it, `units` what a number counts."""

    kind: str
    value: str
    units: frozenset[str]
    terms: frozenset[str]
    changed: bool
    goal: bool


class Matter(NamedTuple):
    """What a question asks about: its terms and their weights, those that are names, and the kinds of value asked for (none: all)."""

    weights: Mapping[str, float]
    mass: float
    names: frozenset[str]
    kinds: frozenset[str]


def asks_how_it_stands(question: str) -> bool:
    """Whether a question asks for something as it is, not as it was or came to be."""
    text = question.casefold()
    return bool(_ASKS.search(text)) and not _PAST.search(text)


def reordered(question: str, weights: Mapping[str, float], said: Sequence[Said]) -> list[tuple[int, int | None]]:
    """The places of the hits in their new order, each with the place of the hit that it was put above for restating it, or None."""
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
            before = ((at, other) for at, (other, _) in enumerate(order) if said[other].by == turn.by and said[other].time < turn.time)
            above = next((at for at, other in before if restates(stated(place), stated(other), matter)), None)
        if above is None:
            order.append((place, None))
        else:
            order.insert(above, (place, order[above][0]))
            left -= 1
    return order


def _matter(question: str, weights: Mapping[str, float]) -> Matter:
    asked = set(_ASKS.findall(question.casefold()))
    names = frozenset(term for name in _NAME.findall(question) for term in terms(name))
    return Matter(weights, sum(weights.values()), names & weights.keys(), _KINDS.get(asked.pop(), frozenset()) if len(asked) == 1 else frozenset())


@dataclass(slots=True)
class _Scan:
    """One pass over a text. Places count words, values and pauses; a sentence ends where the next of `starts` begins."""

    words: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    values: list[tuple[int, str, str, int]] = field(default_factory=list)  # place, kind, value, sentence
    terms: list[tuple[int, str]] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    goals: list[int] = field(default_factory=list)


def statements(text: str, matter: Matter) -> list[Statement]:
    """What a text states near the question's terms, in order; last what it says anywhere, as the kind `said`."""
    scan = _scan(text, matter.weights)
    ends = [*scan.starts[1:], len(scan.words)]
    found = []
    for place, kind, value, sentence in scan.values:
        low, high = max(scan.starts[sentence], place - _BEFORE), min(ends[sentence], place + _AFTER + 1)
        near = frozenset(term for at, term in scan.terms if low <= at < high)
        units = _units(scan.words[place + 1 : high]) if kind == "number" else frozenset()
        if not near or (matter.kinds and kind not in matter.kinds and kind != "turn"):
            continue
        if units and "number" in matter.kinds and not units & matter.weights.keys():
            continue  # how many of something else
        changed = any(max(low, place - _CHANGE_BEFORE) <= at <= min(high, place + _CHANGE_AFTER) for at in scan.changes)
        goal = any(max(low, place - _GOAL_BEFORE) <= at < place for at in scan.goals)
        found.append(Statement(kind, value, units, near, changed, goal))
    found.append(Statement("said", "", frozenset(), frozenset(term for _, term in scan.terms), False, False))
    return found


def _scan(text: str, weights: Mapping[str, float]) -> _Scan:
    scan = _Scan()
    if "```" in text:
        text = _CODE.sub("\n", text)
    for match in _TOKEN.finditer(text[:TEXT_CHARS_READ].casefold()):
        kind, word, place = match.lastgroup or "", match.group(), len(scan.words)
        if kind == "end":
            if scan.starts[-1] != place:
                scan.starts.append(place)
            continue
        scan.words.append(word if kind == "word" else "")
        sentence = len(scan.starts) - 1
        if kind == "word":
            cut = stem(word)
            if cut in weights:
                scan.terms.append((place, cut))
            if word in _NUMBERS:
                scan.values.append((place, "number", _NUMBERS[word], sentence))
            elif word in _GOALS:
                scan.goals.append(place)
            elif _CHANGES.fullmatch(word):
                scan.changes.append(place)
                if _TURNS.fullmatch(word):
                    scan.values.append((place, "turn", "", sentence))
        elif kind != "pause":
            scan.values.append((place, kind, _value(kind, word), sentence))
            scan.terms += [(place, term) for term in terms(word) if term in weights]
    return scan


def _value(kind: str, text: str) -> str:
    """One spelling of a value: 3 PM is 3:00 pm, and 5th of April is April 5, 2024, as long as nobody says another year."""
    if kind == "date" and (month := re.search(_MONTH, text)):
        day = re.search(r"\d+", text)
        return f"{month.group()[:3]} {int(day.group())}" if day else month.group()[:3]
    if kind == "date":
        return text.removesuffix("s")
    if kind == "clock":
        return re.sub(r"[\s.]|:00", "", text)
    return re.sub(r"[\s,$€£¥v%]|percent|dollars|euros|pounds|usd|eur|gbp", "", text)


def _units(words: Sequence[str]) -> frozenset[str]:
    """What is counted: the stems of the words after a number, up to a pause or a stop word."""
    units = []
    for word in words[:_UNIT_WORDS]:
        if not word or word in STOP_WORDS:
            break
        units.append(stem(word))
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
        if any(sum(matter.weights[term] for term in statement.terms & new.terms) >= least * matter.mass for statement in old):
            return True
    return False


def _of_one_type(old: Statement, new: Statement) -> bool:
    """Values that could answer the same question. A number that does not say what it counts takes the other's unit if that is said near it."""
    if new.kind == "turn":
        return old.kind == "said"
    if old.kind != new.kind:
        return False
    if old.kind != "number" or old.units & new.units or not (old.units or new.units):
        return True
    return bool((not old.units and new.units & old.terms) or (not new.units and old.units & new.terms))
