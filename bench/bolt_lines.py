"""Many clients of a Bolt server, cheap enough to share the machine with it.

One thread holds all sockets and sends bytes that were made before the clock started; of the answers
it reads only what kind they are. An official driver in Python would take as much of the machine as
the server that it measures.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from doxa.servers.bolt.framing import MAGIC, Dechunker
from doxa.servers.bolt.packstream import Packer, Unpacker, chunked

_SUCCESS, _FAILURE, _RECORD = 0x70, 0x7F, 0x71
_HELLO, _LOGON, _RUN, _PULL, _BEGIN, _COMMIT = 0x01, 0x6A, 0x10, 0x3F, 0x11, 0x12
_VERSIONS = bytes((0, 8, 8, 5)) + bytes(12)  # 5.8 down to 5.0
_MESSAGE_BYTES_MAX = 2**24
_WAIT_S = 60.0
Operation = tuple[tuple[bytes, int], ...]  # what is sent at once, and how many answers it has


class Failed(Exception):
    """What the server answered in place of success."""


class Driven(NamedTuple):
    """What the clients did: operations a second, and how long each took, in milliseconds."""

    per_s: float
    times_ms: list[float]


class Line:
    """One client's connection, logged in. An address is bolt://[user:password@]host:port."""

    def __init__(self, address: str) -> None:
        place = urlsplit(address)
        assert place.hostname and place.port, f"{place.hostname}:{place.port} is not an address"
        self.socket = socket.create_connection((place.hostname, place.port), timeout=_WAIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.sendall(MAGIC + _VERSIONS)
        if self.socket.recv(4)[3:] != b"\x05":
            raise Failed("the server does not speak Bolt 5")
        self._dechunker = Dechunker(_MESSAGE_BYTES_MAX)
        login: dict[str, Any] = {"scheme": "none"}
        if place.username:
            login = {
                "scheme": "basic",
                "principal": place.username,
                "credentials": place.password or "",
            }
        agent = {"user_agent": "bench/1", "bolt_agent": {"product": "bench/1"}}
        self.socket.sendall(_message(_HELLO, agent) + _message(_LOGON, login))
        self._succeeded(2)

    def read(self) -> int:
        """Return how many answers of success came, of those that are here."""
        return sum(message[1] == _SUCCESS for message in self._messages())

    def rows(self, text: str, params: dict[str, Any] | None = None) -> list[list[Any]]:
        """Run a statement and return its rows."""
        self.socket.sendall(b"".join(sent for sent, _ in alone(text, params or {})))
        found, left = [], 2
        while left:
            for message in self._messages():
                if message[1] == _RECORD:
                    found.append(Unpacker(message, lambda _, fields: fields).message()[1][0])
                left -= message[1] == _SUCCESS
        return found

    def close(self) -> None:
        self.socket.close()

    def _messages(self) -> list[bytes]:
        data = self.socket.recv(65_536)
        messages = list(self._dechunker.feed(data))
        bad = [message for message in messages if message[1] == _FAILURE]
        if bad or not data:
            said = Unpacker(bad[0], lambda _, fields: fields).message()[1] if bad else "it hung up"
            raise Failed(str(said))
        return messages

    def _succeeded(self, count: int) -> None:
        while count > 0:
            count -= self.read()


def alone(text: str, params: dict[str, Any], *, reads: bool = False) -> Operation:
    """A statement that commits by itself: one exchange."""
    extra = {"mode": "r"} if reads else {}
    return ((_message(_RUN, text, params, extra) + _message(_PULL, {"n": -1}), 2),)


def in_transaction(text: str, params: dict[str, Any]) -> Operation:
    """The same in a transaction as drivers make it: three exchanges."""
    run = _message(_RUN, text, params, {}) + _message(_PULL, {"n": -1})
    return ((_message(_BEGIN, {}), 1), (run, 2), (_message(_COMMIT), 1))


def drive(lines: Sequence[Line], operations: Iterator[Operation], seconds: float) -> Driven:
    """Keep every line busy with the next operation for so many seconds, and wait for the last
    answers."""
    times: list[float] = []
    clock = time.perf_counter
    start = clock()
    busy: dict[Line, tuple[Iterator[tuple[bytes, int]], float, int]] = {}
    with selectors.DefaultSelector() as waiting:
        for line in lines:
            waiting.register(line.socket, selectors.EVENT_READ, line)
            busy[line] = _sent(line, iter(next(operations)), clock())
        while busy:
            if not (ready := waiting.select(_WAIT_S)):
                raise Failed(f"{len(busy)} clients have had no answer for {_WAIT_S:.0f} s")
            for key, _ in ready:
                line = key.data
                steps, since, left = busy[line]
                left -= line.read()
                if left:
                    busy[line] = steps, since, left
                    continue
                if (step := next(steps, None)) is not None:
                    line.socket.sendall(step[0])
                    busy[line] = steps, since, step[1]
                    continue
                now = clock()
                times.append((now - since) * 1_000)
                if now < start + seconds:
                    busy[line] = _sent(line, iter(next(operations)), now)
                else:
                    del busy[line]
                    waiting.unregister(line.socket)
    return Driven(len(times) / (clock() - start), times)


def _sent(
    line: Line, steps: Iterator[tuple[bytes, int]], now: float
) -> tuple[Iterator[tuple[bytes, int]], float, int]:
    data, answers = next(steps)
    line.socket.sendall(data)
    return steps, now, answers


def _message(tag: int, *fields: object) -> bytes:
    return chunked(Packer({}).structure(tag, *fields))
