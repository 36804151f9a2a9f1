"""Single values at the edges of curves and windows, and the constants that statements rely on."""

from __future__ import annotations

import pytest

from doxa.policy import rules
from doxa.policy.decay import (
    ALWAYS,
    NEVER,
    NO_PROMOTION,
    TIME_MAX,
    TIME_MIN,
    Decay,
    Promotion,
    VisibilityInterval,
    base,
    score,
    visible_ages,
    window,
)
from doxa.policy.kalman import Filter

STEP = Decay("step", 100, 0.0, 0.5)


def test_times_are_those_of_64_bits() -> None:
    assert (TIME_MIN, TIME_MAX) == (-9_223_372_036_854_775_808, 9_223_372_036_854_775_807)
    assert (ALWAYS, NEVER) == ((TIME_MIN, TIME_MAX), (TIME_MAX, TIME_MIN))


def test_a_window_is_half_open() -> None:
    one = VisibilityInterval(10, 20)
    assert [now for now in (9, 10, 19, 20) if one.holds(now)] == [10, 19]


@pytest.mark.parametrize(
    ("decay", "ages"),
    [
        (STEP, (0, 100)),
        (STEP._replace(half_life=1), (0, 1)),
        (STEP._replace(half_life=-100), (100, TIME_MAX)),
        (STEP._replace(half_life=-1), (1, TIME_MAX)),
        (STEP._replace(threshold=0.0), (0, TIME_MAX)),
        (STEP._replace(floor=0.5), (0, TIME_MAX)),
        (Decay("exponential", 100, 0.0, 0.5), (0, 101)),
        (Decay("linear", 100, 0.0, 0.5), (0, 101)),
        (Decay("linear", 100, 0.0, 0.75), (0, 51)),
    ],
)
def test_visible_ages_to_the_nanosecond(decay: Decay, ages: tuple[int, int]) -> None:
    assert visible_ages(decay, NO_PROMOTION) == ages


def test_never_is_the_empty_range_at_zero() -> None:
    never = visible_ages(STEP, Promotion(0.1, 0.0, 1.0))
    assert never == (0, 0) and window(STEP, Promotion(0.1, 0.0, 1.0), 7) == NEVER


@pytest.mark.parametrize(
    ("decay", "anchor", "expected"),
    [
        (STEP, 7, (TIME_MIN, 107)),
        (STEP._replace(half_life=-100), 7, (107, TIME_MAX)),
        (STEP, TIME_MAX - 50, (TIME_MIN, TIME_MAX)),
        (STEP._replace(half_life=-100), TIME_MAX - 50, NEVER),
        (Decay(), 7, ALWAYS),
    ],
)
def test_windows_from_an_anchor(decay: Decay, anchor: int, expected: tuple[int, int]) -> None:
    assert window(decay, NO_PROMOTION, anchor) == expected


def test_a_step_falls_at_its_half_life() -> None:
    assert [base(STEP, age) for age in (0, 99, 100, 101)] == [1.0, 1.0, 0.0, 0.0]
    assert base(STEP._replace(half_life=0), 10**6) == 1.0
    assert base(Decay("none", 100), 10**6) == 1.0
    assert base(Decay("linear", 100), 50) == 0.75 and base(Decay("linear", 100), 500) == 0.0


def test_a_score_is_promoted_then_capped_then_floored() -> None:
    assert score(STEP, Promotion(1.25, 0.0, 1.0), 0) == 1.0
    assert score(STEP, Promotion(1.25, 0.0, 2.0), 0) == 1.25
    assert score(STEP, Promotion(1.0, 0.3, 1.0), 200) == 0.3
    assert score(STEP, Promotion(1.0, 0.3, 0.2), 200) == 0.2
    assert score(STEP._replace(floor=0.4), Promotion(1.0, 0.3, 0.2), 200) == 0.4
    assert score(STEP, NO_PROMOTION, -5) == 1.0


def test_defaults_change_nothing() -> None:
    assert Decay() == ("none", 0, 0.0, 0.0) and Promotion() == (1.0, 0.0, 1.0)
    assert (Filter().x, Filter().p, Filter().k, Filter().c, Filter().n) == (0.0, 0.0, 0.0, 0.0, 0)


def test_standard_profiles() -> None:
    """As docs list them: multiplier, floor, cap."""
    assert {name: tuple(one) for name, one in rules.STANDARD_PROFILES.items()} == {
        "reinforced": (1.25, 0.0, 1.0),
        "reinforced_tier": (1.25, 0.0, 1.0),
        "high_confidence": (1.5, 0.8, 1.0),
        "canonical_tier": (1.5, 0.9, 1.0),
        "provisional_wisdom": (1.0, 0.0, 1.0),
        "established_wisdom": (1.0, 0.5, 1.0),
    }
    assert rules.SECOND == 10**9
