"""Move a tenant from one engine to another, while servers read and write.

    1  the new engine expects the tenant, and takes appends of the move alone
    2  the log is copied up to its head, again and again, until little is left
    3  the old engine's hold: writers wait. The rest is copied, and the hold ends with the new place
    4  the new engine takes everybody's appends
    5  the old engine's log is deleted; where the tenant went stays known

A move that was interrupted is finished by repeating it: until 3 the old engine has the tenant, from
then on the new one. Servers follow by themselves, with the files that they have.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit, urlunsplit

from doxa.base.errors import ConflictError, NotFoundError
from doxa.base.limits import BUSY_TIMEOUT_MS, REPLICA_FETCH_BYTES_MAX
from doxa.replication.protocol import FleetLog, Head, SharedTransaction
from doxa.store.stages import Stages, no_stages

_ROUNDS = 1_000
_LEFT_BYTES = 262_144  # that writers wait for


class MovedTenant(NamedTuple):
    """What was moved. `pause_s` is how long writers had to wait."""

    tenant: str
    transactions: int
    head: Head
    pause_s: float


def move_tenant(
    source: FleetLog,
    target: FleetLog,
    tenant: str,
    *,
    source_url: str,
    target_url: str,
    stages: Stages = no_stages,
) -> MovedTenant:
    """Move a tenant. Raises NotFoundError if the source does not have it, ConflictError if the
    target has another log under its name, or if it has moved elsewhere."""
    place, there = without_password(source_url), without_password(target_url)
    if place == there:
        raise ConflictError(
            f"Tenant {tenant} is there already.", next_step="Name another engine.", tenant=tenant
        )
    info = source.info(tenant)
    if info is None:
        raise NotFoundError(
            f"The engine has no tenant {tenant}.", next_step="List them: `doxa tenants list`."
        )
    if info.moved_to not in ("", there):
        raise ConflictError(
            f"Tenant {tenant} has moved elsewhere already.",
            next_step=f"Move it from where it is: {info.moved_to}.",
            tenant=tenant,
            moved_to=info.moved_to,
        )
    pause_s, copied = 0.0, 0
    if not info.moved_to:
        _expect(source, target, tenant, place)
        advance = stages("transactions", max(0, info.head.tx - target.head(tenant).tx))
        for _ in range(_ROUNDS):
            taken = _copy(source, target, tenant, place)
            copied += taken
            advance(taken)
            if not taken:
                break
        snapshot = source.newest_snapshot(tenant)
        if snapshot is not None:
            target.put_snapshot(tenant, snapshot)
        pause_s, taken = _switch(source, target, tenant, place, there)
        copied += taken
        advance(taken)
    target.configure(tenant, arriving="", moved_to="", quota_bytes=info.quota_bytes)
    for report in source.reports(tenant):  # who has not come yet is not forgotten
        target.report(tenant, report)
    source.drop(tenant)
    return MovedTenant(tenant, copied, target.head(tenant), pause_s)


def _expect(source: FleetLog, target: FleetLog, tenant: str, place: str) -> None:
    """Let the target take appends of this move alone."""
    held = target.info(tenant)
    if held is not None and held.head.tx:
        # a log is there: of this move, or of a time before the tenant moved away
        known = source.hash_at(tenant, held.head.tx) == held.head.hash
        if not known or not (held.moved_to or held.arriving == place):
            raise ConflictError(
                f"The new engine has a tenant {tenant} with a log of its own.",
                next_step="Choose another engine.",
                tenant=tenant,
            )
    target.configure(tenant, arriving=place, moved_to="")


def _copy(source: FleetLog, target: FleetLog, tenant: str, place: str) -> int:
    after = target.head(tenant).tx
    batch = source.read(tenant, after, limit_bytes=REPLICA_FETCH_BYTES_MAX)
    _append(target, tenant, place, batch)
    return len(batch)


def _append(target: FleetLog, tenant: str, place: str, batch: Sequence[SharedTransaction]) -> None:
    if batch:
        with target.hold(tenant, wait_ms=BUSY_TIMEOUT_MS, arriving=place) as hold:
            hold.append(batch)


def _switch(
    source: FleetLog, target: FleetLog, tenant: str, place: str, there: str
) -> tuple[float, int]:
    """Copy the rest under the hold of the source, and end it with the new place."""
    copied = 0
    for _ in range(_ROUNDS):
        with source.hold(tenant, wait_ms=BUSY_TIMEOUT_MS, locked=True) as hold:
            began = time.monotonic()
            after = target.head(tenant)
            rest = source.read(tenant, after.tx, limit_bytes=_LEFT_BYTES)
            if (rest[-1].head if rest else after) == hold.head:
                _append(target, tenant, place, rest)
                hold.configure(moved_to=there)
                return time.monotonic() - began, copied + len(rest)
        copied += _copy(source, target, tenant, place)
    raise ConflictError(
        f"Tenant {tenant} is written to faster than it is copied; it stays where it is.",
        next_step="Repeat the move when there is less to do.",
        tenant=tenant,
    )


def engine_of(tenant: str, urls: Sequence[str]) -> str:
    """Return the engine of a fleet to which a new tenant belongs: that of the highest hash of both
    names. An engine that joins takes its share of the tenants, and moves no other.

    Source: Thaler and Ravishankar, "Using name-based mappings to increase hit rates" (1998).
    """
    names = {without_password(url): url for url in urls}

    def weight(name: str) -> bytes:
        return hashlib.sha256(f"{name}\0{tenant}".encode()).digest()

    return names[max(names, key=weight)]


def without_password(url: str) -> str:
    """Return a URL as it may be kept and shown."""
    found = urlsplit(url)
    name, at, place = found.netloc.rpartition("@")
    return urlunsplit(found._replace(netloc=f"{name.partition(':')[0]}{at}{place}"))


def with_login(url: str, like: str) -> str:
    """Return a URL with the password of another, if it has none and the users are the same."""
    found, other = urlsplit(url), urlsplit(like)
    if found.password is None and other.password is not None and found.username == other.username:
        place = found.netloc.rpartition("@")[2]
        login = other.netloc.rpartition("@")[0]
        return urlunsplit(found._replace(netloc=f"{login}@{place}"))
    return url
