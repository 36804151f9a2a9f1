"""A unit of work of one client: an auto-commit statement or an explicit transaction, with its open
results.

A client pulls a result in parts. The rest of it is buffered in memory when the next statement runs,
because a session streams one result at a time. A unit of work has a deadline, also while the client
is idle: an idle transaction must not block other writers.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from sys import maxsize
from typing import Any, cast

from doxa.base.errors import DoxaError
from doxa.base.limits import TOKEN_WAIT_S
from doxa.servers.codes import (
    DATABASE_NOT_FOUND,
    TERMINATED,
    TIMED_OUT,
    RequestError,
    status_of,
)
from doxa.servers.contract import (
    CatalogueSession,
    Database,
    DatabaseSession,
    SharedDatabase,
    StatementResult,
)
from doxa.servers.credentials import Principal
from doxa.servers.notifications import NotificationFilter
from doxa.servers.telemetry.calls import CallRecord, Outcome

_ROWS_PER_BLOCK = 500
_END: Any = object()

DEFAULT_ALIAS = "neo4j"  # the default database of tools that are not configured otherwise
SYSTEM_ALIAS = "system"  # the catalogue database of tools; here the default database, read-only

Row = Sequence[Any]
# (rows, maximum count) -> (encoded bytes, count, whether the rows are exhausted)
Take = Callable[[Iterator[Row], int], tuple[bytes, int, bool]]


def resolve(database: Database, principal: Principal, name: str | None) -> str:
    """Resolve the name of a database; None and the aliases mean the default. Raises RequestError if
    it does not exist for the principal."""
    known = list(database.names(principal))
    found = next((one for one in known if name and one.lower() == name.lower()), None)
    if found is not None:
        return found
    if known and (not name or name.lower() in (DEFAULT_ALIAS, SYSTEM_ALIAS)):
        return known[0]
    raise RequestError(
        f"Unknown database {(name or DEFAULT_ALIAS)[:80]!r}.",
        status=DATABASE_NOT_FOUND,
        next_step=f"Name one of: {', '.join(known[:20])}."
        if known
        else "Ask the operator for one.",
    )


def bookmark(database: Database, principal: Principal, name: str, written: int = 0) -> str:
    """Return a bookmark for the last commit, which is known if something was `written`. Where
    servers share a log, it has the receipt, too, and another server waits for it. Nobody waits for
    that of a file: every snapshot sees all earlier commits."""
    number = database.last_transaction(principal, name, written)
    shared = _shared(database)
    token = "" if shared is None else shared.token(principal, name)
    return f"doxa:{name}:{token or number}"


def await_bookmarks(
    database: Database, principal: Principal, name: str, bookmarks: Sequence[str], timeout_ms: int
) -> None:
    """Wait until a database has the commits of the bookmarks that are its own. Raises BusyError,
    after which a driver tries again, here or on another server."""
    start = f"doxa:{name}:"
    tokens = {one.removeprefix(start) for one in bookmarks if one.startswith(start) and "@" in one}
    shared = _shared(database) if tokens else None
    if shared is None:
        return
    until = time.monotonic() + min(timeout_ms / 1000, TOKEN_WAIT_S)
    for token in sorted(tokens):
        shared.wait(principal, name, token, max(0.0, until - time.monotonic()))


def _shared(database: Database) -> SharedDatabase | None:
    """Return a database that gives tokens. The check of a protocol takes as long as a lookup by an
    index, so it is made once for each class."""
    return cast(SharedDatabase, database) if _is_shared(type(database)) else None


@lru_cache
def _is_shared(kind: type) -> bool:
    return issubclass(kind, SharedDatabase)


class Stream:
    """The rows of one statement, consumed block by block."""

    def __init__(self, result: StatementResult) -> None:
        self.result = result
        self.columns = result.columns
        self.count = 0
        self.done = False
        self._rows: Iterator[Row] = iter(result)
        self._held: deque[Row] = deque()

    def blocks(self, wanted: int, take: Take) -> Iterator[bytes]:
        """Yield what `take` encodes from the next rows, until `wanted` rows are taken (-1: all) or
        none is left; `done` says which."""
        left = wanted if wanted > 0 else maxsize
        while left and not self.done:
            held = bool(self._held)
            data, count, ended = take(
                self._drain() if held else self._rows, min(_ROWS_PER_BLOCK, left)
            )
            self.count += count
            left -= count
            self.done = ended and not held
            yield data
        if not self.done and not self._held:
            ahead = next(self._rows, _END)
            if ahead is _END:
                self.done = True
            else:
                self._held.append(ahead)

    def _drain(self) -> Iterator[Row]:
        while self._held:
            yield self._held.popleft()

    def close(self) -> None:
        """Release the remaining rows and their snapshot."""
        self._held.clear()
        close: Callable[[], None] | None = getattr(self._rows, "close", None)
        if close is not None:
            close()
        self.result.close()


class UnitOfWork:
    """A unit of work on one session. All methods except `cancel` are called from one thread."""

    def __init__(
        self,
        session: DatabaseSession,
        *,
        database: str,
        explicit: bool,
        read_only: bool,
        timeout_ms: int,
        notifications: NotificationFilter,
        record: CallRecord | None = None,
        catalogue: bool = False,
    ) -> None:
        """`catalogue`: it was sent to the alias `system`, and reads."""
        self.session = session
        self.database = database
        self.explicit = explicit
        self.read_only = read_only = read_only or catalogue
        self.notifications = notifications
        self.deadline = time.monotonic() + timeout_ms / 1000
        self.streams: dict[int, Stream] = {}
        self.latest = -1
        self.written = 0  # the number of what it committed, if it is known
        self._timeout_ms = timeout_ms
        self._record = record
        if record is not None:
            record.database = database
            record.attach()
        self._begun = explicit or catalogue
        if self._begun:
            try:
                if catalogue and isinstance(session, CatalogueSession):
                    session.begin_catalogue()
                else:
                    session.begin(read_only=read_only)
            except BaseException as error:
                self._end_record(error)
                raise

    def run(self, text: str, params: Mapping[str, Any]) -> tuple[int, Stream]:
        """Start a statement. Returns its number, counted from 0, and its rows. The session buffers
        the rest of the previous result."""
        stream = Stream(
            self.session.run(text, params, timeout_ms=self.left_ms(), read_only=self.read_only)
        )
        self.latest += 1
        self.streams[self.latest] = stream
        return self.latest, stream

    def left_ms(self) -> int:
        """Return the milliseconds until the deadline. Raises RequestError if it has passed."""
        left = int((self.deadline - time.monotonic()) * 1000)
        if left <= 0:
            raise self.timed_out()
        return left

    def timed_out(self) -> RequestError:
        """Build the error for a passed deadline."""
        return RequestError(
            f"The transaction was open longer than {self._timeout_ms:,} ms and was rolled back.",
            status=TIMED_OUT,
            next_step="Run it again in smaller parts or with a longer timeout.",
        )

    def terminated(self) -> RequestError:
        """Build the error for a transaction that TERMINATE TRANSACTIONS ended."""
        return RequestError(
            "The transaction was terminated and rolled back.",
            status=TERMINATED,
            next_step="Ask who terminated it before running it again.",
        )

    def finish(self, number: int) -> None:
        """Close a complete result, and commit the unit if it is an auto-commit statement."""
        self.streams.pop(number).close()
        if not self.explicit:
            if self._begun:
                self.session.commit()
            self._close_session()

    def _close_session(self) -> None:
        self.written = self.session.written
        self.session.close()
        self._end_record()

    def commit(self) -> None:
        """Commit. Rows that were not pulled are discarded."""
        self._close_streams()
        self.left_ms()
        self.session.commit()
        self._close_session()

    def rollback(self, error: BaseException | None = None) -> None:
        """Roll back in any state, because of an error or because the client wants it."""
        self._close_streams()
        self.session.close()
        self._end_record(error)

    def _end_record(self, error: BaseException | None = None) -> None:
        record = self._record
        if record is None:
            return
        record.detach()
        code = "" if error is None else status_of(error).code
        ended: Outcome = "ok" if not code else "failed" if "DatabaseError" in code else "refused"
        record.end("cancelled" if code == TERMINATED.code else ended, code=code)

    def cancel(self) -> None:
        """Cancel the running statement; may be called from any thread."""
        self.session.cancel()

    def _close_streams(self) -> None:
        for stream in self.streams.values():
            with suppress(DoxaError):
                stream.close()
        self.streams.clear()
