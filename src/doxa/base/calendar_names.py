"""English names of months and weekdays, in one table, in lower case."""

from __future__ import annotations

from collections.abc import Iterable

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

# The longer of two forms comes first, so that a pattern of alternatives matches it.
MONTH_ABBREVIATIONS = (
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sept",
    "sep",
    "oct",
    "nov",
    "dec",
)
WEEKDAY_ABBREVIATIONS = ("mon", "tues", "tue", "wed", "thurs", "thur", "thu", "fri", "sat", "sun")

# By the first three letters, which names and abbreviations share.
MONTH_NUMBERS = {name[:3]: number for number, name in enumerate(MONTHS, 1)}
WEEKDAY_NUMBERS = {name[:3]: number for number, name in enumerate(WEEKDAYS)}


def alternatives(names: Iterable[str], *, capitals: bool = False) -> str:
    """Return a regular expression of alternatives: `monday|tuesday`, or `Monday|Tuesday`."""
    return "|".join(name.capitalize() if capitals else name for name in names)
