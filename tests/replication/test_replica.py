"""Replicas of a shared log: the same log, state and derived rows on each, whatever was written."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app.expressions import LazyExpressions
from doxa.base.errors import BusyError, CorruptError, InputError, StoreError, UnreachableError
from doxa.base.ids import NodeId
from doxa.belief import declare
from doxa.replication.following import apply_transactions
from doxa.replication.replica import Replica, ReplicaTurn
from doxa.store import Identity, Store, Transaction, check, digest, replayed_digest, verify_log
from tests.replication.conftest import OpenLog

ANA, ROOT = Identity("ana", "agent"), Identity("root", "operator")
OpenReplica = Callable[..., Replica]


@pytest.fixture
def open_replica(open_log: OpenLog, tmp_path: Path) -> Iterator[OpenReplica]:
    """A function that opens a replica of tenant acme; `name` is its file."""
    opened: list[Replica] = []

    def again(name: str, **options: Any) -> Replica:
        store = Store(tmp_path / f"{name}.db", expressions=LazyExpressions())
        opened.append(Replica(store, open_log(), "acme", **options))
        return opened[-1]

    yield again
    for replica in opened:
        replica.store.shared = None
        replica.store.close()
        replica.log.close()


def write(replica: Replica, **props: Any) -> int:
    with replica.store.write(ANA, op="test") as tx:
        return tx.create_node(["Thing"], props)


def same(*replicas: Replica) -> None:
    """Every replica proves itself, and all are one."""
    for one in replicas:
        one.catch_up()
        verify_log(one.store)
        assert check(one.store) == []
        assert digest(one.store) == replayed_digest(one.store)
    assert len({verify_log(one.store) for one in replicas}) == 1
    assert len({digest(one.store) for one in replicas}) == 1


@pytest.mark.parametrize("first", ["empty", "follows", "rebuilt"])
def test_what_is_repeated_is_applied_once(open_replica: OpenReplica, first: str) -> None:
    """Runs that overlap, for a new file, one that follows and one that is rebuilt."""
    one, other = open_replica("one"), open_replica("other")
    if first != "empty":
        write(one, n=0)
        other.catch_up()
    nodes = [write(one, n=number) for number in range(1, 5)]
    if first == "rebuilt":
        with one.store.write(ROOT, op="forget") as tx:
            tx.erase([NodeId(nodes[0])])
    told = one.log.read("acme", 0, limit_bytes=1 << 20)
    runs = [told[:2], told[:3], told[1:4], told[2:]]
    assert apply_transactions(other.store, "acme", runs).tx == len(told)
    same(one, other)


def test_what_one_writes_the_other_has(open_replica: OpenReplica) -> None:
    one, other = open_replica("one"), open_replica("other")
    declare(one.store)
    node = write(one, text="Deploys are on Thursdays", n=1)
    other.catch_up()
    with other.store.read() as snapshot:
        found = snapshot.node(node)
    assert found is not None and found.props["text"] == "Deploys are on Thursdays"
    write(other, text="from the other")
    write(one, text="from the first again")
    same(one, other, open_replica("late"))


def test_a_write_that_raises_leaves_nothing_anywhere(open_replica: OpenReplica) -> None:
    one, other = open_replica("one"), open_replica("other")
    with pytest.raises(ZeroDivisionError), one.store.write(ANA, op="test") as tx:
        tx.create_node(["Thing"], {})
        _ = 1 / 0
    assert one.log.head("acme").tx == 0
    write(other, n=1)
    same(one, other)


def test_writes_at_once_make_one_chain_on_every_replica(
    open_replica: OpenReplica, tally: Callable[..., None]
) -> None:
    """Two servers, two threads each, and a third that only follows."""
    replicas, follower = [open_replica("one"), open_replica("two")], open_replica("three")
    follower.start()
    failed: list[BaseException] = []

    def run(replica: Replica, name: str) -> None:
        try:
            for number in range(20):
                write(replica, by=name, n=number)
        except BaseException as error:
            failed.append(error)

    threads = [
        threading.Thread(target=run, args=(replica, f"{place}/{number}"))
        for place, replica in enumerate(replicas)
        for number in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert follower.wait_for(replicas[0].log.head("acme").token, timeout_s=30).tx == 80
    follower.stop_following()
    same(*replicas, follower)
    with follower.store.read() as snapshot:
        rows = snapshot.rows(
            "SELECT json_extract(props, '$.by'), json_extract(props, '$.n') FROM node"
        )
    assert len(rows) == len(set(rows)) == 80
    tally(writes=len(rows))


CRASH = """
import os, sys
sys.path[:0] = {path!r}
from doxa.replication import replica as module
from doxa.replication.opening import open_log
from doxa.store import Identity, Store
store = Store({file!r})
link = module.Replica(store, open_log({url!r}), "acme")
link.catch_up()
append = type(link.log.hold("acme", wait_ms=10_000))
link.log.close()
link.log = open_log({url!r})
real = append.append
def crash(self, transactions):
    if {point!r} == "before append":
        os._exit(9)
    real(self, transactions)
    os._exit(9)
append.append = crash
if {point!r} == "before finish":
    with store.write(Identity("ana", "agent"), op="test") as tx:
        tx.create_node(["Thing"], {{"text": "lost or kept"}})
        os._exit(9)
with store.write(Identity("ana", "agent"), op="test") as tx:
    tx.create_node(["Thing"], {{"text": "lost or kept"}})
