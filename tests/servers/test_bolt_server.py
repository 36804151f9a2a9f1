"""The server on real sockets: handshakes, limits, interruption, idle clients, TLS, stopping, and
its memory while it streams."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import doxa
from doxa.base.errors import InputError, StoreError
from doxa.base.run_slot import RunSlot
from doxa.servers.bolt import BoltServer, MemoryDatabase, running_server
from doxa.servers.bolt.connection import BoltConnection
from doxa.servers.bolt.framing import MAGIC, MANIFEST, NO_VERSION, Version, manifest
from doxa.servers.workers import Workers
from doxa.store import Identity
from doxa.store.locking.writer_queue import queue_of
from tests.servers.bolt_fixtures import (
    ALL,
    BASIC,
    FAILURE,
    IGNORED,
    NEWEST,
    RECORD,
    SUCCESS,
    GraphDatabase,
    Peer,
    Users,
)

SLOW = "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y WITH x WHERE x < 0 RETURN x"
SLOW_WRITE = "CREATE (:Slow) WITH 1 AS one " + SLOW


@pytest.fixture
def database(tmp_path: Path) -> Iterator[GraphDatabase]:
    made = GraphDatabase(tmp_path / "graph.db")
    yield made
    made.store.close()


@pytest.fixture
def server(database: GraphDatabase) -> Iterator[BoltServer]:
    with running_server(database, Users()) as made:
        yield made


def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def free(database: GraphDatabase) -> bool:
    """Whether nobody holds the write lock."""
    with database.store.write(Identity(), op="free"):
        return True


# Handshake


@pytest.mark.parametrize("version", [Version(4, 4), *(Version(5, minor) for minor in range(9))])
def test_every_version_works(server: BoltServer, version: Version) -> None:
    with Peer(server.port, version=version) as peer:
        auth = {"scheme": "basic", "principal": "ana", "credentials": "a-good-secret"}
        assert (
            peer.ask("HELLO", {"user_agent": "t", **({} if version >= (5, 1) else auth)})[0]
            == SUCCESS
        )
        if version >= (5, 1):
            assert peer.ask("LOGON", auth)[0] == SUCCESS
        assert peer.rows("UNWIND [1, 2] AS x RETURN x") == [[1], [2]]


def test_the_manifest_handshake(server: BoltServer) -> None:
    with Peer(server.port, version=None) as peer:
        peer.socket.sendall(MAGIC + MANIFEST + bytes(12))
        assert peer.read(len(manifest())) == manifest()
        peer.socket.sendall(b"\0\0\x07")
        time.sleep(0.02)
        peer.socket.sendall(b"\x05\0")
        assert peer.login().rows("RETURN 1") == [[1]]


def test_all_at_once_and_byte_by_byte(server: BoltServer) -> None:
    from doxa.servers.bolt.packstream import chunked
    from tests.servers.bolt_fixtures import BASIC, packed

    data = MAGIC + b"\0\0\x08\x05" + bytes(12)
    data += b"".join(
        chunked(packed(*message))
        for message in (("HELLO", {}), ("LOGON", BASIC), ("RUN", "RETURN 1", {}, {}), ("PULL", ALL))
    )
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))]):
        with Peer(server.port, version=None) as peer:
            for piece in pieces:
                peer.socket.sendall(piece)
            assert peer.read(4) == b"\0\0\x08\x05"
            assert [peer.answer()[0] for _ in range(5)] == [
                SUCCESS,
                SUCCESS,
                SUCCESS,
                RECORD,
                SUCCESS,
            ]


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\n\r\n\r\n\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"\x60\x60\xb0\x18" + bytes(16),
    ],
)
def test_other_protocols_are_cut_off(server: BoltServer, start: bytes) -> None:
    with Peer(server.port, version=None) as peer:
        peer.socket.sendall(start)
        assert peer.answer() == (0, None)


def test_no_version_in_common(server: BoltServer) -> None:
    with Peer(server.port, version=None) as peer:
        peer.socket.sendall(MAGIC + b"\0\0\0\x03" + bytes(12))
        assert peer.read(10) == NO_VERSION


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_leave_the_server_well(server: BoltServer, data: bytes, greet: bool) -> None:
    with Peer(server.port, version=Version(5, 8) if greet else None) as peer:
        peer.socket.sendall(data)
        peer.socket.shutdown(socket.SHUT_WR)
        while peer.answer()[0]:
            pass
    with Peer(server.port) as peer:
        assert peer.login().rows("RETURN 1") == [[1]]


# Limits


def test_a_client_without_login_is_let_go(database: GraphDatabase) -> None:
    with running_server(database, Users(), login_ms=200) as server:
        with Peer(server.port, version=None) as silent, Peer(server.port) as greeted:
            assert greeted.ask("HELLO", {})[0] == SUCCESS
            assert silent.answer() == (0, None)
            assert greeted.answer() == (0, None)
        until(lambda: server.connections == 0)


def test_one_client_too_many_is_refused(database: GraphDatabase) -> None:
    with running_server(database, Users(), connections_max=2) as server:
        with Peer(server.port) as one, Peer(server.port) as two:
            one.login()
            two.login()
            with Peer(server.port, version=None) as three:
                assert three.answer() == (0, None)
            assert one.rows("RETURN 1") == [[1]]
        until(lambda: server.connections == 0)
        with Peer(server.port) as again:
            assert again.login().rows("RETURN 1") == [[1]]


def test_a_long_message_is_for_those_who_logged_in(server: BoltServer) -> None:
    with Peer(server.port) as peer:
        peer.send("HELLO", {"user_agent": "x" * 100_000})
        assert peer.answer() == (0, None)
    with Peer(server.port) as peer:
        text = "x" * 5_000_000
        assert peer.login().rows("RETURN size($x)", {"x": text}) == [[5_000_000]]


def test_wrong_passwords_pause_a_name(server: BoltServer) -> None:
    wrong = {"scheme": "basic", "principal": "eve", "credentials": "no"}
    codes = []
    for _ in range(7):
        with Peer(server.port) as peer:
            peer.ask("HELLO", {})
            tag, about = peer.ask("LOGON", wrong)
            assert tag == FAILURE
            codes.append(about["neo4j_code"])
            assert peer.answer() == (0, None)
    assert (
        codes
        == ["Neo.ClientError.Security.Unauthorized"] * 5
        + ["Neo.ClientError.Security.AuthenticationRateLimit"] * 2
    )
    with Peer(server.port) as peer:
        peer.login()


def test_threads_are_used_again(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        for _ in range(10):
            with Peer(server.port) as peer:
                peer.login().rows("RETURN 1")
            until(lambda: server.connections == 0)
            until(lambda: server.workers._idle)
        assert server.workers._made == 1


# Ends in the middle


def test_reset_ends_what_runs(server: BoltServer, database: GraphDatabase) -> None:
    with Peer(server.port) as peer:
        peer.login()
        for text in (SLOW, SLOW_WRITE):
            peer.send("RUN", text, {}, {})
            peer.send("PULL", ALL)
            time.sleep(0.1)
            peer.send("RESET")
            # it would have answered PULL with SUCCESS, had the statement come to its end
            answers = [peer.answer()[0] for _ in range(3)]
            assert answers in ([IGNORED, IGNORED, SUCCESS], [SUCCESS, IGNORED, SUCCESS])
        assert peer.rows("MATCH (n:Slow) RETURN count(n)") == [[0]]


def test_reset_ends_a_stream(server: BoltServer) -> None:
    with Peer(server.port) as peer:
        peer.login()
        peer.send(
            "RUN", "UNWIND range(1, 3000) AS x UNWIND range(1, 3000) AS y RETURN x, y", {}, {}
        )
        peer.send("PULL", ALL)
        assert peer.answer()[0] == SUCCESS
        for _ in range(1000):
            assert peer.answer()[0] == RECORD
        peer.send("RESET")
        while (tag := peer.answer()[0]) == RECORD:
            pass
        assert (tag, peer.answer()[0]) == (IGNORED, SUCCESS)
        assert peer.rows("RETURN 1") == [[1]]


@pytest.mark.parametrize(
    "text", [SLOW, SLOW_WRITE, "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y RETURN x"]
)
def test_a_closed_socket_ends_what_runs(
    server: BoltServer, database: GraphDatabase, text: str
) -> None:
    with Peer(server.port) as peer:
        peer.login()
        peer.send("RUN", text, {}, {})
        peer.send("PULL", ALL)
        time.sleep(0.1)
    until(lambda: server.connections == 0)
    until(lambda: len(server.workers._idle) == 1, 2)
    assert database.count("Slow") == 0
    assert free(database)


def test_a_closed_socket_rolls_back(server: BoltServer, database: GraphDatabase) -> None:
    with Peer(server.port) as peer:
        peer.login()
        peer.ask("BEGIN", {})
        peer.ask("RUN", "CREATE (:A)", {}, {})
    assert free(database)
    assert database.count("A") == 0


def test_a_silent_transaction_gives_the_lock_back(
    server: BoltServer, database: GraphDatabase
) -> None:
    with Peer(server.port) as peer:
        peer.login()
        peer.ask("BEGIN", {"tx_timeout": 100})
        peer.ask("RUN", "CREATE (:A)", {}, {})
        assert free(database)
        tag, about = peer.ask("COMMIT")
        assert (tag, about["neo4j_code"]) == (
            FAILURE,
            "Neo.ClientError.Transaction.TransactionTimedOut",
        )


def test_a_client_that_is_silent_after_a_transaction_wakes_nobody(
    server: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait of a transaction is limited, and the next one may begin under the same limit."""
    monkeypatch.setattr("doxa.servers.bolt.conversation._TERMINATION_S", 0.05)
    limits, receive, limit = [], BoltConnection._receive, BoltConnection._limit_wait
    waits = list[float | None]()

    def counted(self: BoltConnection, seconds: float | None) -> bytes | None:
        waits.append(seconds)
        return receive(self, seconds)

    def noted(self: BoltConnection, seconds: float | None) -> None:
        limits.append(seconds)
        limit(self, seconds)

    monkeypatch.setattr(BoltConnection, "_receive", counted)
    monkeypatch.setattr(BoltConnection, "_limit_wait", noted)
    with Peer(server.port) as peer:
        peer.login()
        limits.clear()
        for pause in (0.0, 0.0, 0.5, 0.0):
            assert peer.ask("BEGIN", {})[0] == SUCCESS
            assert peer.ask("COMMIT")[0] == SUCCESS
            waits.clear()
            time.sleep(pause)
        assert waits in ([], [None])  # asked once, however long the client was silent
        short = limits[0]
        assert short is not None and 0 < short <= 0.1
        assert limits == [short, None, short]


