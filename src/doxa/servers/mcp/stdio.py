"""Serve one agent over standard input and output.

The SDK drops a line that it cannot read as a message, and a host that waits for the answer waits
without end. Such a line is answered here with the error that JSON-RPC 2.0 (section 5.1) has for it,
under its id where that can be read; the other lines go on to the SDK.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from doxa.app import Memory, Session
from doxa.hosts.tool import HookTool
from doxa.servers.mcp.handshake import FirstLines
from doxa.servers.mcp.serving import build_server

# The id of a line that cannot be read as JSON, where it stands at the beginning.
_ID_FIRST = re.compile(
    r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*'
    r'(-?(?:0|[1-9][0-9]{0,17})|"[^"\\\x00-\x1f]{0,200}")\s*,'
)
_INT_DIGITS_MAX = 4_000  # Python refuses to convert longer ones


def serve_stdio(
    memory: Memory,
    session: Session,
    first: FirstLines,
    *,
    version: str,
    profile: str = "core",
    hooks: HookTool | None = None,
) -> None:
    """Serve until the client closes its end. `first` has read, and answered, what it sent until
    now."""

    async def run() -> None:
        server = build_server(session, version=version, profile=profile, hooks=hooks).sdk
        answers: asyncio.Queue[JSONRPCError] = asyncio.Queue()
        lines: Any = _messages(first, answers)

        async def answer() -> None:
            while True:
                await unanswered.send(SessionMessage(await answers.get()))

        async with stdio_server(stdin=lines) as (reading, writing):
            unanswered: Any = _Unanswered(writing, first)
            answering = asyncio.create_task(answer())
            try:
                await server.run(reading, unanswered, server.create_initialization_options())
            finally:
                answering.cancel()

    try:
        if hooks is not None:
            hooks.start()
        asyncio.run(run())
    finally:
        if hooks is not None:
            hooks.close()
        memory.close()


class _Unanswered:
    """The stream of answers without those to requests that were answered before the SDK was there:
    each has one answer. It begins when the last of those is written."""

    def __init__(self, stream: Any, first: FirstLines) -> None:
        self._stream, self._first = stream, first
        self._finished: asyncio.Future[None] | None = None  # one thread waits for all

    async def send(self, item: SessionMessage) -> None:
        if self._finished is None:
            self._finished = asyncio.ensure_future(asyncio.to_thread(self._first.finish))
        await asyncio.shield(self._finished)
        message, answered = item.message, self._first.answered
        if (
            answered
            and isinstance(message, (JSONRPCResponse, JSONRPCError))
            and message.id in answered
        ):
            answered.discard(message.id)
            return
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Unanswered:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.aclose()


async def _messages(first: FirstLines, answers: asyncio.Queue[JSONRPCError]) -> AsyncIterator[str]:
    """The lines that are messages; the others are answered."""
    while line := await anyio.to_thread.run_sync(first.next):
        error = problem(line)
        if error is None:
            yield line
        else:
            await answers.put(error)


def problem(line: str) -> JSONRPCError | None:
    """Return the answer to a line that is not a message; None for a message or a blank line."""
    if not line.strip():
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return _unread(line) if first["type"] == "json_invalid" else _misshapen(line, first["msg"])
    if isinstance(message, JSONRPCNotification) and "id" in json.loads(line):
        return _error(None, INVALID_REQUEST, "An id is a whole number or a text.")
    return None


def _unread(line: str) -> JSONRPCError:
    """The error for what the SDK does not read as JSON."""
    match = _ID_FIRST.match(line)
    identity = json.loads(match[1]) if match else None
    try:
        found = json.loads(line, parse_int=_read_int)
        reason = "a number has too many digits"
        json.dumps(found, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        reason = "a text has half of a surrogate pair; send whole characters"
    except RecursionError:
        reason = "it nests too deep"
    except ValueError as error:
        reason = str(error)
    return _error(identity, PARSE_ERROR, f"This line cannot be read as JSON: {reason}.")


def _misshapen(line: str, reason: str) -> JSONRPCError | None:
    """The error for JSON that is not a message; None for a notification or an answer, which nobody
    answers."""
    found = json.loads(line, parse_int=_read_int)
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, "A message of JSON-RPC 2.0 is an object.")
    answering = "method" not in found and not found.keys().isdisjoint(("result", "error"))
    if answering or ("id" not in found and "method" in found):
        return None
    text = f"This is not a request of JSON-RPC 2.0: {reason}."
    return _error(found.get("id"), INVALID_REQUEST, text)


def _read_int(digits: str) -> int | None:
    return int(digits) if len(digits) <= _INT_DIGITS_MAX else None


def _error(identity: object, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(
        jsonrpc="2.0",
        id=identity if type(identity) is int or isinstance(identity, str) else None,
        error=ErrorData(code=code, message=message),
    )
