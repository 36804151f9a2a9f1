"""Text functions. Positions count characters from 0."""

from __future__ import annotations

import unicodedata
from typing import Any

from doxa.base.limits import VALUE_CHARS_MAX, VALUE_ITEMS_MAX
from doxa.query.core.errors import fail, shown
from doxa.query.core.memory_budget import refuse_size
from doxa.query.functions.registry import Function


def _text(value: Any, function: str) -> str:
    if type(value) is str:
        return value
    fail(f"{function}() takes a text, not {shown(value)}.")


def _count(value: Any, function: str) -> int:
    if type(value) is not int:
        fail(f"{function}() takes an integer here, not {shown(value)}.")
    if value < 0:
        fail(
            f"{function}() takes no negative number.",
            kind="ArgumentError",
            detail="NegativeIntegerArgument",
        )
    return value


def _left(text: Any, count: Any) -> str:
    return _text(text, "left")[: _count(count, "left")]


def _right(text: Any, count: Any) -> str:
    number = _count(count, "right")
    return _text(text, "right")[-number:] if number else ""


def _substring(text: Any, start: Any, length: Any = None) -> str:
    begin = _count(start, "substring")
    whole = _text(text, "substring")
    return whole[begin:] if length is None else whole[begin : begin + _count(length, "substring")]


def _replace(text: Any, search: Any, by: Any) -> str:
    sought = _text(search, "replace")
    whole = _text(text, "replace")
    other = _text(by, "replace")
    if (
        len(other) > len(sought)
        and len(whole) + whole.count(sought) * (len(other) - len(sought)) > VALUE_CHARS_MAX
    ):
        refuse_size(VALUE_CHARS_MAX, "characters")
    return whole.replace(sought, other)


def _split(text: Any, by: Any) -> list[str] | None:
    whole = _text(text, "split")
    if type(by) is list:
        for one in by:
            if one is None:
                return None
            _text(one, "split")
        if not by:
            return [whole]
        for one in filter(None, by[1:]):
            whole = _replace(whole, one, by[0])
        by = by[0]
    separator = _text(by, "split")
    if (whole.count(separator) if separator else len(whole)) >= VALUE_ITEMS_MAX:
        refuse_size(VALUE_ITEMS_MAX, "items")
    return whole.split(separator) if separator else list(whole) or [""]


def _strip(method: str, name: str) -> Any:
    def strip(text: Any, chars: Any = None) -> str:
        found: str = getattr(_text(text, name), method)(
            None if chars is None else _text(chars, name)
        )
        return found

    return strip


def _normalize(text: Any, form: Any = "NFC") -> str:
    if form not in ("NFC", "NFD", "NFKC", "NFKD"):
        fail(
            f"{form!r:.20} is not a normal form.",
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Use NFC, NFD, NFKC or NFKD.",
        )
    return unicodedata.normalize(form, _text(text, "normalize"))


FUNCTIONS = (
    Function("left", _left, 2, 2),
    Function("right", _right, 2, 2),
    Function("substring", _substring, 2, 3),
    Function("replace", _replace, 3, 3),
    Function("split", _split, 2, 2),
    Function("lTrim", _strip("lstrip", "lTrim"), 1, 2),
    Function("rTrim", _strip("rstrip", "rTrim"), 1, 2),
    Function("bTrim", _strip("strip", "bTrim"), 1, 2),
    Function("trim", _strip("strip", "trim"), 1, 1),
    Function("toLower", lambda text: _text(text, "toLower").lower(), 1, 1),
    Function("toUpper", lambda text: _text(text, "toUpper").upper(), 1, 1),
    Function("lower", lambda text: _text(text, "lower").lower(), 1, 1),
    Function("upper", lambda text: _text(text, "upper").upper(), 1, 1),
    Function("normalize", _normalize, 1, 2),
    Function("char_length", lambda text: len(_text(text, "char_length")), 1, 1),
    Function("character_length", lambda text: len(_text(text, "character_length")), 1, 1),
)
