"""Clients that have not logged in: how many threads they have, how long they wait, and what they
learn."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from doxa.base.errors import LimitError
from doxa.servers import credentials as module
from doxa.servers.bolt import running_server
from doxa.servers.bolt.framing import MAGIC, Version
from doxa.servers.bolt.packstream import chunked
from doxa.servers.bolt.server import open_listeners
from doxa.servers.credentials import Credentials, LoginThrottle, Principal
from doxa.servers.http.server import open_listener
from tests.servers.bolt_fixtures import BASIC, FAILURE, SUCCESS, GraphDatabase, Peer, Users, packed

GREETING = MAGIC + bytes((0, 0, 8, 5)) + bytes(12) + chunked(packed("HELLO", {}))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[GraphDatabase]:
    made = GraphDatabase(tmp_path / "graph.db")
    yield made
    made.store.close()


class SlowUsers(Users):
    """Logins that are verified when `go` is set."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked: list[str] = []

    def verify(self, name: str, password: str) -> Principal | None:
        self.asked.append(name)
        assert self.go.wait(20)
        return super().verify(name, password)


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def bolt_threads() -> int:
    return sum(one.name.startswith("bolt-") for one in threading.enumerate())


def test_who_does_not_log_in_has_no_more_threads_than_are_allowed(database: GraphDatabase) -> None:
    """A connection that goes for another one counts until its thread has ended, and its password
    is not verified."""
    users, before = SlowUsers(), bolt_threads()
    held: list[socket.socket] = []
    with running_server(database, users, connections_max=8) as server:
        try:
            for number in range(60):
                wrong = {"scheme": "basic", "principal": f"u{number}", "credentials": "wrong"}
                held.append(socket.create_connection(("127.0.0.1", server.port)))
                held[-1].sendall(GREETING + chunked(packed("LOGON", wrong)))
                time.sleep(0.01)
                assert bolt_threads() - before < 16  # some that end are about to be used again
            assert len(users.asked) <= 2
            users.go.set()
            until(lambda: server.connections == 0)
            assert len(users.asked) < 30
            with Peer(server.port) as peer:
                assert peer.login().rows("RETURN 1") == [[1]]
        finally:
            users.go.set()
            for one in held:
                one.close()


def test_a_client_has_the_place_of_one_that_went(database: GraphDatabase) -> None:
    users = SlowUsers()
    with running_server(database, users, connections_max=1) as server, Peer(server.port) as first:
        first.ask("HELLO", {})
        first.send("LOGON", BASIC)
        until(lambda: users.asked == ["ana"])
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as second:
            second.sendall(GREETING)
            second.settimeout(0.2)
            with pytest.raises(TimeoutError):  # the thread of the first one still works
                second.recv(1)
            second.settimeout(20)
            users.go.set()
            assert second.recv(4) == bytes((0, 0, 8, 5))
        assert first.answer() == (0, None)


def test_a_login_does_not_wait_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOGIN_WAIT_MS", 50)
    users = SlowUsers()
    guard = LoginThrottle(users, parallel=1)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(guard.verify, "ana", "a-good-secret")
        until(lambda: users.asked)
        with pytest.raises(LimitError, match="Too many logins"):
            guard.verify("ben", "a-good-secret")
        assert guard.verify("ben", "a-good-secret", gone=lambda: True) is None
        users.go.set()
        assert first.result() == Principal("ana", "operator")
    assert users.asked == ["ana"]
    assert guard.verify("ben", "a-good-secret") == Principal("ben", "agent")


def test_who_logs_in_after_a_flood_does_not_wait_for_all_of_it() -> None:
    users = SlowUsers()
    guard = LoginThrottle(users, parallel=1)
    with ThreadPoolExecutor(30) as threads:
        flood = [threads.submit(guard.verify, f"u{number}", "wrong") for number in range(29)]
        until(lambda: users.asked)
        time.sleep(0.1)
        last = threads.submit(guard.verify, "ana", "a-good-secret")
        time.sleep(0.1)
        users.go.set()
        assert last.result() == Principal("ana", "operator")
        assert [one.result() for one in flood] == [None] * 29
    assert users.asked.index("ana") == 1


@pytest.mark.parametrize("piece", [b"\0\0", b"\0\x01x"], ids=["no-ops", "a message in parts"])
def test_who_completes_no_message_has_no_more_time(database: GraphDatabase, piece: bytes) -> None:
    """Neither for the login nor for a transaction."""
    with running_server(database, Users(), login_ms=300) as server:
        with Peer(server.port) as peer, dripping(peer, piece):
            until(lambda: server.connections == 0)
        with Peer(server.port) as peer, Peer(server.port) as other:
            for one in (peer, other):
                one.login()
            assert peer.ask("BEGIN", {"tx_timeout": 300})[0] == SUCCESS
            assert peer.ask("RUN", "MATCH (n) RETURN n", {}, {})[0] == SUCCESS

            def shown() -> int:
                return len(other.rows("SHOW TRANSACTIONS YIELD currentQuery RETURN currentQuery"))

            with dripping(peer, piece):
                before = shown()
                until(lambda: shown() == before - 1)


@contextmanager
def dripping(peer: Peer, piece: bytes) -> Iterator[None]:
    """Send a piece every few milliseconds meanwhile."""
    done = threading.Event()

    def drip() -> None:
        with suppress(OSError):
            while not done.wait(0.01):
                peer.socket.sendall(piece)

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("opened", ["bolt", "http"])
def test_the_system_looks_whether_clients_are_still_there(opened: str) -> None:
    made = (
        open_listeners("127.0.0.1", 0)[0]
        if opened == "bolt"
        else open_listener("MCP", "127.0.0.1", 0)
    )
    made.setblocking(True)
    with made, socket.create_connection(made.getsockname()[:2]):
        accepted, _ = made.accept()
        with accepted:
            assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if sys.platform == "linux":
                options = socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT
                idle, every, count = (
                    accepted.getsockopt(socket.IPPROTO_TCP, option) for option in options
                )
                assert idle + every * count == 120
                # it would end a client that lives and reads later, too
                assert not accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)


@pytest.mark.parametrize("scheme", ["basic", "bearer"])
def test_a_client_does_not_learn_where_the_users_are(
    database: GraphDatabase, tmp_path: Path, scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    users = Credentials(tmp_path / "users.json")
    users.add_token("bot")
    users.path.chmod(0o644)
    with running_server(database, users) as server, Peer(server.port) as peer:
        peer.ask("HELLO", {})
        tag, about = peer.ask("LOGON", {"scheme": scheme, "principal": "a", "credentials": "x"})
        assert tag == FAILURE and about["neo4j_code"].startswith("Neo.TransientError")
        assert "cannot be checked" in about["message"] and "users.json" not in repr(about)
        assert peer.answer() == (0, None)
    assert str(users.path) in caplog.text


@pytest.mark.parametrize("patches", [7, "utc", {"utc": 1}])
def test_patches_that_are_no_list_are_refused(database: GraphDatabase, patches: object) -> None:
    with (
        running_server(database, Users()) as server,
        Peer(server.port, version=Version(4, 4)) as peer,
    ):
        tag, about = peer.ask("HELLO", {"patch_bolt": patches, **BASIC})
        assert (tag, about["code"]) == (FAILURE, "Neo.ClientError.Request.Invalid")
        assert "patch_bolt must be a list" in about["message"]
        assert peer.answer() == (0, None)
