"""Transactions as a statement needs them: one for which it waits until it is cancelled, and several
under one running query."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from types import TracebackType

from doxa.base.errors import BusyError
from doxa.query.core.deadline import Deadline
from doxa.query.core.graph import Graph
from doxa.store import Transaction


class CancellableWrite(AbstractContextManager[Transaction]):
    """A transaction, the wait for which may be cancelled."""

    def __init__(
        self, write: Callable[[], AbstractContextManager[Transaction]], deadline: Deadline
    ) -> None:
        self._write, self._deadline = write, deadline

    def __enter__(self) -> Transaction:
        try:
            self._held = self._write()
            return self._held.__enter__()
        except BusyError:
            self._deadline.raise_if_cancelled()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._held.__exit__(kind, error, trace)


class TransactionBatches:
    """Successive transactions under one running query."""

    def __init__(self, writer: Callable[[int | None], AbstractContextManager[Transaction]]) -> None:
        self._writer = writer
        self._scored_at: int | None = None  # one scoring time for the whole query
        self.graph: Graph | None = None

    def __enter__(self) -> TransactionBatches:
        self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.tx.verify_constraints()
        self._held.__exit__(kind, error, trace)

    def _begin(self) -> None:
        self._held = self._writer(self._scored_at)
        self.tx = self._held.__enter__()
        self._scored_at = self.tx.scored_at
        if self.graph is not None:
            self.graph.reader = self.tx
            self.graph.epoch += 1

    def commit(self) -> None:
        self.tx.verify_constraints()
        self._held.__exit__(None, None, None)
        self._begin()

    def abandon(self) -> None:
        with suppress(Abandoned):
            self._held.__exit__(Abandoned, Abandoned(), None)
        self._begin()


class Abandoned(Exception):
    """Makes the store's transaction roll back."""
