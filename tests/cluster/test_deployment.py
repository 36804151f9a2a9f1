"""The files of deploy/: complete, named in the runbook, and the same in each way to start them."""

from __future__ import annotations

import re
from string import Template

import pytest

from bench.scale_forecast import Coefficients, Profile, forecast
from tests.cluster.conftest import ROOT, script

DEPLOY = ROOT / "deploy"
FILLED = ("etcd.env", "patroni.env", "redis.conf", "sentinel.conf")


def test_every_file_is_in_the_runbook() -> None:
    told = (DEPLOY / "README.md").read_text()
    files = [path.relative_to(DEPLOY).as_posix() for path in DEPLOY.rglob("*") if path.is_file()]
    assert len(files) >= 13
    assert [name for name in files if name not in told and name != "README.md"] == []


@pytest.mark.parametrize("name", FILLED)
def test_the_script_fills_in_what_the_files_leave_open(name: str, tmp_path: object) -> None:
    cluster = script.Cluster("doxa-none")
    cluster._passwords = lambda: {
        f"{word}_PASSWORD": "x" for word in ("SUPERUSER", "REPLICATION", "REWIND", "DOXA", "REDIS")
    }
    cluster._own = lambda host: cluster.folder / host
    try:
        values = cluster._values("db2")
    except script.Refused:
        pytest.skip("PostgreSQL is absent: run scripts/cluster install")
    text = Template((DEPLOY / name).read_text()).substitute(values)
    assert values["ADDRESS"] in text and "$" not in text


def test_the_containers_get_what_the_hosts_get() -> None:
    """The same variables of Patroni and etcd, however they are started."""
    compose = (DEPLOY / "compose.yaml").read_text()
    for name in ("patroni.env", "etcd.env"):
        for variable in re.findall(r"(?m)^((?:PATRONI|ETCD)_\w+)=", (DEPLOY / name).read_text()):
            tuned = ("ETCD_HEARTBEAT_INTERVAL", "ETCD_ELECTION_TIMEOUT")
            assert variable in compose or variable in (*tuned, "ETCD_AUTO_COMPACTION_RETENTION")


def test_a_leader_that_is_cut_off_steps_down_before_it_is_replaced() -> None:
    """And nothing is acknowledged by one host."""
    text = (DEPLOY / "patroni.yml").read_text()
    found = {name: int(n) for name, n in re.findall(r"(\w+): (\d+)\b", text)}
    assert found["ttl"] >= found["loop_wait"] + 2 * found["retry_timeout"]
    for line in ("synchronous_mode: true", "synchronous_mode_strict: true"):
        assert line in text
    assert 'synchronous_commit: "on"' in text and 'restart_after_crash: "off"' in text


KNOWN = Coefficients(
    engine_writes_per_s=1_000.0,
    tenant_writes_per_s=200.0,
    server_writes_per_s=300.0,
    engine_bytes=1_000.0,
    replica_bytes=3_000.0,
    connections=10.0,
)


def test_a_forecast_buys_what_it_needs() -> None:
    """Nothing is used beyond what is planned with, and one tenant more at the next limit is."""
    like = Profile()
    for tenants in (1_000, 10**6, 10**8):
        one = forecast(tenants, KNOWN)
        assert one.clusters * KNOWN.engine_writes_per_s * like.used >= one.writes_per_s
        assert one.servers * KNOWN.server_writes_per_s * like.used >= one.writes_per_s
        assert one.engines == 3 * one.clusters and one.servers >= 2
        assert one.tenants_to_next >= tenants
        beyond = forecast(int(one.tenants_to_next * 1.01) + 1, KNOWN)
        assert beyond.clusters + beyond.servers > one.clusters + one.servers
    assert forecast(1_000, KNOWN).clusters == 1


def test_a_forecast_costs_what_it_buys() -> None:
    prices = Profile(disk_bytes=3e12, engine_price=100.0, server_price=10.0, disk_price=5.0)
    one = forecast(10**6, KNOWN, prices)
    assert one.engines > 3 and one.servers > 2
    assert one.cost_a_month == one.engines * (100.0 + 3 * 5.0) + one.servers * 10.0


def test_larger_tenants_need_disks_and_busier_ones_engines() -> None:
    large = forecast(10**6, KNOWN, Profile(memories=200_000))
    busy = forecast(10**6, KNOWN, Profile(writes_a_day=10_000))
    assert "disk" in large.limit and "writes" in busy.limit
