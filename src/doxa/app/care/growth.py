"""What of a file grows, how fast, and what would trim it.

The sizes are those of the pages of each table, as SQLite counts them. The speed is that of the log:
what each week added, by the receipts' times, and which operations wrote it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from doxa.app.care.measuring import MeasuredFile, file_bytes, measured
from doxa.base.clock import NS
from doxa.maintenance.backups import backups_in
from doxa.store.chain.epochs import copy_mark, epochs_in
from doxa.store.retention.copies import Copy, copies_of

WEEKS = 8
_WEEK_NS = 7 * 86_400 * NS
_OPERATIONS = 5
_RETAIN = "a retention policy drops what is older: `doxa retain`, docs/guides/retention.md"
# (what, the tables of it, what would trim it)
_PARTS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("state", ("node", "node_label", "edge", "access", "catalogue"), ""),
    ("past versions", ("node_past", "edge_past", "entry_past"), _RETAIN),
    ("log", ("log", "receipt"), "nothing: it proves what happened"),
    ("log contents", ("log_payload",), _RETAIN),
    ("search by words", ("doc", "doc_block", "posting", "posting_new", "atom", "token"), ""),
    (
        "vectors",
        ("vector", "vector_code", "vector_next", "vector_code_next", "vector_code_block"),
        "a model with fewer dimensions: `doxa embed --anew`",
    ),
    ("indexes of queries", ("entry",), "an index that no query uses: `SHOW INDEXES`"),
)


class GrowthPart(NamedTuple):
    """A part of the file, its bytes, and what would trim it."""

    part: str
    bytes: int
    trim: str


class GrowthOperation(NamedTuple):
    """An operation, and how many entries of the log it wrote."""

    op: str
    entries: int


class LastBackup(NamedTuple):
    """The newest backup that the file knows of: the name of its file, and its age in seconds.
    `exists`: it is still there. `tested`: `doxa backups run` restored it as a test, which found
    `problem`, empty if it passed; else `change` and `size_bytes` are 0."""

    name: str
    age_s: float
    exists: bool
    tested: bool
    problem: str
    change: int
    size_bytes: int


class Growth(NamedTuple):
    """What of a file grows, in bytes. `weeks` are entries of the log in each of the last weeks, the
    oldest first, `operations` what wrote most of the last four. `bytes_per_week` is what those
    added, as far as the log tells. `snapshot_bytes` are of the snapshots before migrations, next to
    the file. `backup` is None where there was none."""

    bytes: int
    free_bytes: int
    wal_bytes: int
    parts: tuple[GrowthPart, ...]
    weeks: tuple[int, ...]
    bytes_per_week: int
    operations: tuple[GrowthOperation, ...]
    snapshot_bytes: int
    epoch: int
    copy_of: str
    backup_age_s: float | None
    backup: LastBackup | None


def growth(memory: MeasuredFile) -> Growth:
    """Read how a file grows: every page is counted, which takes about a second for a gigabyte."""
    file = measured(memory)
    with memory.store.read() as reader:
        db: Any = reader._db
        sizes: dict[str, int] = dict(
            db.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
        )
        owner: dict[str, str] = dict(db.execute("SELECT name, tbl_name FROM sqlite_schema"))
        now = reader.now
        counted = dict(
            db.execute(
                "SELECT (?1 - time) / ?2, sum(last_seq - first_seq + 1) FROM receipt"
                " WHERE time > ?1 - ?2 * ?3 GROUP BY 1",
                (now, _WEEK_NS, WEEKS),
            )
        )
        operations = tuple(
            GrowthOperation(*row)
            for row in db.execute(
                "SELECT op, sum(last_seq - first_seq + 1) AS entries FROM receipt"
                " WHERE time > ? GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
                (now - 4 * _WEEK_NS, _OPERATIONS),
            )
        )
        epochs, mark, copies = epochs_in(db), copy_mark(db), copies_of(db)
    by_table: dict[str, int] = {}
    for name, size in sizes.items():
        table = owner.get(name, name)
        by_table[table] = by_table.get(table, 0) + size
    parts = [
        GrowthPart(part, sum(by_table.pop(name, 0) for name in tables), trim)
        for part, tables, trim in _PARTS
    ]
    parts.append(GrowthPart("other", sum(by_table.values()), ""))
    weeks = tuple(int(counted.get(back, 0)) for back in reversed(range(WEEKS)))
    used = file.file_bytes - file.free_bytes
    recent = sum(weeks[-4:])
    path = Path(memory.store.path)
    return Growth(
        file.file_bytes,
        file.free_bytes,
        file.wal_bytes,
        tuple(sorted(parts, key=lambda one: -one.bytes)),
        weeks,
        round(used / file.log_entries * recent / 4) if file.log_entries else 0,
        operations,
        sum(file_bytes(one) for one in path.parent.glob(f"{path.name}.before-*")),
        epochs[-1].number if epochs else 0,
        mark,
        file.backup_age_s,
        _last_backup(copies, now),
    )


def _last_backup(copies: Sequence[Copy], now: int) -> LastBackup | None:
    """Find the newest backup, and what the list next to it says of its restore test."""
    made = max(
        (one for one in copies if one.kind == "backup"), key=lambda one: one.time, default=None
    )
    if made is None:
        return None
    path = Path(made.path)
    try:
        found = next((one for one in backups_in(path.parent) if one.path == path.name), None)
        exists = path.is_file()
    except (OSError, ValueError):
        found, exists = None, False
    if found is None:
        return LastBackup(path.name, (now - made.time) / NS, exists, False, "", 0, 0)
    age = (now - found.time) / NS
    return LastBackup(path.name, age, exists, True, found.problem, found.change, found.size_bytes)
