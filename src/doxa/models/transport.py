"""Sends one HTTP request with httpx, within one deadline and a limit of bytes.

httpx limits the time of each read, so a server that sends a byte a second would never time out.
Here the network backend under its connection pool (`httpcore2.NetworkBackend`, a public interface)
gives every connect, handshake, write and read the time that is left of the whole exchange.

    httpx2.Client -> PoolTransport -> httpcore2.ConnectionPool -> DeadlineBackend -> DeadlineStream

Environment variables, proxies, redirects and compression are off. Each exchange has a connection of
its own, which is safe after a fork. Decision record 0020 gives the reasons.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass

import httpcore2
import httpx2

from doxa.base.hosts import is_loopback
from doxa.base.limits import MODEL_CONNECT_MS

_PIECE_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class RequestDeadline:
    """A moment of the clock `now`, which gives seconds."""

    until: float
    now: Callable[[], float] = time.monotonic

    def left(self) -> float:
        """Return the seconds until then. Raises TimeoutError when there are none."""
        seconds = self.until - self.now()
        if seconds <= 0:
            raise TimeoutError("the deadline has passed")
        return seconds


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a server. `content` is cut one byte beyond the limit that was given."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class TransportError(Exception):
    """An exchange that failed. `sent` is whether the request may have reached the server; `kind` is
    "time", "certificate", "no such host", or the name of the exception.

    It has no text and no cause: what a server sent may contain the key.
    """

    def __init__(self, error: Exception, *, sent: bool) -> None:
        super().__init__()
        self.sent = sent
        # httpcore2 raises its own exceptions with that of the socket as their argument.
        cause = next((part for part in error.args if isinstance(part, OSError)), error)
        if isinstance(cause, TimeoutError | httpcore2.TimeoutException):
            self.kind = "time"
        elif isinstance(cause, ssl.SSLCertVerificationError):
            self.kind = "certificate"
        elif isinstance(cause, socket.gaierror | UnicodeError | httpx2.InvalidURL):
            self.kind = "no such host"
        else:
            self.kind = type(cause).__name__


def post(
    url: str,
    *,
    headers: Mapping[str, str],
    content: bytes,
    deadline: RequestDeadline,
    bytes_max: Callable[[int], int],
    trust: ssl.SSLContext | None,
) -> Answer:
    """Send `content` and return the answer. Raises TransportError.

    `bytes_max` gives the limit of the answer's content by its status. Without `trust`, that is for
    plain http, the request is sent to this machine only, whatever the host's name resolves to.
    """
    backend = DeadlineBackend(deadline, local=trust is None)
    pool = httpcore2.ConnectionPool(ssl_context=trust, network_backend=backend)
    client = httpx2.Client(transport=PoolTransport(pool), trust_env=False)
    failed: Exception
    try:
        with client:
            request = httpx2.Request("POST", url, headers=headers, content=content)
            response = client.send(request, stream=True, follow_redirects=False)
            with closing(response):
                body = _read(response, bytes_max(response.status_code))
            return Answer(response.status_code, response.headers, body)
    except (OSError, UnicodeError, httpx2.InvalidURL) as error:
        failed = error
    except (
        httpcore2.TimeoutException,
        httpcore2.NetworkError,
        httpcore2.ProtocolError,
        httpcore2.UnsupportedProtocol,
    ) as error:
        failed = error
    raise TransportError(failed, sent=backend.sent) from None


def _read(response: httpx2.Response, bytes_max: int) -> bytes:
    content = bytearray()
    for part in response.iter_raw():
        content += part[: bytes_max + 1 - len(content)]
        if len(content) > bytes_max:
            break
    return bytes(content)


class PoolTransport(httpx2.BaseTransport):
    """A transport over a given connection pool; the one of httpx makes its pool itself."""

    def __init__(self, pool: httpcore2.ConnectionPool) -> None:
        self._pool = pool

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        answer = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.read(),
                # The deadline alone limits the time.
                extensions={},
            )
        )
        assert isinstance(answer.stream, Iterable)
        return httpx2.Response(
            answer.status, headers=answer.headers, stream=_Body(answer.stream, answer.close)
        )

    def close(self) -> None:
        self._pool.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, parts: Iterable[bytes], close: Callable[[], None]) -> None:
        self._parts, self._close = parts, close

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._parts)

    def close(self) -> None:
        self._close()


class DeadlineBackend(httpcore2.NetworkBackend):
    """Opens connections that end with the deadline; with `local`, to this machine only."""

    def __init__(self, deadline: RequestDeadline, *, local: bool) -> None:
        self._deadline = deadline
        self._local = local
        self.sent = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        """Connect to the first address of `host` that accepts. The system resolves the name, in a
        time of its own."""
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        refused: Exception = ConnectionRefusedError("the name has no address")
        for *_, address in addresses:
            try:
                stream = httpcore2.SyncBackend().connect_tcp(
                    str(address[0]),
                    port,
                    timeout=self.left_to_connect(),
                    socket_options=socket_options or (),
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                refused = error
                continue
            # A name such as localhost may resolve to another machine: check the connection.
            if self._local and not is_loopback(str(stream.get_extra_info("server_addr")[0])):
                stream.close()
                raise ConnectionRefusedError("the name resolves to another machine")
            return DeadlineStream(stream, self)
        raise refused

    def left(self) -> float:
        return self._deadline.left()

    def left_to_connect(self) -> float:
        return min(self._deadline.left(), MODEL_CONNECT_MS / 1_000)


class DeadlineStream(httpcore2.NetworkStream):
    """A connection whose every operation has the time that is left of the deadline."""

    def __init__(self, stream: httpcore2.NetworkStream, backend: DeadlineBackend) -> None:
        self._stream, self._backend = stream, backend

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._backend.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send `buffer` in pieces: the stream's own `write` allows the timeout for each piece."""
        self._backend.sent = True
        connection = self._stream.get_extra_info("socket")
        rest = memoryview(buffer)
        try:
            while rest:
                connection.settimeout(self._backend.left())
                rest = rest[connection.send(rest[:_PIECE_BYTES]) :]
        # httpcore2 reads the answer of a server that closes before it has read the whole request.
        except TimeoutError as error:
            raise httpcore2.WriteTimeout(error) from error
        except OSError as error:
            raise httpcore2.WriteError(error) from error

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        left = self._backend.left_to_connect()
        return DeadlineStream(
            self._stream.start_tls(ssl_context, server_hostname, left), self._backend
        )

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)
