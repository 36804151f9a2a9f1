"""What all requests together may hold: bodies until they are done, answers until they are sent. One
that would go beyond is told to come again."""

from __future__ import annotations

import threading

from doxa.servers.codes import STOPPING
from doxa.servers.http.errors import HttpError


class ByteBudget:
    """So many bytes for everybody. Any thread may ask."""

    def __init__(self, bytes_max: int) -> None:
        self.left = bytes_max
        self._lock = threading.Lock()

    def change(self, count: int) -> None:
        """Take bytes, or give them back (below 0). Raises HttpError where there are no more."""
        with self._lock:
            if count > self.left:
                raise HttpError(
                    "The server holds as much for its clients as it may.",
                    http=503,
                    next_step="Send the request again in a moment; read answers as they come.",
                    status=STOPPING,
                )
            self.left -= count


class BudgetShare:
    """What one request holds of the budget."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget, self._held = budget, 0

    def take(self, count: int) -> None:
        self._budget.change(count)
        self._held += count

    def release(self) -> None:
        self._budget.change(-self._held)
        self._held = 0
