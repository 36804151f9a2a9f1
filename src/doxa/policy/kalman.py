"""A scalar Kalman filter for noisy evidence, robust to single outliers and quick to follow a
lasting change.

A level that may drift is observed with noise (x is the estimate, P its variance, z the
observation):

    n = 1                  x = z, P = R
    innovation             ν = z − x,   S = P + R
    one-sidedness          c ← c + β (clip(ν / √S, ±k) − c)
    prediction             P ← P + Q + γ c² S,   S = P + R
    weight                 w = min(1, k √S / |ν|)      treats an outlier as noisier, R / w
    update                 K = P / (P + R/w),   x ← x + K ν,   P ← (1 − K) P
    noise (adaptive)       R ← R + α (max(R_min, (w ν)² R / S) − R)

The gain is at most 1, so the estimate never overshoots the observation. Noise around a level keeps
c near 0. Observations that stay on one side drive c to k, which widens P until the estimate
follows, even after a long quiet period. One outlier moves c by β k only.

The weight is Huber's (1964), computed from the innovation before the gain. Widening P by one-sided
innovations is the idea of a CUSUM test (Page 1954).

Modes: without parameters R adapts and Q is a fraction of it; with {q} the fraction is given; with
{q, r} both are fixed, which is the textbook filter and at first weights all observations equally.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

K_MAX = 2.0  # k: standard deviations beyond which a value is an outlier
WINDOW = 8  # the memory of one-sidedness and noise in observations: β = α = 1/8
GAMMA = 2.0
# The initial and the minimum R for values between 0 and 1; the initial one grows with the square of
# the first value.
NOISE, NOISE_MIN = 1e-3, 1e-4
SHARE = 0.01  # Q as a fraction of R


@dataclass(slots=True)
class Filter:
    """The state of one smoothed property. Every field except `n` is a finite float."""

    x: float = 0.0
    p: float = 0.0
    r: float = NOISE
    k: float = 0.0
    c: float = 0.0
    n: int = 0


def observe(
    state: Filter,
    z: float,
    *,
    q: float | None = None,
    r: float | None = None,
    scale: float = 1.0,
    window: int = WINDOW,
) -> float:
    """Add one observation and return the new estimate. `q` and `r` are those of `WITH KALMAN {q,
    r}`. If R adapts, `scale` multiplies it (a larger one dampens more) and `window` is the number
    of observations that it remembers, approximately."""
    state.n += 1
    if state.n == 1:
        size = max(1.0, z * z)
        state.x, state.r = z, NOISE * size if r is None else r
        state.p = state.r
        return z
    if r is None:
        _adaptive(state, z, share=SHARE if q is None else q, scale=scale, memory=1 / max(1, window))
    else:
        state.r = r
        state.p += q or 0.0
        _update(state, z, r)
    return state.x


def _adaptive(state: Filter, z: float, *, share: float, scale: float, memory: float) -> None:
    innovation = z - state.x
    noise = scale * state.r
    spread = math.sqrt(state.p + noise)
    state.c += memory * (max(-K_MAX, min(K_MAX, innovation / spread)) - state.c)
    state.p += share * noise + GAMMA * state.c**2 * spread**2
    variance = state.p + noise
    weight = min(1.0, K_MAX * math.sqrt(variance) / abs(innovation)) if innovation else 1.0
    _update(state, z, noise / weight)
    seen = (weight * innovation) ** 2 * noise / variance
    state.r += memory * (max(NOISE_MIN, seen) - state.r)


def _update(state: Filter, z: float, noise: float) -> None:
    state.k = state.p / (state.p + noise)
    state.x += state.k * (z - state.x)
    state.p *= 1 - state.k
