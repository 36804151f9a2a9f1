"""The rows of a statement of Cypher as a table in JSON, with what is known about the statement.

    {"columns": ["n"], "rows": [[{"elementId": "n:1", "labels": [...], "properties": {...}}]],
     "counters": {"nodesCreated": 1, ...}, "plan": {...} or null, "notifications": [...]}

Values, counters and plans are those of the Query API's plain JSON (`values.py`, `responses.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from doxa.base.limits import HTTP_ANSWER_BYTES_MAX
from doxa.servers.encoding import Schemas
from doxa.servers.http.errors import HttpError
from doxa.servers.http.responses import encode, summary
from doxa.servers.http.values import plain

_NAME = "StatementTable"
_OBJECT = {"type": "object", "additionalProperties": {}}


def table_schema(schemas: Schemas) -> dict[str, Any]:
    """Return the schema of the rows of a statement."""
    schemas.components[_NAME] = {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array", "items": {"type": "array", "items": {}}},
            "counters": {"type": "object", "additionalProperties": {}},
            "plan": {"anyOf": [_OBJECT, {"type": "null"}]},
            "notifications": {"type": "array", "items": _OBJECT},
        },
        "required": ["columns", "rows", "counters", "plan", "notifications"],
    }
    return {"$ref": f"#/components/schemas/{_NAME}"}


def table_of(result: Any) -> dict[str, Any]:
    """Return the rows of a statement as a table. Raises HttpError once they are longer than an
    answer may be."""
    rows = list(_bounded(result))
    found = summary(result, counters=True, shape=plain, rows=len(rows))
    return {
        "columns": list(result.columns),
        "rows": rows,
        "counters": found.get("counters", {}),
        "plan": found.get("profiledQueryPlan", found.get("queryPlan")),
        "notifications": found.get("notifications", []),
    }


def _bounded(result: Any) -> Iterator[list[Any]]:
    size = 0
    for row in result:
        made = [plain(value) for value in row]
        size += len(encode(made))
        if size > HTTP_ANSWER_BYTES_MAX:
            raise HttpError(
                f"The answer is longer than {HTTP_ANSWER_BYTES_MAX:,} bytes.",
                http=400,
                next_step="Return less, or add SKIP and LIMIT.",
            )
        yield made
