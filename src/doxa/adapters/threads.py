"""How an asynchronous framework calls the synchronous session.

A read may be given up when the caller is cancelled. A write that has begun cannot be taken back, so
that it is awaited first: the caller never goes on, or starts again, while it may still commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def reading(call: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    """Run a call that only reads on a thread."""
    return await asyncio.to_thread(call, *args, **options)


async def writing(call: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    """Run a call that writes on a thread. A caller that is cancelled meanwhile is cancelled when
    the call has ended, however often it is cancelled."""
    task = asyncio.ensure_future(asyncio.to_thread(call, *args, **options))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is None:
        return task.result()
    task.exception()  # asked for: an exception that nobody reads is logged as lost
    raise cancelled
