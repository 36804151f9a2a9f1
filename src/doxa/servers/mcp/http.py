"""MCP over streamable HTTP: one address for both protocol eras, with the tokens of the other
servers.

    POST, GET, DELETE /mcp                          the protocol
    GET /.well-known/oauth-protected-resource[/mcp] RFC 9728: how to authenticate
    GET /health                                     200, without a login

    Host, Origin (421, 403) → path (404) → bearer token (401) → right to this memory (403) → the SDK

The server is a resource server and issues no tokens: `doxa users token` makes them. A request has
the session of its login: name, role and projects. Without logins, which only a loopback address
may do, everybody on this machine is an agent.

Sources: MCP 2026-07-28, "Authorization" and "Streamable HTTP"; RFC 6750, RFC 9728.
"""

from __future__ import annotations

import asyncio
import json
import logging
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from doxa.app import Session
from doxa.base.errors import LimitError, StoreError
from doxa.base.ids import Role
from doxa.base.limits import (
    HTTP_LOGIN_THREADS_MAX,
    HTTP_STOP_MS,
    LOGIN_PAUSE_MS,
    MCP_BODY_BYTES_MAX,
    MCP_SESSIONS_ITEMS_MAX,
)
from doxa.servers.credentials import ANONYMOUS, Authenticator, Principal, throttled
from doxa.servers.http.accepting import HttpAcceptor
from doxa.servers.http.errors import HttpError
from doxa.servers.http.headers import OriginCheck
from doxa.servers.http.server import QuietUvicorn, open_listener, uvicorn_config
from doxa.servers.http.thread_pool import ThreadPool
from doxa.servers.listening import BACKLOG, require_safe, running, tls_context
from doxa.servers.mcp.server import Context, MemoryServer
from doxa.servers.mcp.serving import memory_server
from doxa.servers.mcp.session_shares import SessionShares
from doxa.servers.mcp.tools import profile_of
from doxa.servers.memory import MemoryDatabase
from doxa.servers.prefork.counters import LocalCounter
from doxa.servers.sharing import Share

PORT = 7475
PATH = "/mcp"
SCOPE = "memory"  # what every login of a memory has
SESSION = "doxa/session"  # in the `_meta` of a request: the conversation that it belongs to
_METADATA = "/.well-known/oauth-protected-resource"
_HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
_LOG = logging.getLogger("doxa.mcp")
_LOOK_S = 0.02

SessionFor = Callable[[Principal, Mapping[str, str]], Session]


class Sessions:
    """The doxa sessions of logins: one for each conversation of each, the last ones kept."""

    def __init__(self, make: SessionFor) -> None:
        self._make, self._run = make, uuid.uuid4().hex
        self._kept: OrderedDict[tuple[Principal, str], Session] = OrderedDict()

    def of(self, context: Context) -> Session:
        """Return the session of a request."""
        request = _request(context)
        principal: Principal = request.scope["doxa.principal"]
        key = (principal, self._conversation(context, request))
        found = self._kept.get(key)
        if found is None:
            names = {"session": key[1], "agent": principal.name}
            found = self._kept[key] = self._make(principal, names)
            while len(self._kept) > MCP_SESSIONS_ITEMS_MAX:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return found

    def _conversation(self, context: Context, request: Request) -> str:
        """The host's own name of the conversation, or the protocol's; else all calls of a login
        are one."""
        meta: Mapping[str, Any] = context.meta or {}
        named = meta.get(SESSION) or request.headers.get("mcp-session-id") or self._run
        return str(named)[:200]


def _request(context: Context) -> Request:
    assert isinstance(context.request, Request), "it came over HTTP"
    return context.request


