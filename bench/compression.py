"""How much of a conversation an answer takes, and how much of the evidence it still holds: the two
belong in one row.

A token is four characters, for every system and for the whole conversation alike. Texts cut to fit
a budget count as tokens, not as evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.comparison import Answered
from bench.metrics import mean, recall_at
from bench.report import Report, percent
from bench.systems import DOXA, Systems

FIRST = 10
FIRST_HITS = f"first {FIRST} hits"


def measured(systems: Systems, question: str, budgets: Sequence[int]) -> dict[str, int]:
    """The tokens of doxa's first ten hits and of its answer within each budget."""
    return {FIRST_HITS: systems.ask(question, limit=FIRST).tokens} | {
        named(budget): systems.within(question, tokens_max=budget).tokens for budget in budgets
    }


def named(budget: int) -> str:
    return f"budget of {budget:,} tokens"


def tables(
    report: Report, key: str, title: str, answered: list[Answered], budgets: Sequence[int]
) -> None:
    """A row for the first ten hits and for each budget."""
    whole = mean([item.whole for item in answered])
    report.put(f"{key}.whole_tokens", whole)
    rows = []
    for setting, budget in ((FIRST_HITS, None), *((named(budget), budget) for budget in budgets)):
        taken = mean([item.tokens[setting] for item in answered])
        share = mean([item.tokens[setting] / item.whole for item in answered])
        evidence = mean([_evidence(item, budget) for item in answered])
        place = f"{key}.at_{FIRST}" if budget is None else f"{key}.in_{budget}"
        report.put(f"{place}.tokens", taken)
        report.put(f"{place}.share_of_whole", share)
        report.put(f"{place}.evidence_recall", evidence)
        rows.append(
            [
                setting,
                f"{taken:,.0f}",
                f"{whole:,.0f}",
                percent(share),
                f"{1 / share:,.0f}",
                percent(evidence),
            ]
        )
    head = [
        "doxa's answer",
        "tokens, mean",
        "whole conversation, tokens, mean",
        "share, %",
        "times shorter",
        "evidence recall, %",
    ]
    report.table(
        f"{title}: length of the answer and the evidence in it (n = {len(answered)})", head, rows
    )


def _evidence(item: Answered, budget: int | None) -> float:
    ranking = item.rankings[DOXA][:FIRST] if budget is None else item.budgets[budget][DOXA]
    return recall_at(ranking, item.question.gold, len(ranking))
