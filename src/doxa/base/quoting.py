"""Text of others as quoted data, one way for every door: nothing in it hides, turns its line
around, or ends its own quotation.

Left out is what has no shape of its own (controls, formats such as marks of direction, zero-width
blanks and tags, halves of characters), but for the two joiners, which Persian, Indian scripts and
emoji need. Whatever ends a line is a line feed.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec

_ENDS = re.compile("\r\n|[\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
_KEPT = frozenset("\n\t\u200c\u200d")
_TAGS = range(0xE0000, 0xE0080)  # also those that Unicode has not assigned
_BARE = re.compile(r'[^\s"\\·;,\[\](){}]+')


def visible(text: str) -> str:
    """The text without what hides, its lines ended by line feeds alone."""
    if (
        text.isprintable()
    ):  # nearly all text of one line is: no control, no format, nothing unassigned
        return text
    lined = _ENDS.sub("\n", text)
    return lined.translate({ord(char): None for char in set(lined) if _hides(char)})


def one_line(text: str) -> str:
    """What is visible of the text, on one line."""
    return visible(text).replace("\n", " ").replace("\t", " ")


def quoted(text: str) -> str:
    """The text as a JSON string on one line: quotes and ends of lines in it are escaped."""
    return msgspec.json.encode(visible(text)).decode()


def bare(text: str) -> str:
    """A name or an address as it is; quoted where it holds anything that could pass for what stands
    around it."""
    return text if text.isprintable() and _BARE.fullmatch(text) else quoted(text)


def _hides(char: str) -> bool:
    return char not in _KEPT and (
        unicodedata.category(char) in ("Cc", "Cf", "Cs") or ord(char) in _TAGS or char == "\u2065"
    )
