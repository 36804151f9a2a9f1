"""From a file to a shared log and back. Both keep the log as it is: transactions, receipts and
hashes are the same, so the same proof holds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from doxa.base.errors import ConflictError, LimitError, StoreError
from doxa.base.files.places import mark_of_replica
from doxa.base.limits import BUSY_TIMEOUT_MS, REPLICA_FETCH_BYTES_MAX
from doxa.replication.following import local_head
from doxa.replication.protocol import FleetLog, Head, SharedLog, SharedTransaction, check_tenant
from doxa.replication.replica import Replica, read_transactions
from doxa.replication.snapshot import is_due, put_snapshot
from doxa.store import Store, verify_log
from doxa.store.bulk.progress import all_progress
from doxa.store.stages import Stages, no_stages
from doxa.store.visibility.evaluator import Expressions

_TRANSACTIONS_AT_ONCE = 500


class Moved(NamedTuple):
    """What was copied: the transactions that were new there, and the head afterwards."""

    tenant: str
    transactions: int
    head: Head


def replicate(store: Store, log: SharedLog, tenant: str, *, stages: Stages = no_stages) -> Moved:
    """Append the log of a file to a tenant that has none, or that has the beginning of it. Can be
    repeated after an interruption. Raises ConflictError for a tenant with another log, CorruptError
    if the file does not verify."""
    check_tenant(tenant)
    db = store.connection()
    verify_log(store, stages("log entries", db.execute("SELECT max(seq) FROM log").get or 0))
    with store.read():  # one state of the file, also while others write to it
        head, own = log.head(tenant), local_head(store)
        first = head.tx
        known = (
            db.execute("SELECT hash FROM receipt WHERE tx = ?", (first,)).get
            if first
            else head.hash
        )
        if known != head.hash:
            raise ConflictError(
                f"Tenant {tenant} has a log that is not the beginning of that of {store.path};"
                " nothing was appended.",
                next_step="Choose a new tenant.",
                tenant=tenant,
                change=first,
            )
        advance = stages("transactions", max(0, own.tx - first))
        for batch in _batches(store, first, own):
            with log.hold(tenant, wait_ms=BUSY_TIMEOUT_MS) as hold:
                hold.append(batch)
            advance(len(batch))
    if isinstance(log, FleetLog):
        info = log.info(tenant)
        if info is not None and is_due(own.tx, info.snapshot_tx):
            with suppress(LimitError):  # of a very large file new replicas read the log
                put_snapshot(store, log, tenant)
    return Moved(tenant, own.tx - first, log.head(tenant))


def _batches(store: Store, after: int, own: Head) -> Iterator[list[SharedTransaction]]:
    db = store.connection()
    retained = db.execute("SELECT value FROM meta WHERE key = 'retained'").get
    answers = _answers(db)
    batch: list[SharedTransaction] = []
    size = 0
    for start in range(after + 1, own.tx + 1, _TRANSACTIONS_AT_ONCE):
        last = min(start + _TRANSACTIONS_AT_ONCE - 1, own.tx)
        for one in read_transactions(db, start, last):
            if one.tx in answers:
                one = one._replace(answers=tuple(answers[one.tx]))
            if one.tx == own.tx:
                one = one._replace(retained=retained, progress=all_progress(db))
            batch.append(one)
            size += sum(len(entry.payload or b"") for entry in one.entries)
            if size >= REPLICA_FETCH_BYTES_MAX or len(batch) >= _TRANSACTIONS_AT_ONCE:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _answers(db: Any) -> dict[int, list[tuple[Any, ...]]]:
    """The kept answers of calls with an idempotency key, by their transactions."""
    found: dict[int, list[tuple[Any, ...]]] = {}
    sql = "SELECT tx, key, expires, salt, request, answer FROM main.idempotency_key"
    for tx, *answer in db.execute(sql):
        found.setdefault(tx, []).append(tuple(answer))
    return found


def pull(
    log: SharedLog, tenant: str, path: Path, *, expressions: Expressions | None = None
) -> Moved:
    """Make a file of a tenant: a memory of its own from here on. Raises StoreError if something is
    at the path, or the tenant is empty."""
    if path.exists():
        raise StoreError(
            f"{path} exists already.", next_step="Choose another path.", path=str(path)
        )
    if not log.head(tenant).tx:
        raise StoreError(
            f"Tenant {tenant} has no log; nothing was made.",
            next_step="Look for its name in the list of tenants.",
            tenant=tenant,
        )
    with Store(path, expressions=expressions) as store:
        try:
            head = Replica(store, log, tenant).catch_up()
            verify_log(store)
        finally:
            store.shared = None
    mark_of_replica(path).unlink(missing_ok=True)
    return Moved(tenant, head.tx, head)