class McpApp:
    """The ASGI application of one server."""

    def __init__(
        self,
        server: MemoryServer,
        authenticator: Authenticator | None,
        *,
        host: str,
        database: str = "",
        anonymous: Role = "agent",
    ) -> None:
        self._authenticator, self._database = authenticator, database
        self._nobody = Principal(ANONYMOUS, anonymous)
        self._origin_check = OriginCheck(host)
        self._threads = ThreadPool("mcp-token", HTTP_LOGIN_THREADS_MAX)
        self.manager = StreamableHTTPSessionManager(
            server.sdk,
            max_request_body_size=MCP_BODY_BYTES_MAX,
            max_sessions=MCP_SESSIONS_ITEMS_MAX,
        )
        protocol = AuthContextMiddleware(self.manager.asgi_app)
        self._protocol = SessionShares(protocol, MCP_SESSIONS_ITEMS_MAX, _scope_of)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http", "nothing else is served"
        headers = Headers(scope=scope)
        try:
            self._origin_check.check(headers, scope["scheme"])
        except HttpError as error:
            await _refuse(send, error.http, error.message, error.next_step)
            return
        path = scope["path"]
        if path == "/health":
            await _json(send, 200, {"status": "ok"})
        elif path in (_METADATA, _METADATA + PATH):
            await _json(send, 200, self._metadata(scope, headers))
        elif path != PATH:
            await _refuse(send, 404, f"There is nothing at {path[:80]}.", f"Use {PATH}.")
        else:
            await self._authenticated(scope, receive, send, headers)

    def close(self) -> None:
        self._threads.close()

    async def _authenticated(
        self, scope: Scope, receive: Receive, send: Send, headers: Headers
    ) -> None:
        try:
            principal = await self._principal(headers)
        except _Denied as denied:
            more = {} if denied.status in (429, 503) else self._challenge(scope, headers, denied)
            more |= {"retry-after": str(LOGIN_PAUSE_MS // 1000)} if denied.status == 429 else {}
            await _refuse(send, denied.status, denied.text, denied.step, **more)
            return
        await self._protocol.serve(principal, scope, receive, send)

    async def _principal(self, headers: Headers) -> Principal:
        if self._authenticator is None:
            return self._nobody
        given = headers.getlist("authorization")
        if not given:
            raise _Denied(401, "", "The request has no token.")
        scheme, _, token = given[0].partition(" ")
        if len(given) > 1 or scheme.lower() != "bearer" or not token.strip():
            raise _Denied(401, "invalid_request", "The Authorization header has no bearer token.")
        verify, token = self._authenticator.verify_token, token.strip()
        try:
            found = await self._threads.run(lambda: verify(token))
        except LimitError as error:
            raise _Denied(429, "", error.message, error.next_step) from None
        except StoreError as error:  # its text names a file, and the client is not authenticated
            _LOG.error("mcp: logins cannot be checked: %s", error)
            raise _Denied(503, "", "Logins cannot be checked at the moment.") from None
        if found is None:
            _LOG.warning("mcp: a login with a token was refused")
            raise _Denied(401, "invalid_token", "The token is wrong.")
        if self._database and not found.may_use(self._database):
            raise _Denied(403, "insufficient_scope", "This login may not use this memory.")
        return found

    def _challenge(self, scope: Scope, headers: Headers, denied: _Denied) -> dict[str, str]:
        """RFC 6750 and RFC 9728: what was wrong, and where to read how to authenticate."""
        parts = ['Bearer realm="doxa"']
        if denied.error:
            parts.append(f'error="{denied.error}", error_description="{denied.text}"')
        parts.append(f'scope="{SCOPE}"')
        parts.append(f'resource_metadata="{_base(scope, headers)}{_METADATA}{PATH}"')
        return {"www-authenticate": ", ".join(parts)}

    def _metadata(self, scope: Scope, headers: Headers) -> dict[str, Any]:
        return {
            "resource": _base(scope, headers) + PATH,
            "resource_name": "doxa memory",
            "bearer_methods_supported": ["header"],
            "scopes_supported": [SCOPE],
        }


def _scope_of(principal: Principal) -> dict[str, Any]:
    """Return what the scope of a request has of its login."""
    token = AccessToken(
        token="",
        client_id=principal.name,
        scopes=[SCOPE, principal.role],
        subject=f"{principal.name} {principal.role} {' '.join(principal.projects)}",
    )
    return {"doxa.principal": principal, "user": AuthenticatedUser(token)}


class _Denied(Exception):
    """Why a request is not served: the status, the error code of RFC 6750, and the words."""

    def __init__(self, status: int, error: str, text: str, step: str = "") -> None:
        super().__init__(text)
        self.status, self.error, self.text = status, error, text
        self.step = step or "Send a token of `doxa users token` as a bearer token."


def _base(scope: Scope, headers: Headers) -> str:
    """The address under which the client reached this server."""
    return f"{scope['scheme']}://{headers.get('host', '')}"


async def _refuse(send: Send, status: int, text: str, step: str, **headers: str) -> None:
    """Respond with an error. The body of the request was not read, so the connection ends."""
    body = {"error": {"message": text, "next_step": step}}
    await _json(send, status, body, connection="close", **headers)


async def _json(send: Send, status: int, body: object, **headers: str) -> None:
    data = json.dumps(body).encode()
    named = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(data)).encode()),
                *_HEADERS,
                *named,
            ],
        }
    )
    await send({"type": "http.response.body", "body": data})


