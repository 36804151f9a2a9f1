"""What a store asks if its log is shared with other servers (doxa.replication): a transaction is
then committed there before it is committed in the file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from doxa.store.transaction import Transaction


class SharedTurn(Protocol):
    """One transaction of this store in the order of all servers."""

    def commit(self, tx: Transaction) -> None:
        """Make a finished transaction durable in the shared log, before the file commits. An
        exception means that it is not to be committed in the file."""
        ...

    def end(self) -> None:
        """Let others write; from any thread, more than once."""
        ...


class SharedWrites(Protocol):
    def begin(self, stopped: Callable[[], bool] | None) -> SharedTurn:
        """Wait for the right to write, and bring the file to the head of the shared log. Raises
        BusyError and UnreachableError."""
        ...

    def before_read(self) -> None:
        """Bring the file as far as the reader asks, before a snapshot is opened."""
        ...

    def reach(self, tx: int, timeout_s: float) -> bool:
        """Wait for a transaction, and bring the file to the head. False if nothing was new, so that
        the caller should pause. Raises UnreachableError."""
        ...

    def reading(self, level: str) -> AbstractContextManager[None]:
        """Read at a level in the block, in this thread."""
        ...

    def take_lease(self, name: str, *, held: int, ttl_ns: int) -> int: ...

    def lease_until(self, name: str) -> int:
        """Return until when somebody holds a lease, in ns; 0 if nobody does. Raises
        UnreachableError."""
        ...
