"""mem0's REST interface below /mem0: every route, its logins and scopes, hostile requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doxa.adapters.mem0 import Mem0Memory
from doxa.adapters.mem0_rest import Mem0Rest
from doxa.app import Memory, open_memory
from doxa.servers.credentials import Credentials
from doxa.servers.http import running_server
from doxa.servers.memory import MemoryDatabase
from tests.http.http_fixtures import JSON, Client


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    path = tmp_path / "a.db"
    with open_memory(path, role="operator", embedder=None, background=False) as made:
        yield made


def mounted(database: MemoryDatabase) -> dict[str, Any]:
    return {"mem0": lambda principal: Mem0Rest(Mem0Memory(database.session_of(principal)))}


@pytest.fixture
def client(memory: Memory) -> Iterator[Client]:
    database = MemoryDatabase(memory)
    with (
        running_server(database, None, mounts=mounted(database)) as server,
        Client(server.port) as made,
    ):
        yield made


def ask(client: Client, method: str, path: str, given: Any = None, **headers: str) -> Any:
    body = None if given is None else json.dumps(given).encode()
    kind = {} if given is None else {"Content-Type": JSON}
    client.line.request(method, f"/mem0/{path}", body, {**kind, **headers})
    response = client.line.getresponse()
    return response.status, json.loads(response.read())


def test_every_route(client: Client) -> None:
    messages = [{"role": "user", "content": "I live in Berlin"}]
    status, made = ask(client, "POST", "memories", {"messages": messages, "user_id": "ann"})
    assert status == 200
    one = made["results"][0]["id"]
    assert ask(client, "GET", f"memories/{one}")[1]["memory"] == "I live in Berlin"
    assert ask(client, "PUT", f"memories/{one}", {"text": "I live in Rome"})[0] == 200
    assert ask(client, "POST", "search", {"query": "where", "user_id": "ann"})[0] == 200
    wanted = {"query": "live in Rome", "filters": {"user_id": "ann"}, "top_k": 3}
    assert ask(client, "POST", "search", wanted)[1]["results"][0]["memory"] == "I live in Rome"
    assert len(ask(client, "GET", "memories?user_id=ann&limit=5")[1]["results"]) == 1
    assert ask(client, "GET", "memories?user_id=bob")[1] == {"results": []}
    assert [row["event"] for row in ask(client, "GET", f"memories/{one}/history")[1]] == [
        "ADD",
        "UPDATE",
    ]
    assert ask(client, "DELETE", f"memories/{one}")[0] == 200
    assert ask(client, "GET", f"memories/{one}")[0] == 404
    assert ask(client, "DELETE", f"memories/{one}")[0] == 404
    ask(client, "POST", "memories", {"messages": "Tea", "user_id": "ann", "infer": False})
    assert ask(client, "DELETE", "memories?user_id=ann")[0] == 200
    assert ask(client, "POST", "reset")[0] == 200
    assert ask(client, "GET", "memories?user_id=ann")[1] == {"results": []}


@pytest.mark.parametrize(
    ("method", "path", "given", "status"),
    [
        ("POST", "memories", {"messages": "x"}, 400),
        ("POST", "memories", {"messages": "x", "user_id": "a b"}, 400),
        ("POST", "memories", {"messages": 5, "user_id": "a"}, 400),
        ("POST", "memories", {"messages": "x", "user_id": {"in": ["a"]}}, 400),
        ("POST", "memories", {"messages": "x", "user_id": "a", "space": "b"}, 400),
        ("POST", "memories", [1], 400),
        ("POST", "search", {"query": "x"}, 400),
        ("POST", "search", {"query": 5, "user_id": "a"}, 400),
        ("POST", "search", {"query": "x", "user_id": "a", "filters": {"user_id": "b"}}, 400),
        ("POST", "search", {"query": "x", "filters": 5}, 400),
        ("POST", "search", {"query": "x", "user_id": "a", "top_k": "many"}, 400),
        ("GET", "memories", None, 400),
        ("GET", "memories?user_id=a&limit=-1", None, 400),
        ("GET", "memories?user_id=a&project=other", None, 400),
        ("DELETE", "memories", None, 400),
        ("PUT", "memories/x", {"text": "y"}, 404),
        ("PUT", "memories/x", {"metadata": 5}, 404),
        ("GET", "memories/..%2f..%2fother", None, 404),
        ("GET", "nothing", None, 404),
        ("POST", "configure", {}, 404),
        ("GET", "", None, 404),
    ],
)
def test_what_is_refused(client: Client, method: str, path: str, given: Any, status: int) -> None:
    found, document = ask(client, method, path, given)
    assert found == status, document
    assert document["detail"]


def test_a_body_that_is_not_json(client: Client) -> None:
    for kind, body in ((JSON, b"\xff{"), (JSON, b"[" * 100_000), ("text/plain", b"{}")):
        client.line.request("POST", "/mem0/memories", body, {"Content-Type": kind})
        response = client.line.getresponse()
        assert response.status in (400, 415)
        response.read()
    assert (
        ask(client, "POST", "memories", {"messages": "x"}, Origin="https://evil.example")[0] == 403
    )


def test_logins_keep_their_projects(memory: Memory, tmp_path: Path) -> None:
    known = Credentials(tmp_path / "users.json")
    known.add("ann", "a-good-secret", role="agent", projects=("shop",))
    token = known.add_token("bot", role="agent", projects=("other",))
    database = MemoryDatabase(memory)
    with (
        running_server(database, known, mounts=mounted(database)) as server,
        Client(server.port) as client,
    ):
        note = {"messages": "The key is under the mat", "user_id": "u", "infer": False}
        assert ask(client, "POST", "memories", note)[0] == 401
        ann = {"Authorization": "Basic YW5uOmEtZ29vZC1zZWNyZXQ="}
        status, made = ask(client, "POST", "memories", note, **ann)
        assert status == 200, made
        one = made["results"][0]["id"]
        bot = {"X-API-Key": str(token)}
        assert ask(client, "GET", "memories?user_id=u", **bot) == (200, {"results": []})
        assert ask(client, "GET", f"memories/{one}", **bot)[0] == 404
        assert ask(client, "GET", "memories?user_id=u", **{"X-API-Key": "wrong"})[0] == 401
        assert len(ask(client, "GET", "memories?user_id=u", **ann)[1]["results"]) == 1
