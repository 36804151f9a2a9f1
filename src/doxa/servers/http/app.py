"""The way of one request, on the event loop: may it knock, who is it, what does it send, and an
answer whatever happens.

    gate -> route -> content type -> login -> body -> [a thread] units.Unit -> answer
                                      401     413, 408     statuses of problems.py

    GET  /                        what there is; needs a login
    GET  /health                  200, for whoever asks
    POST /db/{name}/query/v2      one statement, Neo4j's Query API
    POST /db/{name}/tx/commit     statements in one transaction, Neo4j's HTTP API

Nothing is read of a client that has not proved who it is. A client that goes away ends its
statement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from doxa.base.limits import (
    HTTP_BODY_BYTES_MAX,
    HTTP_BODY_MS,
    HTTP_HELD_BYTES_MAX,
    HTTP_THREADS_MAX,
)
from doxa.servers.contract import Database
from doxa.servers.credentials import Authenticator
from doxa.servers.http.answers import Answer, encode
from doxa.servers.http.bodies import read_mode
from doxa.servers.http.budget import Budget, Share
from doxa.servers.http.context import context_of
from doxa.servers.http.gate import JSON, Gate, accepted, check_length, content_type, too_long
from doxa.servers.http.login import Login
from doxa.servers.http.problems import HttpError, errors_of, http_status, log_unexpected
from doxa.servers.http.threads import Threads
from doxa.servers.http.units import Asker, Unit

_CANCEL_AGAIN_S = 0.05
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
_CLOSE, _SOON = {"Connection": "close"}, {"Retry-After": "1"}
_READ, _SHARE = (
    "doxa.read",
    "doxa.share",
)  # in the scope of a request: that its body is read; what it may hold

Endpoint = Callable[[Request], Awaitable[Response]]


class App:
    """What a server does with requests."""

    def __init__(
        self,
        database: Database,
        authenticator: Authenticator | None,
        *,
        host: str,
        version: str,
        timeout_ms: int,
    ) -> None:
        self.threads = Threads("http", HTTP_THREADS_MAX)
        self._database, self._version, self._timeout_ms = database, version, timeout_ms
        self._gate, self._login, self._budget = (
            Gate(host),
            Login(authenticator),
            Budget(HTTP_HELD_BYTES_MAX),
        )
        self._units: set[Unit] = set()
        routes = [
            Route("/", _told(self._discovery)),
            Route("/health", _told(self._health)),
            Route("/db/{name}/query/v2", _told(self._query), methods=["POST"]),
            Route("/db/{name}/tx/commit", _told(self._batch), methods=["POST"]),
        ]
        self._routed = Starlette(routes=routes, exception_handlers={HTTPException: _lost})
        self._routed.router.redirect_slashes = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "nothing else is served"
        request = Request(scope)
        try:
            self._gate.check(request.headers, scope["scheme"])
        except HttpError as error:
            await problem(error, close=True)(scope, receive, send)
            return
        share = scope[_SHARE] = Share(self._budget)
        try:
            await self._routed(scope, receive, send)
        finally:
            share.release()

    def end_all(self) -> None:
        """End what runs and what waits, without a trace of it."""
        for unit in self._units:
            unit.cancel()

    def close(self) -> None:
        self.threads.close()
        self._login.close()

    # Endpoints

    async def _health(self, request: Request) -> Response:
        return _json(200, {"status": "ok"})

    async def _discovery(self, request: Request) -> Response:
        await self._login.principal(request.headers.get("authorization"))
        found = {
            "doxa": self._version,
            "query": "/db/{databaseName}/query/v2",
            "transaction": "/db/{databaseName}/tx/commit",
            "health": "/health",
        }
        return _json(200, found | {"databases": list(self._database.names())})

    async def _query(self, request: Request) -> Response:
        with_types, media = content_type(request.headers), accepted(request.headers)
        asker, data = await self._asked(request)
        unit = Unit(self._database, asker, request.scope[_SHARE], timeout_ms=self._timeout_ms)
        return await self._carried_out(
            request, unit, lambda: unit.query(data, typed_parameters=with_types, media=media)
        )

    async def _batch(self, request: Request) -> Response:
        if content_type(request.headers) or accepted(request.headers) != JSON:
            raise HttpError(
                "This endpoint has no typed JSON.",
                http=415,
                next_step=f"Send and accept {JSON}, or use /db/{{name}}/query/v2.",
            )
        read_only = read_mode(request.headers.get("access-mode"))
        asker, data = await self._asked(request)
        unit = Unit(self._database, asker, request.scope[_SHARE], timeout_ms=self._timeout_ms)
        return await self._carried_out(request, unit, lambda: unit.batch(data, read_only=read_only))

    # Steps of the way

    async def _asked(self, request: Request) -> tuple[Asker, bytes]:
        """Who asks, and the body."""
        check_length(request.headers)
        context = context_of(request.headers.raw)
        principal = await self._login.principal(request.headers.get("authorization"))
        return Asker(principal, request.path_params["name"], context), await _body(request)

    async def _carried_out(
        self, request: Request, unit: Unit, call: Callable[[], Answer]
    ) -> Response:
        """The answer of a unit on its thread. It ends when its client goes away or the server has
        waited long enough."""
        self._units.add(unit)
        task = asyncio.create_task(self.threads.run(call, began=unit.begin))
        gone = asyncio.create_task(_until_gone(request))
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            while not task.done() and unit.began:
                unit.cancel()
                await asyncio.wait({task}, timeout=_CANCEL_AGAIN_S)
            if not task.done():
                raise ClientDisconnect
            return Chunked(task.result())
        finally:
            self._units.discard(unit)
            unit.cancel()
            task.cancel()
            gone.cancel()


class Chunked(Response):
    """An answer sent in pieces, so that a client that reads slowly holds up no more than one."""

    def __init__(self, answer: Answer) -> None:
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


def problem(error: BaseException, *, close: bool) -> Response:
    """The answer to a request that failed. `close`: its body was not read, so the next request
    cannot be told from it."""
    status = http_status(error)
    headers = (
        (error.headers if isinstance(error, HttpError) else {})
        | (_CLOSE if close else {})
        | (_SOON if status == 503 else {})
    )
    return _json(status, {"errors": errors_of(error)}, **headers)


def _told(endpoint: Endpoint) -> Endpoint:
    """The endpoint, with an answer for everything that it raises."""

    async def answered(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=499)  # nobody reads it
        except Exception as error:
            log_unexpected(error)
            return problem(error, close=request.method == "POST" and _READ not in request.scope)

    return answered


async def _lost(request: Request, error: Exception) -> Response:
    """Paths and methods that there are not."""
    assert isinstance(error, HTTPException)
    path, close = request.url.path, request.method not in ("GET", "HEAD")
    if error.status_code == 405:
        allowed = dict(error.headers or {})
        told = HttpError(
            f"{path[:80]} does not take {request.method[:20]}.",
            http=405,
            next_step=f"Use {allowed.get('Allow', 'another method')}.",
            headers=allowed,
        )
    elif "/tx" in path:
        told = HttpError(
            "There are no transactions over several requests.",
            http=404,
            next_step=(
                "Send all statements at once to /db/{name}/tx/commit, or open a transaction over"
                " Bolt."
            ),
        )
    else:
        told = HttpError(
            f"There is nothing at {path[:80]}.",
            http=404,
            next_step="Post to /db/{name}/query/v2; GET / says what there is.",
        )
    return problem(told, close=close)


async def _body(request: Request) -> bytes:
    """The whole body. Raises HttpError for one that is too long or too slow, or more than can be
    held now."""
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
    """Returns when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _json(status: int, found: object, **headers: str) -> Response:
    return Response(encode(found), status_code=status, media_type=JSON, headers=_HEADERS | headers)
