"""The phrases that signals look for, a data file for each language: `data/<language>.json` maps a
list of regular expressions, or of words, to each name. All languages are looked for at once, so
that a conversation in two of them needs no detection."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files

from doxa.base.values import decode

LANGUAGES = ("en", "de", "es", "fr", "zh")
PHRASES = (
    "correction",
    "novelty",
    "tension",
    "plan",
    "done",
    "ability",
    "inability",
    "apology",
    "marker",
    "self",
)
NEGATION = "negation"


@lru_cache(maxsize=1)
def tables() -> dict[str, dict[str, list[str]]]:
    """Return the data files, by language."""
    folder = files("doxa.agent.signals") / "data"
    return {one: decode((folder / f"{one}.json").read_bytes()) for one in LANGUAGES}


@cache
def phrases(name: str) -> re.Pattern[str]:
    """Return the pattern that finds the phrases of a name in any of the languages."""
    spaced = [
        one for language, table in tables().items() if language != "zh" for one in table[name]
    ]
    end = r"(?!\w)" if name == "self" else ""
    # the boundary is asked first, so that most places in a text fail at once
    return re.compile(
        rf"(?<!\w)(?:{'|'.join(spaced)}){end}|{'|'.join(tables()['zh'][name])}", re.IGNORECASE
    )


@cache
def negations(languages: tuple[str, ...] = LANGUAGES) -> re.Pattern[str]:
    """Return the pattern that finds a word that denies, in any of the languages."""
    words = [
        re.escape(word)
        for language in languages
        if language != "zh"
        for word in tables()[language][NEGATION]
    ]
    signs = [re.escape(sign) for sign in tables()["zh"][NEGATION] if "zh" in languages]
    spaced = "|".join(sorted(words, key=len, reverse=True))
    joined = [r"(?<!\w)n['’](?=\w)"] if "fr" in languages else []
    parts = [rf"(?<!\w)(?:{spaced})(?!\w)", *joined, *sorted(signs, key=len, reverse=True)]
    return re.compile("|".join(parts), re.IGNORECASE)


def denies(text: str, languages: tuple[str, ...] = LANGUAGES) -> bool:
    """Return whether a text denies: an odd number of words that do, counting French `ne … pas` as
    one."""
    found = [match.group().casefold() for match in negations(languages).finditer(text)]
    parted = sum(one in ("ne", "n'", "n’") for one in found)
    return (len(found) - min(parted, len(found) - parted)) % 2 == 1
