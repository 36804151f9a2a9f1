"""What a reader takes a word for: `skeleton` is equal for words that look alike, and
`has_lookalike` finds words in which letters of another alphabet stand for Latin ones.

A model and a person read `Verified`, `ver1fied`, a word with a Cyrillic letter in it and one with
an invisible character in it as the same word. Names that carry authority are compared by their
skeletons.

Source: Unicode Technical Standard 39, Unicode Security Mechanisms, section 4 (confusable
detection), and its data file confusables.txt. The table has those of its entries that look like one
small Latin letter, of the Cyrillic, Greek, Armenian and Cherokee scripts and the small capitals.
Beyond the standard, case is folded, accents are dropped, and so is everything that is neither a
letter nor a digit. `has_lookalike` follows its mixed-script detection (section 5): a word is a
look-alike if it has Latin letters, and all its other letters are Cyrillic or Greek ones that look
the same in that case, as in "Аna" with a Cyrillic А. A word of one alphabet is never one, nor a
Latin stem with a Cyrillic ending.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from doxa.base.patterns import lazy_re

_LOOK: dict[str, str] = {
    "a": "аɑαᴀａ",
    "b": "ЬьƄᏏʙ",
    "c": "сϲᴄⅽꮯ",
    "d": "ԁɗꭰᏧⅾ",
    "e": "еҽɛεⅇеᴇ℮",
    "f": "ꬵẝϝꞙ",
    "g": "ɡցɢꮐ",
    "h": "һհʜᏂ",
    "j": "јϳᴊ",
    "k": "кκᴋĸ",
    "l": "iӏιıіⅼ1|ǀɩʟɪᎥІ",
    "m": "мⅿᴍʍ",
    "n": "пոռɴηｎ",
    "o": "оοσօ0ᴏоە๐",
    "p": "рρᴘⲣ",
    "q": "ԛգզ",
    "r": "гᴦʀⲅꭇ",
    "s": "ѕꜱƽѕꮪ",
    "t": "тτᴛ",
    "u": "υսᴜʋ",
    "v": "νѵᴠⅴ",
    "w": "ѡԝաᴡω",
    "x": "хχⅹ",
    "y": "уγүʏყ",
    "z": "ᴢʐ",
}
_AS_WRITTEN = {
    ord(char): letter for letter, chars in _LOOK.items() for char in chars if char != letter
}
# The other case of an entry looks alike too. Folding gives it, to capitals where the script has it
# so, and sometimes another letter, which may be an entry of its own.
_FOLDED = {
    ord(folded): letter
    for letter, chars in _LOOK.items()
    for char in chars
    if len(folded := unicodedata.normalize("NFKC", char).casefold()) == 1 and not folded.isascii()
} | _AS_WRITTEN

# Exactly alike, in this case: what a name may hide without looking odd.
_CYRILLIC = dict(
    zip("АВЕЅІЈКМНОРСТУХԚԜаеѕіјорсухԛԝһԁ", "ABESIJKMHOPCTYXQWaesijopcyxqwhd", strict=True)
)
_GREEK = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονιυ", "ABEZHIKMNOPTYXoviu", strict=True))
_LATIN_OF = _CYRILLIC | _GREEK
_LATIN_LOOK = {ord(letter): latin for letter, latin in _LATIN_OF.items()}
_WORD = lazy_re(r"[^\W\d_]+")
_FOREIGN = lazy_re(f"[{''.join(_LATIN_OF)}]")
_LATIN = lazy_re(r"[A-Za-z]")


@lru_cache(maxsize=4_096)
def skeleton(text: str) -> str:
    """Return what `text` looks like, in small Latin letters where it can be read so."""
    folded = unicodedata.normalize("NFKC", text.translate(_AS_WRITTEN)).casefold()
    plain = unicodedata.normalize("NFKD", folded).translate(_FOLDED)
    return "".join(char for char in plain if char.isalnum() and not unicodedata.combining(char))


def latin_look(text: str) -> str:
    """Return a text with the Latin letters that its Cyrillic and Greek ones look exactly like, in
    the same case: a capital may look like another letter than its small form."""
    return text if text.isascii() else text.translate(_LATIN_LOOK)


def reads_as(text: object, names: Iterable[str]) -> str | None:
    """Return which of the names `text` looks like, or None."""
    if not isinstance(text, str):
        return None
    seen = skeleton(text)
    return next((name for name in names if skeleton(name) == seen), None)


def has_lookalike(text: str) -> bool:
    """Return whether a text contains a look-alike of a Latin word."""
    if text.isascii() or not _FOREIGN.search(text):
        return False
    return any(_is_lookalike(match.group()) for match in _WORD.finditer(text))


def _is_lookalike(word: str) -> bool:
    if word.isascii() or not _LATIN.search(word):
        return False
    return all(letter in _LATIN_OF or letter.isascii() for letter in word)
