"""A few of the texts of fuzz_cypher.py in each run, and arbitrary bytes and words: a tree that
comes back from its print, or a DoxaError."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.fuzz_cypher import HUGE, NESTS, PIECES, SEEDS, examine, text_of


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_changed_queries(seed: int) -> None:
    examine(text_of(Random(seed)))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_arbitrary_bytes(data: bytes) -> None:
    for errors in ("surrogateescape", "replace"):
        examine(data.decode("utf-8", errors))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from(PIECES), st.text(max_size=4), st.sampled_from(SEEDS)), max_size=30
    ),
    st.sampled_from([" ", "", "\n"]),
)
def test_arbitrary_words(words: list[str], between: str) -> None:
    examine(between.join(words))


@pytest.mark.parametrize(("before", "after"), NESTS)
def test_depth_and_length(before: str, after: str) -> None:
    for depth in (1, 60, 2_000):
        for text in ("RETURN {}", "MATCH (a) WHERE {} RETURN a", "{}"):
            examine(text.replace("{}", before * depth + "1" + after * depth))


@pytest.mark.parametrize("number", HUGE)
def test_huge_numbers_and_texts(number: str) -> None:
    for text in (
        "RETURN {}",
        "MATCH (a)-[*{}]->(b) RETURN a",
        "RETURN 1 AS x SKIP {}",
        "MATCH (a) RETURN a.x[{}]",
    ):
        examine(text.replace("{}", number))
