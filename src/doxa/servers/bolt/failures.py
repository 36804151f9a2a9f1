"""The FAILURE message, which reports an error to the client: a code, and since 5.7 the GQL status
with its diagnostic record.

Source: the Bolt documentation, FAILURE.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doxa.servers.bolt.framing import Version
from doxa.servers.codes import RequestError, Status, message_of, status_of

DIAGNOSTIC: Mapping[str, Any] = {"OPERATION": "", "OPERATION_CODE": "0", "CURRENT_SCHEMA": "/"}


class BoltError(RequestError):
    """A protocol error. If it is `fatal`, the connection ends."""

    code = "bolt"

    def __init__(
        self, message: str, *, status: Status, next_step: str, fatal: bool = False
    ) -> None:
        super().__init__(message, status=status, next_step=next_step)
        self.fatal = fatal


def failure(error: BaseException, version: Version) -> dict[str, Any]:
    """Return the metadata of FAILURE."""
    status, message = status_of(error), message_of(error)
    if version < (5, 7):
        return {"code": status.code, "message": message}
    record = {**DIAGNOSTIC, "_classification": _classification(status.code)}
    return {
        "neo4j_code": status.code,
        "message": message,
        "gql_status": status.gql,
        "description": f"error: {status.condition}. {message}",
        "diagnostic_record": record,
    }


def _classification(code: str) -> str:
    return {"ClientError": "CLIENT_ERROR", "TransientError": "TRANSIENT_ERROR"}.get(
        code.split(".")[1], "DATABASE_ERROR"
    )
