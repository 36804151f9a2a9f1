"""A command's result: figures under dotted keys, tables for people, and what they were taken with
and on."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import doxa
from bench.metrics import Interval
from doxa.models import Embedder
from doxa.recall import constants

# The constants of the ranking: those that are swept, and those of the rule for restatements.
_CONSTANTS = tuple(
    name
    for name, constant in constants.described().items()
    if constant.swept or name.startswith("UPDATE_")
)


@dataclass
class Report:
    """What one command found. Figures are fractions, counts, seconds, milliseconds or bytes; the
    key's last part says which."""

    name: str
    seed: int
    embedder: str
    figures: dict[str, float] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.perf_counter)
    wall_s: float = 0.0

    def put(self, key: str, value: float) -> None:
        assert key not in self.figures, f"{key} is measured twice"
        self.figures[key] = value

    def put_interval(self, key: str, interval: Interval) -> None:
        for part, value in interval._asdict().items():
            self.put(f"{key}.{part}", value)

    def table(self, title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
        self.tables.append(f"**{title}**\n\n{markdown(head, rows)}")

    def end(self) -> Report:
        self.wall_s = round(time.perf_counter() - self.started, 1)
        return self

    def record(self) -> dict[str, object]:
        """Everything, as it is written to JSON."""
        return {
            "command": self.name,
            "seed": self.seed,
            "configuration": configuration(self.embedder),
            "machine": machine(),
            "wall_s": self.wall_s,
            "figures": {key: round(value, 6) for key, value in sorted(self.figures.items())},
            "tables": self.tables,
        }

    def text(self) -> str:
        facts = [
            f"seed {self.seed}; wall time {self.wall_s:.1f} s",
            "configuration: " + plain(configuration(self.embedder)),
            "machine: " + plain(machine()),
        ]
        return "\n".join(
            [
                f"## {self.name}",
                "",
                *(f"- {fact}" for fact in facts),
                "",
                "\n\n".join(self.tables),
                "",
            ]
        )


def begin(name: str, *, seed: int, embedder: Embedder | None) -> Report:
    return Report(name, seed, embedder.name if embedder else "none")


def configuration(embedder: str) -> dict[str, object]:
    """One configuration for all sets: the constants of doxa's ranking, the model, the version."""
    values = {name.lower(): round(float(getattr(constants, name)), 4) for name in _CONSTANTS}
    return {"doxa": doxa.__version__, "embedder": embedder, **values}


def machine() -> dict[str, object]:
    return {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def plain(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def percent(value: float) -> str:
    return "–" if value != value else f"{100 * value:.1f}"


def points(interval: Interval) -> str:
    """A difference in percentage points with its interval."""
    return f"{100 * interval.mean:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")
