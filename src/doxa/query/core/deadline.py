"""How long a statement may go on: its timeout, and whether it was told to end. Asked by its rows,
by SQL underneath, and while it waits to write."""

from __future__ import annotations

import time

from doxa.base.limits import QUERY_TIMEOUT_MS
from doxa.query.core.errors import fail

_TICKS_PER_CHECK = 1_024


class Deadline:
    """The time of one statement, from when it is made. `cancelled` may be set from any thread."""

    __slots__ = ("_deadline", "_ticks", "_timeout_ms", "cancelled")

    def __init__(self, timeout_ms: int = QUERY_TIMEOUT_MS) -> None:
        self.cancelled = False
        self._timeout_ms = timeout_ms
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._ticks = 0

    def tick(self) -> None:
        """Called for every row of work: looks now and then whether to go on."""
        self._ticks += 1
        if self._ticks >= _TICKS_PER_CHECK:
            self._ticks = 0
            self.raise_if_cancelled()

    def raise_if_cancelled(self) -> None:
        """Raise if the statement was cancelled or has taken too long."""
        if self.cancelled:
            fail("The query was cancelled.", kind="TransactionError", detail="Terminated")
        if time.monotonic() > self._deadline:
            fail(
                f"The query ran longer than {self._timeout_ms:,} ms.",
                kind="TransactionError",
                detail="TimedOut",
                hint="Narrow it, or raise the timeout.",
            )

    def is_over(self) -> bool:
        """Whether to end: asked from inside of a long SQL statement or a wait, which then fails,
        and `look` says why."""
        return self.cancelled or time.monotonic() > self._deadline
