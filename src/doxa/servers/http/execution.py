"""Execute one request on one thread: parse its body, run its statements in one unit of work, and
write the response.

    body -> bodies.read_body -> session with login and context -> UnitOfWork -> rows
         -> ResponseBuffer -> ResponseData

The event loop may call `cancel` at any time: the running statement stops and is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from doxa.base.errors import DoxaError, InputError
from doxa.servers.codes import FORBIDDEN, TERMINATED, RequestError
from doxa.servers.contract import Database
from doxa.servers.credentials import ANONYMOUS, Principal
from doxa.servers.http.bodies import (
    BatchBody,
    QueryBody,
    StatementBody,
    parameters_of,
    read_body,
    read_mode,
)
from doxa.servers.http.budget import BudgetShare
from doxa.servers.http.errors import errors_of
from doxa.servers.http.headers import JSON
from doxa.servers.http.responses import (
    ResponseBuffer,
    ResponseData,
    RowWriter,
    encode,
    statistics,
    summary,
    wrote,
)
from doxa.servers.http.values import plain, typed
from doxa.servers.notifications import ALL_NOTIFICATIONS
from doxa.servers.telemetry.calls import CallRecord
from doxa.servers.unit_of_work import (
    SYSTEM_ALIAS,
    Stream,
    UnitOfWork,
    await_bookmarks,
    bookmark,
    resolve,
)


class Caller(NamedTuple):
    """The authenticated caller, the database, and the query context."""

    principal: Principal
    database: str
    context: Mapping[str, str]
    trace: tuple[str | None, str | None] = (None, None)  # traceparent and tracestate


class RequestExecution:
    """The execution of one request. All methods except `begin` and `cancel` run on its thread."""

    def __init__(
        self, database: Database, caller: Caller, share: BudgetShare, *, timeout_ms: int
    ) -> None:
        self.began = False
        self._database, self._caller, self._share, self._timeout_ms = (
            database,
            caller,
            share,
            timeout_ms,
        )
        self._cancelled = False
        self._work: UnitOfWork | None = None

    @property
    def login(self) -> str:
        """Who asks; empty if anybody may."""
        name = self._caller.principal.name
        return "" if name == ANONYMOUS else name

    def begin(self) -> None:
        """Record that the execution has a thread."""
        self.began = True

    def cancel(self) -> None:
        """Cancel the execution. Call this repeatedly until it has ended, because a statement may
        start right after a call."""
        self._cancelled = True
        work = self._work
        if work is not None:
            work.cancel()

    def query(self, data: bytes, *, typed_parameters: bool, media: str) -> ResponseData:
        """Run one auto-commit statement."""
        self._raise_if_cancelled()
        body = read_body(data, QueryBody)
        if body.impersonated_user is not None:
            raise RequestError(
                "Impersonation is not supported.",
                status=FORBIDDEN,
                next_step="Log in as that user instead.",
            )
        seconds = body.max_execution_time
        if seconds is not None and seconds < 0:
            step = "Give a number of seconds; 0 means the server's maximum."
            raise InputError(
                "maxExecutionTime is negative.", next_step=step, field="maxExecutionTime"
            )
        params = parameters_of(body.parameters, typed=typed_parameters)
        work = self._open_work(
            explicit=False, read_only=read_mode(body.access_mode), timeout_ms=(seconds or 0) * 1_000
        )
        marks, principal = body.bookmarks or (), self._caller.principal

        def run() -> ResponseData:
            await_bookmarks(self._database, principal, work.database, marks, self._timeout_ms)
            return self._run_query(work, body, params, media)

        return self._with_rollback(work, run)

    def batch(self, data: bytes, *, read_only: bool) -> ResponseData:
        """Run statements in one transaction. An error rolls everything back and is reported in a
        response with status 200, as clients of this endpoint expect."""
        self._raise_if_cancelled()
        body = read_body(data, BatchBody)
        resolve(self._database, self._caller.principal, self._caller.database)
        try:
            work = self._open_work(explicit=True, read_only=read_only, timeout_ms=0)
            return self._with_rollback(work, lambda: self._run_batch(work, body))
        except DoxaError as error:
            return ResponseData(200, JSON, [encode({"results": [], "errors": errors_of(error)})])

    def _open_work(self, *, explicit: bool, read_only: bool, timeout_ms: int) -> UnitOfWork:
        name = resolve(self._database, self._caller.principal, self._caller.database)
        timeout_ms = min(timeout_ms or self._timeout_ms, self._timeout_ms)
        session = self._database.open_session(
            self._caller.principal, name, self._caller.context, timeout_ms
        )
        parent, state = self._caller.trace
        verb = "transaction" if explicit else "query"
        record = CallRecord("http", verb, parent=parent, state=state)
        record.login, record.role = self._caller.principal.name, self._caller.principal.role
        self._work = UnitOfWork(
            session,
            database=name,
            explicit=explicit,
            read_only=read_only,
            timeout_ms=timeout_ms,
            notifications=ALL_NOTIFICATIONS,
            record=record,
            catalogue=self._caller.database.lower() == SYSTEM_ALIAS and not read_only,
        )
        return self._work

    def _with_rollback(self, work: UnitOfWork, call: Callable[[], ResponseData]) -> ResponseData:
        """Return the result of a call; roll back if it fails."""
        try:
            return call()
        except BaseException as error:
            work.rollback(error)
            raise

    def _run_query(
        self, work: UnitOfWork, body: QueryBody, params: dict[str, object], media: str
    ) -> ResponseData:
        shape, buffer = plain if media == JSON else typed, ResponseBuffer(self._share)
        number, stream = self._run(work, body.statement, params)
        buffer.wrote = wrote(stream.result.plan)
        buffer.put(b'{"data":{"fields":' + encode(stream.columns) + b',"values":[')
        self._take(stream, RowWriter(buffer, shape), written=buffer.wrote)
        work.finish(number)
        rest = summary(
            stream.result, counters=bool(body.include_counters), shape=shape, rows=stream.count
        )
        rest["bookmarks"] = [
            bookmark(self._database, self._caller.principal, work.database, work.written)
        ]
        buffer.put(b"]}," + encode(rest)[1:])
        return ResponseData(202, media, buffer.done())

    def _run_batch(self, work: UnitOfWork, body: BatchBody) -> ResponseData:
        buffer = ResponseBuffer(self._share)
        buffer.put(b'{"results":[')
        for at, statement in enumerate(body.statements):
            _check_contents(statement)
            number, stream = self._run(
                work, statement.statement, parameters_of(statement.parameters, typed=False)
            )
            buffer.put(
                (b"," if at else b"") + b'{"columns":' + encode(stream.columns) + b',"data":['
            )
            self._take(stream, RowWriter(buffer, None))
            work.finish(number)
            rest = (
                b',"stats":' + encode(statistics(stream.result)) if statement.include_stats else b""
            )
            buffer.put(b"]" + rest + b"}")
        self._raise_if_cancelled()
        buffer.put(b'],"errors":[]')
        work.commit()
        return ResponseData(
            200,
            JSON,
            [
                *buffer.done(),
                b',"lastBookmarks":'
                + encode(
                    [bookmark(self._database, self._caller.principal, work.database, work.written)]
                )
                + b"}",
            ],
        )

    def _run(self, work: UnitOfWork, text: str, params: dict[str, object]) -> tuple[int, Stream]:
        self._raise_if_cancelled()
        return work.run(text, params)

    def _take(self, stream: Stream, rows: RowWriter, *, written: bool = False) -> None:
        for _ in stream.blocks(-1, rows.take):
            if not written:  # a committed write cannot be cancelled, and its rows are available
                self._raise_if_cancelled()

    def _raise_if_cancelled(self) -> None:
        if self._cancelled:
            raise RequestError(
                "The request was cancelled before its response.",
                status=TERMINATED,
                next_step="Send it again; nothing was written.",
            )


def _check_contents(statement: StatementBody) -> None:
    wanted = statement.result_data_contents
    if wanted is not None and [name.lower() for name in wanted] != ["row"]:
        raise InputError(
            f"The result contents {str(wanted)[:80]} are not supported.",
            next_step='Use ["row"], or omit it.',
            field="resultDataContents",
        )
