"""The login of a Bolt client: its name and password, or its token."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from doxa.base.errors import LimitError, StoreError
from doxa.servers import codes
from doxa.servers.bolt.failures import BoltError
from doxa.servers.credentials import ANONYMOUS, LoginThrottle, Principal

_LOG = logging.getLogger("doxa.bolt")


def authenticated(
    throttle: LoginThrottle | None,
    auth: Mapping[str, Any],
    *,
    connection_id: str,
    gone: Callable[[], bool],
) -> Principal:
    """Return who a client is. `gone`: whether it has left. Raises BoltError, which ends the
    conversation, if the login is wrong."""
    scheme, name, secret = (
        auth.get("scheme", "none"),
        auth.get("principal", ""),
        auth.get("credentials", ""),
    )
    found: Principal | None = None
    if throttle is None:
        found = Principal(name if isinstance(name, str) and name else ANONYMOUS, "operator")
    elif isinstance(secret, str) and isinstance(name, str):
        try:
            if scheme == "basic":
                found = throttle.verify(name, secret, gone=gone)
            elif scheme == "bearer":
                found = throttle.verify_token(secret)
        except LimitError as error:
            raise BoltError(
                error.message, status=codes.RATE_LIMIT, next_step=error.next_step, fatal=True
            ) from None
        except StoreError as error:  # its text names a file, and the client is not authenticated
            _LOG.error("%s: logins cannot be checked: %s", connection_id, error)
            raise BoltError(
                "Logins cannot be checked at the moment.",
                status=codes.STOPPING,
                next_step="Ask the operator to look into the server's log.",
                fatal=True,
            ) from None
    if found is None:
        if not gone():
            _LOG.warning("%s: a login as %.80r (%.20r) was refused", connection_id, name, scheme)
        raise BoltError(
            "Authentication failed: the name, password or token is wrong.",
            status=codes.UNAUTHORIZED,
            next_step="Log in with basic or bearer authentication and valid credentials.",
            fatal=True,
        )
    return found
