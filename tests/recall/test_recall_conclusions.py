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


def order(memory: doxa.Memory) -> list[tuple[str, str]]:
    found = memory.recall("When does the ferry leave?", kinds=["exchange"]).hits
    return [(hit.text, "updates" if "updates" in hit.why else "") for hit in found]


def test_what_is_drawn_from_several_turns_makes_none_of_them_an_update(tmp_path: Path) -> None:
    lines = (
        "When we talked about it, the ferry did leave from pier four.",
        "My cousin painted the ferry; they leave tomorrow.",
        "The ferry is full of people who leave for the island.",
    )
    with doxa.open(
        tmp_path / "f.doxa", role="operator", clock=FakeClock(), embedder=None
    ) as memory:
        talk = [{"speaker": "Mira", "text": line} for line in lines]
        memory.ingest(talk, thread="ferry", extract=False)
        turns = [hit.kref for hit in memory.recall("ferry", kinds=["exchange"]).hits]
        before = order(memory)
        assert len(before) == 3 and not any(said for _, said in before)
        memory.remember("They talked about the ferry.", name="talk", derived_from=turns)
        memory.remember("Pier four.", name="week", kind="summary", derived_from=turns[:1])
        revised = memory.revise("kref://default/week.summary", "Paint.")
        for turn in turns[1:]:
            memory.link(revised.kref, turn, kind="DERIVED_FROM")
        assert order(memory) == before


def test_a_belief_of_another_turn_makes_it_an_update(tmp_path: Path) -> None:
    with doxa.open(
        tmp_path / "f.doxa", role="operator", clock=FakeClock(), embedder=None
    ) as memory:
        for line in ("The ferry will leave at six.", "About the ferry: seven, they leave."):
            memory.ingest([{"speaker": "Mira", "text": line}], thread="ferry", extract=False)
        first, last = sorted(
            memory.recall("ferry", kinds=["exchange"]).hits, key=lambda hit: hit.text, reverse=True
        )
        memory.remember("The ferry leaves at six.", name="ferry", derived_from=[first.kref])
        revised = memory.revise("kref://default/ferry.fact", "It leaves at seven.")
        memory.link(revised.kref, last.kref, kind="DERIVED_FROM")
        assert order(memory)[0] == (last.text, "updates")
