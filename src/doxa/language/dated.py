"""Tell when a clause says that something happened, apart from what happened.

    "Ana moved to Munich in 2010"         ->  "Ana moved to Munich", the end of 2010
    "In May 2019, Ana joined Acme"        ->  "Ana joined Acme", the end of May 2019
    "Ana moved to Oslo two years ago"     ->  the clause as it is, the end of that year
    "The deadline is 3 May 2026"          ->  the clause as it is, no date: the value is one

    "Ana moved to Munich in 2010 for work", "Ana ist 2010 nach München gezogen"
                                          ->  as they are; a year long past is named as a time

A change is news for a year. After that the sentence tells history, which stays true whatever
happens later and says nothing of now; but what it ends, or names as the former value, is over.
"""

from __future__ import annotations

from datetime import date

from doxa.base.dates import find_dates
from doxa.base.patterns import lazy_re

_DAY_NS = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
NEWS_NS = 365 * _DAY_NS
_HINT = lazy_re(
    r"[0-9]| (?:in|on) [A-Z]| ago$|^(?:back )?[io]n [A-Z]|^[A-Za-z ]{1,14} ago|last ", 2
)
_AT = lazy_re(
    r"(?:^|,? )(?:back )?(?:in|on|during|at) (?:(?:the|end|beginning|early|late|mid|spring|summer"
    r"|autumn|fall|winter|of)[ -]){0,4}$",
    2,
)
_GOES_ON = lazy_re(
    r",? (?:for|with|as|because|since|when|while|where|after|before|to|so|and|by|due|out|thanks)\b",
    2,
)
_RELATIVE = lazy_re(r" ago$|^(?:last|this past|yesterday|the (?:day|week) before)", 2)
_YEAR_FIRST = lazy_re(r"(?:back )?in (?P<year>(?:19|20|21)[0-9]{2}),? (?=[A-Za-z])", 2)
_MAY = lazy_re(r",? (?:back )?in May$")
_YEARS = r"(?P<year>(?:19|20)[0-9]{2})(?P<decade>s|er(?:n|[ -]Jahren?)?)?(?![\w.:/-])"
# What makes a time of a year: a word before it, with a month or season between; a German verb in
# two parts around it; a whole date behind "on"; the Chinese word for it. Behind "to" it is a value.
_TIMES = tuple(
    lazy_re(source, 2)
    for source in (
        r"\b(?:in|during|around|im|en|vers)"
        rf" (?:(?:the |el |den |l['’])?(?:[^\W\d_]+\.?,? (?:de |del |of )?)?)?{_YEARS}",
        r"\b(?:ist|bin|sind|hat|habe|haben|war|wurde)"
        rf" {_YEARS}(?= (?:nach|zu[rm]?|in|bei|auf|von|aus))",
        r"(?<!para )\b(?:on|am|le|el) (?:[0-3]?[0-9](?:st|nd|rd|th|\.|er|º)? (?:de |of )?"
        rf"[^\W\d_]+\.?,? (?:de |del )?|[^\W\d_]+ [0-3]?[0-9](?:st|nd|rd|th)?,? )?{_YEARS}",
        r"\b(?:on|in|am|le|el|en) (?P<year>(?:19|20)[0-9]{2})(?P<decade>)-[01][0-9]",
        r"(?<![0-9到为至改])(?P<year>(?:19|20)[0-9]{2})(?P<decade>) ?年",
    )
)
_COUNTED = lazy_re(
    r"\b(?:(?!one\b|an?\b)\w+ (?:years|decades) ago|vor (?!eine)\w+ (?:jahr|jahrzehnt)en"
    r"|hace (?!un)\w+ (?:años|décadas)|il y a (?!un)\w+ (?:ans|années|décennies))\b"
    r"|(?<![0-9一])[0-9二两三四五六七八九十几多]+年(?:之|以)?前",
    2,
)


def without_date(clause: str, day_ns: int | None) -> tuple[str, int | None]:
    """Return a clause without a date that says when, and the end of the date in ns; None where it
    has none, or one that cannot be resolved. The date is at the beginning, at the end, or before
    words that go on with how or why. One without a word such as "in" is a value, unless it counts
    from today: such a one is left to other readers."""
    if not _HINT.search(clause):
        return clause, None
    first = _YEAR_FIRST.match(clause)
    if first is not None:
        return clause[first.end() :], find_dates(f"in {first['year']}.", day_ns)[0].end_ns
    lowered = clause[:1].lower() + clause[1:] if clause[:1].isascii() else clause
    for found in reversed(find_dates(lowered, day_ns)):
        before = _AT.search(clause, 0, found.start)
        if before is None:
            if found.start == 0 or found.end == len(clause):
                return clause, found.end_ns if _RELATIVE.search(found.text) else None
        elif found.end == len(clause):
            return clause[: before.start()], found.end_ns
        elif before.start() == 0:
            return clause[found.end :].lstrip(", "), found.end_ns
        elif _GOES_ON.match(clause, found.end):
            return f"{clause[: before.start()]}{clause[found.end :]}", found.end_ns
    return (clause if day_ns is None else _MAY.sub("", clause)), None


def is_long_ago(clause: str, day_ns: int | None) -> bool:
    """Whether a clause, in any of the languages that are read, names as a time a year or a decade
    that ended more than NEWS_NS before the day, and none that ended later."""
    if day_ns is None:
        return False
    ends = [
        _end_ns(int(found["year"]) + (9 if found["decade"] else 0))
        for pattern in _TIMES
        for found in pattern.finditer(clause)
    ]
    return day_ns - max(ends) > NEWS_NS if ends else _COUNTED.search(clause) is not None


def _end_ns(year: int) -> int:
    return (date(year + 1, 1, 1).toordinal() - _EPOCH) * _DAY_NS
