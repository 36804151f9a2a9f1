"""Events over HTTP, as the WHATWG's server-sent events: GET, Accept: text/event-stream.

    id: 12:340
    event: revision.created
    data: {"id": "12:340", ...}

A client that reconnects sends Last-Event-ID, as browsers do by themselves, and gets what followed:
delivery is at least once without a cursor in the file. Between events a comment is sent every
HTTP_EVENT_HEARTBEAT_MS, after the login was checked again: a removed user's stream ends.

Source: HTML Living Standard, section "Server-sent events".
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from doxa.base.errors import DoxaError, InputError
from doxa.base.limits import EVENT_POLL_MS, HTTP_EVENT_HEARTBEAT_MS
from doxa.servers.contract import EventSource, StreamedEvent
from doxa.servers.http.errors import HttpError, errors_of
from doxa.servers.http.responses import encode
from doxa.servers.http.thread_pool import ThreadPool

MEDIA = "text/event-stream"
_TEXTS = ("project", "kind", "kref", "label", "since", "after")


def check_accepted(headers: Mapping[str, str]) -> None:
    """Raise HttpError if the client does not take events."""
    kinds = [part.partition(";")[0].strip() for part in headers.get("accept", "").split(",")]
    if not {"", "*/*", "text/*", MEDIA} & set(kinds):
        raise HttpError(
            "None of the accepted content types is supported.",
            http=406,
            next_step=f"Send Accept: {MEDIA}.",
        )


def event_options(given: Iterable[tuple[str, str]], headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of a stream: those of the URL, and where the client was. Raises InputError
    for one that does not exist."""
    found: dict[str, Any] = {"follow": True}
    for name, value in given:
        if name == "name":
            found.setdefault("names", []).append(value)
        elif name == "limit" and value.isdecimal() and len(value) < 16:
            found[name] = int(value)
        elif name in _TEXTS:
            found[name] = value
        else:
            raise InputError(
                f"Events have no option {name[:40]}={value[:40]}.",
                next_step=f"Use name, limit (a number), {', '.join(_TEXTS)}.",
                field=name[:40],
            )
    last = headers.get("last-event-id")
    if last:
        found.pop("since", None)
        found["after"] = last
    return found


class EventResponse(Response):
    """A response that ends when the client goes, the server stops, or the login is revoked."""

    def __init__(
        self,
        threads: ThreadPool,
        opened: Callable[[], EventSource],
        *,
        still_welcome: Callable[[], Awaitable[object]],
        ended: Callable[[], None],
        headers: Mapping[str, str],
    ) -> None:
        super().__init__(media_type=MEDIA, headers={**headers, "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._threads, self._opened = threads, opened
        self._still_welcome, self._ended = still_welcome, ended
        self._news, self._over = asyncio.Event(), False
        self._source: EventSource | None = None

    async def open(self) -> None:
        """Open the stream, so that what is wrong with the request is its answer."""
        source = self._source = await self._threads.run(self._opened)
        loop = asyncio.get_running_loop()

        def wake() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._news.set)

        source.on_news(wake)

    def end(self) -> None:
        self._over = True
        self._news.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(self._until_gone(receive))
        try:
            start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
            await send(start)
            await self._send_all(send)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            self._ended()
            if self._source is not None:
                self._source.close()

    async def _send_all(self, send: Send) -> None:
        loop = asyncio.get_running_loop()
        assert self._source is not None
        heard = checked = 0.0
        beat_s = HTTP_EVENT_HEARTBEAT_MS / 1000
        while not self._over:
            self._news.clear()
            try:
                found = await self._threads.run(self._source.take)
                if found is None:
                    return
                text = b"".join(map(_frame, found))
                if loop.time() - checked >= beat_s:
                    await self._still_welcome()
                    checked = loop.time()
                if not text and loop.time() - heard >= beat_s:
                    text = b": \n\n"
            except DoxaError as error:  # the stream has begun, so that its status is sent
                text = b"event: error\ndata: " + encode({"errors": errors_of(error)}) + b"\n\n"
                self._over = True
            if text:
                await send({"type": "http.response.body", "body": text, "more_body": True})
                heard = loop.time()
            if not found and not self._over:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._news.wait(), EVENT_POLL_MS / 1000)

    async def _until_gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.end()


def _frame(event: StreamedEvent) -> bytes:
    head = f"id: {event.id}\nevent: {event.name}\ndata: "
    return head.encode() + encode(event.as_dict()) + b"\n\n"
