"""How a synchronous call is awaited."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def on_thread(call: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    """Run a call on a thread."""
    import asyncio  # a synchronous user does not pay for it

    return await asyncio.to_thread(call, *args, **options)
