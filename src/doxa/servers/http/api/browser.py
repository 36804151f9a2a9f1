"""Browser sessions: a link that works once becomes a cookie that no script can read.

    link(principal) ─► /v1/session/open?code=...  ─► cookie: HttpOnly, SameSite=Strict, Path=/
      one use, API_LINK_MS                            API_BROWSER_SESSION_S, until it is ended

Codes and cookies are 256 random bits, of which the server keeps hashes. SameSite is about the
machine and not the port, so that a page of another port could still send the cookie: a request with
it is refused unless the browser says that it comes from this server itself (`check_own_page`).

Sources: RFC 6265bis, "SameSite"; W3C "Fetch Metadata Request Headers".
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from doxa.base.limits import (
    API_BROWSER_SESSION_S,
    API_BROWSER_SESSIONS_ITEMS_MAX,
    API_LINK_MS,
)
from doxa.servers.codes import FORBIDDEN, UNAUTHORIZED
from doxa.servers.credentials import Principal
from doxa.servers.http.errors import HttpError

COOKIE = "doxa-session"
_OWN_SITES = ("same-origin", "none")  # none: a person typed the address, or chose a bookmark


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """Who a browser acts for. `checked`: the login that made it must still exist."""

    principal: Principal
    until: float
    checked: bool


class BrowserSessions:
    """The links and sessions of one server. All methods are called from the event loop, `link` from
    any thread."""

    def __init__(
        self,
        knows: Callable[[Principal], bool] | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`knows` says whether a login with these rights still exists."""
        self._knows, self._clock = knows, clock
        self._links: OrderedDict[str, BrowserSession] = OrderedDict()
        self._open: OrderedDict[str, BrowserSession] = OrderedDict()

    def link(self, principal: Principal, *, checked: bool) -> str:
        """Return the code of a link that opens a session for a principal."""
        made = BrowserSession(principal, self._clock() + API_LINK_MS / 1000, checked)
        return _kept(self._links, made)

    def begin(self, code: str) -> str | None:
        """Return the cookie of a new session; None for a code that is used, too old or wrong."""
        link = self._links.pop(_digest(code), None)
        if link is None or link.until < self._clock():
            return None
        made = BrowserSession(link.principal, self._clock() + API_BROWSER_SESSION_S, link.checked)
        return _kept(self._open, made)

    def open(self, code: str) -> str:
        """Return the cookie of a new session. Raises HttpError for a code that is used, too old or
        wrong."""
        return opened_session(self.begin(code))

    def find(self, cookie: str) -> BrowserSession | None:
        """Return the session of a cookie, None if it is over."""
        digest = _digest(cookie)
        found = self._open.get(digest)
        if found is not None and (found.until < self._clock() or not self._still(found)):
            del self._open[digest]
            found = None
        return found

    def principal(self, cookie: str) -> Principal:
        """Return whom a cookie stands for. Raises HttpError if its session is over."""
        found = self.find(cookie)
        return principal_of(None if found is None else found.principal)

    def end(self, cookie: str) -> None:
        self._open.pop(_digest(cookie), None)

    def _still(self, session: BrowserSession) -> bool:
        return not session.checked or self._knows is None or self._knows(session.principal)


def opened_session(cookie: str | None) -> str:
    """Return the cookie of a new session. Raises HttpError if there is none."""
    if cookie is None:
        raise HttpError(
            "This link was used already, or is too old.",
            http=401,
            next_step="Ask for another one: doxa ui prints it.",
            status=UNAUTHORIZED,
        )
    return cookie


def principal_of(found: Principal | None) -> Principal:
    """Return whom a session stands for. Raises HttpError if there is none."""
    if found is None:
        raise HttpError(
            "This browser session is over.",
            http=401,
            next_step="Open another link: doxa ui prints one.",
            status=UNAUTHORIZED,
        )
    return found


def check_own_page(headers: Mapping[str, str], method: str) -> None:
    """Raise HttpError for a request with a cookie that a page of another origin may have sent. The
    Origin header, where there is one, was compared with the host before."""
    site = headers.get("sec-fetch-site")
    own = site is None or site.lower() in _OWN_SITES
    if not own or (method not in ("GET", "HEAD") and "origin" not in headers):
        raise HttpError(
            "A cookie is accepted from a page of this server alone.",
            http=403,
            next_step="Send a token in the Authorization header.",
            status=FORBIDDEN,
        )


def cookie_name(port: int) -> str:
    """Return the name of the cookie: browsers share cookies among the ports of a machine."""
    return f"{COOKIE}-{port}"


def cookie_header(name: str, value: str, *, secure: bool) -> str:
    """Return the Set-Cookie header that begins a session, or ends it (an empty value)."""
    age = API_BROWSER_SESSION_S if value else 0
    parts = [f"{name}={value}", "HttpOnly", "SameSite=Strict", "Path=/", f"Max-Age={age}"]
    return "; ".join([*parts, "Secure"] if secure else parts)


def _kept(held: OrderedDict[str, BrowserSession], made: BrowserSession) -> str:
    secret = secrets.token_urlsafe(32)
    held[_digest(secret)] = made
    while len(held) > API_BROWSER_SESSIONS_ITEMS_MAX:
        held.popitem(last=False)
    return secret


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()