"""


@pytest.mark.parametrize(
    ("point", "kept"), [("before finish", 0), ("before append", 0), ("before local commit", 1)]
)
def test_a_server_that_dies_at_any_step_loses_nothing_that_was_committed(
    open_replica: OpenReplica, shared_url: str, tmp_path: Path, point: str, kept: int
) -> None:
    other = open_replica("other")
    write(other, text="before")
    script = CRASH.format(
        path=sys.path, file=str(tmp_path / "killed.db"), url=shared_url, point=point
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=120)
    assert done.returncode == 9, done.stderr.decode()
    write(other, text="after")
    killed = open_replica("killed")
    same(killed, other)
    with killed.store.read() as snapshot:
        texts = snapshot.rows("SELECT json_extract(props, '$.text') FROM node ORDER BY id")
    assert [text for (text,) in texts] == ["before"] + ["lost or kept"] * kept + ["after"]


def test_an_append_that_fails_leaves_the_replica_as_it_was(
    open_replica: OpenReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = open_replica("one")
    write(one, n=1)
    before = digest(one.store)

    def refuse(*_: object) -> None:
        raise UnreachableError("The wire was cut.", next_step="Repair it.")

    hold = type(one.log.hold("acme", wait_ms=1_000).__enter__())
    one.log.close()
    one = open_replica("one")
    monkeypatch.setattr(hold, "append", refuse)
    with pytest.raises(UnreachableError, match="wire was cut"):
        write(one, n=2)
    monkeypatch.undo()
    assert digest(one.store) == before
    assert not one.status.reachable
    write(one, n=3)
    assert one.status.reachable
    same(one, open_replica("other"))


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_file_that_is_moved_before_the_append_and_after_it(
    open_replica: OpenReplica, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    one, place = open_replica("one"), tmp_path / "one.db"
    write(one, n=1)
    commit = ReplicaTurn.commit

    def and_move(self: ReplicaTurn, tx: Transaction) -> None:
        commit(self, tx)
        place.rename(tmp_path / "away.db")

    if when == "after":  # what the log has is written, and answered as such
        monkeypatch.setattr(ReplicaTurn, "commit", and_move)
        write(one, n=2)
    else:
        with (
            pytest.raises(StoreError, match="moved, removed or replaced"),
            one.store.write(ANA, op="test") as tx,
        ):
            tx.create_node(["Thing"], {"n": 2})
            place.rename(tmp_path / "away.db")
    monkeypatch.undo()
    (tmp_path / "away.db").rename(place)
    other = open_replica("other")
    same(one, other)
    with other.store.read() as reader:
        assert reader.count("Thing") == (2 if when == "after" else 1)


def test_reads_at_the_latest_level_have_what_others_wrote(open_replica: OpenReplica) -> None:
    one, other = open_replica("one"), open_replica("other")
    node = write(one, n=1)

    def seen() -> bool:
        with other.store.read() as snapshot:
            return snapshot.node(NodeId(node)) is not None

    assert not seen()
    with other.reading("latest"):
        assert seen()
    with pytest.raises(InputError, match="not a level"), other.reading("newest"):
        pass


def test_a_token_of_one_server_is_honoured_by_another(open_replica: OpenReplica) -> None:
    one, other = open_replica("one"), open_replica("other")
    write(one, n=1)
    token = one.log.head("acme").token
    assert other.wait_for(token, timeout_s=10).token == token
    assert other.wait_for(f"0@{'00' * 32}", timeout_s=0).tx == 1
    with pytest.raises(BusyError, match="has not reached change 7"):
        other.wait_for(f"7@{'00' * 32}", timeout_s=0.1)
    with pytest.raises(InputError, match="not of this log"):
        other.wait_for(f"1@{'00' * 32}", timeout_s=0.1)
    with pytest.raises(InputError, match="not a token"):
        other.wait_for("one", timeout_s=0.1)


def test_a_file_with_a_log_of_its_own_is_not_taken_for_a_replica(
    open_replica: OpenReplica, tmp_path: Path
) -> None:
    one = open_replica("one")
    write(one, n=1)
    with Store(tmp_path / "own.db") as own, own.write(ANA, op="test") as tx:
        tx.create_node(["Thing"], {"n": 2})
    stranger = open_replica("own")
    with pytest.raises(CorruptError, match="differ at or before transaction 1"):
        stranger.catch_up()
    with pytest.raises(CorruptError), stranger.store.write(ANA, op="test") as tx:
        tx.create_node(["Thing"], {})
    assert one.log.head("acme").tx == 1


def test_an_erasure_reaches_log_and_replicas(open_replica: OpenReplica, tmp_path: Path) -> None:
    one, other = open_replica("one"), open_replica("other")
    node = write(one, text="the secret word is marzipan")
    other.catch_up()
    with one.store.write(ROOT, op="forget") as tx:
        assert tx.erase([NodeId(node)])
    one.store.scrub()
    late = open_replica("late")
    same(one, other, late)
    for name in ("one", "other", "late"):
        for path in tmp_path.glob(f"{name}.db*"):
            assert b"marzipan" not in path.read_bytes(), path
    for transaction in one.log.read("acme", 0, limit_bytes=1 << 20):
        assert b"marzipan" not in repr(transaction).encode()


def test_a_job_runs_on_one_server_at_a_time(open_replica: OpenReplica) -> None:
    one, other = open_replica("one"), open_replica("other")
    token = one.store.take_lease("dream", held=0, ttl_ns=60_000_000_000)
    assert token and not other.store.take_lease("dream", held=0, ttl_ns=60_000_000_000)
    with other.store.read() as reader, one.store.write(ROOT, op="test") as tx:
        assert reader.lease_until("dream") == tx.lease_until("dream") == token
    one.store.take_lease("dream", held=token, ttl_ns=0)
    assert other.store.take_lease("dream", held=0, ttl_ns=60_000_000_000)
