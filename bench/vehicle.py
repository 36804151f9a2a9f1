"""VehicleMemBench: several people share a car and change their minds. Does a request find the lines
in which they said what they prefer, the latest first?

`gold_at_10` is the share of the gold lines among the first ten of some 2,500; `latest_first` the
share of requests with several gold lines whose latest one stands above the others. The gold is
published as a retelling with day and time ("[April 15, 2025] At 9:00 AM, Justin set the panel to
blue"): it is the line of the history within a quarter of an hour of it that shares most words with
it; a retelling without such a line is left out.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench.baselines import words_of
from bench.comparison import Answered, Measure, against_best, by_group, measure_all
from bench.corpora import SECOND_NS, Question
from bench.metrics import any_at, best_rank, recall_at
from bench.report import Report, begin, percent
from bench.systems import opened
from doxa.language.turns import Turn
from doxa.models import Embedder

_LINE = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d)\] ([^:]{1,60}): (.+)")
_GOLD = re.compile(r"\[(\w+ \d{1,2}, \d{4})\](?: At (\d{1,2}:\d\d [AP]M))?,? ?(.*)")
_NEAR_NS = 15 * 60 * SECOND_NS
_SHARED_MIN = 2  # words
_LIMIT = 200


def run(path: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("vehicle", seed=seed, embedder=embedder)
    answered = []
    for number, file in enumerate(sorted(path.glob("history_*.txt")), 1):
        turns = read_history(file.read_text(), thread=f"car-{number}")
        items = json.loads(
            (path / file.name.replace("history", "qa")).with_suffix(".json").read_text()
        )
        with opened(turns, embedder, seed=seed) as systems:
            for item in items["related_to_vehicle_preference"]:
                gold = gold_lines(item["gold_memory"], turns)
                if gold:
                    latest = frozenset((gold[-1],)), frozenset(gold[:-1])
                    question = Question(
                        item["query"], frozenset(gold), item["reasoning_type"], sides=latest
                    )
                    rankings = systems.rankings(question.text, limit=_LIMIT)
                    answered.append(Answered(question, file.stem, len(turns), rankings))
    return _measure(report, answered).end()


def _measure(report: Report, answered: list[Answered]) -> Report:
    def latest_first(item: Answered, system: str) -> float:
        assert item.question.sides is not None
        latest, earlier = (
            best_rank(item.rankings[system], side, units=item.units) for side in item.question.sides
        )
        return float(latest < earlier)

    several = [item for item in answered if len(item.question.gold) > 1]
    report.put("n", len(answered))
    report.put("latest.n", len(several))
    measures: dict[str, Measure] = {
        "gold_at_10": partial(_recall, k=10),
        "gold_at_50": partial(_recall, k=50),
        "any_at_10": lambda item, system: any_at(item.rankings[system], item.question.gold, 10),
    }
    found = measure_all(report, answered, measures)
    first = measure_all(report, several, {"latest_first": latest_first})
    report.table(
        f"VehicleMemBench, lines of what was preferred (n = {len(answered)}; latest first:"
        f" n = {len(several)})",
        ["system", "gold@10", "gold@50", "any@10", "latest first"],
        [
            [system, *map(percent, row.values()), *map(percent, first.get(system, {}).values())]
            for system, row in found.items()
        ],
    )
    kinds = sorted({item.question.category for item in answered})
    groups = [
        (
            kind.replace("_", " "),
            f"type.{kind}.gold_at_10",
            [item for item in answered if item.question.category == kind],
        )
        for kind in kinds
    ]
    report.table(
        "VehicleMemBench, gold@10 by kind", *by_group(report, groups, partial(_recall, k=10))
    )
    against_best(report, answered, "gold_at_10", partial(_recall, k=10))
    return report


def _recall(item: Answered, system: str, *, k: int) -> float:
    return recall_at(item.rankings[system], item.question.gold, k)


def read_history(text: str, *, thread: str) -> list[Turn]:
    """Each line is a turn; a minute in which several are said gives them a second each."""
    turns: list[Turn] = []
    last = 0
    for number, line in enumerate(text.splitlines()):
        match = _LINE.fullmatch(line.strip())
        if match is None:
            continue
        said = datetime.strptime(match[1], "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
        last = max(int(said.timestamp()) * SECOND_NS, last + SECOND_NS)
        turns.append(
            Turn(thread, match[1][:10], match[2], "person", match[3], last, f"{thread}:{number}")
        )
    return turns


def gold_lines(memory: str, turns: list[Turn]) -> list[str]:
    """The source ids of the lines that a gold memory retells, in the order in which they were
    said."""
    found: dict[str, int] = {}
    for line in memory.splitlines():
        match = _GOLD.match(line.strip())
        if match is None:
            continue
        moment = datetime.strptime(f"{match[1]} {match[2] or '12:00 PM'}", "%B %d, %Y %I:%M %p")
        at = int(moment.replace(tzinfo=UTC).timestamp()) * SECOND_NS
        wanted = set(words_of(match[3]))
        near = [turn for turn in turns if abs((turn.time_ns or 0) - at) <= _NEAR_NS]
        best = max(near, key=lambda turn: _shared(wanted, turn), default=None)
        if best is not None and _shared(wanted, best) >= _SHARED_MIN:
            found[best.source_id] = best.time_ns or 0
    return sorted(found, key=lambda name: found[name])


def _shared(wanted: set[str], turn: Turn) -> int:
    return len(wanted & set(words_of(turn.text)))
