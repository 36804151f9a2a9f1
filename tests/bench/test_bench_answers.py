"""LoCoMo's own score of an answer by hand, and the reader that has no language model."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import compression, token_f1
from bench.extractive import NO_ANSWER, read_answer
from bench.systems import DOXA, opened
from doxa.base.clock import parse_time
from doxa.language.turns import Turn
from doxa.models import HashEmbedder

JUNE_9 = parse_time("2023-06-09T20:00:00Z")


def heard(
    text: str, *, speaker: str = "Ana", time_ns: int | None = JUNE_9, number: int = 0
) -> Turn:
    return Turn("t", "s", speaker, "person", text, time_ns, str(number))


def test_texts_are_compared_without_punctuation_commas_and_articles() -> None:
    assert token_f1.normalised("The cat, and a  Dog's  bowl!") == "cat dogs bowl"
    assert token_f1.normalised("Android, an anthem") == "android anthem"


@pytest.mark.parametrize(
    ("prediction", "gold", "expected"),
    [
        ("7 May 2023", "7 May 2023", 1),
        ("May 2023", "7 May 2023", 0.8),  # P 1, R 2/3
        ("running runs run", "run", 0.5),  # a multiset: of three the same, one is shared
        ("the", "a", 0),
        ("", "yes", 0),
        ("swimming, painting", "painted", 2 / 3),
    ],
)
def test_f1_by_hand(prediction: str, gold: str, expected: float) -> None:
    assert token_f1.f1(prediction, gold) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("category", "prediction", "gold", "expected"),
    [
        (
            "1",
            "pottery, camping",
            "camping, swimming",
            0.5,
        ),  # each part of the gold has its best part: 1 and 0
        ("1", "pottery and camping", "camping", 2 / 3),
        ("2", "pottery, camping", "camping, swimming", 0.5),
        ("3", "Likely no", "Likely no; since this one went badly", 1),
        ("4", "Likely no", "Likely no; since this one went badly", 2 * 1 * (2 / 7) / (1 + 2 / 7)),
        ("5", "There is NO information available here", "", 1),
        ("5", "It was not mentioned.", "", 1),
        ("5", "a cat", "a cat", 0),
        ("4", "no information available", "a cat", 0),
    ],
)
def test_each_category_has_its_rule(
    category: str, prediction: str, gold: str, expected: float
) -> None:
    assert token_f1.score(category, prediction, gold) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("I gave a speech at my school yesterday.", "8 June 2023"),
        ("I gave a speech at my school last week.", "The week before 9 June 2023"),
        ("I gave a speech at my school last Friday.", "The friday before 9 June 2023"),
        ("I give a speech at my school next month.", "July 2023"),
        ("I gave a speech at my school last year.", "2022"),
        ("I gave a speech at my school!", "9 June 2023"),
    ],
)
def test_a_date_is_worked_out_from_when_it_was_said(said: str, answer: str) -> None:
    assert (
        read_answer("When did Ana give a speech at a school?", [heard("Hello Bo!"), heard(said)])
        == answer
    )


def test_short_answers_by_the_kind_of_question() -> None:
    assert (
        read_answer("How many cats does Ana have?", [heard("I have three cats. They sleep a lot.")])
        == "three cats"
    )
    assert (
        read_answer(
            "What did Ana research?", [heard("I researched adoption agencies, it took a day.")]
        )
        == "adoption agencies"
    )
    assert read_answer("Would Ana like a cat?", [heard("I love cats.")]) == "Yes"
    listed = [heard("We read Moby Dick."), heard("Then we read Middlemarch, which was long.")]
    assert read_answer("What books has Ana read?", listed) == "Moby Dick, Middlemarch"


def test_who_is_named_counts_when_two_say_the_same() -> None:
    turns = [
        heard("I painted a blue horse.", speaker="Bo"),
        heard("I painted a red sunset.", speaker="Ana"),
    ]
    assert read_answer("What did Ana paint?", turns) == "red sunset"


def test_there_is_no_answer_where_nothing_was_recalled_or_recall_says_so() -> None:
    assert read_answer("What did Ana paint?", []) == NO_ANSWER
    assert (
        read_answer("What did Ana paint?", [heard("I painted a sunset.")], answerable=0.2)
        == NO_ANSWER
    )
    assert (
        read_answer("What did Ana paint?", [heard("I painted a sunset.")], answerable=0.9)
        == "sunset"
    )
    assert token_f1.score("5", NO_ANSWER, "") == 1
    assert (
        read_answer("When did Ana paint?", [heard("I painted a sunset.", time_ns=None)])
        == NO_ANSWER
    )


def test_budgets_of_the_harness_are_those_of_the_product(tmp_path: Path) -> None:
    """Single lanes are cut by the harness: it leaves what the product's own budget leaves."""
    turns = [
        heard(
            f"The garden has {number} tulips and {'very ' * (number % 7)}green grass.",
            number=number,
        )
        for number in range(40)
    ]
    question = "How many tulips are in the garden?"
    with opened(turns, HashEmbedder(dimensions=384), seed=7) as systems:
        full = systems.rankings(question, limit=40)
        budgets = systems.budgeted(question, full, (50, 200))
        for budget, found in budgets.items():
            for name, lanes in (("doxa_words", ("words",)), ("doxa_meaning", ("meaning",))):
                own = systems._recall(question, limit=40, lanes=lanes, tokens_max=budget)
                assert found[name] == [hit.source_id for hit in own.hits if not hit.truncated]
        tokens = compression.measured(systems, question, (50, 200))
        assert (
            tokens[compression.named(50)] <= 50 < tokens[compression.FIRST_HITS] <= systems.tokens
        )
        assert len(budgets[50][DOXA]) < len(budgets[200][DOXA])
