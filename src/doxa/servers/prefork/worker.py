"""A worker process of a server: what it shares with the others, and how the supervisor reaches it.

supervisor ── first message: number, sockets, what to serve
           ── ping, reload; calls of other workers
           ── open, when all workers are ready, and to one that is ready later
worker     ── ready, once it can take clients; the calls of state.py; calls to other workers
end of the channel: the supervisor has ended, so that the worker stops in order
"""

from __future__ import annotations

import asyncio
import inspect
import socket
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from doxa.base.errors import DoxaError
from doxa.servers.prefork.channel import Channel, first_message
from doxa.servers.prefork.counters import Counter, CounterTable
from doxa.servers.sharing import Share

_LOOK_S = 0.25


class WorkerOrder(NamedTuple):
    """The order of a supervisor: the number of the worker among so many, the handles that it
    inherited, and what to serve."""

    number: int
    workers: int
    counters: int
    listeners: Mapping[str, Sequence[int]]
    plan: Mapping[str, Any]


class WorkerCalls:
    """Calls to the supervisor and to other workers."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.handlers: dict[str, Callable[..., Any]] = {}

    async def call(self, name: str, *args: Any) -> Any:
        return await self._channel.call(name, *args)

    async def ask(self, worker: int, name: str, *args: Any) -> Any:
        return await self._channel.call(name, *args, to=worker)

    async def ask_others(self, name: str, *args: Any) -> dict[int, Any]:
        found = await self._channel.call("others", name, *args)
        return {int(number): answer for number, answer in found.items()}

    def from_thread(self, name: str, *args: Any) -> Any:
        return self._channel.call_from_thread(name, *args)

    def answers(self, name: str, answer: Callable[..., Any]) -> None:
        self.handlers[name] = answer


class Worker(Share):
    """This process as one of several. It is the `Share` of its servers and the `Control` under
    which they are served."""

    def __init__(self, handle: int) -> None:
        """`handle` is this end of the channel to the supervisor."""
        self._line = socket.socket(fileno=handle)
        self.order = WorkerOrder(**first_message(self._line))
        self.number, self.workers = self.order.number, self.order.workers
        self._table = CounterTable(self.order.counters)
        self._channel = Channel(self._answer)
        self.calls: WorkerCalls = WorkerCalls(self._channel)
        self._tasks: list[asyncio.Task[None]] = []
        self._stop: Callable[[], None] = lambda: None
        self._is_open = False
        self._opening: list[Callable[[], None]] = []

    def listeners(self, interface: str) -> Sequence[socket.socket] | None:
        return [socket.socket(fileno=one) for one in self.order.listeners.get(interface, ())]

    def counter(self, name: str) -> Counter:
        return self._table.of(self.number, name)

    def when_open(self, start: Callable[[], None]) -> None:
        if self._is_open:
            start()
        else:
            self._opening.append(start)

    def _open(self) -> None:
        self._is_open = True
        opening, self._opening = self._opening, []
        for start in opening:
            start()

    # The control of its servers

    async def start(self, stop: Callable[[], None], reload: Callable[[], str]) -> None:
        self._stop = stop
        self.calls.answers("reload", reload)
        self.calls.answers("ping", lambda: True)
        self.calls.answers("open", self._open)
        await self._channel.open(self._line)
        self._tasks.append(asyncio.create_task(self._listen()))

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._channel.close()

    async def _listen(self) -> None:
        await self._channel.run()
        self._stop()  # the supervisor has ended

    async def _answer(self, name: str, args: list[Any], _to: int) -> Any:
        found = self.calls.handlers[name](*args)
        return await found if inspect.isawaitable(found) else found

    def ready(self, addresses: Mapping[str, str], path: str) -> None:
        """Say to the supervisor, and to the other workers, that this one can take clients."""
        serving = self.counter("serving")
        serving.add(1 - serving.mine)
        self._tasks.append(asyncio.create_task(self._say_ready(addresses, path)))

    async def _say_ready(self, addresses: Mapping[str, str], path: str) -> None:
        await self._channel.call("ready", dict(addresses), path)

    # Embedding, which the first worker does for all

    def written(self) -> None:
        """Note that something was written that may need a vector."""
        self.counter("written").add(1)

    def embed_when_written(self, embed: Callable[[], object]) -> None:
        """Call `embed`, on a thread, when any worker notes that it has written, and once now."""
        self._tasks.append(asyncio.create_task(self._follow(embed)))

    async def _follow(self, embed: Callable[[], object]) -> None:
        seen: int | None = None
        while True:
            now = self.counter("written").add(0)
            if now != seen:
                seen = now
                with suppress(DoxaError):  # such as a file that is busy: what follows asks again
                    await asyncio.to_thread(embed)
            await asyncio.sleep(_LOOK_S)
