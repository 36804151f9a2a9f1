"""Fixtures for the HTTP server: a plain client, and waiting for other threads."""

from __future__ import annotations

import base64
import http.client
import json
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tests.servers.bolt_fixtures import GraphDatabase

QUERY, COMMIT = "/db/doxa/query/v2", "/db/doxa/tx/commit"
JSON, TYPED = "application/json", "application/vnd.neo4j.query"
SLOW = "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y WITH x WHERE x < 0 RETURN x"
SLOW_WRITE = "CREATE (:Slow) WITH 1 AS one " + SLOW
TOKEN = {"Authorization": "Bearer token-1"}


Headers = Mapping[str, str | None]


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


ANA = basic("ana", "a-good-secret")


class Reply(NamedTuple):
    """A response; `json` is its decoded body, or its text where it is none."""

    status: int
    headers: dict[str, str]
    json: Any

    @property
    def code(self) -> str:
        """Of its first error."""
        found: str = self.json["errors"][0]["code"]
        return found

    @property
    def values(self) -> Any:
        assert self.status == 202, self.json
        return self.json["data"]["values"]


class Client:
    """One connection, kept as long as the server keeps it. Headers of None are left out."""

    def __init__(self, port: int, **kept: str) -> None:
        self.line = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        self.kept = kept

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()

    def ask(
        self, method: str, path: str, body: Any = None, headers: Headers | None = None
    ) -> Reply:
        sent = {
            **ANA,
            **self.kept,
            **({} if body is None else {"Content-Type": JSON}),
            **(headers or {}),
        }
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.line.request(
            method, path, data, {name: value for name, value in sent.items() if value is not None}
        )
        reply = self.line.getresponse()
        text = reply.read()
        return Reply(
            reply.status,
            {name.lower(): value for name, value in reply.getheaders()},
            _decoded(reply.getheader("Content-Type", ""), text),
        )

    def query(
        self,
        statement: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Headers | None = None,
        **fields: Any,
    ) -> Reply:
        given = {} if params is None else {"parameters": params}
        return self.ask("POST", QUERY, {"statement": statement, **given, **fields}, headers)

    def rows(self, statement: str, params: Mapping[str, Any] | None = None) -> Any:
        return self.query(statement, params).values

    def batch(self, *statements: Any, headers: Headers | None = None) -> Reply:
        given = [one if isinstance(one, dict) else {"statement": one} for one in statements]
        return self.ask("POST", COMMIT, {"statements": given}, headers)


def _decoded(media: str, text: bytes) -> Any:
    if not text:
        return None
    return (
        text.decode()
        if media.startswith(("application/x-ndjson", "text/plain"))
        else json.loads(text)
    )


def raw(port: int, data: bytes) -> bytes:
    """Bytes as they are, and what comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(data)
        return received(line)


def received(line: socket.socket) -> bytes:
    found = b""
    while True:
        try:
            more = line.recv(65_536)
        except ConnectionError:
            return found
        if not more:
            return found
        found += more


def post(body: bytes, *, length: int | None = None) -> bytes:
    """A request for a query as bytes, with a length that may be another than the body's."""
    login = ANA["Authorization"]
    head = (
        f"POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {login}\r\nContent-Type:"
        f" {JSON}\r\n"
    )
    return f"{head}Content-Length: {length or len(body)}\r\n\r\n".encode() + body


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def statement_runs(database: GraphDatabase) -> bool:
    """Whether some session has begun a statement."""
    return any(session._running is not None for session in list(database.sessions))
