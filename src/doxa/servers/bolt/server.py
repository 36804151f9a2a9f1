"""The Bolt server: it listens, limits the number of clients, and stops without interrupting a
commit.

    async with BoltServer(database, authenticator, port=7687) as server:
        await server.serve_forever()
    with running_server(database, authenticator, port=0) as server: ...    on a separate thread, for
                                                                           tests and notebooks
    serve(server)                                                          until SIGINT or SIGTERM

Secure by default: it listens on the loopback address, requires a login, and accepts no passwords
over a network without TLS.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from doxa.base.errors import StoreError
from doxa.base.limits import BOLT_LOGIN_MS, BOLT_STOP_MS, BOLT_THREADS_MAX, QUERY_TIMEOUT_MS
from doxa.servers.bolt.connection import BoltConnection
from doxa.servers.bolt.conversation import Conversation
from doxa.servers.bolt.framing import Version
from doxa.servers.contract import Database
from doxa.servers.credentials import Authenticator, throttled
from doxa.servers.listening import BACKLOG, require_safe, running, tls_context
from doxa.servers.workers import Workers

PORT = 7687
_LOOK_S = 0.02
_END_S = 2.0


class BoltServer:
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
        advertised: str = "",
        connections_max: int = BOLT_THREADS_MAX,
        login_ms: int = BOLT_LOGIN_MS,
        timeout_ms: int = QUERY_TIMEOUT_MS,
    ) -> None:
        """Raise InputError for an address that requires a login or TLS and has none, and for an
        unusable certificate."""
        self.database = database
        self.authenticator = throttled(authenticator)
        self.host, self.port = host, port
        self.workers = Workers("bolt")
        self.login_ms = login_ms
        self._advertised, self._connections_max, self._timeout_ms = (
            advertised,
            connections_max,
            timeout_ms,
        )
        self._tls = tls_context(certificate, key) if certificate or key else None
        self._connections: dict[int, BoltConnection] = {}
        self._number = 0
        self._server: asyncio.Server | None = None
        self._stopping = False
        require_safe(
            host, login=authenticator is not None, encrypted=self._tls is not None or plaintext
        )

    async def start(self) -> None:
        """Start to listen; `port` is then the actual port. Raises StoreError if the address is in
        use or not available."""
        loop = asyncio.get_running_loop()
        extra: dict[str, Any] = {"ssl_handshake_timeout": self.login_ms / 1000} if self._tls else {}
        try:
            self._server = await loop.create_server(
                self._connect, self.host, self.port, ssl=self._tls, backlog=BACKLOG, **extra
            )
        except OSError as error:
            raise StoreError(
                f"The Bolt server cannot listen on {self.host}:{self.port}:"
                f" {error.strerror or error}.",
                next_step="Choose another port or address.",
                host=self.host,
                port=self.port,
            ) from error
        self.port = self._server.sockets[0].getsockname()[1]

    async def serve_forever(self) -> None:
        """Start if necessary, and serve until cancelled or stopped."""
        if self._server is None:
            await self.start()
        assert self._server is not None
        try:
            await self._server.serve_forever()
        except asyncio.CancelledError:
            if not self._stopping:
                await self.stop()
                raise

    async def stop(self, grace_ms: int = BOLT_STOP_MS) -> None:
        """Accept no more clients, wait for running work up to the grace period, then cancel it.
        Uncommitted work is rolled back."""
        if self._server is None or self._stopping:
            return
        self._stopping = True
        self._server.close()
        for connection in list(self._connections.values()):
            if connection.conversation is None:
                connection.abort()
            else:
                connection.conversation.stopping = True
                connection.wake()
        await self._until_empty(grace_ms / 1000)
        left = list(self._connections.values())
        for connection in left:
            connection.abort()
        end = time.monotonic() + _END_S
        while any(not connection.ended.is_set() for connection in left) and time.monotonic() < end:
            await asyncio.sleep(_LOOK_S)
        self.workers.close()

    async def _until_empty(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self._connections and time.monotonic() < end:
            await asyncio.sleep(_LOOK_S)

    async def __aenter__(self) -> BoltServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def address(self) -> str:
        """The address for clients."""
        return (
            self._advertised or f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"
        )

    @property
    def uri(self) -> str:
        """The URI for drivers."""
        return f"{'bolt+s' if self._tls else 'bolt'}://{self.address}"

    @property
    def connections(self) -> int:
        """The number of connected clients."""
        return len(self._connections)

    # Called by connections

    def _connect(self) -> BoltConnection:
        self._number += 1
        return BoltConnection(self, self._number)

    def admit(self, connection: BoltConnection) -> bool:
        """Admit a connection if the limit allows. At the limit, the oldest connection that has not
        logged in is closed."""
        if self._stopping:
            return False
        if len(self._connections) >= self._connections_max:
            idle = next((one for one in self._connections.values() if not one.logged_in), None)
            if idle is None:
                return False
            self.dismiss(idle)
            idle.abort()
        self._connections[connection.number] = connection
        return True

    def dismiss(self, connection: BoltConnection) -> None:
        """Forget a connection."""
        self._connections.pop(connection.number, None)

    def converse(self, connection: BoltConnection, version: Version) -> Conversation:
        """Start the conversation of a connection."""
        return Conversation(
            self.database,
            self.authenticator,
            version=version,
            send=connection.send,
            connection_id=f"bolt-{connection.number}",
            address=self.address,
            timeout_ms=self._timeout_ms,
            login_ms=self.login_ms,
        )


@contextmanager
def running_server(
    database: Database, authenticator: Authenticator | None, **options: Any
) -> Iterator[BoltServer]:
    """Run a server on a separate thread: it listens when the block begins and stops at its end. By
    default it uses a free port."""
    with running(BoltServer(database, authenticator, **{"port": 0, **options})) as server:
        yield server
