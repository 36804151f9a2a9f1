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
import logging
import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from doxa.base.errors import StoreError
from doxa.base.limits import BOLT_LOGIN_MS, BOLT_STOP_MS, BOLT_THREADS_MAX, QUERY_TIMEOUT_MS
from doxa.base.run_slot import RunSlot
from doxa.servers.bolt.connection import BUSY_S, BoltConnection
from doxa.servers.bolt.conversation import Conversation
from doxa.servers.bolt.framing import Version
from doxa.servers.contract import Database
from doxa.servers.credentials import Authenticator, throttled
from doxa.servers.listening import BACKLOG, notice_dead_peers, require_safe, running, tls_context
from doxa.servers.sharing import Acceptor, Share, in_background
from doxa.servers.workers import Workers

PORT = 7687
_LOOK_S = 0.02
_END_S = 2.0
_SHED_S = 1.5  # less than another process waits for the answer
_QUIET_LOOKS = 50

_LOG = logging.getLogger("doxa.bolt")


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
        share: Share | None = None,
    ) -> None:
        """Raise InputError for an address that requires a login or TLS and has none, and for an
        unusable certificate. `share` is what it has in common with other processes."""
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
        self._next: deque[BoltConnection] = deque()  # until the thread of one that was shed ends
        self._number = 0
        self._share = share or Share()
        self._of = f"{self._share.number}-" if self._share.number else ""
        self._count = self._share.counter("bolt")
        self._acceptor: Acceptor | None = None
        self._asking: set[asyncio.Task[None]] = set()
        if self._share.calls is not None:
            self._share.calls.answers("bolt.shed", self._shed_for_another)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.watching = False
        self.slot = RunSlot(number=self._share.number)
        self._quiet = 0  # looks in a row that found no thread busy
        self._stopping = False
        require_safe(
            host, login=authenticator is not None, encrypted=self._tls is not None or plaintext
        )

    async def start(self) -> None:
        """Start to listen; `port` is then the actual port. Raises StoreError if the address is in
        use or not available."""
        listeners = self._share.listeners("bolt")
        at_once = BACKLOG if listeners is None else 1
        if listeners is None:
            listeners = open_listeners(self.host, self.port)
        self.port = listeners[0].getsockname()[1]
        self._loop = asyncio.get_running_loop()
        self._acceptor = Acceptor(
            listeners, self._accepted, self._count, at_once=at_once, share=self._share
        )

    async def serve_forever(self) -> None:
        """Start if necessary, and serve until cancelled or stopped."""
        if self._loop is None:
            await self.start()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            if not self._stopping:
                await self.stop()
                raise

    async def stop(self, grace_ms: int = BOLT_STOP_MS) -> None:
        """Accept no more clients, wait for running work up to the grace period, then cancel it.
        Uncommitted work is rolled back."""
        if self._loop is None or self._stopping:
            return
        self._stopping = True
        self._stop_listening()
        while self._next:
            self._refuse(self._next.popleft())
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

    def reload(self) -> None:
        """Read the certificate again, for connections to come. Raises InputError if it cannot be
        used."""
        if self._tls is not None:
            self._tls.reload()

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

    # On the event loop

    def _accepted(self, client: socket.socket) -> None:
        client.setblocking(True)
        self._number += 1
        connection = BoltConnection(self, self._number, client, self._tls)
        if self._count.add(1) <= self._connections_max:
            self._admit(connection)
        elif self._shed() is not None:
            self._next.append(connection)
        elif self._share.calls is None:
            self._refuse(connection)
        else:
            in_background(self._admit_if_shed(connection), self._asking)

    async def _admit_if_shed(self, connection: BoltConnection) -> None:
        """Serve a connection beyond the limit if another process has one that may go for it."""
        assert self._share.calls is not None
        shed = await self._share.calls.ask_others("bolt.shed", 1)
        if any(shed.values()) and not self._stopping:
            self._admit(connection)
        else:
            self._refuse(connection)

    def _admit(self, connection: BoltConnection) -> None:
        self._connections[connection.number] = connection
        try:
            self.workers.start(connection.work)
        except RuntimeError:  # the system gives no more threads
            del self._connections[connection.number]
            self._refuse(connection)

    def _refuse(self, connection: BoltConnection) -> None:
        self._count.add(-1)
        connection.refuse()

    def _shed(self) -> BoltConnection | None:
        """Abort the oldest connection that has not logged in, and return it; None if there is
        none. It counts until its thread has ended."""
        for one in list(self._connections.values()):
            if not one.logged_in and not one.aborted:
                one.abort()
                return one
        return None

    async def _shed_for_another(self, _asked: int) -> bool:
        shed = self._shed()
        end = time.monotonic() + _SHED_S
        while shed is not None and not shed.ended.is_set() and time.monotonic() < end:
            await asyncio.sleep(_LOOK_S)
        return shed is not None and shed.ended.is_set()

    def _admit_next(self) -> None:
        if self._next and not self._stopping:
            self._admit(self._next.popleft())

    def _look(self) -> None:
        now = time.monotonic()
        looked = [connection.look(now) for connection in list(self._connections.values())]
        self._quiet = 0 if any(looked) else self._quiet + 1
        assert self._loop is not None
        if self._quiet < _QUIET_LOOKS:
            self._loop.call_later(BUSY_S, self._look)
        else:
            self.watching = False

    def _watch(self) -> None:
        if not self.watching:
            self.watching, self._quiet = True, 0
            self._look()

    def _stop_listening(self) -> None:
        if self._acceptor is not None:
            self._acceptor.close()

    # Called by connections, on their threads

    def watch(self) -> None:
        """Look at busy connections now and then."""
        self._on_loop(self._watch)

    def dismiss(self, connection: BoltConnection) -> None:
        """Forget a connection."""
        if self._connections.pop(connection.number, None) is not None:
            self._count.add(-1)
            self._on_loop(self._admit_next)

    def _on_loop(self, call: Callable[[], None]) -> None:
        loop = self._loop
        if loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(call)

    def converse(self, connection: BoltConnection, version: Version) -> Conversation:
        """Start the conversation of a connection."""
        return Conversation(
            self.database,
            self.authenticator,
            version=version,
            send=connection.send,
            connection_id=f"bolt-{self._of}{connection.number}",
            address=self.address,
            timeout_ms=self._timeout_ms,
            login_ms=self.login_ms,
        )


def open_listeners(host: str, port: int) -> list[socket.socket]:
    """Listen on a port of every address of a host. Raises StoreError if the address is in use or
    not available."""
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            made.append(_listening(family, (str(address[0]), port)))
            port = made[-1].getsockname()[1]
    except OSError as error:
        for listener in made:
            listener.close()
        raise StoreError(
            f"The Bolt server cannot listen on {host}:{port}: {error.strerror or error}.",
            next_step="Choose another port or address.",
            host=host,
            port=port,
        ) from error
    return made


def _listening(family: int, address: tuple[str, int]) -> socket.socket:
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        notice_dead_peers(made)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(BACKLOG)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


@contextmanager
def running_server(
    database: Database, authenticator: Authenticator | None, **options: Any
) -> Iterator[BoltServer]:
    """Run a server on a separate thread: it listens when the block begins and stops at its end. By
    default it uses a free port."""
    with running(BoltServer(database, authenticator, **{"port": 0, **options})) as server:
        yield server
