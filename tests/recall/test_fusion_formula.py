"""The score is the formula that fusion.py states, computed here once more with plain numbers, so
that neither a constant nor an operator of it changes unnoticed."""

from __future__ import annotations

from math import isnan, log, nan, sqrt
from typing import Any

import numpy as np
import pytest

from doxa.recall.fusion import fuse, gate
from doxa.recall.lanes.meaning import passage_cosine
from doxa.recall.lanes.neighbours import borrowed_share

LANES: dict[str, list[float]] = {
    "words": [0.8, 0.2, 0.0, 0.4],
    "meaning": [0.5, 0.7, 0.1, 0.3],
    "entities": [1.0, 0.0, 0.6, 0.0],
    "time": [0.0, 1.0, 0.5, 0.25],
    "graph": [0.0, 0.5, 0.25, 0.0],
    "mentions": [0.25, 0.0, 0.0, 0.5],
    "recency": [1.0, 0.5, 0.25, 0.0],
    "policy": [1.0, 0.5, 1.0, 0.75],
}
BELIEF = [1.0, 0.0, 1.0, 0.0]


def fused(mode: str, *, statement: bool = False, **lanes: list[float]) -> list[float]:
    given = {name: np.array(values, np.float32) for name, values in (LANES | lanes).items()}
    found = fuse(
        given,
        average=0.3,
        spread=0.1,
        belief=np.array(BELIEF, np.float32),
        mode=mode,
        statement=statement,
    )
    assert found.dtype == np.float32
    return [float(value) for value in found]


def sides(at: int, lanes: dict[str, list[float]] = LANES) -> float:
    """What the lanes other than words and meaning add."""
    return (
        lanes["entities"][at] / 3
        + 0.25 * lanes["time"][at]
        + 0.4 * lanes["graph"][at]
        + 0.4 * lanes["mentions"][at]
        + 0.05 * lanes["recency"][at]
        - 0.3 * (1 - lanes["policy"][at])
    )


def near(values: list[float]) -> Any:
    return pytest.approx(values, abs=2e-6)


@pytest.mark.parametrize(("statement", "half"), [(False, 0.15), (True, 0.5)])
def test_auto(statement: bool, half: float) -> None:
    weight = 0.8**2 / (0.8**2 + half**2)
    assert fused("auto", statement=statement) == near(
        [
            0.27 * (LANES["meaning"][at] - 0.3) / 0.1
            + 0.6 * weight * LANES["words"][at] / 0.8
            + sides(at)
            for at in range(4)
        ]
    )


def test_auto_without_any_word() -> None:
    assert fused("auto", words=[0.0] * 4) == near(
        [0.27 * (LANES["meaning"][at] - 0.3) / 0.1 + sides(at) for at in range(4)]
    )


def test_without_vectors_the_others_count_where_words_or_links_do() -> None:
    """On the scale of coverage. A memory that neither shares a word nor is linked gets nothing."""
    lanes = LANES | {"meaning": [nan] * 4, "words": [0.8, 0.0, 0.0, 0.4]}
    lanes["graph"] = [0.0, 0.5, 0.0, 0.0]
    expected = [
        0.8 + 0.8 * sides(0, lanes),
        0.8 * sides(1, lanes),
        0.0,
        0.4 + 0.8 * sides(3, lanes),
    ]
    for mode in ("auto", "convex"):
        assert fused(mode, **lanes) == near(expected)


def test_max() -> None:
    weights = [1.0, 0.9, 1.0, 0.9]
    assert fused("max") == near(
        [
            weight * max(words, 0.85 * cosine)
            for weight, words, cosine in zip(weights, LANES["words"], LANES["meaning"], strict=True)
        ]
    )
    assert fused("max", meaning=[nan] * 4) == near(
        [weight * words for weight, words in zip(weights, LANES["words"], strict=True)]
    )
    assert fused("max", meaning=[nan, 0.7, nan, nan])[0] == pytest.approx(0.8)


def test_convex() -> None:
    assert fused("convex") == near(
        [
            0.6 * LANES["meaning"][at] / 0.7 + 0.4 * LANES["words"][at] / 0.8 + sides(at)
            for at in range(4)
        ]
    )


def test_convex_where_all_are_alike() -> None:
    """No difference between the values: the lane says nothing, and nothing is divided by zero."""
    assert fused("convex", words=[0.0] * 4, meaning=[0.0] * 4) == near(
        [sides(at) for at in range(4)]
    )


def test_convex_with_negative_cosines() -> None:
    cosines = [-0.2, 0.6, 0.0, 0.2]
    assert fused("convex", meaning=cosines, words=[0.0] * 4) == near(
        [0.6 * (cosine + 0.2) / 0.8 + sides(at) for at, cosine in enumerate(cosines)]
    )


def test_reciprocal_ranks() -> None:
    """1 / (60 + rank) in each lane that names the memory; a cosine always does."""
    ranks: dict[str, list[int | None]] = {
        "words": [1, 3, None, 2],
        "entities": [1, None, 2, None],
        "time": [None, 1, 2, 3],
        "graph": [None, 1, 2, None],
        "mentions": [2, None, None, 1],
        "meaning": [2, 1, 4, 3],
    }

    def total(at: int, names: tuple[str, ...]) -> float:
        return sum(1 / (60 + rank) for name in names if (rank := ranks[name][at]) is not None)

    assert fused("rrf") == near([total(at, tuple(ranks)) for at in range(4)])
    words_only = ("words", "entities", "time", "graph", "mentions")
    assert fused("rrf", meaning=[nan] * 4) == near([total(at, words_only) for at in range(4)])
    assert fused("rrf", meaning=[-0.5, 0.7, -0.9, 0.3])[2] == pytest.approx(
        total(2, words_only) + 1 / 64
    )


def test_equal_values_rank_by_place() -> None:
    only = {name: [0.0] * 4 for name in ("entities", "time", "graph", "mentions")}
    assert fused("rrf", meaning=[nan] * 4, words=[0.5] * 4, **only) == near(
        [1 / 61, 1 / 62, 1 / 63, 1 / 64]
    )


def test_no_candidates() -> None:
    empty = {name: [] for name in LANES}
    arrays = {name: np.array(values, np.float32) for name, values in empty.items()}
    for mode in ("auto", "convex", "max", "rrf"):
        found = fuse(
            arrays, average=0.0, spread=1.0, belief=arrays["words"], mode=mode, statement=False
        )
        assert len(found) == 0


def test_gate() -> None:
    assert gate(0.0, statement=False) == 0.0 and gate(-1.0, statement=False) == 0.0
    assert gate(0.15, statement=False) == pytest.approx(0.5)
    assert gate(0.5, statement=True) == pytest.approx(0.5)
    assert gate(0.9, statement=False) == pytest.approx(0.81 / (0.81 + 0.0225))


def test_neighbours_share_by_length() -> None:
    assert list(borrowed_share(np.array([0, 30, 90], np.float32), 30.0)) == near([1.0, 0.5, 0.25])


def test_passages_lose_what_chance_gives() -> None:
    """The best of n draws lies about sqrt(2 ln n) spreads above the mean."""
    found = passage_cosine(
        np.array([0.4, 0.4, 0.4], np.float32),
        np.array([0.9, 0.9, 0.9], np.float32),
        count=np.array([1, 2, 8], np.float32),
        spread=0.1,
    )
    expected = [0.4] + [0.2 + 0.5 * (0.9 - 0.1 * sqrt(2 * log(count))) for count in (2, 8)]
    assert [float(value) for value in found] == near(expected)
    assert not any(isnan(value) for value in found)
