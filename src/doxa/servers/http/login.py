"""Authenticate requests by the Authorization header: Basic with a name and password, or Bearer with
a token, as in Bolt.

Every HTTP request is a login, and verifying a password deliberately takes about 60 ms. A correct
password is therefore cached for a few seconds under a keyed hash that only this process can
compute; a removed user is rejected after that time. Wrong passwords are never cached and are
throttled.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from doxa.base.errors import LimitError, StoreError
from doxa.base.limits import (
    HTTP_LOGIN_KEPT_MS,
    HTTP_LOGIN_THREADS_MAX,
    LOGIN_PAUSE_MS,
    LOGIN_SECRET_BYTES_MAX,
    LOGIN_USERS_ITEMS_MAX,
)
from doxa.servers import codes
from doxa.servers.credentials import ANONYMOUS, Authenticator, Principal
from doxa.servers.http.errors import HttpError
from doxa.servers.http.thread_pool import ThreadPool

_LOG = logging.getLogger("doxa.http")
_CHALLENGE = {"WWW-Authenticate": 'Basic realm="doxa", charset="UTF-8", Bearer realm="doxa"'}


class Login:
    """Authenticates the requests of one server. Without an authenticator everybody is operator."""

    def __init__(self, authenticator: Authenticator | None) -> None:
        self._authenticator = authenticator
        self._passwords, self._tokens = (
            ThreadPool("http-password", HTTP_LOGIN_THREADS_MAX),
            ThreadPool("http-token", HTTP_LOGIN_THREADS_MAX),
        )
        self._key = secrets.token_bytes(32)
        self._right: dict[bytes, tuple[Principal, float]] = {}

    async def principal(self, authorization: str | None) -> Principal:
        """Authenticate a request. Raises HttpError if the header is missing or wrong."""
        authenticator = self._authenticator
        if authenticator is None:
            return Principal(ANONYMOUS, "operator")
        if authorization is None:
            _refuse("The request has no credentials.")
        scheme, _, rest = authorization.partition(" ")
        if scheme.lower() == "basic":
            name, password = _basic(rest.strip())
            whom = f"as {name[:80]!r}"
            proof = partial(self._with_password, authenticator, name, password)
            found = self._known(self._digest(name, password)) or await self._asked(
                self._passwords, proof
            )
        elif scheme.lower() == "bearer":
            whom, found = (
                "with a token",
                await self._asked(self._tokens, partial(authenticator.verify_token, rest.strip())),
            )
        else:
            _refuse(f"The authentication scheme {scheme[:20]!r} is not supported.")
        if found is None:
            _LOG.warning("http: a login %s was refused", whom)
            _refuse("The name, password or token is wrong.")
        return found

    @property
    def knows(self) -> Callable[[Principal], bool] | None:
        """Return what says whether a login with these rights still exists; None if nothing does."""
        return getattr(self._authenticator, "knows", None)

    def close(self) -> None:
        self._passwords.close()
        self._tokens.close()

    async def _asked(
        self, threads: ThreadPool, call: Callable[[], Principal | None]
    ) -> Principal | None:
        try:
            return await threads.run(call)
        except LimitError as error:
            raise HttpError(
                error.message,
                http=429,
                next_step=error.next_step,
                status=codes.RATE_LIMIT,
                headers={"Retry-After": str(LOGIN_PAUSE_MS // 1000)},
            ) from None
        except StoreError as error:  # its text names a file, and the client is not authenticated
            _LOG.error("http: logins cannot be checked: %s", error)
            raise HttpError(
                "Logins cannot be checked at the moment.",
                http=503,
                next_step="Ask the operator to look into the server's log.",
                status=codes.STOPPING,
            ) from None

    def _with_password(
        self, authenticator: Authenticator, name: str, password: str
    ) -> Principal | None:
        """Verify a password, on a thread. A concurrent request may have cached it already."""
        digest = self._digest(name, password)
        found = self._known(digest) or authenticator.verify(name, password)
        if found is not None:
            if len(self._right) >= LOGIN_USERS_ITEMS_MAX:
                self._right.clear()
            self._right.setdefault(digest, (found, time.monotonic() + HTTP_LOGIN_KEPT_MS / 1000))
        return found

    def _known(self, digest: bytes) -> Principal | None:
        found, until = self._right.get(digest, (None, 0.0))
        if found is not None and until < time.monotonic():
            self._right.pop(digest, None)
            return None
        return found

    def _digest(self, name: str, password: str) -> bytes:
        both = name.encode(errors="surrogatepass"), password.encode(errors="surrogatepass")
        return hashlib.blake2b(
            b"".join(len(part).to_bytes(8, "big") + part for part in both), key=self._key
        ).digest()


def _basic(text: str) -> tuple[str, str]:
    try:
        data = base64.b64decode(text, validate=True)
        name, colon, password = data.decode().partition(":")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        colon = ""
    if not colon or len(data) > 2 * LOGIN_SECRET_BYTES_MAX:
        _refuse("The basic credentials cannot be decoded.")
    return name, password


def _refuse(message: str) -> NoReturn:
    step = "Log in with basic or bearer authentication and valid credentials."
    raise HttpError(
        message, http=401, next_step=step, status=codes.UNAUTHORIZED, headers=_CHALLENGE
    )
