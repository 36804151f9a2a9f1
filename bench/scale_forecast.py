"""What a number of tenants takes: engines, servers, disk, and what runs out next. A calculation
from measured coefficients and a stated profile of one tenant; no measurement of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Coefficients:
    """What one engine and one server do, as measured."""

    engine_writes_per_s: float  # of many tenants, durable
    tenant_writes_per_s: float  # of one tenant: one after the other
    server_writes_per_s: float  # through replicas, one server
    engine_bytes: float  # a memory, with indexes
    replica_bytes: float  # a memory
    connections: float  # a server


@dataclass(frozen=True, slots=True)
class Profile:
    """One tenant on an ordinary day, and the machines that are bought."""

    memories: int = 2_000
    writes_a_day: float = 100.0
    peak: float = 4.0  # the busiest hour over the mean
    open_share: float = 0.05  # of all tenants, whose replica lies at a server
    disk_bytes: float = 2e12  # of an engine
    replica_disk_bytes: float = 4e11  # of a server
    copies: int = 3  # a primary and two standbys
    used: float = 0.6  # how much of what a machine can do is planned with
    connections: int = 400  # that an engine gives
    engine_price: float = 350.0  # a machine of an engine a month, in US dollars: assumed, no offer
    server_price: float = 70.0  # a server a month, with its own disk
    disk_price: float = 100.0  # a terabyte of an engine's disk a month, used or not


@dataclass(frozen=True, slots=True)
class Forecast:
    """Clusters of engines, machines of engines, servers, and what decided their number."""

    tenants: int
    writes_per_s: float
    clusters: int
    engines: int
    servers: int
    engine_disk_bytes: float
    replica_disk_bytes: float
    cost_a_month: float  # US dollars, at the profile's assumed prices
    limit: str
    tenants_to_next: int


def forecast(tenants: int, known: Coefficients, profile: Profile = Profile()) -> Forecast:
    """Return what this many tenants take."""
    writes = tenants * profile.writes_a_day * profile.peak / _DAY_S
    at_engine = tenants * profile.memories * known.engine_bytes
    at_servers = tenants * profile.open_share * profile.memories * known.replica_bytes
    servers = {
        "writes of a server": writes / (known.server_writes_per_s * profile.used),
        "disk of a server": at_servers / (profile.replica_disk_bytes * profile.used),
    }
    count = max(2, math.ceil(max(servers.values())))
    clusters = {
        "writes of an engine": writes / (known.engine_writes_per_s * profile.used),
        "disk of an engine": at_engine / (profile.disk_bytes * profile.used),
        "connections of an engine": count * known.connections / profile.connections,
    }
    needed = max(1, math.ceil(max(clusters.values())))
    bought = dict.fromkeys(clusters, needed) | dict.fromkeys(servers, count)
    wanted = clusters | servers
    if needed == 1:  # more servers are not more tenants: their connections say nothing yet
        wanted.pop("connections of an engine")
    limit = max(wanted, key=lambda name: wanted[name] / bought[name])
    return Forecast(
        tenants,
        writes,
        needed,
        needed * profile.copies,
        count,
        at_engine * profile.copies,
        at_servers,
        _cost(needed * profile.copies, count, profile),
        limit,
        int(tenants * bought[limit] / wanted[limit]),
    )


def _cost(engines: int, servers: int, like: Profile) -> float:
    engine = like.engine_price + like.disk_bytes / 1e12 * like.disk_price
    return engines * engine + servers * like.server_price
