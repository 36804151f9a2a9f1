"""How much a file may hold and how often it is written, as its catalogue says; checked at each
commit.

Catalogue entry   quota  {"items": nodes, "size_bytes": of the file without free pages,
                         "writes_per_minute": commits}; what is absent has no limit

The number of nodes is counted once, when a quota on it is first checked, and kept in `meta`. What
the system does of itself is not refused, nor is a transaction that makes the file hold fewer nodes,
drops what no retention policy keeps, ends a run of a job, or changes the catalogue: so a file that
is full can be emptied, and given more. What the system writes because somebody called a verb, such
as the record of a run, is refused like a write of the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import apsw

from doxa.base.errors import InputError, LimitError

QUOTA = "quota"
_COUNT = "quota_items"  # in meta
_MINUTE_NS = 60 * 10**9
_SYSTEM_MAX = 120  # transactions of the system among those of a minute that are looked through


@dataclass(frozen=True, slots=True)
class Quota:
    """The most that a file may hold; None: no limit."""

    items: int | None = None
    size_bytes: int | None = None
    writes_per_minute: int | None = None


LIMITS = tuple(one.name for one in fields(Quota))


def parse_quota(value: Mapping[str, Any] | None) -> Quota:
    """Read a quota as the catalogue holds it. Raises InputError for other names and values."""
    if value is not None and not isinstance(value, Mapping):
        raise InputError(
            f"A quota is a map of limits, not {type(value).__name__}.",
            next_step=f"Use {', '.join(LIMITS)}.",
            field="quota",
        )
    given = dict(value or {})
    unknown = sorted(map(str, given.keys() - set(LIMITS)))
    if unknown:
        raise InputError(
            f"A quota has no {unknown[0][:40]!r}.",
            next_step=f"Use {', '.join(LIMITS)}.",
            field="quota",
        )
    for name, limit in given.items():
        if limit is not None and (type(limit) is not int or limit < 1):
            raise InputError(
                f"The quota of {name} is a whole number from 1, not {limit!r:.40}.",
                next_step="Leave it out for no limit.",
                field=name,
            )
    return Quota(**given)


def check_quota(db: apsw.Connection, quota: Quota, *, now: int, more: int, emptied: bool) -> None:
    """Refuse a transaction that goes beyond the quota. `more` is how many nodes it adds, negative
    if it takes some away; `emptied`: it is let through whatever there is. Raises LimitError."""
    if quota.items is not None:
        held = _count_items(db, more)
        if held > quota.items and not emptied:
            raise _beyond(f"{held:,} nodes", f"{quota.items:,}", "items")
    if emptied:
        return
    if quota.size_bytes is not None:
        pages = db.pragma("page_count") - db.pragma("freelist_count")
        size = pages * db.pragma("page_size")
        if size > quota.size_bytes:
            raise _beyond(f"{size:,} bytes", f"{quota.size_bytes:,}", "size_bytes")
    if quota.writes_per_minute is not None:
        made = db.execute(
            "SELECT count(*) FROM (SELECT time, role FROM main.receipt ORDER BY tx DESC LIMIT ?)"
            " WHERE time > ? AND role <> 'system'",
            (quota.writes_per_minute + _SYSTEM_MAX, now - _MINUTE_NS),
        ).get
        if made >= quota.writes_per_minute:
            raise LimitError(
                f"This database takes {quota.writes_per_minute:,} writes a minute; nothing was"
                " written.",
                next_step="Wait, or write more at once; the operator can raise the quota.",
                quota="writes_per_minute",
            )


def forget_count(db: apsw.Connection) -> None:
    """Drop the number of nodes, so that the next check counts them."""
    db.execute("DELETE FROM meta WHERE key = ?", (_COUNT,))


def _count_items(db: apsw.Connection, more: int) -> int:
    """Return how many nodes there are after this transaction, and keep the number."""
    held = db.execute(
        "UPDATE meta SET value = value + ? WHERE key = ? RETURNING value", (more, _COUNT)
    ).get
    if held is None:
        held = db.execute(
            "INSERT INTO meta SELECT ?, count(*) FROM main.node RETURNING value", (_COUNT,)
        ).get
    return int(held)


def _beyond(found: str, limit: str, name: str) -> LimitError:
    return LimitError(
        f"This database would hold {found}; its quota is {limit}. Nothing was written.",
        next_step="Write less, or ask the operator to raise the quota.",
        quota=name,
    )
