"""Replicas of a shared log: the same log, state and derived rows on each, whatever was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app.expressions import LazyExpressions
from doxa.belief import declare
from doxa.replication.replica import Replica
from doxa.store import Identity, Store, check, digest, replayed_digest, verify_log
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
