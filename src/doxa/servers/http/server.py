"""The HTTP server: uvicorn on an address, with an orderly stop.

    async with HttpServer(database, authenticator, port=7474) as server: ...
    with running_server(database, authenticator) as server: ...    on a separate thread, for tests
                                                                   and notebooks
    serve(server)                                                  until SIGINT or SIGTERM

uvicorn runs in an event loop that other servers may share, so it does not handle signals. The
socket is opened here, so that errors are those of doxa.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from doxa.base.errors import StoreError
from doxa.base.limits import HTTP_HEAD_BYTES_MAX, HTTP_IDLE_MS, HTTP_STOP_MS, QUERY_TIMEOUT_MS
from doxa.servers.contract import Database, Mounted
from doxa.servers.credentials import Authenticator, Principal, throttled
from doxa.servers.http.accepting import HttpAcceptor
from doxa.servers.http.api.app import ApiOptions
from doxa.servers.http.app import App
from doxa.servers.http.connection import HttpConnection
from doxa.servers.listening import BACKLOG, notice_dead_peers, require_safe, running, tls_context
from doxa.servers.sharing import Share

PORT = 7474
_LOOK_S = 0.02
_END_S = 2.0


class HttpServer:
    """Serves a database. Without an authenticator no login is required, which is allowed on a
    loopback address only."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator | None,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        certificate: str | Path | None = None,
        key: str | Path | None = None,
        plaintext: bool = False,
        version: str = "",
        timeout_ms: int = QUERY_TIMEOUT_MS,
        mounts: Mapping[str, Callable[[Principal], Mounted]] | None = None,
        api: ApiOptions | None = None,
        share: Share | None = None,
    ) -> None:
        """Raise InputError for an address that requires a login or TLS and has none, and for an
        unusable certificate. `share` is what it has in common with other processes."""
        self.host, self.port = host, port
        self._tls = tls_context(certificate, key) if certificate or key else None
        require_safe(
            host, login=authenticator is not None, encrypted=self._tls is not None or plaintext
        )
        self._app = App(
            database,
            throttled(authenticator),
            host=host,
            version=version,
            timeout_ms=timeout_ms,
            mounts=mounts,
            api=api,
            share=share,
        )
        self._share = share or Share()
        self._count = self._share.counter("http")
        self._server = QuietUvicorn(uvicorn_config(self._app))
        self._acceptor: HttpAcceptor | None = None
        self._serving: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self) -> None:
        """Start to listen; `port` is then the actual port. Raises StoreError if the address is in
        use or not available."""
        shared = self._share.listeners("http")
        listeners = shared or [open_listener("HTTP", self.host, self.port)]
        self.port = listeners[0].getsockname()[1]
        self._serving = asyncio.create_task(self._server.serve(sockets=[]))
        while not self._server.started and not self._serving.done():
            await asyncio.sleep(_LOOK_S)
        if self._serving.done():
            self._serving.result()
        at_once = BACKLOG if shared is None else 1
        self._acceptor = HttpAcceptor(
            self._server,
            listeners,
            self._tls,
            self._count,
            at_once=at_once,
            share=self._share,
        )

    async def stop(self, grace_ms: int = HTTP_STOP_MS) -> None:
        """Accept no more requests, wait for running ones up to the grace period, then cancel them.
        Uncommitted work is rolled back."""
        if self._serving is None or self._stopping:
            return
        self._stopping = self._server.should_exit = True
        if self._acceptor is not None:
            self._acceptor.close()
        self._app.end_streams()
        self._app.api.jobs.cancel_all()  # after the batch that they are at
        await asyncio.wait({self._serving}, timeout=grace_ms / 1000)
        await self._end()
        await self._serving
        self._app.close()

    def reload(self) -> None:
        """Read the certificate again, for connections to come. Raises InputError if it cannot be
        used."""
        if self._tls is not None:
            self._tls.reload()

    async def _end(self) -> None:
        """Cancel running statements, so that their clients get an error, then close connections."""
        end = time.monotonic() + _END_S
        while (self._app.is_busy or not self._ended) and time.monotonic() < end:
            self._app.end_all()
            await asyncio.sleep(_LOOK_S)
        self._server.force_exit = True
        for connection in list(self._server.server_state.connections):
            connection.transport.abort()

    @property
    def _ended(self) -> bool:
        return self._serving is None or self._serving.done()

    async def __aenter__(self) -> HttpServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def uri(self) -> str:
        """The URI for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    def session_link(self, principal: Principal) -> str:
        """Return a URI that opens a browser session for a principal, once, within two minutes.
        The caller vouches for the principal."""
        return f"{self.uri}{self._app.api.link(principal)}"

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._server.server_state.connections)


def uvicorn_config(app: ASGIApp) -> uvicorn.Config:
    """Return how uvicorn serves an application of doxa on connections that an HttpAcceptor gives
    it."""
    return uvicorn.Config(
        app,
        http=HttpConnection,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_keep_alive=HTTP_IDLE_MS // 1000,
        h11_max_incomplete_event_size=HTTP_HEAD_BYTES_MAX,
    )


class QuietUvicorn(uvicorn.Server):
    """uvicorn without its signal handlers."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def open_listener(what: str, host: str, port: int) -> socket.socket:
    """Bind a socket, preferring IPv4 among the addresses of a name, since clients try both. The
    protocol is set to TCP explicitly; otherwise the loop would not disable Nagle's algorithm.
    Raises StoreError if the address is in use or not available."""
    made: socket.socket | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        made = socket.socket(family, kind, protocol or socket.IPPROTO_TCP)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        notice_dead_peers(made)
        made.bind(address)
        made.listen(BACKLOG)
    except OSError as error:
        if made is not None:
            made.close()
        raise StoreError(
            f"The {what} server cannot listen on {host}:{port}: {error.strerror or error}.",
            next_step="Choose another port or address.",
            host=host,
            port=port,
        ) from error
    return made


@contextmanager
def running_server(
    database: Database, authenticator: Authenticator | None, **options: Any
) -> Iterator[HttpServer]:
    """Run a server on a separate thread: it listens when the block begins and stops at its end. By
    default it uses a free port."""
    with running(HttpServer(database, authenticator, **{"port": 0, **options})) as server:
        yield server
