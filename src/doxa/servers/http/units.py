"""The work of one request, on one thread: its body read, its statements run in one unit of work,
the answer written.

    body -> bodies.read_body -> a session under the login and the context -> work.Work -> rows ->
    answers.Pages -> Answer

The event loop may end it at any time with `cancel`: what runs is stopped, and nothing of it is
written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from doxa.base.errors import DoxaError, InputError
from doxa.servers.codes import FORBIDDEN, TERMINATED, DoorError
from doxa.servers.contract import Database
from doxa.servers.credentials import Principal
from doxa.servers.http.answers import Answer, Pages, Rows, encode, statistics, summary, wrote
from doxa.servers.http.bodies import Batch, Query, Statement, parameters_of, read_body, read_mode
from doxa.servers.http.budget import Share
from doxa.servers.http.gate import JSON
from doxa.servers.http.problems import errors_of
from doxa.servers.http.values import plain, typed
from doxa.servers.notices import ALL_NOTICES
from doxa.servers.work import SYSTEM_ALIAS, Stream, Work, bookmark, resolve


class Asker(NamedTuple):
    """Who asks, for which database, and what the queries know of it."""

    principal: Principal
    database: str
    context: Mapping[str, str]


class Unit:
    """The work of one request. Every method belongs to its thread, but `begin` and `cancel`."""

    def __init__(self, database: Database, asker: Asker, share: Share, *, timeout_ms: int) -> None:
        self.began = False
        self._database, self._asker, self._share, self._timeout_ms = (
            database,
            asker,
            share,
            timeout_ms,
        )
        self._cancelled = False
        self._work: Work | None = None

    def begin(self) -> None:
        """It has a thread."""
        self.began = True

    def cancel(self) -> None:
        """End it. To be called again until it has ended: a statement may start just after."""
        self._cancelled = True
        work = self._work
        if work is not None:
            work.cancel()

    def query(self, data: bytes, *, typed_parameters: bool, media: str) -> Answer:
        """One statement by itself."""
        self._look()
        body = read_body(data, Query)
        if body.impersonated_user is not None:
            raise DoorError(
                "Nobody may act as another user here.",
                status=FORBIDDEN,
                next_step="Log in as that user instead.",
            )
        seconds = body.max_execution_time
        if seconds is not None and seconds < 0:
            step = "Give a number of seconds, 0 for as long as the server allows."
            raise InputError(
                "maxExecutionTime is below 0.", next_step=step, field="maxExecutionTime"
            )
        params = parameters_of(body.parameters, typed=typed_parameters)
        work = self._open(
            explicit=False, read_only=read_mode(body.access_mode), timeout_ms=(seconds or 0) * 1_000
        )
        return self._kept(work, lambda: self._one(work, body, params, media))

    def batch(self, data: bytes, *, read_only: bool) -> Answer:
        """Statements in one transaction. What fails in them is told in the answer, as its clients
        expect, and leaves nothing."""
        self._look()
        body = read_body(data, Batch)
        resolve(self._database, self._asker.database)
        try:
            work = self._open(explicit=True, read_only=read_only, timeout_ms=0)
            return self._kept(work, lambda: self._all(work, body))
        except DoxaError as error:
            return Answer(200, JSON, [encode({"results": [], "errors": errors_of(error)})])

    def _open(self, *, explicit: bool, read_only: bool, timeout_ms: int) -> Work:
        name = resolve(self._database, self._asker.database)
        timeout_ms = min(timeout_ms or self._timeout_ms, self._timeout_ms)
        session = self._database.open_session(
            self._asker.principal, name, self._asker.context, timeout_ms
        )
        read_only = read_only or self._asker.database.lower() == SYSTEM_ALIAS
        self._work = Work(
            session,
            database=name,
            explicit=explicit,
            read_only=read_only,
            timeout_ms=timeout_ms,
            notices=ALL_NOTICES,
        )
        return self._work

    def _kept(self, work: Work, call: Callable[[], Answer]) -> Answer:
        """What the call returns; if it fails, what is open is rolled back."""
        try:
            return call()
        except BaseException:
            work.rollback()
            raise

    def _one(self, work: Work, body: Query, params: dict[str, object], media: str) -> Answer:
        shape, pages = plain if media == JSON else typed, Pages(self._share)
        number, stream = self._run(work, body.statement, params)
        pages.wrote = wrote(stream.result.plan)
        pages.put(b'{"data":{"fields":' + encode(stream.columns) + b',"values":[')
        self._take(stream, Rows(pages, shape), written=pages.wrote)
        work.finish(number)
        rest = summary(
            stream.result, counters=bool(body.include_counters), shape=shape, rows=stream.count
        )
        rest["bookmarks"] = [bookmark(self._database, work.database)]
        pages.put(b"]}," + encode(rest)[1:])
        return Answer(202, media, pages.done())

    def _all(self, work: Work, body: Batch) -> Answer:
        pages = Pages(self._share)
        pages.put(b'{"results":[')
        for at, statement in enumerate(body.statements):
            _check_contents(statement)
            number, stream = self._run(
                work, statement.statement, parameters_of(statement.parameters, typed=False)
            )
            pages.put(
                (b"," if at else b"") + b'{"columns":' + encode(stream.columns) + b',"data":['
            )
            self._take(stream, Rows(pages, None))
            work.finish(number)
            rest = (
                b',"stats":' + encode(statistics(stream.result)) if statement.include_stats else b""
            )
            pages.put(b"]" + rest + b"}")
        self._look()
        pages.put(b'],"errors":[]')
        work.commit()
        return Answer(
            200,
            JSON,
            [
                *pages.done(),
                b',"lastBookmarks":' + encode([bookmark(self._database, work.database)]) + b"}",
            ],
        )

    def _run(self, work: Work, text: str, params: dict[str, object]) -> tuple[int, Stream]:
        self._look()
        return work.run(text, params)

    def _take(self, stream: Stream, rows: Rows, *, written: bool = False) -> None:
        for _ in stream.blocks(-1, rows.take):
            if not written:  # else it is too late to end it, and its rows are at hand
                self._look()

    def _look(self) -> None:
        if self._cancelled:
            raise DoorError(
                "The request was ended before its answer.",
                status=TERMINATED,
                next_step="Send it again; nothing of it was written.",
            )


def _check_contents(statement: Statement) -> None:
    wanted = statement.result_data_contents
    if wanted is not None and [name.lower() for name in wanted] != ["row"]:
        raise InputError(
            f"The contents {str(wanted)[:80]} are not given.",
            next_step='Ask for ["row"], or leave it out.',
            field="resultDataContents",
        )
