"""Quote untrusted text as data, the same way in every interface. Quoted text cannot hide
characters, reverse its direction, or end its own quotation.

Removed are invisible characters: control characters, format characters such as direction marks,
zero-width spaces and tags, and lone surrogates. The two joiners stay, because Persian, Indic
scripts and emoji need them. Every line ending becomes a line feed.
"""

from __future__ import annotations

import unicodedata

import msgspec

from doxa.base.patterns import lazy_re

_ENDS = lazy_re("\r\n|[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_KEPT = frozenset("\n\t\u200c\u200d")
_TAGS = range(0xE0000, 0xE0080)  # also those that Unicode has not assigned
_BARE = lazy_re(r'[^\s"\\·;,\[\](){}]+')


def visible(text: str) -> str:
    """Remove invisible characters and normalise line endings to line feeds."""
    if text.isprintable():  # true of nearly all one-line text
        return text
    lined = _ENDS.sub("\n", text)
    return lined.translate({ord(char): None for char in set(lined) if _hides(char)})


def one_line(text: str) -> str:
    """Return the visible text on one line."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def quoted(text: str) -> str:
    """Return the text as a one-line JSON string with quotes and line endings escaped."""
    return msgspec.json.encode(visible(text)).decode()


def bare(text: str) -> str:
    """Return a name or an address unchanged, or quoted if it contains characters that could be
    mistaken for the surrounding syntax."""
    return text if text.isprintable() and _BARE.fullmatch(text) else quoted(text)


def _hides(char: str) -> bool:
    return char not in _KEPT and (
        unicodedata.category(char) in ("Cc", "Cf", "Cs") or ord(char) in _TAGS or char == "\u2065"
    )
