"""One unit of work of a client: a statement by itself or a transaction of several, with the results
that are open in it.

A result is pulled in parts. What is left of it when the next statement comes is held in memory,
because a session streams one result at a time. A unit has a deadline, also while the client is
silent: an idle transaction must not keep others from writing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from sys import maxsize
from typing import Any

from doxa.base.errors import DoxaError
from doxa.servers.codes import DATABASE_NOT_FOUND, TIMED_OUT, RequestError
from doxa.servers.contract import Database, DatabaseSession, StatementResult
from doxa.servers.notifications import NotificationFilter

_ROWS_PER_BLOCK = 500
_END: Any = object()

DEFAULT_ALIAS = "neo4j"  # what tools call the default database when they are not told otherwise
SYSTEM_ALIAS = "system"  # where tools ask what there is; here the default database, for reading

Row = Sequence[Any]
Take = Callable[
    [Iterator[Row], int], tuple[bytes, int, bool]
]  # rows, how many at most: bytes, how many, whether the rows ended


def resolve(database: Database, name: str | None) -> str:
    """The database of that name; none and the aliases mean the default. Raises RequestError if there
    is none."""
    known = list(database.names())
    found = next((one for one in known if name and one.lower() == name.lower()), None)
    if found is not None or not name or name.lower() in (DEFAULT_ALIAS, SYSTEM_ALIAS):
        return found or known[0]
    raise RequestError(
        f"There is no database {name[:80]!r}.",
        status=DATABASE_NOT_FOUND,
        next_step=f"Name one of: {', '.join(known[:20])}.",
    )


def bookmark(database: Database, name: str) -> str:
    """What has been committed so far. Nobody has to wait for it: there is one file, and every
    snapshot sees all that was committed before."""
    return f"doxa:{name}:{database.last_transaction(name)}"


class Stream:
    """The rows of one statement, taken block by block."""

    def __init__(self, result: StatementResult) -> None:
        self.result = result
        self.columns = result.columns
        self.count = 0
        self.done = False
        self._rows: Iterator[Row] = iter(result)
        self._held: deque[Row] = deque()

    def blocks(self, wanted: int, take: Take) -> Iterator[bytes]:
        """What `take` makes of the next rows, until `wanted` are taken (-1: all) or none is left.
        Then `done` says which."""
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
        """Let go of the rest and of the snapshot below it."""
        self._held.clear()
        close: Callable[[], None] | None = getattr(self._rows, "close", None)
        if close is not None:
            close()
        self.result.close()


class UnitOfWork:
    """A unit of work on one session. Every method but `cancel` belongs to one thread."""

    def __init__(
        self,
        session: DatabaseSession,
        *,
        database: str,
        explicit: bool,
        read_only: bool,
        timeout_ms: int,
        notifications: NotificationFilter,
    ) -> None:
        self.session = session
        self.database = database
        self.explicit = explicit
        self.notifications = notifications
        self.deadline = time.monotonic() + timeout_ms / 1000
        self.streams: dict[int, Stream] = {}
        self.latest = -1
        self._timeout_ms = timeout_ms
        self._begun = explicit or read_only
        if self._begun:
            session.begin(read_only=read_only)

    def run(self, text: str, params: Mapping[str, Any]) -> tuple[int, Stream]:
        """Start a statement; its number, counted from 0, and its rows. The session holds what is
        left of the statement before."""
        stream = Stream(self.session.run(text, params, timeout_ms=self.left_ms()))
        self.latest += 1
        self.streams[self.latest] = stream
        return self.latest, stream

    def left_ms(self) -> int:
        """How long the unit may still go on. Raises RequestError if no longer."""
        left = int((self.deadline - time.monotonic()) * 1000)
        if left <= 0:
            raise self.timed_out()
        return left

    def timed_out(self) -> RequestError:
        return RequestError(
            f"The transaction was open longer than {self._timeout_ms:,} ms; nothing of it was"
            " written.",
            status=TIMED_OUT,
            next_step="Run it again, in smaller parts or with a longer timeout.",
        )

    def finish(self, number: int) -> None:
        """A result is complete: forget it, and end the unit if the statement stood by itself."""
        self.streams.pop(number).close()
        if not self.explicit:
            if self._begun:
                self.session.commit()
            self.session.close()

    def commit(self) -> None:
        """Make it durable; what was not pulled is dropped."""
        self._close_streams()
        self.left_ms()
        self.session.commit()
        self.session.close()

    def rollback(self) -> None:
        """End without a trace, whatever state it is in."""
        self._close_streams()
        self.session.close()

    def cancel(self) -> None:
        self.session.cancel()

    def _close_streams(self) -> None:
        for stream in self.streams.values():
            with suppress(DoxaError):
                stream.close()
        self.streams.clear()
