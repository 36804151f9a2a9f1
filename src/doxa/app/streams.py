"""Event streams and cursors of a session: positions and names become those of the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.app.checks import ALL_PROJECTS
from doxa.base.errors import InputError, NotFoundError
from doxa.belief.kref import check_name
from doxa.events import EventFilter, EventStream
from doxa.events.stream import position_after, position_since
from doxa.ingestion import arguments
from doxa.store import Identity, Reader, Store
from doxa.store.stream.cursors import EventCursor, prefix_of

_CURSOR = "SELECT seq FROM main.cursor WHERE name = ?"
_ACKS = ("auto", "manual")


def open_stream(store: Store, identity: Identity, given: Mapping[str, Any]) -> EventStream:
    """Return the stream that the options of `events` ask for. A new cursor is saved at once, so
    that what follows its position is not lost whatever happens."""
    arguments.whole(given["limit"], "limit", optional=True)
    if given["ack"] not in _ACKS:
        raise InputError(
            f"ack is auto or manual, not {given['ack']!r:.40}.",
            next_step="Leave it out for auto.",
            field="ack",
        )
    project = given["project"]
    wanted = EventFilter(
        given["names"],
        project="" if project in (None, ALL_PROJECTS) else project,
        kind=given["kind"],
        kref=given["kref"],
        label=given["label"],
    )
    key = _key(store, identity, given["cursor"]) if given["cursor"] else ""
    with store.read() as reader:
        held = reader.rows(_CURSOR, (key,)) if key else []
        start = _position(store, reader, after=given["after"], since=given["since"])
    if key and not held:
        store.save_cursor(key, start)
    return EventStream(
        store,
        wanted,
        seq=held[0][0] if held else start,
        cursor=key,
        follow=given["follow"],
        limit=given["limit"],
        manual=given["ack"] == "manual",
    )


def list_cursors(store: Store, identity: Identity) -> list[EventCursor]:
    """Return the cursors of a role and the projects that a store is bound to, by name."""
    prefix = _prefix(store, identity)
    sql = (
        "SELECT name, seq, (SELECT coalesce(max(last_seq), 0) FROM main.receipt) - seq FROM"
        " main.cursor WHERE substr(name, 1, ?) = ? ORDER BY name"
    )
    with store.read() as reader:
        rows = reader.rows(sql, (len(prefix), prefix))
    return [EventCursor(name[len(prefix) :], seq, behind) for name, seq, behind in rows]


def move_cursor(
    store: Store,
    identity: Identity,
    name: str,
    *,
    after: int | str | None,
    since: int | None,
    remove: bool,
) -> None:
    """Move, make or remove a cursor. Raises NotFoundError if there is none to remove."""
    key = _key(store, identity, name)
    with store.read() as reader:
        known = bool(reader.rows(_CURSOR, (key,)))
        seq = _position(store, reader, after=after, since=since)
    if remove and not known:
        raise NotFoundError(
            f"There is no cursor {name[:60]!r}.",
            next_step="List them with cursors.",
            field="name",
        )
    store.save_cursor(key, None if remove else seq, back=True)


def _position(store: Store, reader: Reader, *, after: int | str | None, since: int | None) -> int:
    if after is not None and since is not None:
        raise InputError(
            "A stream begins after an event or at a time, not both.",
            next_step="Leave one out.",
            field="since",
        )
    if after is not None:
        return position_after(reader, after, checked=store.binding is None)
    return 0 if since is None else position_since(reader, since)


def _prefix(store: Store, identity: Identity) -> str:
    bound = store.binding.projects if store.binding is not None else ()
    return prefix_of(identity.role, bound)


def _key(store: Store, identity: Identity, name: str) -> str:
    return _prefix(store, identity) + check_name(name, what="cursor", dots=True)
