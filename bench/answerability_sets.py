"""Answerability over several sets, each left out in turn: would weights fitted on the others order
and grade the questions of this one?

    locomo       questions of the conversation against those of another one, with its names
    adversarial  the same against LoCoMo's adversarial questions, which attribute words to the wrong
                 person: fitted without either part of LoCoMo
    beam         questions against those that BEAM wants declined
    precision    cases of our own against the unanswerable ones, in memories of a few lines

Questions with and without an answer weigh the same in every set. By set: the area under the ROC
curve and the expected calibration error of weights fitted on the other sets; the share of questions
with an answer by tenth of the likelihood; and with the shipped weights the area, and the levels
that questions with and without an answer get.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bench.corpora import ADVERSARIAL, Corpus, load_beam, load_locomo
from bench.metrics import auroc
from bench.persistence_parts import fresh
from bench.precision import fill, renamed
from bench.precision_cases import load
from bench.report import Report, begin, percent
from doxa.models import Embedder
from doxa.recall import Recall
from doxa.recall.answerability import Level

Floats = NDArray[np.float64]
LEVELS: tuple[Level, ...] = ("low", "medium", "high")
BINS = 10
_SIGNALS = ("best", "density", "unknown", "named")
# sets that share conversations: none of them is fitted on when another is left out
_SAME = (frozenset(("locomo", "adversarial")),)


class Judged(NamedTuple):
    """One question: its signals, doxa's score and level, and whether memory holds its answer."""

    signals: tuple[float, ...]
    score: float
    level: Level
    answer: bool


def run(data: Path, embedder: Embedder | None, *, seed: int) -> Report:
    report = begin("answerability", seed=seed, embedder=embedder)
    sets = {name: judged for name, judged in _sets(data, embedder).items() if judged}
    rows, curves, levels = [], [], []
    for name, own in sets.items():
        fitted = _fitted(
            [one for other, part in sets.items() if _apart(name, other) for one in part]
        )
        likely = _likelihood(own, fitted)
        answer = np.array([one.answer for one in own])
        weight = np.where(answer, 0.5 / answer.sum(), 0.5 / (~answer).sum())
        left_out = auroc(likely[answer].tolist(), likely[~answer].tolist())
        shipped = _shipped(own)
        error, curve = reliability(likely, answer, weight)
        for key, value in (("auroc", left_out), ("shipped_auroc", shipped), ("ece", error)):
            report.put(f"{name}.{key}", value)
        rows.append(
            [
                name,
                f"{answer.sum()} / {(~answer).sum()}",
                f"{left_out:.3f}",
                f"{error:.2f}",
                f"{shipped:.3f}",
            ]
        )
        curves.append([name, *("–" if share is None else percent(share) for share in curve)])
        levels.append([name, *(_levels(own, has=has) for has in (True, False))])
    report.table(
        "Answerability by set, weights fitted on the others",
        ["set", "with / without answer", "AUROC", "ECE", "AUROC as shipped"],
        rows,
    )
    report.table(
        "Share of questions with an answer, by likelihood (%; both kinds weigh the same)",
        ["set", *(f"{number}0–{number + 1}0" for number in range(BINS))],
        curves,
    )
    report.table(
        "Levels as shipped: low / medium / high, %",
        ["set", "questions with an answer", "questions without"],
        levels,
    )
    return report.end()


def _sets(data: Path, embedder: Embedder | None) -> dict[str, list[Judged]]:
    found: dict[str, list[Judged]] = {"locomo": [], "adversarial": [], "beam": [], "precision": []}
    if (data / "locomo").exists():
        for own, foreign, adversarial in _locomo(load_locomo(data / "locomo"), embedder):
            found["locomo"] += own + foreign
            found["adversarial"] += own + adversarial
    if (data / "beam").exists():
        for chat in load_beam(data / "beam"):
            found["beam"] += _asked(chat, embedder)
    for block in load():
        with fresh(embedder=embedder) as memory:
            fill(memory, block)
            for case in block.cases:
                answer = memory.recall(case.question, project=case.project or "*")
                found["precision"].append(_judged(answer, answerable=bool(case.must)))
    return found


