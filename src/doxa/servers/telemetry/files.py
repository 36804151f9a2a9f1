"""The metrics of memory files, read when they are asked for: they are true after a restart, and
whichever process wrote."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from doxa.app import Memory
from doxa.app.care.measuring import measured
from doxa.base.errors import DoxaError
from doxa.base.limits import METRICS_DATABASES_ITEMS_MAX
from doxa.servers.telemetry import metrics


def file_metrics(
    memories: Iterable[tuple[str, Memory]], *, version: str
) -> dict[metrics.Metric, metrics.Values]:
    """Return the metrics of files by the names of their databases: of so many at most, since each
    makes time series of its own. A file that cannot be read has none."""
    found: dict[metrics.Metric, dict[tuple[str, ...], float]] = {}
    for name, memory in list(memories)[:METRICS_DATABASES_ITEMS_MAX]:
        with suppress(DoxaError):
            for metric, values in _of(memory, version).items():
                named = {
                    (name, *key) if metric is not metrics.BUILD else key: value
                    for key, value in values.items()
                }
                found.setdefault(metric, {}).update(named)
    return {metric: dict(values) for metric, values in found.items()}


def _of(memory: Memory, version: str) -> dict[metrics.Metric, dict[tuple[str, ...], float]]:
    file = measured(memory)
    age = file.backup_age_s
    backup: dict[tuple[str, ...], float] = {} if age is None else {(): age}
    return {
        **_of_replica(memory),
        metrics.LOG_CHANGES: {(): file.changes},
        metrics.LOG_ENTRIES: {(): file.log_entries},
        metrics.FILE_BYTES: {(): file.file_bytes},
        metrics.WAL_BYTES: {(): file.wal_bytes},
        metrics.FREE_BYTES: {(): file.free_bytes},
        metrics.ENTRIES: {(label,): count for label, count in file.entries.items()},
        metrics.PENDING: {(): file.vectors_pending},
        metrics.JOB_SECONDS: {(job,): age for job, age in file.job_age_s.items()},
        metrics.BACKUP_SECONDS: backup,
        metrics.BUILD: {(version, str(file.format)): 1},
    }


def _of_replica(memory: Memory) -> dict[metrics.Metric, dict[tuple[str, ...], float]]:
    """Return how far a replica of a shared log is; nothing for a file of its own."""
    if memory.replica is None:
        return {}
    found = memory.replica.status
    return {
        metrics.REPLICA_BEHIND: {(): found.behind},
        metrics.REPLICA_SECONDS: {} if found.age_s is None else {(): found.age_s},
        metrics.REPLICA_REACHABLE: {(): int(found.reachable)},
    }
