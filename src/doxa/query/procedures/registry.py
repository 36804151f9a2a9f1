"""The registry of procedures: a signature and a function from arguments to rows for each name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from doxa.cypher.semantics.signatures import ProcedureSignature

Rows = Iterable[tuple[Any, ...]]


class RegisteredProcedure(NamedTuple):
    """`call(run, *arguments)` returns tuples in the order of the signature's results."""

    signature: ProcedureSignature
    call: Callable[..., Iterable[tuple[Any, ...]]]


class Registry:
    """Procedures by name, ignoring case."""

    def __init__(self, procedures: Iterable[RegisteredProcedure] = ()) -> None:
        self._found: dict[str, RegisteredProcedure] = {}
        for procedure in procedures:
            self.add(procedure)

    def add(self, procedure: RegisteredProcedure) -> None:
        self._found[procedure.signature.name.lower()] = procedure

    def find(self, name: str) -> RegisteredProcedure | None:
        return self._found.get(name.lower())

    def signature(self, name: str) -> ProcedureSignature | None:
        found = self.find(name)
        return None if found is None else found.signature

    def all(self) -> list[RegisteredProcedure]:
        return sorted(self._found.values(), key=lambda procedure: procedure.signature.name)
