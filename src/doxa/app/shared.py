"""A memory whose log is shared with other servers: its URL, its replica, and how far that is."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.app.config import Config, default_path
from doxa.base.errors import InputError
from doxa.ingestion import arguments

if TYPE_CHECKING:
    from doxa.maintenance.doctor import HealthCheck
    from doxa.maintenance.erasure_proof import ErasureProof
    from doxa.replication.protocol import SharedLog
    from doxa.replication.replica import Replica
    from doxa.replication.transfer import Moved
    from doxa.store import Store

_URL = re.compile(r"(postgresql|postgres|folder):/+")
_TENANT = re.compile(r"([?&])tenant=([^&]*)&?")


def is_shared(path: str | Path) -> bool:
    """Return whether a text is the URL of a shared log, and not the path of a file."""
    return _URL.match(str(path)) is not None


def shared_place(path: str | Path, given: dict[str, Any]) -> Path:
    """Return the path of the replica, and put the URL and the tenant into the options. The tenant
    may stand in the URL: `postgresql://host/db?tenant=acme`."""
    named = given.get("tenant") or "-"
    arguments.text(named, "tenant")
    url, tenant = split_url(path, named)
    given["shared"], given["tenant"] = url, tenant
    if given.get("replica") is not None:
        given["replica"] = folder = arguments.path(given["replica"], "replica")
    else:
        folder = default_path().parent / "replicas"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise arguments.unusable(folder, error) from None
    place = re.sub(r"//[^/@]*@", "//", url)  # any user that connects has the same log
    seal = hashlib.sha256(f"{place}\0{tenant}".encode()).hexdigest()[:24]
    return folder / f"{seal}.db"


def split_url(path: str | Path, tenant: str = "-") -> tuple[str, str]:
    """Return the URL of the engine and the tenant that it names, else the one given. Raises
    InputError if there is neither."""
    from urllib.parse import unquote

    # a path that was made of the URL has lost one of the two slashes
    url = re.sub(r"^(postgres(?:ql)?):/+", r"postgresql://", str(path))
    found = _TENANT.search(url)
    if found:
        url = (url[: found.start()] + found[1] + url[found.end() :]).rstrip("?&")
        tenant = unquote(found[2]) if tenant == "-" else tenant
    if tenant == "-":
        raise InputError(
            "A shared log is opened for a tenant, and none is named.",
            next_step="Give tenant='acme', or end the URL with ?tenant=acme.",
            field="tenant",
        )
    return url, tenant


def open_engine(config: Config) -> SharedLog | None:
    """Open the engine of a memory whose log is shared, and make the file of a new replica from a
    snapshot. None for a memory of its own."""
    from doxa.app.expressions import LazyExpressions
    from doxa.replication.opening import connect, prepare, shared_log
    from doxa.store import Store

    if config.shared is None:
        return None
    log = shared_log(config.shared)
    try:
        prepare(log, config.tenant, config.path)
        if config.read_only:  # who reads only follows as well, and then keeps that state
            with Store(config.path, clock=config.clock, expressions=LazyExpressions()) as store:
                connect(store, log, config.tenant)
                store.shared = None
    except BaseException:
        log.close()
        raise
    return log


def open_replica(store: Store, config: Config, log: SharedLog | None) -> Replica | None:
    """Connect a store with its shared log. Closes both if that fails."""
    from doxa.replication.opening import connect

    if log is None:
        return None
    try:
        return connect(store, log, config.tenant, level=config.read_level)
    except BaseException:
        store.shared = None
        store.close()
        log.close()
        raise


def replica_health(replica: Replica) -> HealthCheck:
    """Return what `doctor` says of a replica: how far it is, and whether the engine answers."""
    from doxa.maintenance.doctor import HealthCheck

    found = replica.status
    detail = f"tenant {found.tenant} at transaction {found.tx}, {found.behind} behind"
    if found.reachable:
        return HealthCheck("replica", True, detail)
    heard = "" if found.age_s is None else f", last heard of {found.age_s:.0f} s ago"
    return HealthCheck(
        "replica",
        False,
        f"{detail}; the engine does not answer{heard}: {found.problem}",
        "Reads go on; repeat writes when the engine answers.",
    )


def with_shared_traces(proof: ErasureProof, replica: Replica | None, text: str) -> ErasureProof:
    """Add to the proof of an erasure what the engine and the other replicas say."""
    from doxa.maintenance.erasure_proof import Trace
    from doxa.replication.erasure import shared_traces

    if replica is None:
        return proof
    found = tuple(Trace(*one) for one in shared_traces(replica, text))
    complete = proof.complete and all(one.state == "gone" for one in found)
    note = f"{proof.note} Of the engine: its dead rows, write-ahead log and backups."
    return replace(proof, complete=complete, traces=(*proof.traces, *found), note=note)


def replicate_file(path: Path, url: str, tenant: str = "") -> dict[str, Any]:
    """Append the log of a file to a tenant of a shared log, as it is. Returns the tenant, how many
    transactions were new there, and the token of its head."""
    from doxa.replication.opening import open_log
    from doxa.replication.transfer import replicate
    from doxa.store import Store

    engine, named = split_url(url, tenant or "-")
    if not path.is_file():
        raise arguments.unusable(path, FileNotFoundError(2, "there is no such file"))
    with Store(path, read_only=True) as store:
        log = open_log(engine)
        try:
            return _moved(replicate(store, log, named))
        finally:
            log.close()


def pull_file(url: str, path: Path, tenant: str = "") -> dict[str, Any]:
    """Make a file of a tenant of a shared log; as `replicate_file`, the other way."""
    from doxa.app.expressions import LazyExpressions
    from doxa.replication.opening import open_log
    from doxa.replication.transfer import pull

    engine, named = split_url(url, tenant or "-")
    log = open_log(engine)
    try:
        return _moved(pull(log, named, path, expressions=LazyExpressions())) | {"path": str(path)}
    finally:
        log.close()


def list_tenants(url: str) -> list[dict[str, Any]]:
    """Return the tenants of a shared log: name, transactions, bytes of their bodies, token."""
    from doxa.replication.opening import open_log

    log = open_log(split_url(url, "all")[0])
    try:
        return [
            {
                "tenant": one.tenant,
                "transactions": one.head.tx,
                "size_bytes": one.size_bytes,
                "token": one.head.token,
            }
            for one in log.tenants()
        ]
    finally:
        log.close()


def _moved(moved: Moved) -> dict[str, Any]:
    return {
        "tenant": moved.tenant,
        "transactions": moved.transactions,
        "token": moved.head.token,
    }
