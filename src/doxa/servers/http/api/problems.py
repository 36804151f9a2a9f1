"""Errors as problem details: the codes and texts of every other interface, with a status.

    {"type": "urn:doxa:problem:not_found", "title": "Not found", "status": 404,
     "detail": what happened, to what, "code": "not_found",
     "next_step": what to do, "fields": {...}}

Source: RFC 9457.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from doxa.base.errors import DoxaError, LimitError
from doxa.servers.codes import RequestError
from doxa.servers.http.errors import http_status
from doxa.servers.http.messages import HEADERS
from doxa.servers.http.responses import encode

MEDIA = "application/problem+json"
# By the code of an error: the status, and the title that all of its kind share.
_KINDS: Mapping[str, tuple[int, str]] = {
    "input": (422, "A value cannot be used"),
    "kref": (422, "An address cannot be used"),
    "limit": (422, "A limit is exceeded"),
    "query": (422, "A statement cannot be used"),
    "error": (422, "The call failed"),
    "not_found": (404, "Not found"),
    "conflict": (409, "The state is another"),
    "constraint": (409, "A rule rejects the write"),
    "confirmation": (409, "A preview must be confirmed"),
    "role": (403, "The role may not do this"),
    "read_only": (403, "The memory is read-only"),
    "model": (424, "A model is missing or failed"),
    "store": (409, "The file does not allow it"),
    "busy": (503, "Another writer holds the memory"),
    "closed": (503, "The server is stopping"),
    "corrupt": (503, "The memory is damaged"),
    "newer_file": (503, "The memory is newer than the server"),
    "unreachable": (503, "The shared log, or Redis, does not answer"),
    "disk_full": (507, "No space is left"),
}
# What is refused before a verb is called, by its status.
_REFUSED: Mapping[int, tuple[str, str]] = {
    400: ("request", "The request does not follow its schema"),
    401: ("unauthenticated", "The login is missing or wrong"),
    403: ("forbidden", "The request is refused"),
    404: ("not_found", "Not found"),
    405: ("method", "The method is not supported"),
    406: ("not_acceptable", "No accepted content type is supported"),
    408: ("timeout", "The request did not arrive in time"),
    412: ("precondition", "The state is another"),
    413: ("too_large", "The body is too long"),
    415: ("content_type", "The content type is not supported"),
    421: ("host", "The request is for another host"),
    429: ("rate", "Too many requests"),
    503: ("unavailable", "The server cannot answer now"),
}
CODES = tuple(dict.fromkeys((*_KINDS, *(code for code, _ in _REFUSED.values()), "internal")))
_RETRY = {"Retry-After": "1"}
_UNEXPECTED = "The server failed for a reason that doxa did not expect."


def problem_of(
    error: BaseException, *, called: bool = True, if_match: bool = False
) -> dict[str, Any]:
    """Return an error as problem details. `called`: a verb raised it; otherwise the request did not
    follow its schema. `if_match`: the request had that header, so that a comparison that failed is
    the precondition."""
    if isinstance(error, RequestError):
        status = http_status(error)
        code, title = _REFUSED.get(status, ("request", "The request is refused"))
        return _problem(code, title, status, error.message, error.next_step, {})
    if not isinstance(error, DoxaError):
        step = "Report it, with the server's log, which has the details."
        return _problem("internal", "An unexpected error", 500, _UNEXPECTED, step, {})
    status, title = _KINDS.get(error.code, _KINDS["error"])
    if not called and status == 422:
        status, title = 400, _REFUSED[400][1]
    if if_match and error.code == "conflict" and "expected" in error.fields:
        status = 412
    if isinstance(error, LimitError) and error.fields.get("quota") == "writes_per_minute":
        status = 429
    fields = msgspec.to_builtins(error.fields, enc_hook=str)
    return _problem(error.code, title, status, error.message, error.next_step, fields)


def _problem(
    code: str, title: str, status: int, detail: str, step: str, fields: Any
) -> dict[str, Any]:
    return {
        "type": f"urn:doxa:problem:{code}",
        "title": title,
        "status": status,
        "detail": _sendable(detail),
        "code": code,
        "next_step": _sendable(step),
        "fields": _sendable(fields),
    }


def _sendable(value: Any) -> Any:
    """Return a value that UTF-8 has: what a caller sent may quote half of a character."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sendable(str(name)): _sendable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_sendable(one) for one in value]
    return value


def problem_response(
    problem: Mapping[str, Any], *, headers: Mapping[str, str] | None = None, close: bool = False
) -> Response:
    """Build a response. `close`: the body of the request was not read, so that the rest of it would
    be taken for the next request."""
    status = problem["status"]
    more = dict(headers or {})
    is_unknown = problem["fields"].get("outcome") == "unknown"  # to be looked at before a retry
    if status in (429, 503) and problem["code"] not in ("corrupt", "newer_file") and not is_unknown:
        more = _RETRY | more
    if close:
        more["Connection"] = "close"
    return Response(encode(problem), status_code=status, media_type=MEDIA, headers=HEADERS | more)


SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Problem details (RFC 9457). Decide by `code`.",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, and to what."},
        "code": {"type": "string", "enum": list(CODES)},
        "next_step": {"type": "string", "description": "What to do."},
        "fields": {"type": "object", "additionalProperties": {}},
    },
    "required": ["type", "title", "status", "detail", "code", "next_step", "fields"],
}
