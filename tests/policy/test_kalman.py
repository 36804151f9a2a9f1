"""The filter: the paper's trace, outliers, sustained evidence, quiet periods, and that it never
overshoots its observations."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doxa.policy.kalman import Filter, observe

Mode = dict[str, float]
MODES: tuple[Mode, ...] = ({}, {"q": 0.05}, {"q": 0.05, "r": 50.0}, {"q": 0.1, "r": 5.0})


def run(values: list[float], mode: Mode, state: Filter | None = None) -> list[float]:
    state = state or Filter()
    return [observe(state, value, **mode) for value in values]


def test_the_trace_of_the_paper_to_two_decimals() -> None:
    found = run([0.60, 0.62, 0.58, 0.61, 0.99, 0.59, 0.61], {})
    assert [f"{x:.2f}" for x in found] == ["0.60", "0.61", "0.60", "0.60", "0.63", "0.62", "0.62"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("before", [1, 2, 3, 5, 20, 200])
def test_one_spike_promotes_nothing_and_passes(mode: Mode, before: int) -> None:
    state = Filter()
    run([0.6] * before, mode, state)
    assert observe(state, 0.99, **mode) < 0.80
    assert max(after := run([0.6] * 40, mode, state)) < 0.80
    assert after[-1] == pytest.approx(0.6, abs=0.02)
    assert after == sorted(after, reverse=True)  # it comes back without swinging


@pytest.mark.parametrize(("mode", "most"), [({}, 6), ({"q": 0.05}, 6)])
@pytest.mark.parametrize("noise", [0.0, 0.03])
@pytest.mark.parametrize("before", [1, 5, 50, 1_000])
def test_sustained_evidence_gets_through(mode: Mode, most: int, noise: float, before: int) -> None:
    rng = random.Random(before)
    state = Filter()
    run([0.6 + rng.gauss(0, noise) for _ in range(before)], mode, state)
    after = run([0.95 + rng.gauss(0, noise) for _ in range(most)], mode, state)
    assert max(after) >= 0.80


@pytest.mark.parametrize("before", [5, 50, 500])
def test_the_textbook_filter_needs_as_much_as_there_was_before(before: int) -> None:
    state = Filter()
    run([0.6] * before, {"q": 0.05, "r": 50.0}, state)
    after = run([0.95] * (before * 4 // 3 + 4), {"q": 0.05, "r": 50.0}, state)
    assert after[-1] >= 0.80 and after == sorted(after)


def test_it_is_not_deaf_after_a_quiet_period() -> None:
    state = Filter()
    run([0.6] * 10_000, {}, state)
    after = run([0.95] * 8, {}, state)
    assert after[0] > 0.604 and after[3] > 0.8 and after[7] > 0.94


def test_other_scales_are_followed_too() -> None:
    counts = run([float(n) for n in range(1, 40)], {})
    assert all(abs(x - n) < 2.5 for n, x in enumerate(counts, 1))
    state = Filter()
    run([5.0] * 50, {}, state)
    assert observe(state, 100.0) < 6 and run([50.0] * 12, {}, state)[-1] > 45


@given(
    st.lists(st.floats(-1e6, 1e6) | st.floats(0, 1), min_size=1, max_size=200),
    st.sampled_from(MODES),
)
def test_the_estimate_stays_between_itself_and_what_is_seen(
    values: list[float], mode: Mode
) -> None:
    state = Filter()
    before = values[0]
    for value in values:
        after = observe(state, value, **mode)
        low, high = min(before, value), max(before, value)
        assert low - 1e-9 * abs(low) <= after <= high + 1e-9 * abs(high)
        assert 0 <= state.k <= 1 and math.isfinite(state.p) and state.p >= 0 and state.r > 0
        before = after


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.sampled_from(MODES))
def test_the_same_values_give_the_same_state(values: list[float], mode: Mode) -> None:
    one, two = Filter(), Filter()
    assert run(values, mode, one) == run(values, mode, two) and one == two
