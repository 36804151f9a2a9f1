"""The evidence patterns, read from data/patterns.json: what in a person's words counts for which
dimension, in which direction, with which confidence. A pattern counts at most once in a turn, in
whichever language it is found.

The dimensions are an idea about a person, not a measurement; nobody validated them. Therefore
standing is off until a person opts in, every delta shows its words, and each can be appealed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from doxa.base.limits import STANDING_TEXT_CHARS_READ

SCORE_START, SCORE_MIN, SCORE_MAX = 5.0, 1.0, 10.0
DELTAS = {"++": 0.20, "+": 0.10, "0": 0.0, "-": -0.15, "--": -0.25}  # times the confidence


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern: its name, what it counts for, and its expressions by language."""

    name: str
    dimension: str
    direction: str
    confidence: float
    expressions: tuple[tuple[str, re.Pattern[str]], ...]

    @property
    def delta(self) -> float:
        """What it adds to the score."""
        return DELTAS[self.direction] * self.confidence


@cache
def patterns() -> dict[str, Pattern]:
    """Return the patterns by name."""
    source = files("doxa.agent.standing").joinpath("data/patterns.json")
    held = json.loads(source.read_text("utf-8"))
    return {
        one["id"]: Pattern(
            one["id"],
            one["dimension"],
            one["direction"],
            one["confidence"],
            tuple((name, re.compile(text, re.IGNORECASE)) for name, text in one["of"].items()),
        )
        for one in held["patterns"]
    }


@cache
def dimensions() -> tuple[str, ...]:
    """Return the names of the dimensions, in order."""
    return tuple(dict.fromkeys(one.dimension for one in patterns().values()))


def found_in(text: str) -> list[str]:
    """Return the names of the patterns in a text, sorted. Quoted lines are left out."""
    own = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith((">", "|")))
    head = own[:STANDING_TEXT_CHARS_READ].replace("\u2019", "'")
    return sorted(
        name
        for name, one in patterns().items()
        if any(expression.search(head) for _, expression in one.expressions)
    )
