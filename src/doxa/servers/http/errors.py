"""Error responses: an HTTP status and a body with the Neo4j code, by which programs decide.

{"errors": [{"code": "Neo.ClientError.Statement.SyntaxError",
             "message": "what happened, to what, and what to do next"}]}
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from typing import Any

from doxa.base.errors import DiskFullError, DoxaError
from doxa.servers import codes
from doxa.servers.codes import RequestError, Status, message_of, status_of

_LOG = logging.getLogger("doxa.http")

_BY_CODE = {
    codes.UNAUTHORIZED.code: 401,
    codes.RATE_LIMIT.code: 429,
    codes.FORBIDDEN.code: 403,
    codes.DATABASE_NOT_FOUND.code: 404,
    codes.TERMINATED.code: 503,
    "Neo.ClientError.Statement.AccessMode": 403,
    "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase": 403,
    "Neo.ClientError.Schema.ConstraintValidationFailed": 409,
    # the client's mistakes, which Neo4j's codes call the database's
    codes.CONSTRAINT_CREATION_FAILED.code: 409,
    "Neo.DatabaseError.Schema.IndexDropFailed": 400,
    "Neo.DatabaseError.Schema.ConstraintDropFailed": 400,
    "Neo.DatabaseError.Transaction.TransactionStartFailed": 400,
}
_BY_KIND = {"ClientError": 400, "TransientError": 503}


class HttpError(RequestError):
    """A request rejected before any of it is executed, with the status and headers of the
    response."""

    code = "http"

    def __init__(
        self,
        message: str,
        *,
        http: int,
        next_step: str,
        status: Status = codes.REQUEST_INVALID,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, status=status, next_step=next_step)
        self.http = http
        self.headers = dict(headers or {})


def http_status(error: BaseException) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, HttpError):
        return error.http
    if isinstance(error, DiskFullError):  # which Neo4j has no code for
        return 507
    code = status_of(error).code
    return _BY_CODE.get(code) or _BY_KIND.get(code.split(".")[1], 500)


def errors_of(error: BaseException) -> list[dict[str, Any]]:
    """Return the `errors` member of a response."""
    return [{"code": status_of(error).code, "message": message_of(error)}]


def log_unexpected(error: BaseException) -> None:
    """Log the traceback of an unexpected error without its text, which may quote client data."""
    if not isinstance(error, DoxaError):
        places = "".join(traceback.format_tb(error.__traceback__))
        _LOG.error("an unexpected %s\n%s", type(error).__name__, places)
