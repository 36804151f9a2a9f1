"""A server that answers every Bolt message with success and does nothing: what the messages alone
cost in Python. Run as a process, it prints its address."""

from __future__ import annotations

import selectors
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import PIPE, Popen

from doxa.servers.bolt.framing import Dechunker
from doxa.servers.bolt.packstream import Packer, chunked

_HANDSHAKE_BYTES, _VERSION = 20, bytes((0, 0, 8, 5))
_PULL = 0x3F
_SUCCESS = chunked(Packer({}).structure(0x70, {}))
_RECORD = chunked(Packer({}).structure(0x71, [1]))


@contextmanager
def echoing() -> Iterator[str]:
    """Such a server in a process of its own, and its address."""
    command = [sys.executable, "-m", "bench.bolt_echo"]
    process = Popen(command, stdout=PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _serve() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    sys.stdout.write(f"bolt://127.0.0.1:{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is listener:
                client, _ = listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.recv(_HANDSHAKE_BYTES, socket.MSG_WAITALL)
                client.sendall(_VERSION)
                waiting.register(client, selectors.EVENT_READ, Dechunker(2**24))
                continue
            line = key.fileobj
            assert isinstance(line, socket.socket)
            if data := line.recv(65_536):
                line.sendall(b"".join(map(_answer, key.data.feed(data))))
            else:
                waiting.unregister(line)
                line.close()


def _answer(message: bytes) -> bytes:
    return _RECORD + _SUCCESS if message[1] == _PULL else _SUCCESS


if __name__ == "__main__":
    _serve()
