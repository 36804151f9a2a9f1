"""The ASGI application: the steps of one request on the event loop.

    origin check -> route -> content type -> login -> body -> [thread] RequestExecution -> response
       403, 421     404, 405      415         401    413, 408    statuses of errors.py

    GET  /                        discovery; requires a login; a browser is led to the page
    GET  /ui/...                  the page for people (page/), without a login
    GET  /health, /healthz        200 while the process answers, without a login
    GET  /readyz                  200 while requests can be served, else 503, without a login
    GET  /metrics                 for Prometheus, to operators
    *    /v1/{verb}               every verb (api/); /db/{name}/v1/{verb} names a database
    GET  /db/{name}/events        events as they are committed, server-sent
    POST /db/{name}/query/v2      one statement, Neo4j's Query API
    POST /db/{name}/tx/commit     statements in one transaction, Neo4j's HTTP API
    *    /{mount}/...             what the server was started with, such as mem0's interface

The body of a request is read only after authentication. A client that disconnects cancels its
statement.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from doxa.app.verbs.resources import PREFIX
from doxa.base.errors import DoxaError
from doxa.base.ids import is_below_operator
from doxa.base.limits import (
    HTTP_EVENT_STREAMS_ITEMS_MAX,
    HTTP_HELD_BYTES_MAX,
    HTTP_THREADS_MAX,
)
from doxa.servers.codes import FORBIDDEN
from doxa.servers.contract import (
    Database,
    EventDatabase,
    HealthDatabase,
    MeasuredDatabase,
    Mounted,
    VerbDatabase,
)
from doxa.servers.credentials import Authenticator, Principal
from doxa.servers.http.api.app import ApiOptions, VerbApi
from doxa.servers.http.api.problems import problem_of, problem_response
from doxa.servers.http.bodies import read_mode
from doxa.servers.http.budget import BudgetShare, ByteBudget
from doxa.servers.http.context import context_of
from doxa.servers.http.errors import HttpError, errors_of, http_status, log_unexpected
from doxa.servers.http.events import EventResponse, check_accepted, event_options
from doxa.servers.http.execution import Caller, RequestExecution
from doxa.servers.http.headers import (
    JSON,
    OriginCheck,
    accepted,
    check_length,
    chosen_database,
    content_type,
)
from doxa.servers.http.login import Login
from doxa.servers.http.messages import (
    HEADERS,
    READ,
    SHARE,
    Chunked,
    json_response,
    read_whole_body,
    until_gone,
)
from doxa.servers.http.page import HOME, StaticFiles
from doxa.servers.http.responses import ResponseData
from doxa.servers.http.thread_pool import ThreadPool
from doxa.servers.sharing import Share
from doxa.servers.telemetry.calls import TELEMETRY
from doxa.servers.telemetry.files import file_metrics
from doxa.servers.telemetry.metrics import MEDIA as METRICS_MEDIA
from doxa.servers.telemetry.metrics import RESTARTS, WORKERS, Metric, Values, exposition
from doxa.servers.telemetry.trace_context import PARENT, STATE
from doxa.servers.unit_of_work import resolve

_CANCEL_AGAIN_S = 0.05
_THREADS_MIN = 4  # of one process, where there are many
_ALL_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_LOG = logging.getLogger("doxa.http")
_CLOSE, _SOON = {"Connection": "close"}, {"Retry-After": "1"}

Endpoint = Callable[[Request], Awaitable[Response]]


class App:
    """The application of one server."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator | None,
        *,
        host: str,
        version: str,
        timeout_ms: int,
        mounts: Mapping[str, Callable[[Principal], Mounted]] | None = None,
        api: ApiOptions | None = None,
        share: Share | None = None,
    ) -> None:
        """`mounts` make what is served below a path, for the principal of each request."""
        share = share or Share()
        self._share, self._threads_max = share, max(_THREADS_MIN, share.part(HTTP_THREADS_MAX))
        self.threads = ThreadPool("http", self._threads_max)
        self._database, self._version, self._timeout_ms = database, version, timeout_ms
        self._origin_check, self._login, self._budget = (
            OriginCheck(host),
            Login(authenticator),
            ByteBudget(HTTP_HELD_BYTES_MAX, share.counter("bytes")),
        )
        self._executions: set[RequestExecution] = set()
        self._streams: set[EventResponse] = set()
        self._streaming = share.counter("streams")
        self._is_stopping = False
        self.api = VerbApi(
            database,
            self._login,
            self.threads,
            version=version,
            options=api or ApiOptions(),
            events=self._followed,
            share=share,
        )
        if share.calls is not None:
            share.calls.answers("metrics", TELEMETRY.registry.counted)
        routes = [
            Route("/", _answering(self._discovery)),
            Route("/health", _answering(self._health)),
            Route("/healthz", _answering(self._health)),
            Route("/readyz", _answering(self._ready)),
            Route("/metrics", _answering(self._metrics)),
            Route("/db/{name}/events", _answering(self._events), methods=["GET"]),
            Route("/db/{name}/query/v2", _answering(self._query), methods=["POST"]),
            Route("/db/{name}/tx/commit", _answering(self._batch), methods=["POST"]),
        ]
        if isinstance(database, VerbDatabase):
            page = StaticFiles()
            routes = [
                Route(f"{PREFIX}/{{path:rest}}", self.api.answer, methods=_ALL_METHODS),
                Route(f"/db/{{name}}{PREFIX}/{{path:rest}}", self.api.answer, methods=_ALL_METHODS),
                Route(HOME.rstrip("/"), page.redirect),
                Route(f"{HOME}{{path:rest}}", page.answer),
                *routes,
            ]
        routes += [
            Route(
                f"/{prefix}/{{path:rest}}",
                _answering(partial(self._mounted, made)),
                methods=["GET", "POST", "PUT", "DELETE"],
            )
            for prefix, made in (mounts or {}).items()
        ]
        self._routed = Starlette(routes=routes, exception_handlers={HTTPException: _not_routed})
        self._routed.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "nothing else is served"
        request = Request(scope)
        try:
            self._origin_check.check(request.headers, scope["scheme"])
        except HttpError as error:
            await _refused(error, scope)(scope, receive, send)
            return
        share = scope[SHARE] = BudgetShare(self._budget)
        try:
            await self._routed(scope, receive, send)
        finally:
            share.release()

    def end_all(self) -> None:
        """Cancel all running and waiting requests and roll them back."""
        for execution in self._executions:
            execution.cancel()

    @property
    def is_busy(self) -> bool:
        """Whether a request or a job has a thread."""
        return bool(self.threads.busy or self.api.jobs.busy)

    def end_streams(self) -> None:
        """End what has no end of its own, and begin nothing more."""
        self._is_stopping = True
        for stream in self._streams:
            stream.end()

    def close(self) -> None:
        self.api.close()
        self.threads.close()
        self._login.close()

    # Endpoints

    async def _health(self, request: Request) -> Response:
        return json_response(200, {"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        """Say whether a request would be served now: the memory is readable, and a thread free."""
        ready = not self._is_stopping and self.threads.busy < self._threads_max
        if ready and isinstance(self._database, HealthDatabase):
            try:
                await self.threads.run(self._database.check_readable)
            except DoxaError as error:
                _LOG.error("http: not ready: %s", error)
                ready = False
        if ready:
            return json_response(200, {"status": "ready"})
        return json_response(503, {"status": "not ready"}, **_SOON)

    async def _metrics(self, request: Request) -> Response:
        """Send the metrics of this process and its files to an operator who is bound to nothing."""
        principal = await self._login.principal(request.headers.get("authorization"))
        if is_below_operator(principal.role) or principal.projects or principal.databases:
            raise HttpError(
                "Metrics concern all of the server.",
                http=403,
                next_step="Send a token of an operator who is bound to nothing.",
                status=FORBIDDEN,
            )
        database = self._database
        gauges: Mapping[Metric, Values] = {}
        if isinstance(database, MeasuredDatabase):
            gauges = await self.threads.run(
                lambda: file_metrics(database.memories(), version=self._version)
            )
        counted: dict[int, Any] = {self._share.number: TELEMETRY.registry.counted()}
        serving, restarted = 1, 0
        if self._share.calls is not None:
            counted |= await self._share.calls.ask_others("metrics")
            serving, restarted = await self._share.calls.call("workers")
        gauges = {**gauges, WORKERS: {(): serving}, RESTARTS: {(): restarted}}
        text = exposition(counted, gauges)
        return Response(text, media_type=None, headers=HEADERS | {"Content-Type": METRICS_MEDIA})

    async def _discovery(self, request: Request) -> Response:
        is_browser = "text/html" in request.headers.get("accept", "")
        if is_browser and isinstance(self._database, VerbDatabase):
            return Response(status_code=303, headers=HEADERS | {"Location": HOME})
        principal = await self._login.principal(request.headers.get("authorization"))
        found = {
            "doxa": self._version,
            "query": "/db/{databaseName}/query/v2",
            "transaction": "/db/{databaseName}/tx/commit",
            "events": "/db/{databaseName}/events",
            "health": "/health",
            "metrics": "/metrics",
        }
        if isinstance(self._database, VerbDatabase):
            found |= {"api": PREFIX, "openapi": f"{PREFIX}/openapi.json", "page": HOME}
        return json_response(200, found | {"databases": list(self._database.names(principal))})

    async def _query(self, request: Request) -> Response:
        with_types, media = content_type(request.headers), accepted(request.headers)
        caller, data = await self._authenticated_body(request)
        execution = RequestExecution(
            self._database, caller, request.scope[SHARE], timeout_ms=self._timeout_ms
        )
        return await self._execute(
            request,
            execution,
            lambda: execution.query(data, typed_parameters=with_types, media=media),
        )

    async def _batch(self, request: Request) -> Response:
        if content_type(request.headers) or accepted(request.headers) != JSON:
            raise HttpError(
                "This endpoint has no typed JSON.",
                http=415,
                next_step=f"Send and accept {JSON}, or use /db/{{name}}/query/v2.",
            )
        read_only = read_mode(request.headers.get("access-mode"))
        caller, data = await self._authenticated_body(request)
        execution = RequestExecution(
            self._database, caller, request.scope[SHARE], timeout_ms=self._timeout_ms
        )
        return await self._execute(
            request, execution, lambda: execution.batch(data, read_only=read_only)
        )

    async def _events(self, request: Request) -> Response:
        check_accepted(request.headers)
        authorization = request.headers.get("authorization")
        principal = await self._login.principal(authorization)
        name = resolve(self._database, principal, _database_of(request))
        options = event_options(
            [one for one in request.query_params.multi_items() if one[0] != "database"],
            request.headers,
        )
        return await self._followed(
            principal, name, options, lambda: self._login.principal(authorization)
        )

    async def _followed(
        self,
        principal: Principal,
        name: str,
        options: dict[str, Any],
        still_welcome: Callable[[], Awaitable[object]],
    ) -> Response:
        """Send events as they are committed, as long as the login is good."""
        database = self._database
        if not isinstance(database, EventDatabase):
            raise HttpError("This database has no events.", http=404, next_step="Query it instead.")
        if self._streaming.add(1) > HTTP_EVENT_STREAMS_ITEMS_MAX:
            self._streaming.add(-1)
            raise HttpError(
                f"This server sends events to {HTTP_EVENT_STREAMS_ITEMS_MAX} clients at a time.",
                http=503,
                next_step="Try again, or read events with doxa.events in a query.",
            )
        response = EventResponse(
            self.threads,
            lambda: database.open_events(principal, name, options),
            still_welcome=still_welcome,
            ended=lambda: self._ended(response),
            headers=HEADERS,
        )
        self._streams.add(response)
        try:
            await response.open()
        except BaseException:
            self._ended(response)
            raise
        return response

    def _ended(self, stream: EventResponse) -> None:
        if stream in self._streams:
            self._streams.discard(stream)
            self._streaming.add(-1)

    async def _mounted(self, made: Callable[[Principal], Mounted], request: Request) -> Response:
        """Answer below a mount. Its clients may send their token as X-API-Key."""
        headers = request.headers
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            content_type(headers)
        check_length(request.headers)
        authorization = request.headers.get("authorization")
        if authorization is None and (key := request.headers.get("x-api-key")):
            authorization = f"Bearer {key}"
        principal = await self._login.principal(authorization)
        body, query = await read_whole_body(request), dict(request.query_params)
        path = request.path_params["path"]
        status, document = await self.threads.run(
            lambda: made(principal).handle(request.method, path, query, body)
        )
        return json_response(status, document)

    # Steps of a request

    async def _authenticated_body(self, request: Request) -> tuple[Caller, bytes]:
        """Authenticate the caller, then read the body."""
        check_length(request.headers)
        context = context_of(request.headers.raw)
        principal = await self._login.principal(request.headers.get("authorization"))
        trace = request.headers.get(PARENT), request.headers.get(STATE)
        caller = Caller(principal, _database_of(request), context, trace)
        return caller, await read_whole_body(request)

    async def _execute(
        self, request: Request, execution: RequestExecution, call: Callable[[], ResponseData]
    ) -> Response:
        """Execute a request on a thread. It is cancelled when its client disconnects or the server
        stops."""
        self._executions.add(execution)
        task = asyncio.create_task(
            self.threads.run(call, began=execution.begin, caller=execution.login)
        )
        gone = asyncio.create_task(until_gone(request))
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            while not task.done() and execution.began:
                execution.cancel()
                await asyncio.wait({task}, timeout=_CANCEL_AGAIN_S)
            if not task.done():
                raise ClientDisconnect
            return Chunked(task.result())
        finally:
            self._executions.discard(execution)
            execution.cancel()
            task.cancel()
            gone.cancel()


class _Rest(Convertor[str]):
    """The rest of a path, line breaks too: `path` of Starlette ends before them, so that such a
    request would be answered by another interface than the one it was sent to."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("rest", _Rest())


def error_response(error: BaseException, *, close: bool) -> Response:
    """Build the response to a failed request. `close` is set if its body was not read, since the
    rest of it would be taken for the next request."""
    status = http_status(error)
    headers = (
        (error.headers if isinstance(error, HttpError) else {})
        | (_CLOSE if close else {})
        | (_SOON if status == 503 else {})
    )
    return json_response(status, {"errors": errors_of(error)}, **headers)


def _refused(error: HttpError, scope: Scope) -> Response:
    """Build the response to a request of another host or origin."""
    if f"{PREFIX}/" in scope["path"]:
        return problem_response(problem_of(error), headers=error.headers, close=True)
    return error_response(error, close=True)


def _answering(endpoint: Endpoint) -> Endpoint:
    """Wrap an endpoint so that every exception becomes a response."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=499)  # the client is gone
        except Exception as error:
            log_unexpected(error)
            return error_response(
                error, close=request.method == "POST" and READ not in request.scope
            )

    return answered


async def _not_routed(request: Request, error: Exception) -> Response:
    """Respond to unknown paths and methods."""
    assert isinstance(error, HTTPException)
    path, close = request.url.path, request.method not in ("GET", "HEAD")
    if error.status_code == 405:
        allowed = dict(error.headers or {})
        found = HttpError(
            f"{path[:80]} does not support {request.method[:20]}.",
            http=405,
            next_step=f"Use {allowed.get('Allow', 'another method')}.",
            headers=allowed,
        )
    elif "/tx" in path:
        found = HttpError(
            "Transactions over several requests are not supported.",
            http=404,
            next_step=(
                "Send all statements at once to /db/{name}/tx/commit, or open a transaction over"
                " Bolt."
            ),
        )
    else:
        found = HttpError(
            f"There is nothing at {path[:80]}.",
            http=404,
            next_step="Post to /db/{name}/query/v2; GET / lists the endpoints.",
        )
    return error_response(found, close=close)


def _database_of(request: Request) -> str:
    """Return the name of the database that a request is for."""
    return chosen_database(request.path_params["name"], request.query_params.getlist("database"))
