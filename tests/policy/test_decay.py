"""Curves, scores and visibility intervals: the values of the paper, and agreement of interval and
formula for every profile at every time."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.policy.decay import (
    ALWAYS,
    FUNCTIONS,
    NEVER,
    NO_PROMOTION,
    TIME_MAX,
    TIME_MIN,
    Decay,
    Promotion,
    base,
    score,
    visible_ages,
    window,
)

DAY = 86_400 * 10**9
WEEK = Decay("exponential", 7 * DAY, 0.0, 0.10)

HALF_LIVES = (
    st.integers(1, 2**62) | st.integers(1, 10**6) | st.sampled_from([DAY, 7 * DAY, 30 * DAY])
)
UNIT = st.floats(0, 1) | st.sampled_from([0.0, 0.1, 0.5, 1.0])
SIGNED = st.builds(lambda span, sign: span * sign, HALF_LIVES, st.sampled_from([1, -1]))
DECAYS = st.builds(
    Decay, function=st.sampled_from(FUNCTIONS), half_life=SIGNED, floor=UNIT, threshold=UNIT
)
PROMOTIONS = st.builds(Promotion, multiplier=st.floats(0, 10) | st.just(1.0), floor=UNIT, cap=UNIT)
TIMES = st.integers(-(2**62), 2**62)


@pytest.mark.parametrize(
    "days, expected",
    [
        (0, 1.0),
        (7, 0.5),
        (14, 0.25),
        (21, 0.125),
        (23.25, 0.100035),
        (24, 0.092875),
        (30, 0.051271),
    ],
)
def test_the_exponential_of_the_paper(days: float, expected: float) -> None:
    assert base(WEEK, int(days * DAY)) == pytest.approx(
        expected, abs=1e-9 if expected in (1.0, 0.5, 0.25, 0.125) else 5e-7
    )


@pytest.mark.parametrize("days, expected", [(0, 0.0), (1, 0.5), (7, 0.9921875)])
def test_a_negative_half_life_grows(days: int, expected: float) -> None:
    assert base(Decay("exponential", -DAY), days * DAY) == pytest.approx(expected, abs=1e-12)


def test_the_other_curves() -> None:
    linear, step = Decay("linear", DAY), Decay("step", DAY)
    assert [base(linear, int(x * DAY)) for x in (0, 0.5, 1, 2, 3)] == [1.0, 0.75, 0.5, 0.0, 0.0]
    assert [base(step, x) for x in (0, DAY - 1, DAY)] == [1.0, 1.0, 0.0]
    assert [base(Decay("step", -DAY), x) for x in (0, DAY - 1, DAY)] == [0.0, 0.0, 1.0]
    assert base(Decay("none", -DAY), DAY) == base(Decay("exponential", 0), DAY) == 1.0


def test_the_paper_hides_after_twenty_three_days() -> None:
    first, end = visible_ages(WEEK, NO_PROMOTION)
    assert first == 0 and end / DAY == pytest.approx(7 * math.log2(10), abs=1e-9)
    assert 23.25 < end / DAY < 23.26


def test_floor_and_threshold_are_two_levers() -> None:
    assert visible_ages(WEEK._replace(floor=0.05), NO_PROMOTION) == visible_ages(WEEK, NO_PROMOTION)
    assert window(WEEK._replace(floor=0.10), NO_PROMOTION, 5) == ALWAYS
    inverse = Decay("exponential", -DAY, 0.0, 0.10)
    assert window(inverse, NO_PROMOTION, 1_000).start > 1_000  # right after an access it is hidden
    assert window(inverse._replace(floor=0.10), NO_PROMOTION, 1_000) == ALWAYS


def test_promotion_composes_as_the_paper_says() -> None:
    assert score(WEEK, Promotion(1.25), 7 * DAY) == 0.625
    assert score(WEEK, Promotion(3.0, 0.0, 0.8), 0) == 0.8
    assert score(WEEK, Promotion(1.0, 0.9, 1.0), 70 * DAY) == 0.9
    assert (
        score(WEEK._replace(floor=0.95), Promotion(1.0, 0.0, 0.8), 0) == 0.95
    )  # the binding's floor is the last word
    assert (
        score(Decay(), Promotion(0.5), 0) == 0.5
    )  # what does not decay can be promoted all the same


def test_a_threshold_of_nothing_hides_nothing() -> None:
    assert window(Decay("step", DAY), NO_PROMOTION, 0) == ALWAYS
    assert window(Decay("step", DAY, 0.0, 0.5), Promotion(1.0, 0.0, 0.4), 0) == NEVER


@given(DECAYS, PROMOTIONS, TIMES, TIMES)
def test_window_and_formula_agree_at_any_time(
    decay: Decay, promotion: Promotion, anchor: int, now: int
) -> None:
    assert window(decay, promotion, anchor).holds(now) == (
        score(decay, promotion, now - anchor) >= decay.threshold
    )


@given(DECAYS, PROMOTIONS, TIMES, st.integers(-3, 3), st.booleans())
def test_window_and_formula_agree_at_its_edges(
    decay: Decay, promotion: Promotion, anchor: int, near: int, at_end: bool
) -> None:
    found = window(decay, promotion, anchor)
    edge = found.end if at_end else found.start
    if TIME_MIN + 10 < edge < TIME_MAX - 10:
        now = edge + near
        assert found.holds(now) == (score(decay, promotion, now - anchor) >= decay.threshold)


@given(DECAYS, PROMOTIONS, st.lists(st.integers(0, 2**62), min_size=2, max_size=20))
def test_scores_are_monotone_in_age(decay: Decay, promotion: Promotion, ages: list[int]) -> None:
    scores = [score(decay, promotion, age) for age in sorted(ages)]
    assert scores == sorted(scores, reverse=decay.half_life > 0)
    assert all(0.0 <= one <= 1.0 for one in scores)
