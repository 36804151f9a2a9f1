"""Connections to PostgreSQL that wait for an answer for a bounded time.

A server that is stopped, or a line that drops packets, leaves a connection open and silent: the
system acknowledges what is sent, so neither keep-alives nor TCP timeouts end the wait.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg

from doxa.base.run_slot import leave_run_slot

CONNECT_S = 5
ANSWER_S = 10.0  # beyond what a statement may wait for a lock
OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_S,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "doxa",
}


class LimitedConnection(psycopg.Connection[Any]):  # type: ignore[misc]  # the driver is optional
    """A connection that is closed when an answer takes longer than `limit_s`: OperationalError. Who
    waits for one leaves its run slot."""

    limit_s = 0.0  # 0: ANSWER_S

    def wait(self, gen: Any, *given: Any, **more: Any) -> Any:
        leave_run_slot()
        return super().wait(_limited(gen, self, self.limit_s or ANSWER_S), *given, **more)


def connect(url: str) -> LimitedConnection:
    """Connect for statements outside of a pool."""
    made: LimitedConnection = LimitedConnection.connect(url, autocommit=True, **OPTIONS)
    return made


Statement = tuple[str, Mapping[str, Any]]


class Ran(NamedTuple):
    """What a statement did: how many rows it wrote or found, and those that it found."""

    written: int
    rows: list[Any]


def at_once(connection: LimitedConnection, statements: Sequence[Statement]) -> list[Ran]:
    """Run statements in one message, with values quoted by the driver. A pipeline has one round
    trip, too, and takes more processor time."""
    cursor: Any = psycopg.ClientCursor(connection)
    text = "; ".join(
        cursor.mogrify(text, values) if values else text for text, values in statements
    )
    cursor.execute(text.encode())
    found = []
    for _ in statements:
        rows = cursor.fetchall() if cursor.description else []
        found.append(Ran(cursor.rowcount, rows))
        cursor.nextset()
    return found


def _limited(gen: Any, connection: LimitedConnection, limit_s: float) -> Generator[Any, Any, Any]:
    """Run a generator of the driver, which is asked again and again while nothing arrives."""
    until = time.monotonic() + limit_s
    try:
        waits_for = next(gen)
        while True:
            ready = yield waits_for
            if not ready and time.monotonic() > until:
                gen.close()
                connection.pgconn.finish()
                raise psycopg.OperationalError(f"there was no answer for {limit_s:.0f} s")
            waits_for = gen.send(ready)
    except StopIteration as done:
        return done.value
