"""Fixtures for the HTTP API: a memory with something in it, behind a server on a socket, and a
client of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from doxa.app import Memory
from doxa.servers.credentials import Credentials
from doxa.servers.http import HttpServer, running_server
from doxa.servers.http.api.app import ApiOptions
from doxa.servers.memory import MemoryDatabase
from tests.fixtures_shared import opened
from tests.http.http_fixtures import Client, Headers, Reply

ROLES = ("operator", "agent", "bound")
DB, USE = "kref://p/s/db.decision", "kref://p/use.fact"


class Served(NamedTuple):
    """A memory that is served, and a token for each of ROLES; `bound` is an agent of project p."""

    memory: Memory
    server: HttpServer
    users: Credentials
    tokens: dict[str, str]

    def client(self, role: str = "operator") -> ApiClient:
        return ApiClient(self.server.port, self.tokens[role])


class ApiClient(Client):
    """A client with a token, or with none."""

    def __init__(self, port: int, token: str = "", **kept: str) -> None:
        login = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(port, **login, **kept)

    def ask(
        self, method: str, path: str, body: Any = None, headers: Headers | None = None
    ) -> Reply:
        none = {} if "Authorization" in self.kept else {"Authorization": None}
        return super().ask(method, path, body, {**none, **(headers or {})})

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, None, _named(headers))

    def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        return self.ask("POST", path, {} if body is None else body, _named(headers))


def _named(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def filled(path: Path, **options: Any) -> Memory:
    """A memory that has one of everything that an operation can be about."""
    memory = opened(path, **{"project": "p"} | options)
    memory.constrain({"functional": ["colour"]})
    memory.remember("The shop runs on MySQL", name="db", space="s", kind="decision")
    memory.revise(DB, "The shop runs on SQLite", facts=[("shop", "runs_on", "SQLite")])
    memory.remember("Ana uses the shop", name="use", depends_on=[DB])
    memory.remember("We once used FTP", name="gone")
    memory.deprecate("kref://p/gone.fact")
    memory.remember("The door is red", name="door", facts=[("door", "colour", "red")])
    memory.tag(DB, "verified")
    memory.attach(f"{DB}?r=1", "plan.pdf", location="/tmp/plan.pdf")
    memory.bundle("kref://p/all.bundle", add=[DB])
    memory.ingest([{"text": "We moved to Lisbon", "speaker": "Ana", "thread": "t"}])
    memory.remember("Bob's own secret plan", name="plan", project="other")
    memory.chat_add("hello", session="c")
    memory.mention("Ana Silva", kind="person", source=USE)
    return memory


@contextmanager
def served(
    folder: Path, *, rate: float = 0, burst: int = 10, memory: Memory | None = None, **options: Any
) -> Iterator[Served]:
    """Serve a memory on a free port. Without `rate`, requests are not counted."""
    users = Credentials(folder / "users.json")
    tokens = {
        "operator": users.add_token("olga", role="operator"),
        "agent": users.add_token("kai"),
        "bound": users.add_token("bo", projects=["p"]),
    }
    with memory or filled(folder / "memory.db") as held:
        database = MemoryDatabase(held, project="p")
        api = ApiOptions(rate=rate, burst=burst)
        with running_server(database, users, api=api, **options) as server:
            yield Served(held, server, users, tokens)
