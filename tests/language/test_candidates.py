"""Candidates: facts read back as the claims that they were made of, and nothing incomplete is
kept."""

from __future__ import annotations

import pytest

from doxa.base.clock import parse_time
from doxa.language.candidates import candidates_of, fact_of, phrase_of
from doxa.language.completeness import is_complete
from doxa.language.predicates import ANY, PREDICATES
from doxa.language.spelling import corrected
from doxa.language.statement import read_fact, read_statement

NOW = parse_time("2026-03-05T12:00:00Z")
_WITHOUT_PHRASE = {ANY, "kind", "where", "set", "switched", "given up", "holder", "when", "can"}


@pytest.mark.parametrize(
    "predicate", [one.name for one in PREDICATES if one.name not in _WITHOUT_PHRASE]
)
def test_the_phrase_of_a_predicate_is_read_as_the_predicate(predicate: str) -> None:
    assert read_fact("Ana", phrase_of(predicate), "Rome").predicate == predicate


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I moved to Munich.", ("Ana", "lives in", "Munich")),
        ("I have two cats.", ("Ana", "has", "2 cats")),
        ("We've got a dog.", ("Ana", "has", "a dog")),
        ("I'm a nurse.", ("Ana", "is", "a nurse")),
        ("I work at a bank.", ("Ana", "works at", "a bank")),
        ("I hate olives.", ("Ana", "not likes", "olives")),
        ("My sister lives in Porto.", ("Ana's sister", "lives in", "Porto")),
        ("My favourite tea is oolong.", ("Ana", "favourite tea", "oolong")),
        ("The API port is 9090.", ("API port", "is", "9090")),
        ("T. S. Eliot is a citizen of Britain.", ("T S Eliot", "citizen of", "Britain")),
        ("The standup is at 10:00.", ("standup", "takes place", "10:00")),
    ],
)
def test_a_complete_claim_is_a_fact(text: str, fact: tuple[str, str, str]) -> None:
    (claim,) = read_statement(text, speaker="Ana", time_ns=NOW)
    assert is_complete(claim)
    assert fact_of(claim, speaker="Ana") == fact
    again = read_fact(*fact, speaker="Ana", time_ns=NOW)
    assert again.value.numbers == claim.value.numbers
    assert again.value.numbers or again.value.words == claim.value.words


@pytest.mark.parametrize(
    "text",
    [
        "She loves it there.",
        "My life is a mess.",
        "The thing is a bit odd.",
        "I like that one.",
        "It was great.",
        "Balance is key.",
        "Finding a flat is tricky.",
        "I have a question.",
        "I had known her for years.",
        "We're like a family.",
        "Here's a recent painting!",
        "Thanks, Caroline. It's still a work in progress.",
        "I'm up for the challenge!",
        "This is my everything.",
        "I can do it.",
        "They support each other.",
        "So much love and support, amazing!",
    ],
)
def test_what_is_incomplete_is_no_candidate(text: str) -> None:
    found = candidates_of(text, speaker="Ana", time_ns=NOW, dates=(), written=text)
    assert list(found) == []


def test_misspelt_words_of_the_tables_are_corrected_and_others_are_not() -> None:
    assert corrected("Ana lvies here, the prot is postponned") == (
        "Ana lives here, the port is postponed"
    )
    for text in ("the east trial stated", "Lvies does not", "lost lots of tries"):
        assert corrected(text) == text
