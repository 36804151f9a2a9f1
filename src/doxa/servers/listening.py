"""What all servers that listen on an address share: the security requirements, TLS, and running
until stopped.

    serve(server, server)              on this thread, until SIGINT or SIGTERM; SIGHUP reloads
    with running(server): ...          on a separate thread, for tests and notebooks

Secure by default: an address that other machines can reach requires a login, and TLS unless the
connection is encrypted by other means.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from doxa.base.errors import DoxaError, InputError
from doxa.base.hosts import is_loopback
from doxa.servers.service.deadline import StopDeadline
from doxa.servers.service.hangups import take_hangups
from doxa.servers.service.notify import ServiceManager

BACKLOG = 128
# After two minutes without a sign of life a peer is taken for gone
_SILENT_S, _PROBE_S, _PROBES = 60, 15, 4
_LOG = logging.getLogger("doxa.serve")


class Server(Protocol):
    """A server on an event loop."""

    async def start(self) -> None:
        """Start to listen. Raises StoreError if the address is in use or not available."""

    async def stop(self) -> None:
        """Accept no more clients, wait a while for running requests, then end them."""

    def reload(self) -> None:
        """Read the certificate again. Raises InputError, and keeps the former one, if it cannot
        be used."""


class Control(Protocol):
    """Who stops and reloads servers in place of signals, such as a supervisor."""

    async def start(self, stop: Callable[[], None], reload: Callable[[], str]) -> None:
        """Begin, before any server listens. `reload` returns what it did in words."""

    async def close(self) -> None:
        """End, after all servers have stopped."""


AnyServer = TypeVar("AnyServer", bound=Server)


class CertificateContext(ssl.SSLContext):
    """A context of TLS whose certificate can be read again while it is in use: connections that
    come after it get the new one."""

    certificate: str | Path
    key: str | Path

    def reload(self) -> None:
        """Read the files again. Raises InputError, and changes nothing, if they cannot be used."""
        tls_context(self.certificate, self.key)
        self.load_cert_chain(self.certificate, self.key)


def tls_context(certificate: str | Path | None, key: str | Path | None) -> CertificateContext:
    """Create a context for TLS 1.2 or newer with this certificate chain and key (PEM). Raises
    InputError if they cannot be used."""
    if not certificate or not key:
        raise InputError(
            "TLS requires a certificate and its key.",
            next_step="Give the paths of both, in PEM.",
            field="certificate",
        )
    context = CertificateContext(ssl.PROTOCOL_TLS_SERVER)
    context.certificate, context.key = certificate, key
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"The certificate {certificate} and the key {key} cannot be used: {error}.",
            next_step="Give a certificate chain and the key that belongs to it, in PEM.",
            field="certificate",
        ) from error
    return context


def require_safe(host: str, *, login: bool, encrypted: bool) -> None:
    """Raise InputError for an address that other machines can reach if it has no login, or if
    passwords would be sent in clear text."""
    if is_loopback(host):
        return
    if not login:
        raise InputError(
            f"{host} can be reached from outside, and no login is required.",
            next_step="Give an authenticator.",
            field="host",
        )
    if not encrypted:
        raise InputError(
            f"{host} can be reached from outside, and passwords would be sent in clear text.",
            next_step=(
                "Give a certificate and its key, or allow plaintext if the connection is encrypted"
                " by other means."
            ),
            field="host",
        )


def notice_dead_peers(listener: socket.socket) -> None:
    """Let the system end connections whose peer is gone without a word, such as behind a router
    that forgot them. Accepted sockets inherit what the listening one has."""
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle = "TCP_KEEPIDLE" if hasattr(socket, "TCP_KEEPIDLE") else "TCP_KEEPALIVE"  # macOS
    wanted = {
        idle: _SILENT_S,
        "TCP_KEEPINTVL": _PROBE_S,
        "TCP_KEEPCNT": _PROBES,
    }
    for name, value in wanted.items():
        if hasattr(socket, name):  # not every system has all of them
            with suppress(OSError):
                listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def serve(
    *servers: Server,
    ready: Callable[[], None] | None = None,
    reload: Callable[[], str] | None = None,
    manager: ServiceManager | None = None,
    deadline: StopDeadline | None = None,
    control: Control | None = None,
) -> None:
    """Serve on this thread until SIGINT or SIGTERM, then stop in order.

    `ready` is called when all servers listen. SIGHUP reads certificates again and calls `reload`,
    which returns what it did in words. The service manager hears of each step; `deadline` begins
    with the signal. Under a `control`, SIGTERM is the only signal that is handled.
    """
    service = _Service(servers, ready, reload, manager or ServiceManager(), deadline, control)
    asyncio.run(service.run())


class _Service:
    """Servers from their start to their end."""

    def __init__(
        self,
        servers: Sequence[Server],
        ready: Callable[[], None] | None,
        reload: Callable[[], str] | None,
        manager: ServiceManager,
        deadline: StopDeadline | None,
        control: Control | None,
    ) -> None:
        self._control = control
        self._servers, self._ready, self._reload = servers, ready, reload
        self._manager, self._deadline = manager, deadline
        self._asked = asyncio.Event()

    async def run(self) -> None:
        started: list[Server] = []
        watch: asyncio.Task[None] | None = None
        try:
            if self._control is not None:
                await self._control.start(self._asked.set, self._reload_all)
            for server in self._servers:
                await server.start()
                started.append(server)
            self._handle_signals()
            if self._ready is not None:  # only now: the callee may stop the server at once
                self._ready()
            self._manager.ready("listening")
            if self._manager.watchdog_s:
                watch = asyncio.create_task(self._watch())
            await self._asked.wait()
        finally:
            if self._deadline is not None:
                self._deadline.begin()
            self._manager.stopping()
            await asyncio.gather(*(server.stop() for server in started))
            if watch is not None:
                watch.cancel()
            if self._control is not None:
                await self._control.close()

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        handlers: list[tuple[int, Callable[[], object]]] = [(signal.SIGTERM, self._asked.set)]
        if self._control is None:
            handlers.append((signal.SIGINT, self._asked.set))
            if hasattr(signal, "SIGHUP"):
                handlers.append((signal.SIGHUP, self._reload_all))
        for number, call in handlers:
            # not the main thread, or a system without signal handlers
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(number, call)
        take_hangups()

    def _reload_all(self) -> str:
        """Read again what can be read again. What cannot be used stays as it was. Returns what was
        done in words."""
        self._manager.reloading()
        said = []
        for server in self._servers:
            try:
                server.reload()
            except DoxaError as error:
                _LOG.error("reload: %s", error)
                said.append("a certificate was refused")
        if self._reload is not None:
            try:
                said.append(self._reload())
            except DoxaError as error:
                _LOG.error("reload: %s", error)
                said.append("the settings were refused")
        text = "; ".join(one for one in said if one) or "nothing changed"
        _LOG.warning("reload: %s", text)
        self._manager.ready(text)
        return text

    async def _watch(self) -> None:
        while True:
            self._manager.alive()
            await asyncio.sleep(self._manager.watchdog_s)


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    """Run a server on a separate thread: it listens when the block begins and stops at its end."""
    ready, problems = threading.Event(), list[BaseException]()
    loop = asyncio.new_event_loop()
    asked = asyncio.Event()

    async def run() -> None:
        try:
            await server.start()
        except BaseException as error:
            problems.append(error)
            return
        finally:
            ready.set()
        await asked.wait()
        await server.stop()

    def main() -> None:
        try:
            loop.run_until_complete(run())
        finally:
            left = asyncio.all_tasks(loop)  # of libraries, such as watchers of streams
            for task in left:
                task.cancel()
            if left:
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.close()

    thread = threading.Thread(target=main, name="server-loop", daemon=True)
    thread.start()
    ready.wait()
    if problems:
        thread.join()
        raise problems[0]
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(asked.set)
        thread.join()
