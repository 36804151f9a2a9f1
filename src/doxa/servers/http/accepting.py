"""Accepts connections of HTTP and counts them from their first moment, TLS or not.

The library hears of a connection of TLS when its handshake is complete, so a client that begins
thousands and completes none would take every file that the process may open. Here they are counted
as soon as they are accepted, and a handshake must be complete in the time that the head of a
request has. If the server is full, the connection of this process that has been
idle the longest, or at its handshake, is closed; if all are at work, the new one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress

import uvicorn

from doxa.base.limits import HTTP_CONNECTIONS_ITEMS_MAX, HTTP_HEAD_MS
from doxa.servers.http.connection import NUMBERS, HttpConnection
from doxa.servers.prefork.counters import Counter
from doxa.servers.sharing import Acceptor, Share


class HttpAcceptor:
    """The connections of a server of the library, which listens on nothing itself."""

    def __init__(
        self,
        server: uvicorn.Server,
        listeners: Sequence[socket.socket],
        tls: ssl.SSLContext | None,
        count: Counter,
        *,
        at_once: int,
        share: Share,
    ) -> None:
        """`count` is that of connections; see Acceptor for `at_once` and `share`."""
        self._server, self._tls, self._count = server, tls, count
        self._arriving: dict[HttpConnection, asyncio.Task[None]] = {}
        self._acceptor = Acceptor(listeners, self._accepted, count, at_once=at_once, share=share)

    def close(self) -> None:
        """Accept nothing more, and end handshakes."""
        self._acceptor.close()
        for task in self._arriving.values():
            task.cancel()

    def _accepted(self, client: socket.socket) -> None:
        client.setblocking(False)
        server = self._server
        made = HttpConnection(server.config, server.server_state, server.lifespan.state)
        made.number, made.on_lost = next(NUMBERS), self._lost
        is_full = self._count.add(1) > HTTP_CONNECTIONS_ITEMS_MAX
        if is_full and not self._make_place():
            self._lost()
            client.close()
            return
        task = asyncio.get_running_loop().create_task(self._serve(made, client))
        self._arriving[made] = task
        task.add_done_callback(lambda ended: self._arrived(made, client, ended))

    async def _serve(self, made: HttpConnection, client: socket.socket) -> None:
        within = None if self._tls is None else HTTP_HEAD_MS / 1000
        with suppress(OSError):  # the client left, was late or speaks no TLS
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: made, client, ssl=self._tls, ssl_handshake_timeout=within
            )

    def _arrived(
        self, made: HttpConnection, client: socket.socket, ended: asyncio.Task[None]
    ) -> None:
        """Forget an arrival; one that failed has no connection that could be lost."""
        del self._arriving[made]
        if ended.cancelled():  # maybe before it began, so that nothing else closes it
            client.close()
        if made.transport is None:
            self._lost()

    def _make_place(self) -> bool:
        """Close the connection that has been idle the longest, and return whether there was one."""
        connections = self._server.server_state.connections
        idle = [one for one in connections if isinstance(one, HttpConnection) and one.idle]
        idle += [one for one, task in self._arriving.items() if not task.cancelling()]
        if not idle:
            return False
        leaving = min(idle, key=lambda one: one.number)
        if leaving in connections:
            connections.discard(leaving)
            leaving.transport.abort()
        else:
            self._arriving[leaving].cancel()
        return True

    def _lost(self) -> None:
        self._count.add(-1)