def test_a_client_that_does_not_read_does_not_fill_the_memory(
    server: BoltServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.bolt.connection.BOLT_SEND_MS", 300)
    with Peer(server.port) as peer:
        peer.login()
        peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        peer.send(
            "RUN",
            "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y RETURN 'some text', x",
            {},
            {},
        )
        peer.send("PULL", ALL)
        until(lambda: server.connections == 0, 20)


def test_many_resets_and_pings_do_no_harm(server: BoltServer) -> None:
    with Peer(server.port) as peer:
        peer.login()
        peer.socket.sendall(b"\0\0" * 5_000)
        for _ in range(200):
            peer.send("RESET")
        assert {peer.answer()[0] for _ in range(200)} == {SUCCESS}
        assert peer.rows("RETURN 1") == [[1]]


def test_many_messages_at_once_wait_their_turn(server: BoltServer) -> None:
    with Peer(server.port) as peer:
        peer.login()
        count = 3_000
        done = threading.Thread(
            target=lambda: [
                peer.send("RUN", "RETURN $x", {"x": "y" * 500}, {}) or peer.send("PULL", ALL)
                for _ in range(count)
            ]
        )
        done.start()
        assert [peer.answer()[0] for _ in range(3 * count)] == [SUCCESS, RECORD, SUCCESS] * count
        done.join()


# Many at once


def test_who_waits_for_a_writer_keeps_nobody_else_waiting(server: BoltServer) -> None:
    server.slot = RunSlot(60)
    with Peer(server.port) as one, Peer(server.port) as two, Peer(server.port) as three:
        for peer in (one, two, three):
            peer.login()
        assert one.ask("BEGIN", {})[0] == SUCCESS
        assert one.ask("RUN", "CREATE (:Kept)", {}, {})[0] == SUCCESS
        assert one.ask("PULL", ALL)[0] == SUCCESS
        two.send("RUN", "CREATE (:Kept)", {}, {})
        two.send("PULL", ALL)
        queue = queue_of(str(server.database.store.path))  # type: ignore[attr-defined]
        until(lambda: queue.length == 1)
        assert three.rows("RETURN 1") == [[1]]
        assert one.ask("COMMIT")[0] == SUCCESS
        assert [two.answer()[0], two.answer()[0]] == [SUCCESS, SUCCESS]
        assert three.rows("MATCH (n:Kept) RETURN count(n)") == [[2]]


def test_a_long_statement_keeps_nobody_else_waiting(server: BoltServer) -> None:
    with Peer(server.port) as one, Peer(server.port) as two:
        one.login()
        two.login()
        one.send("RUN", SLOW, {}, {})
        one.send("PULL", ALL)
        assert [two.rows("RETURN $x", {"x": x}) for x in range(20)] == [[[x]] for x in range(20)]
        one.send("RESET")
        assert [one.answer()[0] for _ in range(3)][-1] == SUCCESS
        assert one.rows("RETURN 1") == [[1]]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system binds no threads")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_many_clients_share_a_processor_but_for_who_runs_for_long(server: BoltServer) -> None:
    def bound() -> list[int]:
        found = [one._binding for one in server._connections.values()]
        return sorted(len(os.sched_getaffinity(one.thread_id)) for one in found if one)

    every = len(os.sched_getaffinity(0))
    with Peer(server.port) as one, Peer(server.port) as two:
        one.login()
        two.login()
        server.slot._crowded_until = time.monotonic() + 60
        assert one.rows("RETURN 1") == two.rows("RETURN 1") == [[1]]
        assert bound() == [1, 1]
        one.send("RUN", SLOW, {}, {})
        one.send("PULL", ALL)
        until(lambda: bound() == [1, every])
        one.send("RESET")
        assert [one.answer()[0] for _ in range(3)][-1] == SUCCESS
        assert one.rows("RETURN 1") == [[1]]
        assert bound() == [1, 1]


# Stopping


def test_stopping_lets_what_runs_finish(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        peer, idle = Peer(server.port).login(), Peer(server.port).login()
        peer.send(
            "RUN",
            "UNWIND range(1, 300) AS x UNWIND range(1, 1000) AS y WITH x WHERE x = 1 CREATE (:Kept)"
            " RETURN count(*) AS n",
            {},
            {},
        )
        peer.send("PULL", ALL)
        time.sleep(0.05)
    assert [peer.answer()[0] for _ in range(4)] == [SUCCESS, RECORD, SUCCESS, 0]
    assert idle.answer() == (0, None)
    assert database.count("Kept") == 1_000
    peer.socket.close()
    idle.socket.close()


def test_stopping_ends_what_does_not_end(database: GraphDatabase) -> None:
    async def stop_soon(server: BoltServer) -> None:
        async with server:
            peer = await asyncio.to_thread(lambda: Peer(server.port).login())
            peer.send("RUN", SLOW_WRITE, {}, {})
            await asyncio.sleep(0.1)
            await server.stop(grace_ms=200)
            peer.socket.close()

    asyncio.run(stop_soon(BoltServer(database, Users(), port=0)))
    assert database.count("Slow") == 0  # had it come to its end, the node would be there


def test_nobody_can_connect_after_a_stop(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        port = server.port
    with pytest.raises(ConnectionError):
        Peer(port)


def test_serving_can_be_cancelled(database: GraphDatabase) -> None:
    async def run() -> None:
        server = BoltServer(database, None, port=0)
        task = asyncio.create_task(server.serve_forever())
        await asyncio.sleep(0.05)
        assert server.port != 0
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


# Addresses and TLS


def test_a_taken_port_is_told(server: BoltServer, database: GraphDatabase) -> None:
    with (
        pytest.raises(StoreError, match="cannot listen"),
        running_server(database, Users(), port=server.port),
    ):
        pass


def test_what_can_be_reached_from_outside_needs_login_and_tls(database: GraphDatabase) -> None:
    with pytest.raises(InputError, match="no login"):
        BoltServer(database, None, host="0.0.0.0")
    with pytest.raises(InputError, match="clear text"):
        BoltServer(database, Users(), host="0.0.0.0")
    BoltServer(database, Users(), host="0.0.0.0", plaintext=True)
    BoltServer(database, None, host="::1")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    made = (folder / "certificate.pem", folder / "key.pem")
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-out",
        str(made[0]),
        "-keyout",
        str(made[1]),
    ]
    try:
        subprocess.run(
            [*command, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not available to create a certificate")
    return made


def test_tls(database: GraphDatabase, certificate: tuple[Path, Path]) -> None:
    with running_server(
        database, Users(), certificate=certificate[0], key=certificate[1]
    ) as server:
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with Peer(server.port, version=None) as peer:
            peer.socket = context.wrap_socket(peer.socket, server_hostname="127.0.0.1")
            peer.socket.sendall(MAGIC + b"\0\0\x08\x05" + bytes(12))
            assert peer.read(4) == b"\0\0\x08\x05"
            assert peer.login().rows("UNWIND range(1, 100000) AS x RETURN x")[-1] == [100_000]
        with Peer(server.port, version=None) as plain:
            plain.socket.sendall(MAGIC + b"\0\0\x08\x05" + bytes(12))
            assert plain.read(4) != b"\0\0\x08\x05"


def test_reset_ends_what_runs_under_tls(
    database: GraphDatabase, certificate: tuple[Path, Path]
) -> None:
    with running_server(
        database, Users(), certificate=certificate[0], key=certificate[1]
    ) as server:
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with Peer(server.port, version=None) as peer:
            peer.socket = context.wrap_socket(peer.socket, server_hostname="127.0.0.1")
            peer.socket.sendall(MAGIC + b"\0\0\x08\x05" + bytes(12))
            assert peer.read(4) == b"\0\0\x08\x05"
            peer.login()
            peer.send("RUN", SLOW_WRITE, {}, {})
            time.sleep(0.1)
            peer.send("RESET")
            assert [peer.answer()[0] for _ in range(2)] == [IGNORED, SUCCESS]
            assert peer.rows("MATCH (n:Slow) RETURN count(n)") == [[0]]


def test_what_came_as_the_server_stops_is_answered_in_tls(
    database: GraphDatabase, certificate: tuple[Path, Path]
) -> None:
    with running_server(
        database, Users(), certificate=certificate[0], key=certificate[1]
    ) as server:
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with Peer(server.port, version=None) as peer:
            peer.socket = context.wrap_socket(peer.socket, server_hostname="127.0.0.1")
            peer.socket.sendall(MAGIC + b"\0\0\x08\x05" + bytes(12))
            assert peer.read(4) == b"\0\0\x08\x05"
            peer.login()
            (connection,) = server._connections.values()
            until(lambda: not connection._busy_since)
            with connection._lock:  # the thread has read a message, and does not handle it yet
                peer.send("RUN", "RETURN 1", {}, {})
                until(lambda: connection._busy_since)
                connection._busy_since = 0.0  # as before it has noted that
                connection.wake()
            assert peer.answer()[0] == SUCCESS


def test_a_client_that_shuts_its_side_gets_its_answers(server: BoltServer) -> None:
    with Peer(server.port) as peer:
        peer.login()
        peer.send("RUN", "UNWIND range(1, 100) AS x RETURN x", {}, {})
        peer.send("PULL", ALL)
        peer.socket.shutdown(socket.SHUT_WR)
        answers = []
        while (tag := peer.answer()[0]) != 0:
            answers.append(tag)
        assert answers == [SUCCESS, *[RECORD] * 100, SUCCESS]


def test_a_certificate_that_cannot_be_used_is_told(database: GraphDatabase, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be used"):
        BoltServer(database, Users(), certificate=tmp_path / "no.pem", key=tmp_path / "no.pem")
    with pytest.raises(InputError, match="requires a certificate and its key"):
        BoltServer(database, Users(), certificate=tmp_path / "no.pem")


# A memory behind it


def test_a_memory_is_served_with_its_beliefs_and_roles(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "memory.db", embedder=None, role="operator") as memory:
        memory.remember("Ana lives in Uppsala.", name="home")
        with running_server(MemoryDatabase(memory), Users()) as server:
            with Peer(server.port) as peer:
                peer.login()
                assert peer.rows("MATCH (n:Revision) RETURN count(n) > 0") == [[True]]
                assert peer.rows("CREATE (:Mine) RETURN $_agent", tx_metadata={"agent": "kai"}) == [
                    ["kai"]
                ]
            with Peer(server.port) as agent:
                agent.login({"scheme": "bearer", "credentials": "token-1"})
                agent.rows("CREATE (:Mine)")
        with memory.store.read() as snapshot:
            last = snapshot.last_receipt()
        assert last is not None
        assert (last.actor, last.role) == ("bot", "agent")


# Threads


def test_workers_run_jobs_on_kept_threads() -> None:
    workers, seen = Workers("test"), list[str]()
    done = threading.Event()

    def job() -> None:
        seen.append(threading.current_thread().name)
        done.set()

    for _ in range(3):
        done.clear()
        workers.start(job)
        assert done.wait(5)
        until(lambda: workers._idle)
    workers.close()
    assert set(seen) == {"test-1"}


def _summary(
    port: int,
    version: Version,
    text: str,
    hello: dict[str, Any] | None = None,
    run: dict[str, Any] | None = None,
) -> dict[str, Any]:
    with Peer(port, version=version) as peer:
        greeting = {"user_agent": "test/1", **(hello or {})}
        if version < (5, 1):
            peer.ask("HELLO", greeting | BASIC)
        else:
            peer.ask("HELLO", greeting)
            peer.ask("LOGON", BASIC)
        peer.send("RUN", text, {}, run or {})
        peer.send("PULL", ALL)
        peer.answer()
        while (found := peer.answer())[0] == RECORD:
            pass
        assert found[0] == SUCCESS, found
        return dict(found[1])


ODD = "MATCH (a:Nobody), (b:Nothing) RETURN a"


def test_remarks_as_each_version_knows_them(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        old = _summary(server.port, Version(4, 4), ODD)["notifications"]
        assert [one["code"].rpartition(".")[2] for one in old] == [
            "CartesianProduct",
            "UnknownLabelWarning",
            "UnknownLabelWarning",
        ]
        assert (
            old[1]["position"] == {"offset": 9, "line": 1, "column": 10}
            and "category" not in old[1]
        )
        assert (
            _summary(server.port, Version(5, 4), ODD)["notifications"][1]["category"]
            == "UNRECOGNIZED"
        )
        new = _summary(server.port, NEWEST, ODD)
        assert "notifications" not in new
        assert [one["gql_status"] for one in new["statuses"]] == [
            "02000",
            "01N50",
            "01N50",
            "03N90",
        ]
        assert new["statuses"][1]["diagnostic_record"]["_position"]["column"] == 10
        assert [
            one["gql_status"]
            for one in _summary(server.port, NEWEST, "MATCH (a:Nobody) RETURN count(a)")["statuses"]
        ] == ["01N50", "00000"]
        assert "notifications" not in _summary(server.port, Version(5, 4), "RETURN 1")


@pytest.mark.parametrize(
    "hello, run, expected",
    [
        ({"notifications_minimum_severity": "OFF"}, {}, []),
        ({"notifications_minimum_severity": "WARNING"}, {}, ["01N50", "01N50"]),
        (
            {"notifications_minimum_severity": "OFF"},
            {"notifications_minimum_severity": "INFORMATION"},
            ["01N50", "01N50", "03N90"],
        ),
        ({"notifications_disabled_classifications": ["UNRECOGNIZED"]}, {}, ["03N90"]),
        (
            {"notifications_disabled_classifications": ["UNRECOGNIZED"]},
            {"notifications_disabled_classifications": []},
            ["01N50", "01N50", "03N90"],
        ),
        ({"notifications_disabled_categories": ["PERFORMANCE"]}, {}, ["01N50", "01N50"]),
        (
            {"notifications_minimum_severity": "LOUD", "notifications_disabled_categories": 3},
            {},
            ["01N50", "01N50", "03N90"],
        ),
    ],
)
def test_a_client_says_which_remarks_it_wants(
    database: GraphDatabase, hello: dict[str, Any], run: dict[str, Any], expected: list[str]
) -> None:
    with running_server(database, Users()) as server:
        found = _summary(server.port, NEWEST, ODD, hello, run)["statuses"]
    assert [one["gql_status"] for one in found if one["gql_status"] != "02000"] == expected


def test_who_does_not_log_in_keeps_nobody_out(database: GraphDatabase) -> None:
    with running_server(database, Users(), connections_max=3) as server:
        idle = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(3)]
        until(lambda: server.connections == 3)
        with Peer(server.port) as one, Peer(server.port) as two, Peer(server.port) as three:
            for peer in (one, two, three):
                assert peer.login().rows("RETURN 1") == [[1]]
            with Peer(
                server.port, version=None
            ) as fourth:  # all three are logged in: the server is full
                assert fourth.read(1) == b""
            assert one.rows("RETURN 2") == [[2]]
        for sock in idle:
            sock.close()


def test_a_session_reads_another_time_by_its_metadata(tmp_path: Path) -> None:
    with doxa.open(tmp_path / "m.db", role="operator", embedder=None, background=False) as memory:
        memory.run("CREATE (:A)")
        moment = time.time_ns()
        time.sleep(0.001)
        memory.run("CREATE (:A)")
        with running_server(MemoryDatabase(memory), Users()) as server, Peer(server.port) as peer:
            peer.login()
            count = "MATCH (a:A) RETURN count(a)"
            assert peer.rows(count) == [[2]]
            assert peer.rows(count, tx_metadata={"as_of_system_time": moment}) == [[1]]
            assert peer.rows(
                "AS OF VALID TIME 5 " + count, tx_metadata={"as_of_system_time": "2001-01-01"}
            ) == [[0]]
            peer.send("RUN", "CREATE (:B)", {}, {"tx_metadata": {"as_of_valid_time": moment}})
            peer.send("PULL", ALL)
            assert peer.answer()[1]["neo4j_code"] == "Neo.ClientError.Statement.AccessMode"
        with running_server(MemoryDatabase(memory), Users()) as server, Peer(server.port) as peer:
            peer.login()
            peer.send("RUN", "RETURN 1", {}, {"tx_metadata": {"as_of_system_time": "rubbish"}})
            assert peer.answer()[0] == FAILURE


def test_schema_commands_are_told_as_such(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        assert _summary(server.port, NEWEST, "CREATE INDEX x FOR (n:A) ON (n.x)")["type"] == "s"
        with Peer(server.port) as peer:
            peer.login()
            peer.send("RUN", "DROP CONSTRAINT absent", {}, {})
            assert peer.answer()[1]["neo4j_code"] == "Neo.DatabaseError.Schema.ConstraintDropFailed"


def test_renamed_classes_are_found_under_their_former_names() -> None:
    import doxa.servers.bolt as bolt

    with pytest.warns(DeprecationWarning, match="DatabaseSession"):
        assert bolt.GraphSession is bolt.DatabaseSession
    with pytest.warns(DeprecationWarning, match="StatementResult"):
        assert bolt.Result is bolt.StatementResult
    with pytest.raises(AttributeError):
        _ = bolt.Missing
