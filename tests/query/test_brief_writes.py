"""Which transactions of queries may share a commit: those that were brief the last time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.query.brief_writes import BriefWrites

WRITE = "MERGE (n:N {id: $i}) SET n.v = $i"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "a.db", role="operator", embedder=None, background=False) as opened:
        yield opened


@pytest.fixture
def shared(memory: doxa.Memory, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each transaction that begins may share its commit."""
    found: list[bool] = []
    real = memory.store.write

    def write(*given: Any, **options: Any) -> Any:
        found.append(options.get("shares", False))
        return real(*given, **options)

    monkeypatch.setattr(memory.store, "write", write)
    return found


def test_a_statement_shares_unless_it_was_long(
    memory: doxa.Memory, shared: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in (10_000, 10_000, -1, 10_000, 10_000):  # milliseconds, of this run
        monkeypatch.setattr("doxa.query.brief_writes.BRIEF_WRITE_MS", limit)
        memory.run(WRITE, {"i": 1})
    assert shared == [True, True, True, False, True]


def test_a_client_shares_when_its_last_transaction_was_brief(
    memory: doxa.Memory, shared: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in (10_000, 10_000, -1, 10_000, 10_000):
        monkeypatch.setattr("doxa.query.brief_writes.BRIEF_WRITE_MS", limit)
        with memory.graph() as graph:
            graph.connection = "bolt-1"
            graph.begin()
            graph.run(WRITE, {"i": 1})
            graph.commit()
    assert shared == [False, True, True, False, True]


def test_a_program_that_holds_a_transaction_open_never_shares(
    memory: doxa.Memory, shared: list[bool]
) -> None:
    for _ in range(3):
        with memory.graph() as graph:
            graph.begin()
            graph.run(WRITE, {"i": 1})
            graph.commit()
    assert shared == [False] * 3


def test_schema_commands_and_batches_never_share(memory: doxa.Memory, shared: list[bool]) -> None:
    memory.run("CREATE INDEX i FOR (n:N) ON (n.id)")
    memory.run("UNWIND [1, 2] AS i CALL (i) { CREATE (:N {id: i}) } IN TRANSACTIONS OF 1 ROWS")
    assert not any(shared)


def test_what_is_remembered_is_bounded() -> None:
    known = BriefWrites(items_max=3)
    for key in range(10):
        known.held(key, 9.0)
    assert [known.is_brief(key, unknown=True) for key in (6, 7, 9)] == [True, False, False]
