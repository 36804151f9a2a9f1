"""Redis out of reach, and a fail-over by Sentinel: what is lost, and what is not."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.base.clock import SystemClock
from doxa.base.errors import StoreError
from doxa.working import WorkingMemory, open_working
from tests.working.conftest import free_port, program, server_arguments, started

_WAIT_S = 60


def opened(url: str, folder: Path) -> WorkingMemory:
    path = folder / "m.working"
    return open_working(url, path, clock=SystemClock(), ttl_s=3_600, read_only=False)


def test_a_server_out_of_reach_is_an_error_that_shows_no_password(tmp_path: Path) -> None:
    pytest.importorskip("redis", reason="the package redis is not installed")
    working = opened(f"redis://:hunter2@127.0.0.1:{free_port()}/0?prefix=p", tmp_path)
    with pytest.raises(StoreError) as caught:
        working.add("x", project="shop", session="s")
    assert "hunter2" not in f"{caught.value} {caught.value.fields}"
    assert not list(tmp_path.iterdir())  # nothing falls back to a file in silence


class Cluster:
    """A master, a replica and three Sentinels on this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = [free_port() for _ in range(2)]
        self.sentinels = [free_port() for _ in range(3)]
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        master, replica = self.ports
        for port, more in ((master, ()), (replica, ("--replicaof", "127.0.0.1", str(master)))):
            place = self.folder / str(port)
            place.mkdir()
            more = (*more, "--repl-diskless-sync-delay", "0")
            self.processes.append(started(server_arguments(place, port, *more), port))
        for port in self.sentinels:
            place = self.folder / f"sentinel-{port}.conf"
            place.write_text(
                f"port {port}\nbind 127.0.0.1\ndir {self.folder}\n"
                f"sentinel monitor doxa 127.0.0.1 {master} 2\n"
                "sentinel down-after-milliseconds doxa 500\n"
                "sentinel failover-timeout doxa 3000\n"
            )
            self.processes.append(started([program("redis-sentinel"), str(place)], port))

    @property
    def url(self) -> str:
        places = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        return f"redis+sentinel://{places}/doxa/0?prefix=p"

    def wait_until_watched(self) -> None:
        """Until the replica follows and every Sentinel knows it and the others."""
        import redis

        def ready() -> bool:
            info = redis.Redis(port=self.ports[1]).info("replication")
            states = [redis.Redis(port=port).sentinel_master("doxa") for port in self.sentinels]
            return info["master_link_status"] == "up" and all(
                state["num-slaves"] == 1 and state["num-other-sentinels"] == 2 for state in states
            )

        self._until(ready)

    def _until(self, condition: object) -> None:
        end = time.monotonic() + _WAIT_S
        while not condition():  # type: ignore[operator]
            assert time.monotonic() < end, "the servers did not come to the state in time"
            time.sleep(0.1)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    program("redis-sentinel")
    found = Cluster(tmp_path)
    try:
        found.start()
        found.wait_until_watched()
        yield found
    finally:
        found.stop()


def test_a_fail_over_loses_the_newest_messages_at_most(cluster: Cluster, tmp_path: Path) -> None:
    import redis

    working = opened(cluster.url, tmp_path)
    sent = [f"before {number}" for number in range(10)]
    for text in sent:
        working.add(text, project="shop", user="ana")
    master = redis.Redis(port=cluster.ports[0])
    assert master.wait(1, 10_000) == 1  # the replica has these
    handle = working.sessions(project="shop")[0].session
    for number in range(20):
        sent.append(f"late {number}")
        working.add(sent[-1], project="shop", session=handle)
    cluster.processes[0].kill()

    end, refused = time.monotonic() + _WAIT_S, 0
    while True:  # as a caller does: again, with the same key
        try:
            after = working.add(
                "after", project="shop", session=handle, idempotency_key="the first after"
            )
            break
        except StoreError:
            refused += 1
            assert time.monotonic() < end, "there is no new master"
            time.sleep(0.2)
    held = [one.text for one in working.get(project="shop", session=handle).messages]
    assert held[-1] == "after" and held.count("after") == 1
    kept = held[:-1]
    assert kept == sent[: len(kept)] and len(kept) >= 10  # a beginning of what was acknowledged
    assert after.session == handle
    assert working.add("next", project="shop", user="ana").session == handle
    working.close()
