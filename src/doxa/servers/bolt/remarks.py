"""What a summary says beside the rows: notifications until 5.4, GQL statuses since 5.6, as far as
the client wants them.

Source: Bolt specification, messages HELLO, BEGIN and RUN (notifications_minimum_severity,
notifications_disabled_categories, since 5.5 notifications_disabled_classifications) and the summary
of SUCCESS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from doxa.servers.bolt.failures import DIAGNOSTIC
from doxa.servers.bolt.framing import Version
from doxa.servers.contract import Notice
from doxa.servers.notices import SEVERITIES, NoticeFilter, notification, position


def notice_filter(extra: Mapping[str, Any], default: NoticeFilter) -> NoticeFilter:
    """The filter that a message states; what it does not state is as before, and what nobody knows
    is passed over."""
    least = extra.get("notifications_minimum_severity")
    without = extra.get(
        "notifications_disabled_classifications", extra.get("notifications_disabled_categories")
    )
    return NoticeFilter(
        least if least in SEVERITIES else default.least,
        frozenset(one for one in without if isinstance(one, str))
        if isinstance(without, list)
        else default.without,
    )


def remarks(
    notices: Sequence[Notice], wanted: NoticeFilter, version: Version, *, columns: int, rows: int
) -> dict[str, Any]:
    """The part of a summary that carries them."""
    kept = [notice for notice in notices if wanted.wants(notice)]
    if version >= (5, 6):
        warnings = [_status(notice) for notice in kept if notice.severity == "WARNING"]
        infos = [_status(notice) for notice in kept if notice.severity != "WARNING"]
        own = outcome(columns, rows)
        return {
            "statuses": [own, *warnings, *infos]
            if own["gql_status"] == "02000"
            else [*warnings, own, *infos]
        }
    return {"notifications": [_notification(notice, version) for notice in kept]} if kept else {}


def outcome(columns: int, rows: int) -> dict[str, Any]:
    """The GQL status of a statement that succeeded."""
    if not columns:
        gql, text = "00001", "note: successful completion - omitted result"
    elif not rows:
        gql, text = "02000", "note: no data"
    else:
        gql, text = "00000", "note: successful completion"
    return {"gql_status": gql, "status_description": text, "diagnostic_record": dict(DIAGNOSTIC)}


def _status(notice: Notice) -> dict[str, Any]:
    record = {
        **DIAGNOSTIC,
        "_classification": notice.category,
        "_severity": notice.severity,
        "_position": position(notice),
    }
    kind = "warn" if notice.severity == "WARNING" else "info"
    return {
        "gql_status": notice.gql,
        "status_description": f"{kind}: {notice.condition}. {notice.description}",
        "description": notice.description,
        "neo4j_code": notice.code,
        "title": notice.title,
        "diagnostic_record": record,
    }


def _notification(notice: Notice, version: Version) -> dict[str, Any]:
    found = notification(notice)
    if version < (5, 2):
        del found["category"]
    return found
