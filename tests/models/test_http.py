"""Requests to endpoints, against a real server that misbehaves in every possible way."""

from __future__ import annotations

import gzip
import logging
import pickle
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from doxa.base.errors import DoxaError, InputError, LimitError, ModelError
from doxa.base.limits import (
    MODEL_ANSWER_BYTES_MAX,
    MODEL_ATTEMPTS_MAX,
    MODEL_OUTAGE_MS,
    MODEL_REQUEST_BYTES_MAX,
    MODEL_RETRY_AFTER_MS_MAX,
)
from doxa.models.address import Secret, parse_url
from doxa.models.http import HttpEndpoint, decoded
from doxa.models.meter import Meter
from tests.models.model_server import KEY, ModelServer, Reply


class FakeTime:
    """Fake: a clock that advances by `sleep` only."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as made:
        yield made


def endpoint(url: str, when: FakeTime | None = None) -> HttpEndpoint:
    when = when or FakeTime()
    return HttpEndpoint(
        parse_url(url, field="url"),
        key=Secret(KEY, source="OPENAI_API_KEY"),
        key_source="OPENAI_API_KEY",
        now=when.now,
        sleep=when.sleep,
        wall=lambda: 1_700_000_000.0,
    )


def post(to: HttpEndpoint, *, time_ms: int = 60_000, meter: Meter | None = None) -> bytes:
    with (meter or Meter()).call("m", tokens_in=10) as call:
        answer = to.post("/embeddings", {"input": ["a text"]}, time_ms=time_ms, watch=call)
        call.used(10, 0)
        return answer


def refusal(to: HttpEndpoint, *, time_ms: int = 60_000) -> ModelError:
    with pytest.raises(ModelError) as caught:
        post(to, time_ms=time_ms)
    assert caught.value.next_step
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529, 408])
def test_what_passes_is_tried_again_with_growing_pauses(server: ModelServer, status: int) -> None:
    when = FakeTime()
    server.replies = [Reply(status, {"error": {"message": "busy"}})] * 2
    assert b"embedding" in post(endpoint(server.url, when))
    assert len(server.requests) == 3
    assert when.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    ("said", "slept"),
    [
        ("3", 3.0),
        (formatdate(1_700_000_007, usegmt=True), 7.0),
        (formatdate(1_600_000_000, usegmt=True), 0.5),
        ("soon", 0.5),
        ("-4", 0.5),
        ("0", 0.5),
        ("9" * 400, 0.5),
    ],
)
def test_retry_after_is_honoured(server: ModelServer, said: str, slept: float) -> None:
    when = FakeTime()
    server.replies = [Reply(429, {}, {"Retry-After": said})]
    post(endpoint(server.url, when))
    assert when.slept == [slept]


def test_a_pause_beyond_the_limit_is_an_error_at_once(server: ModelServer) -> None:
    when = FakeTime()
    server.replies = [Reply(429, {}, {"Retry-After": str(MODEL_RETRY_AFTER_MS_MAX // 1_000 + 1)})]
    error = refusal(endpoint(server.url, when))
    assert when.slept == [] and error.fields["status"] == 429 and "Wait" in error.next_step


def test_attempts_are_bounded_and_an_outage_is_remembered_for_a_while(server: ModelServer) -> None:
    when = FakeTime()
    to = endpoint(server.url, when)
    server.always = lambda request: Reply(503, {"error": "overloaded"})
    assert 'status 503 and the message "overloaded"' in refusal(to).message
    assert len(server.requests) == MODEL_ATTEMPTS_MAX
    assert "not called again for 10 s" in refusal(to).message
    assert len(server.requests) == MODEL_ATTEMPTS_MAX
    when.now_s += MODEL_OUTAGE_MS / 1_000
    server.always = lambda request: None
    assert post(to)


def test_pauses_end_with_the_time_of_the_call(server: ModelServer) -> None:
    when = FakeTime()
    server.always = lambda request: Reply(503)
    refusal(endpoint(server.url, when), time_ms=1_000)
    assert when.slept == [0.5]


@pytest.mark.parametrize(
    ("status", "step"),
    [
        (400, "Correct"),
        (401, "OPENAI_API_KEY"),
        (403, "OPENAI_API_KEY"),
        (404, "model's name"),
        (418, "Correct"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(server: ModelServer, status: int, step: str) -> None:
    when = FakeTime()
    server.replies = [Reply(status, {"error": {"message": "no"}})]
    error = refusal(endpoint(server.url, when))
    assert step in error.next_step and len(server.requests) == 1 and when.slept == []
    assert ("outage" in error.fields) == (status != 400) and ("refused" in error.fields) == (
        status == 400
    )


def test_a_redirect_is_not_followed(server: ModelServer) -> None:
    with ModelServer() as other:
        server.replies = [
            Reply(status, {}, {"Location": f"{other.url}/embeddings"}) for status in (301, 307, 308)
        ]
        # Each by an endpoint of its own, since one that failed refuses calls for a while.
        for _ in range(3):
            assert "a redirect, which is not followed" in refusal(endpoint(server.url)).message
        assert other.requests == []


def silent(connection: socket.socket) -> None:
    time.sleep(1.5)


def dripping(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for _ in range(40):
        connection.sendall(b"x")
        time.sleep(0.05)


def dripping_body(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
    for _ in range(40):
        connection.sendall(b" ")
        time.sleep(0.05)


def dripping_hints(connection: socket.socket) -> None:
    for _ in range(40):
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        time.sleep(0.05)


@pytest.mark.parametrize("act", [silent, dripping, dripping_body, dripping_hints])
def test_a_slow_answer_ends_in_time(server: ModelServer, act: object) -> None:
    server.always = lambda request: Reply(act=act)  # type: ignore[arg-type]
    to = HttpEndpoint(parse_url(server.url, field="url"), key=Secret(KEY, source="KEY"))
    # Without the deadline the server would end the exchange itself, which is another error.
    error = refusal(to, time_ms=400)
    assert "did not answer in time" in error.message and error.fields["outage"]


def test_a_server_that_reads_slowly_ends_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        done = threading.Event()

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                while not done.wait(0.05):
                    connection.recv(1_024)

        thread = threading.Thread(target=serve)
        thread.start()
        to = HttpEndpoint(
            parse_url(f"http://127.0.0.1:{listening.getsockname()[1]}", field="url"),
        )
        try:
            with (
                pytest.raises(ModelError, match="did not answer in time"),
                Meter().call("m", tokens_in=1) as call,
            ):
                body = {"input": "x" * (MODEL_REQUEST_BYTES_MAX - 100)}
                to.post("/embeddings", body, time_ms=400, watch=call)
        finally:
            done.set()
            thread.join()


def test_a_handshake_that_does_not_end_is_cut_off() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        to = HttpEndpoint(parse_url(f"https://127.0.0.1:{listening.getsockname()[1]}", field="url"))
        error = refusal(to, time_ms=300)
        assert "did not answer in time" in error.message


def test_every_address_of_a_name_shares_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name with many addresses gets no more time than one."""
    when, tried = FakeTime(), []

    def connect(address: tuple[str, int], timeout: float, **options: object) -> socket.socket:
        tried.append(timeout)
        when.now_s += timeout
        raise TimeoutError

    entry = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 80))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **options: [entry] * 9)
    monkeypatch.setattr(socket, "create_connection", connect)
    error = refusal(endpoint("http://localhost", when), time_ms=25_000)
    assert "did not answer in time" in error.message
    assert tried == [10.0, 10.0, 5.0]


