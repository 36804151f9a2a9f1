"""The threads of an HTTP server: nobody who waits takes all of them."""

from __future__ import annotations

import asyncio
import threading

import pytest

from doxa.servers.http.thread_pool import ThreadPool


def test_a_caller_whose_calls_wait_leaves_half_of_the_threads_to_others() -> None:
    may_end = threading.Event()

    async def run() -> None:
        pool = ThreadPool("test", 4)
        waiting = [
            asyncio.create_task(pool.run(lambda: may_end.wait(30), caller="ana")) for _ in range(10)
        ]
        await asyncio.sleep(0.05)
        assert pool.busy == 2
        for caller in ("ben", "", "cid"):
            assert await asyncio.wait_for(pool.run(lambda: 1, caller=caller), 20) == 1
        waiting[-1].cancel()  # one that has no thread yet
        waiting[0].cancel()  # one that has: its thread goes on, and counts
        await asyncio.sleep(0.05)
        assert pool.busy == 2
        may_end.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert found[1:-1] == [True] * 8
        while pool.busy:
            await asyncio.sleep(0.01)
        assert await pool.run(lambda: 2, caller="ana") == 2 and not pool._shares
        pool.close()

    asyncio.run(asyncio.wait_for(run(), 60))


def test_an_error_of_a_call_gives_its_share_back() -> None:
    def fails() -> None:
        raise ZeroDivisionError

    async def run() -> None:
        pool = ThreadPool("test", 2)
        for _ in range(5):
            with pytest.raises(ZeroDivisionError):
                await pool.run(fails, caller="ana")
        assert not pool._shares and not pool.busy
        pool.close()

    asyncio.run(asyncio.wait_for(run(), 60))
