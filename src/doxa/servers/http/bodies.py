"""Parse and validate request bodies, on a thread. Unknown fields are rejected, and values that are
too many are rejected before they are built.

A body is parsed once without its parameters. These are counted, and only then decoded.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeVar

import msgspec

from doxa.base.errors import InputError, LimitError
from doxa.base.limits import HTTP_BATCH_ITEMS_MAX, HTTP_BODY_ITEMS_MAX
from doxa.servers import codes
from doxa.servers.http.errors import HttpError
from doxa.servers.http.values import TYPED_STEP, read_typed

_NONE = msgspec.Raw(b"null")
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


class QueryBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """One statement of the Query API. `max_execution_time` is in seconds. See
    `unit_of_work.bookmark` for bookmarks."""

    statement: str
    parameters: msgspec.Raw = _NONE
    include_counters: bool | None = None
    access_mode: str | None = None
    max_execution_time: int | None = None
    bookmarks: list[str] | None = None
    impersonated_user: str | None = None


class StatementBody(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """One statement of the older endpoint."""

    statement: str
    parameters: msgspec.Raw = _NONE
    include_stats: bool | None = None
    result_data_contents: list[str] | None = None


class BatchBody(msgspec.Struct, forbid_unknown_fields=True):
    """The statements of one transaction."""

    statements: Annotated[list[StatementBody], msgspec.Meta(max_length=HTTP_BATCH_ITEMS_MAX)] = []


Body = TypeVar("Body", QueryBody, BatchBody)


def read_body(data: bytes, kind: type[Body]) -> Body:
    """Parse a body without decoding its parameters. Raises HttpError if it is invalid."""
    try:
        body = msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        example = '{"statement": "RETURN $x", "parameters": {"x": 1}}'
        raise HttpError(
            f"The body cannot be read: {reason}.",
            http=400,
            next_step=f"Send {example}."
            if kind is QueryBody
            else f'Send {{"statements": [{example}]}}.',
            status=codes.REQUEST_FORMAT,
        ) from None
    given = [body] if isinstance(body, QueryBody) else body.statements
    _check_count(sum(_count(bytes(one.parameters)) for one in given))
    return body


def read_mode(mode: str | None) -> bool:
    """Return whether an access mode is READ. Raises InputError for an unknown mode."""
    if mode is not None and mode.upper() not in ("READ", "WRITE"):
        raise InputError(
            f"The access mode {mode[:20]!r} is unknown.",
            next_step="Give READ or WRITE.",
            field="accessMode",
        )
    return mode is not None and mode.upper() == "READ"


def parameters_of(raw: msgspec.Raw, *, typed: bool) -> dict[str, Any]:
    """Decode the parameters. Raises InputError, also for names that are reserved for the
    context."""
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = "they are nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(
            f"The parameters cannot be read: {reason}.",
            next_step="Send JSON in UTF-8.",
            field="parameters",
        ) from None
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError(
            "The parameters are not an object.",
            next_step=TYPED_STEP if typed else 'Give {"name": value}.',
            field="parameters",
        )
    for name in found:
        if name.startswith("_"):
            raise InputError(
                f"The parameter name ${name:.80} is reserved for the context.",
                next_step="Send it as a header X-Query-..., or choose another name.",
                field="parameters",
            )
    return (
        {name: read_typed(value, f"${name}") for name, value in found.items()} if typed else found
    )


def _count(data: bytes) -> int:
    """Return an upper bound of the number of values. Strings are removed only if that decides."""
    if _marks(data) <= HTTP_BODY_ITEMS_MAX:
        return _marks(data)
    return _marks(_STRINGS.sub(b"", data))


def _marks(data: bytes) -> int:
    return data.count(b",") + data.count(b"[") + data.count(b"{") + 1


def _check_count(count: int) -> None:
    if count > HTTP_BODY_ITEMS_MAX:
        most = HTTP_BODY_ITEMS_MAX
        raise LimitError(
            f"The parameters contain more than {most:,} values.",
            next_step="Send them in several requests.",
            items_max=most,
        )
