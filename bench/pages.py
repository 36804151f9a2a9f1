"""Write recorded results into the documents: headline tables into docs/benchmarks.md, every table
into a page of docs/benchmarks, the newest campaign into docs/reliability.md, and the charts.

A page is written by hand except between its marks. A page that does not exist is created with an
introduction of one line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench import campaign, headlines, plot
from bench.report import plain

DOCUMENT = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PLOTS = "plots"  # a folder next to the document
HISTORY = "history.md"
RELIABILITY = "reliability.md"  # a page next to the document

# Which commands a page shows, by its name in the folder that is named like the document.
PAGES: dict[str, tuple[str, ...]] = {
    "recall.md": (
        "locomo",
        "locomo-plus",
        "beam",
        "statebench",
        "realmem",
        "vehicle",
        "longmemeval",
        "qa",
        "talk",
        "answerability",
        "precision",
        "poison",
        "updates",
        "questions",
    ),
    "speed.md": ("speed", "embedding", "libraries", "hooks", "api", "api-load", "clients"),
    "scale.md": ("scale",),
    "agent.md": ("turn-signals",),
    "graph.md": ("graph",),
    "persistence.md": ("persistence",),
    "revision.md": ("agm",),
    "sweeps.md": ("ablation", "sensitivity"),
    "ripening.md": ("ripening", "ripening-state", "ripening-costs", "simulation"),
}
BEGIN = "<!-- figures: begin, written by `python -m bench table` -->"
END = "<!-- figures: end -->"


def render(folder: Path, document: Path) -> str:
    """Write the newest results of a folder into the document and its pages; say what was done."""
    records = {
        record["date"]: record
        for record in (json.loads(path.read_text()) for path in sorted(folder.glob("*.json")))
    }
    if not records:
        return f"There are no results in {folder}; run `python -m bench all` first."
    newest = records[max(records)]
    pages = document.with_suffix("")
    blocks = {document: _headline(newest)}
    for name, commands in PAGES.items():
        if block := _tables(newest, commands):
            blocks[pages / name] = block
    blocks[pages / HISTORY] = headlines.history(
        {date: _measured(record) for date, record in records.items()}
    )
    if ran := campaign.newest(folder / campaign.FOLDER.name):
        blocks[document.parent / RELIABILITY] = campaign.table(ran)
    if broken := [path for path in blocks if not _has_marks(path)]:
        return f"{broken[0]} lacks the marks {BEGIN} and {END}; nothing was written."
    for path, block in blocks.items():
        _put(path, block)
    drawn = draw(newest, document.parent / PLOTS)
    return f"{newest['date']} is now in {document} and {pages}" + (
        f", and drawn in {', '.join(drawn)}." if drawn else "."
    )


def _headline(record: dict[str, Any]) -> str:
    dates = ", ".join(
        f"`{command['command']}` {command.get('date', record['date'])}"
        for command in record["commands"]
    )
    machine = plain(record["machine"])
    return "\n\n".join(
        part
        for part in (
            f"Measured on: {dates}. Machine: {machine}.",
            headlines.headline(record["figures"]),
        )
        if part
    )


def _tables(record: dict[str, Any], commands: tuple[str, ...]) -> str:
    """Every table of some commands with date and duration; nothing if none of them ran."""
    lines: list[str] = []
    for command in record["commands"]:
        if command["command"] in commands:
            date = command.get("date", record["date"])
            lines += [
                f"### {command['command']}",
                f"Run on {date}; seed {command['seed']}; {command['wall_s']:.0f} s.",
                *command["tables"],
            ]
    if not lines:
        return ""
    return "\n\n".join([f"Configuration: {plain(record['configuration'])}.", *lines])


def _measured(record: dict[str, Any]) -> dict[str, float]:
    """The figures that were measured on the record's own day, not kept from an earlier one."""
    fresh = {
        command["command"]
        for command in record["commands"]
        if command.get("date", record["date"]) == record["date"]
    }
    return {
        key: value for key, value in record["figures"].items() if key.partition(".")[0] in fresh
    }


def _has_marks(path: Path) -> bool:
    if not path.exists():
        return True
    text = path.read_text()
    return BEGIN in text and END in text


def _put(path: Path, block: str) -> None:
    text = (
        path.read_text()
        if path.exists()
        else f"# Benchmarks: {path.stem}\n\nWritten by `python -m bench`.\n\n{BEGIN}\n{END}\n"
    )
    head, rest = text.split(BEGIN, 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{head}{BEGIN}\n\n{block}\n\n{END}{rest.split(END, 1)[1]}")


def draw(record: dict[str, Any], folder: Path) -> list[str]:
    """Write the charts of recorded figures; return their names."""
    dates = {
        command["command"]: command.get("date", record["date"]) for command in record["commands"]
    }
    charts = plot.charts_of(record["figures"], dates=dates)
    for name, drawing in charts.items():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(drawing)
    return list(charts)
