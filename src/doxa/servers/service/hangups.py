"""SIGHUP asks a server to read its settings again, and would end the process before the server
listens for it. From the start of the command until then it waits at the system."""

from __future__ import annotations

import signal

_BLOCK = getattr(signal, "pthread_sigmask", None)  # none on Windows, which has no SIGHUP either


def hold_hangups() -> None:
    """Let SIGHUP wait. Threads and processes that are started meanwhile never get it."""
    if _BLOCK is not None:
        _BLOCK(signal.SIG_BLOCK, {signal.SIGHUP})


def take_hangups() -> None:
    """Take what waits, and what comes, with the handler that there is now."""
    if _BLOCK is not None:
        _BLOCK(signal.SIG_UNBLOCK, {signal.SIGHUP})
