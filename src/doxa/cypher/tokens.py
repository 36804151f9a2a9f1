"""Split text into tokens: (kind, text, at). Comments and blanks are dropped; every other character
belongs to a token or is an error.

Kinds: NAME (also keywords: Cypher reserves no words), QUOTED (a name in backticks), INT, FLOAT,
TEXT, PARAMETER, OP, END, and MALFORMED for a number followed by letters.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import NamedTuple

from doxa.base.limits import QUERY_TEXT_CHARS_MAX
from doxa.cypher.errors import fail

Tick = Callable[[], None]  # called for every piece of work; it raises an error to give up


class Token(NamedTuple):
    kind: str
    text: str
    at: int
    upper: str = ""  # of a NAME: for keyword comparison
    value: object = None  # of a literal


_BLANK = re.compile(r"(?:\s++|//[^\n\r]*|(?>/\*.*?\*/)|[\u0085\u180e\ufeff])+", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*")
_HEX = re.compile(r"[0-9A-Fa-f]+")
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)  # surrogates: no characters
_PARAMETER_NAME = re.compile(r"\w+")
_NUMBER = re.compile(
    r"0[xX](?P<hex>[0-9a-zA-Z_]*)|0o(?P<octal>[0-9a-zA-Z_]*)"
    r"|(?P<float>\d[\d_]*\.\d[\d_]*(?:[eE][+-]?\d+)?|\.\d[\d_]*(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+)(?P<tail>\w*)"
    r"|(?P<int>\d[\d_]*)(?P<rest>\w*)"
)
_OP = re.compile(r"<>|<=|>=|=~|\+=|::|\.\.|->|<-|\|\||!=|[-+*/%^=<>()\[\]{},.:;|&!?$~]")
_ESCAPES = {
    "\\": "\\",
    "'": "'",
    '"': '"',
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "`": "`",
    "/": "/",
}
_DASHES = {
    ord(c): "-" for c in "\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
}
_ANGLES = {
    "\u27e8": "<",
    "\u3008": "<",
    "\ufe64": "<",
    "\uff1c": "<",
    "\u27e9": ">",
    "\u3009": ">",
    "\ufe65": ">",
    "\uff1e": ">",
}


def no_tick() -> None:
    """Count nothing: for a text that nobody waits for."""


def tokens(text: str, tick: Tick = no_tick) -> list[Token]:
    """Split a text into tokens, with a tick for each."""
    if len(text) > QUERY_TEXT_CHARS_MAX:
        fail(
            f"The query has more than {QUERY_TEXT_CHARS_MAX:,} characters.",
            0,
            detail="QueryTooLong",
            hint="Pass data as parameters.",
        )
    found: list[Token] = []
    at, end = 0, len(text)
    while at < end:
        blank = _BLANK.match(text, at)
        if blank:
            at = blank.end()
            if at >= end:
                break
        tick()
        token, at = _next(text, at)
        found.append(token)
    found.append(Token("END", "", end))
    return found


def token_end(text: str, at: int) -> int:
    """Return the end of the token that begins at an offset, without the comments after it."""
    return _next(text, at)[1]


def _next(text: str, at: int) -> tuple[Token, int]:
    char = text[at]
    name = _NAME.match(text, at)
    if name:
        word = name.group()
        return Token("NAME", word, at, word.upper()), name.end()
    if char.isdecimal() or (char == "." and text[at + 1 : at + 2].isdecimal()):
        return _number(text, at)
    if char in "'\"":
        value, after = _text(text, at)
        return Token("TEXT", text[at:after], at, value=value), after
    if char == "`":
        return _quoted(text, at)
    if char == "$":
        return _parameter(text, at)
    if text.startswith("/*", at):
        fail("This comment does not end.", at, hint="Close it with */.")
    op = _OP.match(text, at)
    if op:
        return Token("OP", op.group(), at), op.end()
    if ord(char) in _DASHES:
        return Token("OP", "-", at, value=char), at + 1
    if char in _ANGLES:
        return Token("OP", _ANGLES[char], at), at + 1
    detail = "UnexpectedSyntax" if char.isascii() else "InvalidUnicodeCharacter"
    fail(f"The character {char!r} (U+{ord(char):04X}) has no meaning here.", at, detail=detail)


def _number(text: str, at: int) -> tuple[Token, int]:
    # a dot after an integer starts a range or an access, unless a digit follows
    match = _NUMBER.match(text, at)
    assert match is not None
    word = match.group()
    for base, group in ((16, "hex"), (8, "octal")):
        digits = match.group(group)
        if digits is not None:
            return Token(
                "INT", word, at, value=_integer(digits.replace("_", ""), base=base, at=at)
            ), match.end()
    if match.group("float") is not None:
        if match.group("tail"):
            return Token("MALFORMED", word, at), match.end()
        value = float(match.group("float").replace("_", ""))
        if value in (float("inf"), float("-inf")):
            fail(f"{word} is beyond the range of a float.", at, detail="FloatingPointOverflow")
        return Token("FLOAT", word, at, value=value), match.end()
    if match.group("rest"):
        return Token("MALFORMED", word, at), match.end()
    digits = match.group("int").replace("_", "")
    if len(digits) > 1 and digits[0] == "0":
        fail(
            f"{word} begins with a zero.",
            at,
            detail="InvalidNumberLiteral",
            hint="Write octal numbers as 0o17.",
        )
    return Token("INT", word, at, value=_integer(digits, base=10, at=at)), match.end()


def _integer(digits: str, *, base: int, at: int) -> int:
    try:
        value = int(digits, base) if len(digits) < 400 else 2**64
    except ValueError:
        fail("This is not an integer.", at, detail="InvalidNumberLiteral")
    if value > 2**63:  # 2**63 itself may stand after a minus sign
        fail("This number does not fit in 64 bits.", at, detail="IntegerOverflow")
    return value


def _text(text: str, at: int) -> tuple[str, int]:
    quote = text[at]
    parts: list[str] = []
    index = start = at + 1
    while True:
        index = _until(text, index, quote=quote, at=at)
        if text[index] == quote:
            parts.append(text[start:index])
            return "".join(parts), index + 1
        parts.append(text[start:index])
        piece, index = _escape(text, index)
        parts.append(piece)
        start = index


def _until(text: str, index: int, *, quote: str, at: int) -> int:
    while index < len(text) and text[index] != quote and text[index] != "\\":
        index += 1
    if index >= len(text):
        fail("This text does not end.", at, hint=f"Close it with {quote}.")
    return index


def _escape(text: str, at: int) -> tuple[str, int]:
    char = text[at + 1 : at + 2]
    if char in _ESCAPES:
        return _ESCAPES[char], at + 2
    size = {"u": 4, "U": 8}.get(char)
    if size is None:
        fail(f"\\{char} is not an escape sequence.", at, hint="Write \\\\ for a backslash.")
    digits = text[at + 2 : at + 2 + size]
    code, end = _code_point(digits, size), at + 2 + size
    if char == "u" and code in _HIGH and text[end : end + 2] == "\\u":  # a pair of surrogates
        low = _code_point(text[end + 2 : end + 6], 4)
        if low in _LOW:
            return chr(0x10000 + ((code - _HIGH.start) << 10) + (low - _LOW.start)), end + 6
    if 0 <= code <= sys.maxunicode and code not in _HIGH and code not in _LOW:
        return chr(code), end
    fail(f"\\{char}{digits} is not a Unicode character.", at, detail="InvalidUnicodeLiteral")


def _code_point(digits: str, size: int) -> int:
    """Return the number that `size` hexadecimal digits of ASCII state; -1 if these are others."""
    return int(digits, 16) if len(digits) == size and _HEX.fullmatch(digits) else -1


def _quoted(text: str, at: int) -> tuple[Token, int]:
    index = at + 1
    while True:
        index = text.find("`", index)
        if index < 0:
            fail("This quoted name does not end.", at, hint="Close it with a backtick.")
        if text[index + 1 : index + 2] != "`":
            break
        index += 2
    name = text[at + 1 : index].replace("``", "`")
    if not name:
        fail("A name has at least one character.", at)
    return Token("QUOTED", name, at), index + 1


def _parameter(text: str, at: int) -> tuple[Token, int]:
    if text[at + 1 : at + 2] == "(":
        return Token("OP", "$", at), at + 1
    if text[at + 1 : at + 2] == "`":
        quoted, after = _quoted(text, at + 1)
        return Token("PARAMETER", quoted.text, at), after
    name = _PARAMETER_NAME.match(text, at + 1)
    if not name:
        fail("A parameter needs a name after the $.", at, detail="InvalidParameterName")
    return Token("PARAMETER", name.group(), at), name.end()
