"""What an operation costs in SQL statements, so that a regression shows without a clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import doxa
from doxa.belief import parse_kref
from doxa.belief.graph import current_of
from doxa.belief.loading import load_item
from doxa.store import Identity
from doxa.store.statements import counted_statements

ITEM, BASE = "kref://shop/deploy-day.fact", "kref://shop/server.fact"
Operation = Callable[[doxa.Memory, int], object]

OPERATIONS: dict[str, tuple[Operation, int]] = {
    "revise": (lambda m, n: m.revise(ITEM, f"We deploy the shop on day {n} of the month"), 45),
    "revise with facts": (
        lambda m, n: m.revise(ITEM, f"We deploy on day {n}", facts=[("shop", "deploys on", n)]),
        45,
    ),
    "revise with an edge": (
        lambda m, n: m.remember(
            f"We deploy the shop in week {n}", name="deploy-day", project="shop", depends_on=[BASE]
        ),
        45,
    ),
    "remember at an address": (
        lambda m, n: m.remember(f"Cat {n} is grey", name=f"cat-{n}", project="shop"),
        45,
    ),
    "supersede": (lambda m, n: m.supersede(BASE, f"The shop runs on {n} servers"), 45),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "m.db", embedder=None, background=False) as opened:
        opened.remember("The shop runs on one server in Basel", name="server", project="shop")
        opened.remember(
            "We deploy on Thursdays", name="deploy-day", project="shop", depends_on=[BASE]
        )
        yield opened


def count(memory: doxa.Memory, operation: Operation, number: int) -> int:
    with counted_statements(memory.store) as seen:
        operation(memory, number)
    assert seen[-1] == "COMMIT"
    return len(seen)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_takes_few_statements(memory: doxa.Memory, name: str) -> None:
    operation, bound = OPERATIONS[name]
    operation(memory, 0)
    assert count(memory, operation, 1) <= bound


@pytest.mark.parametrize("name", OPERATIONS)
def test_statements_do_not_grow_with_history(memory: doxa.Memory, name: str) -> None:
    operation, _ = OPERATIONS[name]
    for number in range(3):
        operation(memory, number)
    first = count(memory, operation, 10)
    for number in range(20, 60):
        memory.revise(ITEM, f"We deploy at {number} o'clock")
    operation(memory, 98)
    assert count(memory, operation, 99) <= first


def test_a_transaction_reads_an_element_once(memory: doxa.Memory) -> None:
    memory.revise(ITEM, "We deploy at noon")
    with counted_statements(memory.store) as seen:
        memory.revise(ITEM, "We deploy at one")
    reads = [sql for sql in seen if sql.startswith("SELECT id, ")]
    assert len(reads) == len(set(reads))


def test_what_nothing_is_connected_with_reads_no_support(memory: doxa.Memory) -> None:
    with counted_statements(memory.store) as seen:
        memory.remember("The dog is brown", project="shop")
    assert not [sql for sql in seen if "DEPENDS_ON" in sql]
    with counted_statements(memory.store) as seen:
        memory.remember("The dog barks", project="shop", depends_on=[BASE])
    assert [sql for sql in seen if "DEPENDS_ON" in sql]


def test_what_is_loaded_with_an_item_is_not_read_again(memory: doxa.Memory) -> None:
    """One statement reads the item, its tags, its current revision and the edges of that."""
    memory.revise(ITEM, "We deploy at noon")
    memory.tag(ITEM + "?r=1", "old")
    with (
        memory.store.write(Identity("local", "operator"), op="test") as tx,
        counted_statements(memory.store) as seen,
    ):
        loaded = load_item(tx, parse_kref(ITEM))
        assert len(seen) == 1
        assert loaded is not None and loaded.current is not None
        assert loaded.last == loaded.current.id
        assert current_of(tx, loaded.node.id) == loaded.current
        assert len(tx.edges_out(loaded.node.id, "CURRENT")) == 1
        assert [edge.props["name"] for edge in tx.edges_out(loaded.node.id, "TAG")] == ["old"]
        assert [edge.src for edge in tx.edges_in(loaded.current.id, "CURRENT")] == [loaded.node.id]
        kinds = {edge.type for edge in tx.edges_out(loaded.current.id)}
        assert kinds == {"SUPERSEDES", "DEPENDS_ON"}
        assert len(seen) == 1


def test_tell_reads_and_writes_in_few_statements(memory: doxa.Memory) -> None:
    """However many beliefs the text is compared with, and however many of its words are unknown."""
    for number in range(40):
        memory.remember(f"The horse number {number} eats hay", project="shop")
    memory.tell("The deploy port is 8080", project="shop")
    with counted_statements(memory.store) as new:
        assert memory.tell("The parrot eats mango", project="shop").action == "created"
    with counted_statements(memory.store) as revising:
        assert memory.tell("The deploy port is 9090", project="shop").action == "revised"
    with counted_statements(memory.store) as unknown:
        memory.tell("Zebras quarrel whenever thunderstorms frighten ostriches", project="shop")
    assert max(len(new), len(revising), len(unknown)) <= 80
    assert len(new) - new.index("BEGIN IMMEDIATE") <= 45


def test_a_recall_reads_its_hits_in_as_many_statements_as_one(memory: doxa.Memory) -> None:
    for number in range(40):
        memory.remember(f"The horse number {number} eats hay", project="shop")
    memory.recall("horse eats hay", project="shop")
    counts = []
    for limit in (1, 30):
        with counted_statements(memory.store) as seen:
            found = memory.recall("horse eats hay", project="shop", limit=limit)
        assert len(found.hits) == limit
        counts.append(len(seen))
    assert counts[0] == counts[1]
