"""The database interface that servers use, as protocols, so that they do not depend on the query
engine.

The sessions of `doxa.query` implement it. All calls on a session come from one thread, except
`cancel`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

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
        """The steps, or None for a schema command and a statement without a plan to show."""


class PlanStep(Protocol):
    """A step of a plan. `rows` and `milliseconds` are set for PROFILE only."""

    name: str
    detail: str
    rows: int | None
    milliseconds: float | None

    @property
    def children(self) -> Sequence[PlanStep]: ...


class StatementNotification(Protocol):
    """A notification about a statement, in Neo4j's terms."""

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
    """The rows of one statement, which can be iterated once. `counters` are final after that."""

    columns: tuple[str, ...]

    @property
    def plan(self) -> StatementPlan | None: ...

    @property
    def counters(self) -> dict[str, int]: ...

    def description(self) -> PlanStep | None:
        """Return the plan of an EXPLAIN or PROFILE after the rows are consumed; None for other
        statements."""

    def notices(self) -> Sequence[Any]:
        """Return the notifications about the statement after the rows are consumed."""

    def __iter__(self) -> Iterator[Sequence[Any]]: ...

    def close(self) -> None: ...


class DatabaseSession(Protocol):
    """Runs statements of one principal on one database, one by one or in a transaction."""

    connection: str  # of the client, for SHOW TRANSACTIONS

    @property
    def written(self) -> int:
        """The number of the transaction that the last unit of work committed; 0 if it wrote
        nothing, or that is not known."""

    @property
    def terminated(self) -> bool:
        """Whether what is open, a transaction or a statement by itself, was terminated and is to be
        rolled back."""

    def run(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_ms: int | None = None,
        read_only: bool = False,
    ) -> StatementResult:
        """Run a statement, in the open transaction or by itself: then one that is `read_only` is
        refused if it writes."""

    def begin(self, *, read_only: bool = False) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def cancel(self) -> None: ...

    def close(self) -> None: ...


@runtime_checkable
class CatalogueSession(DatabaseSession, Protocol):
    """A session that creates and drops databases."""

    def begin_catalogue(self) -> None:
        """Begin a transaction that reads, and may create and drop databases: tools send such
        statements to the database `system` in transactions. They take effect at once."""


class LastingSession(DatabaseSession, Protocol):
    """A session that may serve one unit of work after the other."""

    def renew(self, *, timeout_ms: int) -> None:
        """Begin to serve another unit of work, after `close`. Raises ClosedError if the database is
        closed."""


class Database(Protocol):
    """The databases behind a server."""

    def names(self, principal: Principal) -> Sequence[str]:
        """Return the names of those that a principal may use; the first is its default."""

    def open_session(
        self, principal: Principal, database: str, metadata: Mapping[str, Any], timeout_ms: int
    ) -> DatabaseSession:
        """Open a session for one unit of work, or for several if it is a `LastingSession`.
        `metadata` comes from the client; `timeout_ms` limits each statement."""

    def last_transaction(self, principal: Principal, database: str, written: int = 0) -> int:
        """Return the number of the last committed transaction that this thread has seen of what the
        principal may see, or of a later one, for bookmarks; or that of the one which the principal
        has just `written`, if it is given."""


@runtime_checkable
class SharedDatabase(Protocol):
    """Databases whose log other servers may write to."""

    def token(self, principal: Principal, database: str) -> str:
        """Return how far a principal sees, `change@receipt`; empty where no other server writes."""

    def wait(self, principal: Principal, database: str, token: str, timeout_s: float) -> None:
        """Wait until a principal sees the change of a token. Raises BusyError after the time."""


class StreamedEvent(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...

    def as_dict(self) -> dict[str, Any]: ...


class EventSource(Protocol):
    """The events of a database, in order."""

    def take(self) -> Sequence[StreamedEvent] | None:
        """Return the next events, none if there are none yet; None at the end."""

    def on_news(self, call: Callable[[], None]) -> None:
        """Call `call` after each commit of this process, on any thread."""

    def close(self) -> None: ...


@runtime_checkable
class EventDatabase(Protocol):
    """What a database offers besides if it has events."""

    def open_events(
        self, principal: Principal, database: str, options: Mapping[str, Any]
    ) -> EventSource:
        """Open the events that a principal sees. Raises InputError for unusable options."""


@runtime_checkable
class VerbDatabase(Protocol):
    """What a database offers besides if its verbs can be called."""

    def verb_session(
        self, principal: Principal, database: str, context: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Open a session of the memory for one call, with the rights of a principal."""


@runtime_checkable
class HealthDatabase(Protocol):
    """What a database offers besides if it can say whether it answers."""

    def check_readable(self) -> None:
        """Raise DoxaError if it cannot be read. Called on a thread."""


@runtime_checkable
class MeasuredDatabase(Protocol):
    """What a database offers besides if it knows the memories that it serves."""

    def memories(self) -> Sequence[tuple[str, Any]]:
        """Return the opened memories by name."""


class Mounted(Protocol):
    """What a server answers below a path of its own, such as another product's interface."""

    def handle(
        self, method: str, path: str, query: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Any]:
        """Carry out a request; returns the status and what is to be sent as JSON. Called on a
        thread. `path` begins below the mount."""
