"""Conclusions of background jobs are left out next to the turns that ground them."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from doxa.base.clock import FakeClock

QUESTION = "What did Mira decide about the harbour office?"
TALK = [
    {"speaker": "Mira", "text": "We decided to rent the harbour office because of the light."},
    {"speaker": "Jon", "text": "Then I will call the landlord of the harbour office on Monday."},
]


@pytest.fixture
def memory(tmp_path: Path) -> doxa.Memory:
    made = doxa.open(tmp_path / "m.doxa", role="operator", clock=FakeClock(), embedder=None)
    made.ingest(TALK, thread="office", extract=False)
    assert sum(one.status == "done" for one in made.consolidate().sessions) == 1
    return made


def trusts(memory: doxa.Memory, **filters: object) -> set[str]:
    return {hit.trust for hit in memory.recall(QUESTION, limit=50, **filters).hits}  # type: ignore[arg-type]


def test_conclusions_are_left_out_where_their_turns_stand(memory: doxa.Memory) -> None:
    assert trusts(memory) == {"stated"}


def test_conclusions_are_found_by_trust_and_by_kind(memory: doxa.Memory) -> None:
    assert "inferred" in trusts(memory, trust="inferred")
    assert trusts(memory, kinds=["summary"]) == {"inferred"}


def test_conclusions_are_found_when_their_turns_are_gone(memory: doxa.Memory) -> None:
    for turn in memory.recall(QUESTION, limit=50).hits:
        memory.deprecate(turn.kref) if turn.type == "revision" else memory.forget(turn.kref)
    assert trusts(memory) == {"inferred"}
