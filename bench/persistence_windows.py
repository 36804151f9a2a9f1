"""Windows of one key that may not overlap: what the constraint refuses and what it takes, next to a
definition by brute force.

Two windows [a, b) and [c, d) overlap if a < d and c < b; an end that is missing lies after all
times. A window must begin before it ends.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

import doxa
from bench.persistence_parts import Part, Scale, Tally, ask, fresh, refused

_CONSTRAINT = (
    "CREATE CONSTRAINT one_at_a_time FOR (v:FactVersion) REQUIRE (v.key, v.validFrom, v.validUntil)"
    " IS TEMPORAL NO OVERLAP"
)
_CREATE = "CREATE (:FactVersion {key: $key, validFrom: $from, validUntil: $until})"
_CHANGE = "MATCH (v:FactVersion) WHERE id(v) = $id SET v.validFrom = $from, v.validUntil = $until"
_KEYS, _DAYS, _LENGTH = 10, 60, 12
_FIRST = date(2024, 1, 1)
_MIDNIGHT = datetime(2024, 1, 1, tzinfo=UTC)


class Window(NamedTuple):
    """In days; half-open, an end that is None is open."""

    key: str
    start: int
    end: int | None

    @property
    def whole(self) -> bool:
        return self.end is None or self.start < self.end

    def overlaps(self, other: Window) -> bool:
        return (
            self.key == other.key
            and (other.end is None or self.start < other.end)
            and (self.end is None or other.start < self.end)
        )


_HELD = (Window("a", 10, 20), Window("a", 30, 40), Window("b", 10, None))
_CASES: tuple[tuple[str, Window, bool], ...] = (
    ("overlaps the end of another", Window("a", 15, 25), False),
    ("overlaps the beginning of another", Window("a", 5, 11), False),
    ("lies within another", Window("a", 12, 18), False),
    ("holds another", Window("a", 5, 25), False),
    ("holds two others", Window("a", 0, 50), False),
    ("equal to another", Window("a", 10, 20), False),
    ("the same beginning", Window("a", 10, 12), False),
    ("the same end", Window("a", 15, 20), False),
    ("open, begins within another", Window("a", 35, None), False),
    ("open, begins before another", Window("a", 20, None), False),
    ("begins within one that is open", Window("b", 100, 110), False),
    ("open, next to one that is open", Window("b", 50, None), False),
    ("ends where it begins", Window("c", 5, 5), False),
    ("ends before it begins", Window("c", 9, 5), False),
    ("touches the end of another", Window("a", 20, 25), True),
    ("touches the beginning of another", Window("a", 5, 10), True),
    ("fills the space between two", Window("a", 20, 30), True),
    ("open, begins where the last ends", Window("a", 40, None), True),
    ("ends where one that is open begins", Window("b", 0, 10), True),
    ("the same window of another key", Window("c", 10, 20), True),
    ("open, of another key", Window("c", 0, None), True),
)


def no_overlap(scale: Scale, seed: int) -> Part:
    """Part 2: overlapping windows of a key are refused, all others are taken."""
    part, tally = Part(), Tally()
    rows = []
    for what, window, taken in _CASES:
        with fresh() as memory:
            memory.run(_CONSTRAINT)
            for held in _HELD:
                memory.run(_CREATE, given(held))
            found = not refused(memory, _CREATE, given(window))
            count = ask(memory, "MATCH (v:FactVersion) RETURN count(*)")[0][0]
        fits = tally.see("fixed", (found, count), (taken, len(_HELD) + taken), of=what)
        rows.append(
            [
                what,
                "taken" if taken else "refused",
                ("taken" if found else "refused") + ("" if fits else " **wrong**"),
            ]
        )
    part.tables.append(
        (
            "No overlap: windows next to [10, 20) and [30, 40) of one key and [10, …) of another",
            ["window", "wanted", "found"],
            rows,
        )
    )
    counts = _random(tally, scale.windows, seed)
    part.take(tally)
    part.summary = (
        f"{tally.right['fixed']} of {tally.asked['fixed']} cases right; {tally.right['random']} of"
        f" {tally.asked['random']} random windows as by brute force ({counts[0]} taken, {counts[1]}"
        " refused)"
    )
    return part


def _random(tally: Tally, windows: int, seed: int) -> tuple[int, int]:
    """Windows made and changed at random. What a refusal leaves behind, and what was taken, is
    compared at the end."""
    rng = np.random.default_rng(seed)
    held: dict[int, Window] = {}
    taken = refusals = 0
    with fresh() as memory:
        memory.run(_CONSTRAINT)
        for number in range(windows):
            start = int(rng.integers(_DAYS))
            end = None if rng.random() < 0.1 else start + int(rng.integers(-1, _LENGTH))
            window = Window(f"k{rng.integers(_KEYS)}", start, end)
            changed = int(rng.choice(list(held))) if held and rng.random() < 0.3 else None
            if changed is not None:
                window = window._replace(key=held[changed].key)
            wanted = window.whole and not any(
                window.overlaps(other) for one, other in held.items() if one != changed
            )
            form = number % len(_FORMS)
            found = _try(memory, window, changed, form=form)
            tally.see(
                "random",
                found is not None,
                wanted,
                of=f"{window} next to {sorted(map(str, held.values()))}",
            )
            if found is not None:
                held[found] = window
            taken, refusals = taken + (found is not None), refusals + (found is None)
        rows = ask(memory, "MATCH (v:FactVersion) RETURN id(v), v.key")
        tally.see(
            "what is left", sorted(rows), sorted((one, window.key) for one, window in held.items())
        )
        tally.see("what is left", memory.check(), [])
    return taken, refusals


def _try(memory: doxa.Memory, window: Window, changed: int | None, *, form: int) -> int | None:
    """The node that has the window now, or None if it was refused."""
    try:
        if changed is not None:
            memory.run(_CHANGE, {"id": changed, **given(window, form)})
            return changed
        return int(
            ask(memory, _CREATE.replace("(:", "(v:") + " RETURN id(v)", given(window, form))[0][0]
        )
    except doxa.ConstraintError:
        return None


# The same points in time, as all types that a window may be stated in
_FORMS = (
    lambda days: _FIRST + timedelta(days=days),
    lambda days: _MIDNIGHT + timedelta(days=days),
    lambda days: (_MIDNIGHT + timedelta(days=days)).isoformat(),
    lambda days: int((_MIDNIGHT + timedelta(days=days)).timestamp()) * 10**9,
)


def given(window: Window, form: int = 0) -> dict[str, Any]:
    to = _FORMS[form]
    return {
        "key": window.key,
        "from": to(window.start),
        "until": None if window.end is None else to(window.end),
    }
