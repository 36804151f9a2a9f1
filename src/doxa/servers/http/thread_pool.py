"""Run blocking calls for an event loop on a limited number of threads, in order of arrival.

A caller who is named has half of the threads at most: the calls of one that wait, for writers or
for a commit, leave threads to the others. What is short is not counted: streams of events take a
thread for a moment at a time.

A cancelled waiter leaves the queue. A call that has started runs to its end on its thread, and only
then frees its slot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from doxa.servers.workers import Workers

Found = TypeVar("Found")


class _CallerShare:
    def __init__(self, threads: int) -> None:
        self.free, self.calls = asyncio.Semaphore(threads), 0


class ThreadPool:
    """Runs calls for coroutines, at most `threads_max` at a time. All methods are called from the
    event loop."""

    def __init__(self, name: str, threads_max: int) -> None:
        self._workers = Workers(name)
        self._free = asyncio.Semaphore(threads_max)
        self._each_max = max(1, threads_max // 2)
        self._shares: dict[str, _CallerShare] = {}  # of those who have calls now
        self.busy = 0

    async def run(
        self,
        call: Callable[[], Found],
        *,
        began: Callable[[], None] = lambda: None,
        caller: str = "",
    ) -> Found:
        """Run a call and return its result or raise its exception. `began` is called when it gets a
        thread; `caller` names who has a share of them."""
        share = self._shares.setdefault(caller, _CallerShare(self._each_max)) if caller else None
        try:
            if share is not None:
                share.calls += 1
                await share.free.acquire()
            try:
                await self._free.acquire()
            except BaseException:
                if share is not None:
                    share.free.release()
                raise
        except BaseException:
            self._leave(caller)
            raise
        self.busy += 1
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Found] = loop.create_future()

        def end(found: Any, error: BaseException | None) -> None:
            self.busy -= 1
            self._free.release()
            if share is not None:
                share.free.release()
            self._leave(caller)
            if ended.done():  # the waiter was cancelled
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
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, found, problem)

        try:
            began()
            self._workers.start(job)
        except BaseException as error:
            end(None, error)
        return await ended

    def _leave(self, caller: str) -> None:
        share = self._shares.get(caller)
        if share is not None:
            share.calls -= 1
            if not share.calls:
                del self._shares[caller]

    def close(self) -> None:
        """Stop every thread after its current call."""
        self._workers.close()
