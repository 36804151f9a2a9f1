"""The data files of the context, one for each language: the frames of its blocks in the first
person, the notes of its lines, and the patterns that it reads messages by."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from doxa.agent.context.stages import LANGUAGES
from doxa.base.errors import InputError

_WIDE = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Phrases:
    """What a context says in one language: titles by stage, and notes by name."""

    frames: dict[str, str]
    notes: dict[str, str]


@dataclass(frozen=True, slots=True)
class Patterns:
    """What messages of any of the languages are read by.

    `mutable`   a statement about files, processes or configuration
    `asks`      a question about them
    `intent`    words of who asks for something said before
    `meta`, `denial`   a question about memory itself; an answer that there is none
    """

    mutable: re.Pattern[str]
    asks: re.Pattern[str]
    intent: re.Pattern[str]
    meta: re.Pattern[str]
    denial: re.Pattern[str]


@cache
def phrases_of(language: str) -> Phrases:
    """Return the phrases of a language. Raises InputError for one that has none."""
    if language not in LANGUAGES:
        raise InputError(
            f"There are no frames in {language[:20]!r}.",
            next_step=f"Use one of {', '.join(LANGUAGES)}.",
            field="language",
        )
    held = _read(language)
    return Phrases(held["frames"], held["notes"])


@cache
def patterns() -> Patterns:
    """Return the patterns of all languages together."""
    held = [_read(language) for language in LANGUAGES]
    phrases = [phrase for one in held for phrase in one["intent"]]
    return Patterns(
        _any(*(text for one in held for text in one["mutable"])),
        _any(*(text for one in held for text in one["asks"])),
        _any(*(f"{_start(text)}{re.escape(text)}{_end(text)}" for text in phrases)),
        _any(*(text for one in held for text in one["noise_user"])),
        _any(*(text for one in held for text in one["noise_agent"])),
    )


def _start(phrase: str) -> str:
    """A phrase begins with its word, except where words are not separated."""
    return "" if _WIDE.match(phrase) else r"(?<!\w)"


def _end(phrase: str) -> str:
    return r"(?!\w)" if phrase[-1].isalpha() and not _WIDE.match(phrase) else ""


def _any(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in alternatives), re.IGNORECASE)


@cache
def _read(language: str) -> dict[str, Any]:
    place = files("doxa.agent.context") / "data" / f"{language}.json"
    found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
    return found
