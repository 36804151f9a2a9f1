"""Aggregations: each collects the values of one group and gives one result.

Sums and averages of integers are exact; of floats they are correctly rounded (math.fsum), so that the order of rows does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from doxa.base import temporal
from doxa.query import operators as op
from doxa.query.errors import fail, shown
from doxa.query.values import group_key, order_key


class Aggregation:
    """One running aggregation. `add` gets each value that is not null, `result` ends it."""

    def __init__(self, *extra: Any) -> None:
        self.values: list[Any] = []

    def add(self, value: Any) -> None:
        self.values.append(value)

    def result(self) -> Any:
        return self.values


class Count(Aggregation):
    def __init__(self, *extra: Any) -> None:
        self.count = 0

    def add(self, value: Any) -> None:
        self.count += 1

    def result(self) -> Any:
        return self.count


class Collect(Aggregation):
    pass


class Sum(Aggregation):
    """Integers stay exact; one float makes it a float; durations add up among themselves."""

    def result(self) -> Any:
        if not self.values:
            return 0
        if isinstance(self.values[0], temporal.Duration):
            total = self.values[0]
            for value in self.values[1:]:
                total = op.add(total, value)
            return total
        for value in self.values:
            if not op.is_number(value):
                fail(f"sum() takes numbers or durations, not {shown(value)}.")
        if all(type(value) is int for value in self.values):
            return op.whole(sum(self.values))
        return float_sum(self.values)


class Average(Sum):
    def result(self) -> Any:
        if not self.values:
            return None
        if isinstance(self.values[0], temporal.Duration):
            return op.divide(super().result(), len(self.values))
        for value in self.values:
            if not op.is_number(value):
                fail(f"avg() takes numbers or durations, not {shown(value)}.")
        return float_sum(self.values) / len(self.values)


def float_sum(values: list[Any]) -> float:
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return float(sum(map(float, values)))


class Extreme(Aggregation):
    """min() or max(), over values of any types, in the order of ORDER BY."""

    sign = 1

    def __init__(self, *extra: Any) -> None:
        self.best: Any = None
        self.key: Any = None

    def add(self, value: Any) -> None:
        key = order_key(value)
        if self.key is None or (key < self.key if self.sign > 0 else key > self.key):
            self.best, self.key = value, key

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

    def add(self, value: Any) -> None:
        if not op.is_number(value):
            fail(f"A percentile takes numbers, not {shown(value)}.")
        self.values.append(value)

    def position(self) -> float:
        if not op.is_number(self.at) or not 0 <= self.at <= 1:
            fail(f"A percentile lies between 0.0 and 1.0, not at {self.at!r:.40}.", kind="ArgumentError", detail="NumberOutOfRange")
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
    """The nearest value that is in the group."""

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
        return math.sqrt(math.fsum((value - mean) ** 2 for value in self.values) / (count if self.population else count - 1))


class DeviationP(Deviation):
    population = True


class Distinct(Aggregation):
    """Passes on each value once."""

    def __init__(self, inner: Aggregation) -> None:
        self.inner = inner
        self.seen: set[Any] = set()

    def add(self, value: Any) -> None:
        key = group_key(value)
        if key not in self.seen:
            self.seen.add(key)
            self.inner.add(value)

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
