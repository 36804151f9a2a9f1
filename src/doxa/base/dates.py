"""Find the dates that a message mentions and resolve them against the time of the message.

    "last week" in a message of Thursday 2023-05-11
        ->  2023-05-01 .. 2023-05-08 (end exclusive), precision week

Days are UTC days and weeks start on Monday. Ambiguous mentions are skipped: 03/04/2024; a weekday
or a month without a year if neither its sentence nor its distance decides between past and future;
"a few days ago"; "the week before the wedding". A quarter is three months with precision month; a
weekend is two days with precision day.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from datetime import date, timedelta
from typing import Literal

import msgspec

from doxa.base import limits
from doxa.base.calendar_names import (
    MONTH_ABBREVIATIONS,
    MONTH_NUMBERS,
    MONTHS,
    WEEKDAY_ABBREVIATIONS,
    WEEKDAY_NUMBERS,
    WEEKDAYS,
    alternatives,
)
from doxa.base.patterns import lazy_re

Precision = Literal["day", "week", "month", "year"]

YEAR_MIN, YEAR_MAX = 1900, 2199  # a number outside this range is not a year
_DAY_NS = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()


class DateMention(msgspec.Struct, frozen=True):
    """A date in a message: `text` is text[start:end] of it, the interval [start_ns, end_ns) in ns
    UTC."""

    text: str
    start: int
    end: int
    start_ns: int
    end_ns: int
    precision: Precision

    @property
    def iso(self) -> str:
        """The first day in ISO 8601, truncated to the precision (2023-05-02, 2023-05, 2023). A week
        is represented by its Monday."""
        day = date.fromordinal(self.start_ns // _DAY_NS + _EPOCH).isoformat()
        return day[: {"year": 4, "month": 7}.get(self.precision, 10)]


_Span = tuple[date, date, Precision]

_NUMBERS = dict(
    zip(
        "a an one two three four five six seven eight nine ten eleven twelve".split(),
        (1, 1, *range(1, 13)),
        strict=True,
    )
)

_MONTH = (
    rf"(?P<month>{alternatives(MONTHS, capitals=True)}"
    rf"|(?:{alternatives(MONTH_ABBREVIATIONS, capitals=True)})\b\.?)"
)
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<year>(?:19|20|21)\d\d)"
_LONE = r"(?![\w/:-]*\d)(?!\.\d)(?!\s*[–-]\s*\d)"
_WEEKDAY = rf"(?P<weekday>{alternatives(WEEKDAYS)})"
# After last, next and this also "Fri"; with a capital, since "last sat" is a verb.
_WEEKDAY_SHORT = (
    rf"(?P<weekday>{alternatives(WEEKDAYS)}"
    rf"|(?-i:{alternatives(WEEKDAY_ABBREVIATIONS, capitals=True)}))"
)

_RELATIVE = lazy_re(
    r"\b(?:(?P<before>the day before yesterday)|(?P<after>the day after"
    r" tomorrow)|(?P<today>today|tonight|this (?:morning"
    r"|afternoon|evening))"
    r"|(?P<yesterday>(?<!like )(?<!like just )yesterday|last night)|(?P<tomorrow>tomorrow)"
    r"|(?:(?<!or"
    r" )(?P<count>an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,4})"
    r" (?P<unit>day|week|month"
    r"|year)s? ago)"
    r"|(?P<weekbefore>the week before(?: last\b|(?=\s*(?:[.!?,;]|$))))"
    r"|(?:(?P<which>last|next|this past|this) (?:(?P<period>weekend|week|month|year|quarter)|"
    + _WEEKDAY_SHORT
    + rf"|(?P<named>{alternatives(MONTHS)})))"
    r")\b(?!'s)(?!-)",
    re.IGNORECASE,
)
_BARE_WEEKDAY = lazy_re(
    r"(?<!every )(?<!each )(?<!most )(?<!last )(?<!next )(?<!this )\b"
    + _WEEKDAY
    + r"\b(?! (?:nights|mornings|evenings|afternoons))(?!['-])",
    re.IGNORECASE,
)
_ABSOLUTE = lazy_re(
    r"(?<![\w/:.-])(?:"
    r"(?P<iso>(?:19|20|21)\d\d-\d\d-\d\d)(?=T\d|(?![\w-]))"
    rf"|(?P<numeric>(?P<one>\d{{1,2}})(?P<mark>[/.-])(?P<two>\d{{1,2}})(?P=mark)"
    rf"(?P<numeric_year>(?:19|20|21)\d\d)){_LONE}(?!\w)"
    rf"|(?P<quarter>Q[1-4]),? ?(?:of )?(?P<quarter_year>(?:19|20|21)\d\d)\b{_LONE}"
    r")"
)
_DAY_MONTH = lazy_re(
    rf"(?<![\w/:.,-])(?<!\d )(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR}\b)?(?!\w){_LONE}"
)
_MONTH_DAY = lazy_re(rf"\b{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR}\b)?{_LONE}")
_MONTH_YEAR = lazy_re(
    rf"(?<![0-9] )(?<![0-9](?:st|nd|rd|th) )\b{_MONTH},? (?:of )?{_YEAR}\b{_LONE}"
)
_IN_MONTH = lazy_re(
    r"\b(?:in|since|during|until|till|by|early|late|mid|of) (?:early |late |mid["
    rf" -])?(?P<core>{_MONTH})\b(?! \d)(?!['-])"
)
_IN_YEAR = lazy_re(
    r"\b(?:[Ii]n|[Ss]ince|[Dd]uring|[Uu]ntil|[Bb]y|[Ff]rom|[Ee]arly|[Ll]ate|[Oo]f)"
    rf" (?P<core>{_YEAR})\b{_LONE}"
    r"(?=\s*(?:[.,;:!?)]|$)|\s+(?:I|we|he|she|they|it|the|my|our|his|her|and|but|or|when|after"
    r"|before|with|for|at|to|as|by|a|an|is|was|because|so|on|from)\b)"
)
_PAST = lazy_re(
    r"\b(?:was|were|had|went|did|got|saw|met|came|took|made|gave|told|said|ran|bought|found|had"
    r"|left|felt|spent|\w{2,20}ed)\b",
    re.IGNORECASE,
)
_FUTURE = lazy_re(
    r"\b(?:will|gonna|going"
    r" to|tomorrow|plan|plans|planning|due|deadline|upcoming|scheduled|until|by)\b|'ll\b",
    re.IGNORECASE,
)
_SENTENCE_END = lazy_re(r"[.!?\n]")

_RELATIVE_HINTS = (
    "day",
    "tomorrow",
    " ago",
    "week",
    "month",
    "year",
    "tonight",
    "last ",
    "next ",
    "this ",
)
_MONTH_HINT = lazy_re(alternatives(MONTH_NUMBERS, capitals=True))
_DIGIT_HINT = lazy_re(r"[0-9]{4}")


def find_dates(text: str, time_ns: int | None) -> tuple[DateMention, ...]:
    """Find date mentions in the order of the text, without overlap. Apostrophes must be straight.

    Without `time_ns`, only mentions that name their year are resolved.
    """
    today = _today(time_ns)
    lowered = text.lower()
    digits = _DIGIT_HINT.search(text) is not None
    rules: list[tuple[re.Pattern[str], _Resolver]] = []
    if digits:
        rules.append((_ABSOLUTE, _absolute))
    if _MONTH_HINT.search(text):
        rules += _MONTH_RULES
    if digits:
        rules.append((_IN_YEAR, _month_or_year))
    if today is not None and any(hint in lowered for hint in _RELATIVE_HINTS):
        rules.append((_RELATIVE, _relative))
        if "day" in lowered:
            rules.append((_BARE_WEEKDAY, _bare_weekday))
    taken: list[DateMention] = []
    for pattern, resolve in rules:
        group = "core" if "core" in pattern.groupindex else 0
        for match in pattern.finditer(text):
            start, end = match.span(group)
            if len(taken) >= limits.DATES_PER_TURN_MAX:
                break
            if any(start < other.end and other.start < end for other in taken):
                continue
            mention = _mention(text, (start, end), resolve=resolve, match=match, today=today)
            if mention is not None:
                taken.append(mention)
    return tuple(sorted(taken, key=lambda one: one.start))


_ISO_DATE = lazy_re(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?)?")


def iso_mention(text: str) -> DateMention | None:
    """Read a text that is an ISO 8601 day, month or year as a whole (2023-05-02, 2023-05, 2023).
    None for anything else."""
    match = _ISO_DATE.fullmatch(text)
    return (
        _mention(text, match.span(), resolve=_iso, match=match, today=None)
        if match is not None
        else None
    )


def _iso(match: re.Match[str], today: date | None) -> _Span | None:
    year, month, day = match.groups()
    if day:
        return _day(date(int(year), int(month), int(day)))
    if month:
        return _months(int(year), int(month)) if 1 <= int(month) <= 12 else None
    return _year(int(year))


_AGO = lazy_re(r"(\d{1,6}) (second|minute|hour)s? ago", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600}


def relative_time(text: str, now_ns: int) -> int | None:
    """Return the first instant of a time that is named from now, in ns UTC: "yesterday", "last
    week", "2 hours ago", "in March". None for anything else, and for a text that says more."""
    stripped = " ".join(text.split())
    if stripped.lower() == "now":
        return now_ns
    if match := _AGO.fullmatch(stripped):
        return now_ns - int(match[1]) * _SECONDS[match[2].lower()] * 10**9
    mentions = find_dates(stripped, now_ns)
    if len(mentions) != 1:
        return None
    around = stripped[: mentions[0].start] + stripped[mentions[0].end :]
    return None if around.strip().lower() not in ("", "in", "on", "the") else mentions[0].start_ns


