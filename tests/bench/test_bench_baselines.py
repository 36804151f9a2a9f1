"""The plain baselines do what their names say: a baseline that is broken flatters whatever stands
next to it."""

from __future__ import annotations

import numpy as np
import pytest

from bench.baselines import (
    Bm25,
    Plain,
    min_max,
    ordered,
    reciprocal_ranks,
    unit_range,
    windows,
    words_of,
)
from doxa.language.turns import Turn
from doxa.models import HashEmbedder


def turn(number: int, text: str, session: str = "s", caption: str = "") -> Turn:
    return Turn("t", session, "Ana", "person", text, number, str(number), caption)


def test_words_are_stems_without_stop_words() -> None:
    assert words_of("What did the runners' dogs do?") == ["runner", "dog"]


def test_bm25_by_hand() -> None:
    scores = Bm25(["cat", "cat cat dog", "bird"]).scores("cat")
    idf = np.log1p((3 - 2 + 0.5) / (2 + 0.5))
    mean = 5 / 3
    expected = [
        idf * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * length / mean)) for n, length in ((1, 1), (2, 3))
    ]
    assert scores.tolist() == pytest.approx([*expected, 0.0])


def test_min_max_scales_each_lane_before_adding() -> None:
    assert unit_range(np.array([2.0, 4.0, 3.0])).tolist() == [0, 1, 0.5]
    assert unit_range(np.array([2.0, 2.0])).tolist() == [0, 0]
    assert min_max([np.array([0.0, 100.0]), np.array([0.2, 0.1])]).tolist() == [1, 1]


def test_ranks_are_fused_by_place_and_zero_scores_have_none() -> None:
    rng = np.random.default_rng(0)
    fused = reciprocal_ranks(
        [np.array([3.0, 0.0, 0.0]), np.array([0.1, 0.9, 0.5])], above_zero=[True, False], rng=rng
    )
    assert fused.tolist() == pytest.approx([1 / 61 + 1 / 63, 1 / 61, 1 / 62])


def test_ties_fall_by_the_seed_and_not_by_the_order_of_the_file() -> None:
    same = np.zeros(50)
    drawn = [ordered(same, np.random.default_rng(seed)).tolist() for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != list(range(50))


def test_a_window_stays_within_its_session() -> None:
    turns = [turn(1, "a"), turn(2, "b", session="other"), turn(3, "c", caption="a cat")]
    assert windows(turns) == ["Ana: a", "Ana: b", "Ana: a Ana: c [shares a cat]"]


def test_every_baseline_ranks_every_turn_once() -> None:
    turns = [
        turn(number, text)
        for number, text in enumerate(["red apple", "green pear", "blue sky", "red sky"])
    ]
    found = Plain(turns, HashEmbedder(dimensions=384), seed=7, unusual=True).rankings("a red apple")
    assert set(found) == {
        "bm25",
        "window_bm25",
        "minilm",
        "window_minilm",
        "rrf",
        "minmax",
        "minmax_of_four",
        "unusual",
    }
    assert all(sorted(ranking) == ["0", "1", "2", "3"] for ranking in found.values())
    assert found["bm25"][0] == found["minilm"][0] == found["minmax"][0] == "0"


def test_without_a_model_words_remain() -> None:
    assert set(Plain([turn(1, "red apple")], None, seed=7).rankings("apple")) == {
        "bm25",
        "window_bm25",
    }
