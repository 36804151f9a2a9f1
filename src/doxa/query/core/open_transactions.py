"""The transactions that are open in this process on one file: who runs what since when.

Sessions open and close them; SHOW TRANSACTIONS and TERMINATE TRANSACTIONS read and end them. An
agent sees its own, an operator all. Transactions of other processes on the file are not known here.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from doxa.store import Identity


@dataclass(slots=True, eq=False)
class OpenTransaction:
    """One transaction: an explicit one, or a statement by itself."""

    number: int
    identity: Identity
    connection: str  # of the client; empty for a session in Python
    cancel: Callable[[], None]  # cancels its running statement; called from any thread
    started_ns: int
    statement: str = ""  # the last one, as it was sent
    statement_number: int = 0
    terminated: bool = False
    _started: float = field(default_factory=time.monotonic)

    @property
    def elapsed_ns(self) -> int:
        return int((time.monotonic() - self._started) * 1_000_000_000)


class OpenTransactions:
    """Open transactions by number. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[int, OpenTransaction] = {}
        self._numbers = itertools.count(1)
        self._statements = itertools.count(1)

    def open(
        self, identity: Identity, connection: str, cancel: Callable[[], None]
    ) -> OpenTransaction:
        """Note a transaction that begins."""
        with self._lock:
            made = OpenTransaction(
                next(self._numbers), identity, connection, cancel, time.time_ns()
            )
            self._open[made.number] = made
        return made

    def runs(self, transaction: OpenTransaction, text: str) -> None:
        """Note the statement that a transaction runs now."""
        transaction.statement_number = next(self._statements)
        transaction.statement = text

    def close(self, transaction: OpenTransaction) -> None:
        """Forget a transaction that has ended."""
        with self._lock:
            self._open.pop(transaction.number, None)

    def seen_by(self, identity: Identity) -> list[OpenTransaction]:
        """List what an identity may see: its own, and for an operator all, the oldest first."""
        with self._lock:
            every = list(self._open.values())
        return [
            one for one in every if identity.role != "agent" or one.identity.actor == identity.actor
        ]

    def terminate(self, transaction: OpenTransaction) -> None:
        """End a transaction: its running statement fails, or the next one does."""
        transaction.terminated = True
        transaction.cancel()