def _today(time_ns: int | None) -> date | None:
    ordinal = None if time_ns is None else time_ns // _DAY_NS + _EPOCH
    if (
        ordinal is None
        or not date(YEAR_MIN, 1, 1).toordinal() <= ordinal <= date(YEAR_MAX, 12, 31).toordinal()
    ):
        return None
    return date.fromordinal(ordinal)


def _mention(
    text: str,
    span: tuple[int, int],
    *,
    resolve: _Resolver,
    match: re.Match[str],
    today: date | None,
) -> DateMention | None:
    try:
        found = resolve(match, today)
    except (ValueError, OverflowError):
        # 31 June, or a thousand years ago: not in the calendar.
        return None
    if found is None or not YEAR_MIN <= found[0].year <= found[1].year <= YEAR_MAX + 1:
        return None
    first, after, precision = found
    bounds = ((first.toordinal() - _EPOCH) * _DAY_NS, (after.toordinal() - _EPOCH) * _DAY_NS)
    return DateMention(text[span[0] : span[1]], *span, *bounds, precision)


def _day(first: date) -> _Span:
    return first, first + timedelta(days=1), "day"


def _week(inside: date) -> _Span:
    monday = inside - timedelta(days=inside.weekday())
    return monday, monday + timedelta(days=7), "week"


