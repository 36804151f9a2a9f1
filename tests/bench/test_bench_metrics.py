"""What is counted, on cases small enough to count by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.metrics import (
    all_at,
    any_at,
    auroc,
    best_rank,
    bootstrap,
    evidence_ids,
    mean,
    ndcg_at,
    paired_bootstrap,
    recall_at,
    to_sessions,
    tokens_of,
    within_budget,
)

KNOWN = {"D8:6", "D9:17", "D1:1"}


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (["D8:6; D9:17"], {"D8:6", "D9:17"}),
        (["D8:6 D9:17", "D1:1,"], {"D8:6", "D9:17", "D1:1"}),
        (["D", "D8:66"], set()),
        ([""], set()),
        ([], set()),
    ],
)
def test_malformed_labels_are_split_and_unknown_ones_dropped(
    labels: list[str], found: set[str]
) -> None:
    assert evidence_ids(labels, KNOWN) == found


def test_recall_counts_the_share_of_the_gold() -> None:
    ranking = ["a", "b", "c", "d"]
    assert recall_at(ranking, {"b", "d"}, 1) == 0
    assert recall_at(ranking, {"b", "d"}, 2) == 0.5
    assert recall_at(ranking, {"b", "d"}, 4) == 1
    assert recall_at([], {"b"}, 10) == 0


def test_any_and_all() -> None:
    assert (any_at(["a", "b"], {"b", "c"}, 2), all_at(["a", "b"], {"b", "c"}, 2)) == (1, 0)
    assert (any_at(["a", "b"], {"c"}, 2), all_at(["c", "b"], {"b", "c"}, 2)) == (0, 1)


def test_an_absent_gold_ranks_after_everything() -> None:
    assert best_rank(["a", "b"], {"b", "z"}, units=5) == 2
    assert best_rank(["a", "b"], {"z"}, units=5) == 6


def test_sessions_come_in_the_order_of_their_first_turn() -> None:
    assert to_sessions(["1", "2", "3"], {"1": "s2", "2": "s1", "3": "s2"}) == ["s2", "s1"]


def test_the_budget_is_counted_in_whole_texts_and_ends_at_the_first_that_does_not_fit() -> None:
    texts = {"a": "x" * 8, "b": "x" * 9, "c": "x", "d": ""}
    assert [tokens_of(texts[name]) for name in "abcd"] == [2, 3, 1, 1]
    assert within_budget("abcd", texts, 5) == ["a", "b"]
    assert within_budget("abcd", texts, 4) == ["a"]  # c would fit, but b came first
    assert within_budget("abcd", texts, 1) == []


def test_the_budget_counts_as_doxa_does() -> None:
    from doxa.recall import tokens_of as doxa_tokens_of

    assert all(tokens_of("x" * length) == doxa_tokens_of("x" * length) for length in range(40))


def test_the_bootstrap_is_the_same_under_the_same_seed_and_holds_the_mean() -> None:
    differences = [0.0, 1.0, 0.5, -0.5, 1.0, 0.0]
    groups = ["a", "a", "b", "b", "c", "c"]
    first = paired_bootstrap(differences, groups, seed=3, rounds=500)
    assert first == paired_bootstrap(differences, groups, seed=3, rounds=500)
    many = [(n * 7919 % 101) / 101 for n in range(60)]
    alone = [str(n) for n in range(60)]
    assert paired_bootstrap(many, alone, seed=3, rounds=50) != paired_bootstrap(
        many, alone, seed=4, rounds=50
    )
    assert first.mean == pytest.approx(1 / 3)
    assert first.low <= first.mean <= first.high


def test_groups_are_drawn_whole() -> None:
    """Two opposite questions of each conversation cancel in every draw, so nothing is uncertain."""
    assert paired_bootstrap([1.0, -1.0, 1.0, -1.0], ["a", "a", "b", "b"], seed=1, rounds=200) == (
        0,
        0,
        0,
    )


def test_the_mean_of_nothing_is_no_number() -> None:
    assert math.isnan(mean([]))


# Few distinct values, so that ties are common.
_SCORES = st.lists(st.integers(-3, 3).map(lambda n: n / 4), min_size=1, max_size=12)


@given(_SCORES, _SCORES)
def test_the_area_is_the_share_of_pairs_in_order(
    positive: list[float], negative: list[float]
) -> None:
    pairs = [1.0 if p > n else 0.5 if p == n else 0.0 for p in positive for n in negative]
    assert auroc(positive, negative) == pytest.approx(sum(pairs) / len(pairs))
    assert auroc(positive, negative) == pytest.approx(1 - auroc(negative, positive))


def test_the_area_by_hand() -> None:
    assert auroc([3.0, 2.0], [1.0, 0.0]) == 1
    assert auroc([0.0], [1.0]) == 0
    assert auroc([1.0, 2.0], [1.0, 3.0]) == 0.375  # of four pairs one is in order, one tied
    assert math.isnan(auroc([], [1.0])) and math.isnan(auroc([1.0], []))


def test_any_statistic_is_drawn_by_whole_groups_under_its_seed() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 0.5, 0.5]
    groups = ["a", "a", "b", "b", "c", "c"]

    def average(rows: object) -> float:
        return mean([values[row] for row in rows])  # type: ignore[attr-defined]

    assert bootstrap(average, groups, seed=1, rounds=50) == (
        0.5,
        0.5,
        0.5,
    )  # every group has the same mean
    alone = [str(number) for number in range(6)]
    found = bootstrap(average, alone, seed=1, rounds=200)
    assert found == bootstrap(average, alone, seed=1, rounds=200)
    assert found.low < found.mean == 0.5 < found.high
    assert math.isnan(bootstrap(lambda rows: float("nan"), alone, seed=1, rounds=5).low)


def test_discounted_gain_as_longmemeval_has_it() -> None:
    """The second place is discounted by log2(2) = 1, so only from the third on a place costs
    something."""
    assert ndcg_at([0, 1, 0], [1.0], 3) == 1
    assert ndcg_at([0, 0, 1], [1.0], 3) == pytest.approx(1 / math.log2(3))
    assert ndcg_at([0, 0, 1], [1.0], 2) == 0
    assert ndcg_at([1, 0, 0, 1], [1.0, 1.0], 5) == pytest.approx((1 + 1 / 2) / 2)
    assert ndcg_at([0, 0], [], 2) == 0
