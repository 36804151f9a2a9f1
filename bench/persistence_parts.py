"""What the parts of the persistence bench share: how large they are, right answers counted, and a
fresh memory to ask."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import doxa
from doxa.base.clock import Clock

SECOND_NS = 10**9
DAY_NS = 86_400 * SECOND_NS
START_NS = 1_700_000_000 * SECOND_NS
_WRONG_SHOWN = 12
Rows = list[tuple[Any, ...]]
Params = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of each part is done. `elements` are nodes and relationships together, `exchanges`
    the turns that recall looks among."""

    keys: tuple[int, ...]
    versions: tuple[int, ...]
    beliefs: int
    windows: int
    operations: tuple[int, ...]
    elements: tuple[int, ...]
    exchanges: int
    repetitions: int
    baselines: tuple[int, ...]


FULL = Scale(
    keys=(100, 1_000, 10_000),
    versions=(2, 5, 10, 50),
    beliefs=20,
    windows=400,
    operations=(100, 1_000, 10_000),
    elements=(1_000, 10_000, 100_000, 1_000_000),
    exchanges=100_000,
    repetitions=400,
    baselines=tuple(range(1, 101)),
)
QUICK = Scale(
    keys=(100, 1_000),
    versions=(2, 5),
    beliefs=10,
    windows=200,
    operations=(100, 1_000),
    elements=(1_000, 10_000),
    exchanges=10_000,
    repetitions=200,
    baselines=(1, 2, 3, 5, 10, 20, 50, 100),
)


class Tally:
    """Answers asked for and right ones, by what they were about; the first wrong ones in words."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        self.wrong: list[str] = []

    def see(self, about: str, found: object, wanted: object, *, of: str = "") -> bool:
        """Count one answer."""
        fits = found == wanted
        self.asked[about] += 1
        self.right[about] += fits
        if not fits:
            self.say(
                f"{about}{f', {of}' if of else ''}: {_short(found)} instead of {_short(wanted)}"
            )
        return fits

    def see_each(
        self,
        about: str,
        rows: Sequence[tuple[Any, ...]],
        wanted: Mapping[Any, Any],
        *,
        of: str = "",
    ) -> None:
        """Count one answer for each key: rows are (key, value); a key is right if it has exactly
        its one row, or none where None is wanted."""
        found: dict[Any, Any] = {}
        twice: set[Any] = set()
        for key, value in rows:
            if key in found or key not in wanted:
                twice.add(key)
            found[key] = value
        wrong = {key for key, value in wanted.items() if found.get(key) != value} | twice
        self.asked[about] += len(wanted)
        self.right[about] += max(0, len(wanted) - len(wrong))
        for key in list(wrong)[:1]:
            how = (
                "more than once, or unasked"
                if key in twice
                else f"{_short(found.get(key))} instead of {_short(wanted.get(key))}"
            )
            self.say(f"{about}{f', {of}' if of else ''}: {key}: {how} ({len(wrong):,} such)")

    def say(self, what: str) -> None:
        self.wrong.append(what)

    def cell(self, about: str) -> str:
        """right/asked, as a table shows it."""
        asked, right = self.asked[about], self.right[about]
        return (
            "–" if not asked else f"{right:,}" if right == asked else f"**{right:,} of {asked:,}**"
        )

    @property
    def rate(self) -> float:
        asked = sum(self.asked.values())
        return sum(self.right.values()) / asked if asked else float("nan")


@dataclass
class Part:
    """What one part found: its tables, its figures, one line about it, and what was wrong. It
    passed if nothing was."""

    summary: str = ""
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)
    tables: list[tuple[str, Sequence[str], list[list[str]]]] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return not self.wrong

    def take(self, tally: Tally, *, key: str = "") -> None:
        """Count a tally in: its figures under a key, its wrong answers as reasons."""
        prefix = f"{key}." if key else ""
        self.figures[f"{prefix}answers"] = self.figures.get(f"{prefix}answers", 0) + sum(
            tally.asked.values()
        )
        self.figures[f"{prefix}right"] = self.figures.get(f"{prefix}right", 0) + sum(
            tally.right.values()
        )
        self.wrong += tally.wrong

    def shown_wrong(self) -> list[str]:
        """The first reasons, and how many more there are."""
        more = len(self.wrong) - _WRONG_SHOWN
        return [*self.wrong[:_WRONG_SHOWN], *([f"and {more:,} more"] if more > 0 else [])]


def _short(value: object) -> str:
    return f"{value!r:.160}"


@contextmanager
def fresh(*, clock: Clock | None = None, **options: Any) -> Iterator[doxa.Memory]:
    """A memory in a temporary folder, without a model and without background work."""
    given = {"role": "operator", "embedder": None, "background": False, "clock": clock, **options}
    with (
        tempfile.TemporaryDirectory() as folder,
        doxa.open(Path(folder) / "memory.db", **given) as memory,
    ):
        yield memory


def ask(session: doxa.Session, text: str, params: Params | None = None) -> Rows:
    """All rows of a statement."""
    return [tuple(row) for row in session.run(text, params)]


def refused(session: doxa.Session, text: str, params: Params | None = None) -> bool:
    """Whether a constraint keeps a statement from being carried out."""
    try:
        session.run(text, params)
    except doxa.ConstraintError:
        return True
    return False