class McpServer:
    """Serves MCP on an address. Without an authenticator no login is required, which is allowed on
    a loopback address only."""

    def __init__(
        self,
        server: MemoryServer,
        authenticator: Authenticator | None,
        *,
        host: str = "127.0.0.1",
        port: int = PORT,
        certificate: str | Path | None = None,
        key: str | Path | None = None,
        plaintext: bool = False,
        database: str = "",
        share: Share | None = None,
    ) -> None:
        """Raise InputError for an address that requires a login or TLS and has none, and for an
        unusable certificate. One process serves an address: sessions and questions live in it."""
        self._share = share or Share()
        self.host, self.port = host, port
        self._tls = tls_context(certificate, key) if certificate or key else None
        require_safe(
            host, login=authenticator is not None, encrypted=self._tls is not None or plaintext
        )
        self._app = McpApp(server, throttled(authenticator), host=host, database=database)
        self._uvicorn = QuietUvicorn(uvicorn_config(self._app))
        self._acceptor: HttpAcceptor | None = None
        self._asked, self._ready = asyncio.Event(), asyncio.Event()
        self._managing: asyncio.Task[None] | None = None
        self._serving: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start to listen; `port` is then the actual port. Raises StoreError if the address is in
        use or not available."""
        shared = self._share.listeners("mcp")
        listener = shared[0] if shared else open_listener("MCP", self.host, self.port)
        self.port = listener.getsockname()[1]
        self._managing = asyncio.create_task(self._manage())
        await self._ready.wait()
        self._serving = asyncio.create_task(self._uvicorn.serve(sockets=[]))
        while not self._uvicorn.started and not self._serving.done():
            await asyncio.sleep(_LOOK_S)
        if self._serving.done():
            self._serving.result()
        self._acceptor = HttpAcceptor(
            self._uvicorn,
            [listener],
            self._tls,
            LocalCounter(),
            at_once=BACKLOG,
            share=self._share,
        )

    async def _manage(self) -> None:
        """Keep the SDK's sessions, in a task of its own from beginning to end."""
        async with self._app.manager.run():
            self._ready.set()
            await self._asked.wait()

    async def stop(self, grace_ms: int = HTTP_STOP_MS) -> None:
        """Accept no more requests, wait for running ones up to the grace period, then cancel
        them."""
        if self._serving is None or self._managing is None or self._asked.is_set():
            return
        self._uvicorn.should_exit = True
        if self._acceptor is not None:
            self._acceptor.close()
        self._asked.set()  # ends the streams, which have no end of their own
        await self._managing
        await asyncio.wait({self._serving}, timeout=grace_ms / 1000)
        self._uvicorn.force_exit = True
        for connection in list(self._uvicorn.server_state.connections):
            connection.transport.abort()
        await self._serving
        self._app.close()

    def reload(self) -> None:
        """Read the certificate again, for connections to come. Raises InputError if it cannot be
        used."""
        if self._tls is not None:
            self._tls.reload()

    @property
    def uri(self) -> str:
        """The URI for clients."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{PATH}"


def http_server(
    make: SessionFor,
    authenticator: Authenticator | None,
    *,
    version: str = "",
    profile: str = "core",
    role: Role = "operator",
    **options: Any,
) -> McpServer:
    """Build a server of the sessions that `make` makes of logins. `role` is the highest of them:
    a tool for operators is listed only where there may be one."""
    highest: Role = role if authenticator is not None else "agent"
    sessions = Sessions(make)
    server = memory_server(
        sessions.of,
        profile_of(profile, role=highest, local=False),
        version=version,
        local=False,
        principal=_subject,
    )
    return McpServer(server, authenticator, **options)


def memory_http_server(
    database: MemoryDatabase, authenticator: Authenticator | None, **options: Any
) -> McpServer:
    """Build a server of an open memory, which it serves under the name of its database."""

    def make(principal: Principal, names: Mapping[str, str]) -> Session:
        return database.session_of(principal, context=names)

    name = database.name
    return http_server(make, authenticator, database=name, **options)


def _subject(context: Context) -> str | None:
    """What the state of a question is bound to: the login that was asked."""
    principal: Principal = _request(context).scope["doxa.principal"]
    return json.dumps(principal)


@contextmanager
def running_mcp_server(
    make: SessionFor, authenticator: Authenticator | None, **options: Any
) -> Iterator[McpServer]:
    """Run a server on a separate thread: it listens when the block begins and stops at its end. By
    default it uses a free port."""
    with running(http_server(make, authenticator, **{"port": 0, **options})) as server:
        yield server
