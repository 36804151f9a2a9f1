"""Calls between the supervisor and a worker, over a pair of sockets: each side may call the other.

    {"call": 7, "name": "rate", "args": ["ana"], "to": 0}     a call; `to` names another worker
    {"answer": 7, "value": 0.0}                               or {"answer": 7, "error": "..."}

A message is its length in four bytes and JSON. The end of the socket means that the other process
has ended: calls that wait then fail.
"""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from typing import Any

from doxa.base.errors import StoreError

CALL_S = 5.0
_HEAD_BYTES = 4
_BYTES_MAX = 2**28
_LOG = logging.getLogger("doxa.serve")

Answerer = Callable[[str, list[Any], int], Awaitable[Any]]


class CallFailed(StoreError):
    """Another process of the server did not answer, or answered with an error."""


def _unanswered(why: str) -> CallFailed:
    return CallFailed(
        f"Another process of this server did not answer: {why}.", next_step="Try again in a second."
    )


class Channel:
    """One end. All methods run on the event loop, `call_from_thread` on another thread."""

    def __init__(self, answer: Answerer) -> None:
        """`answer` is called for each call of the other side: its name, arguments, and `to`."""
        self._answer = answer
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._writer: asyncio.StreamWriter | None = None
        self._reader: asyncio.StreamReader | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def open(self, line: socket.socket) -> None:
        line.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._reader, self._writer = await asyncio.open_unix_connection(sock=line)

    async def run(self) -> None:
        """Answer calls until the other side has ended."""
        assert self._reader is not None
        with suppress(OSError, asyncio.IncompleteReadError, ValueError):
            while True:
                head = await self._reader.readexactly(_HEAD_BYTES)
                message = json.loads(await self._reader.readexactly(int.from_bytes(head)))
                if "answer" in message:
                    self._end(message)
                else:
                    task = asyncio.create_task(self._answered(message))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
        self.close()

    async def call(self, name: str, *args: Any, to: int = 0, timeout_s: float = CALL_S) -> Any:
        """Call the other side, or another worker through it. Raises CallFailed."""
        if self._writer is None:
            raise _unanswered("it has ended")
        self._number += 1
        number = self._number
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"call": number, "name": name, "args": args, "to": to})
            return await asyncio.wait_for(future, timeout_s)
        except TimeoutError:
            raise _unanswered(f"{name} took longer than {timeout_s:g} s") from None
        finally:
            self._waiting.pop(number, None)

    def begin(self, message: dict[str, Any]) -> None:
        """Send what the other side reads with `first_message` before anything else."""
        self._send(message)

    def call_from_thread(self, name: str, *args: Any, to: int = 0) -> Any:
        """Call from a thread that is not the event loop's. Raises CallFailed."""
        loop = self._loop
        if loop is None or loop.is_closed():
            raise _unanswered("this process is stopping")
        asked = self.call(name, *args, to=to)
        try:
            waiting = asyncio.run_coroutine_threadsafe(asked, loop)
        except RuntimeError:  # the loop was closed just now
            asked.close()
            raise _unanswered("this process is stopping") from None
        try:
            return waiting.result(CALL_S + 1)
        except FutureTimeoutError:
            waiting.cancel()
            raise _unanswered("this process is stopping") from None

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_unanswered("it has ended"))

    def _send(self, message: dict[str, Any]) -> None:
        if self._writer is None:
            raise _unanswered("it has ended")
        data = json.dumps(message).encode()
        if len(data) > _BYTES_MAX:
            raise _unanswered("the answer is too long")
        self._writer.write(len(data).to_bytes(_HEAD_BYTES) + data)

    def _end(self, message: dict[str, Any]) -> None:
        future = self._waiting.get(message["answer"])
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(_unanswered(message["error"]))
        else:
            future.set_result(message["value"])

    async def _answered(self, message: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"answer": message["call"]}
        try:
            reply["value"] = await self._answer(message["name"], message["args"], message["to"])
        except Exception as error:
            if not isinstance(error, CallFailed):
                _LOG.error("%s between processes: %s", message["name"], type(error).__name__)
            reply["error"] = str(error)
        with suppress(CallFailed, OSError):
            self._send(reply)


def first_message(line: socket.socket) -> dict[str, Any]:
    """Read what the other side sent with `Channel.begin`. Raises ConnectionError at its end."""
    length = int.from_bytes(_exactly(line, _HEAD_BYTES))
    found: dict[str, Any] = json.loads(_exactly(line, length))
    return found


def _exactly(line: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = line.recv(count - len(data))
        if not part:
            raise ConnectionError("the other process has ended")
        data += part
    return data
