"""The last resort of a stop: a process that has not ended in time ends without its remaining steps.

Nothing that was acknowledged is lost by that: a commit is durable before it is acknowledged, and
what was open is rolled back by the next opening.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable

from doxa.base.limits import SERVE_STOP_MS

LATE_EXIT = 1


def _end() -> None:
    sys.stderr.write(
        f"doxa: stopping took longer than {SERVE_STOP_MS // 1000} s; what was left is rolled back,"
        " nothing that was acknowledged is lost\n"
    )
    sys.stderr.flush()
    os._exit(LATE_EXIT)


class StopDeadline:
    """Ends the process `after_ms` after `begin`, unless the block that it is entered for has been
    left before, in whichever way."""

    def __init__(self, after_ms: int = SERVE_STOP_MS, *, end: Callable[[], None] = _end) -> None:
        self._timer = threading.Timer(after_ms / 1000, end)
        self._timer.daemon = True
        self._begun = False

    def begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._timer.start()

    def __enter__(self) -> StopDeadline:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
