"""Server-sent events through a real server: what is sent, resumption, logins, limits, the end."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import doxa
from doxa.servers.credentials import Principal
from doxa.servers.http import HttpServer, running_server
from doxa.servers.memory import MemoryDatabase
from tests.http.http_fixtures import Client, until

EVENTS = "/db/doxa/events"


class Logins:
    """One operator, whose login can be taken away, and one who is bound to a project."""

    def __init__(self) -> None:
        self.removed = False

    def verify(self, name: str, secret: str) -> Principal | None:
        return None

    def verify_token(self, token: str) -> Principal | None:
        if token == "bound":
            return Principal("bound", "agent", projects=("shop",))
        return None if self.removed else Principal("ana", "operator")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[doxa.Memory]:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as made:
        made.remember("We deploy on Thursdays", project="shop", name="deploys")
        yield made


@pytest.fixture
def logins() -> Logins:
    return Logins()


@pytest.fixture
def server(memory: doxa.Memory, logins: Logins) -> Iterator[HttpServer]:
    with running_server(MemoryDatabase(memory), logins) as made:
        yield made


class Listener:
    """One client of server-sent events."""

    def __init__(self, server: HttpServer, query: str = "", token: str = "t", **headers: str):
        self.line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        sent = {"Accept": "text/event-stream", "Authorization": f"Bearer {token}", **headers}
        self.line.request("GET", EVENTS + query, headers=sent)
        self.reply = self.line.getresponse()

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.reply.close()
        self.line.close()

    def next(self) -> dict[str, str]:
        """Return the fields of the next event, or of a comment."""
        found: dict[str, str] = {}
        while line := self.reply.readline().decode().rstrip("\n"):
            name, _, value = line.partition(": ")
            found[name] = value
        return found

    @property
    def status(self) -> int:
        return self.reply.status


def test_events_are_sent_as_they_are_committed(server: HttpServer, memory: doxa.Memory) -> None:
    wanted = list(memory.events(names=["revision.*"]))
    with Listener(server, "?name=revision.*") as client:
        assert client.status == 200
        assert client.reply.headers["content-type"].startswith("text/event-stream")
        for event in wanted:
            got = client.next()
            assert (got["id"], got["event"]) == (event.id, event.name)
            assert json.loads(got["data"]) == event.as_dict()
        memory.revise("kref://shop/deploys.fact", "We deploy on Fridays")
        names = [client.next()["event"] for _ in range(3)]
        assert names == ["revision.created", "revision.untagged", "revision.tagged"]


def test_a_client_resumes_after_the_last_event_it_saw(
    server: HttpServer, memory: doxa.Memory
) -> None:
    whole = list(memory.events())
    with Listener(server, "?since=now", **{"Last-Event-ID": whole[3].id}) as client:
        assert [client.next()["id"] for _ in whole[4:]] == [one.id for one in whole[4:]]
    with Listener(server, f"?after={whole[-2].id}&limit=1") as client:
        assert client.next()["id"] == whole[-1].id
        assert client.reply.read() == b""


def test_a_login_bound_to_a_project_gets_its_events_alone(
    server: HttpServer, memory: doxa.Memory
) -> None:
    memory.remember("Elsewhere", project="other", name="secret")
    memory.remember("Last", project="shop", name="last")
    with Listener(server, token="bound") as client:
        found: list[dict[str, Any]] = []
        while not found or found[-1]["kref"] != "kref://shop/last.fact?r=1":
            found.append(json.loads(client.next()["data"]))
    assert {one["project"] for one in found} == {"shop"}


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("?name=revison.*", {}, 400),
        ("?colour=red", {}, 400),
        ("?limit=many", {}, 400),
        ("", {"Last-Event-ID": "99:1"}, 400),
        ("", {"Accept": "application/json"}, 406),
        ("", {"Authorization": "Basic YTpi"}, 401),
        ("", {"Origin": "http://elsewhere.example"}, 403),
    ],
)
def test_what_cannot_be_served_is_refused(
    server: HttpServer, query: str, headers: dict[str, str], status: int
) -> None:
    with Listener(server, query, **headers) as client:
        assert client.status == status
        assert json.loads(client.reply.read())["errors"]


def test_a_removed_login_loses_its_stream(
    server: HttpServer, logins: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.events.HTTP_EVENT_HEARTBEAT_MS", 1)
    with Listener(server, "?since=now") as client:
        assert client.next() == {"": ""}  # a heartbeat
        logins.removed = True
        found = client.next()
        while "event" not in found:
            found = client.next()
        assert found["event"] == "error"
        assert client.reply.read() == b""


def test_a_removed_login_loses_its_stream_though_events_keep_coming(
    server: HttpServer, memory: doxa.Memory, logins: Logins, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.events.HTTP_EVENT_HEARTBEAT_MS", 100)
    over = threading.Event()

    def write() -> None:
        while not over.wait(0.002):
            memory.run("CREATE (:News)")

    writer = threading.Thread(target=write)
    with Listener(server, "?since=now") as client:
        writer.start()
        try:
            client.next()
            logins.removed = True
            names = iter(lambda: client.next().get("event", ""), "error")
            seen = len(list(itertools.islice(names, 2_000)))
        finally:
            over.set()
            writer.join()
        assert seen < 2_000 and client.reply.read() == b""


def test_there_are_only_so_many_streams_and_they_are_given_back(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.app.HTTP_EVENT_STREAMS_ITEMS_MAX", 1)
    with Listener(server) as one:
        assert one.status == 200
        with Listener(server) as two:
            assert two.status == 503

    def free() -> bool:
        with Listener(server) as again:
            return again.status == 200

    until(free)


def test_a_stopping_server_ends_its_streams(memory: doxa.Memory) -> None:
    with running_server(MemoryDatabase(memory), None) as server:
        client = Listener(server, "?since=now")
    with client:
        assert client.reply.read() in (b"", b": \n\n")  # to its end


def test_queries_go_on_beside_streams(server: HttpServer) -> None:
    with Listener(server, "?since=now") as client, Client(server.port) as other:
        reply = other.query("RETURN 1 AS one", headers={"Authorization": "Bearer t"})
        assert reply.values == [[1]]
        assert client.status == 200
