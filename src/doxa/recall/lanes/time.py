"""The lanes of time and recency: when something was said, what dates its text mentions, how old it
is.

A time that a question names only prefers; the filters `since` and `until` are in `filters.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from doxa.base.dates import find_dates
from doxa.recall import constants
from doxa.recall.indexes.project_index import ProjectIndex
from doxa.store import Reader, int64_array

_MINUTE_NS, _MINUTES_OF_DAY = 60 * 10**9, 24 * 60
_DAY_NS = _MINUTES_OF_DAY * _MINUTE_NS

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]


class TimeRange(NamedTuple):
    """A time that a question names, half-open, in ns UTC."""

    start: int
    end: int


def named_times(text: str, now: int) -> tuple[TimeRange, ...]:
    """Find the times that a question names: "in May 2023", "last week" as of now."""
    return tuple(
        TimeRange(date.start_ns, date.end_ns) for date in find_dates(text.replace("’", "'"), now)
    )


def recency(project: ProjectIndex, rows: Rows, now: int) -> Floats:
    """Halve with every RECENCY_DAYS of age, in whole minutes."""
    minutes = np.maximum(now - project["time"][rows], 0) // _MINUTE_NS
    days = minutes / _MINUTES_OF_DAY
    return np.asarray(np.exp2(-days / constants.RECENCY_DAYS), dtype=np.float32)


def nearness(times: NDArray[np.int64], ranges: Iterable[TimeRange]) -> Floats:
    """Return 1 inside a range; outside e^(-distance / length of the range), at least a day's."""
    found = np.zeros(len(times), dtype=np.float32)
    for start, end in ranges:
        away = np.maximum(np.maximum(start - times, times - (end - 1)), 0) / max(
            end - start, _DAY_NS
        )
        found = np.maximum(found, np.exp(-away))
    return found.astype(np.float32)


def mentioned_times(
    reader: Reader,
    project: ProjectIndex,
    rows: Rows,
    order: NDArray[np.intp],
    ranges: tuple[TimeRange, ...],
) -> Floats:
    """Return the nearness of the dates that texts mention, resolved against when each was said.
    Reads the first DATED_TEXTS of `order`."""
    found = np.zeros(len(rows), dtype=np.float32)
    best = order[: constants.DATED_TEXTS].tolist()
    places = {int(project["node"][rows[place]]): place for place in best}
    visible = reader.sight().table(edge=False)
    sql = (
        "SELECT n.id, coalesce(n.props ->> '$.text', n.props ->> '$.summary') FROM carray(?) f"
        f" JOIN {visible} n ON n.id = f.value"
    )
    for node, text in reader.rows(sql, (int64_array(list(places)),)):
        if not isinstance(text, str):
            continue
        place = places[node]
        dates = find_dates(text.replace("’", "'"), int(project["time"][rows[place]]))
        if dates:
            middles = np.array(
                [(date.start_ns + date.end_ns) // 2 for date in dates], dtype=np.int64
            )
            found[place] = nearness(middles, ranges).max()
    return found
