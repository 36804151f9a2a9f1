"""Tell when a clause says that something happened, apart from what happened.

    "Ana moved to Munich in 2010"         ->  "Ana moved to Munich", the end of 2010
    "In May 2019, Ana joined Acme"        ->  "Ana joined Acme", the end of May 2019
    "Ana moved to Oslo two years ago"     ->  the clause as it is, the end of that year
    "The deadline is 3 May 2026"          ->  the clause as it is, no date: the value is one
    "Ana moved to Ulm in 2010 for work"   ->  "Ana moved to Ulm for work", the end of 2010

A change is news for a year. After that the sentence tells history, which stays true whatever
happens later and says nothing of now; but what it ends, or names as the former value, is over.
"""

from __future__ import annotations

from doxa.base.dates import find_dates
from doxa.base.patterns import lazy_re
from doxa.language.long_ago import says_of_what

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
        elif (
            found.end_ns is not None
            and (day_ns is None or found.end_ns <= day_ns)
            and _GOES_ON.match(clause, found.end)
            and not says_of_what(clause[: before.start()])
        ):
            return f"{clause[: before.start()]}{clause[found.end :]}", found.end_ns
    return (clause if day_ns is None else _MAY.sub("", clause)), None
