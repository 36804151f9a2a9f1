"""How large an opened file is and what waits in it, as numbers for monitoring and for `status`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from doxa.base.clock import NS
from doxa.base.files.write_ahead import write_ahead_log_of
from doxa.store import Store
from doxa.store.migration.schema import FORMAT
from doxa.store.retention.copies import copies_of

_LABELS = ("Project", "Space", "Item", "Revision", "Exchange", "Thread", "Artifact", "Entity")


class MeasuredFile(Protocol):
    """What is measured: an opened memory."""

    @property
    def store(self) -> Store: ...

    def pending(self) -> int: ...


class FileMeasures(NamedTuple):
    """Sizes in bytes, ages in seconds. `backup_age_s` is None where there was no backup."""

    format: int
    changes: int
    log_entries: int
    file_bytes: int
    wal_bytes: int
    free_bytes: int
    entries: dict[str, int]
    vectors_pending: int
    job_age_s: dict[str, float]
    backup_age_s: float | None


def measured(memory: MeasuredFile) -> FileMeasures:
    """Read the numbers of a file. Raises DoxaError if it cannot be read."""
    from doxa.jobs.heartbeat import heartbeats

    path = Path(memory.store.path)
    with memory.store.read() as reader:
        last, now = reader.last_receipt(), reader.now
        entries = {label: reader.count(label) for label in _LABELS}
        jobs: dict[str, float] = {}
        for one in heartbeats(reader, now=now):
            age = (now - (one.run.ended or one.run.started)) / NS
            jobs[one.job] = min(age, jobs.get(one.job, age))
        db: Any = reader._db
        backups = [one.time for one in copies_of(db) if one.kind == "backup"]
        free = db.pragma("freelist_count") * db.pragma("page_size")
    return FileMeasures(
        FORMAT,
        last.tx if last else 0,
        last.last_seq if last else 0,
        file_bytes(path),
        file_bytes(write_ahead_log_of(path)),
        free,
        entries,
        memory.pending(),
        jobs,
        (now - max(backups)) / NS if backups else None,
    )


def file_bytes(path: Path) -> int:
    """Return the size of a file, 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
