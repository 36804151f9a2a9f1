"""A memory whose log is shared with other servers: its URL, its replica, and how far that is."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.app.config import Config, default_path
from doxa.base.errors import InputError
from doxa.base.files.places import mark_of_replica
from doxa.ingestion import arguments
from doxa.store.stages import Stages, no_stages

if TYPE_CHECKING:
    from doxa.maintenance.doctor import HealthCheck
    from doxa.maintenance.erasure_proof import ErasureProof
    from doxa.replication.protocol import FleetLog, SharedLog, TenantInfo
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
    snapshot. None for a memory of its own. Raises InputError for a replica's file that is to be
    written without its engine."""
    if config.shared is None:
        if config.path.exists() and not config.read_only and mark_of_replica(config.path).exists():
            raise _written_by_itself(config.path)
        return None
    from doxa.app.expressions import LazyExpressions
    from doxa.replication.opening import connect, prepare, shared_log
    from doxa.store import Store

    log = shared_log(config.shared)
    try:
        prepare(log, config.tenant, config.path, reopen=_reopening(config.shared))
        if config.read_only:  # who reads only follows as well, and then keeps that state
            with Store(config.path, clock=config.clock, expressions=LazyExpressions()) as store:
                connect(store, log, config.tenant)
                store.shared = None
    except BaseException:
        log.close()
        raise
    return log


def _written_by_itself(path: Path) -> InputError:
    return InputError(
        f"{path} is the replica of a shared log: what is written to the file alone reaches nobody,"
        " and the replica could not follow its log any more.",
        next_step=(
            "Open the URL of the engine with its tenant, or, in Python, the file with"
            " read_only=True. To go on without the engine, make a backup and use that file."
        ),
        field="path",
    )


def _reopening(url: str) -> Callable[[str], SharedLog]:
    """Open the engine that a tenant moved to, with the login of the one that it left."""

    def reopen(moved_to: str) -> SharedLog:
        from doxa.replication.moving import with_login
        from doxa.replication.opening import shared_log

        return shared_log(with_login(moved_to, url))

    return reopen


def open_replica(store: Store, config: Config, log: SharedLog | None) -> Replica | None:
    """Connect a store with its shared log. Closes both if that fails."""
    if log is None:
        return None
    from doxa.replication.opening import connect

    try:
        assert config.shared is not None
        reopen = _reopening(config.shared)
        return connect(store, log, config.tenant, level=config.read_level, reopen=reopen)
    except BaseException:
        store.shared = None
        store.close()
        log.close()
        raise


class TenantDirectory:
    """The tenants of an engine, and where their replicas are in a folder."""

    def __init__(self, url: str, folder: str | Path | None = None) -> None:
        """Raises InputError for a URL that is not one of an engine."""
        from doxa.replication.opening import shared_log

        self.url = split_url(url, "all")[0]
        self._given = {} if folder is None else {"replica": folder}
        self.folder = self.file("-all-").parent
        self._log = shared_log(self.url)

    def names(self) -> list[str]:
        """Return the names of the tenants that have not moved away."""
        return [one.tenant for one in self._log.tenants() if not one.moved_to]

    def exists(self, tenant: str) -> bool:
        return self._log.info(tenant) is not None if isinstance(self._log, _fleet()) else False

    def create(self, tenant: str) -> None:
        create_tenant(self.url, tenant)

    def file(self, tenant: str) -> Path:
        """Return the path of the replica of a tenant."""
        return shared_place(self.url, {"tenant": tenant, **self._given})

    def remember(self, tenant: str) -> None:
        """Keep the name of a tenant whose replica is made, since its file's name is a hash."""
        path = Path(f"{self.file(tenant)}.tenant")
        if not path.exists():  # in one step, since others list the folder meanwhile
            part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.part")
            part.write_text(tenant)
            part.replace(path)

    def known(self) -> list[str]:
        """Return the tenants whose replicas were made in the folder."""
        return [path.read_text() for path in sorted(self.folder.glob("*.tenant"))]

    def withdraw(self, tenant: str) -> None:
        """Say at the engine that the file of a replica is deleted."""
        from doxa.replication.upkeep import replica_name

        if isinstance(self._log, _fleet()):
            self._log.withdraw(tenant, replica_name(self.file(tenant)))

    def close(self) -> None:
        self._log.close()


def _fleet() -> type[FleetLog]:
    from doxa.replication.protocol import FleetLog

    return FleetLog


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


def with_shared_traces(
    proof: ErasureProof, replica: Replica | None, text: str, *, stages: Stages = no_stages
) -> ErasureProof:
    """Add to the proof of an erasure what the engine and the other replicas say."""
    from doxa.maintenance.erasure_proof import Trace
    from doxa.replication.erasure import shared_traces

    if replica is None:
        return proof
    found = tuple(Trace(*one) for one in shared_traces(replica, text, stages=stages))
    complete = proof.complete and all(one.state == "gone" for one in found)
    note = f"{proof.note} Of the engine: its dead rows, write-ahead log and backups."
    return replace(proof, complete=complete, traces=(*proof.traces, *found), note=note)


