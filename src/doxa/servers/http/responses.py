"""Write response bodies: rows are encoded to JSON as they arrive, and a body that grows too large
ends its statement.

    {"data": {"fields": [..], "values": [[..], ..]}, "counters": {..}, "queryPlan": {..},
     "notifications": [..], "bookmarks": [..]}
    {"results": [{"columns": [..], "data": [{"row": [..], "meta": [..]}, ..], "stats": {..}}, ..],
     "errors": [], "lastBookmarks": [..]}

A body is complete before its first byte is sent, so that the status reflects the outcome.

Source: Neo4j's Query API manual, "Query the database", and its HTTP API manual, "Result formats",
"Query statistics".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from doxa.base.errors import LimitError
from doxa.base.limits import HTTP_ANSWER_BYTES_MAX
from doxa.servers.contract import PlanStep, StatementPlan, StatementResult
from doxa.servers.http.budget import BudgetShare
from doxa.servers.http.errors import HttpError
from doxa.servers.http.values import Shape, meta, row
from doxa.servers.notifications import as_json
from doxa.servers.unit_of_work import Row

_CHUNK_BYTES = 262_144
_PLAN_DEPTH_MAX = 100
_COUNTERS = (
    "nodes_created",
    "nodes_deleted",
    "properties_set",
    "relationships_created",
    "relationships_deleted",
    "labels_added",
    "labels_removed",
    "indexes_added",
    "indexes_removed",
    "constraints_added",
    "constraints_removed",
)

encode = msgspec.json.Encoder().encode


class ResponseData(NamedTuple):
    """A response: status, content type and the body in chunks."""

    status: int
    media: str
    chunks: list[bytes]


class ResponseBuffer:
    """A growing response body, counted against a budget share. If `wrote` is set, its errors say
    that the statement's changes are committed."""

    def __init__(self, share: BudgetShare) -> None:
        self.wrote = False
        self._share = share
        self._chunks: list[bytes] = []
        self._open = bytearray()
        self._bytes = 0

    def put(self, data: bytes) -> None:
        """Append data. Raises LimitError if the body grows too large, HttpError if the budget is
        exhausted. After a write only LimitError is raised: a client would retry the other."""
        self._bytes += len(data)
        if self._bytes > HTTP_ANSWER_BYTES_MAX:
            raise self._too_long(f"The response is longer than {HTTP_ANSWER_BYTES_MAX:,} bytes.")
        self._open += data
        if len(self._open) >= _CHUNK_BYTES:
            self._flush_chunk()

    def done(self) -> list[bytes]:
        """Return the chunks of the body."""
        if self._open:
            self._flush_chunk()
        return self._chunks

    def _flush_chunk(self) -> None:
        try:
            self._share.take(len(self._open))
        except HttpError as error:
            if not self.wrote:
                raise
            raise self._too_long(error.message) from None
        self._chunks.append(bytes(self._open))
        self._open.clear()

    def _too_long(self, message: str) -> LimitError:
        return LimitError(
            f"{message}{' The changes of the statement are committed.' if self.wrote else ''}",
            next_step=(
                "Return less, add SKIP and LIMIT, or read the rows over Bolt, which streams them."
            ),
            bytes_max=HTTP_ANSWER_BYTES_MAX,
        )


class RowWriter:
    """Writes rows into a buffer, separated by commas: as arrays of values in a shape, or in the
    form of the older endpoint."""

    def __init__(self, buffer: ResponseBuffer, shape: Shape | None) -> None:
        self._buffer, self._shape, self._comma = buffer, shape, b""

    def take(self, rows: Iterator[Row], count_max: int) -> tuple[bytes, int, bool]:
        """Consume rows, as `Stream.blocks` requires."""
        count, shape = 0, self._shape
        for values in islice(rows, count_max):
            self._buffer.put(
                self._comma
                + encode(
                    _row_and_meta(values) if shape is None else [shape(value) for value in values]
                )
            )
            self._comma = b","
            count += 1
        return b"", count, count < count_max


def _row_and_meta(values: Row) -> dict[str, Any]:
    return {
        "row": [row(value) for value in values],
        "meta": [entry for value in values for entry in meta(value)],
    }


def summary(result: StatementResult, *, counters: bool, shape: Shape, rows: int) -> dict[str, Any]:
    """Return what follows the rows in the Query API, except for the bookmarks."""
    found: dict[str, Any] = {}
    if counters:
        found["counters"] = {_camel(name): value for name, value in _counted(result).items()}
    described, plan = result.description(), result.plan
    if described is not None and plan is not None:
        profiled = plan.statement.mode == "PROFILE"
        found["profiledQueryPlan" if profiled else "queryPlan"] = _plan(
            described, shape, rows=rows if profiled else None
        )
    notifications = [as_json(notification) for notification in result.notices()]
    if notifications:
        found["notifications"] = notifications
    return found


def statistics(result: StatementResult) -> dict[str, Any]:
    """Return the counters with the names of the older endpoint."""
    found = _counted(result)
    found["relationship_deleted"] = found.pop("relationships_deleted")
    return found


def wrote(plan: StatementPlan | None) -> bool:
    """Return whether a statement writes."""
    return plan is not None and plan.checked.writes


def _counted(result: StatementResult) -> dict[str, Any]:
    counters = result.counters
    found: dict[str, Any] = {"contains_updates": any(counters.values())}
    return (
        found
        | {name: counters.get(name, 0) for name in _COUNTERS}
        | {"contains_system_updates": False, "system_updates": 0}
    )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _plan(
    step: PlanStep, shape: Shape, *, rows: int | None, depth: int = _PLAN_DEPTH_MAX
) -> dict[str, Any]:
    """Return a step with its children. `rows` is the count for a PROFILE step that has none."""
    found: dict[str, Any] = {
        "operatorType": step.name,
        "arguments": {"Details": shape(step.detail)},
        "identifiers": [],
    }
    found["children"] = (
        [
            _plan(child, shape, rows=None if rows is None else 0, depth=depth - 1)
            for child in step.children
        ]
        if depth
        else []
    )
    if rows is not None:
        given = rows if step.rows is None else step.rows
        found |= {
            "records": given,
            "dbHits": 0,
            "time": int((step.milliseconds or 0.0) * 1_000_000),
        }
    return found
