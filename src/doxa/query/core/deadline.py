"""The timeout and the cancellation of one statement.

Rows of work, SQL statements and waits for the write lock all check it.
"""

from __future__ import annotations

import time
from typing import NoReturn

from doxa.base.limits import QUERY_TIMEOUT_MS
from doxa.query.core.errors import fail

_TICKS_PER_CHECK = 1_024


class Deadline:
    """The deadline of one statement. Any thread may set `cancelled`."""

    __slots__ = ("_deadline", "_ticks", "_timeout_ms", "cancelled")

    def __init__(self, timeout_ms: int = QUERY_TIMEOUT_MS) -> None:
        self.cancelled = False
        self._timeout_ms = timeout_ms
        self._deadline = time.monotonic() + timeout_ms / 1000
        self._ticks = 0

    def cancel(self) -> None:
        """Cancel the statement."""
        self.cancelled = True

    def tick(self) -> None:
        """Count a row of work and check the deadline every 1,024 rows."""
        self._ticks += 1
        if self._ticks >= _TICKS_PER_CHECK:
            self._ticks = 0
            self.raise_if_cancelled()

    def raise_if_cancelled(self) -> None:
        """Raise QueryError if the statement was cancelled or has timed out."""
        if self.cancelled:
            terminated()
        if time.monotonic() > self._deadline:
            fail(
                f"The query ran longer than {self._timeout_ms:,} ms.",
                kind="TransactionError",
                detail="TimedOut",
                hint="Narrow it, or raise the timeout.",
            )

    def is_over(self) -> bool:
        """Return whether to stop. SQLite and waits for the write lock call this and then fail;
        `raise_if_cancelled` gives the reason."""
        return self.cancelled or time.monotonic() > self._deadline


def terminated() -> NoReturn:
    """Raise the error of a statement that was cancelled, or whose transaction was terminated."""
    fail("The query was cancelled.", kind="TransactionError", detail="Terminated")
