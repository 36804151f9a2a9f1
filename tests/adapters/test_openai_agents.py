"""The OpenAI Agents SDK's Session: random commands to doxa and to the SDK's SQLiteSession, a run of
the SDK's own runner, turns, scope, and several writers."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.app.memory import Memory, open_memory
from tests.adapters.frameworks import framework

agents = framework("agents")

from doxa.adapters.openai_agents import DoxaSession  # noqa: E402

IDS = ["one", "two", "ONE", "a/b", "../one", "", "\x00", "日本", "x" * 500, "one.item", "~"]
ITEMS: list[Any] = [
    {"role": "user", "content": "My favourite colour is green."},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Noted: green."}]},
    {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"x": [1, null]}'},
    {"type": "function_call_output", "call_id": "c1", "output": "\x00\ud800 e\u0301"},
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": ""},
    {"type": "reasoning", "id": "r", "summary": [], "deep": {"a": {"b": [[], {}]}}},
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with open_memory(tmp_path / "a.db", embedder=None, background=False) as made:
        yield made


@pytest.fixture
def conversation(memory: Memory) -> DoxaSession:
    return DoxaSession("one", memory.session(actor="support", project="shop"))


def test_it_is_a_session(conversation: DoxaSession) -> None:
    assert isinstance(conversation, agents.memory.Session)


def test_random_commands_are_answered_as_by_the_reference(
    memory: Memory, tmp_path: Path, seed: int, campaign: int, tally: Callable[..., None]
) -> None:
    chooser = random.Random(seed)
    session = memory.session(actor="support", project="shop")
    pairs = [
        (agents.SQLiteSession(one, tmp_path / "reference.db"), DoxaSession(one, session))
        for one in IDS
    ]

    async def run() -> None:
        for _ in range(80 * campaign):
            pair = chooser.choice(pairs)
            match chooser.randrange(8):
                case 0 | 1 | 2:
                    given = chooser.choices(ITEMS, k=chooser.randint(0, 4))
                    answers = [await one.add_items(given) for one in pair]
                case 3:
                    answers = [await one.pop_item() for one in pair]
                case 4 if chooser.random() < 0.3:
                    answers = [await one.clear_session() for one in pair]
                case _:
                    limit = chooser.choice([None, None, 0, 1, 3, 100, -1])
                    answers = [await one.get_items(limit) for one in pair]
            assert answers[0] == answers[1]
        for pair in pairs:
            assert await pair[0].get_items() == await pair[1].get_items()
            pair[0].close()

    asyncio.run(run())
    tally(commands=80 * campaign)


def test_the_settings_bound_what_is_returned(memory: Memory) -> None:
    settings = agents.memory.SessionSettings(limit=2)
    made = DoxaSession("one", memory.session(project="shop"), session_settings=settings)

    async def run() -> None:
        await made.add_items(ITEMS)
        assert await made.get_items() == ITEMS[-2:]
        assert await made.get_items(3) == ITEMS[-3:]

    asyncio.run(run())


def test_what_is_said_becomes_turns_and_a_popped_turn_is_retired(
    conversation: DoxaSession, memory: Memory
) -> None:
    session = memory.session(project="shop")

    async def run() -> None:
        await conversation.add_items(ITEMS)
        await conversation.add_items([{"role": "user", "content": "The parcel is at Ana's."}])
        assert "parcel" in session.recall("Where is the parcel?").hits[0].text
        said = [hit.text for hit in session.recall("colour green", kinds=("exchange",)).hits]
        assert any("favourite colour" in text for text in said)
        for _ in range(2):
            popped = await conversation.pop_item()
            left = session.recall("Where is the parcel?").hits
            assert not [hit for hit in left if "parcel" in hit.text and hit.type == "exchange"]
            assert all(hit.unsupported for hit in left if "parcel" in hit.text)
            await conversation.add_items([popped])
        await conversation.add_items(ITEMS[:1] * 2)
        turns = "MATCH (e:Exchange) WHERE e.text STARTS WITH 'My favourite' RETURN count(e)"
        assert list(session.read(turns)) == [(3,)]
        await conversation.clear_session()
        assert await conversation.get_items() == []
        assert session.recall("favourite colour").hits

    asyncio.run(run())


def test_a_pop_after_clearing_leaves_earlier_turns(
    conversation: DoxaSession, memory: Memory
) -> None:
    said = [{"role": "user", "content": f"The parcel {name} is here."} for name in "ABC"]

    async def run() -> None:
        await conversation.add_items(said[:2])
        await conversation.clear_session()
        await conversation.add_items(said[2:])
        assert await conversation.pop_item() == said[2]

    asyncio.run(run())
    hits = memory.session(project="shop").recall("parcel", kinds=("exchange",)).hits
    assert sorted(hit.text for hit in hits) == [one["content"] for one in said[:2]]


def test_without_capture_only_the_items_are_kept(memory: Memory) -> None:
    session = memory.session(project="shop")
    made = DoxaSession("one", session, capture=False)
    asyncio.run(made.add_items(ITEMS))
    assert list(session.read("MATCH (e:Exchange) RETURN count(e)")) == [(0,)]
    assert asyncio.run(made.get_items()) == ITEMS
    assert session.recent() == []
    for question in ("What is my favourite colour?", "Which item is it?", "openai agents"):
        assert session.recall(question).hits == ()


def test_items_of_one_call_are_one_change(memory: Memory) -> None:
    made = DoxaSession("one", memory.session(project="shop"), capture=False)
    before = len(list(memory.log()))
    asyncio.run(made.add_items(ITEMS))
    assert len(list(memory.log())) == before + 1


def test_projects_and_spaces_are_apart(memory: Memory) -> None:
    shop = DoxaSession("one", memory.session(project="shop"))
    bank = DoxaSession("one", memory.session(project="bank"))
    space = DoxaSession("one", memory.session(project="shop"), space="openai-agents/inner")

    async def run() -> None:
        await shop.add_items(ITEMS[:1])
        assert [await other.get_items() for other in (bank, space)] == [[], []]
        assert await bank.pop_item() is None
        await space.clear_session()
        assert len(await shop.get_items()) == 1

    asyncio.run(run())


def test_writers_at_the_same_time_lose_nothing(memory: Memory) -> None:
    async def run() -> None:
        both = [DoxaSession("one", memory.session(project="shop")) for _ in range(4)]
        await asyncio.gather(
            *(
                one.add_items(
                    [{"role": "user", "content": f"{who}:{n}:{part}"} for part in range(3)]
                )
                for who, one in enumerate(both)
                for n in range(5)
            )
        )
        items = [item["content"] for item in await both[0].get_items()]
        assert len(items) == 60
        assert all(
            items[at].rpartition(":")[0] == items[at + 2].rpartition(":")[0]
            for at in range(0, 60, 3)
        )
        popped = await asyncio.gather(*(one.pop_item() for one in both for _ in range(5)))
        assert len({item["content"] for item in popped}) == 20
        assert len(await both[0].get_items()) == 40

    asyncio.run(run())
    assert memory.check() == []


def test_a_cancelled_addition_is_whole(conversation: DoxaSession) -> None:
    async def run() -> None:
        task = asyncio.create_task(conversation.add_items(ITEMS))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conversation.get_items() == ITEMS

    asyncio.run(run())


class _EchoModel(agents.models.interface.Model):  # type: ignore[misc, name-defined, unused-ignore]
    """Answers with the number of items that it was given."""

    async def get_response(self, *args: Any, **named: Any) -> Any:
        given = named["input"] if "input" in named else args[1]
        text = f"I was given {len(given)} items."
        message = agents.items.ResponseOutputMessage(
            id="m",
            type="message",
            role="assistant",
            status="completed",
            content=[
                agents.items.ResponseOutputText(text=text, type="output_text", annotations=[])
            ],
        )
        return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)

    def stream_response(self, *args: Any, **named: Any) -> Any:
        raise NotImplementedError


def test_the_runner_of_the_sdk_uses_it(conversation: DoxaSession) -> None:
    agents.set_tracing_disabled(True)
    agent = agents.Agent(name="a", model=_EchoModel())

    async def run() -> list[str]:
        results = [
            await agents.Runner.run(agent, text, session=conversation)
            for text in ("Hello there.", "And once more.")
        ]
        return [str(result.final_output) for result in results]

    assert asyncio.run(run()) == ["I was given 1 items.", "I was given 3 items."]
    assert len(asyncio.run(conversation.get_items())) == 4
