"""Map every error to a Neo4j status code and a GQL status. Clients decide by the code which
exception to raise and what to retry.

A code is Neo.<class>.<category>.<title>. Drivers retry managed transactions that fail with
Neo.TransientError, so only errors that may succeed on a second attempt have that class; a query
that exceeds a limit does not.

Sources: the Neo4j status codes manual, "List of Neo4j error codes" and "List of GQLSTATUS error
codes".
"""

from __future__ import annotations

from typing import NamedTuple

from doxa.base.errors import DoxaError


class Status(NamedTuple):
    """A Neo4j code, the GQL status and its condition."""

    code: str
    gql: str
    condition: str


_UNKNOWN = Status(
    "Neo.DatabaseError.General.UnknownError",
    "50N42",
    "general processing exception - unexpected error",
)
_SYNTAX = Status(
    "Neo.ClientError.Statement.SyntaxError",
    "42001",
    "syntax error or access rule violation - invalid syntax",
)
_TYPE = Status(
    "Neo.ClientError.Statement.TypeError", "22G03", "data exception - invalid value type"
)
_ARGUMENT = Status("Neo.ClientError.Statement.ArgumentError", "22000", "data exception")
_ARGUMENTS = Status("Neo.ClientError.General.InvalidArguments", "22000", "data exception")
_ARITHMETIC = Status("Neo.ClientError.Statement.ArithmeticError", "22000", "data exception")
_PARAMETER = Status(
    "Neo.ClientError.Statement.ParameterMissing",
    "42N51",
    "syntax error or access rule violation - invalid parameter",
)
_SEMANTIC = Status(
    "Neo.ClientError.Statement.SemanticError", "42000", "syntax error or access rule violation"
)
_ENTITY = Status("Neo.ClientError.Statement.EntityNotFound", "22000", "data exception")
_CONSTRAINT = Status("Neo.ClientError.Schema.ConstraintValidationFailed", "22000", "data exception")
FORBIDDEN = Status(
    "Neo.ClientError.Security.Forbidden",
    "42NFF",
    "syntax error or access rule violation - permission/access denied",
)
_PROCEDURE = Status(
    "Neo.ClientError.Procedure.ProcedureCallFailed",
    "42000",
    "syntax error or access rule violation",
)
_TRANSACTION = Status(
    "Neo.ClientError.Transaction.TransactionStartFailed", "25000", "invalid transaction state"
)
_FAILED = Status("Neo.DatabaseError.Statement.ExecutionFailed", "50N42", _UNKNOWN.condition)

REQUEST_INVALID = Status(
    "Neo.ClientError.Request.Invalid", "08N06", "connection exception - protocol error"
)
REQUEST_FORMAT = Status(
    "Neo.ClientError.Request.InvalidFormat", "08N06", "connection exception - protocol error"
)
UNAUTHORIZED = Status("Neo.ClientError.Security.Unauthorized", "42NFF", FORBIDDEN.condition)
RATE_LIMIT = Status(
    "Neo.ClientError.Security.AuthenticationRateLimit", "42NFF", FORBIDDEN.condition
)
DATABASE_NOT_FOUND = Status(
    "Neo.ClientError.Database.DatabaseNotFound",
    "22N51",
    "data exception - graph reference not found",
)
STOPPING = Status(
    "Neo.TransientError.General.DatabaseUnavailable",
    "08N09",
    "connection exception - database unavailable",
)
TIMED_OUT = Status(
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "25N14",
    "invalid transaction state - transaction termination client error",
)
# whether it was written is unknown, so that a driver must not run it again by itself
COMMIT_UNKNOWN = Status(
    "Neo.DatabaseError.Transaction.TransactionCommitFailed",
    "2DN01",
    "invalid transaction termination - commit failed",
)
TERMINATED = Status("Neo.ClientError.Transaction.Terminated", "25N14", TIMED_OUT.condition)

_SCHEMA = Status(
    "Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists", "22000", "data exception"
)

# Looked up by openCypher's error type and detail, then by the type, then by the error's class.
_BY_DETAIL: dict[tuple[str, str], Status] = {
    ("TransactionError", "AccessMode"): Status(
        "Neo.ClientError.Statement.AccessMode",
        "25G02",
        "invalid transaction state - graph type violation",
    ),
    ("TransactionError", "Terminated"): TERMINATED,
    ("TransactionError", "TimedOut"): TIMED_OUT,
    ("ArithmeticError", "DivisionByZero"): _ARITHMETIC._replace(
        gql="22012", condition="data exception - division by zero"
    ),
    ("ArithmeticError", "NumberOutOfRange"): _ARITHMETIC._replace(
        gql="22003", condition="data exception - numeric value out of range"
    ),
    ("ArgumentError", "NumberOutOfRange"): _ARGUMENT._replace(
        gql="22003", condition="data exception - numeric value out of range"
    ),
    ("TransactionError", "Nested"): _TRANSACTION._replace(
        code="Neo.DatabaseError.Transaction.TransactionStartFailed"
    ),
    ("ProcedureError", "ProcedureNotFound"): _PROCEDURE._replace(
        code="Neo.ClientError.Procedure.ProcedureNotFound"
    ),
}
# Codes of schema commands, by the detail. Those of DatabaseError are Neo4j's own choice: clients
# compare codes.
for _title in (
    "EquivalentSchemaRuleAlreadyExists",
    "IndexAlreadyExists",
    "IndexWithNameAlreadyExists",
    "ConstraintAlreadyExists",
    "ConstraintWithNameAlreadyExists",
):
    _BY_DETAIL["SchemaError", _title] = _SCHEMA._replace(code=f"Neo.ClientError.Schema.{_title}")
