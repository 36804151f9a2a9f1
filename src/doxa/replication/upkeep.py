"""What a replica does besides following: it says how far it is, and puts snapshots at the engine.

An engine that keeps only the log (protocol.SharedLog) gets no reports and no snapshots.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from pathlib import Path

from doxa.base.clock import NS
from doxa.base.errors import DoxaError, LimitError
from doxa.base.files.places import mark_of_replica
from doxa.base.limits import REPLICA_REPORT_S, SNAPSHOT_CHANGES_ITEMS_MIN
from doxa.replication.following import local_head
from doxa.replication.protocol import FleetLog, ReplicaReport, SharedLog, TenantInfo
from doxa.replication.snapshot import is_due, put_snapshot
from doxa.store import Store
from doxa.store.file.scrub import marked

_LEASE = "snapshot"
_LEASE_NS = 600 * NS
_NAME_CHARS = 200


def replica_name(path: str | Path) -> str:
    """Return how a replica is known at the engine: its machine and its path."""
    return f"{socket.gethostname()}:{Path(path).absolute()}"[-_NAME_CHARS:]


class ReplicaUpkeep:
    """The reports and snapshots of one replica."""

    def __init__(self, store: Store, tenant: str) -> None:
        self.name = replica_name(store.path)
        self.pending = True  # something to say: the replica is new, or content was erased
        self._store, self._tenant = store, tenant
        self._said = 0.0
        self._checked = -SNAPSHOT_CHANGES_ITEMS_MIN
        self._heard_path = mark_of_replica(store.path)
        self._marked = 0.0
        self._too_large_until = 0  # the transaction before which no snapshot is tried again
        self._lock = threading.Lock()

    def report(self, log: SharedLog) -> TenantInfo | None:
        """Say how far the replica is, and return what the engine knows of the tenant."""
        if not isinstance(log, FleetLog):
            return None
        info = log.info(self._tenant)
        if info is None or info.moved_to:
            return info
        db = self._store.connection()
        due = marked(db)
        tx = local_head(self._store).tx
        scrubbed = tx if due is None else abs(due) - 1
        log.report(self._tenant, ReplicaReport(self.name, tx, scrubbed))
        self._said, self.pending = time.monotonic(), due is not None
        return info

    def report_if_due(self, log: SharedLog) -> TenantInfo | None:
        """Report, unless that was done seconds ago and nothing was erased since."""
        if not self.pending and time.monotonic() - self._said < REPLICA_REPORT_S:
            return None
        return self.report(log)

    def snapshot_if_due(self, log: SharedLog, info: TenantInfo | None) -> None:
        """Put a snapshot at the engine if the log has grown by much since the last one. One server
        does."""
        if not isinstance(log, FleetLog) or info is None:
            return
        tx = local_head(self._store).tx
        if not is_due(tx, info.snapshot_tx) or tx < self._too_large_until:
            return
        with self._lock:
            now = self._store.clock.now_ns()
            token = log.take_lease(self._tenant, _LEASE, held=0, now=now, ttl_ns=_LEASE_NS)
            if not token:
                return
            try:
                put_snapshot(self._store, log, self._tenant)
            except LimitError:  # new replicas read the log
                self._too_large_until = 2 * tx
            finally:
                log.take_lease(self._tenant, _LEASE, held=token, now=now, ttl_ns=0)

    def heard(self) -> None:
        """Keep that the engine answered, for a later opening without it; at most once a second."""
        if time.monotonic() - self._marked >= 1.0:
            self._marked = time.monotonic()
            with suppress(OSError):
                self._heard_path.touch(mode=0o600)

    def heard_age_s(self) -> float | None:
        """Return how long ago the engine answered any process that has this file, None if never."""
        try:
            return max(0.0, time.time() - self._heard_path.stat().st_mtime)
        except OSError:
            return None

    def last_words(self, log: SharedLog) -> None:
        """Report what was erased before the file is let go; the engine may be away."""
        if self.pending:
            with suppress(DoxaError):
                self.report(log)
