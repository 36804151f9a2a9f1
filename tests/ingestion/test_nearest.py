"""What `remember` names as near where rules find nothing that a text replaces."""

from __future__ import annotations

from pathlib import Path

import pytest

import doxa
from doxa import LimitError
from doxa.base.clock import FakeClock

HELD = "I work three night shifts a week."
SAID = "Handed my badge in, so at night I sleep like a human being."


@pytest.fixture
def memory(tmp_path: Path) -> doxa.Memory:
    return doxa.open(tmp_path / "m.doxa", clock=FakeClock(), embedder=None)


def test_names_what_a_reader_would_retire(memory: doxa.Memory) -> None:
    held = memory.remember(HELD)
    memory.remember("The tap in the kitchen drips.")
    made = memory.remember(SAID, near=3)
    assert not made.may_contradict
    assert [(one.kref, one.text) for one in made.near][:1] == [(held.kref, HELD)]
    assert memory.get(held.kref).status == "current"


def test_names_nothing_unless_asked(memory: doxa.Memory) -> None:
    memory.remember(HELD)
    assert memory.remember(SAID).near == ()


def test_never_names_itself_or_a_turn(memory: doxa.Memory) -> None:
    memory.ingest([{"role": "user", "text": "Night shifts, a week of them: I work three."}])
    made = memory.remember(HELD, near=3)
    again = memory.remember(HELD, near=3)
    assert made.near == () and again.near == ()


def test_says_nothing_of_other_projects(memory: doxa.Memory) -> None:
    memory.remember(HELD, project="hers")
    assert memory.remember(SAID, project="his", near=3).near == ()


def test_names_none_where_the_text_revised(memory: doxa.Memory) -> None:
    memory.remember("Ana lives in Lisbon.")
    memory.remember("Ana lives next to a bakery.")
    made = memory.remember("Ana has moved to Porto.", near=3)
    assert made.action == "revised" and made.near == ()


@pytest.mark.parametrize("count", [21, 1_000])
def test_refuses_a_number_out_of_range(memory: doxa.Memory, count: int) -> None:
    with pytest.raises(LimitError, match="near must be between 0 and 20"):
        memory.remember(HELD, near=count)
