"""How two written names compare. Pure.

    key        a name in Unicode form NFKC, case folded, with single blanks: equal keys are one name
    variant    the keys differ in accents, punctuation or blanks alone (José, Jose; O'Neil, ONeil)
    short      every word of the one is a word of the other (Ana, Ana Ferreira)
    initials   the words correspond, some by their first letter (A. Ferreira), or the one is the
               first letters of the other (IBM, International Business Machines)
    other      words on both sides that the other lacks (Martin Osei, Martin Kowalski), or another
               number (atlas-1, atlas-2): another entity

A name *looks like* another if a reader would take it for the other although its letters are others
(base/lookalikes.py): such a name is never taken for the other without being asked about.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache
from typing import Literal

from doxa.base.lookalikes import has_lookalike, latin_look, skeleton
from doxa.belief import name_from

Level = Literal["exact", "variant", "short", "long", "initials", "other"]

_WORD = re.compile(r"[^\W_]+")
_TITLES = frozenset("mr mrs ms miss dr prof sir st".split())


@lru_cache(maxsize=65_536)
def key_of(name: str) -> str:
    """Return what is equal of two spellings of one name: case and blanks do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@lru_cache(maxsize=65_536)
def words_of(key: str) -> tuple[str, ...]:
    """Return the words of a name without accents and without titles (Dr, Mrs)."""
    plain = "".join(
        char for char in unicodedata.normalize("NFKD", key) if not unicodedata.combining(char)
    )
    plain = plain.replace("'", "").replace("’", "")
    words = _WORD.findall(unicodedata.normalize("NFC", plain))
    return tuple(word for word in words if word not in _TITLES) or tuple(words)


@lru_cache(maxsize=65_536)
def looks_of(name: str) -> tuple[str, ...]:
    """Return what the words of a name, as it is written, look like, in small Latin letters."""
    written = latin_look(unicodedata.normalize("NFKC", name))
    return tuple(filter(None, (skeleton(word) for word in _WORD.findall(written))))


def compare(mention: str, name: str) -> Level:
    """Return how the key of a mention compares with the key of a name of an entity."""
    if mention == name:
        return "exact"
    one, other = words_of(mention), words_of(name)
    if "".join(one) == "".join(other) and one:
        return "variant"
    first, second = set(one), set(other)
    if _numbers(first) != _numbers(second):
        return "other"
    if first and first < second:
        return "short"
    if second and second < first:
        return "long"
    return "initials" if _abbreviates(one, other) or _abbreviates(other, one) else "other"


def _numbers(words: set[str]) -> set[str]:
    return {word for word in words if any(char.isdigit() for char in word)}


def _abbreviates(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether `one` is `other` with some words as initials, or its first letters as one word."""
    if len(one) == len(other) > 1:
        pairs = list(zip(one, other, strict=True))
        return any(len(a) == 1 for a, _ in pairs) and all(
            a == b or (len(a) == 1 and b.startswith(a)) for a, b in pairs
        )
    return (
        len(one) == 1
        and len(other) == len(one[0]) > 1
        and one[0] == "".join(word[0] for word in other)
    )


def looks_like(mention: str, name: str) -> bool:
    """Return whether one of two names, as they are written, would be taken for the other, or for a
    short form of it, only because other letters stand in it."""
    first, second = key_of(mention), key_of(name)
    if first == second:
        return False
    hidden = has_lookalike(mention) or has_lookalike(name)
    if compare(first, second) != "other":
        return has_lookalike(mention) != has_lookalike(name)
    one, other = looks_of(mention), looks_of(name)
    if "".join(one) == "".join(other):
        return True
    return hidden and bool(one and other) and (set(one) <= set(other) or set(other) <= set(one))


def address_name(key: str, number: int = 1) -> str:
    """Return the name in the address of the entity of a key: readable, and one for each key. Of
    several entities of one key the second is number 2."""
    words = name_from(key)
    if words != key.replace(" ", "-") or not words:
        digest = hashlib.blake2b(key.encode(), digest_size=4).hexdigest()
        words = f"{words}-{digest}" if words else digest
    return words if number == 1 else f"{words}~{number}"
