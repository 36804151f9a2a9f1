"""Run what a host would start, for a limited time. When the time is over, it ends with what it has
started itself, so that a program that does not answer holds nobody up."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

_ENDING_S = 5  # for a server to end by itself when its input does
Call = Callable[[str, Mapping[str, Any]], Any]


def run(
    words: Sequence[str], given: str, environ: Mapping[str, str], limit_s: float
) -> tuple[int, str, str]:
    """Run a command; returns its code, output and errors. Raises OSError, or TimeoutExpired when
    the time is over."""
    process = _started(words, environ, subprocess.PIPE)
    try:
        printed, errors = process.communicate(given, timeout=limit_s)
    finally:
        _kill(process)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
    return process.returncode, printed, errors


@contextmanager
def server(words: Sequence[str], environ: Mapping[str, str], limit_s: float) -> Iterator[Call]:
    """Start a server that speaks over its input and output, for calls of its methods. Each raises
    OSError (TimeoutError: no answer in time) or ValueError."""
    process = _started(words, environ, subprocess.DEVNULL)
    writing, reading = process.stdin, process.stdout
    assert writing is not None and reading is not None
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(reading, lines), daemon=True)
    reader.start()
    number = 0

    def call(method: str, params: Mapping[str, Any]) -> Any:
        nonlocal number
        number += 1
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        writing.write(json.dumps(message) + "\n")
        writing.flush()
        found = _answer(lines, number, limit_s)
        if method == "initialize":
            writing.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        return found["result"]

    try:
        yield call
    finally:
        with suppress(OSError):
            writing.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_ENDING_S)
        _kill(process)
        reader.join(_ENDING_S)
        if not reader.is_alive():  # else a process that left the group has the other end
            reading.close()


def _started(
    words: Sequence[str], environ: Mapping[str, str], errors: int
) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603  # the words that were entered for the host
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        env=dict(environ),
        start_new_session=True,  # so that what it starts can be ended with it
    )


def _read(reading: TextIO, lines: queue.SimpleQueue[str]) -> None:
    with suppress(OSError, ValueError):
        for line in reading:
            lines.put(line)
    lines.put("")


def _answer(lines: queue.SimpleQueue[str], number: int, limit_s: float) -> dict[str, Any]:
    end = time.monotonic() + limit_s
    while True:
        try:
            line = lines.get(timeout=max(0.0, end - time.monotonic()))
        except queue.Empty:
            raise TimeoutError(f"it gave no answer within {limit_s:g} s") from None
        if not line:
            raise ValueError("it ended without an answer")
        found = json.loads(line)
        if isinstance(found, dict) and found.get("id") == number:
            return found


def _kill(process: subprocess.Popen[str]) -> None:
    """End a process and what it has started."""
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
