"""Notifications about statements that succeeded but look suspicious, in the form of Neo4j's
clients."""

from __future__ import annotations

from typing import Any, NamedTuple

from doxa.servers.contract import StatementNotification

SEVERITIES = ("INFORMATION", "WARNING", "OFF")


class NotificationFilter(NamedTuple):
    """The notifications that a client wants: a minimum severity and excluded categories."""

    least: str = "INFORMATION"
    without: frozenset[str] = frozenset()

    @property
    def any(self) -> bool:
        """Whether the client wants any notifications."""
        return self.least != "OFF"

    def wants(self, notification: StatementNotification) -> bool:
        """Return whether the client wants this notification."""
        return (
            SEVERITIES.index(notification.severity) >= SEVERITIES.index(self.least)
            and notification.category not in self.without
        )


ALL_NOTIFICATIONS = NotificationFilter()


def as_json(notification: StatementNotification) -> dict[str, Any]:
    """Return a notification as a JSON object."""
    return {
        "code": notification.code,
        "title": notification.title,
        "description": notification.description,
        "severity": notification.severity,
        "position": position(notification),
        "category": notification.category,
    }


def position(notification: StatementNotification) -> dict[str, int]:
    """Return the position of a notification in the statement."""
    return {"offset": notification.offset, "line": notification.line, "column": notification.column}
