"""Fixtures for the Bolt server: a real database behind its protocol, and a client that writes bytes
as specified."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doxa.query.engine import QueryEngine
from doxa.query.procedures.builtin import builtin
from doxa.query.procedures.registry import Registry
from doxa.query.session import GraphSession
from doxa.servers.bolt.conversation import Conversation
from doxa.servers.bolt.framing import MAGIC, Dechunker, Version
from doxa.servers.bolt.packstream import Packer, Unpacker, chunked
from doxa.servers.credentials import Principal
from doxa.store import Identity, Store

SUCCESS, RECORD, IGNORED, FAILURE = 0x70, 0x71, 0x7E, 0x7F
TAGS = {
    "HELLO": 0x01,
    "GOODBYE": 0x02,
    "RESET": 0x0F,
    "RUN": 0x10,
    "BEGIN": 0x11,
    "COMMIT": 0x12,
    "ROLLBACK": 0x13,
    "DISCARD": 0x2F,
    "PULL": 0x3F,
    "TELEMETRY": 0x54,
    "ROUTE": 0x66,
    "LOGON": 0x6A,
    "LOGOFF": 0x6B,
}
NEWEST = Version(5, 8)
ALL = {"n": -1}


class GraphDatabase:
    """A store with a query engine, as the server asks for it."""

    def __init__(self, path: Path) -> None:
        self.store = Store(path)
        self.engine = QueryEngine(builtin(Registry()))
        self.sessions: list[GraphSession] = []
        self.told: list[int] = []  # numbers of what was written that bookmarks were asked for with

    def names(self, principal: Principal) -> Sequence[str]:
        return ("doxa", "second")

    def open_session(
        self, principal: Principal, database: str, metadata: Mapping[str, Any], timeout_ms: int
    ) -> GraphSession:
        identity = Identity(principal.name, principal.role)
        made = GraphSession(
            self.store, self.engine, identity, context=metadata, timeout_ms=timeout_ms
        )
        self.sessions.append(made)
        return made

    def last_transaction(self, principal: Principal, database: str, written: int = 0) -> int:
        self.told.append(written)
        with self.store.read() as snapshot:
            last = snapshot.last_receipt()
            return last.tx if last else 0

    def count(self, label: str) -> int:
        with GraphSession(self.store, self.engine, Identity("tester", "operator")) as session:
            found: int = session.run(f"MATCH (n:{label}) RETURN count(n)").single()
            return found


class Users:
    """Logins without a file."""

    def verify(self, name: str, password: str) -> Principal | None:
        return (
            Principal(name, "operator" if name == "ana" else "agent")
            if password == "a-good-secret"
            else None
        )

    def verify_token(self, token: str) -> Principal | None:
        return Principal("bot", "agent") if token == "token-1" else None


BASIC = {"scheme": "basic", "principal": "ana", "credentials": "a-good-secret"}
_PACKER = Packer({})


def raw(tag: int, fields: list[Any]) -> Any:
    """Structures as they are on the wire."""
    return (tag, fields)


def packed(name: str, *fields: Any) -> bytes:
    return _PACKER.structure(TAGS[name], *fields)


def unpacked(message: bytes) -> tuple[int, list[Any]]:
    return Unpacker(message, raw).message()


class Peer:
    """A client on a socket."""

    def __init__(self, port: int, *, version: Version | None = NEWEST) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._dechunker = Dechunker(2**30)
        self._messages: list[bytes] = []
        if version is not None:
            self.agree(version)

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def agree(self, version: Version) -> None:
        self.socket.sendall(MAGIC + bytes((0, 0, version.minor, version.major)) + bytes(12))
        assert self.read(4) == bytes((0, 0, version.minor, version.major))

    def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                break
            data += more
        return data

    def send(self, name: str, *fields: Any) -> None:
        self.socket.sendall(chunked(packed(name, *fields)))

    def answer(self) -> tuple[int, Any]:
        """The next message: its tag and its field. (0, None) if the server has closed the
        connection."""
        while not self._messages:
            try:
                data = self.socket.recv(65_536)
            except ConnectionError:
                return 0, None
            if not data:
                return 0, None
            self._messages += self._dechunker.feed(data)
        tag, fields = unpacked(self._messages.pop(0))
        return tag, fields[0] if fields else None

    def ask(self, name: str, *fields: Any) -> tuple[int, Any]:
        self.send(name, *fields)
        return self.answer()

    def login(self, auth: Mapping[str, Any] = BASIC) -> Peer:
        assert self.ask("HELLO", {"user_agent": "test/1"})[0] == SUCCESS
        assert self.ask("LOGON", dict(auth))[0] == SUCCESS
        return self

    def rows(
        self, text: str, params: Mapping[str, Any] | None = None, **extra: Any
    ) -> list[list[Any]]:
        """A statement by itself: its rows."""
        self.send("RUN", text, dict(params or {}), extra)
        self.send("PULL", ALL)
        tag, about = self.answer()
        assert tag == SUCCESS, about
        found = []
        while (got := self.answer())[0] == RECORD:
            found.append(got[1])
        assert got[0] == SUCCESS, got[1]
        return found


HELLO = {"user_agent": "test/1", "bolt_agent": {"product": "test/1"}}


OPEN: list[Conversation] = []


class Talk:
    """A conversation and what it has answered."""

    def __init__(
        self, database: GraphDatabase, *, version: Version = NEWEST, **options: Any
    ) -> None:
        self.sent: list[bytes] = []
        self.database = database
        self.it = Conversation(
            database,
            options.pop("users", Users()),
            version=version,
            send=self.sent.append,
            **options,
        )
        OPEN.append(self.it)

    def bytes(self, message: bytes) -> list[tuple[int, Any]]:
        self.it.handle(message)
        self.it.flush()
        data, self.sent[:] = b"".join(self.sent), []
        found = [unpacked(message) for message in Dechunker(2**30).feed(data)]
        return [(tag, fields[0] if fields else None) for tag, fields in found]

    def ask(self, name: str, *fields: Any) -> list[tuple[int, Any]]:
        return self.bytes(packed(name, *fields))

    def one(self, name: str, *fields: Any) -> tuple[int, Any]:
        (found,) = self.ask(name, *fields)
        return found

    def login(self) -> Talk:
        assert self.one("HELLO", HELLO)[0] == SUCCESS
        assert self.one("LOGON", BASIC)[0] == SUCCESS
        return self

    def run(self, text: str, params: dict[str, Any] | None = None, **extra: Any) -> tuple[int, Any]:
        return self.one("RUN", text, params or {}, extra)

    def state(self) -> str:
        return self.it.state.value


@contextmanager
def conversed_with(path: Path) -> Iterator[GraphDatabase]:
    """Open a database, and end what was said with it before it is closed."""
    made = GraphDatabase(path)
    yield made
    while OPEN:
        OPEN.pop().close()
    made.store.close()
