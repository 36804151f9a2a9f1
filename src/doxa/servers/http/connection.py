"""A client connection with timeouts for requests that do not arrive and responses that are not
read.

The HTTP library parses requests and writes responses, without time limits for the client. A
connection may be idle for a while between requests; the head of a request must arrive in time
(`app.py` limits the body); a response must be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count

from uvicorn.protocols.http.h11_impl import H11Protocol

from doxa.base.limits import HTTP_HEAD_MS, HTTP_SEND_MS

NUMBERS = count()


class HttpConnection(H11Protocol):
    """The protocol of the library with timers."""

    number = 0  # the smaller, the longer it has been idle
    on_lost: Callable[[], None] | None = None
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.number = next(NUMBERS)
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        self.number = next(NUMBERS)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(HTTP_SEND_MS / 1000, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._unread = _stopped(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        self._late, self._unread = _stopped(self._late), _stopped(self._unread)
        if self.on_lost is not None:
            self.on_lost()
        super().connection_lost(exc)

    @property
    def idle(self) -> bool:
        """Whether no request is being processed."""
        return self.cycle is None or self.cycle.response_complete

    def _watch(self) -> None:
        """Run a timer from the first byte of a request, or the start of the connection, until the
        head is complete."""
        if not self.idle:
            self._late = _stopped(self._late)
        elif self._late is None and not self.transport.is_closing():
            self._late = self.loop.call_later(HTTP_HEAD_MS / 1000, self._hang_up)

    def _hang_up(self) -> None:
        self._late = None
        if self.idle:
            self.transport.abort()


def _stopped(timer: asyncio.TimerHandle | None) -> asyncio.TimerHandle | None:
    if timer is not None:
        timer.cancel()
    return None
