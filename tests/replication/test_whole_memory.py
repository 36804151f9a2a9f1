"""Memories on a shared log: every verb on one server, the same state on the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doxa.app import Memory
from doxa.app.care.shared import pull_file
from doxa.base.clock import FakeClock
from doxa.base.errors import InputError
from doxa.store import check, digest, replayed_digest, verify_log
from tests.fixtures_shared import opened
from tests.transfer.random_graphs import RandomGraph


@pytest.fixture
def server(shared_url: str, tmp_path: Path) -> Callable[..., Memory]:
    """A function that opens a memory as server `name` has it."""

    def again(name: str, **options: Any) -> Memory:
        given = {"tenant": "acme", "replica": tmp_path / name} | options
        return opened(shared_url, **given)  # type: ignore[arg-type]

    return again


def proved(*memories: Memory) -> None:
    """All have one log and one state, and each proves its own."""
    for memory in memories:
        assert memory.replica is not None
        memory.replica.catch_up()
    assert len({verify_log(memory.store) for memory in memories}) == 1
    assert len({digest(memory.store) for memory in memories}) == 1
    for memory in memories:
        assert digest(memory.store) == replayed_digest(memory.store)
        assert check(memory.store) == []


@pytest.mark.parametrize("part", range(4))
def test_random_operations_reach_every_replica(
    server: Callable[..., Memory], part: int, campaign: int, tally: Callable[..., None]
) -> None:
    """One replica follows every few operations, one comes at the end."""
    seed, clock = int(os.environ.get("DOXA_SEED", 0)) + part, FakeClock()
    with server("one", clock=clock) as first, server("two", clock=clock) as second:
        graph = RandomGraph(first, clock, seed)
        for _ in range(15 * campaign):
            graph.run(4)
            proved(first, second)
        with server("three", clock=clock) as third:
            proved(first, second, third)
        query = "MATCH (n) RETURN elementId(n) AS id, labels(n) AS l, properties(n) AS p ORDER BY n"
        assert repr(first.run(query).records()) == repr(second.run(query).records())
    tally(operations=sum(graph.done.values()))


def test_two_servers_write_in_turn(server: Callable[..., Memory]) -> None:
    with server("one") as first, server("two") as second:
        for number in range(6):
            memory = (first, second)[number % 2]
            memory.remember(f"Deploy number {number} is on Thursday", project="shop")
        assert len(first.recall("deploy Thursday", project="shop", limit=20).hits) >= 5
        proved(first, second)


def test_a_repeated_call_on_another_server_gets_the_first_answer(
    server: Callable[..., Memory],
) -> None:
    with server("one") as first, server("two") as second:
        made = first.remember("We ship on Monday", project="shop", idempotency_key="k1")
        again = second.remember("We ship on Monday", project="shop", idempotency_key="k1")
        assert again == made
        assert second.store.last_transaction() == first.store.last_transaction()
        proved(first, second)


def test_a_bound_session_writes_through_the_engine(server: Callable[..., Memory]) -> None:
    with server("one") as first, server("two") as second:
        second.session(projects=["shop"]).remember("Apples are in", project="shop")
        first.session(projects=["shop"]).remember("Pears are in", project="shop")
        assert len(first.session(projects=["shop"]).recall("apples pears").hits) == 2
        proved(first, second)


def test_the_tenant_may_stand_in_the_url(shared_url: str, tmp_path: Path) -> None:
    url = f"{shared_url}?tenant=zo%C3%AB"
    with opened(url, replica=tmp_path / "r") as memory:  # type: ignore[arg-type]
        memory.remember("hello", project="p")
        assert memory.replica is not None and memory.replica.tenant == "zoë"
    with opened(Path(url), replica=tmp_path / "r") as memory:  # as a path it has one slash
        assert len(memory.recall("hello", project="p").hits) == 1
    assert len(list((tmp_path / "r").glob("*.db"))) == 1
    with pytest.raises(InputError, match="none is named"):
        opened(shared_url, replica=tmp_path / "r")  # type: ignore[arg-type]


def test_a_replica_s_file_is_written_through_its_engine_alone(
    server: Callable[..., Memory], tmp_path: Path
) -> None:
    with server("one") as memory:
        memory.remember("The heron waits by the pond")
        path = Path(memory.store.path)
    with pytest.raises(InputError, match="is the replica of a shared log") as caught:
        opened(path)
    assert "make a backup" in caught.value.next_step
    with opened(path, read_only=True) as reader:
        assert reader.recall("heron").hits
        reader.backup(tmp_path / "copy.db")
    with opened(tmp_path / "copy.db") as own:
        own.remember("The heron has left")
        assert len(own.recall("heron").hits) == 2


def test_a_pulled_file_is_a_memory_of_its_own(
    server: Callable[..., Memory], shared_url: str, tmp_path: Path
) -> None:
    with server("one") as memory:
        memory.remember("The heron waits by the pond")
    pull_file(shared_url, tmp_path / "own.db", "acme")
    with opened(tmp_path / "own.db") as own:
        own.remember("The heron has left")
        assert len(own.recall("heron").hits) == 2
