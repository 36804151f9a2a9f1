"""MCP over streamable HTTP: who is let in, what is said to who is not, and whose session it is."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the mcp extra is not installed")

from mcp import Client

from doxa.base.errors import InputError
from doxa.servers.credentials import Credentials
from doxa.servers.mcp import http as module
from doxa.servers.mcp.http import SESSION, McpServer, http_server
from tests.fixtures_shared import opened, own_code
from tests.servers.mcp_fixtures import ERAS, over_http, serving

every_era = pytest.mark.parametrize("era", ERAS)
PING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        }
    },
}
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}


@pytest.fixture
def users(tmp_path: Path) -> Credentials:
    return Credentials(tmp_path / "users.json")


def sent(
    server: McpServer,
    *,
    method: str = "POST",
    path: str = "/mcp",
    body: object = PING,
    **headers: str,
) -> tuple[HTTPResponse, dict[str, Any]]:
    connection = HTTPConnection(server.host, server.port, timeout=20)
    try:
        data = json.dumps(body) if method == "POST" else None
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, data, HEADERS | named)
        response = connection.getresponse()
        text = response.read()
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        return response, json.loads(text) if is_json and text else {}
    finally:
        connection.close()


def test_a_request_without_a_right_token_learns_how_to_get_in(
    tmp_path: Path, users: Credentials
) -> None:
    users.add("ana", "a password of ana")
    token = users.add_token("bot")
    elsewhere = users.add_token("guest", databases=["other"])
    with (
        opened(tmp_path / "m.db", role="operator", project="p") as memory,
        serving(memory, users) as server,
    ):
        base = f"http://127.0.0.1:{server.port}"
        metadata = f"{base}/.well-known/oauth-protected-resource/mcp"
        answer, _ = sent(server)
        challenge = answer.headers["WWW-Authenticate"]
        assert answer.status == 401 and "error=" not in challenge  # nothing was presented
        assert challenge.startswith("Bearer ") and 'scope="memory"' in challenge
        assert f'resource_metadata="{metadata}"' in challenge
        basic = "Basic YW5hOmEgcGFzc3dvcmQgb2YgYW5h"
        for given, status, error in (
            ("Bearer wrong", 401, "invalid_token"),
            ("Bearer ", 401, "invalid_request"),
            (basic, 401, "invalid_request"),
            (f"Bearer {elsewhere}", 403, "insufficient_scope"),
        ):
            answer, body = sent(server, Authorization=given)
            assert answer.status == status
            assert f'error="{error}"' in answer.headers["WWW-Authenticate"]
            assert body["error"]["next_step"]
        answer, body = sent(server, Authorization=f"Bearer {token}")
        assert answer.status == 200 and len(body["result"]["tools"]) == 7
        for path in ("/.well-known/oauth-protected-resource", metadata.removeprefix(base)):
            answer, body = sent(server, method="GET", path=path)
            assert (answer.status, body["resource"]) == (200, f"{base}/mcp")
            assert body["bearer_methods_supported"] == ["header"]
        assert sent(server, method="GET", path="/health")[1] == {"status": "ok"}
        assert sent(server, method="GET", path="/other")[0].status == 404


def test_pages_of_other_origins_and_other_hosts_are_refused(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "m.db", role="operator", project="p") as memory,
        serving(memory) as server,
    ):
        own = f"127.0.0.1:{server.port}"
        for headers, status in (
            ({"Host": "evil.example"}, 421),
            ({"Host": f"evil.example:{server.port}"}, 421),
            ({"Origin": "http://evil.example"}, 403),
            ({"Origin": "null"}, 403),
            ({"Host": own, "Origin": f"http://{own}"}, 200),
            ({"Host": f"localhost:{server.port}"}, 200),
        ):
            assert sent(server, **headers)[0].status == status, headers
        assert sent(server, path="/health", Host="evil.example")[0].status == 421
        large = PING | {"params": {"x": "y" * 5_000_000}}
        assert sent(server, body=large)[0].status == 413


def test_an_address_that_others_reach_needs_a_login_and_encryption(
    tmp_path: Path, users: Credentials
) -> None:
    def make(*_: Any) -> Any:
        raise AssertionError("nobody is served")

    with pytest.raises(InputError, match="no login"):
        http_server(make, None, host="0.0.0.0")
    with pytest.raises(InputError, match="clear text"):
        http_server(make, users, host="0.0.0.0")


@every_era
def test_a_request_has_the_rights_of_its_login(
    tmp_path: Path, users: Credentials, era: str
) -> None:
    tokens = {
        "agent": users.add_token("bot"),
        "operator": users.add_token("olga", role="operator"),
        "bound": users.add_token("guest", projects=["theirs"]),
    }
    with opened(tmp_path / "m.db", role="operator", project="p") as memory:
        memory.remember("The shop runs on MySQL", name="db")
        memory.remember("Theirs is PostgreSQL", name="db", project="theirs")
        with serving(memory, users, profile="full") as server:

            async def agent(found: Client) -> None:
                erased = await found.call_tool("memory_erase", {"text": "MySQL"})
                assert erased.structured_content["error"]["code"] == "role"
                found_ = await found.call_tool("memory_recall", {"query": "what runs the shop"})
                assert len(found_.structured_content["hits"]) == 1

            async def bound(found: Client) -> None:
                got = await found.call_tool("memory_get", {"kref": "kref://p/db.fact"})
                assert got.is_error
                listed = await found.list_resources()
                assert [one.uri for one in listed.resources] == ["doxa://kref/theirs/db.fact"]
                with pytest.raises(Exception, match="not found"):
                    await found.read_resource("doxa://kref/p/db.fact")
                made = await found.call_tool("memory_remember", {"text": "Ours", "name": "x"})
                assert made.structured_content["kref"] == "kref://theirs/x.fact?r=1"

            async def operator(found: Client) -> None:
                shown = await found.call_tool("memory_erase", {"text": "MySQL"})
                token = shown.structured_content["token"]
                done = await found.call_tool("memory_erase", {"text": "MySQL", "confirm": token})
                assert done.structured_content["done"] is True

            for who, work in (("agent", agent), ("bound", bound), ("operator", operator)):
                over_http(server.uri, era, work, token=tokens[who])
        assert {one.actor for one in memory.log(limit=5)} >= {"guest", "olga"}


def test_a_session_belongs_to_the_login_that_began_it(tmp_path: Path, users: Credentials) -> None:
    first, second = users.add_token("bot"), users.add_token("other")
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    old = {"MCP_Protocol_Version": "2025-11-25"}
    with (
        opened(tmp_path / "m.db", role="operator", project="p") as memory,
        serving(memory, users) as server,
    ):
        connection = HTTPConnection(server.host, server.port, timeout=20)
        headers = HEADERS | {
            "MCP-Protocol-Version": "2025-11-25",
            "Authorization": f"Bearer {first}",
        }
        connection.request("POST", "/mcp", json.dumps(begin), headers)
        name = connection.getresponse().headers["Mcp-Session-Id"]
        connection.close()
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        answer, _ = sent(
            server,
            body=listing,
            Authorization=f"Bearer {second}",
            Mcp_Session_Id=name,
            **old,
        )
        assert answer.status == 404


def test_one_login_leaves_sessions_to_others(
    tmp_path: Path, users: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all sessions are open, the oldest one of the login with the most ends for a new one."""
    monkeypatch.setattr(module, "MCP_SESSIONS_ITEMS_MAX", 4)
    tokens = {name: users.add_token(name) for name in ("many", "few")}
    client = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
    begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    old = {"MCP_Protocol_Version": "2025-11-25"}
    with (
        opened(tmp_path / "m.db", role="operator", project="p") as memory,
        serving(memory, users) as server,
    ):

        def begun(who: str) -> str:
            given = {"Authorization": f"Bearer {tokens[who]}"}
            answer, _ = sent(server, body=begin, **given, **old)
            assert answer.status == 200
            return answer.headers["Mcp-Session-Id"] or ""

        def asked(who: str, name: str, method: str = "POST") -> int:
            given = {"Authorization": f"Bearer {tokens[who]}", "Mcp_Session_Id": name}
            return sent(server, method=method, body=listing, **given, **old)[0].status

        many = [begun("many") for _ in range(6)]
        assert [asked("many", one) for one in many] == [404, 404, 200, 200, 200, 200]
        assert asked("many", many[2]) == 200  # used last: those that were not end first
        few = [begun("few") for _ in range(3)]
        assert [asked("many", one) for one in many[2:]] == [200, 404, 404, 200]
        assert [asked("few", one) for one in few] == [404, 200, 200]
        assert asked("few", few[1], "DELETE") == 200  # so that one more can be open
        begun("many")
        assert [asked("many", one) for one in (many[2], many[5])] == [200, 200]


