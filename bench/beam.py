"""BEAM: in long technical chats, which messages hold the evidence, and does an update come before
what it replaced?

`order` is the share of knowledge updates whose best updated message stands above the best original
one (chance: one half), `updated_at_1` the share in which it stands first; `both_at_10` the share of
contradictions of which both statements are in the first ten: a memory should return both.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import answerability, compression
from bench.comparison import Answered, Measure, against_best, by_group, measure_all
from bench.corpora import ABSTENTION, load_beam
from bench.metrics import all_at, any_at, best_rank, recall_at
from bench.report import Report, begin, percent
from bench.systems import opened
from bench.watched import watched
from doxa.models import Embedder

LIMIT_MAX = 1_000
BUDGETS = (500, 1_000, 2_000)
_MESSAGE_KEYS = (
    "hit_at_1",
    "mrr",
    "recall_at_5",
    "recall_at_10",
    "recall_at_20",
    "any_at_10",
    "all_at_10",
)


def run(path: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("beam", seed=seed, embedder=embedder)
    asked = _ask(path, embedder, seed=seed)
    answered = [item for item in asked if item.question.gold]
    report.put("message.n", len(answered))
    found = measure_all(
        report,
        answered,
        {f"message.{key}": measure for key, measure in _message_measures().items()},
    )
    report.table(
        f"BEAM, message evidence without abstention (n = {len(answered)})",
        ["system", "hit@1", "MRR", "@5", "@10", "@20", "any@10", "all@10"],
        [
            [
                system,
                *(
                    f"{row[f'message.{key}']:.3f}"
                    if key == "mrr"
                    else percent(row[f"message.{key}"])
                    for key in _MESSAGE_KEYS
                ),
            ]
            for system, row in found.items()
        ],
    )
    _by_type(report, answered)
    _sides(report, answered)
    against_best(report, answered, "message.recall_at_10", partial(_recall, k=10))
    compression.tables(report, "compression", "BEAM", answered, BUDGETS)
    abstention = [item for item in asked if item.question.category == ABSTENTION]
    answerability.measure(
        report, "answerability", "BEAM, answerable against abstention", answered, abstention
    )
    return report.end()


def _ask(path: Path, embedder: Embedder | None, *, seed: int) -> list[Answered]:
    answered = []
    for corpus in watched(load_beam(path), "chats"):
        with opened(corpus.turns, embedder, seed=seed) as systems:
            limit = min(LIMIT_MAX, len(corpus.turns))
            for question in (*corpus.questions, *corpus.unlabelled):
                rankings = systems.rankings(question.text, limit=limit)
                answered.append(
                    Answered(
                        question,
                        corpus.name,
                        len(corpus.turns),
                        rankings,
                        systems.budgeted(question.text, rankings, BUDGETS),
                        signals=systems.signals(question.text),
                        tokens=compression.measured(systems, question.text, BUDGETS),
                        whole=systems.tokens,
                    )
                )
    return answered


def _recall(item: Answered, system: str, *, k: int) -> float:
    return recall_at(item.rankings[system], item.question.gold, k)


def _message_measures() -> dict[str, Measure]:
    measures: dict[str, Measure] = {f"recall_at_{k}": partial(_recall, k=k) for k in (5, 10, 20)}
    measures["hit_at_1"] = lambda item, system: any_at(item.rankings[system], item.question.gold, 1)
    measures["mrr"] = _reciprocal_rank
    measures["any_at_10"] = lambda item, system: any_at(
        item.rankings[system], item.question.gold, 10
    )
    measures["all_at_10"] = lambda item, system: all_at(
        item.rankings[system], item.question.gold, 10
    )
    return measures


def _reciprocal_rank(item: Answered, system: str) -> float:
    place = best_rank(item.rankings[system], item.question.gold, units=item.units)
    return 1 / place if place <= item.units else 0.0


def _by_type(report: Report, answered: list[Answered]) -> None:
    kinds = sorted({item.question.category for item in answered})
    groups = [
        (
            kind.replace("_", " "),
            f"message.type.{kind}.recall_at_10",
            [item for item in answered if item.question.category == kind],
        )
        for kind in kinds
    ]
    report.table(
        "BEAM, message evidence recall@10 by question type",
        *by_group(report, groups, partial(_recall, k=10)),
    )


def _sides(report: Report, answered: list[Answered]) -> None:
    def place(item: Answered, system: str, side: int) -> int:
        assert item.question.sides is not None
        return best_rank(item.rankings[system], item.question.sides[side], units=item.units)

    def ordered(item: Answered, system: str) -> float:
        return float(place(item, system, 1) < place(item, system, 0))

    def both_found(item: Answered, system: str) -> float:
        return float(max(place(item, system, side) for side in (0, 1)) <= 10)

    updates = [
        item
        for item in answered
        if item.question.category == "knowledge_update" and item.question.sides
    ]
    contradictions = [
        item
        for item in answered
        if item.question.category == "contradiction_resolution" and item.question.sides
    ]
    report.put("update.n", len(updates))
    report.put("contradiction.n", len(contradictions))
    found = measure_all(
        report,
        updates,
        {
            "update.order": ordered,
            "update.updated_at_1": lambda item, system: float(place(item, system, 1) == 1),
            "update.updated_at_10": lambda item, system: float(place(item, system, 1) <= 10),
        },
    )
    both = measure_all(report, contradictions, {"contradiction.both_at_10": both_found})
    report.table(
        f"BEAM, updates (n = {len(updates)}) and contradictions (n = {len(contradictions)})",
        [
            "system",
            "updated above original",
            "updated@1",
            "updated@10",
            "both statements@10",
        ],
        [
            [system, *map(percent, row.values()), *map(percent, both.get(system, {}).values())]
            for system, row in found.items()
        ],
    )
    for items, key, measure in (
        (updates, "update.order", ordered),
        (contradictions, "contradiction.both_at_10", both_found),
    ):
        if items:
            against_best(report, items, key, measure)
