"""A session with the graph in Cypher: single statements, or several in one transaction.

All interfaces run their queries here.

    session.run("MATCH (n) RETURN n")
    a statement of its own: a snapshot if it reads, a transaction if it writes

    session.begin(); session.run(…); session.commit()

A session belongs to one thread at a time, like its transaction. A result streams from its snapshot.
When the session runs another statement, the rest of the result is first read into memory.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

from doxa.base.errors import ConstraintError, InputError, RoleError, StoreError
from doxa.base.limits import QUERY_TIMEOUT_MS, SHARED_WRITER_IDLE_MS, WRITER_IDLE_MS
from doxa.cypher import tree as t
from doxa.cypher.errors import QueryError
from doxa.query.compiled_reads import CompiledReads
from doxa.query.core.access_log import AccessLog
from doxa.query.core.deadline import Deadline, terminated
from doxa.query.core.errors import fail
from doxa.query.core.graph import COUNTERS, Graph
from doxa.query.core.open_transactions import OpenTransaction
from doxa.query.core.preview import NotForeseen, PreviewGraph
from doxa.query.core.profile import Profile
from doxa.query.core.run import Run
from doxa.query.core.valid_time import ValidTime, instant_ns
from doxa.query.deferred_writes import DeferredWrite, storable
from doxa.query.engine import Plan, QueryEngine, Result
from doxa.query.error_translation import translated_errors
from doxa.query.exec.subquery import refuse_explicit_transaction
from doxa.query.expressions.constants import evaluate_constant
from doxa.query.idle_watch import WATCH, Activity
from doxa.query.notifications import Notification, notifications_of, policy_notifications
from doxa.query.parameters import convert_parameters
from doxa.query.plan.compiled_read import Given
from doxa.query.plan.names_read import names_read
from doxa.query.result import GraphResult
from doxa.query.schema.commands import run_schema
from doxa.query.schema.policy_commands import POLICY_COMMANDS, run_policy
from doxa.query.schema.retention_commands import RETENTION_COMMANDS, run_retention
from doxa.query.transactions import Abandoned, CancellableWrite, TransactionBatches
from doxa.store import Identity, Reader, Store, Transaction
from doxa.store.file.engine import translated
from doxa.store.retention.horizon import require_kept, retained

_WHO = ("_session", "_agent", "_tenant", "_source")  # null unless set in the context


class _GivenParameters(dict[str, Any]):
    """Parameters as values of Cypher, with those of the identity."""


class GraphSession:
    """Statements under one identity. Use it from one thread at a time; any thread may call
    `cancel`."""

    def __init__(
        self,
        store: Store,
        engine: QueryEngine,
        identity: Identity,
        *,
        context: Mapping[str, Any] | None = None,
        csv_folder: str | None = None,
        timeout_ms: int = QUERY_TIMEOUT_MS,
        owner: Any = None,
        idle_ms: int = WRITER_IDLE_MS,
    ) -> None:
        """`idle_ms`: how long a transaction of several statements may hold the writer's turn
        without running one."""
        self.store, self.engine, self.identity = store, engine, identity
        self.context = dict(context or {})
        self._identity_parameters = dict.fromkeys(_WHO) | {
            f"_{name}": value for name, value in convert_parameters(self.context).items()
        }
        self._compiled = CompiledReads(store, engine, self._identity_parameters)
        self.csv_folder = csv_folder
        self.owner = owner  # passed to procedures of other packages
        self.timeout_ms = timeout_ms
        self._times: dict[str, int | None] = {"system": None, "valid": None}
        self._is_timed = False  # whether one of them is given
        self._open: GraphResult | None = None
        self._running: Deadline | None = None
        self._explicit = False
        self._held: AbstractContextManager[Reader] | AbstractContextManager[Transaction] | None = (
            None
        )
        self._reader: Reader | None = None
        self._read_only = False
        self._idle_ms = idle_ms
        self._activity: Activity | None = None  # of the explicit transaction
        self._first: str | None = None  # the text of the transaction's first statement, a read
        self._wrote = False
        self._deferred: DeferredWrite | None = None  # the first statement, which has not run yet
        self.connection = ""  # of the client, for SHOW TRANSACTIONS
        self._turn_began = 0.0  # of the explicit transaction
        self._noted: OpenTransaction | None = None  # the explicit transaction
        # the statement by itself whose rows are read as they are taken
        self._streamed: OpenTransaction | None = None
        self._begun = 0  # how many there were
        # the number of what the last unit of work committed, 0 if it wrote nothing
        self.written = 0

    @property
    def system_time(self) -> int | None:
        """The system time that statements read as of, in ns. Set it to any form that AS OF accepts,
        or to None for the present."""
        return self._times["system"]

    @system_time.setter
    def system_time(self, value: Any) -> None:
        self._time("system", value)

    @property
    def valid_time(self) -> int | None:
        """The valid time that statements read as of, in ns; set like `system_time`."""
        return self._times["valid"]

    @valid_time.setter
    def valid_time(self, value: Any) -> None:
        self._time("valid", value)

    def _time(self, name: str, value: Any) -> None:
        self._times[name] = _instant(value)
        self._is_timed = any(time is not None for time in self._times.values())

    def __enter__(self) -> GraphSession:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close()

    # Statements

    def run(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_ms: int | None = None,
        read_only: bool = False,
    ) -> GraphResult:
        """Run one statement. Raises QueryError; a failure inside a transaction ends it.
        `read_only`: refuse one that writes; a transaction has that from its beginning."""
        if not isinstance(text, str) or not (params is None or isinstance(params, Mapping)):
            raise InputError(
                "A statement is text, and its parameters are a map.",
                next_step='Call run("RETURN $x", {"x": 1}).',
                field="text",
            )
        if timeout_ms is not None and (type(timeout_ms) is not int or timeout_ms < 0):
            raise InputError(
                f"timeout_ms is a number of milliseconds, not {timeout_ms!r:.40}.",
                next_step="Give an integer from 0, or leave it out.",
                field="timeout_ms",
            )
        if not self._explicit:
            self.written, self._read_only = 0, read_only
            return self._run_noted(text, params or {}, timeout_ms)
        with self._working() as activity:
            result = self._run_noted(text, params or {}, timeout_ms)
            if self._open is result and isinstance(self._reader, Transaction):
                result.guard(activity.rows)
            return result

    def _run_noted(
        self, text: str, params: Mapping[str, Any], timeout_ms: int | None
    ) -> GraphResult:
        """Run a statement that SHOW TRANSACTIONS lists while it runs."""
        self._buffer_previous()
        deadline = self._running = Deadline(self.timeout_ms if timeout_ms is None else timeout_ms)
        noted = self._note(text, deadline)
        try:
            result = self._run(text, params, deadline, noted)
        except BaseException:
            if not self._explicit:
                self.engine.transactions.close(noted)
            raise
        if self._noted is None and self._open is not result:  # else when its rows are released
            self.engine.transactions.close(noted)
        return result

    def _note(self, text: str, deadline: Deadline) -> OpenTransaction:
        """Note the statement for SHOW TRANSACTIONS. Raises QueryError if its transaction was
        terminated."""
        transactions = self.engine.transactions
        noted = self._noted or transactions.open(self.identity, self.connection, deadline.cancel)
        if noted.terminated:
            self._end()
            terminated()
        transactions.runs(noted, text)
        return noted

    def _run(
        self,
        text: str,
        params: Mapping[str, Any],
        deadline: Deadline,
        noted: OpenTransaction,
    ) -> GraphResult:
        plan = self.engine.prepare(text, deadline.tick)
        read = None if self._is_timed else plan.read
        compared = None if read is None else read.given(params)
        if read is None or compared is None or len(params) != read.parameters_used:
            params = self._given(params)
        try:
            if self._explicit:
                # the transaction is held open by hand, so that its own translation sees no error
                with translated(self.store.path, self.store.connection()):
                    result = self._in_transaction(plan, params, compared, deadline)
            elif plan.writes:
                result = self._write(plan, params, deadline)
            else:
                found = (
                    None
                    if compared is None
                    else self._compiled.run(plan, compared, params, deadline)
                )
                if found is None and compared is not None:
                    params = self._given(params)
                result = found or self._read(plan, params, deadline, noted)
        except BaseException:
            self._end()
            raise
        result.plan = plan
        result.look_up = lambda: self._notices(plan)
        return result

    def _given(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parameters as values of Cypher; those of the identity take precedence."""
        if type(params) is _GivenParameters:
            return params
        return _GivenParameters(convert_parameters(params) | self._identity_parameters)

    def _notices(self, plan: Plan) -> list[Notification]:
        """Find notifications after the rows are consumed, so that names which the statement created
        are known."""
        if isinstance(plan.statement.body, POLICY_COMMANDS):
            with self.store.read() as reader:
                return policy_notifications(plan.statement.body, plan.text, Graph(reader))
        outline = plan.outline
        if (
            outline is None
            or outline.says_nothing
            or plan.statement.system_time is not None
            or self.system_time is not None
        ):
            return []
        if self._reader is not None:
            return notifications_of(outline, plan.text, Graph(self._reader))
        with self.store.read() as reader:
            return notifications_of(outline, plan.text, Graph(reader))

    def _buffer_previous(self) -> None:
        """Read the rest of the previous result into memory."""
        before, self._open = self._open, None
        if before is not None:
            before.buffer()

    def _read(
        self, plan: Plan, params: Mapping[str, Any], deadline: Deadline, noted: OpenTransaction
    ) -> GraphResult:
        held = self.store.read()
        reader = held.__enter__()

        def release() -> None:
            self._streamed = None
            self.engine.transactions.close(noted)
            held.__exit__(None, None, None)

        try:
            found = self._execute(plan, reader, params, deadline)
            result = GraphResult(found.columns, found, found.run, release, lists=found.lists)
        except BaseException:
            release()
            raise
        self._open, self._streamed = result, noted
        return result

    def _write(self, plan: Plan, params: Mapping[str, Any], deadline: Deadline) -> GraphResult:
        self._require_writable()
        if plan.batched:
            return self._write_in_batches(plan, params, deadline)
        brief, key = self.engine.brief_writes, hash(plan.text)
        shares = plan.steps is not None and brief.is_brief(key, unknown=True)
        with self._writer(deadline, shares=shares) as tx:
            began = time.monotonic()
            if plan.steps is None:
                return self._schema(plan, tx, params, deadline)
            result = self._execute(plan, tx, params, deadline)
            rows = result.collected
            tx.verify_constraints()
            brief.held(key, time.monotonic() - began)
        self._note_written(tx)
        return GraphResult(result.columns, rows, result.run)

    def _note_written(self, tx: Transaction) -> None:
        receipt = tx.receipt_made
        self.written = 0 if receipt is None else receipt.tx

    def _write_in_batches(
        self, plan: Plan, params: Mapping[str, Any], deadline: Deadline
    ) -> GraphResult:
        with TransactionBatches(lambda scored_at: self._writer(deadline, scored_at)) as batches:
            result = self._execute(plan, batches.tx, params, deadline, batches=batches)
        return GraphResult(result.columns, result.collected, result.run)

    def _in_transaction(
        self, plan: Plan, params: Mapping[str, Any], compared: Given | None, deadline: Deadline
    ) -> GraphResult:
        if self._deferred is not None:
            self._run_deferred(deadline)
        began, is_first = 0.0, self._reader is None
        if plan.writes:
            self._require_writable()
            if plan.batched:
                refuse_explicit_transaction()
            if is_first and plan.deferrable and self._may_defer(plan):
                foreseen = self._defer(plan, params, deadline)
                if foreseen is not None:
                    return foreseen
            self._upgrade_to_writer(deadline)
            began = time.monotonic()
        elif self._reader is None:
            if self._takes_turn(plan):
                self._upgrade_to_writer(deadline)
            else:
                self._held = self.store.read()
                self._reader = self._held.__enter__()
        if not self._wrote and self._first is None and not plan.writes:
            self._first = plan.text
        self._wrote |= plan.writes
        assert self._reader is not None
        if compared is not None:
            if not isinstance(self._reader, Transaction):
                found = self._compiled.run(plan, compared, params, deadline, self._reader)
                if found is not None:
                    return found
            params = self._given(params)
        if plan.steps is None and plan.statement.mode != "EXPLAIN":
            assert isinstance(self._reader, Transaction)
            return self._schema(plan, self._reader, params, deadline)
        result = self._execute(plan, self._reader, params, deadline)
        rows = result.collected if plan.writes else None
        if isinstance(self._reader, Transaction):
            self._reader.verify_constraints()
        if is_first and plan.deferrable and self.connection:
            key = self._deferred_as(plan)
            self.engine.deferrable_writes.took(key, time.monotonic() - began)
        if rows is not None and not rows:
            return GraphResult(result.columns, rows, result.run)
        taken = result if rows is None else rows
        lists = result.lists if rows is None else None
        made = GraphResult(result.columns, taken, result.run, lambda: None, self._end, lists=lists)
        self._open = made
        return made

    # The first statement of a transaction, if it waits for the commit (deferred_writes.py)

    def _may_defer(self, plan: Plan) -> bool:
        """Whether others wait for the turn, and a statement may wait for the commit."""
        return (
            self.connection != ""
            and self.engine.deferrable_writes.may_wait(self._deferred_as(plan))
            and self.store.has_writer
            and self.store.shared is None
            and not self.store.connection().in_transaction  # another session of this thread
        )

    def _deferred_as(self, plan: Plan) -> Hashable:
        return hash((plan.text, self.identity.role))

    def _defer(
        self, plan: Plan, params: Mapping[str, Any], deadline: Deadline
    ) -> GraphResult | None:
        """Answer what a statement will do at the commit; None if it has to run to know that."""
        counters = self._counted(plan, params, deadline) or self._previewed(plan, params, deadline)
        if counters is None:
            return None
        self._deferred = DeferredWrite(
            plan.text, params, counters, self._deferred_as(plan), deadline
        )
        self._wrote = True
        return GraphResult((), (), counters=counters)

    def _counted(
        self, plan: Plan, params: Mapping[str, Any], deadline: Deadline
    ) -> dict[str, int] | None:
        """Return what a statement does, if the number of its rows says it."""
        counted = self.engine.counted(plan)
        if counted is None or not storable(counted.values, params):
            return None
        given = counted.rows.given({name: params.get(name) for name in counted.parameters})
        if given is None:
            return None
        found = self._compiled.run(counted.plan, given, params, deadline)
        if found is None:
            return None
        return dict.fromkeys(COUNTERS, 0) | {"properties_set": found.single() * len(counted.values)}

    def _previewed(
        self, plan: Plan, params: Mapping[str, Any], deadline: Deadline
    ) -> dict[str, int] | None:
        """Return what a statement would do to a snapshot; None if that cannot be said."""
        with suppress(NotForeseen), self.store.read() as reader:
            graph = PreviewGraph(reader)
            run = self._run_on(graph, plan, params, deadline)
            with translated_errors(run):
                self.engine.start(plan, run)
            return dict(graph.counters)
        return None

    def _run_deferred(self, deadline: Deadline, *, brief: bool = False) -> None:
        """Take the turn and run the statement that was answered. `brief`: the commit follows.
        Raises QueryError if the statement does something else now."""
        waiting, self._deferred = self._deferred, None
        assert waiting is not None, "a statement was deferred"
        self._upgrade_to_writer(deadline, brief=brief)
        tx = self._reader
        assert isinstance(tx, Transaction), "it has the turn"
        try:
            result = self._execute(self.engine.prepare(waiting.text), tx, waiting.params, deadline)
            tx.verify_constraints()
            if result.counters != waiting.counters:
                fail(
                    "Another transaction changed what this one had found, before it was"
                    " committed; nothing was written.",
                    kind="TransientError",
                    detail="Outdated",
                    hint="Run the transaction again.",
                )
        except (QueryError, InputError, ConstraintError, RoleError):
            if not deadline.is_over():
                self.engine.deferrable_writes.failed(waiting.key)
            raise

    def _schema(
        self, plan: Plan, tx: Transaction, params: Mapping[str, Any], deadline: Deadline
    ) -> GraphResult:
        assert isinstance(plan.statement.body, t.Clause)
        run = Run(Graph(tx), params, now_ns=tx.now, deadline=deadline)
        run.text = plan.text
        with translated_errors(run):
            carry_out = (
                run_policy
                if isinstance(plan.statement.body, POLICY_COMMANDS)
                else run_retention
                if isinstance(plan.statement.body, RETENTION_COMMANDS)
                else run_schema
            )
            run.graph.counters.update(
                carry_out(
                    plan.statement.body, tx, lambda expression: evaluate_constant(expression, run)
                )
            )
            tx.follow_policies()
        return GraphResult((), (), run)

    def _writer(
        self, deadline: Deadline, scored_at: int | None = None, *, shares: bool = False
    ) -> AbstractContextManager[Transaction]:
        """Open a transaction. Waiting for it can be cancelled and times out. One that `shares` may
        become durable together with others."""
        return CancellableWrite(
            lambda: self.store.write(
                self.identity,
                op="cypher",
                stopped=deadline.is_over,
                scored_at=scored_at,
                by_hand=True,
                shares=shares,
            ),
            deadline,
        )

    def _takes_turn(self, plan: Plan) -> bool:
        """Whether a transaction that begins with this statement, a read, takes the writer's turn
        before it reads."""
        return (
            not self._read_only
            and not self.store.read_only
            and self.system_time is None
            and self.valid_time is None
            and plan.statement.mode != "EXPLAIN"
            and not self.store.connection().in_transaction  # another session of this thread
            and self.engine.first_statements.leads_to_write(plan.text)
        )

    def _working(self) -> Activity:
        """Return what to run work of the client in. Raises QueryError, and ends the transaction, if
        the client was idle for too long."""
        activity = self._activity
        assert activity is not None, "a transaction is open"
        if activity.expired:
            self._end()
            activity.raise_if_expired()
        return activity

    def _expire(self) -> None:
        """Undo the transaction. Called on another thread while its client is idle."""
        if isinstance(self._reader, Transaction):
            self._reader.expire()

    def _upgrade_to_writer(self, deadline: Deadline, *, brief: bool = False) -> None:
        """Upgrade a reading transaction, if nothing was committed since its snapshot. `brief`: it
        will not hold the turn for long; else that is believed of a client by its last one."""
        if isinstance(self._reader, Transaction):
            return
        if self._first is not None:
            self.engine.first_statements.ended(self._first, wrote=True)
        seen = self._reader.last_receipt() if self._reader is not None else None
        snapshot = self._reader
        self._release()
        held = self._writer(
            deadline,
            None if snapshot is None else snapshot.scored_at,
            shares=brief
            or (
                self.connection != ""
                and self.engine.brief_writes.is_brief(self.connection, unknown=False)
            ),
        )
        tx = held.__enter__()
        self._turn_began = time.monotonic()
        if snapshot is not None and tx.written_since(seen.tx if seen else 0):
            held.__exit__(None, None, None)
            fail(
                "Another transaction wrote after this one began to read.",
                kind="TransientError",
                detail="Outdated",
                hint="Run the transaction again.",
            )
        self._held, self._reader = held, tx
        assert self._activity is not None, "a transaction is open"
        if tx.is_shared:
            self._activity.idle_ms = min(self._idle_ms, SHARED_WRITER_IDLE_MS)
            self._activity.retried = True
        WATCH.add(self._activity)

    def _execute(
        self,
        plan: Plan,
        reader: Reader,
        params: Mapping[str, Any],
        deadline: Deadline,
        *,
        batches: TransactionBatches | None = None,
    ) -> Result:
        statement = plan.statement
        as_of = valid = None
        if self._is_timed or statement.system_time is not None or statement.valid_time is not None:
            as_of = self._time_point(statement.system_time, self.system_time, plan, reader, params)
            valid = self._time_point(statement.valid_time, self.valid_time, plan, reader, params)
        if as_of is not None and retained(reader._db):
            labels, types = names_read(statement)
            require_kept(reader._db, as_of, labels=labels, types=types)
        graph = Graph(reader, as_of=as_of)
        if valid is not None:  # as of a past time, the labels that existed are unknown
            graph.valid = ValidTime(
                valid,
                reader.declared().constraints,
                *(() if as_of is not None else (graph.has_label,)),
            )
        run = self._run_on(graph, plan, params, deadline)
        if batches is not None:
            run.batches, batches.graph = batches, graph
        if plan.statement.mode == "PROFILE":
            run.profile = Profile()
        if plan.statement.mode == "EXPLAIN":
            return Result(() if plan.steps is None else plan.steps.names, iter(()), run)
        with translated_errors(run):
            if run.graph.as_of is None and run.profile is None:
                declared = reader.declared()
                tracking = self._compiled.tracking_plan(plan, declared)
                if tracking is not plan:
                    note = (
                        reader.noted.append if isinstance(reader, Transaction) else self.store.note
                    )
                    later = not isinstance(reader, Transaction)
                    names = declared.evaluator.parameters
                    run.accesses = AccessLog(note, run.params, names, later=later)
                plan = tracking
            return self.engine.start(plan, run)

    def _run_on(
        self, graph: Graph, plan: Plan, params: Mapping[str, Any], deadline: Deadline
    ) -> Run:
        now_ns = graph.reader.now
        run = Run(graph, params, now_ns=now_ns, deadline=deadline, csv_folder=self.csv_folder)
        run.session = self.owner
        run.identity, run.transactions = self.identity, self.engine.transactions
        run.text = plan.text
        return run

    # Time

    def _time_point(
        self,
        expression: t.Expression | None,
        default: int | None,
        plan: Plan,
        reader: Reader,
        params: Mapping[str, Any],
    ) -> int | None:
        """The point in time of the statement, or else of the session."""
        if expression is None:
            return default if not plan.writes else None
        return instant_ns(
            evaluate_constant(expression, Run(Graph(reader), params, now_ns=reader.now))
        )

    def _require_writable(self) -> None:
        if self._is_timed:
            fail(
                "A session that reads as of a past time cannot write.",
                kind="TransactionError",
                detail="AccessMode",
                hint="Use another session.",
            )
        if self._read_only:
            fail(
                "This transaction only reads.",
                kind="TransactionError",
                detail="AccessMode",
                hint="Begin one that may write.",
            )

    # Transactions

    def begin(self, *, read_only: bool = False) -> None:
        """Start a transaction of several statements.

        One that is not `read_only` takes the writer's turn at its first statement, unless that is
        known to begin transactions that only read (`first_statements.py`), or waits for the commit
        (`deferred_writes.py`). While it has the turn it may not be idle for long.
        """
        if self._explicit:
            raise StoreError(
                "A transaction is already open in this session.",
                next_step="Commit it or roll it back first.",
            )
        self._buffer_previous()
        self._explicit, self._read_only, self.written = True, read_only, 0
        self._first, self._wrote = None, False
        self._activity = Activity(self._expire, self._idle_ms)
        self._begun += 1
        self._noted = self.engine.transactions.open(
            self.identity, self.connection, partial(self._cancel_if, self._begun)
        )

    def commit(self) -> None:
        """Make the transaction durable."""
        self._require_open()
        if self.terminated:
            self.rollback()
            terminated()
        with self._working():
            self._buffer_previous()
            if self._deferred is not None:
                self._run_before_commit(self._deferred)
            self._explicit = False
            self._forget()
            tx = self._reader
            if self.connection and isinstance(tx, Transaction):
                held_s = time.monotonic() - self._turn_began
                self.engine.brief_writes.held(self.connection, held_s)
            self._release()
            if isinstance(tx, Transaction):
                self._note_written(tx)
        self._activity = None
        if self._first is not None and not self._read_only:
            self.engine.first_statements.ended(self._first, wrote=self._wrote)

    def _run_before_commit(self, waiting: DeferredWrite) -> None:
        """Run the statement that was deferred, or end the transaction."""
        self._running = waiting.deadline
        try:
            with translated(self.store.path, self.store.connection()):
                self._run_deferred(waiting.deadline, brief=True)
        except BaseException:
            self._end()
            raise

    def rollback(self) -> None:
        """Discard the changes of the transaction and end it."""
        self._require_open()
        activity = self._activity
        assert activity is not None, "a transaction is open"
        with activity.ending():
            before, self._open = self._open, None
            if before is not None:
                before.close()
            self._explicit, self._deferred = False, None
            self._forget()
            held, self._held, self._reader = self._held, None, None
            WATCH.remove(activity)
            self._activity = None
            if held is not None:
                with suppress(Abandoned):
                    held.__exit__(Abandoned, Abandoned(), None)

    @property
    def terminated(self) -> bool:
        """Whether TERMINATE TRANSACTIONS ended the open transaction, or the statement by itself
        whose rows are open. Roll it back, or close the session."""
        noted = self._noted or self._streamed
        return noted is not None and noted.terminated

    def _forget(self) -> None:
        noted, self._noted = self._noted, None
        if noted is not None:
            self.engine.transactions.close(noted)

    def _end(self) -> None:
        """End the transaction after a failed statement."""
        if self._explicit:
            self._open = None
            self.rollback()

    @property
    def in_transaction(self) -> bool:
        return self._explicit

    def _require_open(self) -> None:
        if not self._explicit:
            raise StoreError(
                "No transaction is open in this session.", next_step="Begin one first."
            )

    def _release(self) -> None:
        held, self._held, self._reader = self._held, None, None
        if self._activity is not None:
            WATCH.remove(self._activity)
        if held is not None:
            held.__exit__(None, None, None)

    def cancel(self) -> None:
        """Cancel the running statement from any thread: it fails with Terminated."""
        running = self._running
        if running is not None:
            running.cancelled = True

    def renew(self, *, timeout_ms: int) -> None:
        """Use the session again, after `close`, with another limit for each statement. Raises
        ClosedError if the store is closed."""
        self.store.require_open()
        self.timeout_ms = timeout_ms

    def _cancel_if(self, begun: int) -> None:
        """Cancel what runs in a transaction, and nothing that this session runs after it."""
        if self._explicit and self._begun == begun:
            self.cancel()

    def close(self) -> None:
        """Roll back an open transaction and release the result."""
        if self._explicit:
            self.rollback()
        before, self._open = self._open, None
        if before is not None:
            before.close()


def _instant(value: Any) -> int | None:
    return None if value is None else instant_ns(convert_parameters({"time": value})["time"])
