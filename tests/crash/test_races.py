"""A change that commits between the reads and the write of another one: nothing of it is lost.

The other writer runs in a thread of its own, so on a connection of its own, at the moment in which
an operation asks for the write lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.store import Transaction, check


def meanwhile(memory: doxa.Memory, other: Callable[[], object]) -> list[BaseException]:
    """Run `other` in another thread right before the next transaction of this one begins."""
    store, write = memory.store, memory.store.write
    failed: list[BaseException] = []

    def run() -> None:
        try:
            other()
        except BaseException as error:  # handed to the test
            failed.append(error)

    @contextmanager
    def held(*args: Any, **options: Any) -> Iterator[Transaction]:
        store.write = write  # type: ignore[method-assign]
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        with write(*args, **options) as tx:
            yield tx

    store.write = held  # type: ignore[method-assign]
    return failed


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "race.db", embedder=None, background=False) as opened:
        yield opened
        assert check(opened.store) == []


def test_supersede_carries_what_was_written_meanwhile(memory: doxa.Memory) -> None:
    kref = memory.remember("We deploy on Mondays", name="day", project="shop", topics=["ops"]).kref
    item = kref.partition("?")[0]
    failed = meanwhile(
        memory,
        lambda: memory.revise(item, "We deploy on Tuesdays", topics=["cd"], metadata={"by": "ana"}),
    )
    change = memory.supersede(item, "We deploy on Fridays", name="deploy-day")
    made = memory.get(change.kref)
    assert not failed
    assert made.topics == ("cd",)
    assert made.metadata == {"by": "ana"}


def test_revise_carries_what_was_written_meanwhile(memory: doxa.Memory) -> None:
    kref = memory.remember("We deploy on Mondays", name="day", project="shop").kref
    item = kref.partition("?")[0]
    failed = meanwhile(
        memory, lambda: memory.revise(item, "We deploy on Tuesdays", metadata={"by": "ana"})
    )
    made = memory.get(memory.revise(item, "We deploy on Fridays").kref)
    assert not failed
    assert (made.number, made.metadata) == (3, {"by": "ana"})


def test_a_statement_for_an_item_that_appears_meanwhile_revises_it(memory: doxa.Memory) -> None:
    item = "kref://shop/day.fact"
    failed = meanwhile(
        memory,
        lambda: memory.remember(
            "We deploy on Mondays", name="day", project="shop", metadata={"by": "ana"}
        ),
    )
    made = memory.get(memory.revise(["shop", "deploys on", "Friday"], item=item).kref)
    assert not failed
    assert (made.number, made.metadata) == (2, {"by": "ana"})


def test_a_near_duplicate_that_appears_meanwhile_is_found(memory: doxa.Memory) -> None:
    memory.remember("The shop runs in Basel", project="shop")
    failed = meanwhile(
        memory, lambda: memory.remember("On Thursdays, we deploy the shop.", project="shop")
    )
    result = memory.remember("We deploy the shop on Thursdays", project="shop")
    assert not failed
    assert (result.action, result.stored) == ("unchanged", False)


def test_what_is_told_is_matched_with_what_appears_meanwhile(memory: doxa.Memory) -> None:
    memory.remember("The shop runs in Basel", project="shop")
    failed = meanwhile(
        memory, lambda: memory.remember("We deploy the shop on Thursdays", project="shop")
    )
    change = memory.tell("We deploy the shop on Thursdays.", project="shop")
    assert not failed
    assert change.action == "unchanged"
