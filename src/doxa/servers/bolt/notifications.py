"""The notifications of a summary, filtered as the client requested: notifications before 5.6, GQL
statuses since then.

Source: Bolt specification, messages HELLO, BEGIN and RUN (notifications_minimum_severity,
notifications_disabled_categories, since 5.5 notifications_disabled_classifications) and the summary
of SUCCESS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from doxa.servers.bolt.failures import DIAGNOSTIC
from doxa.servers.bolt.framing import Version
from doxa.servers.bolt.packstream import Packed, Packer
from doxa.servers.contract import StatementNotification
from doxa.servers.notifications import SEVERITIES, NotificationFilter, as_json, position


def notification_filter(
    extra: Mapping[str, Any], default: NotificationFilter
) -> NotificationFilter:
    """Return the filter in a message. What it does not set stays as in `default`; unknown values
    are ignored."""
    least = extra.get("notifications_minimum_severity")
    without = extra.get(
        "notifications_disabled_classifications", extra.get("notifications_disabled_categories")
    )
    if least is None and without is None:
        return default
    return NotificationFilter(
        least if least in SEVERITIES else default.least,
        frozenset(one for one in without if isinstance(one, str))
        if isinstance(without, list)
        else default.without,
    )


def summary_notifications(
    notifications: Sequence[StatementNotification],
    wanted: NotificationFilter,
    version: Version,
    *,
    columns: int,
    rows: int,
) -> dict[str, Any]:
    """Return the part of a summary with the notifications or statuses."""
    if not notifications:
        return _plain_outcome(bool(columns), bool(rows)) if version >= (5, 6) else {}
    kept = [notification for notification in notifications if wanted.wants(notification)]
    if version >= (5, 6):
        warnings = [
            _status(notification) for notification in kept if notification.severity == "WARNING"
        ]
        infos = [
            _status(notification) for notification in kept if notification.severity != "WARNING"
        ]
        own = outcome(columns, rows)
        return {
            "statuses": [own, *warnings, *infos]
            if own["gql_status"] == "02000"
            else [*warnings, own, *infos]
        }
    return (
        {"notifications": [_notification(notification, version) for notification in kept]}
        if kept
        else {}
    )


@cache
def _plain_outcome(columns: bool, rows: bool) -> dict[str, Any]:
    """Return the statuses of a statement without notifications, encoded once."""
    return {"statuses": Packed(Packer({}).pack([outcome(columns, rows)]))}


def outcome(columns: int, rows: int) -> dict[str, Any]:
    """Return the GQL status of a successful statement."""
    if not columns:
        gql, text = "00001", "note: successful completion - omitted result"
    elif not rows:
        gql, text = "02000", "note: no data"
    else:
        gql, text = "00000", "note: successful completion"
    return {"gql_status": gql, "status_description": text, "diagnostic_record": dict(DIAGNOSTIC)}


def _status(notification: StatementNotification) -> dict[str, Any]:
    record = {
        **DIAGNOSTIC,
        "_classification": notification.category,
        "_severity": notification.severity,
        "_position": position(notification),
    }
    kind = "warn" if notification.severity == "WARNING" else "info"
    return {
        "gql_status": notification.gql,
        "status_description": f"{kind}: {notification.condition}. {notification.description}",
        "description": notification.description,
        "neo4j_code": notification.code,
        "title": notification.title,
        "diagnostic_record": record,
    }


def _notification(notification: StatementNotification, version: Version) -> dict[str, Any]:
    found = as_json(notification)
    if version < (5, 2):
        del found["category"]
    return found
