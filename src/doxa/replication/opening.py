"""Open the engine of a URL, and connect a store with it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from doxa.base.errors import InputError, UnreachableError
from doxa.replication.following import local_head
from doxa.replication.protocol import FleetLog, SharedLog
from doxa.replication.replica import Replica
from doxa.replication.snapshot import begin_from_snapshot
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


_SHARED: dict[tuple[int, str], SharedLog] = {}
_LOCK = threading.Lock()


def shared_log(url: str) -> SharedLog:
    """Open the log that all memories of this process share, so that a thousand tenants have one
    pool of connections and one listener. It is closed with its last user."""
    key = os.getpid(), url
    with _LOCK:
        held: Any = _SHARED.get(key)
        if held is None or not held.users.join():
            held = _SHARED[key] = open_log(url)
        found: SharedLog = held
        return found


def prepare(
    log: SharedLog,
    tenant: str,
    path: Path,
    *,
    reopen: Callable[[str], SharedLog] = shared_log,
) -> None:
    """Make the file of a new replica from a snapshot, if there is one."""
    with suppress(UnreachableError):  # `connect` says so
        if path.exists():
            return
        info = log.info(tenant) if isinstance(log, FleetLog) else None
        if info is None or not info.moved_to:
            begin_from_snapshot(log, tenant, path)
            return
        there = reopen(info.moved_to)
        try:
            begin_from_snapshot(there, tenant, path)
        finally:
            there.close()


def connect(
    store: Store,
    log: SharedLog,
    tenant: str,
    *,
    level: str = "session",
    reopen: Callable[[str], SharedLog] = shared_log,
) -> Replica:
    """Make a store a replica, and bring it to the head. A replica that has something opens without
    the engine, too. Raises UnreachableError, or CorruptError for another log's file."""
    replica = Replica(store, log, tenant, level=level, reopen=reopen)
    if store.read_only:
        return replica
    try:
        replica.catch_up()
    except UnreachableError:
        if not local_head(store).tx:
            store.shared = None
            raise
    except BaseException:
        store.shared = None
        raise
    return replica
