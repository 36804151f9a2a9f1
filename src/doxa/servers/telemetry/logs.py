"""The log of a server as JSON lines: one for each call, with the numbers of its changes, and one
for each warning.

    {"time": "2026-06-01T12:00:00.123456Z", "level": "info", "logger": "doxa.calls",
     "message": "http remember ok", "interface": "http", "verb": "remember", "outcome": "ok",
     "ms": 3.1, "login": "ana", "role": "agent", "database": "doxa", "changes": [42],
     "trace_id": ""}

`doxa log --after 41` shows what a change did. Nothing that was sent or answered is in it. Where
there are several workers, each line has the number of its own.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

from doxa.servers.telemetry.calls import CallRecord

_CALL = ("interface", "verb", "outcome", "login", "role", "database", "changes", "trace_id")


class JsonLines(logging.Formatter):
    """Formats a record of the log as one line of JSON."""

    def __init__(self, worker: int = 0) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC)
        said: dict[str, Any] = {
            "time": time.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self._worker:
            said["worker"] = self._worker
        call = getattr(record, "call", None)
        if isinstance(call, CallRecord):
            said |= {name: getattr(call, name) for name in _CALL}
            said["ms"] = call.milliseconds
            if call.code:
                said["code"] = call.code
        if record.exc_info:
            kind, _, trace = record.exc_info  # its text may quote what was sent
            said["error"] = "" if kind is None else kind.__name__
            said["traceback"] = "".join(traceback.format_tb(trace))
        return json.dumps(said, ensure_ascii=False, default=str)


def log_as_json(worker: int = 0) -> None:
    """Write the log of doxa to standard error as JSON lines, calls included."""
    _log_with(JsonLines(worker), logging.INFO)


def log_as_text(worker: int) -> None:
    """Write warnings to standard error, each with the number of the worker before it."""
    _log_with(logging.Formatter(f"worker {worker}: %(message)s"), logging.WARNING)


def _log_with(formatter: logging.Formatter, level: int) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logger = logging.getLogger("doxa")
    logger.handlers[:] = [handler]
    logger.setLevel(level)
    logger.propagate = False
