"""Index terms: documents and queries are tokenised the same way, whatever the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.base.limits import INDEX_TOKENS_MAX, TERM_CHARS_MAX
from doxa.base.words import STOP_WORDS, runs_of, stem, term_counts, terms


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", []),
        (" \t\n\x00", []),
        ("the and of", []),
        ("Deploying on Thursdays", ["deploy", "thursday"]),
        ("DEPLOY deploys deployed", ["deploy", "deploy", "deploy"]),
        ("snake_case-and.dots/42", ["snake", "case", "dot", "42"]),
        ("漢字かな", ["漢字", "字か", "かな"]),
        ("茶", ["茶"]),
        ("서울", ["서울"]),
        ("tea茶屋tea", ["tea", "茶屋", "tea"]),
        ("I ♥ tea 🍵🍵", ["♥", "tea", "🍵", "🍵"]),
        ("Straße", ["strass"]),
        ("ﬁle", ["file"]),
        ("ＡＢＣ", ["abc"]),
        ("don't", []),
        ("'; DROP TABLE node; --", ["drop", "tabl", "node"]),
        ('" OR * NEAR(', ["near"]),
    ],
)
def test_table(text: str, wanted: list[str]) -> None:
    assert terms(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "\ud800 lone",
        "a\x00b",
        "\u202eright to left",
        "e\u0301" * 50,
        "\U0010ffff",
        "ʼ" * 10,
        "a" * 100_000,
        "़" * 500,
    ],
)
def test_hostile_text_gives_bounded_terms(text: str) -> None:
    for term in terms(text):
        assert 0 < len(term) <= TERM_CHARS_MAX


def test_composed_and_decomposed_letters_meet() -> None:
    assert terms("cafe\u0301") == terms("caf\u00e9") != []


def test_the_token_limit_is_exact_also_inside_a_cjk_run() -> None:
    assert len(terms("tea " * (INDEX_TOKENS_MAX + 5))) == INDEX_TOKENS_MAX
    assert len(terms("茶" * (INDEX_TOKENS_MAX + 500))) == INDEX_TOKENS_MAX


@given(st.text(max_size=80))
def test_terms_are_deterministic_free_of_stop_words_and_counted(text: str) -> None:
    found = terms(text)
    assert found == terms(text)
    assert sum(term_counts(text).values()) == len(found)
    assert all(0 < len(term) <= TERM_CHARS_MAX and not term.isspace() for term in found)


@given(st.text(max_size=40), st.text(max_size=40))
def test_texts_apart_are_cut_as_they_are_alone(one: str, other: str) -> None:
    assert terms(one + "\n" + other) == terms(one) + terms(other)


def test_stop_words_are_case_folded_words() -> None:
    assert all(word == word.casefold() and word.isalpha() for word in STOP_WORDS)
    assert stem("running") == "run"


@given(st.text() | st.text(st.characters(max_codepoint=127)))
def test_runs_are_what_the_expression_for_words_finds(text: str) -> None:
    assert runs_of(text) == re.findall(r"\w+", text)
