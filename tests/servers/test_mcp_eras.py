"""What the server does in each era of the protocol, on each transport: lists, resources, prompts,
questions to a person, progress, cancellation, retries."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the mcp extra is not installed")

from mcp import Client
from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from mcp_types import (
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from doxa.app import Memory, Session
from doxa.servers.mcp.core import NOT_INSTRUCTIONS
from doxa.servers.mcp.handshake import INSTRUCTIONS
from doxa.servers.mcp.serving import IDEMPOTENCY_KEY, build_server
from tests.fixtures_shared import opened
from tests.servers.mcp_fixtures import ERAS, over_http, over_stdio, run, serving

every_era = pytest.mark.parametrize("era", ERAS)


class Person:
    """Answers the forms that a client shows, and notes them."""

    def __init__(self, *answers: ElicitResult) -> None:
        self.answers, self.asked = list(answers), list[Any]()

    async def __call__(self, _: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        return self.answers.pop(0)


def yes(**content: Any) -> ElicitResult:
    return ElicitResult(action="accept", content=content or {"confirm": True})


NO = ElicitResult(action="decline")


def client(session: Session, era: str, *, profile: str = "full", **options: Any) -> Client:
    return Client(build_server(session, version="1", profile=profile).sdk, mode=era, **options)


def filled(memory: Memory, count: int = 3) -> None:
    for n in range(count):
        memory.remember(f"Belief number {n}", space="s", name=f"n{n}")


# Lists, resources, prompts


async def look_around(found: Client, era: str) -> None:
    modern = era != "legacy"
    assert found.protocol_version == ("2026-07-28" if modern else "2025-11-25")
    assert len(INSTRUCTIONS.encode()) <= 2_048
    assert found.instructions == INSTRUCTIONS
    made = await found.call_tool(
        "memory_remember", {"text": "The shop runs on MySQL", "name": "db", "space": "s"}
    )
    assert (made.is_error, made.structured_content["action"]) == (False, "created")
    tools = await found.list_tools()
    templates = await found.list_resource_templates()
    listed = await found.list_resources()
    read = await found.read_resource("doxa://kref/p/s/db.fact")
    prompts = await found.list_prompts()
    assert [one.name for one in prompts.prompts] == [
        "brief",
        "remember-session",
        "review-conflicts",
    ]
    if modern:
        assert {one.cache_scope for one in (tools, templates, listed, read, prompts)} == {"private"}
        assert (tools.ttl_ms, templates.ttl_ms, read.ttl_ms, listed.ttl_ms) == (
            300_000,
            300_000,
            0,
            0,
        )
    assert [one.uri for one in listed.resources] == ["doxa://kref/p/s"]
    assert json.loads(read.contents[0].text)["summary"] == "The shop runs on MySQL"  # type: ignore[union-attr]
    with pytest.raises(MCPError) as missing:
        await found.read_resource("doxa://kref/p/s/nothing.fact")
    assert missing.value.code == (-32602 if modern else -32002)
    with pytest.raises(MCPError, match="Unknown tool 'memory_nothing'"):
        await found.call_tool("memory_nothing", {})
    brief = await found.get_prompt("brief", {"tokens_max": "100"})
    assert NOT_INSTRUCTIONS in brief.messages[0].content.text  # type: ignore[union-attr]
    with pytest.raises(MCPError, match="Unknown prompt"):
        await found.get_prompt("none", {})
    with pytest.raises(MCPError, match="cursor"):
        await found.list_tools(cursor="x")


@every_era
def test_over_stdio(tmp_path: Path, era: str) -> None:
    over_stdio(tmp_path / "m.db", era, lambda found: look_around(found, era))


@every_era
def test_over_http(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="operator", project="p") as memory:
        with serving(memory) as server:
            over_http(server.uri, era, lambda found: look_around(found, era))
        assert memory.log(limit=1)[0].actor == "anonymous"
        assert memory.log(limit=1)[0].role == "agent"  # though the file is open as operator


@every_era
def test_resources_come_in_pages_and_read_back_as_they_are_listed(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        for n in range(130):
            memory.remember(f"Belief number {n}", name=f"ä {n}".replace(" ", "-"))
        memory.remember("Deep", space="a/b", name="deep")

        async def work(found: Client) -> None:
            seen, cursor, pages = [], None, 0
            while True:
                page = await found.list_resources(cursor=cursor)
                seen += [one.uri for one in page.resources]
                pages, cursor = pages + 1, page.next_cursor
                if not cursor:
                    break
            assert (pages, len(seen), len(set(seen))) == (2, 131, 131)
            for uri in (seen[0], seen[77], "doxa://kref/p/a/b/deep.fact?r=1"):
                assert json.loads((await found.read_resource(uri)).contents[0].text)["kref"]  # type: ignore[union-attr]
            whole = json.loads((await found.read_resource("doxa://kref/p")).contents[0].text)  # type: ignore[union-attr]
            assert whole["count"] == 131 and whole["next"].startswith("doxa://kref/p?after=")
            rest = json.loads((await found.read_resource(whole["next"])).contents[0].text)  # type: ignore[union-attr]
            uris = {one["uri"] for one in (*whole["entries"], *rest["entries"])}
            assert uris == set(seen)
            for cursor in ("9:x", "00001:", "00009:", "²:", "٠:", ":", "abc", "-1:"):
                with pytest.raises(MCPError, match="cursor"):
                    await found.list_resources(cursor=cursor)

        run(lambda: client(memory.session(), era), work)


# Questions


@every_era
def test_a_person_is_asked_before_more_than_one_thing_is_retired(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        filled(memory)
        person = Person(NO, yes(confirm=False), yes())

        async def work(found: Client) -> None:
            for _ in range(2):
                result = await found.call_tool("memory_forget", {"kref": "kref://p/s"})
                assert result.structured_content["declined"] is True
                assert len(memory.recent()) == 3
            result = await found.call_tool("memory_forget", {"kref": "kref://p/s"})
            assert (result.structured_content["done"], memory.recent()) == (True, [])

        run(
            lambda: client(memory.session(), era, profile="core", elicitation_callback=person),
            work,
        )
        assert len(person.asked) == 3
        assert all("3 things would be retired" in one.message for one in person.asked)
        assert isinstance(person.asked[0], ElicitRequestFormParams)


@every_era
def test_a_yes_to_another_set_is_no_yes(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        filled(memory)

        class Slow(Person):
            async def __call__(self, context: Any, params: Any) -> ElicitResult:
                if not self.asked:
                    memory.remember("One more", space="s", name="more")
                return await super().__call__(context, params)

        person = Slow(yes(), NO)

        async def work(found: Client) -> None:
            result = await found.call_tool("memory_forget", {"kref": "kref://p/s"})
            assert result.structured_content["declined"] is True

        run(lambda: client(memory.session(), era, elicitation_callback=person), work)
        assert ["3 things" in one.message for one in person.asked] == [True, False]
        assert len(memory.recent()) == 4


def test_an_answer_counts_once_for_its_caller_and_its_arguments(tmp_path: Path) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        filled(memory)
        memory.remember("Elsewhere", space="t", name="a")
        memory.remember("Elsewhere too", space="t", name="b")

        async def work(found: Client) -> None:
            async def call(kref: str, **more: Any) -> Any:
                return await found.session.call_tool(
                    "memory_forget", {"kref": kref}, allow_input_required=True, **more
                )

            asked = await call("kref://p/s")
            assert isinstance(asked, InputRequiredResult)
            answer = {"answer": yes()}
            state = asked.request_state
            assert state and "nonce" not in state  # sealed
            for kref, changed in (("kref://p/t", state), ("kref://p/s", state[:-2] + "AA")):
                with pytest.raises(MCPError, match="requestState"):
                    await call(kref, input_responses=answer, request_state=changed)
            again = await call("kref://p/s", input_responses={}, request_state=state)
            assert isinstance(again, InputRequiredResult)  # the answer is missing: asked again
            done = await call("kref://p/s", input_responses=answer, request_state=state)
            assert done.structured_content["done"] is True
            filled(memory)
            with pytest.raises(MCPError, match="answered already"):
                await call("kref://p/s", input_responses=answer, request_state=state)

        person = Person()
        run(lambda: client(memory.session(), "2026-07-28", elicitation_callback=person), work)
        assert person.asked == []


@every_era
def test_without_forms_the_token_of_the_preview_serves(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        filled(memory)

        async def work(found: Client) -> None:
            shown = await found.call_tool("memory_forget", {"kref": "kref://p/s"})
            token = shown.structured_content["confirm"]
            assert token in shown.content[0].text  # type: ignore[union-attr]
            done = await found.call_tool("memory_forget", {"kref": "kref://p/s", "confirm": token})
            assert done.structured_content["done"] is True

        run(lambda: client(memory.session(), era, profile="core"), work)


@every_era
def test_conflicts_and_erasures_are_the_operators_and_asked_for(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="operator", project="p") as memory:
        memory.constrain({"functional": ["colour"]})
        memory.remember(
            "The gate is green", name="gate", facts=[("gate", "colour", "green")], trust="verified"
        )
        weaker = memory.remember(
            "The gate is blue", name="blue", facts=[("gate", "colour", "blue")]
        )
        conflict = weaker.change.conflict
        decide = {"conflict": conflict, "decision": "accept"}

        async def agent(found: Client) -> None:
            result = await found.call_tool("memory_resolve", decide)
            assert result.structured_content["error"]["code"] == "role"
            text = (await found.get_prompt("review-conflicts", {})).messages[0].content.text  # type: ignore[union-attr]
            assert conflict in text and '"The gate is blue"' in text

        person = Person()
        run(lambda: client(memory.session(role="agent"), era, elicitation_callback=person), agent)
        assert person.asked == []  # what the role may not do is not asked for

        async def operator(found: Client) -> None:
            result = await found.call_tool("memory_resolve", decide)
            assert result.structured_content["error"]["code"] == "role"  # declined
            result = await found.call_tool("memory_resolve", decide)
            assert result.structured_content["action"] == "resolved"
            assert memory.get(conflict).decision == "reject"  # type: ignore[union-attr]
            gone = {"kref": "kref://p/blue.fact", "erase": True}
            result = await found.call_tool("delete_item", gone)
            assert result.structured_content["declined"] is True
            result = await found.call_tool("delete_item", gone)
            assert result.structured_content["done"] is True

        person = Person(NO, yes(decision="reject"), NO, yes())
        operators = memory.session(role="operator")
        run(lambda: client(operators, era, elicitation_callback=person), operator)
        assert "contradicts" in person.asked[0].message and "erased" in person.asked[2].message


@every_era
def test_a_file_is_written_only_if_a_person_agrees_on_this_machine(
    tmp_path: Path, era: str
) -> None:
    target = {"target": str(tmp_path / "export.jsonl")}
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        filled(memory)

        async def work(found: Client) -> None:
            result = await found.call_tool("memory_export", target)
            assert result.is_error and not Path(target["target"]).exists()

        run(lambda: client(memory.session(), era), work)  # nobody can be asked
        run(lambda: client(memory.session(), era, elicitation_callback=Person(NO)), work)

        async def agreed(found: Client) -> None:
            result = await found.call_tool("memory_export", target)
            assert result.structured_content["value"] > 3 and Path(target["target"]).exists()

        run(lambda: client(memory.session(), era, elicitation_callback=Person(yes())), agreed)
        with serving(memory, profile="full") as server:

            async def remote(found: Client) -> None:
                names = {tool.name for tool in (await found.list_tools()).tools}
                assert not names & {"memory_export", "memory_import", "memory_backup"}

            over_http(server.uri, era, remote)


# Long calls


MESSAGES = [{"text": f"Message number {n} of many", "speaker": "Ana"} for n in range(2_600)]


@every_era
def test_a_long_call_tells_its_progress(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        notes: list[float] = []

        async def note(done: float, *_: Any) -> None:
            notes.append(done)

        async def work(found: Client) -> None:
            result = await found.call_tool(
                "memory_ingest_messages",
                {"source": MESSAGES, "extract": False},
                progress_callback=note,
            )
            assert result.structured_content["added"] == len(MESSAGES)
            for _ in range(200):  # the client hands notes on by themselves, perhaps later
                if notes and notes[-1] == len(MESSAGES):
                    break
                await asyncio.sleep(0.05)

        run(lambda: client(memory.session(), era), work)
        assert notes == sorted(set(notes)) and notes[-1] == len(MESSAGES)


@every_era
def test_a_note_on_its_way_as_the_call_ends_still_arrives(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = ServerSession.report_progress

    async def slow(*args: Any) -> None:
        await asyncio.sleep(0.3)
        await ready(*args)

    monkeypatch.setattr(ServerSession, "report_progress", slow)
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        notes: list[float] = []

        async def note(done: float, *_: Any) -> None:
            notes.append(done)

        async def work(found: Client) -> None:
            given = {"source": MESSAGES[:100], "extract": False}
            await found.call_tool("memory_ingest_messages", given, progress_callback=note)
            for _ in range(200):
                if notes:
                    break
                await asyncio.sleep(0.05)

        run(lambda: client(memory.session(), era), work)
        assert notes == [100]


@every_era
def test_a_note_that_cannot_be_sent_fails_no_call_and_is_logged(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: Any) -> None:
        raise ConnectionError("gone")

    monkeypatch.setattr(ServerSession, "report_progress", broken)
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:

        async def note(*_: Any) -> None: ...

        async def work(found: Client) -> None:
            given = {"source": MESSAGES[:100], "extract": False}
            result = await found.call_tool("memory_ingest_messages", given, progress_callback=note)
            assert result.structured_content["added"] == 100

        run(lambda: client(memory.session(), era), work)
    assert "a note of progress was not sent: ConnectionError" in caplog.text


@every_era
def test_nothing_of_a_call_goes_on_that_was_cancelled_as_a_note_was_on_its_way(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_way = asyncio.Event()

    async def stuck(*_: Any) -> None:
        under_way.set()
        await asyncio.sleep(60)

    monkeypatch.setattr(ServerSession, "report_progress", stuck)
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:

        async def note(*_: Any) -> None: ...

        def telling() -> list[Any]:
            return [one for one in asyncio.all_tasks() if "_Progress" in repr(one.get_coro())]

        async def work(found: Client) -> None:
            given = {"source": MESSAGES[:100], "extract": False}
            call = asyncio.create_task(
                found.call_tool("memory_ingest_messages", given, progress_callback=note)
            )
            await under_way.wait()
            while len(list(memory.run("MATCH (n:Exchange) RETURN n.kref"))) < 100:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.1)  # the call is done, and waits for its note
            assert telling()
            call.cancel()
            for _ in range(500):
                if not telling():
                    break
                await asyncio.sleep(0.01)
            assert not telling()

        run(lambda: client(memory.session(), era), work)


@every_era
def test_a_long_call_ends_with_its_client(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:

        async def work(found: Client) -> None:
            began = asyncio.Event()

            async def note(*_: Any) -> None:
                began.set()

            task = asyncio.create_task(
                found.call_tool(
                    "memory_ingest_messages",
                    {"source": MESSAGES, "extract": False},
                    progress_callback=note,
                )
            )
            await began.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert (await found.call_tool("memory_status", {})).is_error is False

        with serving(memory, profile="full") as server:
            over_http(server.uri, era, work)
        before = -1
        while (held := memory.stats()["exchanges"]) != before:  # its batch may be under way
            before = held
            time.sleep(0.3)
        assert 0 < held < len(MESSAGES)  # type: ignore[operator]
        assert memory.check() == []


@every_era
def test_a_call_that_is_sent_again_under_its_key_writes_once(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="agent", project="p") as memory:
        memory.remember("The shop runs on MySQL", name="db")

        async def work(found: Client) -> None:
            async def sent(tool: str, key: Any, **given: Any) -> Any:
                return await found.call_tool(tool, given, meta={IDEMPOTENCY_KEY: key})

            for tool in ("memory_update", "create_revision"):
                name = "kref" if tool == "memory_update" else "what"
                given = {name: "kref://p/db.fact", "text": f"The shop runs on {tool}"}
                first, again = await sent(tool, tool, **given), await sent(tool, tool, **given)
                assert first.structured_content == again.structured_content
                other = await sent(tool, tool, **given | {"text": "Something else"})
                assert other.structured_content["error"]["code"] == "conflict"
            assert (await sent("memory_update", 5, kref="kref://p/db.fact", text="x")).is_error

        run(lambda: client(memory.session(), era), work)
        assert len(memory.history("kref://p/db.fact").revisions) == 3
