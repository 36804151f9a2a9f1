"""Snapshots: a new replica that begins with one is what a replay of the whole log makes."""

from __future__ import annotations

import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.app.care.shared import replicate_file
from doxa.base.clock import FakeClock
from doxa.base.errors import ConflictError
from doxa.replication import snapshot as module
from doxa.replication import upkeep
from doxa.replication.opening import open_log
from doxa.replication.protocol import FleetLog, Snapshot
from doxa.store import check, digest, replayed_digest, verify_log
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph

OpenServer = Callable[..., Memory]


@pytest.fixture
def server(shared_url: str, tmp_path: Path) -> OpenServer:
    def again(name: str, **options: Any) -> Memory:
        given = {"tenant": "acme", "replica": tmp_path / name} | options
        return opened(shared_url, **given)  # type: ignore[arg-type]

    return again


def put(memory: Memory) -> None:
    assert memory.replica is not None
    assert module.put_snapshot(memory.store, memory.replica.log, "acme") is not None


def same(*memories: Memory) -> None:
    for memory in memories:
        assert memory.replica is not None
        memory.replica.catch_up()
        assert check(memory.store) == []
        assert digest(memory.store) == replayed_digest(memory.store)
    assert len({(digest(one.store), verify_log(one.store)) for one in memories}) == 1


def counted_reads(monkeypatch: pytest.MonkeyPatch, log: Any) -> list[int]:
    """Note after which transactions an engine is read."""
    seen: list[int] = []
    read = type(log).read

    def counted(self: Any, tenant: str, after: int, *, limit_bytes: int) -> Any:
        seen.append(after)
        return read(self, tenant, after, limit_bytes=limit_bytes)

    monkeypatch.setattr(type(log), "read", counted)
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_a_snapshot_and_the_tail_are_the_whole_log(
    server: OpenServer, seed: int, monkeypatch: pytest.MonkeyPatch, shared_url: str
) -> None:
    clock = FakeClock()
    with server("one", clock=clock) as one:
        graph = RandomGraph(one, clock, seed)
        graph.run(30)
        with server("replayed", clock=clock) as replayed:
            put(one)
            at = one.store.last_transaction()
            graph.run(10)
            assert one.replica is not None
            reads = counted_reads(monkeypatch, one.replica.log)
            with server("cold", clock=clock) as cold:
                assert reads[0] == at, "the log was read from its beginning"
                same(one, replayed, cold)
                cold.remember("written on the new one", project="p")
                same(one, replayed, cold)


def test_vectors_come_with_the_snapshot(server: OpenServer) -> None:
    with server("one") as one:
        one.remember("Deploys are on Thursday", project="p")
        one.embed()
        put(one)
        with server("cold") as cold:
            assert cold.pending() == 0
            assert one.store.take_lease("dream", held=0, ttl_ns=10**12)
            assert len(cold.recall("when do we deploy?", project="p").hits) == 1


def test_what_belongs_to_a_server_stays_there(server: OpenServer, tmp_path: Path) -> None:
    with server("one") as one:
        one.remember("Deploys are on Thursday", project="p")
        one.set_cursor("mine")
        one.backup(tmp_path / "backup.db")
        put(one)
        with server("cold") as cold:
            assert cold.cursors() == []
            with cold.store.read() as reader:
                assert reader.rows("SELECT key FROM meta WHERE key IN ('copies', 'copy')") == []


def test_an_erasure_removes_the_snapshot(server: OpenServer, shared_url: str) -> None:
    with server("one") as one:
        said = one.remember("the secret word is marzipan", project="p")
        put(one)
        assert one.replica is not None
        log = one.replica.log
        assert log.newest_snapshot("acme") is not None
        before = module.take_snapshot(one.store)
        item = said.kref.partition("?")[0]
        token = one.forget(item, erase=True, preview=True).token
        one.forget(item, erase=True, confirm=token)
        assert log.newest_snapshot("acme") is None
        with pytest.raises(ConflictError, match="erased since"):
            log.put_snapshot("acme", before)
        put(one)
        found = log.newest_snapshot("acme")
        assert found is not None
        assert b"marzipan" not in zlib.decompress(found.data[33:])
        with server("cold") as cold:
            same(one, cold)


@pytest.mark.parametrize("damage", ["content", "hash", "version", "head", "another"])
def test_a_snapshot_that_does_not_verify_is_not_used(
    server: OpenServer, damage: str, tmp_path: Path
) -> None:
    with server("one") as one, opened(tmp_path / "own.db") as stranger:
        one.remember("Deploys are on Thursday", project="p")
        stranger.remember("Deploys are on Friday", project="p")
        good = module.take_snapshot(one.store)
        data = {
            "content": good.data[:33] + zlib.compress(b"x" * 9000),
            "hash": b"\x01" + bytes(32) + good.data[33:],
            "version": b"\x02" + good.data[1:],
            "head": good.data,
            "another": module.take_snapshot(stranger.store).data,
        }[damage]
        head = good.head
        if damage == "head":  # its file ends elsewhere than it says
            one.remember("Rollbacks are on Friday", project="p")
            assert one.replica is not None
            head = one.replica.log.head("acme")
        assert one.replica is not None
        one.replica.log.put_snapshot("acme", Snapshot(head, data))
        with server("cold") as cold:
            same(one, cold)
        assert not list((tmp_path / "cold").glob("*.part"))


