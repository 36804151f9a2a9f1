"""What all servers that listen on an address share: the security requirements, TLS, and running
until stopped.

    serve(server, server)              on this thread, until SIGINT or SIGTERM
    with running(server): ...          on a separate thread, for tests and notebooks

Secure by default: an address that other machines can reach requires a login, and TLS unless the
connection is encrypted by other means.
"""

from __future__ import annotations

import asyncio
import signal
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from doxa.base.errors import InputError
from doxa.base.hosts import is_loopback

BACKLOG = 128


class Server(Protocol):
    """A server on an event loop."""

    async def start(self) -> None:
        """Start to listen. Raises StoreError if the address is in use or not available."""

    async def stop(self) -> None:
        """Accept no more clients, wait a while for running requests, then end them."""


AnyServer = TypeVar("AnyServer", bound=Server)


def tls_context(certificate: str | Path | None, key: str | Path | None) -> ssl.SSLContext:
    """Create a context for TLS 1.2 or newer with this certificate chain and key (PEM). Raises
    InputError if they cannot be used."""
    if not certificate or not key:
        raise InputError(
            "TLS requires a certificate and its key.",
            next_step="Give the paths of both, in PEM.",
            field="certificate",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
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


def serve(*servers: Server, ready: Callable[[], None] | None = None) -> None:
    """Serve on this thread until SIGINT or SIGTERM, then stop in order. `ready` is called when all
    servers listen."""

    async def run() -> None:
        started: list[Server] = []
        try:
            for server in servers:
                await server.start()
                started.append(server)
            asked = asyncio.Event()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                # not the main thread, or a system without signal handlers
                with suppress(NotImplementedError, RuntimeError, ValueError):
                    loop.add_signal_handler(number, asked.set)
            if ready is not None:  # only now: the callee may stop the server at once
                ready()
            await asked.wait()
        finally:
            await asyncio.gather(*(server.stop() for server in started))

    asyncio.run(run())


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
