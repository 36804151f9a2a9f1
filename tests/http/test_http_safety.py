"""What the HTTP server rejects and survives: pages of other origins, bodies of any bytes, clients
that are slow, gone or too many."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doxa.base.errors import InputError, StoreError
from doxa.servers.http import HttpServer, running_server
from doxa.servers.http.headers import OriginCheck
from doxa.store import Identity
from tests.http.http_fixtures import (
    ANA,
    JSON,
    QUERY,
    SLOW,
    SLOW_WRITE,
    TYPED,
    Client,
    post,
    raw,
    received,
    statement_runs,
    until,
)
from tests.servers.bolt_fixtures import GraphDatabase, Users
from tests.servers.test_bolt_server import certificate  # noqa: F401 - a fixture


@pytest.fixture
def database(tmp_path: Path) -> Iterator[GraphDatabase]:
    made = GraphDatabase(tmp_path / "graph.db")
    yield made
    made.store.close()


@pytest.fixture
def server(database: GraphDatabase) -> Iterator[HttpServer]:
    with running_server(database, Users()) as made:
        yield made


@pytest.fixture
def client(server: HttpServer) -> Iterator[Client]:
    with Client(server.port) as made:
        yield made


def busy(server: HttpServer) -> int:
    """How many requests have a thread."""
    return server._app.threads.busy


def well(server: HttpServer) -> bool:
    with Client(server.port) as client:
        return bool(client.rows("RETURN 1") == [[1]])


def free(database: GraphDatabase) -> bool:
    """Whether nobody holds the write lock."""
    with database.store.write(Identity(), op="free"):
        return True


# Pages of other origins


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:7474",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "[::2]:1",
        "a b",
        "",
    ],
)
def test_a_name_that_only_points_here_is_refused(client: Client, host: str) -> None:
    for method, path in (("GET", "/"), ("GET", "/health"), ("POST", QUERY)):
        found = client.ask(
            method, path, {"statement": "CREATE (:A)"} if method == "POST" else None, {"Host": host}
        )
        assert found.status == 421 and "localhost" in found.json["errors"][0]["message"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7474", "127.0.0.1", "127.0.0.1:1", "[::1]", "[::1]:7474"]
)
def test_its_own_names_are_taken(client: Client, host: str) -> None:
    assert client.query("RETURN 1", headers={"Host": host}).status == 202


def test_a_given_address_is_its_name_and_others_see_any() -> None:
    OriginCheck("127.0.0.5").check({"host": "127.0.0.5:7474"}, "http")
    OriginCheck("::1").check({"host": "[::1]:7474"}, "http")
    OriginCheck("0.0.0.0").check({"host": "memory.example"}, "https")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://localhost:{port}",
        "http://localhost",
        "http://localhost:{port}.evil.example",
        "",
    ],
)
def test_a_page_of_another_origin_is_refused(
    client: Client, server: HttpServer, database: GraphDatabase, origin: str
) -> None:
    headers = {"Origin": origin.format(port=server.port), "Host": f"localhost:{server.port}"}
    found = client.query("CREATE (:A)", headers=headers)
    assert (found.status, found.code) == (403, "Neo.ClientError.Security.Forbidden")
    assert not any(name.startswith("access-control") for name in found.headers)
    assert (
        client.ask(
            "OPTIONS", QUERY, headers={**headers, "Access-Control-Request-Method": "POST"}
        ).status
        == 403
    )
    assert database.count("A") == 0


def test_a_page_of_its_own_origin_is_not(client: Client, server: HttpServer) -> None:
    host = f"localhost:{server.port}"
    found = client.query("RETURN 1", headers={"Origin": f"http://{host}", "Host": host})
    assert found.status == 202 and not any(
        name.startswith("access-control") for name in found.headers
    )


# Bodies


@pytest.mark.parametrize(
    "headers, status",
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": None}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Type": "application/jsonp"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415),
        ({"Content-Type": "application/json; charset=latin-1"}, 415),
        ({"Content-Encoding": "gzip"}, 415),
        ({"Accept": "text/html"}, 406),
        ({"Content-Type": 'Application/JSON; Charset="UTF-8"'}, 202),
        ({"Content-Encoding": "identity"}, 202),
        ({"Accept": ""}, 202),
    ],
)
def test_only_json_is_read_and_written(
    client: Client, headers: dict[str, str | None], status: int
) -> None:
    found = client.query("RETURN 1", headers=headers)
    assert found.status == status
    assert status == 202 or found.json["errors"][0]["message"]


def test_a_long_body_is_refused_before_and_while_it_is_read(
    server: HttpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("messages", "headers"):
        monkeypatch.setattr(f"doxa.servers.http.{module}.HTTP_BODY_BYTES_MAX", 1_000)
    with Client(server.port) as client:
        assert client.query("RETURN 1", {"x": "y" * 1_000}).status == 413
    head = (
        f"POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nAuthorization:"
        f" {ANA['Authorization']}\r\nContent-Type: {JSON}\r\n"
    )
    pieces = b"".join(b"100\r\n" + b" " * 256 + b"\r\n" for _ in range(8))
    assert raw(
        server.port, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + pieces
    ).startswith(b"HTTP/1.1 413 ")
    assert well(server)


def test_strangers_are_turned_away_before_their_body_is_read(server: HttpServer) -> None:
    head = (
        f"POST {QUERY} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {JSON}\r\nContent-Length:"
        " 1000000\r\n\r\n"
    )
    assert raw(server.port, head.encode()).startswith(b"HTTP/1.1 401 ")


def test_many_values_are_refused_before_they_are_made(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.bodies.HTTP_BODY_ITEMS_MAX", 100)
    assert client.query("RETURN size($x)", {"x": list(range(101))}).status == 400
    assert (
        client.batch(*[{"statement": "RETURN 1", "parameters": {"x": [1] * 60}}] * 2).status == 400
    )
    text = ',[{"\\' * 200
    assert client.rows("RETURN $x", {"x": text}) == [[text]]  # what is between quotes is one value


def test_a_batch_has_an_end(client: Client) -> None:
    found = client.batch(*["RETURN 1"] * 10_001)
    assert (found.status, found.code) == (400, "Neo.ClientError.Request.InvalidFormat")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b'"x"',
        b"{",
        b'{"statement": 1}',
        b'{"statement": "RETURN 1", "more": 1}',
        b'{"statement": "RETURN 1"} x',
        b'{"statement": "RETURN 1", "parameters": []}',
        b'{"statement": "RETURN 1", "parameters": {"a": 1e999}}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"statement": "\xff"}',
        b'{"statement": "RETURN $a", "parameters": {"a": "\xff"}}',
        b'{"statement": "RETURN $a", "parameters": {"a": NaN}}',
        b'{"statement": "RETURN $a", "parameters": {"a": 9223372036854775808}}',
        b'{"statement": "RETURN $a", "parameters": {"a": "\\ud800"}}',
        b'{"statement": "RETURN $a", "parameters": {"a": ' + b"[" * 200 + b"]" * 200 + b"}}",
        b'{"statement": "RETURN 1", "bookmarks": "a"}',
        b'{"statement": "RETURN $a", "parameters": {"a": ' + b"[" * 100_000,
        b'{"statement": "RETURN 1", "maxExecutionTime": 1.5}',
        b'{"statements": [{"statement": "RETURN 1"}]}',
    ],
    ids=lambda body: body[:60],
)
def test_what_is_no_query_is_refused_with_a_reason(client: Client, body: bytes) -> None:
    found = client.ask("POST", QUERY, body, {"Content-Type": JSON})
    assert found.status == 400 and found.code.startswith("Neo.ClientError.")
    assert client.rows("RETURN 1") == [[1]]  # on the same connection


_KEYS = st.sampled_from(("statement", "parameters", "statements", "$type", "_value", "a"))
_JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, max_size=3)),
    max_leaves=8,
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    body=st.one_of(st.binary(max_size=80), _JSON.map(lambda value: json.dumps(value).encode())),
    typed=st.booleans(),
    batch=st.booleans(),
)
def test_any_body_gets_an_answer(client: Client, body: bytes, typed: bool, batch: bool) -> None:
    path = "/db/doxa/tx/commit" if batch else QUERY
    found = client.ask("POST", path, body, {"Content-Type": TYPED if typed and not batch else JSON})
    assert found.status in (200, 202, 400), found
    assert client.rows("RETURN 1") == [[1]]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.binary(max_size=200), begun=st.booleans(), answering=st.booleans())
def test_any_bytes_leave_the_server_well(
    server: HttpServer, data: bytes, begun: bool, answering: bool
) -> None:
    start = (
        post(b'{"statement": "RETURN 1"}')
        if answering
        else f"POST {QUERY} HTTP/1.1\r\n".encode()
        if begun
        else b""
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(start + data)
        line.shutdown(socket.SHUT_WR)
        received(line)
    assert well(server)


# Clients that go away, are slow or too many


@pytest.mark.parametrize(
    "text", [SLOW, SLOW_WRITE, "UNWIND range(1, 9000) AS x UNWIND range(1, 9000) AS y RETURN x"]
)
def test_a_client_that_goes_away_ends_its_statement(
    server: HttpServer, database: GraphDatabase, text: str
) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(post(json.dumps({"statement": text}).encode()))
        until(lambda: statement_runs(database))
    until(lambda: busy(server) == 0)
    assert database.count("Slow") == 0
    assert free(database)


def test_a_client_that_goes_away_ends_its_batch(
    server: HttpServer, database: GraphDatabase
) -> None:
    body = json.dumps(
        {"statements": [{"statement": "CREATE (:Slow)"}, {"statement": SLOW}]}
    ).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(post(body).replace(b"query/v2", b"tx/commit"))
        until(lambda: statement_runs(database))
    until(lambda: busy(server) == 0)
    assert database.count("Slow") == 0 and free(database)


def test_who_waits_for_a_thread_waits_in_line_and_may_leave_it(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.app.HTTP_THREADS_MAX", 1)
    monkeypatch.setattr("doxa.servers.http.app._THREADS_MIN", 1)
    with running_server(database, Users()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as slow:
            slow.sendall(post(json.dumps({"statement": SLOW}).encode()))
            until(lambda: busy(server) == 1)
            with socket.create_connection(("127.0.0.1", server.port)) as impatient:
                impatient.sendall(post(b'{"statement": "CREATE (:Late)"}'))
                until(lambda: len(server._app._executions) == 2)
            until(lambda: len(server._app._executions) == 1)
            found: list[Any] = []

            def patient() -> None:
                with Client(server.port) as client:
                    found.append(client.rows("RETURN 1"))

            thread = threading.Thread(target=patient)
            thread.start()
            until(lambda: len(server._app._executions) == 2)
            with Client(server.port) as other:
                assert other.ask("GET", "/health").status == 200  # needs no thread
        thread.join()
        assert found == [[[1]]]
    assert database.count("Late") == 0


def test_a_request_must_arrive(database: GraphDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.servers.http.connection.HTTP_HEAD_MS", 200)
    monkeypatch.setattr("doxa.servers.http.messages.HTTP_BODY_MS", 200)
    with running_server(database, Users()) as server:
        assert raw(server.port, b"") == b""
        assert raw(server.port, b"POST /db/doxa/query/v2 HTTP/1.1\r\nHost: loc") == b""
        assert raw(server.port, post(b'{"statement"', length=100)).startswith(b"HTTP/1.1 408 ")
        with Client(server.port) as client:
            assert client.rows("RETURN 1") == [[1]]
            assert client.line.sock is not None
            client.line.sock.sendall(b"GET")  # the next request does not arrive
            assert received(client.line.sock) == b""
        until(lambda: server.connections == 0)


def test_the_head_of_a_request_has_an_end(server: HttpServer) -> None:
    found = raw(server.port, b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Query-A: " + b"a" * 100_000)
    assert found.startswith(b"HTTP/1.1 400 ") or found == b""
    assert well(server)


def test_where_there_is_no_room_the_idle_make_it(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.accepting.HTTP_CONNECTIONS_ITEMS_MAX", 2)
    with running_server(database, Users()) as server:
        with (
            socket.create_connection(("127.0.0.1", server.port), timeout=20) as silent,
            Client(server.port) as used,
        ):
            assert used.rows("RETURN 1") == [[1]]
            with Client(server.port) as third:
                assert third.rows("RETURN 1") == [[1]]
                assert received(silent) == b""
                assert used.rows("RETURN 1") == [[1]]
        with (
            socket.create_connection(("127.0.0.1", server.port)) as one,
            socket.create_connection(("127.0.0.1", server.port)) as two,
        ):
            for line in (one, two):
                line.sendall(post(json.dumps({"statement": SLOW}).encode()))
            until(lambda: busy(server) == 2)
            assert raw(server.port, b"") == b""  # all are at work


def test_a_handshake_that_never_ends_counts_and_makes_place(
    database: GraphDatabase,
    certificate: tuple[Path, Path],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("doxa.servers.http.accepting.HTTP_CONNECTIONS_ITEMS_MAX", 3)
    options = {"certificate": certificate[0], "key": certificate[1]}
    trusting = ssl.create_default_context(cafile=str(certificate[0]))
    with running_server(database, Users(), **options) as server:
        silent = [socket.create_connection(("127.0.0.1", server.port), 20) for _ in range(8)]
        for line in silent[:5]:  # those that are too many are closed, the oldest first
            assert received(line) == b""
        with (
            socket.create_connection(("localhost", server.port), 20) as plain,
            trusting.wrap_socket(plain, server_hostname="localhost") as line,
        ):
            line.sendall(post(b'{"statement": "RETURN 1"}'))
            assert line.recv(65_536).startswith(b"HTTP/1.1 202 ")
        assert received(silent[5]) == b""
        for line in silent:
            line.close()
        until(lambda: server.connections == 0 and server._count.mine == 0)


def test_a_handshake_has_the_time_of_a_head(
    database: GraphDatabase,
    certificate: tuple[Path, Path],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("doxa.servers.http.accepting.HTTP_HEAD_MS", 300)
    options = {"certificate": certificate[0], "key": certificate[1]}
    with (
        running_server(database, Users(), **options) as server,
        socket.create_connection(("127.0.0.1", server.port), 20) as silent,
    ):
        assert received(silent) == b""
        until(lambda: server._count.mine == 0)


def test_an_answer_must_be_read(database: GraphDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("doxa.servers.http.connection.HTTP_SEND_MS", 300)
    with (
        running_server(database, Users()) as server,
        socket.create_connection(("127.0.0.1", server.port)) as line,
    ):
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.sendall(post(b'{"statement": "UNWIND range(1, 600000) AS x RETURN \'some text\', x"}'))
        until(lambda: busy(server) == 1)
        until(lambda: busy(server) == 0 and server.connections == 0, 30)


def test_a_long_answer_comes_whole(client: Client) -> None:
    found = client.rows("UNWIND range(1, 100000) AS x RETURN x, 'some text'")
    assert len(found) == 100_000 and found[-1] == [100_000, "some text"]


def test_an_answer_has_an_end(
    client: Client, database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.responses.HTTP_ANSWER_BYTES_MAX", 10_000)
    found = client.query("UNWIND range(1, 10000) AS x RETURN x")
    assert (
        found.status == 400
        and "longer than 10,000 bytes. Return less" in found.json["errors"][0]["message"]
    )
    found = client.query("UNWIND range(1, 5000) AS x CREATE (a:A {x: x}) RETURN a")
    assert (
        found.status == 400
        and "are committed" in found.json["errors"][0]["message"]
        and database.count("A") == 5_000
    )
    assert (
        client.batch("UNWIND range(1, 5000) AS x CREATE (b:B {x: x}) RETURN b").json["errors"]
        and database.count("B") == 0
    )


def test_what_all_hold_together_has_an_end(
    database: GraphDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("doxa.servers.http.app.HTTP_HELD_BYTES_MAX", 400_000)
    with running_server(database, Users()) as server, Client(server.port) as client:
        with Client(server.port) as other:
            assert other.query("RETURN 1", {"x": "y" * 300_000}).status == 202
            for _ in range(3):  # what is done is given back
                assert client.query("RETURN size($x)", {"x": "y" * 300_000}).values == [[300_000]]
        found = client.query("RETURN $x AS one, $x AS two", {"x": "y" * 150_000})
        assert (found.status, found.code) == (
            503,
            "Neo.TransientError.General.DatabaseUnavailable",
        ) and found.headers["retry-after"] == "1"
        assert client.query("RETURN 1", {"x": "y" * 500_000}).status == 503
        found = client.query(
            "CREATE (:A) RETURN $x AS one, $x AS two", {"x": "y" * 150_000}
        )  # nobody shall send it again
        assert found.status == 400 and "are committed" in found.json["errors"][0]["message"]
        assert not client.batch(
            "RETURN 1",
            {"statement": "RETURN $x AS one, $x AS two", "parameters": {"x": "y" * 150_000}},
        ).json["results"]
        until(lambda: server._app._budget.left == 400_000)


# Stopping


def test_stopping_lets_what_runs_finish(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        line = socket.create_connection(("127.0.0.1", server.port), timeout=20)
        line.sendall(
            post(
                b'{"statement": "UNWIND range(1, 300) AS x UNWIND range(1, 1000) AS y WITH x WHERE'
                b' x = 1 CREATE (:Kept) RETURN count(*)"}'
            )
        )
        until(lambda: busy(server) == 1)
        idle = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    assert b"1000" in received(line) and received(idle) == b""
    assert database.count("Kept") == 1_000
    line.close()
    idle.close()


def test_stopping_ends_what_does_not_end(database: GraphDatabase) -> None:
    async def stop_soon(server: HttpServer) -> bytes:
        async with server:
            lines = [
                await asyncio.to_thread(socket.create_connection, ("127.0.0.1", server.port), 20)
                for _ in range(2)
            ]
            lines[0].sendall(post(json.dumps({"statement": SLOW_WRITE}).encode()))
            lines[1].sendall(post(b"{", length=100))  # a body that does not arrive
            while not statement_runs(database):
                await asyncio.sleep(0.01)
            await server.stop(grace_ms=200)
            found = [received(line) for line in lines]
            for line in lines:
                line.close()
            return found[0]

    assert asyncio.run(stop_soon(HttpServer(database, Users(), port=0))).startswith(
        b"HTTP/1.1 503 "
    )
    assert database.count("Slow") == 0 and free(database)


def test_nobody_can_connect_after_a_stop(database: GraphDatabase) -> None:
    with running_server(database, Users()) as server:
        port = server.port
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", port))


# Addresses and TLS


def test_a_taken_port_is_told(server: HttpServer, database: GraphDatabase) -> None:
    with (
        pytest.raises(StoreError, match="cannot listen"),
        running_server(database, Users(), port=server.port),
    ):
        pass
    with (
        pytest.raises(StoreError, match="cannot listen"),
        running_server(database, Users(), host="203.0.113.1", plaintext=True),
    ):
        pass


def test_what_can_be_reached_from_outside_needs_login_and_tls(
    database: GraphDatabase, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="no login"):
        HttpServer(database, None, host="0.0.0.0", plaintext=True)
    with pytest.raises(InputError, match="clear text"):
        HttpServer(database, Users(), host="0.0.0.0")
    with pytest.raises(InputError, match="requires a certificate and its key"):
        HttpServer(database, Users(), certificate=tmp_path / "no.pem")
    HttpServer(database, Users(), host="0.0.0.0", plaintext=True)
    HttpServer(database, None, host="localhost")
    assert HttpServer(database, None, host="::1").uri == "http://[::1]:7474"


def test_tls(database: GraphDatabase, certificate: tuple[Path, Path]) -> None:  # noqa: F811 - the fixture
    with running_server(
        database, Users(), certificate=certificate[0], key=certificate[1]
    ) as server:
        assert server.uri == f"https://127.0.0.1:{server.port}"
        context = ssl.create_default_context(cafile=str(certificate[0]))
        with Client(server.port) as client:
            plain = socket.create_connection(("127.0.0.1", server.port), timeout=20)
            client.line.sock = context.wrap_socket(plain, server_hostname="127.0.0.1")
            assert len(client.rows("UNWIND range(1, 50000) AS x RETURN x")) == 50_000
            assert (
                client.query(
                    "RETURN 1", headers={"Origin": f"https://127.0.0.1:{server.port}"}
                ).status
                == 202
            )
        assert not raw(server.port, post(b'{"statement": "RETURN 1"}')).startswith(b"HTTP")
