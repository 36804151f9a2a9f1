"""What of a file grows, how fast, and what would trim it.

The sizes are those of the pages of each table, as SQLite counts them. The speed is that of the log:
what each week added, by the receipts' times, and which operations wrote it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from doxa.app.care.measuring import file_bytes, measured
from doxa.base.clock import NS
from doxa.store.chain.epochs import copy_mark, epochs_in

if TYPE_CHECKING:
    from doxa.app.file import MemoryFile

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
    ("search by words", ("doc", "posting", "posting_new", "atom", "token"), ""),
    (
        "vectors",
        ("vector", "vector_code", "vector_next", "vector_code_next"),
        "a model with fewer dimensions: `doxa embed --anew`",
    ),
    ("indexes of queries", ("entry",), "an index that no query uses: `SHOW INDEXES`"),
)


class GrowthPart(NamedTuple):
    """A part of the file, its bytes, and what would trim it."""

    part: str
    bytes: int
    trim: str


class Growth(NamedTuple):
    """`weeks` are entries of the log in each of the last weeks, the oldest first. `bytes_per_week`
    is what the last four added, as far as the log tells. `snapshot_bytes` are of the snapshots
    before migrations, next to the file."""

    bytes: int
    free_bytes: int
    wal_bytes: int
    parts: tuple[GrowthPart, ...]
    weeks: tuple[int, ...]
    bytes_per_week: int
    operations: tuple[tuple[str, int], ...]
    snapshot_bytes: int
    epoch: int
    copy_of: str
    backup_age_s: float | None


def growth(memory: MemoryFile) -> Growth:
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
            db.execute(
                "SELECT op, sum(last_seq - first_seq + 1) AS entries FROM receipt"
                " WHERE time > ? GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ?",
                (now - 4 * _WEEK_NS, _OPERATIONS),
            )
        )
        epochs, mark = epochs_in(db), copy_mark(db)
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
    )
