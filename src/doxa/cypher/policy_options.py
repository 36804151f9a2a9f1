"""The keys of policy options and their values. The parser checks literals with this module,
execution checks the values of parameters.

    DECAY PROFILE        halfLifeSeconds, function, visibilityThreshold, scoreFloor, scoreFrom,
                         scoreFromProperty, scope, decayEnabled, enabled
    PROMOTION PROFILE    multiplier, scoreFloor, scoreCap, scope, enabled
    PROMOTION POLICY     enabled
    KALMAN               q, r, varianceScale, windowSize

Keys are case-insensitive, and so are values that are words. The tree keeps the spelling above,
functions in lower case and other words in upper case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from math import inf, isfinite
from typing import Any, NamedTuple

from doxa.cypher.errors import Problem, QueryError, fail

FUNCTIONS = ("exponential", "linear", "step", "none")
ANCHORS = ("CREATED", "VERSION", "CUSTOM", "LAST_ACCESSED")
SCOPES = ("NODE", "EDGE", "PROPERTY")
HALF_LIFE_S_MAX = (2**63 - 1) // 10**9  # times are kept as 64-bit nanoseconds
WINDOW_ITEMS_MAX = 10_000
OPEN = ...  # a value that only execution knows


class _Rule(NamedTuple):
    """`take` returns the canonical value, or None for an invalid one."""

    wanted: str
    take: Callable[[Any], Any]
    words: tuple[str, ...] = ()


def _number(
    wanted: str, least: float = -inf, most: float = inf, *, open_end: bool = False
) -> _Rule:
    def take(value: Any) -> Any:
        fits = (
            type(value) in (int, float)
            and (type(value) is int or isfinite(value))
            and least <= value <= most
        )
        return value if fits and not (open_end and value == least) else None

    return _Rule(wanted, take)


def _word(words: tuple[str, ...]) -> _Rule:
    def take(value: Any) -> Any:
        return next(
            (word for word in words if isinstance(value, str) and value.upper() == word.upper()),
            None,
        )

    return _Rule(f"one of {', '.join(words)}", take, words)


def _half_life() -> _Rule:
    within = _number("", -HALF_LIFE_S_MAX, HALF_LIFE_S_MAX)

    def take(value: Any) -> Any:
        return None if within.take(value) is None or 0 < abs(value) < 1e-9 else value

    return _Rule(
        f"a number of seconds, with or without a minus, from a nanosecond to {HALF_LIFE_S_MAX:,}"
        " (292 years)",
        take,
    )


_SHARE = _number("a number from 0 to 1", 0, 1)
_FLAG = _Rule("true or false", lambda value: value if type(value) is bool else None)
_HALF_LIFE = _half_life()
_POSITIVE = _number("a number greater than 0", 0, open_end=True)
_NAME = _Rule(
    "the name of a property, as a text",
    lambda value: value if isinstance(value, str) and value else None,
)
_WINDOW = _Rule(
    f"a whole number from 1 to {WINDOW_ITEMS_MAX:,}",
    lambda value: value if type(value) is int and 1 <= value <= WINDOW_ITEMS_MAX else None,
)
_RULES: Mapping[str, Mapping[str, _Rule]] = {
    "DECAY PROFILE": {
        "halfLifeSeconds": _HALF_LIFE,
        "function": _word(FUNCTIONS),
        "visibilityThreshold": _SHARE,
        "scoreFloor": _SHARE,
        "scoreFrom": _word(ANCHORS),
        "scoreFromProperty": _NAME,
        "scope": _word(SCOPES),
        "decayEnabled": _FLAG,
        "enabled": _FLAG,
    },
    "PROMOTION PROFILE": {
        "multiplier": _number("a number of at least 0", 0),
        "scoreFloor": _SHARE,
        "scoreCap": _SHARE,
        "scope": _word(SCOPES),
        "enabled": _FLAG,
    },
    "PROMOTION POLICY": {"enabled": _FLAG},
    "KALMAN": {
        "q": _number("a number of at least 0", 0),
        "r": _POSITIVE,
        "varianceScale": _POSITIVE,
        "windowSize": _WINDOW,
    },
}
_DIRECTIVES: Mapping[str, tuple[str, _Rule]] = {
    "half_life": ("DECAY HALF LIFE", _HALF_LIFE),
    "floor": ("DECAY FLOOR", _SHARE),
    "threshold": ("DECAY VISIBILITY THRESHOLD", _SHARE),
    "profile": ("DECAY PROFILE", _Rule("the name of a decay profile", _NAME.take)),
}


# For the parser: problems with their position


def option_key(kind: str, written: str, at: int) -> str:
    """Return the canonical spelling of a key."""
    keys = {key.lower(): key for key in _RULES[kind]}
    found = keys.get(written.lower())
    if found is not None:
        return found
    near = get_close_matches(written.lower(), keys, n=1)
    what = "WITH KALMAN" if kind == "KALMAN" else f"A {kind.lower()}"
    hint = f"Did you mean {keys[near[0]]}?" if near else f"Known are {', '.join(keys.values())}."
    fail(
        f"{what} has no option {written[:100]}.",
        at,
        kind="ArgumentError",
        detail="InvalidArgumentValue",
        hint=hint,
    )


def option_words(kind: str, key: str) -> tuple[str, ...]:
    """Return the words that a key accepts, which need no quotes; none for other keys."""
    return _RULES[kind][key].words


def option_value(kind: str, key: str, value: Any, at: int) -> Any:
    """Return the canonical value of an option."""
    return _taken(key, _RULES[kind][key], value, at)


def directive_value(kind: str, value: Any, at: int) -> Any:
    """Return the canonical value of a directive of a binding: half_life, floor, threshold or
    profile."""
    words, rule = _DIRECTIVES[kind]
    found = _taken(words, rule, value, at)
    if kind == "half_life" and found == 0:
        fail(
            "0 is not a half-life.",
            at,
            kind="ArgumentError",
            detail="InvalidArgumentValue",
            hint="Write NO DECAY for what keeps its score.",
        )
    return found


def agree(kind: str, values: Mapping[str, Any], places: Mapping[str, int], *, whole: bool) -> None:
    """Check that options are consistent. A value may be OPEN. Without `whole`, missing options may
    have been set before."""
    if kind != "DECAY PROFILE":
        return
    anchor = values.get("scoreFrom", OPEN if not whole else "CREATED")
    if anchor == "CUSTOM" and "scoreFromProperty" not in values and whole:
        _disagree(
            "scoreFrom CUSTOM needs scoreFromProperty.",
            places.get("scoreFrom", 0),
            "Name the property that ages count from.",
        )
    if anchor not in ("CUSTOM", OPEN) and "scoreFromProperty" in values:
        _disagree(
            "scoreFromProperty is for scoreFrom CUSTOM.",
            places.get("scoreFromProperty", 0),
            "Add scoreFrom: 'CUSTOM', or leave it out.",
        )
    if values.get("halfLifeSeconds", OPEN) == 0 and values.get("function", OPEN) not in (
        "none",
        OPEN,
    ):
        _disagree(
            "0 is not a half-life.",
            places.get("halfLifeSeconds", 0),
            "Give seconds, or function: 'none' for what keeps its score.",
        )


def _disagree(message: str, at: int, hint: str) -> None:
    fail(message, at, kind="ArgumentError", detail="InvalidArgumentValue", hint=hint)


def _taken(what: str, rule: _Rule, value: Any, at: int) -> Any:
    found = rule.take(value)
    if found is None:
        shown = (
            "null"
            if value is None
            else str(value).lower()
            if isinstance(value, bool)
            else repr(value)[:60]
        )
        fail(
            f"{what} is {rule.wanted}, not {shown}.",
            at,
            kind="ArgumentError",
            detail="InvalidArgumentValue",
        )
    return found


# For execution: errors without a position, or with an offset that is resolved once the text is
# available


def check_option(kind: str, key: str, value: Any, *, at: int | None = None) -> Any:
    """Return the canonical value of an option. `kind`: DECAY PROFILE, PROMOTION PROFILE, PROMOTION
    POLICY or KALMAN. Raises QueryError."""
    return _checked(lambda: option_value(kind, key, value, at or 0), at)


def check_directive(kind: str, value: Any, *, at: int | None = None) -> Any:
    """Return the canonical value of a directive: half_life, floor, threshold or profile. Raises
    QueryError."""
    return _checked(lambda: directive_value(kind, value, at or 0), at)


def check_options(kind: str, values: Mapping[str, Any], *, at: int | None = None) -> None:
    """Check that all options of an object are consistent. Raises QueryError."""
    _checked(lambda: agree(kind, values, {}, whole=True), at)


def _checked(ask: Callable[[], Any], at: int | None) -> Any:
    try:
        return ask()
    except Problem as problem:
        hint = problem.hint or "Correct the value, or leave the option out."
        error = QueryError(
            problem.message,
            kind=problem.kind,
            detail=problem.detail,
            next_step=hint,
            phase="runtime",
        )
        error.at = at
        raise error from None
