"""Conversations of hosts are opened, handed off and archived by their events alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from doxa.app import Memory, open_memory
from doxa.hosts.events import HookEvent
from doxa.hosts.pipeline import Pipeline
from doxa.hosts.spool import Spool

HOST = "claude-code"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(
        tmp_path / "m.db", role="operator", project="shop", embedder=None, background=False
    ) as opened:
        yield opened


@pytest.fixture
def hooks(memory: Memory, tmp_path: Path) -> Pipeline:
    session = memory.session(actor=HOST, role="agent", project="shop")
    return Pipeline(session, Spool(tmp_path / "m.db-hooks"))


def send(hooks: Pipeline, kind: str, text: str = "", *, session: str, source: str = "") -> str:
    return hooks.handle(HookEvent(kind, HOST, session, "/x", text, source=source), "shop").block


def talk(hooks: Pipeline, session: str) -> None:
    for text in ("The harbour bridge is closed.", "Open the harbour bridge on Sunday."):
        send(hooks, "prompt", text, session=session)
        send(hooks, "answer", f"I see: {len(text)}.", session=session)
    hooks.settle()


def test_the_next_conversation_begins_where_the_last_one_stood(
    hooks: Pipeline, memory: Memory
) -> None:
    assert send(hooks, "open", session="one", source="startup") == ""
    talk(hooks, "one")
    block = send(hooks, "open", session="two", source="startup")
    assert "The last conversation here was today: 2 exchanges." in block
    assert "harbour" in block
    assert "closed" not in block.rpartition("<doxa-memory>")[2]  # single topics, no sentence
    assert send(hooks, "open", session="two", source="resume") == block
    third = send(hooks, "open", session="three", source="startup")
    assert "exchanges" not in third  # it was handed over once
    found = {one.session: one.modes for one in memory.session_list(mode="code")}
    assert found == {"one": ("code",)}
    assert memory.session_list(mode="chat") == []


def test_a_compacted_conversation_gets_its_own(hooks: Pipeline, memory: Memory) -> None:
    send(hooks, "open", session="one", source="startup")
    talk(hooks, "one")
    send(hooks, "compaction", "A summary of all that was said.", session="one")
    hooks.settle()
    block = send(hooks, "open", session="one", source="compact")
    assert "2 exchanges" in block
    shown = memory.handoff_show("one", agent=HOST, mode="code", project="shop")
    assert shown is not None
    assert (shown.reason, shown.compactions) == ("compaction", 1)


def test_what_was_captured_is_archived(hooks: Pipeline, memory: Memory) -> None:
    talk(hooks, "one")
    proof = memory.archive_verify(agent=HOST)
    assert (proof.valid, proof.complete) == (True, True)
    rebuilt = memory.archive_rebuild(Path(f"{memory.store.path}.new"), agent=HOST)
    assert (rebuilt.equal, rebuilt.turns) == (True, 4)


def test_hooks_are_measured(hooks: Pipeline, memory: Memory) -> None:
    talk(hooks, "one")
    found = {(one.host, one.event): one.count for one in memory.hook_report()}
    assert found == {(HOST, "prompt"): 2, (HOST, "answer"): 2}


@pytest.mark.parametrize("session", ["ses_2b7f1c9e0ffeXkQzPq81LmNdRt", "plain-id"])
def test_any_id_of_a_host_is_handed_off_in_the_mode_of_the_host(
    hooks: Pipeline, memory: Memory, session: str
) -> None:
    """Also one that looks like a credential, as those of OpenCode do."""
    send(hooks, "open", session=session, source="startup")
    talk(hooks, session)
    assert [one.modes for one in memory.session_list(mode="code")] == [("code",)]
    assert memory.session_list(mode="chat") == []
    assert "2 exchanges" in send(hooks, "open", session="two", source="startup")


def test_the_last_words_are_handed_over_without_an_end(hooks: Pipeline, memory: Memory) -> None:
    """What was said within a minute of the last handoff, by a host that reports no end."""
    talk(hooks, "one")
    send(hooks, "prompt", "And the school roof leaks.", session="one")
    hooks.settle()
    assert "3 exchanges" in send(hooks, "open", session="two", source="startup")
    shown = memory.handoff_show("one", agent=HOST, mode="code", project="shop")
    assert shown is not None
    assert (shown.reason, shown.last[-1].text) == ("switch", "And the school roof leaks.")


def test_a_conversation_that_is_closed_has_ended(hooks: Pipeline, memory: Memory) -> None:
    talk(hooks, "one")
    send(hooks, "prompt", "And the school roof leaks.", session="one")
    send(hooks, "close", session="one")
    shown = memory.handoff_show("one", agent=HOST, mode="code", project="shop")
    assert shown is not None
    assert (shown.reason, shown.exchanges) == ("end", 3)
    (found,) = memory.session_list(mode="code")
    assert found.state == "ended"


def test_a_conversation_that_goes_on_takes_no_others_handoff(
    hooks: Pipeline, memory: Memory
) -> None:
    talk(hooks, "one")
    send(hooks, "close", session="one")
    talk(hooks, "two")
    send(hooks, "close", session="two")
    assert "exchanges" not in send(hooks, "open", session="one", source="resume")
    assert "exchanges" in send(hooks, "open", session="three", source="startup")


def test_hooks_cost_the_same_in_a_longer_memory(hooks: Pipeline, memory: Memory) -> None:
    """Statements of storing a turn with its handoff and archive, and of opening the next
    conversation: no more with twenty times the turns."""
    from doxa.store.statements import counted_statements

    found = []
    for rounds in (2, 40):
        for number in range(rounds):
            talk(hooks, f"before-{rounds}-{number}")
        send(hooks, "prompt", "The harbour bridge again.", session=f"last-{rounds}")
        with counted_statements(memory.store) as settling:
            hooks.settle()
        with counted_statements(memory.store) as opening:
            send(hooks, "open", session=f"next-{rounds}", source="startup")
        found.append((len(settling), len(opening)))
    assert found[1][0] <= found[0][0] + 15, found
    assert found[1][1] <= 2 * found[0][1], found
