"""CALL { } for each row, optionally in transactions of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from doxa.base.errors import DoxaError
from doxa.cypher import tree as t
from doxa.query.core.errors import fail, shown
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.exec.union import UnionStep

_BATCH_ROWS = 1_000  # as in Neo4j


def refuse_explicit_transaction() -> NoReturn:
    """Refuse CALL { } IN TRANSACTIONS in an explicit transaction. Client libraries look for the
    words "in an implicit transaction", and then send the statement by itself."""
    fail(
        "CALL { } IN TRANSACTIONS can only be executed in an implicit transaction, and this one is"
        " explicit.",
        kind="TransactionError",
        detail="Nested",
        hint="Send it by itself, without BEGIN.",
    )


class SubqueryStep:
    """Run CALL { … } for each row. Without columns, run it for its effect and pass the row on
    once."""

    def __init__(
        self, union: UnionStep, *, writes: bool, batch: t.Batch | None, batch_rows: Evaluate | None
    ) -> None:
        self.union = union
        self.writes = writes
        self.batch = batch
        self.batch_rows = batch_rows

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        if self.batch is not None:
            return self._batched(run, run.materialize(source), self.batch)
        if self.writes:
            return iter(
                run.materialize(
                    found for row in run.materialize(source) for found in self._one(run, row)
                )
            )
        return (found for row in source for found in self._one(run, row))

    def _batched(self, run: Run, rows: list[Row], batch: t.Batch) -> Iterator[Row]:
        """IN TRANSACTIONS: one transaction for each batch of rows. A failed batch is rolled back,
        the others are kept."""
        if run.batches is None:
            refuse_explicit_transaction()
        size = _BATCH_ROWS if self.batch_rows is None else self.batch_rows((), run)
        if type(size) is not int or size < 1:
            fail(
                f"A batch has at least one row, not {shown(size)}.",
                kind="ArgumentError",
                detail="InvalidArgumentValue",
            )
        stopped = False
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            found, error = ([], None) if stopped else self._batch(run, chunk, batch)
            if stopped or error is not None:
                nulls = (None,) * self.union.width
                found = [(*row, *nulls) for row in chunk]
            if batch.report is not None:
                status = {
                    "started": not stopped,
                    "committed": not stopped and error is None,
                    "transactionId": None,
                    "errorMessage": error,
                }
                found = [(*row, status) for row in found]
            yield from found
            stopped = stopped or (error is not None and batch.on_error == "BREAK")

    def _batch(self, run: Run, chunk: list[Row], batch: t.Batch) -> tuple[list[Row], str | None]:
        assert run.batches is not None
        try:
            found = [one for row in chunk for one in self._one(run, row)]
            run.batches.commit()
            return found, None
        except DoxaError as error:
            if batch.on_error == "FAIL":
                raise
            run.batches.abandon()
            return [], error.message

    def _one(self, run: Run, row: Row) -> Iterator[Row]:
        with run.outer(row):
            found = self.union.rows(run, iter((row,)))
            if not self.union.names:
                for _ in found:
                    pass
                yield row
                return
            if self.writes:
                yield from run.materialize(found)
            else:
                yield from found
