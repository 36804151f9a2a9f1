"""What belongs to a server of several workers as a whole; the supervisor holds it.

Wrong passwords, the rates of logins, links and browser sessions: each worker asks for them here, so
that they are the same whichever worker a request reaches, and remain when a worker ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from doxa.base.limits import API_BURST_ITEMS_MAX, API_PER_S_ITEMS_MAX
from doxa.servers.credentials import Admission, FailedLogins, Principal
from doxa.servers.prefork.channel import CallFailed


class ServerState:
    """The state, as calls by name."""

    def __init__(self, *, http: bool) -> None:
        """`http`: whether HTTP is served, whose extra is then installed."""
        failures = FailedLogins()
        self._calls: dict[str, Callable[..., Any]] = {
            "login.blocked": failures.blocked,
            "login.admit": failures.admit,
            "login.note": failures.note,
        }
        if http:
            from doxa.servers.http.api.browser import BrowserSessions
            from doxa.servers.http.api.rates import RequestRate

            self._sessions = BrowserSessions(None)  # workers ask whether a login still exists
            self._calls |= {
                "rate": RequestRate(API_PER_S_ITEMS_MAX, API_BURST_ITEMS_MAX).wait,
                "link": self._link,
                "session.open": self._sessions.begin,
                "session.find": self._find,
                "session.end": self._sessions.end,
            }

    def answer(self, name: str, args: list[Any]) -> Any:
        """Answer a call of a worker. Raises CallFailed for a name that there is not."""
        found = self._calls.get(name)
        if found is None:
            raise CallFailed(f"There is no call {name!r}.", next_step="Restart the server.")
        return found(*args)

    def _link(self, principal: list[Any], checked: bool) -> str:
        return self._sessions.link(_principal(principal), checked=checked)

    def _find(self, cookie: str) -> tuple[Principal, bool] | None:
        found = self._sessions.find(cookie)
        return None if found is None else (found.principal, found.checked)


def _principal(sent: list[Any]) -> Principal:
    name, role, projects, databases = sent
    return Principal(name, role, tuple(projects), tuple(databases))


class FailuresElsewhere:
    """The wrong passwords that the supervisor counts. Called on threads that verify passwords."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def blocked(self, name: str) -> bool:
        return bool(self._call("login.blocked", name))

    def admit(self, name: str) -> Admission:
        return cast(Admission, self._call("login.admit", name))

    def note(self, name: str, right: bool | None) -> None:
        self._call("login.note", name, right)
