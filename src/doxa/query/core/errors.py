"""Failures while a query runs, as openCypher names them."""

from __future__ import annotations

from itertools import islice
from typing import NoReturn

from doxa.cypher.errors import QueryError


def fail(
    message: str,
    *,
    kind: str = "TypeError",
    detail: str = "InvalidArgumentType",
    hint: str = "",
    **fields: object,
) -> NoReturn:
    raise QueryError(
        message,
        kind=kind,
        detail=detail,
        next_step=hint or "Check the values that the query uses.",
        phase="runtime",
        **fields,
    )


def shown(value: object) -> str:
    """Format a value for a message: its Cypher type and its beginning."""
    begin = (
        value[:100]
        if isinstance(value, (str, bytes))
        else value[:10]
        if isinstance(value, list)
        else value
    )
    begin = dict(islice(value.items(), 10)) if isinstance(value, dict) else begin
    return f"{type_name(value)} {str(begin)[:40]!r}"


def type_name(value: object) -> str:
    """Return the Cypher type of a value, as in error messages and valueType()."""
    if value is None:
        return "NULL"
    return _NAMES.get(type(value).__name__, type(value).__name__)


_NAMES = {
    "bool": "BOOLEAN",
    "int": "INTEGER",
    "float": "FLOAT",
    "str": "STRING",
    "list": "LIST",
    "tuple": "LIST",
    "dict": "MAP",
    "bytes": "BYTES",
    "Node": "NODE",
    "Edge": "RELATIONSHIP",
    "Path": "PATH",
    "Point": "POINT",
    "Date": "DATE",
    "Time": "ZONED TIME",
    "LocalTime": "LOCAL TIME",
    "DateTime": "ZONED DATETIME",
    "LocalDateTime": "LOCAL DATETIME",
    "Duration": "DURATION",
}
