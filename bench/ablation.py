"""What each lane of recall and each mode of fusion is worth: every lane switched off in turn, every
lane alone, every mode.

Lanes and modes are read from the product, so that a new one is measured when it appears. A lane
that names no candidates by itself cannot be asked alone: it is added to those that do. Differences
are paired with the default by question; a lane without effect has a difference of exactly 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import sets_realmem, sets_statebench
from bench.metrics import mean, paired_bootstrap
from bench.report import Report, begin, percent, points
from bench.sets import DEPTHS, FIRST, QUALITY, SETS, TITLES, Found, Sets, opened_sets
from doxa.models import Embedder
from doxa.recall import Ask, types
from doxa.recall.lane_names import LANES, MODES


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


def lanes_switched() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield those of the configurations that add or leave out one lane."""
    for name, options in configurations():
        if name == "default" or name.startswith(("without ", "with ")):
            yield name, options


def run(data: Path, embedder: Embedder | None, *, seed: int, names: Sequence[str] = SETS) -> Report:
    """Measure every configuration on the named sets that are below a folder: on RealMem and
    StateBench the lanes one by one, and what fields give."""
    report = begin("ablation", seed=seed, embedder=embedder)
    quality = [name for name in names if name in QUALITY]
    with opened_sets(data, embedder, names=quality, mentions=True) as sets:
        _tables(report, sets, configurations(), (_QUALITY,))
    for name in (name for name in names if name in _DATED):
        with opened_sets(data, embedder, names=(name,)) as sets:
            usual = _tables(report, sets, lanes_switched(), (_DATED[name],))
            groups = {key: sets.groups(key) for key in sets.asked if key != "realmem"}
        if groups:
            with opened_sets(data, embedder, names=(name,), fields=False) as bare:
                _fields(report, name, groups, usual, bare.ask())
    return report.end()


def _tables(
    report: Report,
    sets: Sets,
    asked: Iterable[tuple[str, dict[str, Any]]],
    tables: Sequence[tuple[str, Sequence[str]]],
) -> Found:
    """Measure configurations, and return what the default finds."""
    measured: dict[str, Found] = {}
    for name, options in asked:
        print(name, file=sys.stderr, flush=True)
        measured[name] = sets.ask(**options)
    for title, chosen in tables:
        if kept := [key for key in sets.asked if key in chosen]:
            _table(report, title, kept, sets, measured)
    return measured["default"]


_QUALITY = (
    "Lanes and modes: evidence found in the first ten, %",
    ("locomo", "p1", "p2", "beam"),
)
_DATED = {
    "realmem": ("Lanes one by one, RealMem, %", tuple(sets_realmem.TITLES)),
    "statebench": ("Lanes one by one, StateBench, %", tuple(sets_statebench.TITLES)),
}


def _table(
    report: Report, title: str, keys: Sequence[str], sets: Sets, measured: Mapping[str, Found]
) -> None:
    usual = measured["default"]
    heads = [
        head
        for key in keys
        for head in (f"{TITLES[key]} (n = {len(sets.asked[key])})", "less the default, 95 %")
    ]
    rows = [
        [
            name,
            *(
                cell
                for key in keys
                for cell in _cells(report, sets.groups(key), name, key, found, usual)
            ),
        ]
        for name, found in measured.items()
    ]
    title = f"{title}, and the difference in points, drawn by question"
    report.table(title, ["configuration", *heads], rows)


def _cells(
    report: Report, groups: Sequence[str], name: str, key: str, found: Found, usual: Found
) -> tuple[str, str]:
    place = f"{name.replace(',', '').replace(' ', '_')}.{key}"
    value = mean(found.values[key])
    report.put(f"{place}.at_{DEPTHS.get(key, FIRST)}", value)
    if found is usual:
        return percent(value), ""
    gained = _gain(report, f"{place}.gain", found.values[key], usual.values[key], groups)
    return percent(value), gained


def _gain(
    report: Report,
    place: str,
    values: Sequence[float],
    others: Sequence[float],
    groups: Sequence[str],
) -> str:
    gaps = [one - other for one, other in zip(values, others, strict=True)]
    by_question = paired_bootstrap(
        gaps, [str(number) for number in range(len(gaps))], seed=report.seed
    )
    report.put_interval(f"{place}.by_question", by_question)
    report.put_interval(
        f"{place}.by_conversation", paired_bootstrap(gaps, list(groups), seed=report.seed)
    )
    return points(by_question)


def _fields(
    report: Report,
    name: str,
    groups: Mapping[str, Sequence[str]],
    usual: Found,
    bare: Found,
) -> None:
    """What the same beliefs are worth without their enrichments and topics."""
    rows = []
    for key in groups:
        with_, without = mean(usual.values[key]), mean(bare.values[key])
        report.put(f"without_fields.{key}.at_{DEPTHS.get(key, FIRST)}", without)
        gained = _gain(
            report,
            f"without_fields.{key}.gain",
            bare.values[key],
            usual.values[key],
            groups[key],
        )
        rows.append(
            [f"{TITLES[key]} (n = {len(groups[key])})", percent(with_), percent(without), gained]
        )
    head = ["set", "with fields", "without", "difference, 95 %"]
    report.table(f"Enrichments, {name}: the same beliefs without their fields, %", head, rows)
