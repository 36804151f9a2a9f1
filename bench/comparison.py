"""What the three quality sets share: a score for each question by each system, and doxa against the
best plain one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from bench.corpora import Question
from bench.metrics import Interval, mean, paired_bootstrap
from bench.report import Report, percent, points
from bench.systems import ALWAYS, CONTROLS, DOXA, LANES, Rankings

GROUPS_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class Answered:
    """One question and what every system gave for it: `rankings`, and by token budget `budgets`;
    `answers` are those of the extractive reader. `units` counts what could be ranked. `signals` say
    how likely memory holds an answer, `tokens` how long doxa's answers are, `whole` the store."""

    question: Question
    group: str
    units: int
    rankings: Rankings
    budgets: dict[int, Rankings] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)
    signals: dict[str, float] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    whole: int = 0


Measure = Callable[[Answered, str], float]


def key_of(system: str, key: str) -> str:
    """Doxa's figures stand under the bare key; the others under their name."""
    if system == DOXA:
        return key
    return f"{system}.{key}" if system in LANES or system == ALWAYS else f"baseline.{system}.{key}"


def systems_of(answered: Iterable[Answered]) -> list[str]:
    return list(next(iter(answered)).rankings)


def measure_all(
    report: Report,
    answered: list[Answered],
    measures: dict[str, Measure],
    *,
    systems: Sequence[str] = (),
) -> dict[str, dict[str, float]]:
    """Every measure of every system (or of those given), put into the report; by system, then by
    key."""
    if not answered:
        return {}
    table: dict[str, dict[str, float]] = {}
    for system in systems or systems_of(answered):
        for key, measure in measures.items():
            value = mean([measure(item, system) for item in answered])
            table.setdefault(system, {})[key] = value
            report.put(key_of(system, key), value)
    return table


def by_group(
    report: Report,
    groups: Iterable[tuple[str, str, list[Answered]]],
    measure: Measure,
    *,
    systems: Sequence[str] = (),
) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table with a column for each group, which is (head, key, questions): the
    measure of every system over its questions."""
    heads: list[str] = []
    rows: dict[str, dict[str, str]] = {}
    for head, key, items in groups:
        heads.append(f"{head} (n = {len(items)})")
        for system, row in measure_all(report, items, {key: measure}, systems=systems).items():
            rows.setdefault(system, {})[heads[-1]] = percent(row[key])
    return ["system", *heads], [
        [system, *(cells.get(head, "–") for head in heads)] for system, cells in rows.items()
    ]


def against_best(
    report: Report, answered: list[Answered], key: str, measure: Measure, *, system: str = DOXA
) -> None:
    """Doxa (or another way of asking it) minus the plain baseline that is best by this very
    measure, paired by question."""
    plain = [name for name in systems_of(answered) if name not in LANES and name not in CONTROLS]
    best = max(plain, key=lambda name: mean([measure(item, name) for item in answered]))
    gaps = [measure(item, system) - measure(item, best) for item in answered]
    groups = [item.group for item in answered]
    intervals: dict[str, Interval] = {
        "by_conversation": paired_bootstrap(gaps, groups, seed=report.seed)
    }
    if len(set(groups)) < GROUPS_ENOUGH:
        intervals["by_question"] = paired_bootstrap(
            gaps, [str(number) for number in range(len(gaps))], seed=report.seed
        )
    show_gain(report, key, best, intervals, groups, system=system)


def show_gain(
    report: Report,
    key: str,
    best: str,
    intervals: dict[str, Interval],
    groups: list[str],
    *,
    system: str = DOXA,
) -> None:
    """The difference to the best plain baseline as figures and a table."""
    for unit, interval in intervals.items():
        report.put_interval(f"gain.{key}.{unit}", interval)
    units = {"by_conversation": len(set(groups)), "by_question": len(groups)}
    rows = [
        [unit.replace("_", " "), str(units[unit]), points(interval)]
        for unit, interval in intervals.items()
    ]
    report.table(
        f"{key}: {system} minus {best} (best plain baseline), points with 95 % interval",
        ["drawn", "units", "difference"],
        rows,
    )
