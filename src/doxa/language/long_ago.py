"""Whether a clause, in any of the languages that are read, names a time that is long over.

    "Ana moved to Munich in the early 1990s"      ->  yes
    "Ana ist 2010 nach München gezogen"           ->  yes
    "Ana se mudó a Múnich hace cinco años"        ->  yes
    "The default font was changed in Office 2019" ->  no: a name before the number
    "Ana moved to the house built in 1920"        ->  no: that is when the house was built
    "The deadline was moved to May 2024"          ->  no: the year is the value

The year alone counts, to the end of it, or of its decade. It is a time behind a word such as "in",
with at most a month, a season or a word such as "early" between; in a German verb of two parts; and
before 年. A word such as "yesterday", or a later year, in the same clause wins.
"""

from __future__ import annotations

from datetime import date

from doxa.base.calendar_names import MONTH_ABBREVIATIONS, MONTHS
from doxa.base.patterns import lazy_re

_DAY_NS = 86_400 * 10**9
_EPOCH = date(1970, 1, 1).toordinal()
NEWS_NS = 365 * _DAY_NS  # so long a change is news
_NAMES = "|".join(
    (
        *MONTHS,
        *MONTH_ABBREVIATIONS,
        *"januar jänner februar märz mai juni juli oktober dezember".split(),
        *"enero febrero marzo abril mayo junio julio agosto septiembre setiembre octubre".split(),
        *"noviembre diciembre janvier février mars avril juin juillet août septembre".split(),
        *"octobre novembre décembre".split(),
        *"spring summer autumn fall winter frühling frühjahr sommer herbst primavera".split(),
        *"verano otoño invierno printemps été automne hiver".split(),
        *"early mid late beginning end anfang mitte ende principios mediados finales".split(),
        *"début fin milieu year years jahr jahre jahren año años an année années".split(),
    )
)
_BETWEEN = rf"(?:(?:the|el|la|los|les|den|dem|of|de|del|du|l['’])[ ]?|(?:{_NAMES})[.,]?[ -]){{0,5}}"
_YEAR = r"(?P<year>(?:19|20)[0-9]{2})(?P<decade>s|ern?\b)?(?![\w.:/-])"
_HINT = lazy_re(r"(?:19|20)[0-9]{2}| ago\b|\bvor |hace |il y a |年", 2)  # what most lack
_TIMES = tuple(
    lazy_re(source, 2)
    for source in (
        rf"\b(?:in|during|around|im|en|dans|vers) {_BETWEEN}{_YEAR}",
        r"\b(?:ist|bin|sind|hat|habe|haben|war|wurde)"
        rf" {_YEAR}(?= (?:nach|zu[rm]?|in|bei|auf|von|aus))",
        rf"(?<!para )\b(?:on|am|le|el) [0-3]?[0-9](?:st|nd|rd|th|\.|er|º)? (?:of |de )?(?:{_NAMES})"
        rf"[.,]? (?:de |del )?{_YEAR}",
        rf"\bon (?:{_NAMES})\.? [0-3]?[0-9](?:st|nd|rd|th)?,? {_YEAR}",
        r"\b(?:on|am|le|el) (?P<year>(?:19|20)[0-9]{2})(?P<decade>)-[01][0-9]",
        r"(?<![0-9到为至改成])(?<![到改成]了)(?P<year>(?:19|20)[0-9]{2})(?P<decade>) ?年",
    )
)
_COUNTED = lazy_re(
    r"\b(?:(?!one\b|an?\b)\w+ (?:years|decades) ago|vor (?!eine)\w+ (?:jahr|jahrzehnt)en"
    r"|hace (?!un)\w+ (?:años|décadas)|il y a (?!un)\w+ (?:ans|années|décennies))\b"
    r"|(?<![0-9一])[0-9二两三四五六七八九十几多]+年(?:之|以)?前",
    2,
)
_ANY_YEAR = lazy_re(r"(?<![\w.:/-])(?:19|20)[0-9]{2}(?![\w:/-])")
_NOW = lazy_re(
    r"\b(?:yesterday|today|tonight|just now|(?:this|last) (?:morning|week|month|spring|summer"
    r"|autumn|fall|winter)|gestern|heute|diese[nr]? (?:woche|monat)|ayer|hoy"
    r"|est[ea] (?:semana|mes)|hier|aujourd['’]hui|cette semaine|ce mois)\b"
    r"|昨天|今天|今年|上周|这周|本周|上个?月|这个?月",
    2,
)
# What a date behind it says something of, other than the change: words that begin a clause of their
# own, and participles of what a thing went through once.
_OF_WHAT = lazy_re(
    r"\b(?:that|which|who|whose|whom|where|donde|que|où|qui|dont)\b"
    r"|\b(?:built|founded|released|published|established|created|made|written|designed|introduced"
    r"|launched|opened|bought|born|painted|printed|recorded|dated|signed|invented|gegründet\w*"
    r"|gebaut\w*|erbaut\w*|erschienen\w*|veröffentlicht\w*|construid[oa]s?|fundad[oa]s?"
    r"|publicad[oa]s?|lanzad[oa]s?|cread[oa]s?|construite?s?|fondée?s?|publiée?s?|sortie?s?"
    r"|créée?s?)$",
    2,
)
_MADE = lazy_re(r"\s*(?:年)?\s*(?:就|才)?(?:建|成立|发布|出版|制造|生产|创办|创立|买)[^,]*的")


def says_of_what(before: str) -> bool:
    """Return whether a date behind these words says something of a thing and not of the change."""
    return _OF_WHAT.search(before) is not None


def is_long_ago(clause: str, day_ns: int | None) -> bool:
    """Return whether a clause names as a time a year or a decade that ended more than NEWS_NS
    before the day, or years counted back from it, and nothing later."""
    if day_ns is None or not _HINT.search(clause) or _NOW.search(clause):
        return False
    latest = [day_ns - _end_ns(int(found)) for found in _ANY_YEAR.findall(clause)]
    if latest and min(latest) <= NEWS_NS:
        return False
    for pattern in _TIMES:
        for found in pattern.finditer(clause):
            end_ns = _end_ns(int(found["year"]) + (9 if found["decade"] else 0))
            if (
                day_ns - end_ns > NEWS_NS
                and not says_of_what(clause[: found.start()].rstrip())
                and not _MADE.match(clause, found.end())
            ):
                return True
    counted = _COUNTED.search(clause)
    return counted is not None and not says_of_what(clause[: counted.start()].rstrip())


def _end_ns(year: int) -> int:
    return (date(year + 1, 1, 1).toordinal() - _EPOCH) * _DAY_NS
