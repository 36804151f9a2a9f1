"""A client connection: a socket read by the event loop and answered by a thread, with backpressure
in both directions.

    socket -> data_received -> handshake | Dechunker -> inbox -> [thread] Conversation.handle
           -> send -> socket
    RESET: Conversation.interrupt at once, then to the inbox like any message

Reading pauses while the inbox is full; the thread pauses while the output buffer is full. A client
that does not log in in time, or does not read its results, is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Protocol

from doxa.base.errors import DoxaError, LimitError
from doxa.base.limits import (
    BOLT_LOGIN_BYTES_MAX,
    BOLT_MESSAGE_BYTES_MAX,
    BOLT_OUTPUT_BYTES_MAX,
    BOLT_QUEUE_BYTES_MAX,
    BOLT_SEND_MS,
)
from doxa.servers.bolt.conversation import BoltState, Conversation, RequestInterrupted
from doxa.servers.bolt.framing import (
    HANDSHAKE_BYTES,
    MANIFEST,
    NO_VERSION,
    Dechunker,
    Version,
    manifest,
    manifest_choice,
    negotiate,
)
from doxa.servers.workers import Workers

_LOG = logging.getLogger("doxa.bolt")
_RESET = 0x0F
_CANCEL_AGAIN_S = 0.05
_WAKE = b""
_HIGH_WATER_BYTES = 262_144
_MESSAGE_BYTES = 128  # the overhead of a queued message


class Host(Protocol):
    """The server of a connection."""

    workers: Workers
    login_ms: int

    def admit(self, connection: BoltConnection) -> bool: ...

    def dismiss(self, connection: BoltConnection) -> None: ...

    def converse(self, connection: BoltConnection, version: Version) -> Conversation: ...


class BoltConnection(asyncio.Protocol):
    """One client. Methods run on the event loop unless noted otherwise."""

    def __init__(self, host: Host, number: int) -> None:
        self.number = number
        self.conversation: Conversation | None = None
        self.ended = threading.Event()  # set when the thread is done
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._receive: Callable[[bytes], None] = self._handshake
        self._start = b""
        self._dechunker = Dechunker(BOLT_LOGIN_BYTES_MAX)
        self._inbox: SimpleQueue[bytes | None] = SimpleQueue()
        self._cond = threading.Condition()
        self._queued = self._unsent = 0
        self._full = self._lost = self._reading_paused = False
        self._login_timer: asyncio.TimerHandle | None = None
        self._cancel_timer: asyncio.TimerHandle | None = None

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        if not self._host.admit(self):
            self.ended.set()
            transport.abort()
            return
        self._login_timer = self._loop.call_later(self._host.login_ms / 1000, self._login_late)

    def data_received(self, data: bytes) -> None:
        self._receive(data)

    def eof_received(self) -> bool:
        return False

    @property
    def logged_in(self) -> bool:
        """Whether the client has logged in."""
        return self.conversation is not None and self.conversation.principal is not None

    def pause_writing(self) -> None:
        with self._cond:
            self._full = True

    def resume_writing(self) -> None:
        with self._cond:
            self._full = False
            self._cond.notify_all()

    def connection_lost(self, error: Exception | None) -> None:
        with self._cond:
            self._lost = True
            self._cond.notify_all()
        if self._login_timer is not None:
            self._login_timer.cancel()
        if self.conversation is None:
            self.ended.set()
        else:
            self.conversation.hang_up()
            self._inbox.put(None)
            if self._cancel_timer is None:
                self._cancel_again()
        self._host.dismiss(self)

    # Reading

    def _handshake(self, data: bytes) -> None:
        self._start += data
        if len(self._start) < HANDSHAKE_BYTES:
            if not b"\x60\x60\xb0\x17".startswith(self._start[:4]):
                self.abort()
            return
        try:
            version = negotiate(self._start[:HANDSHAKE_BYTES])
        except DoxaError:
            self.abort()
            return
        rest, self._start = self._start[HANDSHAKE_BYTES:], b""
        if version is None:
            self._write_now(NO_VERSION)
            self.hang_up()
        elif isinstance(version, Version):
            self._write_now(bytes((0, 0, version.minor, version.major)))
            self._begin(version, rest)
        else:
            assert version == MANIFEST
            self._write_now(manifest())
            self._receive = self._choose
            if rest:
                self._choose(rest)

    def _choose(self, data: bytes) -> None:
        self._start += data
        try:
            chosen = manifest_choice(self._start)
        except DoxaError:
            self.abort()
            return
        if chosen is not None:
            version, length = chosen
            rest, self._start = self._start[length:], b""
            self._begin(version, rest)

    def _begin(self, version: Version, rest: bytes) -> None:
        self.conversation = self._host.converse(self, version)
        self._receive = self._messages
        self._host.workers.start(self._work)
        if rest:
            self._messages(rest)

    def _messages(self, data: bytes) -> None:
        assert self.conversation is not None
        try:
            messages = self._dechunker.feed(data)
        except LimitError as error:
            _LOG.warning("bolt-%d: %s", self.number, error.message)
            self.abort()
            return
        for message in messages:
            if len(message) > 1 and message[1] == _RESET and message[0] & 0xF0 == 0xB0:
                self.conversation.interrupt()
                if self._cancel_timer is None:
                    self._cancel_again()
            with self._cond:
                self._queued += len(message) + _MESSAGE_BYTES
            self._inbox.put(message)
        if (
            self._queued > BOLT_QUEUE_BYTES_MAX
            and not self._reading_paused
            and self._transport is not None
        ):
            self._reading_paused = True
            self._transport.pause_reading()

    def _read_on(self) -> None:
        if self._reading_paused and not self._lost and self._transport is not None:
            self._reading_paused = False
            self._transport.resume_reading()

    def _cancel_again(self) -> None:
        """Cancel repeatedly until the conversation has noticed, because a statement may start right
        after a cancellation."""
        conversation = self.conversation
        self._cancel_timer = None
        if conversation is not None and conversation.interrupted and not self.ended.is_set():
            conversation.cancel()
            self._cancel_timer = self._loop.call_later(_CANCEL_AGAIN_S, self._cancel_again)

    def _login_late(self) -> None:
        if self.conversation is None:  # otherwise the conversation checks the deadline
            _LOG.info("bolt-%d: no login in time", self.number)
            self.abort()

    # Writing

    def _write_now(self, data: bytes) -> None:
        if self._transport is not None and not self._lost:
            self._transport.write(data)

    def _write(self, data: bytes) -> None:
        self._write_now(data)
        with self._cond:
            self._unsent -= len(data)
            if not self._full:
                self._cond.notify_all()

    def hang_up(self) -> None:
        """Send the pending output, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

    def wake(self) -> None:
        """Wake the thread so that it checks whether to stop."""
        self._inbox.put(_WAKE)

    # On the connection's thread

    def send(self, data: bytes) -> None:
        """Pass bytes to the event loop; blocks while the client does not read. Raises
        RequestInterrupted if the client is gone."""
        conversation = self.conversation
        assert conversation is not None
        with self._cond:
            ready = self._unsent < BOLT_OUTPUT_BYTES_MAX and not self._full
            if not ready:
                ready = self._cond.wait_for(
                    lambda: self._lost or (self._unsent < BOLT_OUTPUT_BYTES_MAX and not self._full),
                    timeout=BOLT_SEND_MS / 1000,
                )
            if not ready:
                _LOG.warning("bolt-%d: the client does not read", self.number)
                self._loop.call_soon_threadsafe(self.abort)
            if self._lost or not ready:
                raise RequestInterrupted
            self._unsent += len(data)
        self._loop.call_soon_threadsafe(self._write, data)

    def _work(self) -> None:
        conversation = self.conversation
        assert conversation is not None
        try:
            self._converse(conversation)
        except RequestInterrupted:
            pass
        except RuntimeError:
            if not self._loop.is_closed():
                _LOG.exception("bolt-%d: an unexpected error", self.number)
        finally:
            conversation.close()
            self.ended.set()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.hang_up)

    def _converse(self, conversation: Conversation) -> None:
        inbox, welcome = self._inbox, True
        while True:
            try:
                message = inbox.get(timeout=conversation.seconds_left())
            except Empty:
                conversation.expire()
                if conversation.done:
                    return
                continue
            if message is None:
                return
            if message is not _WAKE:
                with self._cond:
                    self._queued -= len(message) + _MESSAGE_BYTES
                    full = self._reading_paused and self._queued <= BOLT_QUEUE_BYTES_MAX // 2
                if full:
                    self._loop.call_soon_threadsafe(self._read_on)
                conversation.handle(message)
            if welcome and conversation.state is BoltState.READY:
                welcome = False
                self._dechunker.bytes_max = BOLT_MESSAGE_BYTES_MAX
            if conversation.done:
                conversation.flush()
                return
            if inbox.empty():
                conversation.flush()
                if conversation.stopping and conversation.idle:
                    return
