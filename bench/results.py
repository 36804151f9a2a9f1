"""Runs over everything present, kept as dated files, and the newest of them as the tables of
docs/benchmarks.md.

    bench/results/<date>.json    { date, machine, configuration, commands: [ {command, date, seed,
    wall_s, tables} ], figures }

A run of some commands keeps what the newest file holds of the others, each with its own date. The
data sets are found by their folder names below the given folder; what is absent is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import (
    ablation,
    beam,
    beside,
    embedding,
    locomo,
    locomo_plus,
    longmemeval,
    peers,
    plot,
    speed,
)
from bench.report import Report, configuration, machine, plain, write_json
from doxa.models import Embedder

_HERE = Path(__file__).parent
FOLDER = _HERE / "results"
DOCUMENT = _HERE.parent / "docs" / "benchmarks.md"
PLOTS = "plots"  # beside the document
BEGIN = "<!-- figures: begin, written by `python -m bench table` -->"
END = "<!-- figures: end -->"
_COMMANDS = (
    "locomo",
    "locomo-plus",
    "beam",
    "speed",
    "embedding",
    "beside",
    "graph",
    "persistence",
    "agm",
    "longmemeval",
    "qa",
    "ablation",
    "sensitivity",
)
_ORDER = {name: number for number, name in enumerate(_COMMANDS)}

INTRODUCTION = f"""# Benchmarks

All figures on this page come from `python -m bench`.

## Figures

{BEGIN}

None yet.

{END}
"""


def run_all(
    data: Path,
    embedder: Embedder | None,
    *,
    seed: int,
    sizes: Sequence[int],
    quick: bool,
    python: Path | None = None,
) -> Iterator[Report]:
    """A report for each set that is there, and four on speed. One after the other: they share the
    processor."""
    talks, cues, chats = data / "locomo", data / "locomo-plus", data / "beam"
    if talks.exists():
        yield locomo.run(talks, embedder, seed=seed)
    if talks.exists() and cues.exists():
        yield locomo_plus.run(cues, talks, embedder, seed=seed)
    if chats.exists():
        yield beam.run(chats, embedder, seed=seed)
    if (data / "longmemeval").exists():
        yield longmemeval.run(data / "longmemeval", embedder, seed=seed)
    if talks.exists() and cues.exists() and chats.exists():
        yield ablation.run(data, embedder, seed=seed)
    yield speed.run(
        talks if talks.exists() else None, embedder, seed=seed, sizes=sizes, quick=quick
    )
    yield embedding.run(talks if talks.exists() else None, embedder, seed=seed, quick=quick)
    yield beside.run(talks if talks.exists() else None, embedder, seed=seed, quick=quick)
    yield peers.run(python, seed=seed, quick=quick)


def write(folder: Path, reports: Sequence[Report]) -> Path:
    """One file for the day. What other commands left in the newest file is kept, with the day that
    it was taken on."""
    date = datetime.now(UTC).date().isoformat()
    newest = max(folder.glob("*.json"), default=None)
    before = json.loads(newest.read_text()) if newest else {"commands": [], "figures": {}}
    names = {report.name for report in reports}
    commands = [
        {"date": before["date"], **command}
        for command in before["commands"]
        if command["command"] not in names
    ]
    figures = {
        key: value for key, value in before["figures"].items() if key.partition(".")[0] not in names
    }
    kept = ("command", "seed", "wall_s", "tables")
    for report in reports:
        record = report.record()
        commands.append({"date": date, **{name: record[name] for name in kept}})
        figures.update(
            {
                f"{report.name}.{key}": round(value, 6)
                for key, value in sorted(report.figures.items())
            }
        )
    models = [report.embedder for report in reports if report.embedder != "none"]
    settings = before.get("configuration") if not models else None
    path = folder / f"{date}.json"
    write_json(
        path,
        {
            "date": date,
            "machine": machine(),
            "configuration": settings or configuration(models[0] if models else "none"),
            "commands": sorted(
                commands, key=lambda command: _ORDER.get(command["command"], len(_ORDER))
            ),
            "figures": figures,
        },
    )
    return path


def render(folder: Path, document: Path) -> str:
    """Put the newest results between the marks of the document, which is created if absent. Returns
    what was done."""
    newest = max(folder.glob("*.json"), default=None)
    if newest is None:
        return f"There are no results in {folder}; run `python -m bench all` first."
    found = json.loads(newest.read_text())
    lines = [
        f"Taken on {found['date']}.",
        "",
        f"- configuration: {plain(found['configuration'])}",
        f"- machine: {plain(found['machine'])}",
        f"- seed: {', '.join(sorted({str(command['seed']) for command in found['commands']}))}",
        "",
    ]
    for command in found["commands"]:
        taken = (
            f" Taken on {command['date']}."
            if command.get("date", found["date"]) != found["date"]
            else ""
        )
        lines += [
            f"### {command['command']}",
            "",
            f"Wall time {command['wall_s']:.0f} s.{taken}",
            "",
            "\n\n".join(command["tables"]),
            "",
        ]
    text = document.read_text() if document.exists() else INTRODUCTION
    if BEGIN not in text or END not in text:
        return f"{document} lacks the marks {BEGIN} and {END}; nothing was written."
    head, rest = text.split(BEGIN, 1)
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(
        head + BEGIN + "\n\n" + "\n".join(lines).rstrip() + "\n\n" + END + rest.split(END, 1)[1]
    )
    drawn = draw(found, document.parent / PLOTS)
    return f"{newest.name} is now in {document}" + (
        f", and drawn in {', '.join(drawn)}." if drawn else "."
    )


def draw(found: dict[str, Any], folder: Path) -> list[str]:
    """The charts of recorded figures as files; returns their names."""
    dates = {
        command["command"]: command.get("date", found["date"]) for command in found["commands"]
    }
    charts = plot.charts_of(found["figures"], dates=dates)
    for name, drawing in charts.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(drawing)
    return list(charts)