for _title in ("IndexDropFailed", "ConstraintDropFailed"):
    _BY_DETAIL["SchemaError", _title] = _SCHEMA._replace(code=f"Neo.DatabaseError.Schema.{_title}")
CONSTRAINT_CREATION_FAILED = _SCHEMA._replace(
    code="Neo.DatabaseError.Schema.ConstraintCreationFailed"
)

_BY_KIND: dict[str, Status] = {
    "SyntaxError": _SYNTAX,
    "TypeError": _TYPE,
    "ArgumentError": _ARGUMENT,
    "ArithmeticError": _ARITHMETIC,
    "ParameterMissing": _PARAMETER,
    "SemanticError": _SEMANTIC,
    "EntityNotFound": _ENTITY,
    "PropertyNotFound": _ENTITY,
    "ConstraintValidationFailed": _CONSTRAINT,
    "ConstraintVerificationFailed": _CONSTRAINT,
    "ConstraintError": _CONSTRAINT,
    "ProcedureError": _PROCEDURE,
    "TransactionError": _TRANSACTION,
    "TransientError": Status(
        "Neo.TransientError.Transaction.Outdated",
        "25N02",
        "invalid transaction state - unable to complete transaction",
    ),
    "MemoryLimit": _FAILED._replace(
        gql="51N73",
        condition="system configuration or operation exception - transaction memory limit reached",
    ),
    "ExternalResourceError": Status(
        "Neo.ClientError.Statement.ExternalResourceFailed", "22000", "data exception"
    ),
    "SchemaError": _SCHEMA,
}
_BY_CLASS: dict[str, Status] = {
    "input": _ARGUMENT,
    "kref": _ARGUMENT,
    "limit": _ARGUMENT,
    "not_found": _ENTITY,
    "constraint": _CONSTRAINT,
    "role": FORBIDDEN,
    "conflict": _ARGUMENTS,
    "confirmation": _ARGUMENTS,
    "model": _PROCEDURE,
    "busy": Status(
        "Neo.TransientError.Transaction.LockAcquisitionTimeout",
        "25N02",
        "invalid transaction state - unable to complete transaction",
    ),
    "unreachable": Status(
        "Neo.TransientError.General.DatabaseUnavailable",
        "08N09",
        "connection exception - database unavailable",
    ),
    "closed": STOPPING,
    "read_only": Status(
        "Neo.ClientError.General.ForbiddenOnReadOnlyDatabase", "25G02", "invalid transaction state"
    ),
    "disk_full": _FAILED,
    "store": _FAILED,
    "newer_file": _FAILED,
    "corrupt": _FAILED,
    "error": _UNKNOWN,
}


class RequestError(DoxaError):
    """A request that a server rejects, with its status."""

    code = "request"

    def __init__(self, message: str, *, status: Status, next_step: str) -> None:
        super().__init__(message, next_step=next_step)
        self.status = status


def status_of(error: BaseException) -> Status:
    """Return the status of an error."""
    if isinstance(error, RequestError):
        return error.status
    if not isinstance(error, DoxaError):
        return _UNKNOWN
    kind, detail = str(error.fields.get("kind", "")), str(error.fields.get("detail", ""))
    if error.code == "query":
        return _BY_DETAIL.get((kind, detail)) or _BY_KIND.get(kind, _UNKNOWN)
    if error.code == "unreachable" and error.fields.get("outcome") == "unknown":
        return COMMIT_UNKNOWN
    if error.code == "constraint" and "declaring" in error.fields:
        return CONSTRAINT_CREATION_FAILED
    return _BY_CLASS.get(error.code, _UNKNOWN)


def message_of(error: BaseException) -> str:
    """Return the message for the client. Details of an unexpected error go to the server's log
    only."""
    if isinstance(error, DoxaError):
        return str(error)
    if isinstance(error, RecursionError):
        return "The query or its values are nested too deeply. Use fewer levels."
    return "An unexpected error occurred; see the server's log. Report it with the query."
