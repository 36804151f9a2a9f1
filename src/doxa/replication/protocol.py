"""The contract of a shared log, which every engine keeps (tests/replication/test_contract.py).

A tenant is one log: transactions 1, 2, 3, ..., each with the receipt and the entries that a file
would have. The head is the number and the hash of the last receipt. The holder of a tenant may
append, once; an append is durable when it returns, and refused unless it continues the head:

    with log.hold("acme", wait_ms=60_000) as hold:
        hold.head                      # Head(tx=41, hash=...)
        hold.append([transaction])     # 42, whose receipt continues the hash of 41
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Protocol, runtime_checkable

from doxa.base.errors import ConflictError, CorruptError, InputError, LimitError
from doxa.base.limits import NAME_CHARS_MAX
from doxa.store.log_writer import GENESIS, entry_hash, receipt_hash


class Head(NamedTuple):
    """The end of a log: the number of the last transaction, 0 before the first, and the hash of
    its receipt."""

    tx: int
    hash: bytes

    @property
    def token(self) -> str:
        """What a client hands on to say how far it has seen: `tx@hash`."""
        return f"{self.tx}@{self.hash.hex()}"


START = Head(0, GENESIS)


class SharedEntry(NamedTuple):
    """One entry. `payload` is None once it was erased; then `payload_hash` holds its place."""

    op: str
    element: int
    salt: bytes | None
    payload: bytes | None
    payload_hash: bytes | None = None


class SharedTransaction(NamedTuple):
    """One transaction as it lies in a file. `receipt` has the columns of the table `receipt`.

    `erased` are the numbers of entries whose payloads it destroyed. `retained` is the horizon of
    retention after it, None if it did not move. `answers` are the rows of calls with an idempotency
    key that it carried out: key, expires, salt, request, answer. `progress` are names and rows of
    loads that it took further.
    """

    receipt: tuple[Any, ...]
    entries: tuple[SharedEntry, ...]
    erased: tuple[int, ...] = ()
    retained: str | None = None
    answers: tuple[tuple[Any, ...], ...] = ()
    progress: tuple[tuple[str, int], ...] = ()

    @property
    def tx(self) -> int:
        return int(self.receipt[0])

    @property
    def time(self) -> int:
        return int(self.receipt[1])

    @property
    def first_seq(self) -> int:
        return int(self.receipt[6])

    @property
    def head(self) -> Head:
        """The head of the log after it."""
        return Head(self.receipt[0], self.receipt[11])


class Snapshot(NamedTuple):
    """A doxa file with all of the log up to `head`."""

    head: Head
    data: bytes


class TenantInfo(NamedTuple):
    """A tenant of an engine. `size_bytes` counts the bodies of its transactions, `quota_bytes` is
    their limit, 0 for none. `moved_to` is the URL of the engine that has the log now; `arriving`
    where it comes from, while a move is not finished. `snapshot_tx` is the head of its snapshot."""

    tenant: str
    head: Head
    size_bytes: int
    quota_bytes: int = 0
    moved_to: str = ""
    arriving: str = ""
    erased_tx: int = 0
    snapshot_tx: int = 0


class ReplicaReport(NamedTuple):
    """What a replica reported. All that was erased up to `scrubbed_tx` is out of its file.
    `age_s` is the time since it said so, by the engine's clock."""

    name: str
    tx: int
    scrubbed_tx: int
    age_s: float = 0.0


class AppendHold(Protocol):
    """The right to append to one tenant, held by one writer at a time."""

    head: Head

    def append(self, transactions: Sequence[SharedTransaction]) -> None:
        """Append, durable and as one; ends the hold. Raises ConflictError if they do not continue
        the head, UnreachableError if the engine does not say whether it did (`outcome`)."""
        ...

    def configure(self, *, moved_to: str) -> None:
        """Say where the tenant is from here on; ends the hold."""
        ...

    def release(self) -> None:
        """Give the right back, from any thread; more than once does no harm."""
        ...

    def __enter__(self) -> AppendHold: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...


