"""Open the engine of a URL, and connect a store with it."""

from __future__ import annotations

from pathlib import Path

from doxa.base.errors import InputError, UnreachableError
from doxa.replication.following import local_head
from doxa.replication.protocol import SharedLog
from doxa.replication.replica import Replica
from doxa.store import Store


def open_log(url: str) -> SharedLog:
    """Open `folder:/path` or `postgresql://...`. Raises InputError for another URL, or if what the
    engine takes is not installed."""
    scheme, _, rest = url.partition(":")
    if scheme == "folder":
        from doxa.replication.engines.folder import FolderLog

        return FolderLog(Path("/" + rest.lstrip("/")))
    if scheme == "postgresql":
        try:
            from doxa.replication.engines.postgres import open_postgres
        except ImportError as error:
            raise InputError(
                "A shared log in PostgreSQL takes the driver psycopg, which is not installed.",
                next_step="Install doxa-memory[postgres].",
                field="path",
            ) from error
        return open_postgres(url)
    raise InputError(
        f"{scheme!r:.40} is not an engine of shared logs.",
        next_step="Use postgresql://host/database, or folder:/path on one machine.",
        field="path",
    )


def connect(store: Store, log: SharedLog, tenant: str, *, level: str = "session") -> Replica:
    """Make a store a replica, and bring it to the head. A replica that has something opens without
    the engine, too. Raises UnreachableError, or CorruptError for another log's file."""
    try:
        replica = Replica(store, log, tenant, level=level)
        try:
            replica.catch_up()
        except UnreachableError:
            if not local_head(store).tx:
                raise
    except BaseException:
        store.shared = None
        log.close()
        raise
    return replica
