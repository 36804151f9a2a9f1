"""Runs over everything present, kept as dated files, and the newest of them as the tables of docs/benchmarks.md.

    bench/results/<date>.json    { date, machine, configuration, commands: [ {command, date, seed, wall_s, tables} ], figures }

A run of some commands keeps what the newest file holds of the others, each with its own date. The data sets are
found by their folder names below the given folder; what is absent is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench import beam, locomo, locomo_plus, peers, speed
from bench.report import Report, configuration, machine, plain, write_json
from doxa.models import Embedder

_HERE = Path(__file__).parent
FOLDER = _HERE / "results"
DOCUMENT = _HERE.parent / "docs" / "benchmarks.md"
BEGIN = "<!-- figures: begin, written by `python -m bench table` -->"
END = "<!-- figures: end -->"
_ORDER = {"locomo": 0, "locomo-plus": 1, "beam": 2, "speed": 3, "graph": 4, "persistence": 5, "agm": 6}

INTRODUCTION = f"""# Benchmarks

How well doxa finds what was said, how fast, and how that compares with plain tools. All figures on this page come from `python -m bench`;
anyone who has the data sets can take them again. No language model takes part: these are retrieval figures, called *evidence recall*, and
never the accuracy of an answer.

How to read them:

- **The plain baselines are the point.** BM25, cosine search with the same embedding model, and simple sums of the two run over the same
  turns in the same run. The difference to the best of them is given with a bootstrap interval. Where conversations are few the interval
  drawn by conversation rests on just as few units; the one drawn by question is too narrow, as questions of a conversation are alike.
- **One configuration for all sets.** It is printed above the tables. Its constants were chosen on parts of these very sets, so the figures
  on those parts flatter doxa somewhat; figures on parts held back count for more.
- **LoCoMo by session is nearly solved** by BM25 with a stop list; look at turns and token budgets. Adversarial questions stand apart.
- **LoCoMo-Plus P1 can be gamed**: a cue comes from elsewhere and is unlike its surroundings. The row `unusual` ranks the least typical
  message first without reading the question; a gain that this row shares is no gain.
- **BEAM's update order is what `updates.py` is for.** Raw messages carry no supersession, so the order of an update and what it replaced is close to
  chance for every plain system. Doxa places a turn above one of the same speaker that it [restates](internals/recall.md) with another value, if
  the question asks how something stands. Its words of change and thresholds were chosen on these very chats, and the cases are few: expect less on
  others. Order alone proves little: the first ten hits by age, newest first, have the updates in order too, and lose 20 points of message recall@5.
- **Graph queries** run beside embedded graph databases of the package index, each in a process of its own, with the same graph, the same questions
  and the same parameters. The right answers are computed from the arrays of the graph alone: **wrong** beside a time says that the system's
  answers differ from them. A system is *durable* if a finished write survives a loss of power; the last column names the fastest durable peer
  with right answers where it is faster than doxa, how much, and why. A question that takes more than 30 s or 8 GB is said to.
- **Persistence** is the evaluation plan of the paper *Persistence Semantics* (NornicDB, 2026): every answer is compared with a model that knows
  the operations and the formulas only, and policies are timed beside the same elements without them.
- **Belief revision** (`agm`) enumerates small worlds completely: a postulate that holds there holds for every base, order and input of them, and one
  that fails is shown with its smallest case. The graph is compared with the pure operators over random sequences.
- **Speed** is measured beside a tool that does less (no history, no receipts, no search over beliefs), so the distance is the price of those.

## Taking the figures

```
python -m bench locomo --data locomo10.json
python -m bench locomo-plus --data locomo_plus.json --locomo locomo10.json
python -m bench beam --data beam/100K
python -m bench speed
python -m bench graph
python -m bench persistence
python -m bench agm --data agm_scenarios_49.json
python -m bench all --data FOLDER && python -m bench table
```

`FOLDER` holds `locomo/`, `locomo-plus/` and `beam/` as their authors publish them. The data is not part of this repository; its licences differ.

The peers of the graph table are installed by `PYTHON=python3.12 sh scripts/peers.sh`, in an environment of their own; one that is not there is
passed over, and the table says so. `python -m bench graph --record` keeps its figures beside those that other commands left.

## Figures

{BEGIN}

None yet.

{END}
"""


def run_all(data: Path, embedder: Embedder | None, *, seed: int, sizes: Sequence[int], quick: bool, python: Path | None = None) -> Iterator[Report]:
    """A report for each set that is there, and two on speed. One after the other: they share the processor."""
    talks, cues, chats = data / "locomo", data / "locomo-plus", data / "beam"
    if talks.exists():
        yield locomo.run(talks, embedder, seed=seed)
    if talks.exists() and cues.exists():
        yield locomo_plus.run(cues, talks, embedder, seed=seed)
    if chats.exists():
        yield beam.run(chats, embedder, seed=seed)
    yield speed.run(talks if talks.exists() else None, embedder, seed=seed, sizes=sizes, quick=quick)
    yield peers.run(python, seed=seed, quick=quick)


def write(folder: Path, reports: Sequence[Report]) -> Path:
    """One file for the day. What other commands left in the newest file is kept, with the day that it was taken on."""
    date = datetime.now(UTC).date().isoformat()
    newest = max(folder.glob("*.json"), default=None)
    before = json.loads(newest.read_text()) if newest else {"commands": [], "figures": {}}
    names = {report.name for report in reports}
    commands = [{"date": before["date"], **command} for command in before["commands"] if command["command"] not in names]
    figures = {key: value for key, value in before["figures"].items() if key.partition(".")[0] not in names}
    kept = ("command", "seed", "wall_s", "tables")
    for report in reports:
        record = report.record()
        commands.append({"date": date, **{name: record[name] for name in kept}})
        figures.update({f"{report.name}.{key}": round(value, 6) for key, value in sorted(report.figures.items())})
    models = [report.embedder for report in reports if report.embedder != "none"]
    settings = before.get("configuration") if not models else None
    path = folder / f"{date}.json"
    write_json(path, {
        "date": date, "machine": machine(), "configuration": settings or configuration(models[0] if models else "none"),
        "commands": sorted(commands, key=lambda command: _ORDER.get(command["command"], 9)), "figures": figures,
    })  # fmt: skip
    return path


def render(folder: Path, document: Path) -> str:
    """Put the newest results between the marks of the document, which is created if absent. Returns what was done."""
    newest = max(folder.glob("*.json"), default=None)
    if newest is None:
        return f"There are no results in {folder}; run `python -m bench all` first."
    found = json.loads(newest.read_text())
    lines = [
        f"Taken on {found['date']}.", "", f"- configuration: {plain(found['configuration'])}", f"- machine: {plain(found['machine'])}",
        f"- seed: {', '.join(sorted({str(command['seed']) for command in found['commands']}))}", "",
    ]  # fmt: skip
    for command in found["commands"]:
        taken = f" Taken on {command['date']}." if command.get("date", found["date"]) != found["date"] else ""
        lines += [f"### {command['command']}", "", f"Wall time {command['wall_s']:.0f} s.{taken}", "", "\n\n".join(command["tables"]), ""]
    text = document.read_text() if document.exists() else INTRODUCTION
    if BEGIN not in text or END not in text:
        return f"{document} lacks the marks {BEGIN} and {END}; nothing was written."
    head, rest = text.split(BEGIN, 1)
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(head + BEGIN + "\n\n" + "\n".join(lines).rstrip() + "\n\n" + END + rest.split(END, 1)[1])
    return f"{newest.name} is now in {document}."
