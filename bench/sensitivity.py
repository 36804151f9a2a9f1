"""How sensitive results are to each constant of the ranking: one constant is moved, the others stay
as chosen, and the three data sets are asked again.

The constants are those of doxa.recall.constants that are marked as swept. That setting one takes
effect is asserted by the scores. A constant whose moves change no score has no influence on these
data sets, and the table says so.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from bench.report import Report, begin, percent
from bench.sets import TITLES, Found, Sets, opened_sets
from doxa.models import Embedder
from doxa.recall import constants
from doxa.recall.lane_names import MODES

FACTORS = (0.0, 0.5, 0.75, 1.25, 1.5)
BETAS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BEGIN = "<!-- sensitivity: begin, written by `python -m bench sensitivity --document FILE` -->"
END = "<!-- sensitivity: end -->"
_TITLE = "Sensitivity: one constant moved, the others as chosen; evidence found in the first ten, %"
# What only one mode reads: w * max(words, BETA * cosine) with a weight for beliefs and one for
# turns; the share of meaning; how far ranks count.
OF_MODES: Mapping[str, tuple[str, ...]] = {
    "max": ("BETA", "BELIEF", "TURN"),
    "convex": ("ALPHA",),
    "rrf": ("RANKS",),
}


def swept_constants() -> dict[str, float]:
    """Return the constants that are swept, with their values, in the order of their source."""
    return {
        name: getattr(constants, name)
        for name, constant in constants.described().items()
        if constant.swept
    }


def moved(name: str, value: float, factors: Sequence[float] = FACTORS) -> list[float]:
    """Return the values to which a constant is moved. A length of 0 would divide by itself, so
    lengths skip 0; a constant of 0 moves to small steps instead."""
    if not value:
        return [0.1, 0.25, 0.5]
    return [
        value * factor
        for factor in factors
        if factor or not ("LENGTH" in name or name.endswith(("_TOKENS", "_DAYS", "_S")))
    ]


@contextmanager
def constant_set(name: str, value: Any) -> Iterator[None]:
    """Set a constant of recall, and restore it afterwards."""
    before = getattr(constants, name)
    setattr(constants, name, value)
    try:
        yield
    finally:
        setattr(constants, name, before)


def run(
    data: Path,
    embedder: Embedder | None,
    *,
    seed: int,
    only: Sequence[str] = (),
    factors: Sequence[float] = FACTORS,
) -> Report:
    """Sweep all constants, or those in `only`, by `factors`. The constants of a mode that is not
    the default are moved in that mode."""
    report = begin("sensitivity", seed=seed, embedder=embedder)
    with opened_sets(data, embedder) as sets:
        changes = _sweep(
            report,
            sets,
            "",
            [
                name
                for name in swept_constants()
                if not any(name in own for own in OF_MODES.values())
            ],
            only,
            factors,
        )
        for mode in MODES:
            if any(name in OF_MODES.get(mode, ()) for name in only or swept_constants()):
                changes += _sweep(report, sets, mode, OF_MODES[mode], only, factors)
    assert changes, "moving the constants changed no score: the sweep does not reach recall"
    return report.end()


def _sweep(
    report: Report,
    sets: Sets,
    mode: str,
    names: Sequence[str],
    only: Sequence[str],
    factors: Sequence[float],
) -> int:
    """Add a table for one mode (empty: the default). Returns how many scores changed in all."""
    options = {"mode": mode} if mode else {}
    usual = sets.ask(**options)
    key = f"mode_{mode}." if mode else ""
    rows = [
        [
            "**as chosen**",
            "",
            *(f"**{percent(value)}**" for value in _put(report, f"{key}chosen", usual)),
            "",
        ]
    ]
    changes = 0
    for name in names:
        if only and name not in only:
            continue
        value = swept_constants()[name]
        print(
            f"{mode or 'default'}: {name}", file=sys.stderr, flush=True
        )  # a sweep takes long, and is silent otherwise
        found = _moves(
            report,
            sets,
            name,
            list(BETAS) if name == "BETA" else moved(name, value, factors),
            usual=usual,
            key=key,
            options=options,
        )
        changes += sum(changed for _, changed in found)
        rows += [
            [f"`{name}` ({shown(value)})" if number == 0 else "", *row]
            for number, (row, _) in enumerate(found)
        ]
    head = [
        "constant (chosen)",
        "value",
        *(TITLES[name] for name in sets.asked),
        "questions with other scores",
    ]
    report.table(f"{_TITLE}{f'; mode `{mode}`' if mode else ''}", head, rows)
    return changes


def _put(report: Report, key: str, found: Found) -> list[float]:
    for name, value in found.means().items():
        report.put(f"{key}.{name}.at_10", value)
    return list(found.means().values())


def _moves(
    report: Report,
    sets: Sets,
    name: str,
    values: Sequence[float],
    *,
    usual: Found,
    key: str,
    options: dict[str, Any],
) -> list[tuple[list[str], int]]:
    """Return a row for each value, and how many questions get other scores. Where neither end
    changes any, one row stands for all."""
    ends = [_asked(sets, name, value, options) for value in (values[0], values[-1])]
    if all(found is not None and not found.changed(usual) for found in ends):
        row = [
            f"{shown(values[0])} to {shown(values[-1])}",
            *map(percent, usual.means().values()),
            "none",
        ]
        return [(row, 0)]
    between = [_asked(sets, name, value, options) for value in values[1:-1]]
    rows = []
    for value, found in zip(values, [ends[0], *between, *ends[1:]], strict=False):
        if found is None:
            rows.append(([shown(value), *("–" for _ in sets.asked), "not defined"], 0))
            continue
        changed = found.changed(usual)
        means = _put(report, f"{key}{name}.{shown(value).replace('/', '_over_')}", found)
        rows.append(
            ([shown(value), *map(percent, means), str(changed) if changed else "none"], changed)
        )
    return rows


def _asked(sets: Sets, name: str, value: float, options: dict[str, Any]) -> Found | None:
    """Ask all questions with this value; None where recall is not defined for it."""
    try:
        with warnings.catch_warnings(), constant_set(name, value):
            warnings.simplefilter("error", RuntimeWarning)
            return sets.ask(**options)
    except (ZeroDivisionError, RuntimeWarning):
        return None


def shown(value: float) -> str:
    """Format a constant as people write it: 1/3, not 0.3333333."""
    short = f"{value:.4g}"
    return short if abs(float(short) - value) < 1e-9 else _fraction(value)


def _fraction(value: float) -> str:
    near = Fraction(value).limit_denominator(64)
    return (
        f"{near.numerator}/{near.denominator}"
        if abs(float(near) - value) < 1e-9
        else f"{value:.6g}"
    )


def write_section(document: Path, report: Report) -> str:
    """Write the tables between the marks of a document. Returns what was done."""
    text = document.read_text()
    if BEGIN not in text or END not in text:
        return (
            f"{document} lacks the marks {BEGIN} and {END}; nothing was written. Put both there and"
            " run it again."
        )
    head, rest = text.split(BEGIN, 1)
    body = "\n\n".join([f"Seed {report.seed}; {report.wall_s:.0f} s.", *report.tables])
    document.write_text(f"{head}{BEGIN}\n\n{body}\n\n{END}{rest.split(END, 1)[1]}")
    return f"The tables are now in {document}."
