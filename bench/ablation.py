"""What each lane of recall and each mode of fusion is worth: every lane switched off in turn, every
lane alone, every mode.

Lanes and modes are read from the product, so that a new one is measured when it appears. A lane
that names no candidates by itself cannot be asked alone: it is added to those that do. Differences
are paired with the default by question; a lane without effect has a difference of exactly 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.metrics import paired_bootstrap
from bench.report import Report, begin, percent, points
from bench.sets import TITLES, Found, Sets, opened_sets
from doxa.models import Embedder
from doxa.recall import Ask, types
from doxa.recall.fusion import LANES, MODES


def configurations() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each configuration: its name and its arguments of recall; the default comes first."""
    usual = tuple(Ask("").lanes)
    naming = tuple(lane for lane in LANES if lane in types.NAMING)
    yield "default", {}
    for lane in LANES:
        if lane in usual:
            yield f"without {lane}", {"lanes": tuple(one for one in usual if one != lane)}
        else:
            yield f"with {lane}", {"lanes": (*usual, lane)}
    for lane in naming:
        yield f"{lane} alone", {"lanes": (lane,)}
    yield " and ".join(naming), {"lanes": naming}
    for lane in LANES:
        if lane not in naming:
            yield f"{', '.join(naming)} and {lane}", {"lanes": (*naming, lane)}
    for mode in MODES:
        yield f"mode {mode}", {"mode": mode}


def run(data: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("ablation", seed=seed, embedder=embedder)
    with opened_sets(data, embedder) as sets:
        usual: Found | None = None
        rows = []
        for name, options in configurations():
            print(name, file=sys.stderr, flush=True)
            found = sets.ask(**options)
            usual = usual or found
            rows.append(
                [name, *_cells(report, sets, name.replace(",", "").replace(" ", "_"), found, usual)]
            )
        heads = [
            head
            for key in sets.asked
            for head in (f"{TITLES[key]} (n = {len(sets.asked[key])})", "less the default, 95 %")
        ]
    title = (
        "Lanes and modes: evidence found in the first ten, %, and the difference in points, drawn"
        " by question"
    )
    report.table(title, ["configuration", *heads], rows)
    return report.end()


def _cells(report: Report, sets: Sets, key: str, found: Found, usual: Found) -> Iterator[str]:
    for name, value in found.means().items():
        report.put(f"{key}.{name}.at_10", value)
        yield percent(value)
        if found is usual:
            yield ""
            continue
        gaps = [
            one - other for one, other in zip(found.values[name], usual.values[name], strict=True)
        ]
        by_question = paired_bootstrap(
            gaps, [str(number) for number in range(len(gaps))], seed=report.seed
        )
        report.put_interval(f"{key}.{name}.gain.by_question", by_question)
        report.put_interval(
            f"{key}.{name}.gain.by_conversation",
            paired_bootstrap(gaps, sets.groups(name), seed=report.seed),
        )
        yield points(by_question)
