"""The ASGI application: the steps of one request on the event loop.

    origin check -> route -> content type -> login -> body -> [thread] RequestExecution -> response
       403, 421     404, 405      415         401    413, 408    statuses of errors.py

    GET  /                        discovery; requires a login
    GET  /health                  200, without a login
    GET  /db/{name}/events        events as they are committed, server-sent
    POST /db/{name}/query/v2      one statement, Neo4j's Query API
    POST /db/{name}/tx/commit     statements in one transaction, Neo4j's HTTP API
    *    /{mount}/...             what the server was started with, such as mem0's interface

The body of a request is read only after authentication. A client that disconnects cancels its
statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from doxa.base.limits import (
    HTTP_BODY_BYTES_MAX,
    HTTP_BODY_MS,
    HTTP_EVENT_STREAMS_ITEMS_MAX,
    HTTP_HELD_BYTES_MAX,
    HTTP_THREADS_MAX,
)
from doxa.servers.contract import Database, EventDatabase, Mounted
from doxa.servers.credentials import Authenticator, Principal
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
    too_long,
)
from doxa.servers.http.login import Login
from doxa.servers.http.responses import ResponseData, encode
from doxa.servers.http.thread_pool import ThreadPool
from doxa.servers.unit_of_work import resolve

_CANCEL_AGAIN_S = 0.05
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_CLOSE, _SOON = {"Connection": "close"}, {"Retry-After": "1"}
# Keys in the scope of a request: whether its body was read, and its share of the memory budget.
_READ, _SHARE = "doxa.read", "doxa.share"

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
    ) -> None:
        """`mounts` make what is served below a path, for the principal of each request."""
        self.threads = ThreadPool("http", HTTP_THREADS_MAX)
        self._database, self._version, self._timeout_ms = database, version, timeout_ms
        self._origin_check, self._login, self._budget = (
            OriginCheck(host),
            Login(authenticator),
            ByteBudget(HTTP_HELD_BYTES_MAX),
        )
        self._executions: set[RequestExecution] = set()
        self._streams: set[EventResponse] = set()
        routes = [
            Route("/", _answering(self._discovery)),
            Route("/health", _answering(self._health)),
            Route("/db/{name}/events", _answering(self._events), methods=["GET"]),
            Route("/db/{name}/query/v2", _answering(self._query), methods=["POST"]),
            Route("/db/{name}/tx/commit", _answering(self._batch), methods=["POST"]),
        ]
        routes += [
            Route(
                f"/{prefix}/{{path:path}}",
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
            await error_response(error, close=True)(scope, receive, send)
            return
        share = scope[_SHARE] = BudgetShare(self._budget)
        try:
            await self._routed(scope, receive, send)
        finally:
            share.release()

    def end_all(self) -> None:
        """Cancel all running and waiting requests and roll them back."""
        for execution in self._executions:
            execution.cancel()

    def end_streams(self) -> None:
        """End what has no end of its own."""
        for stream in self._streams:
            stream.end()

    def close(self) -> None:
        self.threads.close()
        self._login.close()

    # Endpoints

    async def _health(self, request: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def _discovery(self, request: Request) -> Response:
        principal = await self._login.principal(request.headers.get("authorization"))
        found = {
            "doxa": self._version,
            "query": "/db/{databaseName}/query/v2",
            "transaction": "/db/{databaseName}/tx/commit",
            "events": "/db/{databaseName}/events",
            "health": "/health",
        }
        return _json(200, found | {"databases": list(self._database.names(principal))})

    async def _query(self, request: Request) -> Response:
        with_types, media = content_type(request.headers), accepted(request.headers)
        caller, data = await self._authenticated_body(request)
        execution = RequestExecution(
            self._database, caller, request.scope[_SHARE], timeout_ms=self._timeout_ms
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
            self._database, caller, request.scope[_SHARE], timeout_ms=self._timeout_ms
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
        if len(self._streams) >= HTTP_EVENT_STREAMS_ITEMS_MAX:
            raise HttpError(
                f"This server sends events to {HTTP_EVENT_STREAMS_ITEMS_MAX} clients at a time.",
                http=503,
                next_step="Try again, or read events with doxa.events in a query.",
            )
        database = self._database
        if not isinstance(database, EventDatabase):
            raise HttpError("This database has no events.", http=404, next_step="Query it instead.")
        response = EventResponse(
            self.threads,
            lambda: database.open_events(principal, name, options),
            still_welcome=lambda: self._login.principal(authorization),
            ended=lambda: self._streams.discard(response),
            headers=_HEADERS,
        )
        self._streams.add(response)
        try:
            await response.open()
        except BaseException:
            self._streams.discard(response)
            raise
        return response

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
        body, query = await _body(request), dict(request.query_params)
        path = request.path_params["path"]
        status, document = await self.threads.run(
            lambda: made(principal).handle(request.method, path, query, body)
        )
        return _json(status, document)

    # Steps of a request

    async def _authenticated_body(self, request: Request) -> tuple[Caller, bytes]:
        """Authenticate the caller, then read the body."""
        check_length(request.headers)
        context = context_of(request.headers.raw)
        principal = await self._login.principal(request.headers.get("authorization"))
        return Caller(principal, _database_of(request), context), await _body(request)

    async def _execute(
        self, request: Request, execution: RequestExecution, call: Callable[[], ResponseData]
    ) -> Response:
        """Execute a request on a thread. It is cancelled when its client disconnects or the server
        stops."""
        self._executions.add(execution)
        task = asyncio.create_task(self.threads.run(call, began=execution.begin))
        gone = asyncio.create_task(_until_gone(request))
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


class Chunked(Response):
    """A response sent in chunks, so that a slow client delays only one chunk at a time."""

    def __init__(self, answer: ResponseData) -> None:
        super().__init__(status_code=answer.status, media_type=answer.media, headers=_HEADERS)
        self._chunks = answer.chunks
        self.headers["content-length"] = str(sum(map(len, answer.chunks)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        for chunk in self._chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def error_response(error: BaseException, *, close: bool) -> Response:
    """Build the response to a failed request. `close` is set if its body was not read, since the
    rest of it would be taken for the next request."""
    status = http_status(error)
    headers = (
        (error.headers if isinstance(error, HttpError) else {})
        | (_CLOSE if close else {})
        | (_SOON if status == 503 else {})
    )
    return _json(status, {"errors": errors_of(error)}, **headers)


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
                error, close=request.method == "POST" and _READ not in request.scope
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


async def _body(request: Request) -> bytes:
    """Read the whole body. Raises HttpError if it is too long or too slow, or if the memory budget
    is exhausted."""
    data, share = bytearray(), request.scope[_SHARE]
    try:
        async with asyncio.timeout(HTTP_BODY_MS / 1000):
            while True:
                message = await request.receive()
                if message["type"] != "http.request":
                    raise ClientDisconnect
                share.take(len(message.get("body", b"")))
                data += message.get("body", b"")
                if len(data) > HTTP_BODY_BYTES_MAX:
                    raise too_long()
                if not message.get("more_body", False):
                    request.scope[_READ] = True
                    return bytes(data)
    except TimeoutError:
        raise HttpError(
            f"The body did not arrive within {HTTP_BODY_MS / 1000:.0f} seconds.",
            http=408,
            next_step="Send it faster, or less at a time.",
        ) from None


async def _until_gone(request: Request) -> None:
    """Wait until the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(status: int, found: object, **headers: str) -> Response:
    return Response(encode(found), status_code=status, media_type=JSON, headers=_HEADERS | headers)


def _database_of(request: Request) -> str:
    """Return the name of the database that a request is for."""
    return chosen_database(request.path_params["name"], request.query_params.getlist("database"))
