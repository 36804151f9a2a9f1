"""Events from the command `doxa hook` to a server of the same memory file that runs already.

    doxa hook -> <memory file>-hooks/servers/<pid>.sock -> HookTool of the server
              <- the host's JSON, or nothing: then the command does it by itself

A host that starts a command for each event mostly runs the MCP server of doxa too. The server has
the memory open and its index and model loaded, which the command would wait for. One connection
carries one event: a line of JSON each way. Only the owner may enter the folder of the sockets.
Where there are no Unix sockets, or the path is too long for one, nothing listens. Standard library
alone.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doxa.base.limits import HOOK_INPUT_CHARS_MAX

if TYPE_CHECKING:
    import socketserver

_CONNECT_S, _ANSWER_S, _READ_S = 0.2, 5.0, 5.0
_PATH_BYTES_MAX = 100  # of the address of a Unix socket: 108 on Linux, 104 elsewhere
_ANSWER_BYTES_MAX = 65_536

Request = Mapping[str, Any]


def ask(hooks: Path, request: Request) -> str | None:
    """Return what a running server answers to an event; None if none does."""
    for path in _sockets(hooks):
        with suppress(OSError, ValueError):
            try:
                return _asked(path, request)
            except ConnectionRefusedError:  # its server was killed
                path.unlink(missing_ok=True)
    return None


def _sockets(hooks: Path) -> Iterator[Path]:
    """Yield the sockets of servers, the latest first."""
    if not hasattr(socket, "AF_UNIX"):
        return
    found = []
    with suppress(OSError):
        for entry in os.scandir(_folder(hooks)):
            with suppress(OSError):
                found.append((entry.stat().st_mtime_ns, entry.path))
    for _, path in sorted(found, reverse=True):
        yield Path(path)


def _folder(hooks: Path) -> Path:
    return hooks / "servers"


def _asked(path: Path, request: Request) -> str | None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_CONNECT_S)
        connection.connect(str(path))
        connection.settimeout(_ANSWER_S)
        connection.sendall(json.dumps(request).encode() + b"\n")
        parts, size = [], 0
        while size <= _ANSWER_BYTES_MAX and (part := connection.recv(65_536)):
            parts.append(part)
            size += len(part)
    answer = b"".join(parts)
    return answer[:-1].decode() if answer.endswith(b"\n") else None


class HookListener:
    """Answers events with `answer`, which returns the host's JSON, or None to leave the event to
    the command. What it raises leaves it too."""

    def __init__(self, hooks: Path, answer: Callable[[Request], str | None]) -> None:
        self._path = _folder(hooks) / f"{os.getpid()}.sock"
        self._answer = answer
        self._server: socketserver.ThreadingUnixStreamServer | None = None

    def start(self) -> None:
        """Listen, if sockets can be had here."""
        if not hasattr(socket, "AF_UNIX") or len(os.fsencode(self._path)) > _PATH_BYTES_MAX:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._path.parent.chmod(0o700)
            self._path.unlink(missing_ok=True)
            self._server = _listening(self._path, self._answer)
            threading.Thread(
                target=self._server.serve_forever, name="doxa-hook-relay", daemon=True
            ).start()

    def close(self) -> None:
        """Stop listening. Events that are being answered end by themselves."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._path.unlink(missing_ok=True)
            self._server = None


def _listening(
    path: Path, answer: Callable[[Request], str | None]
) -> socketserver.ThreadingUnixStreamServer:
    import socketserver  # what only asks does without

    class RelayHandler(socketserver.StreamRequestHandler):
        timeout = _READ_S

        def handle(self) -> None:
            with suppress(OSError):
                line = self.rfile.readline(HOOK_INPUT_CHARS_MAX)
                made = _answered(line, answer)
                if made is not None:
                    self.wfile.write(made.encode("utf-8", "replace") + b"\n")

    class RelayServer(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
        block_on_close = False

    return RelayServer(str(path), RelayHandler)


def _answered(line: bytes, answer: Callable[[Request], str | None]) -> str | None:
    try:
        request = json.loads(line)
        return answer(request) if isinstance(request, dict) else None
    except Exception:  # the command does it by itself, and notes what is wrong with the event
        return None
