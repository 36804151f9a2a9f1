"""Normalise the value that a sentence states, so that values can be compared: "1.5 hours" and "90
minutes" are equal.

    "200 cm long"    ->  amount, dimension length, 2.0, unit words: long
    "16 GB of RAM"   ->  amount, dimension data, 16e9, unit words: ram
    "five members"   ->  amount, dimension count, 5, unit words: members
    "10 am"          ->  time, 600 (minute of the day)
    "April 1, 2026"  ->  date, its first nanosecond and the first one after it
    "on Tuesdays"    ->  weekday, {1}

The words after an amount say what is counted, so they belong to the key and not to the value.
Amounts of money in two currencies are one category and never equal. Any other value is text: its
words without articles.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from doxa.base.calendar_names import MONTHS, WEEKDAYS, alternatives
from doxa.base.dates import DateMention, find_dates
from doxa.base.patterns import lazy_re
from doxa.base.words import stem

ValueType = Literal["none", "amount", "date", "time", "weekday", "text"]

_WORDS_OF_NUMBERS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
        " fifteen sixteen seventeen eighteen nineteen twenty".split(),
        range(21),
        strict=True,
    )
) | {
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
    "hundred": 100,
    "thousand": 1000,
}
_SCALES = {"thousand": 1e3, "k": 1e3, "million": 1e6, "billion": 1e9, "dozen": 12.0}
_UNITS: dict[str, tuple[str, float]] = {
    unit: (dimension, factor)
    for dimension, factor, units in (
        ("mass", 1e-3, "mg milligram milligrams"),
        ("mass", 1.0, "g gram grams"),
        ("mass", 1e3, "kg kilo kilos kilogram kilograms"),
        ("mass", 1e6, "t tonne tonnes"),
        ("mass", 453.59237, "lb lbs pound-weight"),
        ("mass", 1e-6, "mcg µg"),
        ("length", 1e-3, "mm millimetre millimetres millimeter millimeters"),
        ("length", 1e-2, "cm centimetre centimetres centimeter centimeters"),
        ("length", 1.0, "m metre metres meter meters"),
        ("length", 1e3, "km kilometre kilometres kilometer kilometers"),
        ("length", 0.0254, "inch inches"),
        ("length", 0.3048, "ft foot feet"),
        ("length", 1609.344, "mile miles"),
        ("duration", 1e-3, "ms millisecond milliseconds"),
        ("duration", 1.0, "s sec secs second seconds"),
        ("duration", 60.0, "min mins minute minutes"),
        ("duration", 3600.0, "h hr hrs hour hours"),
        ("duration", 86400.0, "day days"),
        ("duration", 604800.0, "week weeks"),
        ("duration", 2629800.0, "month months"),
        ("duration", 31557600.0, "year years"),
        ("data", 1.0, "b byte bytes"),
        ("data", 1e3, "kb kilobyte kilobytes"),
        ("data", 1e6, "mb meg megs megabyte megabytes"),
        ("data", 1e9, "gb gig gigs gigabyte gigabytes"),
        ("data", 1e12, "tb terabyte terabytes"),
        ("volume", 1e-3, "ml millilitre millilitres milliliter milliliters"),
        ("volume", 1.0, "l litre litres liter liters"),
        ("percent", 1.0, "% percent"),
        ("temperature", 1.0, "°c ° degrees degree celsius"),
        ("fahrenheit", 1.0, "°f fahrenheit"),
        ("euro", 1.0, "€ euro euros eur"),
        ("dollar", 1.0, "$ dollar dollars usd"),
        ("pound", 1.0, "£ pound pounds gbp"),
        ("yen", 1.0, "¥ yen jpy"),
        ("franc", 1.0, "chf franc francs"),
        ("krona", 1.0, "sek krona kronor"),
        ("cent", 1.0, "cent cents"),
    )
    for unit in units.split()
}
_MONEY = frozenset(("euro", "dollar", "pound", "yen", "franc", "krona", "cent"))
_AMOUNT = lazy_re(
    r"(?:about |around |roughly |exactly |only |at least |at most |up to "
    r"|~)?(?P<sign>[-−–])?(?P<mark>[€$£¥])? ?(?P<number>\d{1,3}(?:,\d{3})+(?:\.\d+)?"
    r"|\d+(?:\.\d+)?|\.\d+)(?![\d.:/]*[\w:/]*\d|-\d|\w*-\d)"
    r"(?: ?(?P<unit>%|°[cCfF]?|[€$£¥]|[^\W\d_]+))?",
    re.IGNORECASE,
)
_TIME = lazy_re(
    r"(?:(?P<hour>[01]?\d|2[0-3])(?::(?P<minute>[0-5]\d))?\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?P<h24>[01]?\d|2[0-3]):(?P<m24>[0-5]\d)(?!\d)|(?P<named>noon|midnight)\b"
    r"|(?P<clock>[01]?\d) o'clock\b)",
    re.IGNORECASE,
)
_WEEKDAY = lazy_re(rf"\b({alternatives(WEEKDAYS)})s?\b", re.IGNORECASE)
_MONTH = lazy_re(rf"\b(?:{alternatives(MONTHS, capitals=True)})\b")
_LEAD = lazy_re(
    r"(?:(?:on|at|in|by|to|from|for|of|until|every|each|the|early|late) )+", re.IGNORECASE
)
_RATE = lazy_re(
    r"\s*(?:/|\b(?:a|per|each|every)"
    r" )\s*(?P<per>hour|day|week|month|year|night|person|head|kg|km)\b",
    re.IGNORECASE,
)
_WHOLE = lazy_re(r"\d|://|@|\w[./]\w|\w[+#]")  # a number, an address, a file name, C++
_ONE_UNIT = lazy_re(r"(?P<half>half )?an? (?P<unit>[a-z]+)(?P<and> and a half)?\b", re.IGNORECASE)
_BREAKS = lazy_re(r"[^\w]+|_")
_SAYING_NOTHING = frozenset(map(stem, "every each sharp o'clock exactly".split()))
_LITTLE = frozenset(
    "a an the my our his her their its some any this that of to is are be been being and or in on"
    " at for by with as from".split()
)


@dataclass(frozen=True, slots=True)
class StatedValue:
    """One value. `words` are its words. `numbers` holds an amount in base units of its `dimension`,
    the interval of a date in ns, the minute of the day of a time, or the numbers of weekdays.
    `unit_words` say what an amount counts or measures; they are part of the key. `rest` are the
    words of a date, a time or a weekday that these numbers do not say: a zone, a place."""

    text: str
    type: ValueType
    words: frozenset[str]
    numbers: tuple[float, ...] = ()
    dimension: str = ""
    unit_words: tuple[str, ...] = ()
    rest: frozenset[str] = frozenset()

    @property
    def category(self) -> str:
        """The category that must agree for one value to replace another: a day, money, ..."""
        if self.type in ("date", "weekday"):
            return "day"
        return "money" if self.dimension in _MONEY else self.dimension or self.type


NOTHING = StatedValue("", "none", frozenset())


@lru_cache(maxsize=8_192)
def read_value(text: str, time_ns: int | None) -> StatedValue:
    """Read the value of any text; dates are resolved against the time of the message."""
    plain = " ".join(text.split()).lstrip(" ,;:!?").rstrip(" .,;:!?")
    words = frozenset(words_of(plain))
    if not plain or not (words or plain.isdigit()):
        return StatedValue(
            plain,
            "none" if not plain else "text",
            frozenset((plain.casefold(),)) if plain else words,
        )
    return (
        _when(plain, words, time_ns=time_ns)
        or _amount(plain, words)
        or StatedValue(plain, "text", words)
    )


def words_of(text: str) -> list[str]:
    """Return the stems of the words in order, without articles. A word with digits (10.0.0.8, C4,
    555-0142) is kept whole."""
    found = []
    for part in text.casefold().split():
        bare = part.lstrip(",;:!?'\"“”()[]`*").rstrip(".,;:!?'\"“”()[]`*")  # .5 and .env begin so
        if _WHOLE.search(bare):
            found.append(bare)
        else:
            found += [
                stem(piece)
                for piece in _BREAKS.split(bare.removesuffix("'s"))
                if piece and piece not in _LITTLE
            ]
    return [word for word in found if word]


def time_of_day(text: str, start: int = 0) -> float | None:
    """Return the minute of the day that a text states from a place on, or None."""
    found = _TIME.search(text, start)
    return _minutes(found) if found else None


def amount_as_written(text: str) -> tuple[str, str]:
    """Return the digits and the unit of an amount; empty texts where a word says the number."""
    match = _AMOUNT.match(text)
    return (match["number"].replace(",", ""), match["unit"] or "") if match else ("", "")


def _when(text: str, words: frozenset[str], *, time_ns: int | None) -> StatedValue | None:
    lead = _LEAD.match(text)
    start = lead.end() if lead else 0
    time = _TIME.match(text, start)
    if time:
        rest = _rest(text[: time.start()] + text[time.end() :])
        return StatedValue(text, "time", words, (_minutes(time),), rest=rest)
    dates = find_dates(text, time_ns)
    if dates and dates[0].start <= start:
        numbers = float(dates[0].start_ns), float(dates[0].end_ns)
        return StatedValue(text, "date", words, numbers, rest=_besides_days(text, dates))
    days = sorted({WEEKDAYS.index(found.casefold()) for found in _WEEKDAY.findall(text)})
    opening = _WEEKDAY.match(text, start)
    if days and opening:
        return StatedValue(
            text, "weekday", words, tuple(map(float, days)), rest=_besides_days(text)
        )
    if _MONTH.search(text) and any(map(str.isdigit, text)) and len(words) <= 4:
        return StatedValue(text, "date", words)
    return None


def _besides_days(text: str, dates: Sequence[DateMention] = ()) -> frozenset[str]:
    """The words besides dates, weekdays and times, which are compared by themselves."""
    for date in sorted(dates, key=lambda date: -date.start):
        text = text[: date.start] + text[date.end :]
    return _rest(_TIME.sub(" ", _WEEKDAY.sub(" ", text)))


def _rest(text: str) -> frozenset[str]:
    return frozenset(words_of(text)) - _SAYING_NOTHING


def _minutes(match: re.Match[str]) -> float:
    if match["named"]:
        return 720.0 if match["named"].lower() == "noon" else 0.0
    if match["h24"]:
        return int(match["h24"]) * 60.0 + int(match["m24"])
    if match["clock"]:
        return int(match["clock"]) * 60.0
    return (int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)) * 60.0 + int(
        match["minute"] or 0
    )


def _amount(text: str, words: frozenset[str]) -> StatedValue | None:
    one = _ONE_UNIT.match(text)
    if one and one["unit"].lower() in _UNITS:
        text = (
            f"{1.5 if one['and'] else 0.5 if one['half'] else 1} {one['unit']}{text[one.end() :]}"
        )
    first, _, rest = text.partition(" ")
    if first.casefold() in _WORDS_OF_NUMBERS and (rest or len(words) == 1):
        text = f"{_WORDS_OF_NUMBERS[first.casefold()]} {rest}".strip()
    match = _AMOUNT.match(text)
    if match is None:
        return None
    number = float(match["number"].replace(",", "")) * (-1 if match["sign"] else 1)
    unit = (match["unit"] or "").casefold()
    end = match.end() if unit in _UNITS else match.end("number")
    if unit in _SCALES:
        number *= _SCALES[unit]
        following = text[match.end() :].split(" ")
        unit = (following[1] if len(following) > 1 else "").casefold()
        end = match.end() + (1 + len(unit) if unit in _UNITS else 0)
    unit = match["mark"] or unit
    dimension, factor = _UNITS.get(unit, ("count", 1.0))
    tail = _RATE.sub("", text[end:], count=1)
    if (
        tail[:1] == "-"
        or tail.lstrip()[:1].isupper()
        or len(tail.split()) > 4
        or re.search(r"\d", tail)
    ):
        return None
    return StatedValue(text, "amount", words, (number * factor,), dimension, tuple(words_of(tail)))
