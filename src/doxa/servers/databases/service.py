"""A folder of databases behind a server: sessions that USE moves, and the statements that create
and drop databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from doxa.app import Memory, Session
from doxa.base.errors import InputError, NotFoundError, RoleError
from doxa.servers.codes import DATABASE_NOT_FOUND, RequestError
from doxa.servers.contract import DatabaseSession, EventSource, StatementResult
from doxa.servers.credentials import Principal
from doxa.servers.databases.folder import DatabaseFolder
from doxa.servers.databases.statements import Administration, administration, used
from doxa.servers.unit_of_work import resolve


class FolderService:
    """The databases of a folder, as servers use them."""

    def __init__(self, folder: DatabaseFolder) -> None:
        self.folder = folder

    def names(self, principal: Principal) -> Sequence[str]:
        return self.folder.names_for(principal)

    def open_session(
        self, principal: Principal, database: str, metadata: Mapping[str, Any], timeout_ms: int
    ) -> DatabaseSession:
        return FolderSession(self, principal, database, metadata, timeout_ms)

    def memories(self) -> Sequence[tuple[str, Memory]]:
        """Return the memories that are open, by name."""
        return self.folder.memories()

    def open_events(
        self, principal: Principal, database: str, options: Mapping[str, Any]
    ) -> EventSource:
        found = self.folder.enter(database)
        try:
            events = found.open_events(principal, database, options)
        except BaseException:
            self.folder.leave(database)
            raise
        return _FolderEvents(self.folder, database, events)

    @contextmanager
    def verb_session(
        self, principal: Principal, database: str, context: Mapping[str, Any]
    ) -> Iterator[Session]:
        with self.folder.using(database) as found:
            yield found.session_of(principal, context=context)

    def last_transaction(self, principal: Principal, database: str, written: int = 0) -> int:
        try:
            with self.folder.using(database) as found:
                return found.last_transaction(principal, database, written)
        except NotFoundError:  # dropped by the statement that asks for its bookmark
            return 0

    def token(self, principal: Principal, database: str) -> str:
        try:
            with self.folder.using(database) as found:
                return found.token(principal, database)
        except NotFoundError:
            return ""

    def wait(self, principal: Principal, database: str, token: str, timeout_s: float) -> None:
        with self.folder.using(database) as found:
            found.wait(principal, database, token, timeout_s)


class _FolderEvents:
    """The events of a database, which counts as in use while they are open."""

    def __init__(self, folder: DatabaseFolder, name: str, events: EventSource) -> None:
        self._folder, self._name, self._events = folder, name, events
        self._closed = False
        self.take, self.on_news = events.take, events.on_news

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._events.close()
            self._folder.leave(self._name)


class FolderSession:
    """A session of one database at a time: a statement that begins with USE runs on another."""

    def __init__(
        self,
        service: FolderService,
        principal: Principal,
        database: str,
        metadata: Mapping[str, Any],
        timeout_ms: int,
    ) -> None:
        self._service, self._principal = service, principal
        self._metadata, self._timeout_ms = metadata, timeout_ms
        self._database, self._held = database, ""
        self._inner: DatabaseSession | None = None
        self._explicit = self._catalogue = False
        self.connection = ""  # of the client, for SHOW TRANSACTIONS

    @property
    def written(self) -> int:
        return 0 if self._inner is None else self._inner.written

    @property
    def terminated(self) -> bool:
        return self._inner is not None and self._inner.terminated

    def run(
        self,
        text: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_ms: int | None = None,
        read_only: bool = False,
    ) -> StatementResult:
        found = administration(text)
        if found is not None:
            return self._administer(found, read_only=read_only)
        moved = used(text)
        if moved is not None:
            name = resolve(self._service, self._principal, moved[0])
            if self._explicit and name != self._database:
                raise InputError(
                    f"This transaction is on the database {self._database}; USE cannot move it.",
                    next_step="Open a transaction on the other database.",
                    field="text",
                )
            self._move(name)
            text = moved[1]
        return self._session().run(text, params, timeout_ms=timeout_ms, read_only=read_only)

    def begin(self, *, read_only: bool = False) -> None:
        self._session().begin(read_only=read_only)
        self._explicit, self._catalogue = True, False

    def begin_catalogue(self) -> None:
        self.begin(read_only=True)
        self._catalogue = True

    def commit(self) -> None:
        self._session().commit()
        self._explicit = False

    def rollback(self) -> None:
        self._session().rollback()
        self._explicit = False

    def cancel(self) -> None:
        inner = self._inner
        if inner is not None:
            inner.cancel()

    def close(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            try:
                inner.close()
            finally:
                self._service.folder.leave(self._held)

    def _session(self) -> DatabaseSession:
        if self._inner is None:
            try:
                database = self._service.folder.enter(self._database)
            except NotFoundError as error:  # dropped since its name was resolved
                raise RequestError(
                    error.message, status=DATABASE_NOT_FOUND, next_step=error.next_step
                ) from None
            self._held = self._database
            try:
                self._inner = database.open_session(
                    self._principal, self._database, self._metadata, self._timeout_ms
                )
                self._inner.connection = self.connection
            except BaseException:
                self._service.folder.leave(self._held)
                raise
        return self._inner

    def _move(self, name: str) -> None:
        if name != self._database:
            self.close()
            self._database = name

    def _administer(self, what: Administration, *, read_only: bool) -> StatementResult:
        bound = self._principal.projects or self._principal.databases
        if self._principal.role != "operator" or bound:
            raise RoleError(
                "Only an operator who is bound to nothing creates and drops databases.",
                next_step="Ask such an operator.",
                role=self._principal.role,
            )
        if not self._catalogue if self._explicit else read_only:
            raise InputError(
                f"{what.action.upper()} DATABASE cannot be rolled back, so it is not done within a"
                " transaction or batch, nor by one that only reads.",
                next_step="Send it by itself to write, or to the database system.",
                field="text",
            )
        if self._explicit and self._inner is not None and self._held == what.name.lower():
            self.close()  # its own transaction on `system`, which is the default database
        folder = self._service.folder
        if what.action == "create":
            done = folder.create(what.name, lenient=what.lenient)
        else:
            done = folder.drop(what.name, lenient=what.lenient, destroys=what.destroys)
        return Administered(done)


class Administered:
    """The result of a statement about databases: no rows."""

    columns: tuple[str, ...] = ()
    plan = None

    def __init__(self, done: bool) -> None:
        self.counters = {"system_updates": int(done)}

    def description(self) -> None:
        return None

    def notices(self) -> Sequence[Any]:
        return ()

    def __iter__(self) -> Iterator[Sequence[Any]]:
        return iter(())

    def close(self) -> None:
        return None