class SharedLog(Protocol):
    """One engine. Safe to share between threads. Every call raises UnreachableError within a
    bounded time if the engine does not answer."""

    def head(self, tenant: str) -> Head:
        """Return the end of the log, `START` for a tenant without transactions."""
        ...

    def hash_at(self, tenant: str, tx: int) -> bytes | None:
        """Return the hash of a receipt, None if there is no such transaction."""
        ...

    def hold(
        self, tenant: str, *, wait_ms: int, stopped: Callable[[], bool] | None = None
    ) -> AppendHold:
        """Wait for the right to append. Raises BusyError after `wait_ms`, or if `stopped` says
        so; ConflictError with `moved_to` for a tenant that another engine has."""
        ...

    def read(self, tenant: str, after: int, *, limit_bytes: int) -> list[SharedTransaction]:
        """Return the transactions after a number, in order: at least one if there is one, and no
        more than about `limit_bytes` of bodies."""
        ...

    def wait(self, tenant: str, after: int, *, timeout_s: float) -> int:
        """Wait until the log has a transaction after this number, or the time has passed. Returns
        the number of the head."""
        ...

    def put_snapshot(self, tenant: str, snapshot: Snapshot) -> None:
        """Keep a snapshot in place of those before it. Raises ConflictError if its head is not a
        transaction of the log, or if content was erased after it."""
        ...

    def newest_snapshot(self, tenant: str) -> Snapshot | None: ...

    def take_lease(self, tenant: str, name: str, *, held: int, now: int, ttl_ns: int) -> int:
        """Take, renew (`held`) or give back (`ttl_ns` 0) a named lease; as Store.take_lease."""
        ...

    def lease_until(self, tenant: str, name: str) -> int:
        """Return until when a lease holds, in ns; 0 if it was never taken, or given back."""
        ...

    def tenants(self) -> list[TenantInfo]:
        """Return all tenants in the order of their names. For operators."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class FleetLog(SharedLog, Protocol):
    """An engine that also knows the replicas of its tenants, and what operators set of a tenant."""

    def hold(
        self,
        tenant: str,
        *,
        wait_ms: int,
        stopped: Callable[[], bool] | None = None,
        arriving: str = "",
        locked: bool = False,
    ) -> AppendHold:
        """Wait as in SharedLog. `locked`: nobody else writes until it ends, however long that
        takes; else it may be what the server kept since its last append."""
        ...

    def info(self, tenant: str) -> TenantInfo | None: ...

    def vectors(self, tenant: str, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return those of the vectors that are there, by their keys."""
        ...

    def put_vectors(self, tenant: str, vectors: Mapping[bytes, bytes], *, read_at: int) -> bool:
        """Keep vectors for the other replicas. Keeps none, and returns False, if content was
        erased after the transaction `read_at`, of which their texts are."""
        ...

    def configure(
        self,
        tenant: str,
        *,
        quota_bytes: int | None = None,
        moved_to: str | None = None,
        arriving: str | None = None,
    ) -> TenantInfo:
        """Make a tenant if there is none, and set what is given. Waits for a writer, so that what
        it appends is before or after. Who appends to a tenant that moved gets ConflictError with
        `moved_to`; to one that arrives, ConflictError unless `hold` names where it comes from;
        beyond its quota, LimitError."""
        ...

    def report(self, tenant: str, report: ReplicaReport) -> None:
        """Keep what a replica reports, in place of what it said before."""
        ...

    def reports(self, tenant: str) -> list[ReplicaReport]: ...

    def withdraw(self, tenant: str, name: str) -> None:
        """Forget a replica, whose file was deleted."""
        ...

    def drop(self, tenant: str) -> None:
        """Delete the log of a tenant that has moved; where it is stays known. Raises ConflictError
        for one that has not."""
        ...


