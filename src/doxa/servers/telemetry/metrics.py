"""The metrics of a process, and their text for Prometheus.

`METRICS` is the one table of names; docs/guides/operations.md shows it, and a test compares them.
Numbers that must survive a restart are read from the file when they are asked for (`files.py`).

Source: Prometheus, "Exposition formats", text format 0.0.4.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
Kind = Literal["counter", "gauge", "histogram"]


class Metric(NamedTuple):
    """A metric: its name with the unit last, its kind, its labels in order, what it says."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    about: str


REQUESTS = Metric(
    "doxa_requests_total",
    "counter",
    ("interface", "verb", "outcome"),
    "requests that have ended: ok, refused, failed, cancelled",
)
SECONDS = Metric(
    "doxa_request_seconds", "histogram", ("interface", "verb"), "how long requests took"
)
RUNNING = Metric("doxa_requests_running", "gauge", ("interface",), "requests that have not ended")
CHANGES = Metric(
    "doxa_request_changes_total", "counter", ("interface",), "changes that requests committed"
)
LOG_CHANGES = Metric("doxa_log_changes", "gauge", ("database",), "the number of the last change")
LOG_ENTRIES = Metric("doxa_log_entries", "gauge", ("database",), "entries of the log")
FILE_BYTES = Metric("doxa_file_bytes", "gauge", ("database",), "the size of the file")
WAL_BYTES = Metric(
    "doxa_wal_bytes", "gauge", ("database",), "the size of the write-ahead log next to it"
)
FREE_BYTES = Metric(
    "doxa_free_bytes", "gauge", ("database",), "pages of the file that are not used"
)
ENTRIES = Metric("doxa_entries", "gauge", ("database", "label"), "nodes that exist, by label")
PENDING = Metric("doxa_vectors_pending", "gauge", ("database",), "memories without a vector")
JOB_SECONDS = Metric(
    "doxa_job_age_seconds", "gauge", ("database", "job"), "since a background job last ran"
)
BACKUP_SECONDS = Metric(
    "doxa_backup_age_seconds", "gauge", ("database",), "since the last backup; none: no backup"
)
REPLICA_BEHIND = Metric(
    "doxa_replica_behind", "gauge", ("database",), "changes of the shared log that it lacks"
)
REPLICA_SECONDS = Metric(
    "doxa_replica_age_seconds", "gauge", ("database",), "since the engine was last heard of"
)
REPLICA_REACHABLE = Metric(
    "doxa_replica_reachable", "gauge", ("database",), "1 if the engine answers, else 0"
)
BUILD = Metric("doxa_build_info", "gauge", ("version", "format"), "always 1")
METRICS = (
    REQUESTS,
    SECONDS,
    RUNNING,
    CHANGES,
    LOG_CHANGES,
    LOG_ENTRIES,
    FILE_BYTES,
    WAL_BYTES,
    FREE_BYTES,
    ENTRIES,
    PENDING,
    JOB_SECONDS,
    BACKUP_SECONDS,
    REPLICA_BEHIND,
    REPLICA_SECONDS,
    REPLICA_REACHABLE,
    BUILD,
)
BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0)

Values = Mapping[tuple[str, ...], float]


class _Histogram:
    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(BUCKETS_S) + 1), 0.0


class MetricRegistry:
    """The counts of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: dict[tuple[str, ...], float] = {}
        self._changes: dict[tuple[str, ...], float] = {}
        self._running: dict[tuple[str, ...], float] = {}
        self._seconds: dict[tuple[str, ...], _Histogram] = {}

    def begin(self, interface: str) -> None:
        with self._lock:
            self._running[(interface,)] = self._running.get((interface,), 0) + 1

    def end(self, interface: str, verb: str, outcome: str, *, seconds: float, changes: int) -> None:
        key = (interface, verb, outcome)
        with self._lock:
            self._running[(interface,)] -= 1
            self._requests[key] = self._requests.get(key, 0) + 1
            self._changes[(interface,)] = self._changes.get((interface,), 0) + changes
            found = self._seconds.get(key[:2])
            if found is None:
                found = self._seconds[key[:2]] = _Histogram()
            found.counts[bisect_left(BUCKETS_S, seconds)] += 1
            found.sum += seconds

    def text(self, gauges: Mapping[Metric, Values]) -> str:
        """Return all metrics in the text format; `gauges` were read just now."""
        with self._lock:
            counted: dict[Metric, Values] = {
                REQUESTS: dict(self._requests),
                RUNNING: dict(self._running),
                CHANGES: dict(self._changes),
            }
            seconds = {key: (list(one.counts), one.sum) for key, one in self._seconds.items()}
        lines: list[str] = []
        for metric in METRICS:
            lines += [
                f"# HELP {metric.name} {metric.about}",
                f"# TYPE {metric.name} {metric.kind}",
            ]
            if metric is SECONDS:
                lines += _histogram_lines(seconds)
                continue
            for key, value in sorted((counted.get(metric) or gauges.get(metric) or {}).items()):
                lines.append(f"{metric.name}{_labels(metric.labels, key)} {_number(value)}")
        return "\n".join(lines) + "\n"


def _histogram_lines(found: Mapping[tuple[str, ...], tuple[list[int], float]]) -> Iterable[str]:
    for key, (counts, total) in sorted(found.items()):
        reached = 0
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), counts, strict=True):
            reached += count
            labels = _labels((*SECONDS.labels, "le"), (*key, bound))
            yield f"{SECONDS.name}_bucket{labels} {reached}"
        labels = _labels(SECONDS.labels, key)
        yield f"{SECONDS.name}_sum{labels} {_number(total)}"
        yield f"{SECONDS.name}_count{labels} {reached}"


def _labels(names: Iterable[str], values: Iterable[str]) -> str:
    said = [f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)]
    return "{" + ",".join(said) + "}" if said else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return repr(round(value, 6)) if value % 1 else str(int(value))
