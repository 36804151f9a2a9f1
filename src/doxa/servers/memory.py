"""Serve an open memory as a database: a unit of work runs in a session of the memory with the name
and role of the login."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from doxa.app import Memory, Session
from doxa.base.limits import TOKEN_WAIT_S
from doxa.servers.contract import DatabaseSession, EventSource
from doxa.servers.credentials import Principal

DATABASE = "doxa"
# Metadata that let a session or transaction read at another time.
SYSTEM_TIME, VALID_TIME = "as_of_system_time", "as_of_valid_time"
# How far it reads where servers share a log: a level, and a token to wait for.
READ_LEVEL, READ_AFTER = "read_level", "read_after"


class MemoryDatabase:
    """Serves one memory under one name. It must be opened as operator if operators log in: a
    session cannot have more rights than its memory."""

    def __init__(
        self,
        memory: Memory,
        *,
        name: str = DATABASE,
        project: str = "",
        known: Callable[[Principal], Sequence[str]] | None = None,
    ) -> None:
        """`known` gives the names that SHOW DATABASES lists, where there are others."""
        self._memory, self._name, self._project = memory, name, project
        self._known = known or self.names
        self._seen = -1

    @property
    def name(self) -> str:
        return self._name

    def names(self, principal: Principal) -> Sequence[str]:
        return (self._name,) if principal.may_use(self._name) else ()

    def open_session(
        self, principal: Principal, database: str, metadata: Mapping[str, Any], timeout_ms: int
    ) -> DatabaseSession:
        """Open a session of the memory, bound to the projects of the principal. Raises RoleError if
        the memory was opened with fewer rights than the principal has."""
        session = self.session_of(principal)
        self._come_as_far(session, metadata)
        session.databases = tuple(self._known(principal))
        graph = session.graph(context=metadata)
        graph.timeout_ms = timeout_ms
        graph.system_time = metadata.get(SYSTEM_TIME)
        graph.valid_time = metadata.get(VALID_TIME)
        return graph

    def open_events(
        self, principal: Principal, database: str, options: Mapping[str, Any]
    ) -> EventSource:
        """Open the events that a principal sees."""
        given: Any = options
        return self.session_of(principal).events(**given)

    @contextmanager
    def verb_session(
        self, principal: Principal, database: str, context: Mapping[str, Any]
    ) -> Iterator[Session]:
        """Open a session for one call of a verb."""
        session = self.session_of(principal, context=context)
        self._come_as_far(session, context)
        yield session

    def _come_as_far(self, session: Session, told: Mapping[str, Any]) -> None:
        """Bring the replica as far as a client asks, before its statement or call begins."""
        level, token = told.get(READ_LEVEL), told.get(READ_AFTER)
        shared = self._memory.store.shared
        if shared is None or (level is None and token is None):
            return
        with shared.reading("session" if level is None else level):
            if level == "latest":
                shared.before_read()
        if token is not None and level != "local":
            session.wait(token, timeout_s=TOKEN_WAIT_S)

    def token(self, principal: Principal, database: str) -> str:
        if self._memory.store.shared is None:
            return ""
        return self.session_of(principal).token()

    def wait(self, principal: Principal, database: str, token: str, timeout_s: float) -> None:
        if self._memory.store.shared is not None:
            self.session_of(principal).wait(token, timeout_s=timeout_s)

    def session_of(
        self, principal: Principal, *, context: Mapping[str, Any] | None = None
    ) -> Session:
        """Return a session of the memory with the rights of a principal and the projects that it is
        bound to."""
        bound = principal.projects
        return self._memory.session(
            actor=principal.name,
            role=principal.role,
            project=self._project if not bound or self._project in bound else bound[0],
            projects=bound,
            context=context,
        )

    def check_readable(self) -> None:
        """Read one row. Raises StoreError if the file is closed, cannot be read, or is not where it
        was opened."""
        self._memory.store.require_in_place()
        with self._memory.store.read() as snapshot:
            snapshot.last_receipt()

    def memories(self) -> Sequence[tuple[str, Memory]]:
        """Return the memory by its name."""
        return [(self._name, self._memory)]

    def last_transaction(self, principal: Principal, database: str, written: int = 0) -> int:
        bound = principal.projects  # a session of some projects has its own view of the file
        store = self.session_of(principal).memory.store if bound else self._memory.store
        number = written if written and not bound else store.last_transaction_read()
        if number > self._seen:  # something was written and may need to be embedded
            self._seen = number
            self._memory.wake()
        return number
