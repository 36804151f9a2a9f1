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


def by_the_formulas(
    values: list[float], *, q: float | None, r: float | None, scale: float, window: int
) -> list[tuple[float, float, float, float]]:
    """x, P, R and c after each value, as the formulas of the module say, with its numbers."""
    k, found = 2.0, []
    x = p = noise = c = 0.0
    for number, z in enumerate(values):
        if number == 0:
            x, noise = z, r if r is not None else 0.001 * max(1.0, z**2)
            p = noise
        elif r is not None:
            noise, p = r, p + (q if q is not None else 0.0)
            gain = p / (p + r)
            x, p = x + gain * (z - x), (1 - gain) * p
        else:
            share, memory = (q if q is not None else 0.01), 1 / window
            nu, damped = z - x, scale * noise
            s = p + damped
            c = c + memory * (sorted((-k, nu / math.sqrt(s), k))[1] - c)
            p = p + share * damped + 2.0 * c**2 * s
            s = p + damped
            w = min(1.0, k * math.sqrt(s) / abs(nu)) if nu != 0 else 1.0
            gain = p / (p + damped / w)
            x, p = x + gain * nu, (1 - gain) * p
            noise = noise + memory * (max(0.0001, (w * nu) ** 2 * damped / s) - noise)
        found.append((x, p, noise, c))
    return found


@given(
    st.lists(st.floats(-3, 3) | st.sampled_from([0.0, 0.6, 0.61, 0.99, 40.0]), max_size=30),
    st.none() | st.sampled_from([0.0, 0.05, 1.0]),
    st.none() | st.sampled_from([0.01, 50.0]),
    st.sampled_from([0.5, 1.0, 4.0]),
    st.integers(1, 32),
)
def test_each_step_is_that_of_the_formulas(
    values: list[float], q: float | None, r: float | None, scale: float, window: int
) -> None:
    state, found = Filter(), []
    for value in values:
        assert observe(state, value, q=q, r=r, scale=scale, window=window) == state.x
        found.append((state.x, state.p, state.r, state.c))
    wanted = by_the_formulas(values, q=q, r=r, scale=scale, window=window)
    assert state.n == len(values)
    assert [part for row in found for part in row] == pytest.approx(
        [part for row in wanted for part in row], rel=1e-6, abs=1e-9
    )


def test_usual_parameters_are_those_that_are_documented() -> None:
    values = [0.2, 0.9, 0.3, 7.0, 0.4]
    (*_, last) = by_the_formulas(values, q=None, r=None, scale=1.0, window=8)
    assert run(values, {})[-1] == pytest.approx(last[0])
    state = Filter(0.5, 0.1, 0.1, n=1)
    other = Filter(0.5, 0.1, 0.1, n=1)
    assert observe(state, 1.0, window=0) == observe(other, 1.0, window=1)
