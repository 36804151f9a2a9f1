"""Extract names, dates and candidate facts from one turn by rules, without a language model.

    Turn(speaker="Ana", text="We moved from MySQL to PostgreSQL yesterday.", time 2026-03-03)
      entities    MySQL, PostgreSQL
      dates       "yesterday" = 2026-03-02 .. 2026-03-03, precision day
      candidates  decision  Ana | moved to | PostgreSQL, replaces MySQL, certainty 0.8,
                  rule moved-from-to, span of the sentence

Every subject and value is text of the turn, except that a deadline's value is the ISO form of a
date in it. The first person becomes the speaker's name. Uncertain sentences yield no candidate:
questions, hypotheticals, quoted speech and negations. The rules are English. Days are UTC days,
weeks start on Monday, and `end_ns` is exclusive.

Code and links are blanked, then sentences and dates are found. Each sentence is tried against the
rules in order, and the first match wins. All expressions are bounded or anchored at a clause, and
only the first `EXTRACT_CHARS_MAX` characters are read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from doxa.base import limits
from doxa.base.calendar_names import (
    MONTH_ABBREVIATIONS,
    MONTHS,
    WEEKDAY_ABBREVIATIONS,
    WEEKDAYS,
)
from doxa.base.dates import DateMention, find_dates
from doxa.base.patterns import lazy_re
from doxa.language.candidates import Candidate as Candidate
from doxa.language.candidates import candidates_of
from doxa.language.not_names import NOT_NAMES
from doxa.language.turns import Turn

EntityKind = Literal["name", "title", "technical", "handle", "host"]


@dataclass(frozen=True, slots=True)
class Entity:
    """A name as written (apostrophes straight), with the span of its first occurrence."""

    text: str
    kind: EntityKind
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Extraction:
    entities: tuple[Entity, ...]
    dates: tuple[DateMention, ...]
    candidates: tuple[Candidate, ...]
    truncated: bool = False


def extract(turn: Turn) -> Extraction:
    """Extract names, dates and candidates of one turn. Spans are character offsets in `turn.text`.
    Never raises."""
    text, entities = _read(turn.text)
    dates = find_dates(text, turn.time_ns)
    candidates = candidates_of(
        text, speaker=turn.speaker, time_ns=turn.time_ns, dates=dates, written=turn.text
    )
    return Extraction(
        _distinct(entities),
        dates,
        tuple(islice(candidates, limits.CANDIDATES_PER_TURN_MAX)),
        len(turn.text) > limits.EXTRACT_CHARS_MAX,
    )


def names_in(text: str) -> tuple[Entity, ...]:
    """Return the names in a text, each once, in order. Never raises."""
    return _distinct(_read(text)[1])


def _read(text: str) -> tuple[str, list[Entity]]:
    """The text without code and links, and the names in it."""
    # Straight apostrophes keep every span and halve the number of rules.
    text = text[: limits.EXTRACT_CHARS_MAX].replace("’", "'")
    text, entities = _links(_blank(_FENCE, text) if "```" in text or "~~~" in text else text)
    return text, entities + _names(text)


# -- Entities

_FENCE = lazy_re(r"^(```|~~~).*?(?:^\1|\Z)", re.DOTALL | re.MULTILINE)
_URL = lazy_re(r"(?:https?://|\bwww\.)[^\s<>\"')\]]{1,2000}")
_HOST = lazy_re(
    r"(?:https?://)?(?:[^/?#@]{0,200}@)?([A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,10})"
    r"(?![A-Za-z0-9-])"
)
_HANDLE = lazy_re(r"(?<![\w@./])@[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?=[A-Za-z0-9_])){1,63}")
_TITLE = lazy_re(r"[\"“]([A-Z0-9][^\"“”\n]{1,78}?)[,.!?]?[\"”]")
_UPPER = "A-ZÀ-ÖØ-Þ"
_WORD = lazy_re(rf"[{_UPPER}](?:[\w&#+]|['-](?=\w)|\.(?=[a-z]{{2}}|[{_UPPER}](?:\.|\b))){{0,60}}")
_JOIN = lazy_re(r" (?:(?:of|of the|de|van|von|der|di|du) )?")
_HONORIFICS = frozenset({"Dr", "Mr", "Mrs", "Ms", "Prof", "St", "Mt"})
_TECHNICAL = lazy_re(
    rf"[a-z]{{1,12}}[{_UPPER}]|[{_UPPER}][a-z]+[{_UPPER}]|[{_UPPER}]{{2,}}[a-z]|[A-Za-z]+[-.]?\d"
    r"|[A-Z][a-z]*[+#]|[A-Z][a-z]+\.[a-z]"
)
_CALENDAR = frozenset(
    name.capitalize()
    for name in (
        *MONTHS,
        *MONTH_ABBREVIATIONS,
        *WEEKDAYS,
        *WEEKDAY_ABBREVIATIONS,
        *(f"{name}s" for name in WEEKDAYS),
    )
)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    """Blank each match and keep the length, so that spans stay valid."""
    return pattern.sub(lambda match: "\n" * len(match[0]), text)


def _links(text: str) -> tuple[str, list[Entity]]:
    entities: list[Entity] = []
    if "://" in text or "www." in text:
        for match in _URL.finditer(text):
            host = _HOST.match(match[0])
            if host:
                start = match.start() + host.start(1)
                entities.append(Entity(host[1].lower(), "host", start, start + len(host[1])))
        text = _URL.sub(lambda match: " " * len(match[0]), text)
    if "@" in text:
        entities += (
            Entity(match[0], "handle", match.start(), match.end())
            for match in _HANDLE.finditer(text)
        )
    if '"' in text or "“" in text:
        entities += (
            Entity(match[1], "title", match.start(1), match.end(1))
            for match in _TITLE.finditer(text)
            if _is_title(match[1])
        )
    return text, entities


def _is_title(text: str) -> bool:
    """Return whether most longer words are capitalised, as in a title and unlike quoted speech."""
    words = [word for word in text.split() if len(word) > 3 or word[0].isupper()]
    return (
        1 <= len(words) <= 12
        and all(word[0].isupper() or word[0].isdigit() for word in words)
        and words[0].lower() not in NOT_NAMES
    )


def _names(text: str) -> list[Entity]:
    """Find runs of capitalised words. A run at the start of a sentence counts if it looks
    technical, has several words, or also occurs inside a sentence."""
    entities: list[Entity] = []
    doubtful: list[Entity] = []
    run: list[tuple[int, int]] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        while start > 0 and text[start - 1].isalnum() and match.start() - start < 12:
            start -= 1
        if run and (start < run[-1][1] or _joins(text, run, start=start)):
            if start >= run[-1][1]:
                run.append((start, end))
            continue
        _close(text, run, sure=entities, doubtful=doubtful)
        run = [(start, end)]
    _close(text, run, sure=entities, doubtful=doubtful)
    if doubtful:
        known = {entity.text for entity in entities}
        entities += (entity for entity in doubtful if entity.text in known)
    return entities


def _joins(text: str, run: list[tuple[int, int]], *, start: int) -> bool:
    end = run[-1][1]
    if text[end : end + 2] == ". " and text[run[-1][0] : end] in _HONORIFICS:
        return start == end + 2
    return start - end <= 8 and _JOIN.fullmatch(text, end, start) is not None


def _close(
    text: str, run: list[tuple[int, int]], *, sure: list[Entity], doubtful: list[Entity]
) -> None:
    words = [(start, end, text[start:end]) for start, end in run]
    if len(words) > 2 and all(word.isupper() for _, _, word in words):
        return
    opens = bool(words) and _opens_sentence(text, words[0][0])
    while words and _is_common(words[0][2]):
        words.pop(0)
        # "Hey Caroline": the word after an opener is not capitalised by its position.
        opens = False
    while words and _is_common(words[-1][2]):
        words.pop()
    if not words or len(words) > limits.ENTITY_WORDS_MAX or words[-1][2] in _HONORIFICS:
        return
    start, end, last = words[0][0], words[-1][1], words[-1][2]
    if last.endswith("'s"):
        end -= 2
    name = text[start:end]
    technical = len(words) == 1 and _TECHNICAL.match(name) is not None
    if (
        len(name) < 2
        or not name[0].isalpha()
        or ("'" in name and name.partition("'")[0].lower() in NOT_NAMES)
    ):
        return
    entity = Entity(name, "technical" if technical else "name", start, end)
    (
        doubtful if opens and len(words) == 1 and not technical and not name.isupper() else sure
    ).append(entity)


def _is_common(word: str) -> bool:
    base = word.partition("'")[0]
    single = len(base) == 1 and word != base + "#"
    return base.lower() in NOT_NAMES or base in _CALENDAR or single


def _opens_sentence(text: str, start: int) -> bool:
    position = start - 1
    while position >= 0 and text[position] in " \t":
        position -= 1
    return position < 0 or not (text[position].isalnum() or text[position] in ",)&-/'%@")


def _distinct(entities: list[Entity]) -> tuple[Entity, ...]:
    first: dict[str, Entity] = {}
    for entity in sorted(entities, key=lambda one: one.start):
        first.setdefault(entity.text, entity)
        if len(first) >= limits.ENTITIES_PER_TURN_MAX:
            break
    return tuple(first.values())
