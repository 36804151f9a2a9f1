"""Aggregations: each collects the values of one group and gives one result.

Sums and averages of integers are exact; of floats they are correctly rounded (math.fsum), so that
the order of rows does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from doxa.base import temporal
from doxa.query.core import operators as op
from doxa.query.core.comparison import group_key, order_key
from doxa.query.core.errors import fail, shown
from doxa.query.core.memory_budget import check_size

_FLOATS = 4_096  # floats collected before they are summed


class Aggregation:
    """One running aggregation. `add` receives each non-null value and returns whether it keeps it;
    `result` finishes."""

    def __init__(self, *extra: Any) -> None:
        self.values: list[Any] = []

    def add(self, value: Any) -> bool:
        self.values.append(value)
        return True

    def result(self) -> Any:
        return self.values


class Count(Aggregation):
    def __init__(self, *extra: Any) -> None:
        self.count = 0

    def add(self, value: Any) -> bool:
        self.count += 1
        return False

    def result(self) -> Any:
        return self.count


class Collect(Aggregation):
    def result(self) -> Any:
        return check_size(self.values)


class Sum(Aggregation):
    """Integers stay exact; one float makes the sum a float; durations add up with durations only.
    No value is kept."""

    name = "sum"

    def __init__(self, *extra: Any) -> None:
        self.count = 0
        self.whole = 0
        self.floats: list[float] = []
        self.has_float = False
        self.durations: temporal.Duration | None = None

    def add(self, value: Any) -> bool:
        kind = type(value)
        if kind is int:
            self.whole += value
        elif kind is float:
            self.has_float = True
            self.floats.append(value)
            if len(self.floats) >= _FLOATS:
                self.floats = parts_of(self.floats)
        elif isinstance(value, temporal.Duration) and self.count == 0:
            self.durations = value
        elif isinstance(value, temporal.Duration) and self.durations is not None:
            self.durations = op.add(self.durations, value)
        else:
            fail(f"{self.name}() takes numbers, or durations alone, not {shown(value)}.")
        if self.durations is not None and not isinstance(value, temporal.Duration):
            fail(
                f"{self.name}() takes numbers, or durations alone, not {shown(value)} among"
                " durations."
            )
        self.count += 1
        return False

    def result(self) -> Any:
        if self.durations is not None:
            return self.durations
        return self.total() if self.has_float else op.whole(self.whole)

    def total(self) -> float:
        return float_sum([*self.floats, *_floats_of(self.whole)])


class Average(Sum):
    name = "avg"

    def result(self) -> Any:
        if not self.count:
            return None
        if self.durations is not None:
            return op.divide(self.durations, self.count)
        return self.total() / self.count


def float_sum(values: list[Any]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return float(sum(map(float, values)))


def parts_of(values: list[float]) -> list[float]:
    """Return a few floats with exactly the same sum: the rounded sum, then the rest, and so on."""
    parts: list[float] = []
    while True:
        part = float_sum([*values, *[-one for one in parts]])
        if part == 0 or not math.isfinite(part):
            return [*parts, part] if part else parts
        parts.append(part)


def _floats_of(whole: int) -> list[float]:
    """An integer as floats with exactly the same sum."""
    parts: list[float] = []
    while whole:
        try:
            part = float(whole)
        except OverflowError:
            return [*parts, math.copysign(math.inf, whole)]
        parts.append(part)
        whole -= int(part)
    return parts


class Extreme(Aggregation):
    """min() or max(), over values of any types, in the order of ORDER BY."""

    sign = 1

    def __init__(self, *extra: Any) -> None:
        self.best: Any = None
        self.key: Any = None

    def add(self, value: Any) -> bool:
        key = order_key(value)
        if self.key is None or (key < self.key if self.sign > 0 else key > self.key):
            self.best, self.key = value, key
        return False

    def result(self) -> Any:
        return self.best


class Min(Extreme):
    pass


class Max(Extreme):
    sign = -1


class Percentile(Aggregation):
    def __init__(self, *extra: Any) -> None:
        super().__init__()
        self.at: Any = extra[0] if extra else None

    def add(self, value: Any) -> bool:
        if not op.is_number(value):
            fail(f"A percentile takes numbers, not {shown(value)}.")
        return super().add(value)

    def position(self) -> float:
        if not op.is_number(self.at) or not 0 <= self.at <= 1:
            fail(
                f"A percentile lies between 0.0 and 1.0, not at {self.at!r:.40}.",
                kind="ArgumentError",
                detail="NumberOutOfRange",
            )
        return float(self.at)


class PercentileCont(Percentile):
    """Interpolates linearly between the two nearest values."""

    def result(self) -> Any:
        at = self.position()
        if not self.values:
            return None
        ordered = sorted(self.values)
        place = at * (len(ordered) - 1)
        low, high = math.floor(place), math.ceil(place)
        if low == high:
            return float(ordered[low])
        return ordered[low] * (high - place) + ordered[high] * (place - low)


class PercentileDisc(Percentile):
    """Returns the nearest value of the group."""

    def result(self) -> Any:
        at = self.position()
        if not self.values:
            return None
        ordered = sorted(self.values)
        return ordered[max(0, math.ceil(at * len(ordered)) - 1)]


class Deviation(Aggregation):
    population = False

    def result(self) -> Any:
        for value in self.values:
            if not op.is_number(value):
                fail(f"A deviation takes numbers, not {shown(value)}.")
        count = len(self.values)
        if count < 2:
            return 0.0
        mean = float_sum(self.values) / count
        return math.sqrt(
            math.fsum((value - mean) ** 2 for value in self.values)
            / (count if self.population else count - 1)
        )


class DeviationP(Deviation):
    population = True


class Distinct(Aggregation):
    """Forwards each distinct value once."""

    def __init__(self, inner: Aggregation) -> None:
        self.inner = inner
        self.seen: set[Any] = set()

    def add(self, value: Any) -> bool:
        key = group_key(value)
        if key in self.seen:
            return False
        self.seen.add(key)
        self.inner.add(value)
        return True

    def result(self) -> Any:
        return self.inner.result()


AGGREGATES: dict[str, Callable[..., Aggregation]] = {
    "count": Count,
    "collect": Collect,
    "sum": Sum,
    "avg": Average,
    "min": Min,
    "max": Max,
    "percentilecont": PercentileCont,
    "percentiledisc": PercentileDisc,
    "stdev": Deviation,
    "stdevp": DeviationP,
}