def _locomo(
    corpora: Sequence[Corpus], embedder: Embedder | None
) -> Iterator[tuple[list[Judged], list[Judged], list[Judged]]]:
    """By conversation: its questions, those of the next conversation, and the adversarial ones."""
    for place, corpus in enumerate(corpora):
        other = corpora[(place + 1) % len(corpora)]
        with fresh(embedder=embedder) as memory:
            memory.ingest(corpus.turns, extract=False)
            memory.embed()
            own: list[Judged] = []
            adversarial: list[Judged] = []
            for question in (*corpus.questions, *corpus.unlabelled):
                into = adversarial if question.category == ADVERSARIAL else own
                answer = memory.recall(question.text)
                into.append(_judged(answer, answerable=into is own))
            foreign = [
                _judged(
                    memory.recall(renamed(question.text, other.speakers, corpus.speakers)),
                    answerable=False,
                )
                for question in other.questions
                if question.category != ADVERSARIAL
            ]
            yield own, foreign, adversarial


def _asked(chat: Corpus, embedder: Embedder | None) -> list[Judged]:
    with fresh(embedder=embedder) as memory:
        memory.ingest(chat.turns, extract=False)
        memory.embed()
        return [
            _judged(memory.recall(question.text), answerable=bool(question.gold))
            for question in (*chat.questions, *chat.unlabelled)
        ]


def _judged(answer: Recall, *, answerable: bool) -> Judged:
    signals = answer.answerable_signals
    values = tuple(
        0.0 if signals is None else float(np.nan_to_num(getattr(signals, name)))
        for name in _SIGNALS
    )
    return Judged(values, answer.answerable_score, answer.answerable_level, answerable)


def _apart(name: str, other: str) -> bool:
    return name != other and frozenset((name, other)) not in _SAME


def _fitted(judged: Sequence[Judged]) -> Floats:
    """Weights of the signals, the constant term last, by logistic regression with a small ridge."""
    x = np.array([(*one.signals, 1.0) for one in judged])
    y = np.array([one.answer for one in judged], dtype=float)
    weight = np.where(y == 1, 0.5 / max(1, y.sum()), 0.5 / max(1, (1 - y).sum())) * len(y)
    weights = np.zeros(x.shape[1])
    ridge = np.diag([1.0] * len(_SIGNALS) + [1e-6])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (weight * (p - y)) + ridge @ weights
        step = np.linalg.solve((x.T * (weight * p * (1 - p))) @ x + ridge, slope)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    return np.asarray(weights)


def _likelihood(judged: Sequence[Judged], weights: Floats) -> Floats:
    x = np.array([(*one.signals, 1.0) for one in judged])
    return np.asarray(1 / (1 + np.exp(-x @ weights)))


def reliability(
    likely: Floats, answer: NDArray[np.bool_], weight: Floats
) -> tuple[float, list[float | None]]:
    """The expected calibration error, and the share of questions with an answer in each bin of
    likelihood, None where there is no question."""
    places = np.minimum((likely * BINS).astype(int), BINS - 1)
    error = 0.0
    curve: list[float | None] = []
    for number in range(BINS):
        held = places == number
        if not held.any():
            curve.append(None)
            continue
        share = float(np.average(answer[held], weights=weight[held]))
        mean = float(np.average(likely[held], weights=weight[held]))
        error += abs(share - mean) * float(weight[held].sum() / weight.sum())
        curve.append(share)
    return error, curve


def _shipped(judged: Sequence[Judged]) -> float:
    return auroc(
        [one.score for one in judged if one.answer],
        [one.score for one in judged if not one.answer],
    )


def _levels(judged: Sequence[Judged], *, has: bool) -> str:
    own = [one.level for one in judged if one.answer is has]
    return " / ".join(percent(own.count(level) / max(1, len(own))) for level in LEVELS)
