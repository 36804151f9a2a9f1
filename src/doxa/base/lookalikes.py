"""What a reader takes a word for: `skeleton` is equal for words that look alike.

A model and a person read `Verified`, `ver1fied`, a word with a Cyrillic letter in it and one with
an invisible character in it as the same word. Names that carry authority are compared by their
skeletons.

Source: Unicode Technical Standard 39, Unicode Security Mechanisms, section 4 (confusable
detection), and its data file confusables.txt. The table has those of its entries that look like one
small Latin letter, of the Cyrillic, Greek, Armenian and Cherokee scripts and the small capitals.
Beyond the standard, case is folded, accents are dropped, and so is everything that is neither a
letter nor a digit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

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
_TABLE = {ord(char): letter for letter, chars in _LOOK.items() for char in chars if char != letter}


@lru_cache(maxsize=4_096)
def skeleton(text: str) -> str:
    """Return what `text` looks like, in small Latin letters where it can be read so."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    plain = unicodedata.normalize("NFKD", folded).translate(_TABLE)
    return "".join(char for char in plain if char.isalnum() and not unicodedata.combining(char))


def reads_as(text: object, names: Iterable[str]) -> str | None:
    """Return which of the names `text` looks like, or None."""
    if not isinstance(text, str):
        return None
    seen = skeleton(text)
    return next((name for name in names if skeleton(name) == seen), None)