def test_the_environment_names_no_proxy_and_no_password(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login ana password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert post(endpoint(server.url))
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}" and headers["accept-encoding"] == "identity"


def test_a_compressed_answer_is_not_unpacked(server: ModelServer) -> None:
    packed = gzip.compress(b"{" + b" " * 1_000_000)
    server.replies = [Reply(200, packed, {"Content-Encoding": "gzip"})]
    assert post(endpoint(server.url)) == packed


def test_httpx_is_imported_when_an_endpoint_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, doxa, doxa.models.http, doxa.models.openai, doxa.app.models\n"
        "assert not {'httpx2', 'httpcore2'} & set(sys.modules)\n"
        "from doxa.models.address import parse_url\n"
        "doxa.models.http.HttpEndpoint(parse_url('http://127.0.0.1', field='url'))\n"
        "assert 'httpx2' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ModelError, match="httpx2 cannot be imported") as caught:
        endpoint("http://127.0.0.1")
    assert "doxa-memory[endpoints]" in caught.value.next_step


def cut_off(connection: socket.socket) -> None:
    connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{"data": [')


def cut_chunk(connection: socket.socket) -> None:
    connection.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n50\r\n{"data"')


def nothing(connection: socket.socket) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def no_http(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2 " + KEY.encode() + b"\r\n")


def endless_head(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X-Filler: 1\r\n" * 500)


def long_line(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 " + b"x" * 200_000)


@pytest.mark.parametrize("act", [cut_off, cut_chunk, nothing, no_http, endless_head, long_line])
def test_an_answer_that_breaks_off_is_tried_again_and_then_an_error(
    server: ModelServer, act: object
) -> None:
    server.replies = [Reply(act=act)]  # type: ignore[arg-type]
    assert post(endpoint(server.url))
    server.requests.clear()
    server.always = lambda request: Reply(act=act)  # type: ignore[arg-type]
    error = refusal(endpoint(server.url))
    assert "closed the connection" in error.message and len(server.requests) == MODEL_ATTEMPTS_MAX


def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and never listens
        error = refusal(endpoint(f"http://127.0.0.1:{held.getsockname()[1]}"))
    assert (
        "cannot be reached (ConnectionRefusedError)" in error.message
        and "Start the server" in error.next_step
    )


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 300, "a..b"])
def test_a_host_that_is_not_there(host: str) -> None:
    assert "no such host" in refusal(endpoint(f"https://{host}/v1")).message


def huge(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    block = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    for _ in range(MODEL_ANSWER_BYTES_MAX // 0x100000 + 50):
        connection.sendall(block)


def test_a_huge_answer_is_left_after_the_limit(server: ModelServer) -> None:
    server.always = lambda request: Reply(act=huge)
    assert (
        f"sent more than {MODEL_ANSWER_BYTES_MAX:,} bytes" in refusal(endpoint(server.url)).message
    )
    assert len(server.requests) == 1


def test_a_huge_refusal_is_read_in_part(server: ModelServer) -> None:
    server.replies = [Reply(400, b'{"error": "' + b"x" * 10_000_000 + b'"}')]
    assert refusal(endpoint(server.url)).message.endswith("answered with status 400.")


def test_a_huge_request_is_refused_before_it_is_sent(server: ModelServer) -> None:
    with pytest.raises(LimitError), Meter().call("m", tokens_in=1) as call:
        endpoint(server.url).post(
            "/embeddings", {"input": "x" * MODEL_REQUEST_BYTES_MAX}, time_ms=1_000, watch=call
        )
    assert server.requests == []


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"<html>",
        b"[" * 100_000,
        b'{"data": 5}',
        b'{"data": [{"index": "0"}]}',
        b"\xff\xfe",
        b'{"data": "\\ud800 x"}',
        b"null",
        b"[]",
    ],
)
def test_an_answer_of_another_shape_is_an_error(body: bytes) -> None:
    from doxa.models.openai import _OpenAiVectors

    with pytest.raises(ModelError, match="has an unexpected shape") as caught:
        decoded(body, _OpenAiVectors, url="u", model="m")
    assert ("outage" in caught.value.fields) == (not body.startswith(b"{"))


# Keys


def test_the_key_is_sent_and_shown_nowhere(
    server: ModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.replies = [
        Reply(),
        Reply(400, {"error": {"message": f'bad key\n{KEY}\x1b[31m "quoted"'}}),
    ]
    to = endpoint(server.url)
    post(to)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    error = refusal(to)
    assert 'the message "bad key [key] [31m quoted"' in error.message
    secret = Secret(KEY, source="X")
    assert KEY not in f"{secret!r} {secret} {vars(to)} {caplog.text} {error.as_dict()}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)


@pytest.mark.parametrize("value", ["", "sk 12", "sk12\nX-Other: 1", "ключ", "sk12\0", "sk12\r"])
def test_a_key_that_cannot_be_sent_is_refused_unseen(value: str) -> None:
    with pytest.raises(InputError, match="OPENAI_API_KEY") as caught:
        Secret(value, source="OPENAI_API_KEY")
    assert not value or value not in str(caught.value.as_dict())


# URLs


@pytest.mark.parametrize(
    "text",
    [
        "http://example.org",
        "http://10.0.0.5:11434",
        "http://localhost.example.org",
        "http://0.0.0.0",
        "http://127.1",
        "ftp://localhost",
        "localhost:80",
        "",
        "https://",
        "https://user:pass@example.org",
        "http://a@127.0.0.1",
        "https://example.org/v1?key=1",
        "https://example.org/#x",
        "https://e x.org",
        "https://example.org\n",
        "https://exämple.org",
        "http://127.0.0.1:99999",
        "http://[::1",
        "https://example.org\\@127.0.0.1",
        "file:///x",
        5,
        None,
        "https://" + "a" * 5_000,
        "http://[::ffff:10.0.0.1]",
    ],
)
def test_a_url_that_would_leak_or_mislead_is_refused(text: object) -> None:
    with pytest.raises(InputError) as caught:
        parse_url(text, field="DOXA_OPENAI_URL")
    assert caught.value.fields == {
        "field": "DOXA_OPENAI_URL"
    } and "pass" not in caught.value.message.replace("password", "")


@pytest.mark.parametrize(
    ("text", "place", "local"),
    [
        ("http://localhost:11434/", "http://loopback:11434", True),
        ("http://127.0.0.1:11434", "http://loopback:11434", True),
        ("http://[::1]:8080/v1/", "http://loopback:8080/v1", True),
        ("https://API.example.org/v1", "https://api.example.org:443/v1", False),
    ],
)
def test_a_url_that_can_be_used(text: str, place: str, local: bool) -> None:
    address = parse_url(text, field="url")
    assert (address.id, address.local, address.text) == (place, local, text.rstrip("/"))


def test_plain_http_is_sent_to_this_machine_only_whatever_the_name_says(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        socket.socket, "getpeername", lambda self: ("10.0.0.5", 80)
    )  # as a forged entry for localhost would have it
    assert (
        "cannot be reached"
        in refusal(endpoint(server.url.replace("127.0.0.1", "localhost"))).message
    )
    assert server.requests == []


def test_https_wants_a_certificate_that_is_trusted(tmp_path: object) -> None:
    pytest.importorskip("cryptography")
    import ssl

    from tests.models.certificate import self_signed

    context, trusting = self_signed()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://localhost:{listening.getsockname()[1]}/v1"

        def serve() -> None:
            for _ in range(2):
                raw, _ = listening.accept()
                try:
                    with context.wrap_socket(raw, server_side=True) as secured:
                        secured.settimeout(5)
                        seen = b""
                        while b'"a text"' not in seen:
                            seen += secured.recv(65_536)
                        secured.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
                except (ssl.SSLError, OSError):
                    raw.close()

        thread = threading.Thread(target=serve)
        thread.start()
        error = refusal(endpoint(url))
        assert "certificate that cannot be trusted" in error.message
        trusted = HttpEndpoint(parse_url(url, field="url"), trust=trusting)
        assert post(trusted, time_ms=5_000) == b"{}"
        thread.join()


def test_what_was_sent_and_lost_is_counted_as_an_estimate(server: ModelServer) -> None:
    meter = Meter()
    server.replies = [Reply(act=cut_off), Reply(503)]
    post(endpoint(server.url), meter=meter)
    spend = meter.spend()
    assert (spend.calls, spend.tokens_in, spend.tokens_estimated) == (3, 20, 10)


def test_a_cap_on_calls_counts_what_is_sent_again(server: ModelServer) -> None:
    server.always = lambda request: Reply(500)
    with pytest.raises(LimitError, match="cap of 2 model calls"):
        post(endpoint(server.url), meter=Meter(calls_max=2))
    assert len(server.requests) == 2


def test_threads_share_an_endpoint(server: ModelServer) -> None:
    to = endpoint(server.url)
    failed: list[DoxaError] = []

    def ask() -> None:
        try:
            for _ in range(5):
                post(to)
        except DoxaError as error:
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [] and len(server.requests) == 30
