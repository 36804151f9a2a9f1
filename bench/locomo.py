"""LoCoMo: for questions about long conversations, which turns hold the evidence.

The session figure is reported because others report it; plain BM25 nearly solves it. The turn figures and those within a token budget
are the ones to read. Adversarial questions (category 5) are apart: their evidence turns are of the wrong speaker, so finding them is no merit.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench.comparison import Answered, Measure, against_best, measure_all
from bench.corpora import ADVERSARIAL, LOCOMO_CATEGORIES, load_locomo
from bench.metrics import all_at, any_at, recall_at, to_sessions
from bench.report import Report, begin, percent
from bench.systems import opened
from doxa.models import Embedder

LIMIT = 50
BUDGETS = (500, 1_000, 2_000)
_TURN_KEYS = ("recall_at_5", "recall_at_10", "recall_at_20", "recall_at_50", "any_at_10", "all_at_10")


def run(path: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("locomo", seed=seed, embedder=embedder)
    answered = _ask(path, embedder, seed=seed)
    answerable = [item for item in answered if item.question.category != ADVERSARIAL]
    report.put("conversations", len({item.group for item in answered}))
    report.put("turn.answerable.n", len(answerable))
    turns = measure_all(report, answerable, {f"turn.answerable.{key}": measure for key, measure in _turn_measures().items()})
    report.table(
        f"LoCoMo, turn evidence, categories 1–4 (n = {len(answerable)})", ["system", "@5", "@10", "@20", "@50", "any@10", "all@10"],
        [[system, *(percent(row[f"turn.answerable.{key}"]) for key in _TURN_KEYS)] for system, row in turns.items()],
    )  # fmt: skip
    _by_category(report, answered)
    _sessions_and_budgets(report, answerable)
    against_best(report, answerable, "turn.answerable.recall_at_10", partial(_recall, k=10))
    return report.end()


def _ask(path: Path, embedder: Embedder | None, *, seed: int) -> list[Answered]:
    answered = []
    for corpus in load_locomo(path):
        sessions = {turn.source_id: turn.session for turn in corpus.turns}
        with opened(corpus.turns, embedder, seed=seed) as systems:
            for question in corpus.questions:
                full = systems.rankings(question.text, limit=LIMIT, plain_limit=len(corpus.turns))
                budgets = {tokens: systems.budgeted(question.text, full, tokens_max=tokens) for tokens in BUDGETS}
                rankings = {name: ranking[:LIMIT] for name, ranking in full.items()}
                answered.append(Answered(question, corpus.name, len(corpus.turns), rankings, budgets, sessions))
    return answered


def _recall(item: Answered, system: str, *, k: int) -> float:
    return recall_at(item.rankings[system], item.question.gold, k)


def _turn_measures() -> dict[str, Measure]:
    measures: dict[str, Measure] = {f"recall_at_{k}": partial(_recall, k=k) for k in (5, 10, 20, 50)}
    measures["any_at_10"] = lambda item, system: any_at(item.rankings[system], item.question.gold, 10)
    measures["all_at_10"] = lambda item, system: all_at(item.rankings[system], item.question.gold, 10)
    return measures


def _by_category(report: Report, answered: list[Answered]) -> None:
    rows: dict[str, list[str]] = {}
    heads = []
    for category, name in LOCOMO_CATEGORIES.items():
        items = [item for item in answered if item.question.category == category]
        place = "turn.adversarial" if category == ADVERSARIAL else f"turn.category.{category}"
        report.put(f"{place}.n", len(items))
        heads.append(f"{category} {name} (n = {len(items)})")
        found = measure_all(report, items, {f"{place}.recall_at_{k}": partial(_recall, k=k) for k in (5, 10, 20)})
        for system, row in found.items():
            rows.setdefault(system, []).append(percent(row[f"{place}.recall_at_10"]))
    report.table("LoCoMo, turn evidence recall@10 by category", ["system", *heads], [[system, *cells] for system, cells in rows.items()])


def _sessions_and_budgets(report: Report, answerable: list[Answered]) -> None:
    def session_recall(item: Answered, system: str, *, k: int) -> float:
        gold = {item.sessions[name] for name in item.question.gold}
        return recall_at(to_sessions(item.rankings[system], item.sessions), gold, k)

    def budget_recall(item: Answered, system: str, *, tokens: int) -> float:
        ranking = item.budgets[tokens][system]
        return recall_at(ranking, item.question.gold, len(ranking))

    measures: dict[str, Measure] = {f"session.answerable.recall_at_{k}": partial(session_recall, k=k) for k in (5, 10)}
    measures |= {f"turn.answerable.recall_in_{tokens}_tokens": partial(budget_recall, tokens=tokens) for tokens in BUDGETS}
    found = measure_all(report, answerable, measures)
    report.table(
        "LoCoMo, session evidence recall, and turn evidence recall within a token budget, categories 1–4",
        ["system", "session @5", "session @10", *(f"{tokens} tokens" for tokens in BUDGETS)],
        [[system, *(percent(row[key]) for key in measures)] for system, row in found.items()],
    )
