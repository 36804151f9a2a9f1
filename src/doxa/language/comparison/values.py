"""Compare two values that sentences state: amounts, dates and times by what they mean, all others
as they are written."""

from __future__ import annotations

from typing import Literal

from doxa.base.patterns import lazy_re
from doxa.base.words import written_marks
from doxa.language.stated_values import StatedValue, amount_as_written, time_of_day, words_of

Likeness = Literal["same", "part", "other"]
_LISTED = lazy_re(r",| and | or |&|/")
_SYMBOL_CHARS = 3  # of a unit, in which capitals mean something


def compare_values(one: StatedValue, other: StatedValue) -> Likeness:
    """Compare two values: "same", "part" if one is more specific than the other, or "other"."""
    if one.type == other.type == "amount":
        near = one.dimension == other.dimension and abs(
            one.numbers[0] - other.numbers[0]
        ) <= 1e-9 * max(abs(one.numbers[0]), 1e-9)
        return "same" if near and _written_alike(one, other) else "other"
    if (
        one.category == other.category == "day"
        and one.numbers
        and other.numbers
        and _clock(one) != _clock(other)
    ):
        return (
            "part"
            if None in (_clock(one), _clock(other)) and one.numbers == other.numbers
            else "other"
        )  # on Friday at two, on Friday at four
    if one.type == other.type == "date" and one.numbers and other.numbers:
        if one.numbers == other.numbers:
            return _by_rest(one, other)
        return "part" if _within(one, other) or _within(other, one) else "other"
    if one.type == other.type and one.numbers:
        return _by_rest(one, other) if one.numbers == other.numbers else "other"
    if one.type != other.type and "none" in (one.type, other.type):
        return "other"
    if one.words == other.words:
        if written_marks(one.text) != written_marks(other.text):
            return "other"
        same_order = (
            one.words == frozenset(("",))
            or words_of(one.text) == words_of(other.text)
            or bool(_LISTED.search(one.text))
        )
        return "same" if same_order else "other"
    return (
        "part"
        if one.words and other.words and (one.words < other.words or other.words < one.words)
        else "other"
    )


def _by_rest(one: StatedValue, other: StatedValue) -> Likeness:
    """Compare what is said besides an equal date, time or weekday."""
    if one.rest == other.rest:
        return "same"
    return "part" if one.rest < other.rest or other.rest < one.rest else "other"


def _written_alike(one: StatedValue, other: StatedValue) -> bool:
    """Return whether two equal amounts may be one. 1.10 and 1.1 are two versions, 01234 and 1234
    two codes; what has a unit is measured, and 1.50 kg are 1.5 kg. MB and Mb are two units."""
    (digits, unit), (others, another) = map(amount_as_written, (one.text, other.text))
    if not digits or not others:
        return True
    if unit != another and unit.casefold() == another.casefold() and len(unit) <= _SYMBOL_CHARS:
        return False
    return one.dimension != "count" or digits == others


def _clock(value: StatedValue) -> float | None:
    """Return the minute of the day stated with a date or weekday, or None."""
    return time_of_day(value.text, len(value.text.split()[0]))


def _within(one: StatedValue, other: StatedValue) -> bool:
    return other.numbers[0] <= one.numbers[0] and one.numbers[1] <= other.numbers[1]
