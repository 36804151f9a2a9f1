"""Clocks and memory counters for the speed figures: medians of repeated measurement, never a single
run."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

_STATUS = Path("/proc/self/status")


class Spread(NamedTuple):
    """Median and 95th percentile of repeated times, in milliseconds."""

    p50_ms: float
    p95_ms: float


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def spread(seconds: Iterable[float]) -> Spread:
    values = np.fromiter(seconds, dtype=float) * 1_000
    return Spread(float(np.percentile(values, 50)), float(np.percentile(values, 95)))


def repeated(call: Callable[[], object], times: int) -> Spread:
    """The call made `times` times after one that is not counted."""
    call()
    return spread(seconds_of(call) for _ in range(times))


def per_second(call: Callable[[int], object], times: int, *, rounds: int = 3) -> float:
    """The median rate over rounds of `times` numbered calls."""
    rates = []
    for number in range(rounds):
        start = time.perf_counter()
        for step in range(times):
            call(number * times + step)
        rates.append(times / (time.perf_counter() - start))
    return float(np.median(rates))


class Memory(NamedTuple):
    """Bytes of this process: what is not a mapped file, and all that is resident, mapped files and
    shared libraries too; nan where the system does not tell."""

    own: float
    resident: float


def memory_bytes() -> Memory:
    gc.collect()
    try:
        held = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    except OSError:
        return Memory(float("nan"), float("nan"))
    own, resident = (
        float(held[name].split()[0]) * 1_024 if name in held else float("nan")
        for name in ("RssAnon", "VmRSS")
    )
    return Memory(own, resident)
