"""A client connection: one thread reads its socket, answers and writes, so that no message is
handed from one thread to another.

    socket -> recv -> handshake | Dechunker -> Conversation.handle -> send -> socket
    while a statement runs long: look, on the event loop -> Dechunker -> inbox
                                 a RESET or the end of the socket: Conversation.interrupt at once

The event loop looks only at connections whose thread is busy for longer than BUSY_S. It reads no
more than BOLT_QUEUE_BYTES_MAX ahead; a client that does not read its results blocks its own thread
in `send`. Threads with something to do take the slot of the server (base/run_slot.py), unless
others may wait for their transaction. A client that does not log in in time, or does not read, is
disconnected.
"""

from __future__ import annotations

import logging
import socket
import ssl
import struct
import threading
import time
from collections import deque
from contextlib import suppress
from math import ceil, inf
from typing import Protocol

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import (
    BOLT_LOGIN_BYTES_MAX,
    BOLT_MESSAGE_BYTES_MAX,
    BOLT_QUEUE_BYTES_MAX,
    BOLT_SEND_MS,
)
from doxa.base.run_slot import ANY, ProcessorBinding, RunSlot, leave_run_slot, runnable_s
from doxa.servers.bolt.conversation import Conversation, RequestInterrupted
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
from doxa.servers.bolt.messages import BoltState

BUSY_S = 0.02  # after which the event loop looks at the socket of a busy thread

_LOG = logging.getLogger("doxa.bolt")
_RESET = 0x0F
_WAIT_STEP_S = 0.05
_READ_BYTES = 65_536
_CLOSE_S = 1
_LAST_READS = 16
_MESSAGE_BYTES = 128  # the overhead of a queued message


class _Gone(Exception):
    """The client is gone, or is to go."""


class Host(Protocol):
    """The server of a connection."""

    login_ms: int
    watching: bool
    slot: RunSlot

    def watch(self) -> None:
        """Look at busy connections now and then; may be called from any thread."""

    def dismiss(self, connection: BoltConnection) -> None: ...

    def converse(self, connection: BoltConnection, version: Version) -> Conversation: ...