def test_snapshots_are_written_when_the_log_has_grown(
    server: OpenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SNAPSHOT_CHANGES_ITEMS_MIN", 5)
    with server("one") as one:
        assert one.replica is not None
        replica, log = one.replica, one.replica.log
        assert isinstance(log, FleetLog)

        def tick() -> int:
            replica.upkeep.snapshot_if_due(log, log.info("acme"))
            found = log.info("acme")
            assert found is not None
            return found.snapshot_tx

        for number in range(5):
            one.remember(f"Deploy number {number}", project="p")
        first = tick()
        assert first == one.store.last_transaction()
        one.remember("one more", project="p")
        assert tick() == first
        for number in range(5):
            one.remember(f"Rollback number {number}", project="p")
        assert tick() > first
        for number in range(5):
            one.remember(f"Release number {number}", project="p")
        second, now = log.info("acme"), one.store.clock.now_ns()
        assert second is not None
        assert log.take_lease("acme", "snapshot", held=0, now=now, ttl_ns=10**12)
        assert tick() == second.snapshot_tx, "another server has the lease"


CRASH = """
import os, sys
sys.path[:0] = {path!r}
from doxa.replication import snapshot as module
from doxa.replication import upkeep
from doxa.replication.opening import open_log
from tests.fixtures_shared import opened
def die(*_, **__):
    os._exit(9)
point = {point!r}
if point == "before the copy":
    module._strip = die
if point == "before the engine has it":
    module.zlib.compress = die
if point == "before it is verified":
    module.verify_log = die
if point == "before it has its name":
    module.os.link = die
if point == "after it has its name":
    real = os.link
    def link(*given):
        real(*given)
        os._exit(9)
    module.os.link = link
memory = opened({url!r}, tenant="acme", replica={folder!r})
module.put_snapshot(memory.store, memory.replica.log, "acme")
"""


@pytest.mark.parametrize(
    ("point", "folder"),
    [
        ("before the copy", "one"),
        ("before the engine has it", "one"),
        ("before it is verified", "cold"),
        ("before it has its name", "cold"),
        ("after it has its name", "cold"),
    ],
)
def test_a_server_that_dies_at_any_step_leaves_a_sound_replica(
    server: OpenServer, shared_url: str, tmp_path: Path, point: str, folder: str
) -> None:
    with server("one") as one:
        one.remember("Deploys are on Thursday", project="p")
        put(one)
        one.remember("Rollbacks are on Friday", project="p")
        script = CRASH.format(
            path=sys.path, point=point, url=shared_url, folder=str(tmp_path / folder)
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
        assert done.returncode == 9, done.stderr.decode()
        with server(folder) as killed, server("other") as other:
            same(one, killed, other)
            put(killed)


def test_a_file_that_goes_to_the_engine_brings_its_snapshot(
    shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SNAPSHOT_CHANGES_ITEMS_MIN", 3)
    with opened(tmp_path / "own.db") as own:
        for number in range(6):
            own.remember(f"Deploy number {number}", project="p")
        last = own.store.last_transaction()
    replicate_file(tmp_path / "own.db", shared_url, "acme")
    log = open_log(shared_url)
    found = log.newest_snapshot("acme")
    log.close()
    assert found is not None and found.head.tx == last


def test_what_is_too_large_for_a_snapshot_has_none_and_goes_on(
    server: OpenServer, shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SNAPSHOT_CHANGES_ITEMS_MIN", 3)
    open_log(shared_url).close()  # loads the engine, whose driver is optional
    for name in ("folder", "postgres"):
        engine = sys.modules.get(f"doxa.replication.engines.{name}")
        if engine is not None:
            monkeypatch.setattr(engine, "SNAPSHOT_BYTES_MAX", 1_000)
    with opened(tmp_path / "own.db") as own:
        for number in range(6):
            own.remember(f"Deploy number {number}", project="p")
    replicate_file(tmp_path / "own.db", shared_url, "acme")
    with server("one") as one:
        assert one.replica is not None
        replica, log = one.replica, one.replica.log
        assert isinstance(log, FleetLog) and log.newest_snapshot("acme") is None
        tries: list[int] = []
        real = upkeep.put_snapshot

        def counted(*given: Any) -> Any:
            tries.append(1)
            return real(*given)

        monkeypatch.setattr(upkeep, "put_snapshot", counted)
        for _ in range(3):
            replica.upkeep.snapshot_if_due(log, log.info("acme"))
        assert len(tries) <= 1  # the thread that follows may have tried it before
        one.remember("one more", project="p")
        assert replica.status.reachable and not replica.status.problem
