"""CALL of a procedure: its arguments checked, its columns appended to the row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doxa.query.core.errors import fail, shown, type_name
from doxa.query.core.row import Row
from doxa.query.core.run import Run
from doxa.query.core.step import Evaluate
from doxa.query.procedures.registry import RegisteredProcedure


class ProcedureStep:
    """Call a procedure for each row and append the requested columns. A procedure without results
    passes the row on."""

    def __init__(
        self,
        procedure: RegisteredProcedure,
        args: list[Evaluate] | None,
        columns: list[int],
        *,
        revealed: bool = False,
    ) -> None:
        """`revealed`: reveal() is called on a column, so that a search also finds hidden
        elements."""
        self.procedure, self.args, self.columns, self.revealed = procedure, args, columns, revealed

    def rows(self, run: Run, source: Iterator[Row]) -> Iterator[Row]:
        signature = self.procedure.signature
        for row in run.materialize(source) if signature.writes else source:
            if self.args is None:
                values = [run.parameter(name) for name, _ in signature.args]
            else:
                values = [arg(row, run) for arg in self.args]
            values = [
                _fitting(value, kind, name)
                for value, (name, kind) in zip(values, signature.args, strict=False)
            ]
            found = (
                self._revealing(run, values) if self.revealed else self.procedure.call(run, *values)
            )
            if not signature.results:
                for _ in found:
                    pass
                yield row
                continue
            for result in found:
                run.tick()
                yield (*row, *[result[column] for column in self.columns])

    def _revealing(self, run: Run, values: list[Any]) -> list[tuple[Any, ...]]:
        before, run.revealing = run.revealing, True
        try:
            return list(self.procedure.call(run, *values))
        finally:
            run.revealing = before


_KINDS = {
    "INTEGER": ("INTEGER",),
    "FLOAT": ("FLOAT",),
    "NUMBER": ("INTEGER", "FLOAT"),
    "STRING": ("STRING",),
    "BOOLEAN": ("BOOLEAN",),
    "MAP": ("MAP", "NODE", "RELATIONSHIP"),
    "NODE": ("NODE",),
    "RELATIONSHIP": ("RELATIONSHIP",),
    "LIST": ("LIST",),
}


def _fitting(value: Any, kind: str, name: str) -> Any:
    """Convert the argument to its declared type; integers are accepted for floats."""
    base = kind.rstrip("?").strip().upper().partition("<")[0].partition(" ")[0]
    if value is None or base not in _KINDS:
        return value
    if base == "FLOAT" and type(value) is int:
        return float(value)
    if type_name(value) not in _KINDS[base]:
        fail(
            f"The argument {name} takes {kind}, not {shown(value)}.",
            kind="TypeError",
            detail="InvalidArgumentType",
        )
    return value
