"""Remarks on a statement that ran but looks odd, as Neo4j's clients read them."""

from __future__ import annotations

from typing import Any, NamedTuple

from doxa.servers.contract import Notice

SEVERITIES = ("INFORMATION", "WARNING", "OFF")


class NoticeFilter(NamedTuple):
    """Which remarks a client wants: from a severity on, without some categories."""

    least: str = "INFORMATION"
    without: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        return self.least != "OFF"

    def wants(self, notice: Notice) -> bool:
        return (
            SEVERITIES.index(notice.severity) >= SEVERITIES.index(self.least)
            and notice.category not in self.without
        )


ALL_NOTICES = NoticeFilter()


def notification(notice: Notice) -> dict[str, Any]:
    """A remark as a notification."""
    return {
        "code": notice.code,
        "title": notice.title,
        "description": notice.description,
        "severity": notice.severity,
        "position": position(notice),
        "category": notice.category,
    }


def position(notice: Notice) -> dict[str, int]:
    return {"offset": notice.offset, "line": notice.line, "column": notice.column}
