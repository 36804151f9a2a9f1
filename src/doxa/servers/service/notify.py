"""Say to a service manager how the server is: ready, reloading, stopping, alive.

A message is a datagram to the socket that NOTIFY_SOCKET names; a name that begins with @ is an
abstract one. Without it nothing is sent. Source: sd_notify(3), sd_watchdog_enabled(3).
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress

_MICROSECONDS = 1_000_000


class ServiceManager:
    """The service manager that started this process, if one did. Sending never fails: a server
    serves whether or not anybody listens to its state."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        said = os.environ if environ is None else environ
        self._address = said.get("NOTIFY_SOCKET", "")
        self._watchdog_us = _whole(said.get("WATCHDOG_USEC", ""))
        if said.get("WATCHDOG_PID") not in (None, str(os.getpid())):
            self._watchdog_us = 0  # it watches another process

    @property
    def watchdog_s(self) -> float:
        """After how many seconds to say again that the server is alive; 0: nobody waits for it."""
        return self._watchdog_us / _MICROSECONDS / 2

    def ready(self, status: str) -> None:
        """Say that the server listens, and how it is in words."""
        self._send(f"READY=1\nSTATUS={_line(status)}")

    def reloading(self) -> None:
        """Say that the configuration is read again; `ready` follows."""
        self._send(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1_000}")

    def stopping(self) -> None:
        self._send("STOPPING=1\nSTATUS=stopping")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def _send(self, message: str) -> None:
        if not self._address.startswith(("/", "@")):
            return
        address = self._address
        if address.startswith("@"):
            address = "\0" + address[1:]
        with (
            suppress(OSError),
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line,
        ):
            line.sendto(message.encode(), address)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() else 0


def _line(text: str) -> str:
    return text.replace("\n", " ")
