"""What is remembered about callers between their requests: browser sessions, links that open them,
and how often each login calls.

It belongs to the server as a whole. A server that runs alone holds it (`CallersHere`); for workers
the supervisor holds it (`CallersElsewhere`), so that each of them knows what another one began.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from doxa.servers.codes import STOPPING
from doxa.servers.credentials import Principal
from doxa.servers.http.api.browser import BrowserSessions, opened_session, principal_of
from doxa.servers.http.api.rates import RequestRate, check_rate
from doxa.servers.http.errors import HttpError
from doxa.servers.prefork.channel import CallFailed
from doxa.servers.sharing import Calls


class Callers(Protocol):
    """Every method may raise HttpError."""

    async def take(self, name: str) -> None:
        """Count a request of a login, 429 where it sends too many."""

    async def link(self, principal: Principal, *, checked: bool) -> str:
        """Return the code of a link that opens a session, once."""

    async def open(self, code: str) -> str:
        """Return the cookie of a new session."""

    async def principal(self, cookie: str) -> Principal:
        """Return whom a cookie stands for."""

    async def end(self, cookie: str) -> None:
        """End a session."""


class CallersHere:
    """Held by this process."""

    def __init__(self, sessions: BrowserSessions, rate: RequestRate) -> None:
        self._sessions, self._rate = sessions, rate

    async def take(self, name: str) -> None:
        self._rate.take(name)

    async def link(self, principal: Principal, *, checked: bool) -> str:
        return self._sessions.link(principal, checked=checked)

    async def open(self, code: str) -> str:
        return self._sessions.open(code)

    async def principal(self, cookie: str) -> Principal:
        return self._sessions.principal(cookie)

    async def end(self, cookie: str) -> None:
        self._sessions.end(cookie)


class CallersElsewhere:
    """Held by the supervisor. Whether a login still exists is asked here, where logins are read."""

    def __init__(
        self, calls: Calls, knows: Callable[[Principal], bool] | None, per_s: float
    ) -> None:
        self._calls, self._knows, self._per_s = calls, knows, per_s

    async def take(self, name: str) -> None:
        if self._per_s:
            check_rate(float(await self._call("rate", name)), self._per_s)

    async def link(self, principal: Principal, *, checked: bool) -> str:
        return str(await self._call("link", principal, checked))

    async def open(self, code: str) -> str:
        return opened_session(await self._call("session.open", code))

    async def principal(self, cookie: str) -> Principal:
        found = await self._call("session.find", cookie)
        if found is None:
            return principal_of(None)
        principal, checked = principal_from(found[0]), found[1]
        if checked and self._knows is not None and not self._knows(principal):
            await self.end(cookie)
            return principal_of(None)
        return principal

    async def end(self, cookie: str) -> None:
        await self._call("session.end", cookie)

    async def _call(self, name: str, *args: object) -> Any:
        try:
            return await self._calls.call(name, *args)
        except CallFailed as error:
            raise HttpError(
                error.message, http=503, next_step=error.next_step, status=STOPPING
            ) from None


def principal_from(sent: list[Any]) -> Principal:
    """Return a principal that was sent from process to process as JSON."""
    name, role, projects, databases = sent
    return Principal(name, role, tuple(projects), tuple(databases))
