"""What a server needs of the room that gives it a database, written as protocols so that the door
knows no room below.

The sessions of `doxa.query` are such sessions. All calls on a session come from one thread, except
`cancel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from doxa.servers.credentials import Principal


class CheckedStatement(Protocol):
    @property
    def writes(self) -> bool: ...


class ParsedStatement(Protocol):
    @property
    def mode(self) -> str | None:
        """EXPLAIN, PROFILE or None."""


class StatementPlan(Protocol):
    @property
    def checked(self) -> CheckedStatement: ...

    @property
    def statement(self) -> ParsedStatement: ...

    @property
    def steps(self) -> object | None:
        """None: a command that changes the schema, or one that shows nothing."""


class PlanStep(Protocol):
    """A step of a plan: `rows` and `milliseconds` only of a PROFILE."""

    name: str
    detail: str
    rows: int | None
    milliseconds: float | None

    @property
    def children(self) -> Sequence[PlanStep]: ...


class Notification(Protocol):
    """A remark on a statement, in Neo4j's terms."""

    code: str
    title: str
    description: str
    severity: str
    category: str
    gql: str
    condition: str
    offset: int
    line: int
    column: int


class StatementResult(Protocol):
    """Rows of one statement, taken once. `counters` are final when the rows are."""

    columns: tuple[str, ...]

    @property
    def plan(self) -> StatementPlan | None: ...

    @property
    def counters(self) -> dict[str, int]: ...

    def description(self) -> PlanStep | None:
        """The plan of an EXPLAIN or PROFILE, once the rows are taken; None for other statements."""

    def notices(self) -> Sequence[Any]:
        """What is odd about the statement, each a Notification, once the rows are taken."""

    def __iter__(self) -> Iterator[Sequence[Any]]: ...

    def close(self) -> None: ...


class DatabaseSession(Protocol):
    """Statements of one principal on one database, one by one or in a transaction."""

    def run(
        self, text: str, params: Mapping[str, Any] | None = None, *, timeout_ms: int | None = None
    ) -> StatementResult: ...

    def begin(self, *, read_only: bool = False) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


class Database(Protocol):
    """The databases behind a server."""

    def names(self) -> Sequence[str]:
        """Their names; the first is the default."""

    def open_session(
        self, principal: Principal, database: str, metadata: Mapping[str, Any], timeout_ms: int
    ) -> DatabaseSession:
        """A session for one unit of work. `metadata` is what the client attached to it;
        `timeout_ms` bounds each statement."""

    def last_transaction(self, database: str) -> int:
        """The number of the last transaction that was committed, for bookmarks."""
