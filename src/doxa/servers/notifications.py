"""Remarks on a statement that ran but looks odd, as Neo4j's clients read them."""

from __future__ import annotations

from typing import Any, NamedTuple

from doxa.servers.contract import Notification

SEVERITIES = ("INFORMATION", "WARNING", "OFF")


class NotificationFilter(NamedTuple):
    """Which remarks a client wants: from a severity on, without some categories."""

    least: str = "INFORMATION"
    without: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        return self.least != "OFF"

    def wants(self, notification: Notification) -> bool:
        return (
            SEVERITIES.index(notification.severity) >= SEVERITIES.index(self.least)
            and notification.category not in self.without
        )


ALL_NOTIFICATIONS = NotificationFilter()


def as_json(notification: Notification) -> dict[str, Any]:
    """A remark as a as_json."""
    return {
        "code": notification.code,
        "title": notification.title,
        "description": notification.description,
        "severity": notification.severity,
        "position": position(notification),
        "category": notification.category,
    }


def position(notification: Notification) -> dict[str, int]:
    return {"offset": notification.offset, "line": notification.line, "column": notification.column}
