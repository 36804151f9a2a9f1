"""Read the values that a text states, each with the words around it. Pure.

    value      a number with its unit, a share, an amount of money, a date, a time of day, a
               version, a code such as heron-lake-77, or a name: capitalised words in a sentence
    slot       what the value is stated of: the content words around it in its sentence, the word
               that introduces the value ("on port 9090": port), the names nearby, and whose affair
               it is: the speaker's own (I, my, our), or somebody else's (she, my brother)
    asserted   False for a question, a wish or plan, the past, and an addition ("I also speak ..."):
               none of these replaces a value

Words are English; numbers, dates in digits and codes are read in any language. A value in code or
in quotation marks is not stated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from doxa.base.calendar_names import MONTH_ABBREVIATIONS, MONTHS, WEEKDAYS
from doxa.base.limits import RESTATED_CHARS_READ
from doxa.base.patterns import lazy_re
from doxa.base.words import STOP_WORDS, stem
from doxa.recall import constants

_MONTHS = frozenset((*MONTHS, *MONTH_ABBREVIATIONS))
_DAY_SUFFIXES = frozenset("st nd rd th of".split())  # April 5th, 5th of April
_MONEY = frozenset("dollar dollars euro euros pound pounds usd eur gbp cents cent".split())
_SPELT = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen twenty"
)
_TENS = {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "dozen": "12"}
_ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth"
_NUMBERS = (
    {word: str(number) for number, word in enumerate(_SPELT.split())}
    | _TENS
    | {word: f"{number}." for number, word in enumerate(_ORDINALS.split())}
)
_TOKEN = lazy_re(
    r"[^\W\d_]+(?:-[^\W\d_]+)*-\d+\b|[^\W\d_]+|[$€£¥]?\d(?:[\d.,:/-]*\d)?%?|[.!?]+(?=\s|$)|[\n,;:()]"
)
# A line break, or the whole of the marks in a row that white space follows. It begins with the
# characters that are sought, so that a search passes over all others at once; what it looks back at
# is the first of them, and the one before that.
_SENTENCE_END = lazy_re(r"[.!?\n](?:(?<=\n)|(?<![.!?].)[.!?]*(?=\s|$))")
_TITLES = frozenset("mr mrs ms dr prof st".split())
_CODE = lazy_re(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED = lazy_re(r"[\"“«][^\"“”«»\n]{1,400}[\"”»]")
_WORD_OF_CODE = lazy_re(r"[^\W\d_]+(?:-[^\W\d_]+)*-\d+")
_CHANGES = lazy_re(
    r"now|new(?:ly)?|newest|recent(?:ly)?|latest|lately|current(?:ly)?|instead|longer|anymore|actually"
    r"|correction|updat\w+|chang\w+|mov(?:e|ed|ing)|resched\w+|postpon\w+|delay\w*|switch\w*"
    r"|replac\w+|migrat\w+|renam\w+|upgrad\w+|rais\w+|rose|risen|rise[sn]?|gr[eo]wn?|grow\w+"
    r"|increas\w+|decreas\w+|reduc\w+|drop\w*|fell|fallen|lower\w*|improv\w+|boost\w*|bump\w*"
    r"|extend\w*|shorten\w*|reach\w*|adjust\w*|revis\w+|already|total|nowadays"
)
_FIRST = frozenset("i my mine me we our ours us myself let".split())
_THIRD = frozenset("he she his her hers him they their them".split())
_PERSONS = frozenset(
    "mother father mum mom dad parents sister brother son daughter wife husband partner boyfriend"
    " girlfriend friend friends aunt uncle cousin nephew niece grandmother grandfather grandma"
    " grandpa colleague colleagues coworker boss manager neighbour neighbours neighbor neighbors"
    " roommate flatmate guy girl man woman kid kids child children baby somebody someone customer"
    " client teacher student landlord tenant".split()
)
_PLANS = frozenset(
    "might would could should if maybe perhaps possibly want wants wanted hope hopes hoping plan"
    " plans planned planning goal goals target targets aim aims aiming wish consider considering"
    " thinking think suppose suggested propose proposed imagine dream unless whether"
    " almost nearly estimate estimated expected achieve never d".split()
)
_PAST = frozenset(
    "originally initially previously formerly earlier before back used ago once former old"
    " previous was were had".split()
)
_MORE = frozenset("also another additional too besides both".split())
# what is done again and again: one doing replaces no other
_ACTS = lazy_re(
    r"bought|buy|finish(?:ed)?|plant(?:ed)?|visit(?:ed)?|went|met|ate|watched|read|saw|made|cooked"
    r"|baked|ordered|sold|won|lost|wrote|attended|tried|found|gave|got|took|received|sent|knit\w*"
    r"|painted|built|spent|drove|ran|driven"
)
_ASKING = frozenset(
    "what which when where who whose why how do does did is are was were can could should would"
    " will shall has have may am".split()
)
_OPENINGS = frozenset(
    "wow thanks thank hi hey hello yes yeah yep no nope ok okay sure oh awesome great cool nice"
    " congrats dear sorry well so that here there it what".split()
)
_NO_UNITS = frozenset(
    "behind near without within per plus next among around along via like because instead whole"
    " sharp including please".split()
)
_PAUSES = frozenset((*",;:()", "and", "but", "because", "so", "while"))
_JOINING = frozenset("and so but also then ok okay well oh hey wow".split())
_ARTICLES = frozenset("the a an".split())
_FILLERS = frozenset(
    "thing things lot bit really just still even well yes okay ok please thanks thank great good"
    " nice new now today tomorrow yesterday since here".split()
)


_ACKNOWLEDGED = (_OPENINGS - frozenset("it that so well what here there".split())) | frozenset(
    "congratulations amazing sounds right exactly true same agreed understood noted perfect lovely"
    " wonderful fantastic absolutely definitely haha lol good glad".split()
)


class Slot(NamedTuple):
    """One stated value and what it is stated of. `near`, `names` and `persons` are stems,
    `before` those before the value in order, `past` those of words in -ed; `lead` is the word that
    introduces the value, `own` whether its clause says I or we, `pronoun` he, she or they."""

    kind: str
    value: str
    units: frozenset[str]
    near: frozenset[str]
    names: frozenset[str]
    persons: frozenset[str]
    before: tuple[str, ...]
    past: frozenset[str]
    lead: str
    own: bool
    pronoun: bool
    changed: bool
    asserted: bool
    act: bool


class _Word(NamedTuple):
    text: str  # as written
    plain: str  # casefolded
    stem: str  # empty for what is not content


def read_slots(text: str) -> list[Slot]:
    """Return the values that a text states, in order."""
    text = text[:RESTATED_CHARS_READ]
    prose = _CODE.sub("\n", text) if "```" in text else text
    prose = _QUOTED.sub(" ", prose)
    found: list[Slot] = []
    for sentence, asks in _sentences(_TOKEN.findall(prose)):
        found += _read_sentence(sentence, asks=asks)
    return found


def states_nothing(text: str) -> bool:
    """Return whether a turn only asks or acknowledges: "Thanks, great! When do you leave?". Reads
    no further than the first sentence that states something."""
    said, start = text[:RESTATED_CHARS_READ] + "\n", 0
    for end in _SENTENCE_END.finditer(said):
        if not _is_idle(said[start : end.start()], end.group()):
            return False
        start = end.end()
    return bool(text.strip())


def _is_idle(sentence: str, end: str) -> bool:
    """Whether a sentence asks or acknowledges. Of most, the first word says that they do not."""
    asks = "?" in end
    plain: list[str] = []
    for match in _TOKEN.finditer(sentence):
        token = match[0]
        if token[0].isalnum():
            plain.append(token.casefold())
            if not asks and plain[0] not in _ACKNOWLEDGED:
                return False
    if not plain:
        return True
    if asks:
        opening = next((word for word in plain if word not in _JOINING), plain[0])
        return opening in _ASKING or len(plain) <= constants.ASKING_WORDS
    said = [word for word in plain if _content(word) and word not in _ACKNOWLEDGED]
    numbers = any(word[0].isdigit() for word in plain)
    return len(said) <= constants.IDLE_WORDS and not numbers


def _sentences(tokens: Sequence[str]) -> list[tuple[list[str], bool]]:
    """The tokens of each sentence, and whether it asks."""
    found: list[tuple[list[str], bool]] = []
    current: list[str] = []
    for token in (*tokens, "\n"):
        ends = token[0] in ".!?\n"
        if ends and "." in token and current and current[-1].casefold() in _TITLES:
            continue
        if not ends:
            current.append(token)
        elif current:
            found.append((current, "?" in token or _is_asking(current)))
            current = []
    return found


def _is_asking(words: Sequence[str]) -> bool:
    """Whether a sentence without a question mark begins like a question: "can you …"."""
    plain = [word.casefold() for word in words[:2]]
    return len(plain) == 2 and plain[0] in _ASKING and plain[1] in (_FIRST | _THIRD | {"you", "it"})


@lru_cache(maxsize=16_384)
def _content(plain: str) -> str:
    if plain in STOP_WORDS or plain in _FILLERS or not plain[0].isalpha() or len(plain) < 2:
        return ""
    return stem(plain)


def _read_sentence(tokens: list[str], *, asks: bool) -> list[Slot]:
    plain = [token.casefold() for token in tokens]
    values = _values(tokens, plain)
    if not values:
        return []
    stems = [_content(word) if word[0].isalpha() else "" for word in plain]
    named = _name_places(tokens, plain)
    pauses = [place for place, word in enumerate(plain) if word in _PAUSES]
    found = []
    for first, last, kind, value in values:
        if kind == "name" and _is_addressed(plain, first, last):
            continue
        if plain[max(0, first - 1) : first] == ["from"] and "to" in plain[last + 1 : last + 4]:
            continue  # from 70 to 90: what was
        low = max(0, first - constants.SLOT_WORDS)
        high = min(len(tokens), last + 1 + constants.SLOT_WORDS)
        around = [place for place in range(low, high) if not first <= place <= last]
        clause_from = max((pause + 1 for pause in pauses if pause < first), default=0)
        clause_to = min((pause for pause in pauses if pause > last), default=len(tokens))
        clause = [place for place in around if clause_from <= place < clause_to]
        own = any(plain[place] in _FIRST for place in clause)
        before = [place for place in around if first - constants.PLAN_WORDS <= place < first]
        names = frozenset(
            stems[place]
            for place in around
            if place in named and stems[place] and not tokens[place].isupper()
        )
        found.append(
            Slot(
                kind,
                value,
                _units(plain[last + 1 : high]) if kind == "number" else frozenset(),
                frozenset(stems[place] for place in around if stems[place]),
                names,
                frozenset(stems[place] for place in clause if plain[place] in _PERSONS),
                tuple(
                    stems[place]
                    for place in clause
                    if place < first and stems[place] and not _is_date(plain[place])
                ),
                frozenset(stems[place] for place in around if _is_past(plain[place])),
                _lead(plain, first),
                own,
                not own and any(plain[place] in _THIRD for place in clause),
                any(_CHANGES.fullmatch(plain[place]) for place in around),
                not asks
                and not any(plain[place] in _PLANS for place in before)
                and not any(plain[place] in _PAST for place in clause)
                and not any(plain[place] in _MORE for place in clause),
                any(_ACTS.fullmatch(plain[place]) for place in clause),
            )
        )
    return found


def _is_past(word: str) -> bool:
    return word.endswith("ed") and len(word) > 4


def _is_addressed(plain: Sequence[str], first: int, last: int) -> bool:
    """Whether a name calls somebody: "Thanks, Mel!", "Ana, the port is 9090"."""
    before = plain[first - 1] if first else ","
    after = plain[last + 1] if last + 1 < len(plain) else ","
    return before in _OPENINGS or (not before.isalpha() and not after.isalpha())


def _lead(plain: Sequence[str], place: int) -> str:
    """The word before a value, without articles."""
    return next((word for word in reversed(plain[:place]) if word not in _ARTICLES), "")


def _name_places(tokens: Sequence[str], plain: Sequence[str]) -> frozenset[int]:
    """The places of capitalised words; of the first word of a sentence only if another name or a
    possessive follows."""
    capital = [
        token[0].isupper() and token.isalpha() and word not in _FIRST and not _is_date(word)
        for token, word in zip(tokens, plain, strict=True)
    ]
    if capital and capital[0]:
        followed = plain[1:2] == ["s"] or capital[1:2] == [True]
        capital[0] = followed and plain[0] not in STOP_WORDS and plain[0] not in _OPENINGS
    return frozenset(place for place, is_name in enumerate(capital) if is_name)


def _is_date(word: str) -> bool:
    return word in _MONTHS or word.removesuffix("s") in WEEKDAYS


def _values(tokens: list[str], plain: list[str]) -> list[tuple[int, int, str, str]]:
    """First and last place, kind and value of each value of a sentence."""
    found: list[tuple[int, int, str, str]] = []
    named = _name_places(tokens, plain)
    place = 0
    while place < len(tokens):
        word = plain[place]
        if place in named:
            last = place
            while last + 1 in named:
                last += 1
            if last:  # a single first word may be any
                found.append((place, last, "name", " ".join(plain[place : last + 1])))
            place = last
        elif _WORD_OF_CODE.fullmatch(word):
            found.append((place, place, "code", word))
        elif word[0].isalpha():
            if _is_date(word):
                found += [(place, place, kind, value) for kind, value in _date(plain, place)]
            elif word in _NUMBERS and not (word == "one" or _month_after(plain[place + 1 :])):
                hour = plain[max(0, place - 1) : place] == ["at"] and _is_hour(_NUMBERS[word])
                clock = hour and not _units(plain[place + 1 : place + 4])
                found.append((place, place, "clock" if clock else "number", _NUMBERS[word]))
        elif len(word) > 1 or word.isdigit():
            found += [(place, place, kind, value) for kind, value in _number(plain, place)]
        place += 1
    return found


def _number(tokens: Sequence[str], place: int) -> list[tuple[str, str]]:
    """The kind and value of a number, by its form and the words next to it; nothing where it
    belongs to a date."""
    text = tokens[place]
    if not any(char.isdigit() for char in text):
        return []
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
    elif before == "at" and _is_hour(value) and not _units(after):
        kind = "clock"
    elif value.count("-") == 2 or value.count("/") == 2:
        kind = "date"
    elif value.count(".") > 1 or before == "v":
        kind = "version"
    else:
        kind = "number"
    return [(kind, value)]


def _is_hour(value: str) -> bool:
    return value.isdigit() and int(value) <= 24


def _month_after(after: Sequence[str]) -> bool:
    return next((token for token in after[:3] if token not in _DAY_SUFFIXES), "") in _MONTHS


def _date(tokens: Sequence[str], place: int) -> list[tuple[str, str]]:
    """A weekday; or a month with the day before or after it, or alone as in `by May`. The year is
    ignored: few repeat it."""
    word = tokens[place]
    if word not in _MONTHS:
        return [("date", word.removesuffix("s"))]
    neighbours = [
        tokens[place + 1 : place + 2],
        [token for token in tokens[max(0, place - 3) : place] if token not in _DAY_SUFFIXES][-1:],
    ]
    day = next(
        (token for near in neighbours for token in near if token.isdigit() and len(token) < 3), ""
    )
    if day or tokens[max(0, place - 1) : place] in (["in"], ["by"], ["until"]):
        return [("date", f"{word[:3]} {int(day)}" if day else word[:3])]
    return []


def _units(tokens: Sequence[str]) -> frozenset[str]:
    """The unit of a number: the stems of the words after it, up to a pause or a stop word."""
    units = []
    for token in tokens[: constants.UNIT_WORDS]:
        if not token.isalpha() or token in STOP_WORDS or token in _NO_UNITS:
            break
        units.append(stem(token))
    return frozenset(units)
