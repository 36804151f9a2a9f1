"""Does recall know when memory holds no answer? The area under the ROC curve, of doxa's own
estimate and of plain signals.

0.5 is chance: an answerable question is as likely as not to score above one without an answer. Only
the order of questions counts, so no threshold is chosen here. The estimate of doxa was fitted on
the developers' parts of these same sets: figures on those parts flatter it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.comparison import GROUPS_ENOUGH, Answered, show_gain
from bench.metrics import Interval, auroc, bootstrap
from bench.report import Report
from bench.systems import ANSWERABLE

Rows = NDArray[np.int64]


def measure(
    report: Report, key: str, title: str, answerable: list[Answered], unanswerable: list[Answered]
) -> None:
    """Add a row for each signal, and compare doxa's with the best plain baseline, paired."""
    report.put(f"{key}.answerable_n", len(answerable))
    report.put(f"{key}.unanswerable_n", len(unanswerable))
    if not answerable or not unanswerable:
        return
    items = answerable + unanswerable
    wanted = np.array([True] * len(answerable) + [False] * len(unanswerable))
    values = {name: np.array([item.signals[name] for item in items]) for name in items[0].signals}
    groups = [item.group for item in items]
    drawn = {"by_conversation": groups}
    if len(set(groups)) < GROUPS_ENOUGH:
        drawn["by_question"] = [str(number) for number in range(len(items))]
    rows = []
    for name, scores in values.items():
        intervals = {
            unit: bootstrap(_area(scores, wanted), names, seed=report.seed)
            for unit, names in drawn.items()
        }
        area = intervals["by_conversation"].mean
        report.put(f"{key}.{name.replace(' ', '_')}.auroc", area)
        rows.append(
            [
                _shown(name),
                f"{area:.3f}",
                *(f"{found.low:.3f} to {found.high:.3f}" for found in intervals.values()),
            ]
        )
    heads = [f"95 %, drawn {unit.replace('_', ' ')}" for unit in drawn]
    report.table(
        f"{title}: AUROC ({len(answerable)} answerable, {len(unanswerable)} not)",
        ["signal", "AUROC", *heads],
        rows,
    )
    plain = [name for name in values if name.startswith("baseline.")]
    best = max(
        plain, key=lambda name: auroc(list(values[name][wanted]), list(values[name][~wanted]))
    )

    def gain(rows: Rows) -> float:
        return _area(values[ANSWERABLE], wanted)(rows) - _area(values[best], wanted)(rows)

    gains: dict[str, Interval] = {
        unit: bootstrap(gain, names, seed=report.seed) for unit, names in drawn.items()
    }
    show_gain(report, f"{key}.auroc", _shown(best), gains, groups)


def _area(scores: NDArray[np.float64], wanted: NDArray[np.bool_]) -> Callable[[Rows], float]:
    def area(rows: Rows) -> float:
        taken, positive = scores[rows], wanted[rows]
        return auroc(taken[positive].tolist(), taken[~positive].tolist())

    return area


def _shown(name: str) -> str:
    plain = {
        "baseline.bm25": "plain BM25: best score as a share of what is possible",
        "baseline.minilm": "plain MiniLM: best cosine",
    }
    return plain.get(name) or f"doxa: {name}"