def _months(year: int, month: int, *, count: int = 1) -> _Span:
    """Return whole months as a span; a `month` outside 1 to 12 carries into the year."""
    first = year * 12 + month - 1
    after = first + count
    return date(first // 12, first % 12 + 1, 1), date(after // 12, after % 12 + 1, 1), "month"


def _year(year: int) -> _Span:
    return date(year, 1, 1), date(year + 1, 1, 1), "year"


def _absolute(match: re.Match[str], today: date | None) -> _Span | None:
    if match["iso"]:
        return _day(date.fromisoformat(match["iso"]))
    if match["quarter"]:
        return _months(int(match["quarter_year"]), int(match["quarter"][1]) * 3 - 2, count=3)
    one, two = int(match["one"]), int(match["two"])
    if one != two and max(one, two) <= 12:
        return None
    day, month = (one, two) if one > 12 else (two, one)
    return _day(date(int(match["numeric_year"]), month, day))


def _month_day(match: re.Match[str], today: date | None) -> _Span | None:
    month, day = MONTH_NUMBERS[match["month"][:3].lower()], int(match["day"])
    if match["year"]:
        return _day(date(int(match["year"]), month, day))
    if today is None:
        return None
    years = [
        year
        for year in (today.year - 1, today.year, today.year + 1)
        if day <= monthrange(year, month)[1]
    ]
    return _nearest([_day(date(year, month, day)) for year in years], today)


def _month_or_year(match: re.Match[str], today: date | None) -> _Span | None:
    groups = match.groupdict()
    month = MONTH_NUMBERS[groups["month"][:3].lower()] if groups.get("month") else None
    if groups.get("year"):
        return _year(int(groups["year"])) if month is None else _months(int(groups["year"]), month)
    if today is None or month is None:
        return None
    return _nearest([_months(today.year + shift, month) for shift in (-1, 0, 1)], today)


def _nearest(spans: list[_Span], today: date) -> _Span | None:
    def distance(span: _Span) -> int:
        return max((span[0] - today).days, (today - span[1]).days + 1, 0)

    best = min(spans, key=distance, default=None)
    return best if best is not None and distance(best) <= limits.DATE_NEAREST_DAYS_MAX else None


def _relative(match: re.Match[str], today: date | None) -> _Span | None:
    if today is None:
        return None
    if match["count"]:
        count = _NUMBERS.get(match["count"].lower()) or int(match["count"])
        return _ago(count, match["unit"].lower(), today=today)
    if match["weekbefore"]:
        return _week(
            today - timedelta(days=14 if match["weekbefore"].lower().endswith("last") else 7)
        )
    if match["which"]:
        return _which(match, today)
    shift = {"before": -2, "after": 2, "today": 0, "yesterday": -1, "tomorrow": 1}[
        match.lastgroup or "today"
    ]
    return _day(today + timedelta(days=shift))


def _ago(count: int, unit: str, *, today: date) -> _Span:
    if unit == "day":
        return _day(today - timedelta(days=count))
    if unit == "week":
        return _week(today - timedelta(weeks=count))
    return (
        _months(today.year, today.month - count) if unit == "month" else _year(today.year - count)
    )


def _which(match: re.Match[str], today: date) -> _Span | None:
    shift = {"last": -1, "this past": -1, "this": 0, "next": 1}[match["which"].lower()]
    monday = today - timedelta(days=today.weekday())
    if match["weekday"]:
        day = monday + timedelta(days=WEEKDAY_NUMBERS[match["weekday"][:3].lower()])
        if shift == -1:
            return _day(day if day < today else day - timedelta(days=7))
        return _day(day + timedelta(days=7 * shift))
    if match["named"]:
        month = MONTH_NUMBERS[match["named"][:3].lower()]
        # "This may take a while" does not name a month.
        if match["named"][0].islower():
            return None
        ahead = shift == 1 and month <= today.month
        behind = shift == -1 and month >= today.month
        return _months(today.year + ahead - behind, month)
    period = match["period"].lower()
    if period == "weekend":
        saturday = monday + timedelta(days=5 + 7 * shift)
        return saturday, saturday + timedelta(days=2), "day"
    if period == "week":
        return _week(today + timedelta(days=7 * shift))
    if period == "month":
        return _months(today.year, today.month + shift)
    if period == "quarter":
        return _months(today.year, (today.month - 1) // 3 * 3 + 1 + 3 * shift, count=3)
    return _year(today.year + shift)


def _bare_weekday(match: re.Match[str], today: date | None) -> _Span | None:
    """Resolve a weekday if its sentence says whether it is past or future."""
    if today is None:
        return None
    text, (start, end) = match.string, match.span()
    opening = max(text.rfind(mark, max(0, start - 200), start) for mark in ".!?\n") + 1
    closing = _SENTENCE_END.search(text, end, end + 200)
    opening = max(opening, start - 200, 0)
    bounds = (opening, closing.start() if closing else min(len(text), end + 200))
    past, future = _PAST.search(text, *bounds), _FUTURE.search(text, *bounds)
    ahead = (WEEKDAY_NUMBERS[match["weekday"][:3].lower()] - today.weekday()) % 7
    if bool(past) == bool(future):
        return None
    # "On Friday", said on a Friday, is today for the future and a week ago for the past.
    return _day(today + timedelta(days=ahead if future else ahead - 7))


_Resolver = Callable[[re.Match[str], date | None], _Span | None]
_MONTH_RULES: tuple[tuple[re.Pattern[str], _Resolver], ...] = (
    (_DAY_MONTH, _month_day),
    (_MONTH_DAY, _month_day),
    (_MONTH_YEAR, _month_or_year),
    (_IN_MONTH, _month_or_year),
)
