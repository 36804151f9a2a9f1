"""News of appends in PostgreSQL: who waits is woken by a notification, and asks in any case.

Notifications are sent after the commit and on their own, since PostgreSQL lets transactions that
notify commit one by one only; who misses one finds the transaction by asking.
"""

from __future__ import annotations

import threading
import time

import psycopg

from doxa.replication.engines.postgres_connection import (
    CONNECT_S,
    LimitedConnection,
    at_once,
    connect,
)

POLL_S = 1.0  # while no notifications arrive
POLL_HEARD_S = 5.0
_TOGETHER_S = 0.005  # in which news come together, so that telling many costs as one
_CHANNEL = "doxa_log"
_NOTIFY = "SELECT pg_notify(%(channel)s, payload) FROM unnest(%(payloads)s::text[]) payload"


class PostgresNews:
    """The newest transaction of each tenant, as far as this process has heard. Two threads, started
    when they are first used, have a connection each."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._closed = False
        self._lock = threading.Lock()
        self._news = threading.Condition()
        self._threads: dict[str, threading.Thread] = {}
        self._to_tell: dict[str, int] = {}
        self._told: dict[str, int] = {}
        self.hears = False  # whether notifications arrive

    def tell(self, tenant: str, tx: int) -> None:
        """Wake readers of a tenant: of this process at once, others by a notification."""
        with self._news:
            self._told[tenant] = self._to_tell[tenant] = tx
            self._news.notify_all()
        self._start("teller")

    def listen(self) -> None:
        self._start("listener")

    def wait(self, tenant: str, after: int, seconds: float) -> bool:
        """Wait for so long. Returns whether there is news of a transaction after this number."""
        with self._news:
            if self._told.get(tenant, 0) <= after and not self._closed:
                self._news.wait(seconds)
            return self._told.get(tenant, 0) > after

    @property
    def poll_s(self) -> float:
        """How often a reader asks without news."""
        return POLL_HEARD_S if self.hears else POLL_S

    def close(self) -> None:
        self._closed = True
        with self._news:
            self._news.notify_all()
        for thread in list(self._threads.values()):
            if thread is not threading.current_thread():
                thread.join(CONNECT_S * 2)

    def _start(self, name: str) -> None:
        if name in self._threads:
            return
        with self._lock:
            if name not in self._threads and not self._closed:
                run = self._tell_others if name == "teller" else self._hear
                thread = threading.Thread(target=run, name=f"doxa-log-{name}", daemon=True)
                self._threads[name] = thread
                thread.start()

    def _tell_others(self) -> None:
        connection: LimitedConnection | None = None
        while not self._closed:
            with self._news:
                if not self._to_tell:
                    self._news.wait(POLL_S)
                due, self._to_tell = self._to_tell, {}
            try:
                if due and connection is None:
                    connection = connect(self._url)
                if due and connection is not None:
                    self._notify(connection, due)
                    time.sleep(_TOGETHER_S)
            except psycopg.Error:  # who waits will ask
                connection = None
        if connection is not None:
            connection.close()

    @staticmethod
    def _notify(connection: LimitedConnection, due: dict[str, int]) -> None:
        told = [f"{tx} {tenant}" for tenant, tx in due.items()]
        at_once(
            connection,
            (
                ("BEGIN", {}),
                # a transaction that notifies is logged, and would make the next append wait
                ("SET LOCAL synchronous_commit = off", {}),
                (_NOTIFY, {"channel": _CHANNEL, "payloads": told}),
                ("COMMIT", {}),
            ),
        )

    def _hear(self) -> None:
        while not self._closed:
            try:
                with connect(self._url) as connection:
                    connection.execute(f"LISTEN {_CHANNEL}")
                    self.hears = True
                    while not self._closed:
                        for news in connection.notifies(timeout=POLL_S, stop_after=1):
                            tx, _, tenant = news.payload.partition(" ")
                            with self._news:
                                self._told[tenant] = max(int(tx), self._told.get(tenant, 0))
                                self._news.notify_all()
            except (psycopg.Error, ValueError):
                self.hears = False
                until = time.monotonic() + POLL_S
                while not self._closed and time.monotonic() < until:
                    time.sleep(0.05)