def check_tenant(tenant: object) -> str:
    """Return the name of a tenant. Raises InputError unless it is printable and of a bounded
    length."""
    if not isinstance(tenant, str) or not tenant.strip() or not tenant.isprintable():
        raise InputError(
            f"The name of a tenant is printable text; this is {tenant!r:.60}.",
            next_step="Give the name of the tenant: tenant='acme'.",
            field="tenant",
        )
    if len(tenant) > NAME_CHARS_MAX:
        raise InputError(
            f"The name of a tenant has up to {NAME_CHARS_MAX} characters; this has {len(tenant)}.",
            next_step="Give a shorter name.",
            field="tenant",
        )
    return tenant


def continues(head: Head, transactions: Sequence[SharedTransaction], tenant: str) -> Head:
    """Check that transactions continue a head, receipt by receipt, and return the head after them.
    Raises ConflictError if they do not."""
    for one in transactions:
        expected = receipt_hash(head.hash, one.receipt[:10], one.receipt[10])
        if one.tx != head.tx + 1 or expected != one.receipt[11]:
            raise ConflictError(
                f"Transaction {one.tx} does not continue the log of tenant {tenant}, which ends at"
                f" {head.tx}; nothing was appended.",
                next_step="Let the replica catch up, then repeat the call.",
                tenant=tenant,
                change=head.tx,
            )
        head = one.head
    return head


def chained(one: SharedTransaction, head: bytes) -> list[tuple[int, int, str, int, bytes, bytes]]:
    """Return the rows of the table `log` for a transaction whose entries follow the entry with this
    hash. Raises CorruptError if the chain does not lead to its receipt."""
    rows, seq = [], one.first_seq
    for entry in one.entries:
        if entry.payload is not None and entry.salt is not None:
            payload_hash = hashlib.sha256(entry.salt + entry.payload).digest()
        else:
            payload_hash = entry.payload_hash or b""
        head = entry_hash(
            head, seq=seq, tx=one.tx, op=entry.op, element=entry.element, payload_hash=payload_hash
        )
        rows.append((seq, one.tx, entry.op, entry.element, payload_hash, head))
        seq += 1
    if seq != one.receipt[7] + 1 or head != one.receipt[10]:
        raise CorruptError(
            f"Transaction {one.tx} of the shared log does not verify: its entries are not those"
            " that its receipt covers.",
            next_step="Stop writing, and compare the engine with its latest backup.",
            change=one.tx,
        )
    return rows


def require_here(info: TenantInfo, arriving: str = "") -> None:
    """Raise ConflictError for a tenant that moved, or whose move to this engine is not finished by
    who comes from `arriving`."""
    if info.moved_to:
        raise ConflictError(
            f"Tenant {info.tenant} has moved to another engine; nothing was written.",
            next_step="Open it there: `doxa tenants` of this engine shows where.",
            tenant=info.tenant,
            moved_to=info.moved_to,
        )
    if info.arriving and info.arriving != arriving:
        raise ConflictError(
            f"Tenant {info.tenant} is on its way to this engine; nothing was written.",
            next_step="Finish the move: repeat `doxa tenants move`.",
            tenant=info.tenant,
            arriving=info.arriving,
        )


def has_not_moved(tenant: str) -> ConflictError:
    """Return the error for the deletion of a log that nobody else has."""
    return ConflictError(
        f"Tenant {tenant} has not moved, so its log stays.",
        next_step="Move it first: `doxa tenants move`.",
        tenant=tenant,
    )


def require_room(info: TenantInfo, transactions: Sequence[SharedTransaction], size: int) -> None:
    """Raise LimitError for an append beyond the quota of a tenant. An erasure is always taken."""
    if not info.quota_bytes or info.size_bytes + size <= info.quota_bytes:
        return
    if any(one.erased for one in transactions):
        return
    raise LimitError(
        f"The log of tenant {info.tenant} may have {info.quota_bytes:,} bytes and has"
        f" {info.size_bytes:,}; nothing was written.",
        next_step="Ask the operator for a larger quota: `doxa tenants quota`.",
        tenant=info.tenant,
        bytes_max=info.quota_bytes,
    )
