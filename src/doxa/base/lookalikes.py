"""Words that look like others: Latin words in which letters of another alphabet stand that look
the same, such as "Аna" with a Cyrillic А.

After Unicode Technical Standard 39, "Unicode Security Mechanisms", mixed-script detection: a word
is a look-alike if it has Latin letters, and all its other letters are Cyrillic or Greek ones that
look Latin. A word of one alphabet is never one, nor a Latin stem with a Cyrillic ending.
"""

from __future__ import annotations

import re

_CYRILLIC = dict(
    zip("АВЕЅІЈКМНОРСТУХԚԜаеѕіјорсухԛԝһԁ", "ABESIJKMHOPCTYXQWaesijopcyxqwhd", strict=True)
)
_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιυ", "ABEZHIKMNOPTYXoviu", strict=True))
_LATIN_OF = _CYRILLIC | _GREEK
_WORD = re.compile(r"[^\W\d_]+")
_FOREIGN = re.compile(f"[{''.join(_LATIN_OF)}]")
_LATIN = re.compile(r"[A-Za-z]")


def has_lookalike(text: str) -> bool:
    """Return whether a text contains a look-alike of a Latin word."""
    if text.isascii() or not _FOREIGN.search(text):
        return False
    return any(_is_lookalike(match.group()) for match in _WORD.finditer(text))


def _is_lookalike(word: str) -> bool:
    if word.isascii() or not _LATIN.search(word):
        return False
    return all(letter in _LATIN_OF or letter.isascii() for letter in word)
