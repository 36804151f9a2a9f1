"""What a host asks first is answered before the SDK is there, once, and as the SDK would do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fixtures_shared import own_code

pytest.importorskip("mcp", reason="the mcp extra is not installed")

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from doxa.servers.mcp.handshake import EARLY_VERSIONS, MODERN, FirstLines, Handshake

HOST = {"name": "host", "title": "A host", "version": "2.1"}
CAPABILITIES = {"roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}}}
ABOUT = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    "io.modelcontextprotocol/clientInfo": HOST,
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
BLANK = b"\n"  # nobody answers it, and what follows it is left to the SDK
TOOLS = [{"name": "t", "inputSchema": {"type": "object"}}]


def request(number: int | str, method: str, **params: Any) -> dict[str, Any]:
    found = {"jsonrpc": "2.0", "id": number, "method": method}
    return found | {"params": params} if params else found


def hello(version: str = "2025-11-25", number: int = 1, **changes: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": CAPABILITIES, "clientInfo": HOST}
    return request(number, "initialize", **params | changes)


def sent(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


def process(folder: Path, profile: str = "core", **more: str) -> subprocess.Popen[bytes]:
    environment = {"DOXA_MODELS": str(folder / "models"), **own_code(), **more}
    return subprocess.Popen(
        [
            *[sys.executable, "-W", "error", "-m", "doxa.cli", "mcp", "--profile", profile],
            *["--project", "p", "--db", str(folder / "m.db")],
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


def answers(folder: Path, data: bytes, expected: set[Any], profile: str = "core") -> list[Any]:
    """All that a server answers to what is sent at once, before it can have loaded the SDK. It ends
    when these ids are answered: the SDK leaves open what it has not answered then."""
    server = process(folder, profile)
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(data)
    server.stdin.flush()
    found: list[Any] = []
    while not expected <= {one["id"] for one in found}:
        line = server.stdout.readline()
        assert line, found
        found.append(json.loads(line))
    out, err = server.communicate(timeout=60)
    assert server.returncode == 0, err
    return [*found, *map(json.loads, out.splitlines())]


def by_id(found: Iterable[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    listed = list(found)
    assert max(Counter(one["id"] for one in listed).values()) == 1, listed
    return {one["id"]: one for one in listed}


def early(messages: Sequence[dict[str, Any]], tools: Any = TOOLS) -> list[Any]:
    handshake = Handshake(tools, version="1")
    return [handshake.answer(sent(one)) for one in messages]


def test_the_versions_are_those_of_the_sdk() -> None:
    assert tuple(HANDSHAKE_PROTOCOL_VERSIONS) == EARLY_VERSIONS
    assert tuple(MODERN_PROTOCOL_VERSIONS) == (MODERN,)


@pytest.mark.parametrize(
    ("version", "profile"),
    [*((one, "core") for one in EARLY_VERSIONS), (MODERN, "core"), (MODERN, "full")],
)
def test_the_answers_are_those_of_the_sdk(tmp_path: Path, version: str, profile: str) -> None:
    if version == MODERN:
        asked = [
            request(1, "server/discover", _meta=ABOUT),
            request(2, "tools/list", _meta=ABOUT),
        ]
    else:
        asked = [hello(version), INITIALIZED, request(2, "tools/list")]
    first = by_id(answers(tmp_path, sent(*asked), {1, 2}, profile))
    theirs = by_id(answers(tmp_path, BLANK + sent(*asked), {1, 2}, profile))
    assert first == theirs
    tools = first[2]["result"]["tools"]
    from_front = [json.loads(one[1]) for one in early(asked, tools) if one is not None]
    assert len(from_front) == 2  # none of them waited for the SDK
    assert from_front[1] == theirs[2] | {"result": theirs[2]["result"] | marked(from_front[1])}


def marked(answer: dict[str, Any]) -> dict[str, Any]:
    """The version of the server, which is another one in this test."""
    return {"_meta": answer["result"]["_meta"]} if "_meta" in answer["result"] else {}


def test_each_request_of_a_burst_is_answered_once(tmp_path: Path) -> None:
    burst = sent(
        hello(),
        INITIALIZED,
        request("a", "prompts/list"),
        request(2, "tools/list"),
        request(3, "resources/list"),
        request(4, "tools/call", name="memory_remember", arguments={"text": "Ann likes tea."}),
        request("8", "tools/list", _meta={}),
        request(5, "tools/list", cursor="x"),
        request(6, "ping"),
        request(7, "none/such"),
    )
    expected = {1, "a", 2, 3, 4, "8", 5, 6, 7, None}
    found = by_id(answers(tmp_path, burst + b"nonsense\n", expected))
    assert set(found) == expected
    assert found[2]["result"] == found["8"]["result"]
    assert found[4]["result"]["structuredContent"]["stored"]
    assert {one for one in found if "error" in found[one]} == {5, 7, None}


@pytest.mark.parametrize(
    "first",
    [
        hello("1999-01-01"),
        hello(clientInfo={"name": "no version"}),
        request(1, "ping"),
        request(1, "tools/list"),
        request(1, "server/discover", _meta=ABOUT | {next(iter(ABOUT)): "2031-01-01"}),
    ],
    ids=str,
)
def test_other_beginnings_are_left_to_the_sdk(tmp_path: Path, first: dict[str, Any]) -> None:
    following = [INITIALIZED, request(2, "tools/list")]
    assert early([first, *following]) == [None, None, None]
    found = by_id(answers(tmp_path, sent(first, *following), {1, 2}))
    assert found == by_id(answers(tmp_path, BLANK + sent(first, *following), {1, 2}))


def test_what_is_no_request_of_a_beginning_has_no_early_answer() -> None:
    handshake = Handshake(TOOLS, version="1")
    assert handshake.answer(sent(hello())) is not None
    for line in (
        b"\n",
        b"nonsense\n",
        b"\xff\xfe\n",
        b"[" * 5_000 + b"\n",
        sent(hello(number=2)),
        sent(request(2, "tools/list")),  # not before the host has said that it is ready
        sent(request(2, "server/discover", _meta=ABOUT)),
    ):
        assert handshake.answer(line) is None
    assert handshake.answer(sent(INITIALIZED)) is None
    for line in (
        sent(request(2, "tools/list", cursor="")),
        sent({**request(2, "tools/list"), "jsonrpc": "1.0"}),
        sent({**request(2, "tools/list"), "id": None}),
        sent({**request(2, "tools/list"), "id": True}),
        sent({**request(2, "tools/list"), "id": 1.5}),
        sent({"jsonrpc": "2.0", "method": "tools/list"}),
        sent(request(2, "prompts/list")),
    ):
        assert handshake.answer(line) is None
    assert not handshake.over
    answer = handshake.answer(sent(request(2, "tools/list")))
    assert answer is not None
    assert json.loads(answer[1])["result"] == {"tools": TOOLS}


@pytest.mark.parametrize(
    "meta", [{"progressToken": {}}, {"progressToken": 1.5}, ABOUT, {"other": 1}], ids=str
)
def test_a_list_that_the_sdk_might_refuse_is_left_to_it(
    tmp_path: Path, meta: dict[str, Any]
) -> None:
    asked = [hello(), INITIALIZED, request(2, "tools/list", _meta=meta), request(3, "ping")]
    assert early(asked)[2] is None
    assert set(by_id(answers(tmp_path, sent(*asked), {1, 2, 3}))) == {1, 2, 3}


def test_a_host_may_send_much_before_it_reads(tmp_path: Path) -> None:
    """The list of the full profile is longer than what a pipe holds, and so is what follows it."""
    pings = [request(number, "ping", _meta={"note": "x" * 1_000}) for number in range(10, 310)]
    burst = sent(hello(), INITIALIZED, request(2, "tools/list"), *pings)
    assert len(burst) > 300_000
    found = by_id(answers(tmp_path, burst, {1, 2, *range(10, 310)}, "full"))
    assert len(json.dumps(found[2])) > 128_000


def test_a_host_that_leaves_at_once(tmp_path: Path) -> None:
    assert set(by_id(answers(tmp_path, sent(hello()), {1}))) == {1}
    assert answers(tmp_path, b"", set()) == []
    server = process(tmp_path)
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stderr is not None
    server.stdout.close()  # nobody reads the answers
    with suppress(BrokenPipeError):
        server.stdin.write(sent(hello(), INITIALIZED, request(2, "tools/list")))
        server.stdin.close()
    error = server.stderr.read()
    server.stderr.close()
    server.wait(60)
    assert b"Fatal" not in error


def test_an_sdk_that_cannot_be_imported_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "code" / "mcp").mkdir(parents=True)
    (tmp_path / "code" / "mcp" / "__init__.py").write_text("raise ImportError('broken')\n")
    before = own_code().get("PYTHONPATH", "")
    path = os.pathsep.join([str(tmp_path / "code"), *filter(None, [before])])
    server = process(tmp_path, PYTHONPATH=path)
    out, err = server.communicate(timeout=60)  # standard input stays open until it has ended
    assert server.returncode != 0
    assert b"needs the extra mcp" in err
    assert b"Fatal" not in err
    assert out == b""


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"{}", b"\xc3\xa4", b"\xff", b"x" * 70_000])),
    st.integers(1, 9_000),
)
def test_lines_are_read_whole_in_whatever_pieces_they_come(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    reading, writing = os.pipe()

    def feed() -> None:
        for at in range(0, len(data), size):
            os.write(writing, data[at : at + size])
        os.close(writing)

    feeding = threading.Thread(target=feed)
    feeding.start()
    lines = FirstLines(Handshake(TOOLS, version="1"), reading, -1)
    lines.start()
    try:
        found = list(iter(lines.next, ""))
        assert lines.next() == ""
    finally:
        feeding.join()
        os.close(reading)
    assert found == data.decode("utf-8", "replace").splitlines(keepends=True)


def test_nothing_is_answered_once_the_lines_are_taken_over() -> None:
    reading, sending = os.pipe()
    answered, writing = os.pipe()
    lines = FirstLines(Handshake(TOOLS, version="1"), reading, writing)
    lines.start()
    os.write(sending, sent(hello()))
    assert json.loads(os.read(answered, 10_000))["id"] == 1
    assert json.loads(lines.next())["method"] == "initialize"
    os.write(sending, sent(INITIALIZED, request(2, "tools/list")))
    assert json.loads(lines.next()) == INITIALIZED
    assert json.loads(lines.next())["id"] == 2
    assert lines.answered == {1}
    os.close(writing)
    assert os.read(answered, 10_000) == b""
    os.close(sending)
    assert lines.next() == ""
    os.close(answered)
    os.close(reading)
