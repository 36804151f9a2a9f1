"""A memory budget for all requests together: bodies until they are processed, responses until they
are sent. A request that would exceed it is rejected with 503."""

from __future__ import annotations

from doxa.servers.codes import STOPPING
from doxa.servers.http.errors import HttpError
from doxa.servers.prefork.counters import Counter, LocalCounter


class ByteBudget:
    """A number of bytes shared by all requests, those of other processes too. Thread-safe."""

    def __init__(self, bytes_max: int, held: Counter | None = None) -> None:
        self._bytes_max, self._held = bytes_max, held or LocalCounter()

    @property
    def left(self) -> int:
        """Return how many bytes may be taken."""
        return self._bytes_max - self._held.add(0)

    def change(self, count: int) -> None:
        """Take bytes, or return them (negative). Raises HttpError if not enough are left."""
        if self._held.add(count) > self._bytes_max and count > 0:
            self._held.add(-count)
            raise HttpError(
                "The memory budget of the server for requests is exhausted.",
                http=503,
                next_step="Retry the request later; read responses promptly.",
                status=STOPPING,
            )


class BudgetShare:
    """The part of the budget that one request uses."""

    def __init__(self, budget: ByteBudget) -> None:
        self._budget, self._held = budget, 0

    def take(self, count: int) -> None:
        """Take bytes from the budget. Raises HttpError."""
        self._budget.change(count)
        self._held += count

    def release(self) -> None:
        """Return all bytes to the budget."""
        self._budget.change(-self._held)
        self._held = 0