@every_era
def test_one_conversation_counts_once_as_evidence(tmp_path: Path, era: str) -> None:
    with opened(tmp_path / "m.db", role="operator", project="p") as memory:
        memory.remember("The shop runs on MySQL", name="db")
        with serving(memory) as server:
            names: set[str] = set()

            async def work(found: Client) -> None:
                for conversation in ("a", "a", "b"):
                    result = await found.call_tool(
                        "memory_read",
                        {"text": "RETURN $_session AS session"},
                        meta={SESSION: conversation},
                    )
                    names.add(result.structured_content["rows"][0]["session"])

            with serving(memory, profile="full") as whole:
                over_http(whole.uri, era, work)
            assert names == {"a", "b"}
            assert server.uri != whole.uri


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """`doxa serve --mcp` as a process, and a token for it."""
    path = tmp_path / "m.db"
    opened(path, role="operator").close()
    users = Credentials(tmp_path / "users.json")
    token = users.add_token("bot")
    args = [
        *("-m", "doxa.cli", "serve", "--mcp", "--mcp-port", "0", "--profile", "full", "--json"),
        *("--db", str(path), "--users", str(users.path), "--project", "p"),
    ]
    process = subprocess.Popen(
        [sys.executable, *args],
        stdout=subprocess.PIPE,
        text=True,
        env={"DOXA_MODELS": str(tmp_path / "models"), "PATH": "", **own_code()},
    )
    assert process.stdout is not None
    yield json.loads(process.stdout.readline())["mcp"], token
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    process.stdout.close()


@every_era
def test_the_command_serves_and_stops(served: tuple[str, str], era: str) -> None:
    url, token = served

    async def work(found: Client) -> None:
        tools = {tool.name for tool in (await found.list_tools()).tools}
        assert {"memory_recall", "create_edge", "memory_conflicts"} <= tools
        made = await found.call_tool("memory_remember", {"text": "It serves", "name": "it"})
        assert made.structured_content["kref"] == "kref://p/it.fact?r=1"
        await asyncio.sleep(0)

    over_http(url, era, work, token=token)
