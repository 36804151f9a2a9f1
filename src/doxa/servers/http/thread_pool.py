"""Blocking work beside an event loop: a few threads at a time, first come, first served.

Who gives up waiting leaves the line; what has begun goes on to its end on its thread, and only then
is its place free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from doxa.servers.workers import Workers

Found = TypeVar("Found")


class ThreadPool:
    """Runs calls for coroutines, at most `threads_max` at once. Every method belongs to the event
    loop."""

    def __init__(self, name: str, threads_max: int) -> None:
        self._workers = Workers(name)
        self._free = asyncio.Semaphore(threads_max)
        self.busy = 0

    async def run(
        self, call: Callable[[], Found], *, began: Callable[[], None] = lambda: None
    ) -> Found:
        """What the call returns or raises. `began` is told when it has a thread."""
        await self._free.acquire()
        self.busy += 1
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Found] = loop.create_future()

        def end(found: Any, error: BaseException | None) -> None:
            self.busy -= 1
            self._free.release()
            if ended.done():  # nobody waits for it any more
                return
            if error is None:
                ended.set_result(found)
            else:
                ended.set_exception(error)

        def job() -> None:
            found, problem = None, None
            try:
                found = call()
            except BaseException as error:
                problem = error
            with suppress(RuntimeError):  # the loop has ended before
                loop.call_soon_threadsafe(end, found, problem)

        began()
        self._workers.start(job)
        return await ended

    def close(self) -> None:
        """Let every thread end when its call has."""
        self._workers.close()
