"""Run every benchmark whose data is present, and keep the results as one file for each day.

    bench/results/<date>.json    { date, machine, configuration, commands: [ {command, date, seed,
    wall_s, tables} ], figures }

A run of some commands keeps what the newest file holds of the others, each with its own date. The
data sets are found by their folder names below the given folder; a set that is absent is skipped.
`bench/pages.py` writes the documents from these files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import (
    ablation,
    beam,
    clients,
    embedding,
    libraries,
    locomo,
    locomo_plus,
    longmemeval,
    peers,
    realmem,
    speed,
    statebench,
    vehicle,
)
from bench.report import Report, configuration, machine, write_json
from doxa.models import Embedder

FOLDER = Path(__file__).parent / "results"
COMMANDS = (
    "locomo",
    "locomo-plus",
    "beam",
    "statebench",
    "realmem",
    "vehicle",
    "talk",
    "answerability",
    "precision",
    "poison",
    "updates",
    "questions",
    "speed",
    "hooks",
    "api",
    "api-load",
    "scale",
    "turn-signals",
    "embedding",
    "libraries",
    "graph",
    "clients",
    "persistence",
    "agm",
    "longmemeval",
    "qa",
    "ablation",
    "sensitivity",
    "ripening",
    "ripening-state",
    "ripening-costs",
    "simulation",
)
_ORDER = {name: number for number, name in enumerate(COMMANDS)}


def run_all(
    data: Path,
    embedder: Embedder | None,
    *,
    seed: int,
    sizes: Sequence[int],
    quick: bool,
    python: Path | None = None,
) -> Iterator[Report]:
    """Yield a report for each data set that is present, then five on speed, one at a time: they
    share the processor."""
    talks, cues, chats = data / "locomo", data / "locomo-plus", data / "beam"
    if talks.exists():
        yield locomo.run(talks, embedder, seed=seed)
    if talks.exists() and cues.exists():
        yield locomo_plus.run(cues, talks, embedder, seed=seed)
    if chats.exists():
        yield beam.run(chats, embedder, seed=seed)
    for name, bench in (("statebench", statebench), ("realmem", realmem)):
        if (data / name).exists():
            yield bench.run(data / name, embedder, seed=seed)
    if (data / "vehiclemem").exists():
        yield vehicle.run(data / "vehiclemem", embedder, seed=seed)
    if (data / "longmemeval").exists():
        yield longmemeval.run(data / "longmemeval", embedder, seed=seed)
    if talks.exists() and cues.exists() and chats.exists():
        yield ablation.run(data, embedder, seed=seed)
    yield speed.run(
        talks if talks.exists() else None, embedder, seed=seed, sizes=sizes, quick=quick
    )
    yield embedding.run(talks if talks.exists() else None, embedder, seed=seed, quick=quick)
    yield libraries.run(talks if talks.exists() else None, embedder, seed=seed, quick=quick)
    yield peers.run(python, seed=seed, quick=quick)
    yield clients.run([], seed=seed, quick=quick)


def write(folder: Path, reports: Sequence[Report]) -> Path:
    """Write the file of the day. Keep what other commands left in the newest file, with the day on
    which they ran."""
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
