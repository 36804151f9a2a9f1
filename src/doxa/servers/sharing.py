"""What a server shares with other processes that serve the same memory at the same addresses.

A server that runs alone has a `Share` of its own, with nothing in it; a worker of `doxa serve
--workers` has that of `prefork/worker.py`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from doxa.servers.prefork.counters import Counter, LocalCounter

_LOG = logging.getLogger("doxa.serve")
_LEAVE_S = 0.002
# Processes begin to accept within some time of each other; for the first second, those that waited
# are left to the others for longer.
_LEAVE_FIRST_S, _FIRST_S = 0.1, 1.0
_ACCEPT_AGAIN_S = 1.0


class Calls(Protocol):
    """Calls to the supervisor and to the other workers. Every call may raise CallFailed."""

    async def call(self, name: str, *args: Any) -> Any:
        """Call the supervisor."""

    async def ask(self, worker: int, name: str, *args: Any) -> Any:
        """Call another worker."""

    async def ask_others(self, name: str, *args: Any) -> dict[int, Any]:
        """Call all other workers, and return the answers of those that answer, by number."""

    def from_thread(self, name: str, *args: Any) -> Any:
        """Call the supervisor from a thread that is not the event loop's."""

    def answers(self, name: str, answer: Callable[..., Any]) -> None:
        """Answer what other workers ask under a name, on the event loop."""


class Share:
    """What a server that runs alone shares with others: nothing."""

    number = 0  # of the worker, from 1; 0: there are no workers
    workers = 1
    calls: Calls | None = None

    def listeners(self, interface: str) -> Sequence[socket.socket] | None:
        """Return the listening sockets of an interface, None to open them."""
        return None

    def counter(self, name: str) -> Counter:
        """Return a number that is counted over all processes."""
        return LocalCounter()

    def when_open(self, start: Callable[[], None]) -> None:
        """Call `start` when clients may come: once all processes can take them."""
        start()

    def part(self, whole: int) -> int:
        """Return the part of this process in a number that is divided among all, at least 1."""
        return max(1, whole // self.workers)


class Acceptor:
    """Accepts the connections of listening sockets, which other processes may share.

    A process that has more connections than another one leaves a new connection to it for two
    milliseconds, and accepts it if it is still there. So connections that live long, as those of a
    driver's pool do, are spread evenly, and a process that hangs keeps nobody waiting. Those that
    come while processes start wait until all have.
    """

    def __init__(
        self,
        listeners: Sequence[socket.socket],
        take: Callable[[socket.socket], None],
        counter: Counter,
        *,
        at_once: int,
        share: Share,
    ) -> None:
        """`take` gets each accepted socket; at most `at_once` are accepted without a look at the
        loads of others, with which it has `share`."""
        self._listeners = list(listeners)
        self._take, self._counter, self._at_once = take, counter, at_once
        self._loop = asyncio.get_running_loop()
        self._opened = 0.0
        for listener in self._listeners:
            listener.setblocking(False)
        share.when_open(self._open)

    def _open(self) -> None:
        self._opened = self._loop.time()
        for listener in self._listeners:
            self._watch(listener)

    def close(self) -> None:
        """Accept nothing more."""
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            self._loop.remove_reader(listener)
            listener.close()

    def _accept(self, listener: socket.socket, *, waited: bool = False) -> None:
        if not waited and self._counter.mine > self._counter.least():
            is_first = self._loop.time() < self._opened + _FIRST_S
            seconds = _LEAVE_FIRST_S if is_first else _LEAVE_S
            self._pause(listener, seconds, self._take_what_is_left)
            return
        for _ in range(self._at_once):
            try:
                client, _ = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:  # such as too many open files
                _LOG.warning("a client cannot be accepted: %s", error)
                self._pause(listener, _ACCEPT_AGAIN_S, self._watch)
                return
            self._take(client)

    def _pause(
        self, listener: socket.socket, seconds: float, then: Callable[[socket.socket], None]
    ) -> None:
        self._loop.remove_reader(listener)
        self._loop.call_later(seconds, then, listener)

    def _take_what_is_left(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            self._watch(listener)
            self._accept(listener, waited=True)

    def _watch(self, listener: socket.socket) -> None:
        if listener in self._listeners:
            self._loop.add_reader(listener, self._accept, listener)


def in_background(work: Awaitable[object], kept: set[asyncio.Task[None]]) -> None:
    """Run a call between processes that nobody waits for. `kept` holds it until it has ended."""

    async def run() -> None:
        with suppress(Exception):
            await work

    task = asyncio.create_task(run())
    kept.add(task)
    task.add_done_callback(kept.discard)
