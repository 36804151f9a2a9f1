"""The statistics of BM25 against the published formula, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from doxa.base.bm25 import inverse_document_frequency, length_norm, term_frequency, term_score


def test_a_rare_term_weighs_more() -> None:
    """Of 3 documents 2, 1 and none hold it: ln(1 + 1.5/2.5), ln(1 + 2.5/1.5), ln(1 + 3.5/0.5)."""
    assert [inverse_document_frequency(3, holding) for holding in (2, 1, 0)] == pytest.approx(
        [math.log(1.6), math.log(8 / 3), math.log(8)]
    )


def test_a_count_is_normalised_by_length() -> None:
    """At the mean length a count is itself; at twice the mean, with b = 1/2, two thirds of it."""
    assert length_norm(10, mean=10, b=0.75) == 1
    assert length_norm(20, mean=10, b=0.5) == 1.5
    assert length_norm(20, mean=10, b=0) == 1
    assert term_frequency(3, 1) == 3
    assert term_frequency(3, 1.5) == pytest.approx(2)


def test_a_score_saturates_at_the_weight() -> None:
    assert term_score(4.0, 1.2, k1=1.2) == pytest.approx(2)
    assert 3.99 < term_score(4.0, 1_000.0, k1=1.2) < 4


def test_arrays_are_scored_as_numbers_are() -> None:
    counts, lengths = np.array([1, 2, 5], dtype=np.float32), np.array([4, 8, 2], dtype=np.float32)
    norms = length_norm(lengths, mean=np.float32(5), b=0.5)
    scores = term_score(1.5, term_frequency(counts, norms), k1=0.9)
    assert scores.dtype == np.float32
    single = [
        term_score(1.5, term_frequency(count, length_norm(length, mean=5, b=0.5)), k1=0.9)
        for count, length in zip(counts.tolist(), lengths.tolist(), strict=True)
    ]
    assert scores.tolist() == pytest.approx(single, rel=1e-6)
