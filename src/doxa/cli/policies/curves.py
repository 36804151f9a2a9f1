"""A score over time as text: 21 lines for 1.00 to 0.00, the threshold as a dashed line, and in
words when it hides.

0.20 |       ****              stars: the score, by the function that judges elements
     |           *****
0.10 |----------------***---   dashes: the threshold
     |                   ...   dots: the score where it hides
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from doxa.base.errors import InputError, NotFoundError
from doxa.policy.decay import NO_PROMOTION, TIME_MAX, Decay, Promotion, score, visible_ages

if TYPE_CHECKING:
    from doxa.policy.rules import Curve, Rules

COLUMNS, ROWS = 61, 21
_DAY = 86_400 * 10**9
_DAYS_MAX = 100_000
_HALF_LIVES, _BEYOND = (
    4,
    1.25,
)  # what is drawn without --days: as many half-lives, or so much beyond the turn
_NICE = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)  # what a quarter of the axis may be of a power of ten
_UNITS = (("day", _DAY), ("hour", _DAY // 24), ("minute", 60 * 10**9), ("second", 10**9))
_FROM = {
    "CREATED": "its creation",
    "VERSION": "its last change",
    "LAST_ACCESSED": "its last access",
    "CUSTOM": "the time in its property",
}


def drawn(
    rules: Rules,
    name: str,
    *,
    days: float | None,
    threshold: float | None,
    promoted: str | None,
    prop: str | None,
) -> dict[str, Any]:
    """Compute the curve of a profile. Raises NotFoundError for an unknown name, InputError for what
    cannot be drawn."""
    kind, curve = _curve_of(rules, name, prop)
    decay, promotion = (
        curve.decay,
        NO_PROMOTION if promoted is None else _promotion_of(rules, promoted),
    )
    if threshold is not None:
        if not 0 <= threshold <= 1:
            raise InputError(
                f"A threshold lies between 0 and 1; this is {threshold}.",
                next_step="Give such as 0.1.",
                field="threshold",
            )
        decay = decay._replace(threshold=threshold)
    first, end = visible_ages(decay, promotion)
    span = _span(decay, first, end, days)
    ages = [span * column // (COLUMNS - 1) for column in range(COLUMNS)]
    return {
        "name": name,
        "kind": kind,
        "property": prop,
        "promotion": promoted,
        "function": decay.function,
        "halfLifeSeconds": decay.half_life / 1e9,
        "floor": decay.floor,
        "threshold": decay.threshold,
        "scoreFrom": curve.anchor,
        "visibleFromDays": None if first == end else first / _DAY,
        "visibleUntilDays": None if end == TIME_MAX or first == end else end / _DAY,
        "points": [[age / _DAY, score(decay, promotion, age)] for age in ages],
    }


def _curve_of(rules: Rules, name: str, prop: str | None) -> tuple[str, Curve]:
    from doxa.policy.rules import Curve

    bundle = rules.of("bundle").get(name)
    if bundle is not None and prop is None:
        fades = bundle["enabled"] and bundle["decay"]
        function = bundle["function"] if fades else "none"
        return "bundle", Curve(
            Decay(function, bundle["half_life"], bundle["floor"], bundle["threshold"]),
            bundle["from"],
            bundle["property"],
        )
    binding = next((one for one in rules.bindings if one.name == name), None)
    if binding is None:
        raise _unknown(
            name,
            [*rules.of("bundle"), *(one.name for one in rules.bindings)],
            "decay profile in force",
        )
    if prop is None:
        return "binding", binding.curve
    if prop not in binding.properties:
        raise _unknown(
            prop, list(binding.properties), f"property with a rule of its own in {name!r}"
        )
    return "binding", binding.properties[prop]


def _promotion_of(rules: Rules, name: str) -> Promotion:
    from doxa.policy.rules import STANDARD_PROFILES

    known = [*rules.of("profile"), *STANDARD_PROFILES]
    if name not in known:
        raise _unknown(name, known, "promotion profile")
    return rules.promotion(name)


def _unknown(name: str, known: list[str], what: str) -> NotFoundError:
    listed = (
        f"There are {', '.join(known[:20])}."
        if known
        else "`doxa policy list` shows what there is."
    )
    return NotFoundError(f"Unknown {what} {name[:100]!r}.", next_step=listed, name=name[:100])


def _span(decay: Decay, first: int, end: int, days: float | None) -> int:
    """How much time to draw, in ns."""
    if days is not None:
        if not (math.isfinite(days) and 0 < days <= _DAYS_MAX):
            raise InputError(
                f"--days is a number above 0, up to {_DAYS_MAX:,}; this is {days}.",
                next_step="Give such as 30.",
                field="days",
            )
        return max(COLUMNS, int(days * _DAY))
    turn = end if 0 < end < TIME_MAX else first
    wanted = min(
        _DAYS_MAX * _DAY, max(_HALF_LIVES * abs(decay.half_life), int(turn * _BEYOND)) or 30 * _DAY
    )
    _, scale = _unit(wanted)
    power = 10.0 ** math.floor(math.log10(wanted / 4 / scale))
    return max(
        COLUMNS,
        math.ceil(
            4
            * scale
            * power
            * next(nice for nice in _NICE if 4 * scale * power * nice >= wanted * 0.999_999)
        ),
    )


# Text


def curve_text(found: dict[str, Any]) -> str:
    points = found["points"]
    lines = [[" "] * COLUMNS for _ in range(ROWS)]
    for column, (_, value) in enumerate(points):
        if found["threshold"] > 0:
            lines[_row(found["threshold"])][column] = "-"
        lines[_row(value)][column] = "*" if value >= found["threshold"] else "."
    labels = ["    " if row % 2 else f"{1 - row / (ROWS - 1):.2f}" for row in range(ROWS)]
    drawing = [
        f"{label} |{''.join(line)}".rstrip() for label, line in zip(labels, lines, strict=True)
    ]
    return "\n".join([_title(found), *drawing, *_axis(points[-1][0]), _verdict(found)])


def _row(value: float) -> int:
    return round((1 - min(1.0, value)) * (ROWS - 1))


def _title(found: dict[str, Any]) -> str:
    of = f".{found['property']}" if found["property"] else ""
    promoted = f", promoted by {found['promotion']}" if found["promotion"] else ""
    shape = shape_words(found["function"], found["halfLifeSeconds"])
    since = (
        "" if found["function"] == "none" else f", counted from {from_words(found['scoreFrom'])}"
    )
    return f"{found['name']}{of}: {shape}{since}{promoted}"


def _axis(days: float) -> list[str]:
    unit, scale = _unit(int(days * _DAY))
    line, below, step = list("-" * COLUMNS), [" "] * (COLUMNS + 8), (COLUMNS - 1) // 4
    for tick in range(5):
        line[tick * step] = "+"
        text = f"{days * _DAY / scale * tick / 4:.3g}"
        below[tick * step : tick * step + len(text)] = text
    return [f"     +{''.join(line)}", f"      {''.join(below).rstrip()} {unit}s"]


def _verdict(found: dict[str, Any]) -> str:
    first, end, threshold = found["visibleFromDays"], found["visibleUntilDays"], found["threshold"]
    if threshold == 0:
        return "never hidden: there is no threshold"
    if first is None:
        return f"always hidden: the score stays below the threshold {threshold:g}"
    if end is None and not first:
        return f"never hidden: not below the threshold {threshold:g}"
    turn = first if end is None else end
    unit, scale = _unit(int(turn * _DAY))
    when = f"{turn * _DAY / scale:.4g} {unit}s after {from_words(found['scoreFrom'])}"
    return (
        f"hidden {'until ' if end is None else 'from '}{when}{'' if end is None else ' on'}: below"
        f" the threshold {threshold:g}"
    )


def _unit(span: int, least: int = 2) -> tuple[str, int]:
    """The greatest unit of which there are at least so many."""
    return next(((name, scale) for name, scale in _UNITS if span >= least * scale), _UNITS[-1])


def shape_words(function: str, half_life_s: float) -> str:
    """Describe a curve in words; `half_life_s` in seconds, negative where the score grows."""
    if function == "none":
        return "it does not decay"
    unit, scale = _unit(int(abs(half_life_s) * 1e9), least=1)
    count = abs(half_life_s) * 1e9 / scale
    return (
        f"{function}{', growing' if half_life_s < 0 else ''}, half-life {count:g}"
        f" {unit}{'' if count == 1 else 's'}"
    )


def from_words(anchor: str) -> str:
    return _FROM[anchor]
