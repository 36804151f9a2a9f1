"""Whether a text is gone from all that shares a log: the log, its snapshot, and each replica that
has reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from doxa.base.errors import UnreachableError
from doxa.base.limits import REPLICA_FETCH_BYTES_MAX, REPLICA_LEASE_S
from doxa.replication.following import local_head
from doxa.replication.protocol import FleetLog, Head, ReplicaReport, SharedTransaction
from doxa.replication.replica import Replica
from doxa.replication.snapshot import opened_snapshot
from doxa.store.retention.leftovers import scan_files
from doxa.store.retention.occurrences import Needle
from doxa.store.stages import Stages, no_stages

_TOLD = 20


class SharedTrace(NamedTuple):
    """One place that shares the log, as maintenance/erasure_proof.py reports places."""

    place: str
    state: Literal["gone", "holds", "unknown"]
    detail: str = ""


def shared_traces(replica: Replica, text: str, *, stages: Stages = no_stages) -> list[SharedTrace]:
    """Look for a text at the engine, and ask which replicas have applied all erasures. Reads the
    whole log."""
    log, tenant = replica.log, replica.tenant
    try:
        replica.catch_up()
        if isinstance(log, FleetLog):
            replica.upkeep.report(log)
        return [
            _in_log(replica, Needle(text), stages),
            _in_snapshot(replica, Needle(text), stages),
            *(_in_replicas(log, tenant) if isinstance(log, FleetLog) else ()),
        ]
    except UnreachableError as error:
        return [SharedTrace(f"shared log of {tenant}", "unknown", error.message)]


def _in_log(replica: Replica, needle: Needle, stages: Stages) -> SharedTrace:
    advance = stages("transactions at the engine", local_head(replica.store).tx)
    place, held, head = f"shared log of {replica.tenant}", [], Head(0, b"")
    while run := replica.log.read(replica.tenant, head.tx, limit_bytes=REPLICA_FETCH_BYTES_MAX):
        for one in run:
            if any(needle.in_text(text) for text in _texts(one)):
                held.append(one.tx)
            head = one.head
        advance(len(run))
    if held:
        changes = ", ".join(map(str, held[:_TOLD]))
        return SharedTrace(place, "holds", f"{len(held)} transactions: {changes}")
    # a search that read less than there is proves nothing
    if head.tx != replica.log.head(replica.tenant).tx:
        return SharedTrace(place, "unknown", f"it was read up to transaction {head.tx} only")
    return SharedTrace(place, "gone", f"{head.tx} transactions were read")


def _texts(one: SharedTransaction) -> Iterator[str]:
    yield from (part for part in one.receipt if isinstance(part, str))
    for entry in one.entries:
        yield entry.op
        yield (entry.payload or b"").decode(errors="replace")
    for row in one.answers:
        yield from (
            part.decode(errors="replace") if isinstance(part, bytes) else str(part) for part in row
        )


def _in_snapshot(replica: Replica, needle: Needle, stages: Stages) -> SharedTrace:
    place = f"snapshot of {replica.tenant}"
    snapshot = replica.log.newest_snapshot(replica.tenant)
    if snapshot is None:
        return SharedTrace(place, "gone", "there is none")
    with opened_snapshot(replica.store, snapshot) as path:
        if path is None:
            return SharedTrace(place, "unknown", "it cannot be read")
        found = scan_files([path], needle.forms(), control=[snapshot.head.hash], stages=stages)[
            str(path)
        ]
    if found.error or not found.control:
        return SharedTrace(place, "unknown", found.error or "it is not a copy of this memory")
    return SharedTrace(place, "holds" if found.holds else "gone", f"at change {snapshot.head.tx}")


def _in_replicas(log: FleetLog, tenant: str) -> Iterator[SharedTrace]:
    info = log.info(tenant)
    erased = 0 if info is None else info.erased_tx
    for one in log.reports(tenant):
        yield _in_replica(one, erased)


def _in_replica(one: ReplicaReport, erased_tx: int) -> SharedTrace:
    place = f"replica {one.name}"
    if one.scrubbed_tx >= erased_tx:
        return SharedTrace(place, "gone", f"at change {one.tx}")
    if one.age_s > REPLICA_LEASE_S:
        days = one.age_s / 86_400
        return SharedTrace(
            place,
            "unknown",
            f"it has not reported for {days:.1f} days; if its file is gone, say so",
        )
    what = "has not overwritten" if one.tx >= erased_tx else "has not applied"
    return SharedTrace(place, "holds", f"it {what} the erasure of change {erased_tx}")
