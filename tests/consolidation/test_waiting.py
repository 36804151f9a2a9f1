"""What awaits consolidation is found at the cost of what is new, and all that waits is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doxa import Config, Memory
from doxa.base.clock import FakeClock
from doxa.cli.output import consolidated_text
from doxa.consolidation.consolidate import is_done
from doxa.consolidation.units import threads_of, transcript_of, units_of
from doxa.consolidation.waiting import waiting_units
from doxa.consolidation.writer import is_retired
from doxa.jobs import list_runs, undo_run
from doxa.language.turns import Turn
from doxa.store import Identity
from doxa.store.statements import counted_statements
from tests.consolidation.conversations import MINUTE, STARTED


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    config = Config(
        path=tmp_path / "m.doxa",
        clock=FakeClock(),
        embedder=None,
        project="shop",
        role="operator",
    )
    with Memory(config) as opened:
        yield opened


def say(memory: Memory, thread: str, *texts: str, session: str = "s1") -> str:
    turns = [
        Turn(thread, session, "Ana", "person", text, STARTED + number * MINUTE, "")
        for number, text in enumerate(texts)
    ]
    return memory.ingest(turns, extract=False).threads[0]


def settle(memory: Memory) -> None:
    """Consolidate until nothing waits and the mark is at the end."""
    for _ in range(3):
        memory.consolidate()
    assert waiting(memory) == []


def waiting(memory: Memory) -> list[tuple[str, str]]:
    with memory.store.read() as reader:
        found = waiting_units(reader, "shop", role=memory.identity.role, limit=100).units
        every = [
            unit
            for thread in threads_of(reader, "shop")
            for unit in units_of(reader, thread)
            for read in [transcript_of(reader, unit)]
            if read.turns
            and not is_done(reader, unit, read.digest)
            and not is_retired(reader, unit)
        ]
    assert set(found) == set(every)  # what reading everything finds
    return sorted((unit.thread.rpartition("/")[2], unit.session) for unit in found)


def statements(memory: Memory) -> int:
    with counted_statements(memory.store) as seen:
        memory.consolidate()
    return len(seen)


def test_a_call_that_finds_nothing_costs_the_same_however_much_is_stored(memory: Memory) -> None:
    say(memory, "first", "I moved the server to the cellar.")
    settle(memory)
    few = statements(memory)
    for number in range(15):
        say(memory, f"t{number}", f"I moved the server number {number} to the cellar.")
    settle(memory)
    assert statements(memory) == few


def test_a_new_session_costs_as_much_in_a_large_memory(memory: Memory) -> None:
    def cost(name: str) -> int:
        say(memory, name, f"I sold the {name} to Ben yesterday.")
        with counted_statements(memory.store) as seen, memory.store.read() as reader:
            units = waiting_units(reader, "shop", role=memory.identity.role, limit=9).units
        assert [unit.thread for unit in units] == [f"kref://shop/conversations/{name}.thread"]
        settle(memory)
        return len(seen)

    say(memory, "first", "I moved the server to the cellar.")
    settle(memory)
    small = cost("boat")
    for number in range(15):
        say(memory, f"t{number}", f"I moved the server number {number} to the cellar.")
    settle(memory)
    assert cost("car") == small


def test_whatever_changes_a_session_makes_it_wait_again(memory: Memory) -> None:
    old = ("I moved the server to the cellar.", "I sold the boat to Ben.")
    thread = say(memory, "a", *old)
    say(memory, "b", "I painted the fence of Ben.")
    settle(memory)
    say(memory, "a", *old, "I bought a label printer in Bonn.")
    assert waiting(memory) == [("a.thread", "s1")]
    settle(memory)
    with memory.store.read() as reader:
        (unit,) = units_of(reader, thread)
        turn = transcript_of(reader, unit).turns[1].kref
    memory.forget(turn)
    assert waiting(memory) == [("a.thread", "s1")]  # a turn was retired
    settle(memory)
    say(memory, "c", "I rented a garage in Ulm.", session="s2")
    memory.consolidate()
    with memory.store.read() as reader:
        last = max(list_runs(reader), key=lambda run: run.kref)
    settle(memory)
    undo_run(memory.store, Identity("ann", "operator"), last.kref)
    assert waiting(memory) == []  # a summary that was retired waits until it is restored
    (result,) = memory.consolidate("c").sessions
    assert result.status == "retired"
    say(memory, "c", "I rented a garage in Ulm.", "I sold it again.", session="s2")
    assert waiting(memory) == []
    memory.restore(result.kref)
    assert waiting(memory) == [("c.thread", "s2")]
    settle(memory)
    seen = memory.forget(turn, erase=True, preview=True)
    memory.forget(turn, erase=True, confirm=seen.token)
    waiting(memory)


def test_a_limit_leaves_the_others_for_the_next_call(memory: Memory) -> None:
    for number in range(4):
        say(memory, f"t{number}", f"I moved the server number {number} to the cellar.")
    done = [memory.consolidate(limit=3) for _ in range(4)]
    assert [len(one.sessions) for one in done] == [3, 1, 0, 0]
    assert [one.more for one in done] == [True, False, False, False]
    assert "Others may wait" in consolidated_text(done[0])
    assert "Others may wait" not in consolidated_text(done[1])
    assert waiting(memory) == []
