"""Working memory by the verbs: roles, projects, and nothing of it where beliefs are."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import doxa
from doxa.base.clock import NS, FakeClock

SAID = "the canary sings at noon"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(
        tmp_path / "m.db", role="operator", project="shop", embedder=None, background=False
    ) as found:
        yield found


def test_messages_are_in_no_log_recall_export_or_backup(
    memory: doxa.Memory, tmp_path: Path
) -> None:
    memory.remember("We deploy on Thursdays")
    before = memory.verify()
    memory.chat_add(SAID, session="s")
    assert memory.verify() == before
    assert not memory.recall("canary", project="*").hits
    assert SAID.encode() not in b"".join(memory.export())
    assert SAID.encode() not in memory.backup(tmp_path / "backup.db").read_bytes()
    assert SAID.encode() not in (tmp_path / "m.db").read_bytes()
    assert [one.text for one in memory.chat_get("s").messages] == [SAID]
    assert memory.doctor() and memory.check() == []


def test_a_bound_session_has_the_sessions_of_its_projects_alone(memory: doxa.Memory) -> None:
    memory.chat_add(SAID, session="s", project="office")
    bound = memory.session(projects=["shop"])
    assert bound.chat_get("s").messages == () and bound.chat_list() == []
    for call in (
        lambda: bound.chat_get("s", project="office"),
        lambda: bound.chat_add("x", session="s", project="office"),
        lambda: bound.chat_list(project="office"),
        lambda: bound.chat_clear("s", project="office"),
        lambda: bound.chat_snapshot("s", project="office"),
        lambda: bound.chat_consolidated("a-1", "s", project="office"),
        lambda: bound.chat_get("s", project="nowhere"),
    ):
        with pytest.raises(doxa.RoleError) as caught:
            call()
        assert "canary" not in str(caught.value)
    with pytest.raises(doxa.InputError):
        bound.chat_get("s", project="*")
    bound.chat_add("mine", session="s")
    assert [one.text for one in memory.chat_get("s").messages] == ["mine"]


def test_an_agent_clears_one_session_and_an_operator_all(memory: doxa.Memory) -> None:
    agent = memory.session(role="agent")
    for name in "abc":
        agent.chat_add("x", session=name)
    assert agent.chat_clear("a") == 1
    with pytest.raises(doxa.RoleError):
        agent.chat_clear(every=True)
    assert memory.chat_clear(every=True) == 2
    assert memory.chat_list() == []


def test_erasing_a_project_erases_its_sessions(memory: doxa.Memory) -> None:
    memory.remember("We deploy on Thursdays")
    memory.chat_add(SAID, session="s")
    memory.chat_add("stays", session="s", project="office")
    shown = memory.forget("kref://shop", erase=True, preview=True)
    assert memory.chat_list()
    assert memory.forget("kref://shop", erase=True, confirm=shown.token).done
    assert memory.chat_list() == [] and memory.chat_list(project="office")


def test_expiry_uses_the_clock_of_the_memory(tmp_path: Path) -> None:
    clock = FakeClock()
    options = {"embedder": None, "background": False, "clock": clock, "working_ttl_s": 60}
    with doxa.open(tmp_path / "m.db", **options) as memory:  # type: ignore[arg-type]
        added = memory.chat_add("x", user="ana")
        assert added.until // NS == clock.now_ns() // NS + 60
        clock.advance(seconds=59)
        assert memory.chat_get(user="ana").messages
        clock.advance(seconds=60)
        assert not memory.chat_get(added.session).messages
        taken = memory.chat_snapshot(added.session)
        assert taken.messages == () and taken.until is None


def test_cypher_reads_sessions(memory: doxa.Memory) -> None:
    memory.chat_add("hello", session="s", metadata={"n": 1})
    rows = memory.run("CALL doxa.chatGet('s') YIELD role, text, metadata").records()
    assert rows == [{"role": "user", "text": "hello", "metadata": {"n": 1}}]
    rows = memory.run("CALL doxa.chatList() YIELD session, messages, pending").records()
    assert rows == [{"session": "s", "messages": 1, "pending": 1}]


def test_it_can_be_awaited(tmp_path: Path) -> None:
    async def go() -> int:
        async with await doxa.AsyncMemory.open(tmp_path / "m.db", embedder=None) as memory:
            added = await memory.chat_add("x", user="ana")
            found = await memory.chat_snapshot(added.session)
            return await memory.chat_consolidated(found.messages[-1].id, added.session)

    assert asyncio.run(go()) == 1


def test_closed_is_closed_and_the_url_is_not_shown(tmp_path: Path) -> None:
    config = doxa.Config(tmp_path / "m.db", working="redis://:hunter2@localhost/0")
    assert "hunter2" not in repr(config)
    with pytest.raises(doxa.InputError), doxa.open(tmp_path / "m.db", working_ttl_s=0):
        pass
    with doxa.open(tmp_path / "m.db", working="redis://:hunter2@localhost/0") as memory:
        memory.remember("Working memory that cannot be used does not concern beliefs")
        with pytest.raises(doxa.InputError) as caught:
            memory.chat_add("x")
        assert "hunter2" not in f"{caught.value} {caught.value.fields}"
    with pytest.raises(doxa.ClosedError):
        memory.chat_get("s")