def replicate_file(
    path: Path, url: str, tenant: str = "", *, stages: Stages = no_stages
) -> dict[str, Any]:
    """Append the log of a file to a tenant of a shared log, as it is. Returns the tenant, how many
    transactions were new there, and the token of its head."""
    from doxa.replication.opening import open_log
    from doxa.replication.transfer import replicate
    from doxa.store import Store

    engine, named = split_url(url, tenant or "-")
    if not path.is_file():
        raise arguments.unusable(path, FileNotFoundError(2, "the file does not exist"))
    with Store(path, read_only=True) as store:
        log = open_log(engine)
        try:
            return _moved(replicate(store, log, named, stages=stages))
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
    """Return the tenants of a shared log: name, transactions, bytes of their bodies, token, quota,
    replicas that have reported and how far the last of them is behind, and where it moved."""
    with _engine(url) as (log, _):
        return [_tenant_row(log, one) for one in log.tenants()]


def create_tenant(url: str, tenant: str = "", *, engines: Iterable[str] = ()) -> dict[str, Any]:
    """Make an empty tenant at an engine; of several, at the one to which it belongs. Raises
    ConflictError if one of them has it."""
    from doxa.base.errors import ConflictError

    place = place_tenant(url, tenant, engines=engines)
    if place["exists"]:
        raise ConflictError(
            f"Tenant {place['tenant']} exists already, at {place['engine']}.",
            next_step="Choose another name.",
            tenant=place["tenant"],
        )
    with _engine(place["url"], place["tenant"]) as (log, named):
        return _tenant_row(log, log.configure(named))


def place_tenant(url: str, tenant: str = "", *, engines: Iterable[str] = ()) -> dict[str, Any]:
    """Return the engine that has a tenant, or else the one to which it belongs: of those given, by
    a hash of both names. Where a tenant is goes before where it belongs."""
    from doxa.replication.moving import engine_of, without_password

    first, named = split_url(url, tenant or "-")
    urls = [first, *(split_url(one, named)[0] for one in engines)]
    found = ""
    for one in urls:
        with _engine(one, named) as (log, _):
            info = log.info(named)
            if info is not None and not info.moved_to:
                found = one
    chosen = found or engine_of(named, urls)
    return {
        "tenant": named,
        "engine": without_password(chosen),
        "exists": bool(found),
        "url": chosen,
    }


def set_tenant_quota(url: str, size_bytes: int, tenant: str = "") -> dict[str, Any]:
    """Limit the bytes of a tenant's log at its engine, 0 for no limit. Each append is checked."""
    arguments.whole(size_bytes, "size_bytes")
    with _engine(url, tenant) as (log, named):
        _require_tenant(log, named)
        return _tenant_row(log, log.configure(named, quota_bytes=size_bytes))


def move_tenant_to(
    url: str, target: str, tenant: str = "", *, stages: Stages = no_stages
) -> dict[str, Any]:
    """Move a tenant to another engine, while servers use it. Repeat it if it was interrupted."""
    from doxa.replication.moving import move_tenant

    there, named = split_url(target, split_url(url, tenant or "-")[1])
    with _engine(url, named) as (source, _), _engine(there, named) as (log, _):
        here = split_url(url, named)[0]
        moved = move_tenant(source, log, named, source_url=here, target_url=there, stages=stages)
        return {
            "tenant": named,
            "transactions": moved.transactions,
            "token": moved.head.token,
            "pause_s": round(moved.pause_s, 3),
        }


def list_replicas(url: str, tenant: str = "") -> list[dict[str, Any]]:
    """Return what each replica of a tenant has reported."""
    with _engine(url, tenant) as (log, named):
        head = _require_tenant(log, named).head.tx
        return [
            {
                "replica": one.name,
                "tx": one.tx,
                "behind": max(0, head - one.tx),
                "scrubbed_tx": one.scrubbed_tx,
                "age_s": round(one.age_s, 1),
            }
            for one in log.reports(named)
        ]


def withdraw_replica(url: str, replica: str, tenant: str = "") -> dict[str, Any]:
    """Forget a replica whose file is gone, so that proofs of erasures do not wait for it."""
    with _engine(url, tenant) as (log, named):
        _require_tenant(log, named)
        log.withdraw(named, replica)
        return {"tenant": named, "withdrawn": replica}


@contextmanager
def _engine(url: str, tenant: str = "all") -> Iterator[tuple[FleetLog, str]]:
    from doxa.replication.opening import open_log
    from doxa.replication.protocol import FleetLog

    engine, named = split_url(url, tenant or "-")
    log = open_log(engine)
    try:
        assert isinstance(log, FleetLog), "every engine of a URL is one"
        yield log, named
    finally:
        log.close()


def _require_tenant(log: FleetLog, tenant: str) -> TenantInfo:
    from doxa.base.errors import NotFoundError

    found = log.info(tenant)
    if found is None:
        raise NotFoundError(
            f"The engine has no tenant {tenant}.", next_step="List them: `doxa tenants list`."
        )
    return found


def _tenant_row(log: FleetLog, one: TenantInfo) -> dict[str, Any]:
    reports = [] if one.moved_to else log.reports(one.tenant)
    behind = [max(0, one.head.tx - said.tx) for said in reports]
    return {
        "tenant": one.tenant,
        "transactions": one.head.tx,
        "size_bytes": one.size_bytes,
        "quota_bytes": one.quota_bytes,
        "token": one.head.token,
        "snapshot": one.snapshot_tx,
        "replicas": len(reports),
        "behind": max(behind, default=0),
        "moved_to": one.moved_to,
    }


def _moved(moved: Moved) -> dict[str, Any]:
    return {
        "tenant": moved.tenant,
        "transactions": moved.transactions,
        "token": moved.head.token,
    }