class BoltConnection:
    """One client. Methods run on the connection's thread unless noted otherwise."""

    def __init__(
        self, host: Host, number: int, client: socket.socket, tls: ssl.SSLContext | None
    ) -> None:
        self.number = number
        self.conversation: Conversation | None = None
        self.ended = threading.Event()  # set when the thread is done
        self.aborted = False
        self._host = host
        self._socket = client
        self._tls = tls
        self._login_by = time.monotonic() + host.login_ms / 1000
        self._dechunker = Dechunker(BOLT_LOGIN_BYTES_MAX)
        self._inbox: deque[bytes] = deque()
        self._queued = 0
        # Held while the socket is read ahead, and while TLS is used: its state is one for reading
        # and writing.
        self._lock = threading.Lock()
        self._busy_since = 0.0  # 0 while the thread waits for the client
        self._finished = False  # the client sends no more, as the event loop saw
        self._wait_s: float | None = -1.0
        self._due: float | None = None  # when to `expire` if no message is complete; None: never
        self._binding: ProcessorBinding | None = None  # of the thread
        self._thread = 0
        # The message that the event loop saw a bound thread with last, when, and its time so far
        self._seen = (0.0, 0.0, 0.0)

    # From the event loop

    @property
    def logged_in(self) -> bool:
        """Whether the client has logged in."""
        return self.conversation is not None and self.conversation.principal is not None

    def abort(self) -> None:
        """Close at once: whatever the thread waits for on the socket ends."""
        self.aborted = True
        self._shut(socket.SHUT_RDWR)
        if self.conversation is not None:
            self.conversation.hang_up()

    def refuse(self) -> None:
        """Close a connection that no thread serves."""
        self._socket.close()
        self.ended.set()

    def wake(self) -> None:
        """End the wait of a thread that is to stop and has nothing open."""
        conversation = self.conversation
        if not self._busy_since and conversation is not None and conversation.idle:
            self._shut(socket.SHUT_RD)

    def _shut(self, how: int) -> None:
        """Shut the socket down, for the thread that waits for it. That of TLS would go on in clear
        text after its own `shutdown`, if the thread has a message in hand."""
        with suppress(OSError):
            socket.socket.shutdown(self._socket, how)

    def look(self, now: float) -> bool:
        """Return whether the thread is busy. If it has been for some time, read what the client
        sent meanwhile: a RESET or the end of the socket cancels what runs, again and again until
        the conversation has noticed, because a statement may start right after."""
        busy, conversation = self._busy_since, self.conversation
        if not busy or conversation is None:
            return False
        if now - busy < BUSY_S:
            return True
        binding = self._binding
        if binding is not None and binding.processor != ANY:
            self._free_if_running(binding, busy, now)
        if self._lock.acquire(blocking=False):
            try:
                if self._busy_since and self._queued <= BOLT_QUEUE_BYTES_MAX:
                    self._read_ahead(conversation)
            finally:
                self._lock.release()
        if conversation.interrupted and not self.ended.is_set():
            conversation.cancel()
        return True

    def _free_if_running(self, binding: ProcessorBinding, busy: float, now: float) -> None:
        """Let a thread use any processor that has run since the last look, or wanted to, and did
        not wait for the slot or for a lock."""
        if self._host.slot.awaited_by(self._thread):
            return
        time_s = runnable_s(binding.thread_id)
        before, at, time_before_s = self._seen
        self._seen = busy, now, time_s
        if before == busy and time_s - time_before_s >= (now - at) / 2:
            self._host.slot.free(binding)

    def _read_ahead(self, conversation: Conversation) -> None:
        if self._finished:
            return
        try:
            if isinstance(self._socket, ssl.SSLSocket):
                self._socket.settimeout(0)
                try:
                    data = self._socket.recv(_READ_BYTES)
                finally:
                    self._wait_s = -1.0
                    self._socket.settimeout(BOLT_SEND_MS / 1000)
            else:
                data = self._socket.recv(_READ_BYTES, socket.MSG_DONTWAIT)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            data = b""
        try:
            if data:
                self._feed(conversation, data)
                return
        except LimitError as error:
            _LOG.warning("bolt-%d: %s", self.number, error.message)
        self._finished = True
        conversation.hang_up()

    # On the connection's thread

    def work(self) -> None:
        """Serve the client until either side ends it."""
        self._thread, self._binding = threading.get_ident(), ProcessorBinding()
        try:
            self._serve()
        except (_Gone, RequestInterrupted, OSError):  # OSError: the socket is gone; ssl.SSLError
            pass
        except InputError:  # it does not speak Bolt
            pass
        except LimitError as error:
            _LOG.warning("bolt-%d: %s", self.number, error.message)
        except Exception:
            _LOG.exception("bolt-%d: an unexpected error", self.number)
        finally:
            leave_run_slot()
            if self._binding is not None:
                self._binding.end()
                self._binding = None
            if self.conversation is not None:
                self.conversation.close()
            self._hang_up()
            self._host.dismiss(self)
            self.ended.set()

    def _serve(self) -> None:
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        seconds, micros = divmod(BOLT_SEND_MS * 1000, 1_000_000)
        self._socket.setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", seconds, micros)
        )
        if self._tls is not None:
            self._socket.settimeout(self._host.login_ms / 1000)
            self._socket = secured = self._tls.wrap_socket(
                self._socket, server_side=True, do_handshake_on_connect=False
            )
            secured.do_handshake()
        version, rest = self._greet()
        conversation = self.conversation = self._host.converse(self, version)
        if self.aborted:  # before there was a conversation to hang up
            raise _Gone
        if rest:
            self._feed(conversation, rest)
        self._converse(conversation)

    def _greet(self) -> tuple[Version, bytes]:
        """Return the version that is spoken, and what the client sent after the handshake."""
        start = b""
        while len(start) < HANDSHAKE_BYTES:
            start += self._receive_start()
            if not b"\x60\x60\xb0\x17".startswith(start[:4]):
                raise _Gone
        version = negotiate(start[:HANDSHAKE_BYTES])
        rest = start[HANDSHAKE_BYTES:]
        if version is None:
            self._socket.sendall(NO_VERSION)
            raise _Gone
        if isinstance(version, Version):
            self._socket.sendall(bytes((0, 0, version.minor, version.major)))
            return version, rest
        assert version == MANIFEST
        self._socket.sendall(manifest())
        while (chosen := manifest_choice(rest)) is None:
            rest += self._receive_start()
        return chosen[0], rest[chosen[1] :]

    def _receive_start(self) -> bytes:
        left = self._login_by - time.monotonic()
        data = self._receive(left) if left > 0 else None
        if not data:
            if data is None:
                _LOG.info("bolt-%d: no login in time", self.number)
            raise _Gone
        return data

    def _converse(self, conversation: Conversation) -> None:
        inbox, welcome = self._inbox, True
        while True:
            if not inbox:
                conversation.flush()
                if (conversation.stopping and conversation.idle) or not self._read(conversation):
                    return
                if conversation.done:
                    return
                continue
            with self._lock:
                message = inbox.popleft()
                self._queued -= len(message) + _MESSAGE_BYTES
            conversation.handle(message)
            if welcome and conversation.state is BoltState.READY:
                welcome = False
                self._dechunker.bytes_max = BOLT_MESSAGE_BYTES_MAX
            if conversation.done:
                conversation.flush()
                return

    def _read(self, conversation: Conversation) -> bool:
        """Wait for bytes of the client, and queue the messages that they complete. Return whether
        there may be more."""
        with self._lock:
            if self._inbox:  # what the event loop read meanwhile
                return True
            if self._finished:
                return False
            self._busy_since = 0.0
        leave_run_slot()
        left, now = conversation.seconds_left(), time.monotonic()
        due = None if left is None else min(now + left, self._due or inf)
        data = self._receive(None if due is None else max(0.0, due - now))
        if data:
            self._feed(conversation, data)
        elif data is not None:
            return False
        if not self._inbox:  # nothing came, or a part of a message, or a no-op
            late = due is not None and due <= time.monotonic()
            self._due = None if late else due
            if late or data is None:
                conversation.expire()
            return True
        self._due = None
        self._busy_since = time.monotonic()
        if not self._host.watching:
            self._host.watch()
        if self._binding is not None:
            self._host.slot.bind(self._binding)
        if not conversation.may_be_waited_for:  # others cannot go on before this one has
            self._host.slot.take()
        return True

    def _feed(self, conversation: Conversation, data: bytes) -> None:
        for message in self._dechunker.feed(data):
            if len(message) > 1 and message[1] == _RESET and message[0] & 0xF0 == 0xB0:
                conversation.interrupt()
            self._queued += len(message) + _MESSAGE_BYTES
            self._inbox.append(message)

    def _receive(self, seconds: float | None) -> bytes | None:
        """Return bytes of the client, empty at its end, None if none came in time."""
        client = self._socket
        if seconds is not None:  # in steps, so that the option seldom changes
            seconds = max(1, ceil(seconds / _WAIT_STEP_S)) * _WAIT_STEP_S
        if isinstance(client, ssl.SSLSocket):
            client.settimeout(seconds)
        elif seconds is None:
            try:  # under the limit that a transaction left: most clients send sooner
                return client.recv(_READ_BYTES)
            except BlockingIOError:
                self._limit_wait(None)
        elif seconds != self._wait_s:
            self._limit_wait(seconds)
        try:
            return client.recv(_READ_BYTES)
        except (BlockingIOError, TimeoutError, ssl.SSLWantReadError):
            return None

    def _limit_wait(self, seconds: float | None) -> None:
        """Set for how long the system waits for bytes of the client; None: without a limit."""
        whole, part = divmod(0 if seconds is None else int(seconds * 1_000_000), 1_000_000)
        limit = struct.pack("ll", whole, part)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        self._wait_s = seconds

    def send(self, data: bytes) -> None:
        """Write to the client; blocks while it does not read. Raises RequestInterrupted if the
        client is gone or does not read in time."""
        try:
            if isinstance(self._socket, ssl.SSLSocket):
                with self._lock:
                    self._socket.settimeout(BOLT_SEND_MS / 1000)
                    self._socket.sendall(data)
            else:
                self._socket.sendall(data)
        except (BlockingIOError, TimeoutError):
            _LOG.warning("bolt-%d: the client does not read", self.number)
            self._lose()
            raise RequestInterrupted from None
        except OSError:
            self._lose()
            raise RequestInterrupted from None

    def _lose(self) -> None:
        self._finished = True
        if self.conversation is not None:
            self.conversation.hang_up()
        self._shut(socket.SHUT_RDWR)

    def _hang_up(self) -> None:
        """Close. What was sent is delivered first: a socket that is closed with bytes that nobody
        read is reset, and its client may lose the last answer."""
        with suppress(OSError, ValueError):  # ValueError: there was no handshake
            if isinstance(self._socket, ssl.SSLSocket):
                self._socket.settimeout(_CLOSE_S)
                self._socket = self._socket.unwrap()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            for _ in range(_LAST_READS):
                if not socket.socket.recv(self._socket, _READ_BYTES, socket.MSG_DONTWAIT):
                    break
        self._socket.close()
