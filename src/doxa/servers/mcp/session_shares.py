"""The sessions of the protocol that are open over HTTP, shared fairly among logins.

The SDK refuses every new session when there are as many as are allowed, even if one login has all.
Before a session is opened that would be one too many, the oldest one of the login that has the most
ends here, as if its client had ended it. A login that opens session after session so ends its own.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from doxa.servers.credentials import Principal

_SESSION, _VERSION = "mcp-session-id", "mcp-protocol-version"
# of the scope of a request, in one that ends a session
_KEPT = ("type", "asgi", "http_version", "scheme", "path", "root_path", "server", "client")

_IDLE_S: float = DEFAULT_SESSION_IDLE_TIMEOUT  # after which the SDK ends one

ScopeFor = Callable[[Principal], Mapping[str, Any]]


class SessionShares:
    """The ASGI application of the protocol, whose sessions are counted by login."""

    def __init__(self, app: ASGIApp, sessions_max: int, scope_for: ScopeFor) -> None:
        """`scope_for` returns what the scope of a request has of its login."""
        self._app, self._most, self._scope_for = app, sessions_max, scope_for
        self._opening: Counter[Principal] = Counter()
        # when each was used last, these at the end
        self._open: dict[Principal, OrderedDict[str, float]] = {}

    async def serve(self, principal: Principal, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of a login."""
        headers = Headers(scope=scope)
        version = headers.get(_VERSION)
        scope.update(self._scope_for(principal))
        named = headers.get(_SESSION)
        if version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._app(scope, receive, send)  # without sessions
        elif named is None:
            await self._opened(principal, scope, receive, send)
        else:
            await self._used(principal, named, scope, receive, send)

    async def _opened(
        self, principal: Principal, scope: Scope, receive: Receive, send: Send
    ) -> None:
        counted = True
        self._opening[principal] += 1

        def opened() -> None:
            nonlocal counted
            self._opening[principal] -= counted
            counted = False
            if self._opening[principal] <= 0:
                del self._opening[principal]

        def note(status: int, headers: Headers) -> None:
            opened()
            if status < 400 and _SESSION in headers:
                now = time.monotonic()
                self._open.setdefault(principal, OrderedDict())[headers[_SESSION]] = now

        try:
            while self._count() > self._most and await self._end_one(scope):
                pass
            await self._app(scope, receive, _noting(send, note))
        finally:
            if counted:
                opened()

    async def _used(
        self, principal: Principal, named: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        def note(status: int, _: Headers) -> None:
            if status == 404 or (scope["method"] == "DELETE" and status < 300):
                self._forget(principal, named)
            elif status < 300:
                self._open.setdefault(principal, OrderedDict())[named] = time.monotonic()

        self._touch(principal, named)
        await self._app(scope, receive, _noting(send, note))
        self._touch(principal, named)  # a stream may have lasted

    def _touch(self, principal: Principal, named: str) -> None:
        mine = self._open.get(principal, ())
        if named in mine:
            self._open[principal][named] = time.monotonic()
            self._open[principal].move_to_end(named)

    def _forget(self, principal: Principal, named: str) -> None:
        mine = self._open.get(principal)
        if mine is not None:
            mine.pop(named, None)
            if not mine:
                del self._open[principal]

    def _count(self) -> int:
        """How many sessions are open, or being opened; without those that the SDK has ended."""
        for principal in list(self._open):
            for named, used in list(self._open[principal].items()):
                if time.monotonic() - used < _IDLE_S:
                    break  # those behind it were used later
                self._forget(principal, named)
        return sum(self._opening.values()) + sum(map(len, self._open.values()))

    async def _end_one(self, scope: Scope) -> bool:
        """End the oldest session of the login with the most, those that are being opened counted;
        return whether it has one."""
        holder = max(
            {*self._open, *self._opening},
            key=lambda one: len(self._open.get(one, ())) + self._opening[one],
        )
        if holder not in self._open:
            return False
        named = next(iter(self._open[holder]))
        self._forget(holder, named)
        ending = {key: scope[key] for key in _KEPT if key in scope} | {
            "method": "DELETE",
            "query_string": b"",
            "headers": [(_SESSION.encode(), named.encode())],
        }
        await self._app(ending | dict(self._scope_for(holder)), _no_body, _heard_by_nobody)
        return True


def _noting(send: Send, note: Callable[[int, Headers], None]) -> Send:
    async def noted(message: Message) -> None:
        if message["type"] == "http.response.start":
            note(message["status"], Headers(raw=list(message.get("headers", ()))))
        await send(message)

    return noted


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _heard_by_nobody(_: Message) -> None:
    return None
