"""What a question asks for: talk about the conversation is removed, statements are distinguished
from questions, and whose words are meant."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.limits import QUERY_CHARS_READ
from doxa.recall.question import read_question


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ("Can you tell me what the budget for the roof is?", "what the budget for the roof is?"),
        (
            (
                "Could you please give me a short summary of the harbour project across our"
                " conversations?"
            ),
            "the harbour project?",
        ),
        (
            (
                "In what order did I bring up the ferries, the pier and the crane, in order?"
                " Mention only three items."
            ),
            "In what order the ferries, the pier and the crane?",
        ),
        (
            "What did I say about the walnut allergy during our last chat?",
            "What about the walnut allergy?",
        ),
        (
            "List the boats and piers that we discussed throughout our sessions",
            "the boats and piers that",
        ),
        ("Do you remember where the spare keys are?", "where the spare keys are?"),
        ("When is the ferry?", "When is the ferry?"),
        ("Can you suggest a hotel in Valencia?", "a hotel in Valencia?"),
        ("Dinner for two, any ideas?", "Dinner for two?"),
        ("Could you please recommend any?", "Could you please recommend any?"),
        ("What did you tell me?", "What did you tell me?"),
        ("", ""),
    ],
)
def test_talk_about_the_conversation_leaves_the_question(asked: str, left: str) -> None:
    assert read_question(asked).text == left


@pytest.mark.parametrize(
    ("asked", "statement"),
    [
        ("I finally threw the old running shoes away today.", True),
        ("My knee hurts again and I can't say why, it is so annoying", True),
        ("The cat of our neighbours had kittens last night!", True),
        ("What have I thrown away?", False),
        ("Tell me about my old running shoes and the knee", False),
        ("running shoes knee", False),
        ("I like tea", False),
        ("The ferry leaves at noon from the second pier", False),
        ("我今天把旧跑鞋扔掉了？", False),
    ],
)
def test_a_statement_asks_nothing_and_speaks_of_somebody(asked: str, statement: bool) -> None:
    assert read_question(asked).statement is statement


@pytest.mark.parametrize(
    ("asked", "side"),
    [
        ("What did I say about the roof?", "user"),
        ("Which of my boats leaks?", "user"),
        ("What did you recommend for the roof?", "assistant"),
        ("What was it you suggested for the roof?", "assistant"),
        ("You told me how to seal the roof, how was that?", "assistant"),
        ("According to your earlier advice, which tar is best?", "assistant"),
        ("Which tar had you recommended?", "assistant"),
        ("Can you suggest a roofer?", "user"),
        ("What would you recommend for the roof?", "user"),
        ("Have you any tips on roofs?", "user"),
        ("What should I wear on the roof?", "user"),
        ("What's your advice on the roof?", "user"),
        ("The roof has to be fixed, any ideas?", "user"),
        ("Please help me choose tiles", "user"),
        ("What was your advice on the roof?", "assistant"),
        ("When does the ferry leave?", ""),
    ],
)
def test_whose_words_are_asked_for(asked: str, side: str) -> None:
    assert read_question(asked).side == side


@given(st.text(max_size=200))
def test_any_text_is_read_and_nothing_is_added(asked: str) -> None:
    letters = iter(asked)
    assert all(
        letter in letters for letter in read_question(asked).text if not letter.isspace()
    )  # a subsequence


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert len(read_question("why " * QUERY_CHARS_READ).text) <= QUERY_CHARS_READ
