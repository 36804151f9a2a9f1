"""LoCoMo: for questions about long conversations, which turns hold the evidence, and what a reader
without a language model makes of them.

The session figure is reported because others report it; plain BM25 nearly solves it. The turn
figures and those within a token budget are the ones to read. Adversarial questions (category 5) are
apart: their evidence turns are of the wrong speaker, so finding them earns nothing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from bench import answerability, compression, token_f1
from bench.comparison import Answered, Measure, against_best, by_group, measure_all
from bench.corpora import ADVERSARIAL, LOCOMO_CATEGORIES, load_locomo
from bench.extractive import TURNS_READ
from bench.metrics import all_at, any_at, recall_at, to_sessions
from bench.report import Report, begin, percent
from bench.systems import ALWAYS, opened
from bench.watched import watched
from doxa.models import Embedder

LIMIT = 50
BUDGETS = (500, 1_000, 2_000)
_TURN_KEYS = (
    "recall_at_5",
    "recall_at_10",
    "recall_at_20",
    "recall_at_50",
    "any_at_10",
    "all_at_10",
)


def run(path: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("locomo", seed=seed, embedder=embedder)
    asked = _ask(path, embedder, seed=seed)
    answered = [item for item in asked if item.question.gold]
    answerable = [item for item in answered if item.question.category != ADVERSARIAL]
    report.put("conversations", len({item.group for item in answered}))
    report.put("turn.answerable.n", len(answerable))
    turns = measure_all(
        report,
        answerable,
        {f"turn.answerable.{key}": measure for key, measure in _turn_measures().items()},
    )
    report.table(
        f"LoCoMo, turn evidence, categories 1–4 (n = {len(answerable)})",
        ["system", "@5", "@10", "@20", "@50", "any@10", "all@10"],
        [
            [system, *(percent(row[f"turn.answerable.{key}"]) for key in _TURN_KEYS)]
            for system, row in turns.items()
        ],
    )
    _by_category(report, answered)
    measures = _session_and_budget_measures()
    _sessions_and_budgets(report, answerable, measures)
    compression.tables(report, "compression", "LoCoMo, categories 1–4", answerable, BUDGETS)
    against_best(report, answerable, "turn.answerable.recall_at_10", partial(_recall, k=10))
    for key in ("session.answerable.recall_at_10", "turn.answerable.recall_in_1000_tokens"):
        against_best(report, answerable, key, measures[key])
    _answers(report, asked)
    true, false = (
        [item for item in asked if (item.question.category == ADVERSARIAL) is adversarial]
        for adversarial in (False, True)
    )
    answerability.measure(
        report, "answerability", "LoCoMo, categories 1–4 against adversarial", true, false
    )
    return report.end()


def _ask(path: Path, embedder: Embedder | None, *, seed: int) -> list[Answered]:
    answered = []
    for corpus in watched(load_locomo(path), "conversations"):
        sessions = {turn.source_id: turn.session for turn in corpus.turns}
        with opened(corpus.turns, embedder, seed=seed) as systems:
            for question in (*corpus.questions, *corpus.unlabelled):
                full = systems.rankings(question.text, limit=LIMIT, plain_limit=len(corpus.turns))
                rankings = {name: ranking[:LIMIT] for name, ranking in full.items()}
                answered.append(
                    Answered(
                        question,
                        corpus.name,
                        len(corpus.turns),
                        rankings,
                        systems.budgeted(question.text, full, BUDGETS),
                        sessions,
                        systems.answers(question.text, rankings),
                        systems.signals(question.text),
                        compression.measured(systems, question.text, BUDGETS),
                        systems.tokens,
                    )
                )
    return answered


def _answers(report: Report, asked: list[Answered]) -> None:
    """The official token-F1 of the extractive reader over what each system recalled first."""

    def official(item: Answered, system: str) -> float:
        return token_f1.score(item.question.category, item.answers[system], item.question.answer)

    answerable = [item for item in asked if item.question.category != ADVERSARIAL]
    groups = [
        (f"{c} {name}", f"answer.category.{c}.f1", _of(asked, c))
        for c, name in LOCOMO_CATEGORIES.items()
    ]
    groups += [("1–4", "answer.answerable.f1", answerable), ("1–5", "answer.all.f1", asked)]
    report.table(
        f"LoCoMo, official token-F1 × 100 of an extractive reader over the first {TURNS_READ}"
        " turns, no language model",
        *by_group(report, groups, official, systems=[ALWAYS, *asked[0].rankings]),
    )
    against_best(
        report, answerable, "answer.answerable.f1", official, system=ALWAYS
    )  # nobody abstains: the difference is that of recall
    against_best(report, asked, "answer.all.f1", official)


def _recall(item: Answered, system: str, *, k: int) -> float:
    return recall_at(item.rankings[system], item.question.gold, k)


def _turn_measures() -> dict[str, Measure]:
    measures: dict[str, Measure] = {
        f"recall_at_{k}": partial(_recall, k=k) for k in (5, 10, 20, 50)
    }
    measures["any_at_10"] = lambda item, system: any_at(
        item.rankings[system], item.question.gold, 10
    )
    measures["all_at_10"] = lambda item, system: all_at(
        item.rankings[system], item.question.gold, 10
    )
    return measures


def _of(items: list[Answered], category: str) -> list[Answered]:
    return [item for item in items if item.question.category == category]


def _by_category(report: Report, answered: list[Answered]) -> None:
    groups = []
    for category, name in LOCOMO_CATEGORIES.items():
        items = _of(answered, category)
        place = "turn.adversarial" if category == ADVERSARIAL else f"turn.category.{category}"
        report.put(f"{place}.n", len(items))
        measure_all(
            report, items, {f"{place}.recall_at_{k}": partial(_recall, k=k) for k in (5, 20)}
        )
        groups.append((f"{category} {name}", f"{place}.recall_at_10", items))
    report.table(
        "LoCoMo, turn evidence recall@10 by category",
        *by_group(report, groups, partial(_recall, k=10)),
    )


def _session_and_budget_measures() -> dict[str, Measure]:
    def session_recall(item: Answered, system: str, *, k: int) -> float:
        gold = {item.sessions[name] for name in item.question.gold}
        return recall_at(to_sessions(item.rankings[system], item.sessions), gold, k)

    def budget_recall(item: Answered, system: str, *, tokens: int) -> float:
        ranking = item.budgets[tokens][system]
        return recall_at(ranking, item.question.gold, len(ranking))

    measures: dict[str, Measure] = {
        f"session.answerable.recall_at_{k}": partial(session_recall, k=k) for k in (5, 10)
    }
    return measures | {
        f"turn.answerable.recall_in_{tokens}_tokens": partial(budget_recall, tokens=tokens)
        for tokens in BUDGETS
    }


def _sessions_and_budgets(
    report: Report, answerable: list[Answered], measures: dict[str, Measure]
) -> None:
    found = measure_all(report, answerable, measures)
    report.table(
        "LoCoMo, session evidence recall, and turn evidence recall within a token budget,"
        " categories 1–4",
        ["system", "session @5", "session @10", *(f"{tokens} tokens" for tokens in BUDGETS)],
        [[system, *(percent(row[key]) for key in measures)] for system, row in found.items()],
    )
