"""Revisions, changes and backups over time, in a few lines for a terminal."""

from __future__ import annotations

import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

from doxa.cli.pictures.sparkline import pictured, sized, sparkline, timeline

_WIDTH = 48
_REVISIONS_MAX = 12
_DAYS_MAX = 60


def with_revisions(text: str, history: Any) -> str:
    """Add when each revision was the believed one, to a history."""

    def drawn() -> str:
        revisions = sorted(history.revisions, key=lambda one: one.number)
        if len(revisions) < 2:
            return ""
        now = max(time.time_ns(), revisions[-1].created)
        ends = [one.created for one in revisions[1:]]
        ends.append(now if revisions[-1].status in ("current", "contested") else ends[-1])
        spans = [
            (one.created, max(one.created, end)) for one, end in zip(revisions, ends, strict=True)
        ][-_REVISIONS_MAX:]
        shown = [f"r={one.number}" for one in revisions[-_REVISIONS_MAX:]]
        lines = [
            f"  {name:<6} {line}" for name, line in zip(shown, timeline(spans, _WIDTH), strict=True)
        ]
        return "\n".join([*lines, _scale(spans[0][0], max(end for _, end in spans))])

    return pictured(text, drawn)


def with_days(text: str, rows: list[dict[str, Any]]) -> str:
    """Add the changes of each day, to a log."""

    def drawn() -> str:
        days = Counter(_date(row["time"]) for row in rows)
        if len(days) < 2:
            return ""
        last = max(days)
        first = max(min(days), last - timedelta(days=_DAYS_MAX - 1))
        counts = [days[first + timedelta(days=at)] for at in range((last - first).days + 1)]
        return (
            f"{sparkline(counts)}  changes a day from {first} to {last}, of those shown; at most"
            f" {max(counts):,}"
        )

    return pictured(text, drawn)


def with_sizes(text: str, backups: list[dict[str, Any]]) -> str:
    """Add how the size of backups grew, to a list of them, the oldest first."""

    def drawn() -> str:
        sizes = [one["size_bytes"] for one in backups][-_DAYS_MAX:]
        if len(sizes) < 2:
            return ""
        return f"{sparkline(sizes)}  size, from {sized(sizes[0])} to {sized(sizes[-1])}"

    return pictured(text, drawn)


def _scale(first: int, last: int) -> str:
    """Return the line below a timeline that says when it begins and ends."""
    names = [str(_date(first)), str(_date(last))]
    if names[0] == names[1]:
        names = [f"{datetime.fromtimestamp(one / 1e9, UTC):%H:%M:%S}" for one in (first, last)]
    gap = " " * (_WIDTH - len(names[0]) - len(names[1]))
    return f"{'':9}{names[0]}{gap}{names[1]}"


def _date(at: int) -> Any:
    return datetime.fromtimestamp(at / 1e9, UTC).date()
