"""What each lane of recall and each way of fusing them is worth: every lane switched off in turn, every lane alone, every mode.

Lanes and modes are read from the product (`LANES` and `MODES` of doxa.recall.types where it has them), so that a new one is measured when it appears.
Differences are paired with the default by question; a lane that does nothing has a difference of exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.metrics import paired_bootstrap
from bench.report import Report, begin, percent, points
from bench.sets import TITLES, Found, Sets, opened_sets
from doxa.base.errors import InputError
from doxa.models import Embedder
from doxa.recall import Ask, types

_LANES_BEFORE = ("words", "meaning")  # of a doxa that does not name its lanes


def lanes() -> tuple[str, ...]:
    """Every lane that recall has."""
    return tuple(getattr(types, "LANES", _LANES_BEFORE))


def modes() -> tuple[str, ...]:
    """Every way of fusing them that can be asked for; none where there is no choice."""
    return tuple(getattr(types, "MODES", ()))


def configurations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with its name and the arguments of recall that make it; the default comes first."""
    usual = tuple(Ask("").lanes)
    yield "default", {}
    for lane in lanes():
        others = tuple(one for one in usual if one != lane)
        if lane not in usual:
            yield f"with {lane}", {"lanes": (*usual, lane)}
        elif others:
            yield f"without {lane}", {"lanes": others}
    for lane in lanes():
        yield f"{lane} alone", {"lanes": (lane,)}
    for mode in modes():
        yield f"mode {mode}", {"mode": mode}


def run(data: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("ablation", seed=seed, embedder=embedder)
    with opened_sets(data, embedder) as sets:
        usual: Found | None = None
        rows = []
        for name, options in configurations():
            try:
                found = sets.ask(**options)
            except InputError as error:
                rows.append([name, *("–" for _ in range(2 * len(sets.asked) - 1)), error.message.replace("|", "\\|")])
                continue
            usual = usual or found
            rows.append([name, *_cells(report, sets, name.replace(" ", "_"), found, usual)])
        heads = [head for key in sets.asked for head in (f"{TITLES[key]} (n = {len(sets.asked[key])})", "less the default, 95 %")]
    title = "Lanes and modes: evidence found in the first ten, %, and the difference in points, drawn by question"
    report.table(title, ["configuration", *heads], rows)
    if not modes():
        report.tables.append("Modes: this doxa fuses in one way only, so there is nothing to compare.")
    return report.end()


def _cells(report: Report, sets: Sets, key: str, found: Found, usual: Found) -> Iterator[str]:
    for name, value in found.means().items():
        report.put(f"{key}.{name}.at_10", value)
        yield percent(value)
        if found is usual:
            yield ""
            continue
        gaps = [one - other for one, other in zip(found.values[name], usual.values[name], strict=True)]
        by_question = paired_bootstrap(gaps, [str(number) for number in range(len(gaps))], seed=report.seed)
        report.put_interval(f"{key}.{name}.gain.by_question", by_question)
        report.put_interval(f"{key}.{name}.gain.by_conversation", paired_bootstrap(gaps, sets.groups(name), seed=report.seed))
        yield points(by_question)
