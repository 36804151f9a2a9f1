"""SHOW TRANSACTIONS and TERMINATE TRANSACTIONS over all workers of a server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from doxa.servers.prefork.channel import CallFailed
from doxa.servers.prefork.worker import Worker


class Transactions(Protocol):
    """The open transactions of one process (`query/core/open_transactions.py`)."""

    others: Any

    def number_in_steps(self, first: int, step: int) -> None: ...

    def listed_for(self, actor: str, role: Any) -> list[list[Any]]: ...

    def terminate_for(self, number: int, actor: str, role: Any) -> str | None: ...


class TransactionsElsewhere:
    """The transactions of the other workers. A worker that does not answer has none to show."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def listed(self, actor: str, role: str) -> Iterable[Sequence[Any]]:
        found = self._asked("transactions", actor, role)
        return [row for rows in found.values() for row in rows]

    def terminate(self, number: int, actor: str, role: str) -> str | None:
        found = self._asked("terminate", number, actor, role)
        return next((one for one in found.values() if one is not None), None)

    def _asked(self, name: str, *args: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = self._worker.calls.from_thread("others", name, *args)
        except CallFailed:
            return {}
        return found


def share_transactions(transactions: Transactions, worker: Worker) -> None:
    """Let a process know the transactions of the others, and the others its own."""
    transactions.number_in_steps(worker.number, worker.workers)
    transactions.others = TransactionsElsewhere(worker)
    worker.calls.answers("transactions", transactions.listed_for)
    worker.calls.answers("terminate", transactions.terminate_for)
