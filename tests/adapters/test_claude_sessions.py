"""The Claude Agent SDK's SessionStore: the SDK's own conformance suite, repeated batches, hostile
keys, large entries, several writers, and the SDK's readers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from doxa.app.memory import Memory, open_memory
from doxa.base.errors import InputError
from tests.adapters.frameworks import framework

sdk = framework("claude_agent_sdk")
testing = framework("claude_agent_sdk.testing")

from doxa.adapters.claude_sessions import DoxaSessionStore  # noqa: E402

KEY = {"project_key": "proj", "session_id": "sess"}
HOSTILE = ["../sess", "sess/main", "a\x00b", "sess.transcript", "日本", "SESS", "x" * 400, "~", "."]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


@pytest.fixture
def store(memory: Memory) -> DoxaSessionStore:
    return DoxaSessionStore(memory.session(actor="claude", project="shop"))


def entries(start: int, end: int) -> list[dict[str, Any]]:
    return [{"type": "user", "uuid": f"u{n}", "n": n} for n in range(start, end)]


def test_the_conformance_suite_of_the_sdk(memory: Memory) -> None:
    numbers = count()

    def made() -> DoxaSessionStore:
        return DoxaSessionStore(memory.session(project=f"p{next(numbers)}"))

    asyncio.run(testing.run_session_store_conformance(made))
    assert next(numbers) == 15  # no contract was skipped: a probe, and a store for each


def test_a_repeated_batch_changes_nothing(store: DoxaSessionStore, memory: Memory) -> None:
    async def run() -> None:
        await store.append(KEY, entries(0, 5))
        before = len(list(memory.log()))
        await store.append(KEY, entries(0, 5))
        assert len(list(memory.log())) == before
        await store.append(KEY, [*entries(3, 8), *entries(7, 8), {"type": "title"}])
        await store.append(KEY, [{"type": "title"}])
        loaded = await store.load(KEY)
        assert loaded == [*entries(0, 8), {"type": "title"}, {"type": "title"}]

    asyncio.run(run())


def test_an_append_is_one_change(store: DoxaSessionStore, memory: Memory) -> None:
    before = len(list(memory.log()))
    asyncio.run(store.append(KEY, entries(0, 1_000)))
    assert len(list(memory.log())) == before + 1
    assert asyncio.run(store.load(KEY)) == entries(0, 1_000)


def test_a_batch_of_long_entries_is_kept(store: DoxaSessionStore, memory: Memory) -> None:
    given = [one | {"text": "é" * 30_000} for one in entries(0, 200)]
    before = len(list(memory.log()))
    asyncio.run(store.append(KEY, given))
    assert len(list(memory.log())) == before + 1
    assert asyncio.run(store.load(KEY)) == given


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_is_a_key(store: DoxaSessionStore, text: str) -> None:
    keys: list[dict[str, str]] = [
        KEY,
        {"project_key": "proj", "session_id": text},
        {"project_key": text, "session_id": "sess"},
        {**KEY, "subpath": text},
        {**KEY, "subpath": f"{text}/deeper"},
    ]

    async def run() -> None:
        for number, key in enumerate(keys):
            await store.append(key, [{"type": "x", "n": number}])
        for number, key in enumerate(keys):
            assert await store.load(key) == [{"type": "x", "n": number}]
        assert await store.list_subkeys(KEY) == sorted([text, f"{text}/deeper"])
        found = {one["session_id"] for one in await store.list_sessions("proj")}
        assert found == {"sess", text}
        await store.delete(KEY)
        assert [await store.load(key) is None for key in keys] == [True, False, False, True, True]

    asyncio.run(run())


def test_an_empty_subpath_is_refused(store: DoxaSessionStore) -> None:
    with pytest.raises(InputError, match="subpath"):
        asyncio.run(store.append({**KEY, "subpath": ""}, entries(0, 1)))


def test_entries_are_kept_as_they_are(store: DoxaSessionStore) -> None:
    given = [
        {"type": "x", "deep": [{"a": None}, [1.5, True, -3, 10**30]], "": "\x00\ud800 e\u0301"},
        {"type": "x", "text": "line\nline\r\n" * 10, "url": "https://example.org/?a=b#c"},
        {"type": "tool", "picture": "iVBORw0KGgo" * 150_000},
    ]
    asyncio.run(store.append(KEY, given))
    assert asyncio.run(store.load(KEY)) == given


def test_a_deleted_session_begins_again(store: DoxaSessionStore) -> None:
    async def run() -> None:
        await store.append(KEY, entries(0, 3))
        await store.delete(KEY)
        await store.append(KEY, entries(0, 2))
        assert await store.load(KEY) == entries(0, 2)
        assert [one["session_id"] for one in await store.list_session_summaries("proj")] == ["sess"]

    asyncio.run(run())


def test_writers_at_the_same_time_lose_nothing(store: DoxaSessionStore, memory: Memory) -> None:
    async def run() -> None:
        await asyncio.gather(
            *(store.append(KEY, entries(10 * n, 10 * n + 10)) for n in range(12)),
            *(store.append(KEY, entries(10 * n, 10 * n + 10)) for n in range(12)),
        )
        loaded = await store.load(KEY) or []
        assert sorted(one["n"] for one in loaded) == list(range(120))

    asyncio.run(run())
    assert memory.check() == []


def test_another_project_is_out_of_reach(memory: Memory) -> None:
    one = DoxaSessionStore(memory.session(project="shop"))
    two = DoxaSessionStore(memory.session(project="bank"))

    async def run() -> None:
        await one.append(KEY, entries(0, 2))
        assert await two.load(KEY) is None
        assert await two.list_sessions("proj") == []
        await two.delete(KEY)
        assert await one.load(KEY) == entries(0, 2)

    asyncio.run(run())


def test_the_readers_of_the_sdk(store: DoxaSessionStore) -> None:
    session_id = "11111111-2222-4333-8444-555555555555"
    key = {"project_key": sdk.project_key_for_directory("/srv/shop"), "session_id": session_id}
    message = {"role": "user", "content": "Where is the parcel?"}

    async def run() -> None:
        await store.append(
            key,
            [
                {
                    "type": "user",
                    "uuid": "11111111-2222-4333-8444-666666666666",
                    "parentUuid": None,
                    "sessionId": session_id,
                    "timestamp": "2026-11-23T10:00:00.000Z",
                    "message": message,
                }
            ],
        )
        [listed] = await sdk.list_sessions_from_store(store, directory="/srv/shop")
        assert (listed.session_id, listed.first_prompt) == (session_id, message["content"])
        [read] = await sdk.get_session_messages_from_store(store, session_id, "/srv/shop")
        assert read.message == message

    asyncio.run(run())
