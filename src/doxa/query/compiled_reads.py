"""Reads that are one statement of SQL (`plan/compiled_read.py`), run for a session: with its
parameters, and noted for policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.query.core.access_log import named_parameters
from doxa.query.core.deadline import Deadline
from doxa.query.core.row import Row
from doxa.query.engine import Plan, QueryEngine
from doxa.query.plan.compiled_read import CompiledRead, Given
from doxa.query.result import GraphResult
from doxa.store import AccessRecord, Interrupted, Reader, Store
from doxa.store.declared import Declared
from doxa.store.file.engine import closed
from doxa.store.reader import few_rows


class CompiledReads:
    """The compiled reads of one session."""

    def __init__(
        self, store: Store, engine: QueryEngine, identity_parameters: Mapping[str, Any]
    ) -> None:
        self.store, self.engine = store, engine
        self._identity_parameters = identity_parameters
        self._identity_named: tuple[frozenset[str], dict[str, Any]] = frozenset(), {}

    def run(
        self,
        plan: Plan,
        given: Given,
        params: Mapping[str, Any],
        deadline: Deadline,
        reader: Reader | None = None,
    ) -> GraphResult | None:
        """Run a compiled read, on a snapshot that is open or as one statement of the engine; None
        if it has to run the general way."""
        try:
            if reader is None:
                rows = self._rows_once(plan, given, params, deadline)
            else:
                rows = self._compiled_rows(plan, reader, given, params, deadline)
        except Interrupted:
            deadline.raise_if_cancelled()
            raise closed(self.store.path) from None  # by another thread
        assert plan.steps is not None
        return None if rows is None else GraphResult(plan.steps.names, rows)

    def _rows_once(
        self, plan: Plan, given: Given, params: Mapping[str, Any], deadline: Deadline
    ) -> list[Row] | None:
        """Return the rows of a compiled read as one statement of the engine, which is its snapshot;
        None if it has to run the general way."""
        store = self.store
        known = store.known_declared()
        if known is not None:
            read = self.tracking_plan(plan, known).read
            if read is None:
                return None
            one = read.known(known, given[0])
            if one is not None:
                if not one.takes_its_turn():
                    return None
                now = store.clock.now_ns()
                found, is_current = store.rows_once(
                    one.sql, one.bind(given[1], now), stopped=deadline.is_over
                )
                if found is None:
                    one.put_aside()
                    return None
                if is_current:
                    return self._noted_rows(one, found, params, now)
        with store.read() as reader:
            return self._compiled_rows(plan, reader, given, params, deadline)

    def _compiled_rows(
        self,
        plan: Plan,
        reader: Reader,
        given: Given,
        params: Mapping[str, Any],
        deadline: Deadline,
    ) -> list[Row] | None:
        """Return the rows of a compiled read on a snapshot that is open."""
        declared = reader.declared()
        read = self.tracking_plan(plan, declared).read
        one = None if read is None else read.compiled(reader, declared, given)
        if one is None or not one.takes_its_turn():
            return None
        reader.watch(deadline.is_over)
        try:
            found = few_rows(reader.stream(one.sql, one.bind(given[1], reader.scored_at)))
        finally:
            reader.watch(None)
        if found is None:
            one.put_aside()
            return None
        return self._noted_rows(one, found, params, reader.now)

    def _noted_rows(
        self,
        one: CompiledRead,
        found: list[tuple[Any, ...]],
        params: Mapping[str, Any],
        now: int,
    ) -> list[Row] | None:
        """Return the rows, and note for policies which elements they are of."""
        rows = one.rows(found)
        if rows and one.projection is not None:
            named = self._named(params, one.declared.evaluator.parameters)
            ids = one.projection.ids_of_rows(found)
            self.store.note(AccessRecord(now, named, (), (), (ids,)))
        return rows

    def _named(self, params: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
        """Return the parameters that policies name: most often those of the identity alone."""
        if not names.isdisjoint(params):
            return named_parameters({**params, **self._identity_parameters}, names)
        known, named = self._identity_named
        if known is not names:
            named = named_parameters(self._identity_parameters, names)
            self._identity_named = names, named
        return named

    def tracking_plan(self, plan: Plan, declared: Declared) -> Plan:
        """Return the plan that records accesses if a policy may use them, and decay is not off."""
        about = declared.evaluator.about
        if about is None or self.store.read_only or not self.store.decay_enabled:
            return plan
        if plan.steps is None or not plan.steps.names:
            return plan
        return self.engine.tracking_plan(plan, about)
